package realtime_test

import (
	"context"
	"fmt"
	"maps"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/lockstep-go/lockstep/actors"
	"github.com/lockstep-go/lockstep/realtime"
	"github.com/lockstep-go/lockstep/realtime/wire"
)

// figures are a hub's, as "name" or "name label".
type figures struct {
	mu  sync.Mutex
	now map[string]int
}

func (f *figures) add(name, label string, n int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.now == nil {
		f.now = map[string]int{}
	}
	f.now[strings.TrimSpace(name+" "+label)] += n
}

func (f *figures) Gauge(name string, delta int)    { f.add(name, "", delta) }
func (f *figures) Count(name, label string, n int) { f.add(name, label, n) }
func (f *figures) Render(typ, component string, took time.Duration, failed bool) {
	f.add("render", typ+"."+component, 1)
	if failed {
		f.add("failed", typ+"."+component, 1)
	}
}

func (f *figures) want(t *testing.T, want map[string]int) {
	t.Helper()
	f.mu.Lock()
	defer f.mu.Unlock()
	for name, n := range want {
		if f.now[name] != n {
			t.Errorf("%s is %d, want %d; all: %v", name, f.now[name], n, maps.Clone(f.now))
		}
	}
}

func TestFiguresOfAHub(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		var f figures
		h := open(t, w, func(c *realtime.Config) { c.Metrics, c.MaxConnsEach = &f, 1 })
		w.set(cart("b"), "n", 1)
		p, q := h.browse("alice"), h.browse("bob")
		for _, page := range []*page{p, q} {
			page.get("s", cart("a"), tN, tGreeting)
			page.get("u", cart("b"), tN)
			page.subscribe("s", "u")
		}
		p.send(wire.Command{Type: "sub", Number: 9, Scope: "t", Token: "x"})
		settle()
		f.want(t, map[string]int{"connections": 2, "subscriptions": 4, "topics": 2, "waiting": 0, "refused bad_token": 1})
		frames := f.of("frames")
		w.set(cart("a"), "n", 2) // n once, greeting for each
		settle()
		f.want(t, map[string]int{"render cart.n": 1, "render cart.greeting": 2, "frames": frames + 4})
		w.commit(cart("a"), change{set: state{"n": 3}, names: []string{"n"}, lost: true})
		time.Sleep(2 * time.Second)
		f.want(t, map[string]int{"gaps comparison": 1, "gaps news": 0})
		w.commit(cart("a"), change{set: state{"n": 4}, names: []string{"n"}, lost: true})
		w.set(cart("a"), "n", 5)
		settle()
		f.want(t, map[string]int{"gaps comparison": 1, "gaps news": 1})

		w.with(func() { w.allow = only("bob") })
		w.set(cart("a"), "n", 6)
		settle()
		f.want(t, map[string]int{"denied render": 1, "refused denied": 1, "subscriptions": 3})
		time.Sleep(31 * time.Second)
		f.want(t, map[string]int{"denied recheck": 1, "refused denied": 2, "subscriptions": 2})
		w.with(func() { w.allow = func(context.Context, actors.Request) error { return errRefused } })
		h.revoke(realtime.Revocation{Actor: cart("b")})
		settle()
		f.want(t, map[string]int{"denied answer": 1, "revocations actor": 1, "topics": 1})
		h.revoke(realtime.Revocation{Principal: "bob"})
		settle()
		f.want(t, map[string]int{"closed revoked": 1, "revocations viewer": 1, "connections": 1, "subscriptions": 0, "topics": 0})

		h.told("alice", "another")
		for range 300 {
			p.sendText("x")
		}
		settle()
		f.want(t, map[string]int{"closed each": 1, "closed flood": 1, "connections": 0})
		w.with(func() { w.allow = nil })
		broken := h.browse("carol")
		w.with(func() {
			w.parts["n"] = part{observes: []string{"n"}, render: func(context.Context, realtime.RenderRequest, state) (string, []wire.Target, error) {
				return "", nil, fmt.Errorf("broken")
			}}
		})
		token := must(h.sealer.Seal(wire.Token{Actor: cart("a"), Targets: []wire.Target{tN}}))
		broken.send(wire.Command{Type: "sub", Number: 1, Scope: "s", Token: token})
		synctest.Wait()
		f.want(t, map[string]int{"failed cart.n": 1})
		if err := h.stop(); err != nil {
			t.Error(err)
		}
		h.told("late", "s")
		f.want(t, map[string]int{"closed drained": 1, "closed early": 1, "connections": 0, "subscriptions": 0, "topics": 0})
		for name := range f.now {
			if contains(name, "alice") || contains(name, "bob") || contains(name, "session") {
				t.Errorf("%q names somebody", name)
			}
		}
	})
}

func (f *figures) of(name string) int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.now[name]
}

// What a slow reader misses is conflated, and one that takes nothing is cut, silent or slow.
func TestFiguresOfSlowReaders(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		var f figures
		h := open(t, w, func(c *realtime.Config) { c.Metrics = &f })
		slow := &page{h: h, user: "slow", scopes: map[string]*scope{}, ws: h.connect("slow", "s"), done: make(chan struct{})}
		defer slow.ws.CloseNow()
		h.attach(&page{user: "mute", mute: true, scopes: map[string]*scope{}}, "session-mute")
		for i := range 2 {
			w.set(cart("a"), "n", 2+i)
		}
		time.Sleep(time.Minute)
		f.want(t, map[string]int{"closed slow": 1, "closed silent": 1})

		p := &page{h: h, user: "p", scopes: map[string]*scope{}, ws: h.connect("p", "s"), done: make(chan struct{})}
		p.get("s", cart("a"), tN)
		p.subscribe("s")
		synctest.Wait()
		for i := range 5 {
			w.set(cart("a"), "n", 9+i)
			time.Sleep(time.Second)
		}
		go p.read(p.ws, p.done)
		settle()
		p.wantFresh("s", tN)
		if n := f.of("conflated"); n < 3 {
			t.Errorf("%d fragments conflated, want those that the reader missed", n)
		}
		p.drop()
	})
}
