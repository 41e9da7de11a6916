package realtime_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/lockstep-go/lockstep/actors"
)

// hint is what a hub hears of another process's broadcast: it covers nothing by itself.
func hint(a actors.Address, instance string, revision int64) actors.Broadcast {
	return actors.Broadcast{Actor: a, Instance: instance, Revision: revision, Previous: revision}
}

// C1, C2: a hint of another process's commit brings everything up to date at once; copies, old ones, those of an earlier
// incarnation and invented ones change nothing on the page, and a lost one is found by the comparison.
func TestC1_C2_HintsOfOtherProcesses(t *testing.T) {
	onBothLinks(t, func(t *testing.T, w *world) {
		var told []actors.Broadcast
		silent := true
		w.deliver = func(tell func(actors.Broadcast), b actors.Broadcast) {
			told = append(told, b)
			if !silent {
				tell(hint(b.Actor, b.Instance, b.Revision))
			}
		}
		h := open(t, w, noCompare)
		p := h.browse("alice")
		p.get("s", cart("a"), tN, tM)
		p.subscribe("s")
		synctest.Wait()

		w.set(cart("a"), "n", 2) // its hint is lost
		w.set(cart("a"), "m", 2)
		silent = false
		w.set(cart("a"), "n", 3)
		settle()
		p.wantFresh("s", tN, tM)

		reads := w.count(&w.reads)
		tellAll := func(all ...actors.Broadcast) {
			for _, b := range all {
				w.mu.Lock()
				for _, tell := range w.follow {
					defer tell(b)
				}
				w.mu.Unlock()
			}
		}
		last := told[len(told)-1]
		for range 50 { // fewer than the inbox keeps one by one
			for _, b := range told {
				tellAll(hint(b.Actor, b.Instance, b.Revision))
			}
		}
		settle()
		if n := w.count(&w.reads) - reads; n != 0 {
			t.Errorf("%d reads for hints of what is shown", n)
		}
		frames := len(p.got("f"))
		tellAll(hint(cart("a"), "another", 1<<40), hint(cart("a"), last.Instance, -1))
		settle()
		if n := len(p.got("f")) - frames; n != 0 {
			t.Errorf("%d frames for hints of what never was", n)
		}
		tellAll(hint(cart("a"), last.Instance, 1<<60)) // invented: it costs a render, and hides nothing
		settle()
		w.set(cart("a"), "n", 4)
		settle()
		p.wantFresh("s", tN, tM)
	})
}

// C1: with all hints lost, a page is current within one comparison and a second.
func TestC1_LostHintsAreFoundByComparing(t *testing.T) {
	onBothLinks(t, func(t *testing.T, w *world) {
		w.deliver = func(func(actors.Broadcast), actors.Broadcast) {}
		h := open(t, w)
		p := h.browse("alice")
		p.get("s", cart("a"), tN, tM)
		p.subscribe("s")
		synctest.Wait()
		w.set(cart("a"), "n", 2)
		time.Sleep(2 * time.Second)
		synctest.Wait()
		p.wantFresh("s", tN, tM)
	})
}

// C1: a comparison that sees a commit before its news has come, or while the news waits for its turn, has nothing
// rendered that the commit did not change.
func TestC1_NewsOnItsWayIsNotLost(t *testing.T) {
	for name, spoil := range map[string]func(w *world){
		"still to come": func(w *world) {
			w.deliver = func(tell func(actors.Broadcast), b actors.Broadcast) {
				time.AfterFunc(30*time.Millisecond, func() { tell(b) })
			}
			w.set(cart("a"), "n", 2)
		},
		"waiting for its turn": func(w *world) {
			for n := range 10 {
				w.set(cart("a"), "n", 2+n)
				synctest.Wait()
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			onBothLinks(t, func(t *testing.T, w *world) {
				h := open(t, w)
				p := h.browse("alice")
				p.get("s", cart("a"), tN, tM)
				p.subscribe("s")
				time.Sleep(2*time.Second - 5*time.Millisecond)
				spoil(w)
				settle()
				p.wantFresh("s", tN, tM)
				for _, f := range p.got("f") {
					if f.Target == tM.Name(cart("a")) {
						t.Errorf("a commit of n pushed m, at revision %s", f.Revision)
					}
				}
			})
		})
	}
}
