package realtime_test

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/lockstep-go/lockstep/actors"
	"github.com/lockstep-go/lockstep/realtime"
	"github.com/lockstep-go/lockstep/realtime/wire"
)

var seed = flag.Uint64("seed", 0, "of the random schedules; 0 draws new ones")

// C1, C2, C3: any pattern of drops, copies, reorderings, lost hubs, reconnects, recreated actors and restored databases
// ends with every page equal to a fresh GET.
func TestC3_RandomSchedules(t *testing.T) {
	rounds := 40
	if testing.Short() {
		rounds = 5
	}
	for i := range rounds {
		s := *seed
		if s == 0 {
			s = rand.Uint64()
		} else if i > 0 {
			return
		}
		bubble(t, func(t *testing.T, w *world) {
			w.streams = s%2 == 1
			defer func() {
				if t.Failed() {
					t.Logf("the schedule's seed is %d: go test -run C3_Random -seed %d", s, s)
				}
			}()
			schedule(t, w, rand.New(rand.NewPCG(s, 3)))
		})
	}
}

// garble has broadcasts lost, repeated, held back and replaced by another process's hints, right or wrong.
func garble(w *world, rnd *rand.Rand) {
	var hold []func()
	w.deliver = func(tell func(actors.Broadcast), b actors.Broadcast) {
		switch rnd.IntN(9) {
		case 0: // lost
		case 1:
			tell(b)
			tell(b)
		case 2:
			hold = append(hold, func() { tell(b) })
		case 3, 4: // heard from another process
			tell(hint(b.Actor, b.Instance, b.Revision))
		case 5: // which is wrong about it
			tell(hint(b.Actor, b.Instance, max(0, b.Revision+rnd.Int64N(9)-4)))
		default:
			tell(b)
			if len(hold) > 0 && rnd.IntN(2) == 0 {
				hold[0]()
				hold = hold[1:]
			}
		}
	}
}

func schedule(t *testing.T, w *world, rnd *rand.Rand) {
	garble(w, rnd)
	ids := []string{"a", "b", "c"}
	targets := []wire.Target{tN, tM, tGreeting, tStaff, tList, tTasks, tParent}
	h := open(t, w)
	var pages []*page
	for i := range 4 {
		p := h.browse(fmt.Sprint([]string{"red", "blue"}[i%2], i))
		for _, id := range ids {
			shown := slices.Clone(targets)
			for line := range w.snapshotState(cart(id))["m"] {
				shown = append(shown, wire.Target{Component: "line", Key: fmt.Sprint(line)})
			}
			p.get(id, cart(id), shown...)
		}
		p.get("again", cart("a"), tN, tGreeting, tList)
		p.subscribe("a", "b", "c", "again")
		pages = append(pages, p)
	}
	restores := map[string]func(){}
	for range 60 {
		id := ids[rnd.IntN(len(ids))]
		a := cart(id)
		what := rnd.IntN(12)
		if testing.Verbose() {
			t.Logf("%v: %d on %s at %+v", time.Now().Format("05.000"), what, id, w.snapshot(a))
		}
		switch what {
		case 0:
			if w.snapshot(a).Instance != "" {
				restores[id] = w.backup(a)
			}
		case 1:
			// Restoring takes a while. Histories that overtake each other between two comparisons are not told apart.
			if restore := restores[id]; restore != nil {
				restore()
				time.Sleep(1100 * time.Millisecond)
			}
		case 2:
			w.destroy(a)
		case 3:
			p := pages[rnd.IntN(len(pages))]
			p.drop()
			h.attach(p, "session-"+p.user)
			p.subscribe("a", "b", "c", "again")
		case 4:
			p := pages[rnd.IntN(len(pages))]
			p.subscribe(id)
		case 5:
			h.revoke(realtime.Revocation{Actor: a})
		case 6:
			w.commit(a, change{set: state{}, quiet: true})
		default:
			name := []string{"n", "m"}[rnd.IntN(2)]
			w.set(a, name, rnd.IntN(6))
		}
		time.Sleep(time.Duration(rnd.IntN(60)) * time.Millisecond)
	}
	time.Sleep(2 * time.Second) // one comparison and one second
	synctest.Wait()
	wantAllFresh(t, w, pages, ids, targets)
}

// wantAllFresh compares every target of every page with a fresh GET.
func wantAllFresh(t *testing.T, w *world, pages []*page, ids []string, targets []wire.Target) {
	t.Helper()
	for _, p := range pages {
		for _, id := range ids {
			p.wantFresh(id, targets[:len(targets)-1]...)
			// A parent is not rendered for what only its children observe: it is right in which it holds.
			if got, want := p.shows(id, tParent), w.fresh(p.user, cart(id), tParent); strings.Count(got, "[") != strings.Count(want, "[") {
				t.Errorf("%s's parent in %s shows %q, a fresh GET shows %q", p.user, id, got, want)
			}
			for line := range w.snapshotState(cart(id))["m"] {
				target := wire.Target{Component: "line", Key: fmt.Sprint(line)}
				// A line that came inside its parent and one pushed by itself end alike.
				if n := w.snapshotState(cart(id))["n"]; !contains(p.shows(id, target), fmt.Sprintf(" %d</p>", n)) {
					t.Errorf("%s's line %d of %s shows %q, n is %d", p.user, line, id, p.shows(id, target), n)
				}
			}
		}
		p.wantFresh("again", tN, tGreeting, tList)
	}
}

func (w *world) snapshotState(a actors.Address) state { return decode(w.snapshot(a).State) }
