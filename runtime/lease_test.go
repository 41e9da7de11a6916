package runtime_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/lockstep-go/lockstep/actors"
	"github.com/lockstep-go/lockstep/runtime/store"
)

// G6, D10: over the life of an incarnation every claim has a higher generation and a token of its own, however the
// lease ended.
func TestG6GenerationGrowsForEver(t *testing.T) {
	inTime(t, func(t *testing.T) {
		fail := true
		p := definePads(func(_ *actors.Turn[pad], _ *pad, line string) error {
			if line == "retry" && fail {
				fail = false
				return errors.New("once more")
			}
			return nil
		})
		db := &faults{Store: openStore(t)}
		cfg := config(p)
		cfg.PassMessages = 2
		first := start(t, db, cfg)
		p.ask(t, first.Runtime, "a", "1")
		pass(2 * time.Minute) // idle: given back
		p.ask(t, first.Runtime, "a", "2")
		p.tell(t, first.Runtime, "a", "retry") // given back for the backoff
		pass(10 * time.Second)
		pause(t, db, "pad", "a", true)
		for i := range 5 { // a backlog in passes of two: given back to yield
			p.tell(t, first.Runtime, "a", fmt.Sprint(i))
		}
		pause(t, db, "pad", "a", false)
		pass(10 * time.Second)
		if err := first.end(); err != nil { // shutdown
			t.Error(err)
		}
		p.ask(t, first.Runtime, "a", "assisted")
		second := start(t, db, cfg)
		p.ask(t, second.Runtime, "a", "elsewhere")
		if len(db.fences) < 6 {
			t.Fatalf("only %d claims were seen: %+v", len(db.fences), db.fences)
		}
		tokens, last := map[string]bool{}, int64(0)
		for i, f := range slices.Compact(db.fences) { // a scan may find the lease its own and keep it
			if f.Generation <= last {
				t.Errorf("claim %d has generation %d after %d", i, f.Generation, last)
			}
			last = f.Generation
			if tokens[f.Token] {
				t.Errorf("claim %d has the token of another", i)
			}
			tokens[f.Token] = true
		}
	})
}

// G7, G8, D09 (second form), D16: an owner whose commit waits until its lease is over, and another has taken over,
// writes nothing; its turn hears of it, and it serves nothing that it no longer owns.
func TestG7StaleOwnerWritesNothing(t *testing.T) {
	inTime(t, func(t *testing.T) {
		var p *pads
		mine := make(chan struct{}, 1)
		var cause error
		p = definePads(func(turn *actors.Turn[pad], _ *pad, line string) error {
			if line == "slow" && turn.Attempt() == 1 {
				p.write.Send(turn, p.Ref("b"), "from the stale owner")
				mine <- struct{}{}
				<-turn.Context().Done()
				cause = context.Cause(turn.Context())
			}
			return nil
		})
		db := openStore(t)
		cut := &faults{Store: db}
		cfg := config(p)
		cfg.Lease, cfg.Renew = 3*time.Second, time.Second
		stale := start(t, cut, cfg)
		p.ask(t, stale.Runtime, "a", "before")
		m := p.tell(t, stale.Runtime, "a", "slow")
		<-mine
		release := cut.hold() // neither renewals nor commits come through
		other := start(t, db, cfg)
		pass(10 * time.Second)
		if !errors.Is(cause, actors.ErrLostActivation) {
			t.Errorf("the stale turn's context ended with %v, want ErrLostActivation", cause)
		}
		if n, err := p.write.Wait(t.Context(), other, m); n != 2 || err != nil {
			t.Errorf("the new owner answers %d, %v", n, err)
		}
		p.ask(t, other.Runtime, "a", "after")
		release()
		settle()
		p.expect(t, other.Runtime, "a", "before", "slow", "after")
		p.expect(t, other.Runtime, "b")
		if n := p.ask(t, stale.Runtime, "a", "once more"); n != 4 {
			t.Errorf("the first owner answers %d, want 4: it serves what it no longer owns", n)
		}
	})
}

// D16: an idle owner that slept past its lease serves what the other committed meanwhile.
func TestD16IdleOwnerThatSlept(t *testing.T) {
	inTime(t, func(t *testing.T) {
		p := definePads(nil)
		db := openStore(t)
		cut := &faults{Store: db}
		cfg := config(p)
		cfg.Lease, cfg.Renew, cfg.Idle = 3*time.Second, time.Second, time.Hour
		sleeper, other := start(t, cut, cfg), start(t, db, cfg)
		p.ask(t, sleeper.Runtime, "a", "1")
		release := cut.hold()
		pass(4 * time.Second)
		p.ask(t, other.Runtime, "a", "2")
		release()
		if n := p.ask(t, sleeper.Runtime, "a", "3"); n != 3 {
			t.Errorf("the sleeper answers %d, want 3", n)
		}
		p.expect(t, sleeper.Runtime, "a", "1", "2", "3")
	})
}

// D16: a database clock that jumps ahead ends leases at once; both owners go on, and nothing is lost or doubled.
func TestD16ClockJump(t *testing.T) {
	inTime(t, func(t *testing.T) {
		p := definePads(nil)
		db := openStore(t)
		one, two := start(t, db, config(p)), start(t, db, config(p))
		want := []string{}
		for i, jump := range []time.Duration{0, time.Hour, time.Hour, 0, 2 * time.Hour} {
			db.Offset(jump)
			for j, rt := range []*process{one, two} {
				line := fmt.Sprint(i, j)
				want = append(want, line)
				if n := p.ask(t, rt.Runtime, "a", line); n != len(want) {
					t.Errorf("after a jump to %v it answers %d, want %d", jump, n, len(want))
				}
				pass(time.Minute)
			}
		}
		p.expect(t, one.Runtime, "a", want...)
		db.Offset(0)
	})
}

// G9, D15: a long turn keeps its lease, though renewals fail now and then.
func TestG9LongTurnIsRenewed(t *testing.T) {
	inTime(t, func(t *testing.T) {
		runs := 0
		p := definePads(func(turn *actors.Turn[pad], _ *pad, _ string) error {
			runs++
			select {
			case <-turn.Context().Done():
			case <-time.After(10 * time.Minute):
			}
			return context.Cause(turn.Context())
		})
		db := openStore(t)
		weak := &faults{Store: db}
		renewals := 0
		weak.set(func(b *store.Flush) error {
			if len(b.Renewals) > 0 {
				if renewals++; renewals%3 != 0 { // two fail, the third succeeds
					return errBefore
				}
			}
			return nil
		}, nil)
		cfg := config(p)
		cfg.Lease, cfg.Renew = 40*time.Second, 10*time.Second
		rt := start(t, weak, cfg)
		start(t, db, cfg)
		m := p.tell(t, rt.Runtime, "a", "long")
		pass(11 * time.Minute)
		if n, err := p.write.Wait(t.Context(), rt, m); n != 1 || err != nil || runs != 1 {
			t.Errorf("answer %d, %v after %d runs; want one run", n, err, runs)
		}
		if renewals < 30 {
			t.Errorf("only %d renewals were tried", renewals)
		}
	})
}

// G10, hole 2: what this build cannot set up goes back without an attempt; others are not starved, another build takes it.
func TestG10SetupFailureGivesTheMessageBack(t *testing.T) {
	inTime(t, func(t *testing.T) {
		old := definePads(nil)
		attempts := []int{}
		young := definePads(nil)
		erase := actors.Message[int, int](young.Type, "erase")
		erase.Handle(func(s *pad, turn *actors.Turn[pad], keep int) (int, error) {
			attempts = append(attempts, turn.Attempt())
			s.Lines = s.Lines[:keep]
			return len(s.Lines), nil
		})
		db := openStore(t)
		cfg := config(old)
		cfg.Workers = 1
		worker := start(t, db, cfg)
		newer := idle(t, db, config(young))
		old.ask(t, worker.Runtime, "a", "1")
		m, err := erase.Tell(t.Context(), newer, young.Ref("a"), 0)
		if err != nil {
			t.Fatal(err)
		}
		pass(10 * time.Second)
		begun := time.Now()
		for i := range 10 {
			if n := old.ask(t, worker.Runtime, "b", "x"); n != i+1 {
				t.Errorf("another actor answers %d", n)
			}
		}
		if took := time.Since(begun); took > 0 {
			t.Errorf("other actors wait %v for one that cannot be set up", took)
		}
		running := run(t, newer)
		if n, err := erase.Wait(t.Context(), running, m); n != 0 || err != nil {
			t.Errorf("the newer build answers %d, %v", n, err)
		}
		if fmt.Sprint(attempts) != "[1]" {
			t.Errorf("attempts %v, want the first", attempts)
		}
	})
}

// G10: decoding, hooks and newer state each answer the caller at once, and cost no attempt however often they fail.
func TestG10EveryKindOfSetupFailure(t *testing.T) {
	inTime(t, func(t *testing.T) {
		db := openStore(t)
		numbers := actors.Define("pad", func() pad { return pad{} })
		number := actors.Message[int, int](numbers, "write") // the same operation with another input
		number.Handle(func(*pad, *actors.Turn[pad], int) (int, error) { return 0, nil })
		foreign := idle(t, db, config(numbers))
		later := definePads(nil)
		later.Migrate(1, func(s json.RawMessage) (json.RawMessage, error) { return s, nil })
		later.ask(t, idle(t, db, config(later)), "newer", "x")

		var closed atomic.Bool
		closed.Store(true)
		attempt := 0
		p := definePads(func(turn *actors.Turn[pad], _ *pad, _ string) error { attempt = turn.Attempt(); return nil })
		p.OnActivate(func(_ *pad, a *actors.Activation) error {
			if a.ID == "hook" && closed.Load() {
				return errors.New("closed today")
			}
			return nil
		})
		rt := start(t, db, calm(config(p)))

		_, err := p.write.Ask(t.Context(), rt, p.Ref("newer"), "x")
		as[*actors.StateTooNew](t, as[*actors.SetupFailed](t, err))

		m, err := number.Tell(t.Context(), foreign, numbers.Ref("input"), 7)
		if err != nil {
			t.Fatal(err)
		}
		_, err = p.write.Wait(t.Context(), rt, m)
		if err == nil || !strings.Contains(err.Error(), "arguments") {
			t.Errorf("arguments that do not decode: %v", err)
		}

		_, err = p.write.Ask(t.Context(), rt, p.Ref("hook"), "x")
		failed := as[*actors.SetupFailed](t, err)
		pass(20 * time.Minute)
		closed.Store(false)
		pass(2 * time.Minute)
		if n, err := p.write.Wait(t.Context(), rt, failed.Message); n != 1 || err != nil || attempt != 1 {
			t.Errorf("after twenty minutes of failing: %d, %v at attempt %d; want the first", n, err, attempt)
		}
		if letters, _ := db.DeadLetters(t.Context(), 10); len(letters) != 0 {
			t.Errorf("%d dead letters", len(letters))
		}
	})
}

// D17 (b), (c), G33: a commit whose outcome is unclear drops the activation; the message is not run again where it
// committed, and once more where it did not, neither after a full lease.
func TestG33UnclearCommitDropsTheActivation(t *testing.T) {
	for _, committed := range []bool{true, false} {
		t.Run(fmt.Sprintf("committed=%v", committed), func(t *testing.T) {
			inTime(t, func(t *testing.T) {
				runs := 0
				p := definePads(func(_ *actors.Turn[pad], _ *pad, line string) error {
					if line == "unclear" {
						runs++
					}
					return nil
				})
				db := &faults{Store: openStore(t)}
				rt := start(t, db, config(p))
				p.ask(t, rt.Runtime, "a", "before")
				cut := onceFor(commits, errUnclear)
				want := 2
				if committed {
					db.set(nil, cut)
					want = 1
				} else {
					db.set(cut, nil)
				}
				begun := time.Now()
				if n, err := p.write.Ask(t.Context(), rt, p.Ref("a"), "unclear"); n != 2 || err != nil {
					t.Errorf("answer %d, %v", n, err)
				}
				if n := p.ask(t, rt.Runtime, "a", "after"); n != 3 {
					t.Errorf("the next answer is %d", n)
				}
				if took := time.Since(begun); took > 4*time.Second {
					t.Errorf("it took %v", took)
				}
				if runs != want {
					t.Errorf("%d runs, want %d", runs, want)
				}
				p.expect(t, rt.Runtime, "a", "before", "unclear", "after")
			})
		})
	}
}

// D27: ids are made here, so a repeated enqueue finds its own row and calls it success.
func TestD27UnclearEnqueueIsNotDoubled(t *testing.T) {
	for _, committed := range []bool{true, false} {
		for _, running := range []bool{true, false} {
			t.Run(fmt.Sprintf("committed=%v,running=%v", committed, running), func(t *testing.T) {
				inTime(t, func(t *testing.T) {
					p := definePads(nil)
					db := &faults{Store: openStore(t)}
					cfg := config(p)
					cfg.AskTimeout = time.Minute
					rt := idle(t, db, cfg)
					if running {
						run(t, rt)
					}
					pass(time.Second)
					cut := onceFor(func(b *store.Flush) bool { return len(b.Enqueues) > 0 }, errUnclear)
					if committed {
						db.set(nil, cut)
					} else {
						db.set(cut, nil)
					}
					begun := time.Now()
					if n := p.ask(t, rt, "a", "x"); n != 1 {
						t.Errorf("answer %d", n)
					}
					limit := 4 * time.Second
					if committed && running {
						limit = 40 * time.Second // the claim that the lost answer told of ends with its lease
					}
					if took := time.Since(begun); took > limit {
						t.Errorf("it took %v", took)
					}
					pass(time.Minute)
					p.expect(t, rt, "a", "x")
				})
			})
		}
	}
}

// D27: a caller whose commit stays unclear is told so, with the id to look up; a transient failure is only a delay.
func TestD27OutcomeUnknown(t *testing.T) {
	inTime(t, func(t *testing.T) {
		p := definePads(nil)
		db := &faults{Store: openStore(t)}
		rt := idle(t, db, config(p))
		db.set(func(*store.Flush) error { return errUnclear }, nil)
		_, err := p.write.Tell(t.Context(), rt, p.Ref("a"), "x")
		expectIs(t, "unclear", err, actors.ErrOutcomeUnknown)
		if err == nil || !strings.Contains(err.Error(), "message 0") {
			t.Errorf("%v does not name the message", err)
		}
		tries := 0
		db.set(func(*store.Flush) error {
			if tries++; tries < 10 {
				return errors.Join(store.ErrTransient, errBefore)
			}
			return nil
		}, nil)
		if m := p.tell(t, rt, "a", "y"); m.Sequence != 1 {
			t.Errorf("after failures that passed the sequence is %d, want 1", m.Sequence)
		}
		db.set(func(*store.Flush) error { return errBefore }, nil)
		if _, err := p.write.Tell(t.Context(), rt, p.Ref("a"), "z"); !errors.Is(err, errBefore) || errors.Is(err, actors.ErrOutcomeUnknown) {
			t.Errorf("a failure that wrote nothing: %v", err)
		}
		db.set(nil, nil)
	})
}
