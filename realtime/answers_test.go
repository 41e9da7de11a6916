package realtime_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/lockstep-go/lockstep/actors"
	"github.com/lockstep-go/lockstep/realtime"
	"github.com/lockstep-go/lockstep/realtime/wire"
)

// R09, R14: in any order of subscribes, resubscribes, unsubscribes, bad tokens, withdrawn rights, destroyed actors, reads
// that fail or take their time, and ends of the hub, each subscribe is answered exactly once, unless the connection ends.
func TestR09_R14_EverySubscribeIsAnsweredOnce(t *testing.T) {
	rounds := 40
	if testing.Short() {
		rounds = 5
	}
	reasons := map[wire.Reason]int{}
	for i := range rounds {
		s := *seed
		if s == 0 {
			s = rand.Uint64()
		} else if i > 0 {
			return
		}
		bubble(t, func(t *testing.T, w *world) {
			w.streams = i%2 == 1
			defer func() {
				if t.Failed() {
					t.Logf("the seed is %d: go test -run EverySubscribe -seed %d, over a stream %v", s, s, w.streams)
				}
			}()
			newAsker(t, w, rand.New(rand.NewPCG(s, 9))).play(reasons)
		})
	}
	for _, reason := range []wire.Reason{"", wire.Denied, wire.BadToken, wire.Unknown, wire.Expired, wire.UnknownKey, wire.Limit, wire.Failed} {
		if reasons[reason] == 0 && rounds > 5 {
			t.Errorf("of %v no subscribe was answered %q", reasons, reason)
		}
	}
}

// asker is a page that asks for anything.
type asker struct {
	*testing.T
	w      *world
	h      *house
	rnd    *rand.Rand
	p      *page
	asked  []wire.Command // the subscribes that were sent
	denied map[string]bool
	anew   int                        // how often an actor's rights were withdrawn, which asks for new answers
	tokens map[string]func() []string // of each kind
}

func newAsker(t *testing.T, w *world, rnd *rand.Rand) *asker {
	a := &asker{T: t, w: w, rnd: rnd, denied: map[string]bool{}}
	w.allow = func(_ context.Context, r actors.Request) error {
		w.mu.Lock()
		defer w.mu.Unlock()
		if a.denied[r.ID] {
			return errRefused
		}
		return nil
	}
	w.afterGet = func() { time.Sleep(2 * time.Millisecond) } // which a commit may overtake
	seal := func(s *wire.Sealer, actor string, targets ...wire.Target) string {
		return must(s.Seal(wire.Token{Actor: cart(actor), Targets: targets, Stamp: w.snapshot(cart(actor)).Stamp, Build: "build-1"}))
	}
	id := func() string { return []string{"a", "b", "c"}[rnd.IntN(3)] }
	other := must(wire.NewSealer([][]byte{[]byte("fedcba9876543210fedcba9876543210")}, 0, 0))
	expired := seal(sealer(), "a", tN)
	time.Sleep(25 * time.Hour)
	a.h = open(t, w, func(c *realtime.Config) { c.MaxScopes = 3; c.Resyncs = 2 })
	a.p = a.h.browse("asker")
	a.tokens = map[string]func() []string{
		"good":    func() []string { return []string{seal(a.h.sealer, id(), tN, tGreeting, tList)} },
		"again":   func() []string { return []string{seal(a.h.sealer, id(), tN, tStaff, tParent)} },
		"forged":  func() []string { return []string{"forged"} },
		"cut":     func() []string { s := seal(a.h.sealer, id(), tN); return []string{s[:len(s)/2]} },
		"mixed":   func() []string { return []string{seal(a.h.sealer, "a", tN), seal(a.h.sealer, "b", tN)} },
		"unknown": func() []string { return []string{seal(a.h.sealer, id(), wire.Target{Component: "nothing"})} },
		"foreign": func() []string { return []string{seal(other, id(), tN)} },
		"expired": func() []string { return []string{expired} },
	}
	return a
}

// play does something, now at once and now after a while, and then looks at what was answered.
func (a *asker) play(reasons map[wire.Reason]int) {
	kinds := []string{"good", "good", "good", "again", "again", "forged", "cut", "mixed", "unknown", "foreign", "expired"}
	ends := a.rnd.IntN(4) == 0
	for i := range 60 {
		actor := cart([]string{"a", "b", "c"}[a.rnd.IntN(3)])
		switch a.rnd.IntN(14) {
		case 0:
			a.p.send(wire.Command{Type: "unsub", Scope: fmt.Sprint(a.rnd.IntN(9))})
		case 1:
			a.w.set(actor, "n", i)
		case 2:
			a.w.set(actor, "m", a.rnd.IntN(4))
		case 3:
			a.w.destroy(actor)
		case 4:
			a.w.with(func() { a.denied[actor.ID] = !a.denied[actor.ID] })
			a.anew++
			a.h.revoke(realtime.Revocation{Actor: actor})
		case 5:
			failing := a.rnd.IntN(2) == 0
			a.w.with(func() {
				if a.w.readErr = nil; failing {
					a.w.readErr = errors.New("the database is away")
				}
			})
		default:
			tokens := a.tokens[kinds[a.rnd.IntN(len(kinds))]]()
			c := wire.Command{
				Type: "sub", Number: int64(len(a.asked) + 1), Scope: fmt.Sprint(a.rnd.IntN(9)), Token: tokens[0], More: tokens[1:],
				First: a.rnd.IntN(3) == 0, Lists: a.rnd.IntN(2) == 0,
			}
			a.asked = append(a.asked, c)
			a.p.send(c)
		}
		if a.rnd.IntN(3) > 0 {
			time.Sleep(time.Duration(a.rnd.IntN(400)) * time.Millisecond)
		}
		if ends && i == 50 {
			go a.h.stop()
		}
	}
	time.Sleep(time.Minute)
	synctest.Wait()
	answers := map[int64][]wire.Frame{}
	for _, f := range a.p.got("ok", "no") {
		answers[f.Number] = append(answers[f.Number], f)
	}
	over := false
	select {
	case <-a.p.done:
		over = true
	default:
	}
	if over != (ends || a.p.closeCode() == wire.CloseProtocol) {
		a.Errorf("the connection ended with %v", a.p.ended())
	}
	for _, c := range a.asked {
		all := answers[c.Number]
		delete(answers, c.Number)
		if len(all) == 0 {
			if !over {
				a.Errorf("subscribe %d of scope %s has had no answer", c.Number, c.Scope)
			}
			continue
		}
		reasons[all[0].Reason]++
		if wrong := a.wrong(c, all); wrong != "" {
			a.Errorf("subscribe %d of scope %s has had %s: %s", c.Number, c.Scope, story(all), wrong)
		}
	}
	for n, all := range answers {
		a.Errorf("nobody asked for %d, which has had %s", n, story(all))
	}
}

// wrong says what is wrong with the frames that one subscribe has had: an answer, and then only news of another
// incarnation, or of rights that were looked at again, and one end.
func (a *asker) wrong(c wire.Command, all []wire.Frame) string {
	again := 0
	for i, f := range all {
		if i > 0 && f.Type == "ok" && *f.Instance == *all[i-1].Instance {
			again++
		}
		switch {
		case f.Scope != c.Scope:
			return "another scope is named"
		case i > 0 && all[i-1].Type == "no":
			return "it goes on after its end"
		case again > a.anew:
			return "one incarnation is answered twice"
		}
	}
	return ""
}

func story(all []wire.Frame) string {
	var text []string
	for _, f := range all {
		text = append(text, strings.TrimSpace(fmt.Sprint(f.Type, " ", f.Reason)))
	}
	return strings.Join(text, ", ")
}
