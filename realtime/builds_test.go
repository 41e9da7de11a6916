package realtime_test

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/lockstep-go/lockstep/actors"
)

// C1: while another build is at work, what it commits without a broadcast, or names by what it knows, is rendered as
// a whole, once.
func TestC1_AnotherBuildsCommitsAreFound(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		w.mixed = true
		h := open(t, w)
		p := h.browse("alice")
		p.get("s", cart("a"), tN, tM, tGreeting)
		p.subscribe("s")
		synctest.Wait()
		w.commit(cart("a"), change{set: state{"m": 2}, quiet: true}) // m is nothing that the other build knows
		time.Sleep(2 * time.Second)
		synctest.Wait()
		p.wantFresh("s", tN, tM, tGreeting)
		frames, reads := len(p.got("f")), w.count(&w.reads)
		time.Sleep(10 * time.Second)
		synctest.Wait()
		if f, r := len(p.got("f"))-frames, w.count(&w.reads)-reads; f != 0 || r != 0 {
			t.Errorf("%d frames and %d reads more of the same snapshot", f, r)
		}

		// A turn of this build over a silent one of the other's, before any comparison.
		w.deliver = func(tell func(actors.Broadcast), b actors.Broadcast) { b.Inherited = true; tell(b) }
		w.commit(cart("a"), change{set: state{"m": 3}, quiet: true})
		w.set(cart("a"), "n", 4)
		settle()
		p.wantFresh("s", tN, tM, tGreeting)
	})
}

// C1: in a fleet of one build a silent commit renders nothing, and is asked about once.
func TestC1_OneBuildPaysNothing(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		h := open(t, w)
		p := h.browse("alice")
		p.get("s", cart("a"), tN, tM)
		p.subscribe("s")
		synctest.Wait()
		reads, asked := w.count(&w.reads), w.count(&w.askedMixed)
		for i := range 5 {
			w.set(cart("a"), "n", 10+i)
			time.Sleep(2 * time.Second)
		}
		if n := w.count(&w.askedMixed) - asked; n != 0 {
			t.Errorf("asked for other builds %d times", n)
		}
		reads = w.count(&w.reads)
		w.commit(cart("a"), change{set: state{"hidden": 1}, quiet: true})
		time.Sleep(10 * time.Second)
		synctest.Wait()
		if n := w.count(&w.askedMixed) - asked; n != 1 {
			t.Errorf("asked for other builds %d times for one commit", n)
		}
		if n := w.count(&w.reads) - reads; n != 0 {
			t.Errorf("%d snapshots read", n)
		}
		w.deliver = func(tell func(actors.Broadcast), b actors.Broadcast) { b.Inherited = true; tell(b) }
		rendered := w.rendered("m")
		w.set(cart("a"), "n", 99)
		settle()
		p.wantFresh("s", tN, tM)
		if n := w.rendered("m") - rendered; n > 1 { // one of them is wantFresh's
			t.Errorf("m was rendered %d times for a change of n", n)
		}
	})
}

// C1: where nobody can say whether another build is at work, it is asked again.
func TestC1_AskedAgainAfterAFailure(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		w.mixed = true
		h := open(t, w)
		p := h.browse("alice")
		p.get("s", cart("a"), tN, tM)
		p.subscribe("s")
		synctest.Wait()
		w.with(func() { w.readErr = errors.New("down") })
		w.commit(cart("a"), change{set: state{"m": 2}, quiet: true})
		time.Sleep(5 * time.Second)
		w.with(func() { w.readErr = nil })
		time.Sleep(2 * time.Second)
		synctest.Wait()
		p.wantFresh("s", tN, tM)
	})
}
