package realtime_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/coder/websocket"

	"github.com/lockstep-go/lockstep/actors"
	"github.com/lockstep-go/lockstep/realtime"
	"github.com/lockstep-go/lockstep/realtime/wire"
)

// returning brings a page back as the client does: at random within the time that the server named, and when it is told
// "later", then.
func returning(h *house, p *page, within int, ended *sync.WaitGroup) {
	ended.Go(func() {
		time.Sleep(time.Duration(rand.IntN(within)) * time.Millisecond)
		h.attach(p, "session-"+p.user)
		for {
			p.subscribe("s")
			for {
				time.Sleep(20 * time.Millisecond)
				if no := p.got("no"); len(no) > 0 && no[len(no)-1].Number == p.n {
					last := no[len(no)-1]
					if last.Reason != wire.Later || !last.Retry || last.After <= 0 {
						h.t.Errorf("%s was told %+v", p.user, last)
						return
					}
					time.Sleep(time.Duration(last.After) * time.Millisecond)
					break
				}
				if oks := p.got("ok"); len(oks) > 0 && oks[len(oks)-1].Number == p.n {
					return
				}
			}
		}
	})
}

// R13, R21: a server with all its pages restarts while a commit is under way. They come back spread, no more of them than
// Resyncs are worked on at once, and each page ends right.
func TestR13_R21_RestartWithEverybodyConnected(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		clients := 200
		if full {
			clients = 1000
		}
		const resyncs = 4
		var busy, most atomic.Int64
		slow := func(c *realtime.Config) {
			c.Resyncs, c.Recheck = resyncs, -1
			c.Subscribe = []realtime.Middleware{func(next realtime.SubscribeFunc) realtime.SubscribeFunc {
				return func(ctx context.Context, r actors.Request) error {
					n := busy.Add(1)
					defer busy.Add(-1)
					for old := most.Load(); n > old && !most.CompareAndSwap(old, n); old = most.Load() {
					}
					time.Sleep(20 * time.Millisecond)
					return next(ctx, r)
				}
			}}
		}
		before := open(t, w, slow)
		var pages []*page
		var ended sync.WaitGroup
		for i := range clients {
			p := &page{h: before, user: fmt.Sprint("user", i), scopes: map[string]*scope{}}
			p.get("s", cart("a"), tN, tGreeting)
			pages = append(pages, p)
			returning(before, p, 100, &ended)
		}
		ended.Wait()
		start := time.Now()
		w.set(cart("a"), "n", 2) // whose frames are on their way
		if err := before.stop(); err != nil {
			t.Error(err)
		}
		if took := time.Since(start); took > 5*time.Second {
			t.Errorf("shutdown took %v", took)
		}
		synctest.Wait()
		w.set(cart("a"), "n", 3) // while nobody serves
		after := open(t, w, slow)
		most.Store(0)
		withins := map[int]bool{}
		for _, p := range pages {
			<-p.done
			p.mu.Lock()
			closed := p.closed
			p.mu.Unlock()
			if closed == nil || closed.Code != websocket.StatusServiceRestart {
				t.Fatalf("%s was closed with %v, want %d", p.user, closed, websocket.StatusServiceRestart)
			}
			within := must(strconv.Atoi(closed.Reason))
			withins[within] = true
			returning(after, p, within, &ended)
		}
		if len(withins) != 1 || !withins[500+2*clients] {
			t.Errorf("told to come back within %v ms, want %d for %d pages", withins, 500+2*clients, clients)
		}
		ended.Wait()
		settle()
		for _, p := range pages {
			p.wantFresh("s", tN, tGreeting)
		}
		if most.Load() != resyncs {
			t.Errorf("%d subscribes were worked on at once, want %d", most.Load(), resyncs)
		}
	})
}

// relay stands between pages and the server. Frozen, it swallows what either says, without closing anything.
type relay struct {
	net.Conn
	frozen *atomic.Bool
}

func (r relay) Read(p []byte) (int, error) {
	for {
		n, err := r.Conn.Read(p)
		if err != nil || !r.frozen.Load() {
			return n, err
		}
	}
}

func (r relay) Write(p []byte) (int, error) {
	if r.frozen.Load() {
		return len(p), nil
	}
	return r.Conn.Write(p)
}

// R16: behind a relay that freezes, writes go on succeeding; within two heartbeats the hub has nothing left of these
// pages, and others did not notice.
func TestR16_FrozenRelay(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		var f figures
		h := open(t, w, func(c *realtime.Config) { c.Metrics = &f })
		other := h.browse("other")
		other.get("s", cart("a"), tN)
		other.subscribe("s")
		var frozen atomic.Bool
		direct := h.dial
		h.dial = func(ctx context.Context, network, addr string) (net.Conn, error) {
			c, err := direct(ctx, network, addr)
			return relay{c, &frozen}, err
		}
		for i := range 200 {
			p := h.browse(fmt.Sprint("user", i))
			p.get("s", cart("a"), tN, tGreeting)
			p.get("own", cart(p.user), tN)
			p.subscribe("s", "own")
		}
		settle()
		f.want(t, map[string]int{"connections": 201, "subscriptions": 401, "topics": 201})
		frozen.Store(true)
		for i := range 51 {
			w.set(cart("a"), "n", 10+i) // each write of it succeeds
			time.Sleep(time.Second)
		}
		time.Sleep(3 * time.Second) // for close frames that nobody answers
		synctest.Wait()
		f.want(t, map[string]int{"connections": 1, "subscriptions": 1, "topics": 1, "closed silent": 200})
		other.wantFresh("s", tN)
	})
}

// R47: floods of all kinds at once, each at full speed, are closed with a code that the client backs off from; what
// others see comes as soon as before. Unsubscribes are accepted meanwhile.
func TestR47_OthersDoNotNoticeFloods(t *testing.T) {
	w := newWorld()
	w.commit(cart("b"), change{set: state{"n": 1}, names: []string{"n"}})
	h := open(t, w, func(c *realtime.Config) { c.Logger = nil })
	h.dial = loopback(t, signedIn(h.hub))
	q := h.browse("other")
	q.get("s", cart("b"), tN)
	q.get("t", cart("c"), tN)
	q.subscribe("s", "t")
	eventually(t, func() bool { return len(q.got("ok")) == 2 })
	commands := 2000
	if full {
		commands = 10000
	}
	tokens := make([]string, commands)
	for i := range tokens {
		tokens[i] = must(h.sealer.Seal(wire.Token{Actor: cart(fmt.Sprint("flood", i)), Targets: []wire.Target{tN}}))
	}
	floods := map[string]func(i int) string{
		"different": func(i int) string { return fmt.Sprintf(`{"t":"sub","n":%d,"s":"s%d","token":%q}`, i, i, tokens[i]) },
		"same":      func(i int) string { return fmt.Sprintf(`{"t":"sub","n":%d,"s":"s","token":%q}`, i, tokens[0]) },
		"unknown":   func(int) string { return `{"t":"what"}` },
		"bytes":     func(int) string { return "1" },
	}
	closed := map[string]*page{}
	var flooding sync.WaitGroup
	for name, flood := range floods {
		p := h.browse(name)
		closed[name] = p
		flooding.Go(func() {
			for i := range commands {
				if p.ws.Write(t.Context(), websocket.MessageText, []byte(flood(i))) != nil {
					return
				}
			}
		})
	}
	over := make(chan struct{})
	go func() { flooding.Wait(); close(over) }()
	var slowest time.Duration
	for value := 2; ; value++ {
		start := time.Now()
		w.set(cart("b"), "n", value)
		eventually(t, func() bool { return q.shows("s", tN) == w.fresh("other", cart("b"), tN) })
		slowest = max(slowest, time.Since(start))
		select {
		case <-over:
		case <-time.After(150 * time.Millisecond):
			continue
		}
		break
	}
	t.Logf("the slowest update of another page took %v", slowest)
	if slowest > 2*time.Second {
		t.Errorf("an update of another page took %v during the floods", slowest)
	}
	for name, p := range closed {
		if name == "same" {
			continue // a page that subscribes one scope again and again is slow, and no flood
		}
		eventually(t, func() bool { return p.closeCode() == wire.CloseProtocol })
	}
	if reads := w.count(&w.reads); reads > 2+102+commands {
		t.Errorf("%d reads for floods", reads)
	}
	q.unsubscribe("t")
	w.set(cart("c"), "n", 9)
	w.set(cart("b"), "n", 9)
	eventually(t, func() bool { return q.shows("s", tN) == w.fresh("other", cart("b"), tN) })
}
