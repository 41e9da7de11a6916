package realtime_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/lockstep-go/lockstep/actors"
	"github.com/lockstep-go/lockstep/realtime"
	"github.com/lockstep-go/lockstep/realtime/wire"
)

// flaky is a component that fails while told to.
type flaky struct {
	fails atomic.Bool
	tries atomic.Int64
	for_  string // fails for this viewer alone; "" for all
	panic bool
}

func (f *flaky) part(audience realtime.Audience) part {
	return part{audience: audience, observes: []string{"n"}, group: viewerOf,
		render: func(ctx context.Context, r realtime.RenderRequest, s state) (string, []wire.Target, error) {
			who := viewerOf(ctx) + r.Group
			if f.fails.Load() && (f.for_ == "" || f.for_ == who) {
				f.tries.Add(1)
				if f.panic {
					panic("as told")
				}
				return "", nil, errors.New("as told")
			}
			return fmt.Sprintf("%s %d", who, s["n"]), nil, nil
		}}
}

func TestC6_R30_AFailingComponentBreaksItselfOnly(t *testing.T) {
	for name, audience := range map[string]realtime.Audience{"shared": realtime.Shared, "group": realtime.ByGroup, "viewer": realtime.PerViewer} {
		for _, panics := range []bool{false, true} {
			bubble(t, func(t *testing.T, w *world) {
				f := &flaky{panic: panics}
				w.parts["flaky"] = f.part(audience)
				target := wire.Target{Component: "flaky"}
				h := open(t, w)
				p := h.browse("x")
				p.get("s", cart("a"), tN, target, tGreeting)
				p.subscribe("s")
				synctest.Wait()
				f.fails.Store(true)
				old := p.shows("s", target)
				w.set(cart("a"), "n", 2)
				settle()
				p.wantFresh("s", tN, tGreeting)
				if got := p.shows("s", target); got != old {
					t.Errorf("%s: the broken component shows %q, want its old HTML", name, got)
				}
				if !strings.Contains(h.log.String(), "component=flaky") || strings.Contains(h.log.String(), "as told") {
					t.Errorf("%s: the log says %q", name, h.log)
				}
				// Tried again after 1, 2, 4, 8, 16, 32, 60, 60 s.
				time.Sleep(64 * time.Second)
				if n := f.tries.Load(); n != 7 {
					t.Errorf("%s: tried %d times in the first 64 s, want 7", name, n)
				}
				time.Sleep(180 * time.Second)
				if n := f.tries.Load(); n != 10 {
					t.Errorf("%s: tried %d times in the first 244 s, want 10", name, n)
				}
				f.fails.Store(false)
				time.Sleep(61 * time.Second)
				synctest.Wait()
				p.wantFresh("s", tN, target, tGreeting)
				renders := w.rendered("flaky")
				time.Sleep(5 * time.Minute)
				if n := w.rendered("flaky") - renders; n != 0 {
					t.Errorf("%s: rendered %d times after it succeeded", name, n)
				}
			})
		}
	}
}

// R30: for one viewer only; the next commit tries again at once.
func TestC6_R30_OneViewersPanicIsNobodyElses(t *testing.T) {
	onBothLinks(t, func(t *testing.T, w *world) {
		f := &flaky{panic: true, for_: "x"}
		w.parts["flaky"] = f.part(realtime.PerViewer)
		target := wire.Target{Component: "flaky"}
		h := open(t, w)
		p, q := h.browse("x"), h.browse("y")
		for _, page := range []*page{p, q} {
			page.get("s", cart("a"), tN, target)
			page.subscribe("s")
		}
		synctest.Wait()
		f.fails.Store(true)
		w.set(cart("a"), "n", 2)
		settle()
		q.wantFresh("s", tN, target)
		p.wantFresh("s", tN)
		f.fails.Store(false)
		w.set(cart("a"), "n", 3)
		settle()
		p.wantFresh("s", tN, target)
	})
}

// An answer leaves a broken target out and brings it when it works.
func TestC6_AnswerWithABrokenTarget(t *testing.T) {
	for name, audience := range map[string]realtime.Audience{"shared": realtime.Shared, "group": realtime.ByGroup, "viewer": realtime.PerViewer} {
		bubble(t, func(t *testing.T, w *world) {
			f := &flaky{}
			w.parts["flaky"] = f.part(audience)
			target := wire.Target{Component: "flaky"}
			h := open(t, w)
			p := h.browse("x")
			p.get("s", cart("a"), tN, target)
			f.fails.Store(true)
			w.set(cart("a"), "n", 2)
			p.subscribe("s")
			synctest.Wait()
			p.wantFresh("s", tN)
			f.fails.Store(false)
			time.Sleep(1100 * time.Millisecond)
			synctest.Wait()
			p.wantFresh("s", tN, target)
			if name == "shared" && len(p.got("ok")) != 1 {
				t.Errorf("%d answers, want 1", len(p.got("ok")))
			}
		})
	}
}

// A group function that panics is that component's failure, a describing one an unknown component.
func TestC6_PanicsOfTheGroupKey(t *testing.T) {
	onBothLinks(t, func(t *testing.T, w *world) {
		p1 := w.parts["staff"]
		p1.group = func(ctx context.Context) string { panic("group") }
		good := w.parts["staff"]
		w.parts["staff"] = p1
		h := open(t, w)
		p := h.browse("x")
		w.with(func() { w.parts["staff"] = good })
		p.get("s", cart("a"), tN, tStaff)
		w.with(func() { w.parts["staff"] = p1 })
		w.set(cart("a"), "n", 2)
		p.subscribe("s")
		settle()
		p.wantFresh("s", tN)
		if oks := p.got("ok"); len(oks) != 1 || len(oks[0].Fragments) != 1 {
			t.Errorf("answers %+v, want one without the broken target", oks)
		}
	})
}

// State newer than the code ends the subscription as retryable, at the subscribe and later.
func TestNewerStateEndsTheSubscription(t *testing.T) {
	onBothLinks(t, func(t *testing.T, w *world) {
		h := open(t, w)
		p, q, r := h.browse("x"), h.browse("y"), h.browse("z")
		p.get("s", cart("a"), tN)
		q.get("s", cart("a"), tGreeting)
		r.get("s", cart("a"), tN)
		p.subscribe("s")
		q.subscribe("s")
		synctest.Wait()
		w.with(func() { w.rows[cart("a")].Version = 2 })
		w.set(cart("a"), "n", 2)
		settle()
		r.subscribe("s")
		synctest.Wait()
		for _, page := range []*page{p, q, r} {
			no := page.got("no")
			if len(no) != 1 || no[0].Reason != wire.Newer || !no[0].Retry || no[0].After < 5000 {
				t.Errorf("%s was told %+v, want newer with a time to come back", page.user, no)
			}
			if n := len(page.got("f")); n != 0 {
				t.Errorf("%s got %d frames", page.user, n)
			}
		}
	})
}

func TestC3_DatabaseDownForAMinute(t *testing.T) {
	onBothLinks(t, func(t *testing.T, w *world) {
		h := open(t, w)
		p := h.browse("x")
		p.get("s", cart("a"), tN, tGreeting)
		p.get("u", cart("a"), tM)
		p.subscribe("s")
		synctest.Wait()
		w.with(func() { w.readErr = errors.New("down") })
		w.set(cart("a"), "n", 2)
		settle()
		p.subscribe("u")
		settle()
		if no := p.got("no"); len(no) != 1 || no[0].Reason != wire.Failed || !no[0].Retry {
			t.Errorf("a subscribe was told %+v, want a retryable error", no)
		}
		reads := w.count(&w.reads)
		time.Sleep(time.Minute)
		if n := w.count(&w.reads) - reads; n > 65 {
			t.Errorf("%d snapshots tried in a minute, want about one a second", n)
		}
		w.with(func() { w.readErr = nil })
		time.Sleep(2 * time.Second)
		synctest.Wait()
		p.wantFresh("s", tN, tGreeting)
	})
}

// R08: a commit whose render fails stays committed, and no frame shows what was not.
func TestR08_NewsWithoutACommit(t *testing.T) {
	onBothLinks(t, func(t *testing.T, w *world) {
		h := open(t, w)
		p := h.browse("x")
		p.get("s", cart("a"), tN)
		p.subscribe("s")
		synctest.Wait()
		// A row of a turn that lost its fence says more than the database has.
		snap := w.snapshot(cart("a"))
		h.tell(actors.Broadcast{Actor: cart("a"), Instance: snap.Instance, Revision: snap.Revision + 5, Previous: snap.Broadcast, Message: "lost", Names: []string{"n"}})
		settle()
		for _, f := range p.got("f") {
			if f.HTML != w.fresh("x", cart("a"), tN) {
				t.Errorf("a frame shows %q", f.HTML)
			}
		}
		w.set(cart("a"), "n", 2) // its revision lies below the false row's
		time.Sleep(2 * time.Second)
		synctest.Wait()
		p.wantFresh("s", tN)
	})
}
