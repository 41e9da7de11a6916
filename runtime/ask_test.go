package runtime_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/lockstep-go/lockstep/actors"
	"github.com/lockstep-go/lockstep/runtime"
	"github.com/lockstep-go/lockstep/runtime/store"
)

// G19: a turn may not call actors, whatever it does to its context; nothing is written.
func TestG19CallsFromATurnAreRefused(t *testing.T) {
	inTime(t, func(t *testing.T) {
		var rt *process
		var p *pads
		var asked, told, announced, destroyed error
		p = definePads(func(turn *actors.Turn[pad], _ *pad, line string) error {
			if line != "call" {
				return nil
			}
			ctx, cancel := context.WithTimeout(context.WithoutCancel(turn.Context()), time.Second)
			defer cancel()
			_, asked = p.write.Ask(ctx, rt, p.Ref("b"), "x")
			_, told = p.write.Tell(ctx, rt, p.Ref("b"), "x")
			_, announced = p.write.TellTx(ctx, rt, foreignTx{}, p.Ref("b"), "x")
			_, destroyed = p.Ref("c").Destroy(ctx, rt)
			return nil
		})
		db := openStore(t)
		rt = start(t, db, config(p))
		p.ask(t, rt.Runtime, "c", "here")
		p.ask(t, rt.Runtime, "a", "call")
		for what, err := range map[string]error{"Ask": asked, "Tell": told, "TellTx": announced, "Destroy": destroyed} {
			expectIs(t, what, err, actors.ErrCallCycle)
		}
		p.expect(t, rt.Runtime, "b")
		p.expect(t, rt.Runtime, "c", "here")
	})
}

// G19, D37: inside a transaction that the store handed out every verb but TellTx is refused, at once.
func TestG19CallsInsideATransactionAreRefused(t *testing.T) {
	inTime(t, func(t *testing.T) {
		p := definePads(nil)
		db := openStore(t)
		rt := start(t, db, config(p))
		p.ask(t, rt.Runtime, "a", "1")
		var stored actors.MessageRef
		err := inTransaction(t, db, func(ctx context.Context, tx actors.Tx) (err error) {
			if here(t).handsOut {
				_, asked := p.write.Ask(ctx, rt, p.Ref("a"), "x")
				_, told := p.write.Tell(ctx, rt, p.Ref("a"), "x")
				_, read := p.Ref("a").Snapshot(ctx, rt)
				_, destroyed := p.Ref("a").Destroy(ctx, rt)
				for what, err := range map[string]error{"Ask": asked, "Tell": told, "Snapshot": read, "Destroy": destroyed} {
					expectIs(t, what, err, actors.ErrInsideTransaction)
				}
			}
			stored, err = p.write.TellTx(ctx, rt, tx, p.Ref("a"), "2")
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		rt.Announce(stored)
		settle()
		p.expect(t, rt.Runtime, "a", "1", "2")
		rolledBack := errors.New("changed my mind")
		err = inTransaction(t, db, func(ctx context.Context, tx actors.Tx) error {
			if _, err := p.write.TellTx(ctx, rt, tx, p.Ref("a"), "never"); err != nil {
				t.Error(err)
			}
			return rolledBack
		})
		expectIs(t, "a rolled back transaction", err, rolledBack)
		pass(5 * time.Second)
		p.expect(t, rt.Runtime, "a", "1", "2")
		_, err = p.write.TellTx(t.Context(), rt, foreignTx{}, p.Ref("a"), "x")
		expectIs(t, "another store's transaction", err, actors.ErrForeignTransaction)
	})
}

type foreignTx struct{}

func (foreignTx) Dialect() string { return "abacus" }

// G20: where no workers run, the call itself runs the actor up to its message, and lets go of it.
func TestG20AskBeforeRun(t *testing.T) {
	inTime(t, func(t *testing.T) {
		p := definePads(nil)
		db := openStore(t)
		one, two := idle(t, db, config(p)), idle(t, db, config(p))
		p.tell(t, one, "a", "queued before")
		if n := p.ask(t, one, "a", "asked"); n != 2 {
			t.Errorf("answer %d, want 2: what was queued before runs first", n)
		}
		p.tell(t, one, "a", "queued behind")
		begun := time.Now()
		if n := p.ask(t, two, "a", "elsewhere"); n != 4 {
			t.Errorf("the other process answers %d", n)
		}
		if took := time.Since(begun); took > 50*time.Millisecond {
			t.Errorf("the other process waited %v for the lease", took)
		}
		p.expect(t, one, "a", "queued before", "asked", "queued behind", "elsewhere")
	})
}

// G20: an Ask of a process without workers is served by one that has them, and the other way round.
func TestG20AskAcrossProcesses(t *testing.T) {
	inTime(t, func(t *testing.T) {
		p := definePads(nil)
		db := openStore(t)
		web, worker := idle(t, db, config(p)), start(t, db, config(p))
		for i := range 10 {
			at := []*runtime.Runtime{web, worker.Runtime}[i%2]
			begun := time.Now()
			if n := p.ask(t, at, "a", "x"); n != i+1 {
				t.Errorf("call %d answers %d", i, n)
			}
			if took := time.Since(begun); took > time.Second {
				t.Errorf("call %d took %v", i, took)
			}
		}
	})
}

// G20: an Ask waits for no poll: with polling set to an hour it takes no time at all.
func TestG20AskDoesNotWaitForPolling(t *testing.T) {
	inTime(t, func(t *testing.T) {
		var p *pads
		p = definePads(func(turn *actors.Turn[pad], _ *pad, line string) error {
			if line == "send" {
				p.write.Send(turn, p.Ref("c"), "sent")
				p.write.Schedule(turn, actors.In(time.Minute), "reminded")
			}
			if line == "retry" && turn.Attempt() == 1 {
				return errors.New("once more")
			}
			return nil
		})
		cfg := config(p)
		cfg.Poll, cfg.PollIdle, cfg.Workers = time.Hour, time.Hour, 4
		rt := start(t, openStore(t), cfg)
		pass(time.Minute)
		begun := time.Now()
		for i := range 50 {
			p.ask(t, rt.Runtime, fmt.Sprint(i%3), "x")
		}
		var wg sync.WaitGroup
		for i := range 40 { // more actors than slots
			wg.Go(func() { p.ask(t, rt.Runtime, fmt.Sprint("many-", i), "x") })
		}
		wg.Wait()
		p.ask(t, rt.Runtime, "a", "send")
		settle()
		p.expect(t, rt.Runtime, "c", "sent")
		if took := time.Since(begun); took > slack(t) {
			t.Errorf("calls took %v", took)
		}
		pass(time.Minute)
		begun = time.Now()
		p.ask(t, rt.Runtime, "b", "retry")
		if took := time.Since(begun); took > 1300*time.Millisecond {
			t.Errorf("a retry after a second took %v", took)
		}
		pass(time.Minute)
		p.expect(t, rt.Runtime, "a", "send", "reminded")
		m := p.tell(t, rt.Runtime, "later", "x", actors.Available(actors.In(10*time.Second)))
		pass(10 * time.Second)
		if n, err := p.write.Wait(t.Context(), rt, m); n != 1 || err != nil {
			t.Errorf("a message that came due: %d, %v", n, err)
		}
	})
}

// D18 (first part): messages timed around the idle timeout wait for no poll.
func TestD18GoingIdleLosesNoWakeUp(t *testing.T) {
	inTime(t, func(t *testing.T) {
		p := definePads(nil)
		cfg := config(p)
		cfg.Poll, cfg.PollIdle, cfg.Idle = time.Hour, time.Hour, 10*time.Millisecond
		rt := start(t, openStore(t), cfg)
		const rounds = 500
		for i := range rounds {
			begun := time.Now()
			if n := p.ask(t, rt.Runtime, "a", "x"); n != i+1 {
				t.Fatalf("call %d answers %d", i+1, n)
			}
			if took := time.Since(begun); took > slack(t) {
				t.Fatalf("call %d took %v", i+1, took)
			}
			time.Sleep(10*time.Millisecond + time.Duration(i%7-3)*time.Microsecond)
		}
	})
}

// D18: messages that another process sends around the idle timeout run once each, at their first attempt: what is given
// back as idle is never taken from under a turn that has begun meanwhile.
func TestD18GoingIdleTakesNoTurnAway(t *testing.T) {
	inTime(t, func(t *testing.T) {
		var runs, retries atomic.Int64
		p := definePads(func(turn *actors.Turn[pad], _ *pad, _ string) error {
			runs.Add(1)
			if turn.Attempt() > 1 {
				retries.Add(1)
			}
			time.Sleep(5 * time.Millisecond)
			return nil
		})
		db := &faults{Store: openStore(t)}
		cfg := calm(config(p))
		cfg.Idle = 10 * time.Millisecond
		rt, other := start(t, db, cfg), idle(t, db, cfg)
		p.ask(t, rt.Runtime, "a", "x")
		var once atomic.Bool
		db.set(nil, func(b *store.Flush) error { // between a claim's commit and its answer the actor has been idle for long
			if len(b.Claims) > 0 && len(b.Claims[0].Activations) > 0 && once.CompareAndSwap(false, true) {
				time.Sleep(50 * time.Millisecond)
			}
			return nil
		})
		m := p.tell(t, other, "a", "x")
		rt.Announce(m)
		pass(2 * time.Minute)
		if runs.Load() != 2 || retries.Load() != 0 {
			t.Errorf("%d runs of 2 messages, %d of them repeated", runs.Load(), retries.Load())
		}
	})
}

// G21: the end of patience never ends the message; the error says what it waited for, and can be waited for again.
func TestG21Timeout(t *testing.T) {
	inTime(t, func(t *testing.T) {
		p := definePads(func(_ *actors.Turn[pad], _ *pad, line string) error {
			if line == "slow" {
				time.Sleep(8 * time.Second)
			}
			return nil
		})
		rt := start(t, openStore(t), config(p))
		begun := time.Now()
		_, err := p.write.Ask(t.Context(), rt, p.Ref("a"), "slow")
		late := as[*actors.AskTimeout](t, err)
		if took := time.Since(begun); took != 5*time.Second || late.Waited != took || late.For != "running" || !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("after %v: %+v", took, late)
		}
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(time.Second, cancel)
		_, err = p.write.Ask(ctx, rt, p.Ref("a"), "behind")
		cancelled := as[*actors.AskTimeout](t, err)
		if cancelled.For != "earlier_message" || !errors.Is(err, context.Canceled) {
			t.Errorf("cancelled: %+v", cancelled)
		}
		for want, m := range []actors.MessageRef{late.Message, cancelled.Message} {
			if n, err := p.write.Wait(t.Context(), rt, m); n != want+1 || err != nil {
				t.Errorf("waiting again: %d, %v; want %d", n, err, want+1)
			}
		}
		p.expect(t, rt.Runtime, "a", "slow", "behind")
	})
}

func TestG21TimeoutSaysWhatItWaitedFor(t *testing.T) {
	inTime(t, func(t *testing.T) {
		p := definePads(func(_ *actors.Turn[pad], _ *pad, line string) error {
			if line == "bad" {
				return errors.New("no")
			}
			return nil
		})
		db := openStore(t)
		cfg := config(p)
		cfg.Backoff = func(int) time.Duration { return time.Hour }
		rt := start(t, db, cfg)
		expect := func(id, line, want string, opts ...actors.CallOption) {
			t.Helper()
			_, err := p.write.Ask(t.Context(), rt, p.Ref(id), line, opts...)
			if late := as[*actors.AskTimeout](t, err); late.For != want {
				t.Errorf("it waited for %q, want %q", late.For, want)
			}
		}
		expect("a", "x", "not_yet_available", actors.Available(actors.In(time.Hour)))
		expect("a", "x", "earlier_message")
		expect("b", "bad", "retry")
		p.ask(t, rt.Runtime, "c", "x")
		pause(t, db, "pad", "c", true)
		expect("c", "x", "paused")
	})
}

// G22: destroying an actor wakes its waiters; a forged reference stays unauthorized, and waiting is authorized anew.
func TestG22WaitersAndForgedReferences(t *testing.T) {
	inTime(t, func(t *testing.T) {
		p := definePads(nil)
		db := openStore(t)
		allowed := atomic.Bool{}
		allowed.Store(true)
		cfg := config(p)
		cfg.Policy.Message = func(_ context.Context, r actors.Request) error {
			if line, ok := r.Input.(string); !ok || line == "secret" && !allowed.Load() {
				return errors.New("not for you")
			}
			return nil
		}
		rt, other := start(t, db, cfg), idle(t, db, cfg)
		for _, destroyer := range []*runtime.Runtime{rt.Runtime, other} {
			waits := make(chan error, 2)
			for _, at := range []*runtime.Runtime{rt.Runtime, other} {
				go func() {
					_, err := p.write.Ask(t.Context(), at, p.Ref("a"), "x", actors.Available(actors.In(time.Hour)))
					waits <- err
				}()
			}
			pass(time.Second)
			if existed, err := p.Ref("a").Destroy(t.Context(), destroyer); !existed || err != nil {
				t.Fatalf("destroy: %v, %v", existed, err)
			}
			expectIs(t, "a waiting call", <-waits, actors.ErrActorDestroyed)
			expectIs(t, "the other waiting call", <-waits, actors.ErrActorDestroyed)
		}
		m := p.tell(t, rt.Runtime, "b", "secret")
		settle()
		wait := func(change func(*actors.MessageRef)) error {
			forged := m
			change(&forged)
			_, err := p.write.Wait(t.Context(), rt, forged)
			return err
		}
		if err := wait(func(*actors.MessageRef) {}); err != nil {
			t.Errorf("the true reference: %v", err)
		}
		for name, change := range map[string]func(*actors.MessageRef){
			"unknown id":        func(m *actors.MessageRef) { m.ID = "01a00000-0000-7000-8000-000000000000" },
			"another actor":     func(m *actors.MessageRef) { m.ActorID = "a" },
			"another operation": func(m *actors.MessageRef) { m.Operation = "count" },
			"unknown operation": func(m *actors.MessageRef) { m.Operation = "none" },
			"unknown type":      func(m *actors.MessageRef) { m.Type = "none" },
			"invalid id":        func(m *actors.MessageRef) { m.ActorID = "\x00" },
		} {
			expectIs(t, name, wait(change), actors.ErrUnauthorized)
		}
		allowed.Store(false)
		expectIs(t, "a right that was withdrawn", wait(func(*actors.MessageRef) {}), actors.ErrUnauthorized)
	})
}

// G22: who waits in the destroying process hears of it at once, with polling set to an hour.
func TestG22DestroyWakesItsOwnWaitersAtOnce(t *testing.T) {
	inTime(t, func(t *testing.T) {
		p := definePads(nil)
		cfg := config(p)
		cfg.Poll, cfg.AskTimeout = time.Hour, 10*time.Minute
		rt := start(t, openStore(t), cfg)
		waits := make(chan error, 1)
		go func() {
			_, err := p.write.Ask(t.Context(), rt, p.Ref("a"), "x", actors.Available(actors.In(time.Hour)))
			waits <- err
		}()
		pass(time.Second)
		begun := time.Now()
		if existed, err := p.Ref("a").Destroy(t.Context(), rt); !existed || err != nil {
			t.Fatalf("destroy: %v, %v", existed, err)
		}
		expectIs(t, "the waiting call", <-waits, actors.ErrActorDestroyed)
		if took := time.Since(begun); took > 0 {
			t.Errorf("it waited %v longer", took)
		}
	})
}

// Nothing is looked up for who is not allowed, and what no policy allows is denied.
func TestNoPolicyMeansNo(t *testing.T) {
	inTime(t, func(t *testing.T) {
		p := definePads(nil)
		db := openStore(t)
		rt := idle(t, db, runtime.Config{Types: []actors.AnyType{p}})
		before := db.Stats().Statements
		ctx, ref := t.Context(), p.Ref("a")
		_, asked := p.write.Ask(ctx, rt, ref, "x")
		_, told := p.write.Tell(ctx, rt, ref, "x")
		_, queried := p.count.Ask(ctx, rt, ref)
		_, read := ref.Snapshot(ctx, rt)
		_, destroyed := ref.Destroy(ctx, rt)
		for what, err := range map[string]error{
			"Ask": asked, "Tell": told, "query": queried, "Snapshot": read, "Destroy": destroyed,
			"MaySubscribe": rt.MaySubscribe(ctx, actors.Request{}), "MayQuery": rt.MayQuery(ctx, actors.Request{}),
		} {
			expectIs(t, what, err, actors.ErrUnauthorized)
		}
		if after := db.Stats().Statements; after != before {
			t.Errorf("%d statements were run", after-before)
		}
	})
}

// D36: a storm of callers who give up disturbs nobody: each message is there, named in the error, or it is not.
func TestD36StormOfCancelledCallers(t *testing.T) {
	inTime(t, func(t *testing.T) {
		p := definePads(func(*actors.Turn[pad], *pad, string) error { time.Sleep(time.Millisecond); return nil })
		cfg := config(p)
		rt := start(t, openStore(t), cfg)
		var wg sync.WaitGroup
		var stored sync.Map
		for range 200 {
			wg.Go(func() {
				ctx, cancel := context.WithTimeout(t.Context(), 5*time.Millisecond)
				defer cancel()
				_, err := p.write.Ask(ctx, rt, p.Ref("slow"), "x")
				if late, ok := errors.AsType[*actors.AskTimeout](err); ok {
					stored.Store(late.Message.ID, true)
				} else if err != nil {
					t.Errorf("an impatient caller: %v", err)
				}
			})
		}
		for i := range 10 {
			wg.Go(func() { p.ask(t, rt.Runtime, fmt.Sprint("patient-", i), "x") })
		}
		wg.Wait()
		pass(5 * time.Second)
		state, err := p.Ref("slow").Snapshot(t.Context(), rt)
		if err != nil || len(state.Lines) != 200 {
			t.Errorf("%d of 200 messages ran, %v", len(state.Lines), err)
		}
		n := 0
		stored.Range(func(any, any) bool { n++; return true })
		if n == 0 {
			t.Error("nobody lost patience")
		}
	})
}
