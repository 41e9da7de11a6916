package webtest_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/lockstep-go/lockstep/actors"
	"github.com/lockstep-go/lockstep/realtime"
	"github.com/lockstep-go/lockstep/web/webtest"
	"github.com/lockstep-go/lockstep/web/webtest/testdata/board"
)

// allowance says who may see anything.
type allowance struct {
	mu     sync.Mutex
	denied map[string]bool
}

func (a *allowance) deny(name string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.denied[name] = true
}

func (a *allowance) ask(ctx context.Context, _ actors.Request) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.denied[board.ViewerOf(ctx).Name] {
		return actors.ErrUnauthorized
	}
	return nil
}

// C4, C5: of every byte that goes to anybody, in any order of commits, cuts and mishaps, none is of state to a viewer who
// is not allowed, none of what was committed after a right was withdrawn and that had taken effect, and none that was
// rendered for somebody else. Where nothing on a page is a viewer's own, nobody is asked but at subscribes and re-checks.
func TestC4_C5_EveryByteIsForItsViewer(t *testing.T) {
	for i := range 10 {
		seed := rand.Uint64()
		path := []string{"/shelf/a", "/common/a"}[i%2]
		t.Run(fmt.Sprint("seed ", seed, path), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { newCrowd(t, path, rand.New(rand.NewPCG(seed, 6))).everyByte() })
		})
	}
}

// crowd are visitors of one shelf, by name; what they may do is the beginning of their name.
type crowd struct {
	*testing.T
	rnd      *rand.Rand
	app      *boardApp
	may      *allowance
	names    []string
	own      bool // the pages have something of each viewer's own
	visitors map[string]*webtest.Visitor
	pages    map[string]*webtest.Page
	commits  int
}

func newCrowd(t *testing.T, path string, rnd *rand.Rand) *crowd {
	c := &crowd{
		T: t, rnd: rnd, may: &allowance{denied: map[string]bool{}}, own: path != "/common/a",
		names:    []string{"allowed0", "allowed1", "allowed2", "denied0", "denied1", "revoked0", "revoked1", "withdrawn0", "withdrawn1"},
		visitors: map[string]*webtest.Visitor{}, pages: map[string]*webtest.Page{},
	}
	allow := func(context.Context, actors.Request) error { return nil }
	c.app = newBoardApp(t, actors.Policy{Message: allow, Query: c.may.ask, Subscribe: c.may.ask})
	for i, name := range c.names {
		v := c.app.site.Visitor()
		v.Header.Set("X-User", name)
		v.Header.Set("X-Role", team(i))
		v.Header.Set("X-Secret", secret(name))
		c.app.lead(name, rnd.IntN(2))
		var options []webtest.Option
		if rnd.IntN(3) == 0 {
			options = append(options, webtest.OverStream())
		}
		c.visitors[name], c.pages[name] = v, v.Load(path, options...) // which shows nothing yet
	}
	for _, name := range c.names {
		if strings.HasPrefix(name, "denied") {
			c.may.deny(name)
		}
		c.pages[name].Connect()
	}
	return c
}

func secret(name string) string { return "canary" + name + "canary" }

// commit commits numbers that nothing else has, between mishaps, and returns them.
func (c *crowd) commit() (canaries []string) {
	for range 15 {
		c.commits++
		by, canary := c.app.processes[c.rnd.IntN(2)], 3*(770_000_000+c.commits)+1
		if err := by.set("a", []string{"n", "m"}[c.rnd.IntN(2)], canary); err != nil {
			c.Fatal(err)
		}
		canaries = append(canaries, fmt.Sprint(canary))
		p := c.pages[c.names[c.rnd.IntN(len(c.names))]]
		switch c.rnd.IntN(5) {
		case 0:
			p.Cut()
		case 1:
			p.Freeze()
			time.Sleep(time.Duration(c.rnd.IntN(500)) * time.Millisecond)
			p.Thaw()
		case 2:
			change := board.Change{What: []string{"put", "move", "take"}[c.rnd.IntN(3)], Name: thingIDs[c.rnd.IntN(3)], To: c.rnd.IntN(4)}
			if err := errors.Join(by.set("a", "rows", c.rnd.IntN(4)), by.change("a", change)); err != nil {
				c.Fatal(err)
			}
		}
		time.Sleep(time.Duration(c.rnd.IntN(300)) * time.Millisecond)
	}
	return canaries
}

func (c *crowd) everyByte() {
	early := c.commit()
	for _, name := range c.names {
		if strings.HasPrefix(name, "revoked") || strings.HasPrefix(name, "withdrawn") {
			c.may.deny(name)
		}
		if strings.HasPrefix(name, "revoked") {
			if err := c.app.processes[c.rnd.IntN(2)].live.Revoke(c.Context(), realtime.Revocation{Principal: name}); err != nil {
				c.Fatal(err)
			}
		}
	}
	time.Sleep(2 * time.Second) // within which a revocation takes effect
	between := c.commit()
	time.Sleep(30 * time.Second) // and any other withdrawn right
	late := c.commit()
	time.Sleep(time.Minute)
	for _, name := range c.names {
		got := c.visitors[name].Received()
		none := func(canaries []string, why string) {
			c.Helper()
			for _, canary := range canaries {
				if strings.Contains(got, canary) {
					c.Errorf("%s has received %s, %s", name, canary, why)
				}
			}
		}
		for _, other := range c.names {
			if other != name {
				none([]string{secret(other)}, "which is "+other+"'s")
			}
		}
		switch name[:len(name)-1] {
		case "allowed":
			if c.own && !strings.Contains(got, secret(name)) || !strings.Contains(got, late[len(late)-1]) {
				c.Errorf("%s has not received its own", name)
			}
			c.pages[name].Equal()
			continue
		case "denied":
			none(early, "and was never allowed to")
			none(between, "and was never allowed to")
		case "revoked":
			none(between, "committed after the right was revoked")
		}
		none(late, "committed after the right was withdrawn")
		if !strings.HasPrefix(name, "denied") && !slices.ContainsFunc(early, func(canary string) bool { return strings.Contains(got, canary) }) {
			c.Errorf("%s never received anything", name)
		}
	}
}
