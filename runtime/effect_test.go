package runtime_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/lockstep-go/lockstep/actors"
	"github.com/lockstep-go/lockstep/runtime"
)

type order struct {
	Number int64 `json:"number"`
}

// orders is an actor that has its order performed and hears how that went.
type orders struct {
	*actors.Type[pad]
	place  *actors.MessageType[pad, order, int]
	effect *actors.EffectType[pad, order, order]
	done   *actors.MessageType[pad, actors.Done[order, order], actors.None]
	failed *actors.MessageType[pad, actors.Failed[order], actors.None]
}

func defineOrders() *orders {
	typ := actors.Define("order", func() pad { return pad{} })
	o := &orders{Type: typ, place: actors.Message[order, int](typ, "place"), effect: actors.Effect[order, order](typ, "perform")}
	o.done = actors.Message[actors.Done[order, order], actors.None](typ, "done")
	o.failed = actors.Message[actors.Failed[order], actors.None](typ, "failed")
	o.place.Handle(func(s *pad, t *actors.Turn[pad], in order) (int, error) {
		o.effect.Emit(t, in)
		s.Lines = append(s.Lines, fmt.Sprint("placed ", in.Number))
		return len(s.Lines), nil
	})
	o.done.Handle(func(s *pad, _ *actors.Turn[pad], d actors.Done[order, order]) (actors.None, error) {
		s.Lines = append(s.Lines, fmt.Sprintf("done %d: %d", d.Args.Number, d.Result.Number))
		return actors.None{}, nil
	})
	o.failed.Handle(func(s *pad, _ *actors.Turn[pad], f actors.Failed[order]) (actors.None, error) {
		s.Lines = append(s.Lines, fmt.Sprintf("failed %d after %d: %s %s", f.Args.Number, f.Attempts, f.Code, f.Message))
		return actors.None{}, nil
	})
	o.effect.Done(o.done)
	o.effect.Failed(o.failed)
	return o
}

func (o *orders) config(perform func(context.Context, actors.EffectCall[order]) (order, error)) runtime.Config {
	cfg := config(o)
	cfg.Effects = []actors.Executor{o.effect.By(perform)}
	return cfg
}

func (o *orders) ask(t *testing.T, rt *runtime.Runtime, id string, n int64) {
	t.Helper()
	if _, err := o.place.Ask(t.Context(), rt, o.Ref(id), order{n}); err != nil {
		t.Fatal(err)
	}
}

func (o *orders) expect(t *testing.T, rt *runtime.Runtime, id string, want ...string) {
	t.Helper()
	s, err := o.Ref(id).Snapshot(t.Context(), rt)
	if err != nil || !slices.Equal(s.Lines, want) {
		t.Errorf("%s has heard %q, %v; want %q", id, s.Lines, err, want)
	}
}

// G23, D05: one id for all attempts, a bounded number of them, and outcomes that carry the arguments, digit by digit.
func TestG23EffectsAndTheirOutcomes(t *testing.T) {
	const big = 9007199254740993
	for _, c := range []struct {
		name     string
		fail     func(attempt int) error
		attempts int
		heard    string
	}{
		{"success", func(int) error { return nil }, 1, "done 9007199254740993: 9007199254740994"},
		{"success at the third", func(n int) error {
			if n < 3 {
				return errors.New("weather")
			}
			return nil
		}, 3, "done 9007199254740993: 9007199254740994"},
		{"failure", func(int) error { return errors.New("secret weather") }, 5, "failed 9007199254740993 after 5: failed "},
		{"rejection", func(int) error { return actors.Reject("no_funds", "not enough money") }, 1, "failed 9007199254740993 after 1: no_funds not enough money"},
		{"permanent", func(int) error { return actors.Permanent(errors.New("secret")) }, 1, "failed 9007199254740993 after 1: failed "},
		{"timeout", func(int) error { return context.DeadlineExceeded }, 5, "failed 9007199254740993 after 5: failed "},
	} {
		t.Run(c.name, func(t *testing.T) {
			inTime(t, func(t *testing.T) {
				o := defineOrders()
				var ids record
				rt := start(t, openStore(t), o.config(func(_ context.Context, call actors.EffectCall[order]) (order, error) {
					ids.add(call.ID)
					if call.Attempt != len(ids.all()) || call.Type != "order" || call.ActorID != "a" {
						t.Errorf("attempt %d is told %+v", len(ids.all()), call)
					}
					return order{call.In.Number + 1}, c.fail(call.Attempt)
				}))
				o.ask(t, rt.Runtime, "a", big)
				pass(10 * time.Minute)
				got := ids.all()
				if len(got) != c.attempts || len(slices.Compact(slices.Clone(got))) != 1 || got[0] == "" {
					t.Errorf("attempts by id: %q, want %d of one", got, c.attempts)
				}
				o.expect(t, rt.Runtime, "a", fmt.Sprint("placed ", big), c.heard)
			})
		})
	}
}

// D04 (d), D08: a result that cannot be kept is a final failure that the actor hears of.
func TestD08EffectResults(t *testing.T) {
	inTime(t, func(t *testing.T) {
		typ := actors.Define("press", func() pad { return pad{} })
		e := actors.Effect[string, string](typ, "print")
		press := actors.Message[string, int](typ, "press")
		press.Handle(func(_ *pad, turn *actors.Turn[pad], in string) (int, error) { e.Emit(turn, in); return 0, nil })
		failed := actors.Message[actors.Failed[string], int](typ, "failed")
		failed.Handle(func(s *pad, _ *actors.Turn[pad], f actors.Failed[string]) (int, error) {
			s.Lines = append(s.Lines, f.Args)
			return 0, nil
		})
		e.Failed(failed)
		cfg := config(typ)
		cfg.ResultBytes = 100
		cfg.Effects = []actors.Executor{e.By(func(_ context.Context, c actors.EffectCall[string]) (string, error) {
			switch c.In {
			case "large":
				return strings.Repeat("x", 100), nil
			case "NUL":
				return "\x00", nil
			case "rejection not UTF-8":
				return "", actors.Reject("torn", "paper \xff\x00")
			}
			return "\xff", nil
		})}
		rt := start(t, openStore(t), cfg)
		want := []string{"large", "NUL", "not UTF-8", "rejection not UTF-8"}
		for _, in := range want {
			if _, err := press.Ask(t.Context(), rt, typ.Ref("a"), in); err != nil {
				t.Fatal(err)
			}
			pass(time.Second)
		}
		if s, err := typ.Ref("a").Snapshot(t.Context(), rt); err != nil || !slices.Equal(s.Lines, want) {
			t.Errorf("the actor hears of %q, %v; want %q", s.Lines, err, want)
		}
	})
}

// G24: where the record of a success is lost, the effect is repeated with the same id, and its outcome told once.
func TestG24UnrecordedEffectIsRepeated(t *testing.T) {
	inTime(t, func(t *testing.T) {
		o := defineOrders()
		var ids record
		db := &faults{Store: openStore(t)}
		db.finish.Store(&errBefore)
		rt := start(t, db, o.config(func(_ context.Context, call actors.EffectCall[order]) (order, error) {
			ids.add(call.ID)
			return call.In, nil
		}))
		o.ask(t, rt.Runtime, "a", 1)
		pass(2 * time.Minute)
		if got := ids.all(); len(got) != 2 || got[0] != got[1] {
			t.Errorf("performed as %q, want twice with one id", got)
		}
		o.expect(t, rt.Runtime, "a", "placed 1", "done 1: 1")
	})
}

// G23: an effect whose process is lost at every attempt is not performed for ever: its actor hears that it failed.
func TestG23EffectLostAtItsLastAttempt(t *testing.T) {
	inTime(t, func(t *testing.T) {
		o := defineOrders()
		var attempts record
		db := &faults{Store: openStore(t)}
		cfg := o.config(func(_ context.Context, call actors.EffectCall[order]) (order, error) {
			attempts.add(fmt.Sprint(call.Attempt))
			db.finish.Store(&errBefore) // and so the end of this attempt is never recorded
			return call.In, nil
		})
		cfg.Attempts = 2
		rt := start(t, db, cfg)
		o.ask(t, rt.Runtime, "a", 1)
		pass(5 * time.Minute)
		attempts.expect(t, "attempts", "1", "2")
		o.expect(t, rt.Runtime, "a", "placed 1", "failed 1 after 2: failed ")
	})
}

// G31: shutdown tells effects to stop and gives them back without an attempt.
func TestG31EffectsAreGivenBack(t *testing.T) {
	inTime(t, func(t *testing.T) {
		o := defineOrders()
		var attempts record
		cfg := o.config(func(ctx context.Context, call actors.EffectCall[order]) (order, error) {
			attempts.add(fmt.Sprint(call.Attempt))
			if len(attempts.all()) == 1 {
				<-ctx.Done()
				return order{}, ctx.Err()
			}
			return call.In, nil
		})
		db := openStore(t)
		first := start(t, db, cfg)
		o.ask(t, first.Runtime, "a", 1)
		settle()
		if err := first.end(); err != nil {
			t.Error(err)
		}
		second := start(t, db, cfg)
		pass(time.Second)
		attempts.expect(t, "attempts", "1", "1")
		o.expect(t, second.Runtime, "a", "placed 1", "done 1: 1")
	})
}

// G26, D46: the effect of a destroyed actor may end as it likes: nothing comes back to life.
func TestG26DestroyedActorsEffectsChangeNothing(t *testing.T) {
	inTime(t, func(t *testing.T) {
		o := defineOrders()
		leave := make(chan struct{})
		db := openStore(t)
		rt := start(t, db, o.config(func(_ context.Context, call actors.EffectCall[order]) (order, error) {
			<-leave
			return call.In, nil
		}))
		o.ask(t, rt.Runtime, "a", 1)
		settle()
		if existed, err := o.Ref("a").Destroy(t.Context(), rt); !existed || err != nil {
			t.Fatalf("destroy: %v, %v", existed, err)
		}
		close(leave)
		pass(10 * time.Minute)
		if existed, err := o.Ref("a").Destroy(t.Context(), rt); existed || err != nil {
			t.Errorf("the outcome has made a new incarnation: %v, %v", existed, err)
		}
		due, err := db.Due(t.Context(), []string{"order"}, []string{"perform"})
		if err != nil || !due.Effects.IsZero() || !due.Messages.IsZero() {
			t.Errorf("left behind: %+v, %v", due, err)
		}
		o.ask(t, rt.Runtime, "a", 2) // leave is closed: it is performed at once
		pass(time.Second)
		o.expect(t, rt.Runtime, "a", "placed 2", "done 2: 2")
	})
}

// G1: an outcome has an allowance above the cap of a full mailbox, or waits; it is not dropped.
func TestG1OutcomesSurviveAFullMailbox(t *testing.T) {
	inTime(t, func(t *testing.T) {
		o := defineOrders()
		leave := make(chan struct{})
		cfg := o.config(func(_ context.Context, call actors.EffectCall[order]) (order, error) { <-leave; return call.In, nil })
		cfg.Mailbox = 3
		db := openStore(t)
		rt := start(t, db, cfg)
		o.ask(t, rt.Runtime, "a", 1)
		pause(t, db, "order", "a", true)
		for i := range 3 {
			if _, err := o.place.Tell(t.Context(), rt, o.Ref("a"), order{int64(i + 2)}); err != nil {
				t.Fatal(err)
			}
		}
		close(leave)
		pass(time.Minute)
		pause(t, db, "order", "a", false)
		pass(5 * time.Minute)
		s, err := o.Ref("a").Snapshot(t.Context(), rt)
		if err != nil || !s.has("done 1: 1") || !s.has("done 4: 4") || len(s.Lines) != 8 {
			t.Errorf("the actor has heard %q, %v", s.Lines, err)
		}
	})
}

// Effects run Config.EffectWorkers at once and no more, and one that waits is not held up by another's backoff.
func TestEffectWorkersAreBounded(t *testing.T) {
	inTime(t, func(t *testing.T) {
		o := defineOrders()
		var now, most atomic.Int64
		cfg := o.config(func(_ context.Context, call actors.EffectCall[order]) (order, error) {
			most.Store(max(most.Load(), now.Add(1)))
			time.Sleep(time.Second)
			now.Add(-1)
			return call.In, nil
		})
		cfg.EffectWorkers = 3
		rt := start(t, openStore(t), cfg)
		for i := range 10 {
			o.ask(t, rt.Runtime, fmt.Sprint(i), 1)
		}
		pass(4*time.Second + 500*time.Millisecond)
		if most.Load() != 3 {
			t.Errorf("%d effects ran at once, want 3", most.Load())
		}
		for i := range 10 {
			o.expect(t, rt.Runtime, fmt.Sprint(i), "placed 1", "done 1: 1")
		}
	})
}
