package realtime_test

import (
	"context"
	"net"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/lockstep-go/lockstep/realtime/wire"
)

func TestR09_CommandsTakeEffectInOrder(t *testing.T) {
	onBothLinks(t, func(t *testing.T, w *world) {
		h := open(t, w)
		p := h.browse("alice")
		p.get("s", cart("a"), tN)
		token := p.scopes["s"].token
		for i := range 1000 {
			p.send(wire.Command{Type: "sub", Number: int64(2*i + 1), Scope: "s", Token: token})
			p.send(wire.Command{Type: "unsub", Scope: "s"})
			p.send(wire.Command{Type: "sub", Number: int64(2*i + 2), Scope: "s", Token: token})
		}
		time.Sleep(time.Second)
		synctest.Wait()
		oks := p.got("ok")
		if len(oks) != 2000 {
			t.Fatalf("%d answers to 2000 subscribes (and %+v)", len(oks), p.got("no"))
		}
		for i, ok := range oks {
			if ok.Number != int64(i+1) {
				t.Fatalf("answer %d has number %d", i+1, ok.Number)
			}
		}
		w.set(cart("a"), "n", 2)
		settle()
		if n := len(p.got("f")); n != 1 {
			t.Errorf("%d frames for one commit, want 1", n)
		}
		p.send(wire.Command{Type: "unsub", Scope: "s"})
		synctest.Wait()
		w.set(cart("a"), "n", 3)
		settle()
		if n := len(p.got("f")); n != 1 {
			t.Errorf("%d frames after unsubscribe, want none", n-1)
		}
	})
}

func TestR10_SameActorTwice(t *testing.T) {
	onBothLinks(t, func(t *testing.T, w *world) {
		w.set(cart("b"), "n", 1)
		h := open(t, w)
		p := h.browse("alice")
		p.get("s1", cart("a"), tN)
		p.get("s2", cart("a"), tN, tM)
		p.get("s3", cart("b"), tN)
		p.subscribe("s1", "s2", "s3")
		synctest.Wait()
		w.set(cart("a"), "n", 2)
		settle()
		p.wantFresh("s1", tN)
		p.wantFresh("s2", tN, tM)
		if n := len(p.got("f")); n != 1 {
			t.Errorf("%d frames for a target shown in two scopes, want 1", n)
		}
		p.unsubscribe("s1")
		w.set(cart("a"), "n", 3)
		w.set(cart("b"), "n", 3)
		settle()
		p.wantFresh("s2", tN, tM)
		p.wantFresh("s3", tN)
	})
}

func TestR12_Bursts(t *testing.T) {
	onBothLinks(t, func(t *testing.T, w *world) {
		h := open(t, w)
		p := h.browse("alice")
		p.get("s", cart("a"), tN)
		p.subscribe("s")
		synctest.Wait()
		reads, renders := w.count(&w.reads), w.rendered("n")
		start := time.Now()
		for i := range 2000 {
			w.set(cart("a"), "n", i)
			time.Sleep(5 * time.Millisecond)
			if i == 0 {
				synctest.Wait()
				if n := len(p.got("f")); n != 1 {
					t.Errorf("%d frames after the first commit, want 1 at once", n)
				}
			}
			if i%100 == 99 { // each half second
				if n := len(p.got("f")); n < i/100+1 {
					t.Fatalf("%d visible changes after %v", n, time.Since(start))
				}
			}
		}
		frames := len(p.got("f"))
		time.Sleep(time.Second)
		synctest.Wait()
		p.wantFresh("s", tN)
		for what, n := range map[string]int{"frames": frames, "reads": w.count(&w.reads) - reads, "renders": w.rendered("n") - renders} {
			if n > 120 {
				t.Errorf("%d %s in 10 s of 200 commits a second, want about 10 a second", n, what)
			}
		}
	})
}

// pieces counts what a connection gets at once: behind a pipe, what was written at once.
type pieces struct {
	net.Conn
	n *atomic.Int64
}

func (p pieces) Read(b []byte) (int, error) {
	n, err := p.Conn.Read(b)
	p.n.Add(1)
	return n, err
}

// R12: all that a commit changes of a page comes in two writes, one for what everybody sees and one for the viewer's own.
func TestR12_ACommitIsWrittenAtOnce(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		h := open(t, w)
		var got atomic.Int64
		dial := h.dial
		h.dial = func(ctx context.Context, network, addr string) (net.Conn, error) {
			c, err := dial(ctx, network, addr)
			return pieces{c, &got}, err
		}
		p := h.browse("alice")
		p.get("s", cart("a"), tN, tM, tGreeting, tStaff, wire.Target{Component: "crew"})
		p.subscribe("s")
		settle()
		before := got.Load()
		w.commit(cart("a"), change{set: state{"n": 2, "m": 3}, names: []string{"n", "m"}})
		settle()
		p.wantFresh("s", tN, tM, tGreeting, tStaff)
		if n, frames := got.Load()-before, len(p.got("f")); n > 2 || frames != 5 {
			t.Errorf("%d frames in %d writes, want 5 in at most 2", frames, n)
		}
	})
}
