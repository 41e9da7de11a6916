package webtest_test

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"

	"github.com/lockstep-go/lockstep/actors"
	"github.com/lockstep-go/lockstep/web/webtest"
)

// C1, C2, C3: whatever happens to commits, news, frames, connections, hubs, scopes and actors, when it is over every
// visitor's page equals a fresh GET by the same visitor. A failure prints its seed and the shortest schedule, which
// belongs into testdata/schedules.
func TestC3_ModelOfPages(t *testing.T) {
	checks := 200
	switch {
	case os.Getenv("LOCKSTEP_TEST_FULL") == "1":
		checks = 5000
	case testing.Short():
		checks = 10
	}
	setFlag(t, "rapid.checks", fmt.Sprint(checks))
	setFlag(t, "rapid.nofailfile", "true")
	setFlag(t, "rapid.shrinktime", "10s")
	rapid.Check(t, func(rt *rapid.T) {
		s := drawSchedule(rt)
		if err := playInBubble(t, s); err != nil {
			rt.Fatalf("%v\nafter\n%v", err, s)
		}
	})
}

// C3: schedules that once found something, or that every change has to stand up to.
func TestC3_KeptSchedules(t *testing.T) {
	for name, s := range keptSchedules(t) {
		t.Run(name, func(t *testing.T) {
			if err := playInBubble(t, s); err != nil {
				t.Error(err)
			}
		})
	}
}

func keptSchedules(t *testing.T) map[string]schedule {
	files, err := filepath.Glob("testdata/schedules/*.txt")
	if err != nil || len(files) == 0 {
		t.Fatalf("no schedules: %v", err)
	}
	all := map[string]schedule{}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		all[filepath.Base(file)] = parseSchedule(string(text))
	}
	return all
}

func setFlag(t *testing.T, name, value string) {
	t.Helper()
	f := flag.Lookup(name)
	was := f.Value.String()
	if err := f.Value.Set(value); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Value.Set(was) })
}

// playInBubble plays a schedule to pages without a browser, where time costs nothing.
func playInBubble(t *testing.T, s schedule) (err error) {
	synctest.Test(t, func(t *testing.T) {
		app := newBoardApp(t, actors.InsecureAllowAll())
		app.settle = synctest.Wait
		h := &headless{}
		for i, streams := range s.streams() {
			v := app.site.Visitor()
			v.Header.Set("X-User", viewer(i))
			v.Header.Set("X-Role", team(i))
			var options []webtest.Option
			if streams {
				options = append(options, webtest.OverStream())
			}
			h.pages = append(h.pages, v.Get("/", options...))
		}
		h.lossy = make([]bool, len(h.pages))
		if err = s.play(app, h); err == nil {
			err = h.rest()
		}
	})
	return err
}

// headless are pages of webtest.
type headless struct {
	pages []*webtest.Page
	lossy []bool // has lost frames, and was not cut since
}

func (h *headless) cut(i int)        { h.pages[i].Cut(); h.lossy[i] = false }
func (h *headless) freeze(i int)     { h.pages[i].Freeze() }
func (h *headless) thaw(i int)       { h.pages[i].Thaw() }
func (h *headless) drop(i, n int)    { h.pages[i].DropNext(n); h.lossy[i] = true }
func (h *headless) repeat(i, n int)  { h.pages[i].RepeatNext(n) }
func (h *headless) reorder(i, n int) { h.pages[i].ReorderNext(n) }

// reload leaves what the page's connection has lost behind; the page is not waited for, since it may be that the hub
// restarts.
func (h *headless) reload(i int) { h.pages[i].Reload(); h.lossy[i] = false }

// rest ends all faults, lets one comparison and a second pass, and compares every page.
func (h *headless) rest() error {
	for i, p := range h.pages {
		p.Thaw()
		p.ReorderNext(0)
		if h.lossy[i] {
			p.Cut()
		}
	}
	time.Sleep(time.Millisecond)
	for i, p := range h.pages {
		for end := time.Now().Add(5 * time.Minute); p.Status() != "connected" || len(p.Find("lockstep-scope:not([status=connected])")) > 0; {
			if time.Now().After(end) {
				return fmt.Errorf("page %d is not connected: page %s, %v", i, p.Status(), p.Find("lockstep-scope:not([status=connected])"))
			}
			time.Sleep(100 * time.Millisecond)
		}
	}
	time.Sleep(2 * time.Second)
	synctest.Wait()
	var wrong []error
	for i, p := range h.pages {
		if differs := p.Differs(); differs != "" {
			wrong = append(wrong, fmt.Errorf("page %d: %s", i, differs))
		}
	}
	return errors.Join(wrong...)
}
