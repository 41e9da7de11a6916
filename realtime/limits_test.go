package realtime_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/coder/websocket"

	"github.com/lockstep-go/lockstep/actors"
	"github.com/lockstep-go/lockstep/realtime"
	"github.com/lockstep-go/lockstep/realtime/wire"
)

// C7: a reader that takes nothing costs what its page shows, once, and is closed after the stall.
func TestC7_SlowReaderIsBoundedAndClosed(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		big := strings.Repeat("x", 100<<10)
		w.parts["big"] = part{observes: []string{"n"}, render: func(_ context.Context, _ realtime.RenderRequest, s state) (string, []wire.Target, error) {
			return fmt.Sprint(s["n"], big), nil, nil
		}}
		target := wire.Target{Component: "big"}
		h := open(t, w, func(c *realtime.Config) { c.WriteStall = time.Hour; c.Heartbeat = -1 })
		slow := h.connect("slow", "s")
		defer slow.CloseNow()
		q := h.browse("quick")
		q.get("s", cart("a"), target)
		q.subscribe("s")
		h.follow(slow, cart("a"), target)
		synctest.Wait()
		var before, after runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&before)
		for i := range 300 { // 30 MB
			w.set(cart("a"), "n", i)
			time.Sleep(time.Second)
		}
		synctest.Wait()
		q.wantFresh("s", target)
		q.mu.Lock()
		q.frames = nil
		q.mu.Unlock()
		runtime.GC()
		runtime.ReadMemStats(&after)
		if grown := int64(after.HeapAlloc) - int64(before.HeapAlloc); grown > 4<<20 {
			t.Errorf("the heap grew by %d KiB behind a reader that takes nothing", grown>>10)
		}
	})
}

func TestC7_StallClosesWith4408(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		h := open(t, w)
		slow := h.connect("slow", "s") // reads nothing: not even the answer to its subscribe is taken
		defer slow.CloseNow()
		h.follow(slow, cart("a"), tN)
		q := h.browse("quick")
		q.get("s", cart("a"), tN)
		q.subscribe("s")
		time.Sleep(9 * time.Second)
		if strings.Contains(h.log.String(), "too slow") {
			t.Fatal("closed before the stall")
		}
		time.Sleep(1500 * time.Millisecond)
		if !strings.Contains(h.log.String(), "too slow") {
			t.Fatal("not closed after the stall")
		}
		w.set(cart("a"), "n", 2)
		settle()
		q.wantFresh("s", tN)
	})
}

// A slow reader that goes on gets the newest fragment of each target, and no older ones.
func TestC7_SlowReaderConflates(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		h := open(t, w, func(c *realtime.Config) { c.WriteStall = time.Hour; c.Heartbeat = -1; c.Recheck = -1 })
		p := &page{h: h, user: "slow", scopes: map[string]*scope{}, ws: h.connect("slow", "session-slow"), done: make(chan struct{})}
		p.get("s", cart("a"), tN, tM)
		p.subscribe("s")
		synctest.Wait()
		for i := range 100 {
			w.set(cart("a"), "n", i)
			w.set(cart("a"), "m", i)
			time.Sleep(time.Second)
		}
		go p.read(p.ws, p.done)
		settle()
		p.wantFresh("s", tN, tM)
		if n := len(p.got("f")); n > 4 {
			t.Errorf("%d frames after 200 missed commits, want the newest of two targets", n)
		}
		p.drop()
	})
}

func TestR47_ScopesAreCapped(t *testing.T) {
	onBothLinks(t, func(t *testing.T, w *world) {
		h := open(t, w)
		p := h.browse("x")
		for i := range 150 {
			p.get(fmt.Sprint(i), cart(fmt.Sprint(i)), tN)
			p.subscribe(fmt.Sprint(i))
		}
		settle()
		no := p.got("no")
		if len(no) != 50 || no[0].Reason != wire.Limit || no[0].Scope != "100" || no[0].Retry {
			t.Fatalf("%d refusals, the first %+v; want 50 of limit from scope 100 on", len(no), no[0])
		}
		if n := w.count(&w.reads); n != 100 {
			t.Errorf("%d snapshots read for 100 scopes", n)
		}
		asked := w.count(&w.policies)
		p.send(wire.Command{Type: "unsub", Scope: "7"})
		p.subscribe("100")
		settle()
		if len(p.got("no")) != 50 || w.count(&w.policies) == asked {
			t.Error("a freed place was not given away")
		}
		p.subscribe("3") // replaces its own
		settle()
		if len(p.got("no")) != 50 {
			t.Error("a second subscribe of a scope counted as another")
		}
	})
}

func TestR47_FloodsAreClosed(t *testing.T) {
	for name, flood := range map[string]func(p *page, i int) string{
		"streams": func(p *page, i int) string {
			return fmt.Sprintf(`{"t":"sub","n":%d,"s":"s%d","token":%q}`, i, i, p.scopes["0"].token)
		},
		"garbage": func(*page, int) string { return "x" },
		"unknown": func(*page, int) string { return `{"t":"what"}` },
		"forged":  func(_ *page, i int) string { return fmt.Sprintf(`{"t":"sub","n":%d,"s":"s","token":"x"}`, i) },
		"bytes":   func(*page, int) string { return "" },
	} {
		bubble(t, func(t *testing.T, w *world) {
			h := open(t, w)
			q := h.browse("other")
			q.get("s", cart("b"), tN)
			q.subscribe("s")
			p := h.browse("x")
			p.get("0", cart("a"), tN)
			for i := range 10000 {
				if p.ws.Write(context.Background(), websocket.MessageText, []byte(flood(p, i+1))) != nil {
					break
				}
			}
			settle()
			if code := p.closeCode(); code != wire.CloseProtocol {
				t.Errorf("%s: closed with %d, want %d", name, code, wire.CloseProtocol)
			}
			if n := w.count(&w.reads); n > 102 {
				t.Errorf("%s: %d reads", name, n)
			}
			w.set(cart("b"), "n", 3)
			settle()
			q.wantFresh("s", tN)
		})
	}
}

// R47: who sends commands faster than they are done waits, before they fill the memory.
func TestR47_CommandsThatWaitAreBounded(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		h := open(t, w)
		p := h.browse("x")
		p.get("s", cart("a"), tN)
		done := make(chan struct{})
		w.with(func() {
			w.allow = func(context.Context, actors.Request) error { <-done; return nil }
		})
		p.subscribe("s")
		synctest.Wait()
		const all = 5000
		var sent atomic.Int64
		go func() {
			for range all {
				p.send(wire.Command{Type: "unsub", Scope: "unknown"})
				sent.Add(1)
			}
		}()
		synctest.Wait()
		if n := sent.Load(); n < 1000 || n > 1100 {
			t.Errorf("%d commands were taken while one is worked on, want about 1024", n)
		}
		close(done)
		settle()
		p.wantFresh("s", tN)
		if n := sent.Load(); n != all || p.closeCode() != 0 {
			t.Errorf("%d of %d commands were taken in the end, closed with %d", n, all, p.closeCode())
		}
	})
}

// R34: the largest page works, a larger token or frame is refused with bounded memory.
func TestR34_LargestPageAndFrames(t *testing.T) {
	onBothLinks(t, func(t *testing.T, w *world) {
		h := open(t, w)
		p := h.browse("x")
		var targets []wire.Target
		for i := range wire.MaxTargets {
			targets = append(targets, wire.Target{Component: "line", Key: fmt.Sprintf("%064x", i*7919)})
		}
		p.get("s", cart("a"), targets...)
		p.scopes["s"].first = false
		p.subscribe("s")
		settle()
		if oks := p.got("ok"); len(oks) != 1 || len(oks[0].Fragments) != wire.MaxTargets {
			t.Fatalf("the largest page was not answered: %+v", p.got("no"))
		}
		w.set(cart("a"), "n", 5)
		settle()
		p.wantFresh("s", targets...)
		if n := len(p.got("f")); n != wire.MaxTargets {
			t.Errorf("%d frames, want %d", n, wire.MaxTargets)
		}
		more := must(h.sealer.Seal(wire.Token{Actor: cart("a"), Targets: []wire.Target{tN}}))
		p.send(wire.Command{Type: "sub", Number: 9, Scope: "t", Token: p.scopes["s"].token, More: []string{more}})
		settle()
		if no := p.got("no"); len(no) != 1 || no[0].Reason != wire.Limit {
			t.Errorf("one target too many was told %+v, want limit", no)
		}
		_, err := h.sealer.Seal(wire.Token{Actor: cart("a"), Targets: append(targets, tN)})
		if big, ok := errors.AsType[*wire.PageTooLarge](err); !ok || big.Targets != 1001 || big.MaxTargets != 1000 {
			t.Errorf("sealing 1001 targets: %v", err)
		}
	})
}

func TestR34_OversizedFramesAreAnsweredWith1009(t *testing.T) {
	for name, size := range map[string]int{"limit": wire.MaxFrameBytes, "limit + 1": wire.MaxFrameBytes + 1, "100 MB": 100 << 20} {
		bubble(t, func(t *testing.T, w *world) {
			h := open(t, w)
			p := h.browse("x")
			body := strings.Repeat(" ", size-len(`{"t":"what"}`)) + `{"t":"what"}`
			p.ws.Write(context.Background(), websocket.MessageText, []byte(body))
			time.Sleep(3 * time.Second)
			want := websocket.StatusMessageTooBig
			if size <= wire.MaxFrameBytes {
				want = 0
			}
			if code := p.closeCode(); code != want {
				t.Errorf("%s: closed with %d, want %d", name, code, want)
			}
		})
	}
}

func TestR34_MegabyteFragment(t *testing.T) {
	onBothLinks(t, func(t *testing.T, w *world) {
		big := strings.Repeat("<b>\u2028 & \"quotes\" </b>", 50_000)
		w.parts["big"] = part{observes: []string{"n"}, render: func(_ context.Context, _ realtime.RenderRequest, s state) (string, []wire.Target, error) {
			return fmt.Sprint(s["n"], big), nil, nil
		}}
		h := open(t, w)
		p := h.browse("x")
		p.get("s", cart("a"), wire.Target{Component: "big"}, tN)
		p.subscribe("s")
		for i := range 3 {
			w.set(cart("a"), "n", 2+i)
			settle()
			p.wantFresh("s", wire.Target{Component: "big"}, tN)
		}
	})
}

// R13: surplus resyncs are told when to come back, and everybody is right in the end.
func TestR13_EveryoneReconnectsAtOnce(t *testing.T) {
	onBothLinks(t, func(t *testing.T, w *world) {
		h := open(t, w, func(c *realtime.Config) { c.Resyncs = 1 })
		w.with(func() {
			w.allow = func(context.Context, actors.Request) error { time.Sleep(5 * time.Millisecond); return nil }
		})
		const clients = 900
		var pages []*page
		for i := range clients {
			p := h.browse(fmt.Sprint("user", i))
			p.get("s", cart("a"), tN)
			pages = append(pages, p)
		}
		w.set(cart("a"), "n", 2)
		for _, p := range pages {
			p.subscribe("s")
		}
		later := 0
		spread := map[int64]bool{}
		for round := 0; ; round++ {
			time.Sleep(3 * time.Second)
			synctest.Wait()
			again := 0
			for _, p := range pages {
				if p.reason("s") == wire.Later {
					no := p.got("no")
					last := no[len(no)-1]
					if !last.Retry || last.After < 1000 || last.After >= 2000 {
						t.Fatalf("told %+v, want to come back in one to two seconds", last)
					}
					spread[last.After] = true
					p.scopes["s"].reason = ""
					p.subscribe("s")
					again++
				}
			}
			later += again
			if again == 0 {
				break
			}
			if round > 20 {
				t.Fatalf("%d pages are still told to come later", again)
			}
		}
		if later < clients-513-10 || len(spread) < 50 {
			t.Errorf("%d were told later, at %d different times; want the surplus, spread", later, len(spread))
		}
		for _, p := range pages {
			p.wantFresh("s", tN)
		}
	})
}
