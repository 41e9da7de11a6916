package runtime_test

import (
	"context"
	"errors"
	"fmt"
	goruntime "runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/lockstep-go/lockstep/actors"
	"github.com/lockstep-go/lockstep/runtime"
)

// G31, D22: shutdown finishes what ends by itself, gives back what its end stopped without an attempt, and records
// finished work though its own context is over.
func TestG31ShutdownFinishesOrGivesBack(t *testing.T) {
	inTime(t, func(t *testing.T) {
		var stopped, attempts atomic.Int64
		p := definePads(func(turn *actors.Turn[pad], _ *pad, line string) error {
			attempts.Store(int64(turn.Attempt()))
			switch line {
			case "finishes":
				time.Sleep(10 * time.Second)
			case "stops":
				select {
				case <-turn.Context().Done():
					stopped.Add(1)
					return context.Cause(turn.Context())
				case <-time.After(time.Hour):
				}
			}
			return nil
		})
		db := openStore(t)
		rt := start(t, db, config(p))
		for i := range 10 {
			p.tell(t, rt.Runtime, fmt.Sprint("f", i), "finishes")
		}
		m := p.tell(t, rt.Runtime, "s", "stops")
		p.tell(t, rt.Runtime, "s", "after")
		pass(time.Second)
		begun := time.Now()
		if err := rt.end(); err != nil {
			t.Errorf("run: %v", err)
		}
		if took := time.Since(begun); took < 15*time.Second || took > 17*time.Second {
			t.Errorf("shutdown took %v, want its limit of 15 s", took)
		}
		for i := range 10 {
			p.expect(t, rt.Runtime, fmt.Sprint("f", i), "finishes")
		}
		if stopped.Load() != 1 {
			t.Errorf("%d turns were told to stop, want 1", stopped.Load())
		}
		// The other process begins at once, with the same attempt.
		other := start(t, db, config(p))
		pass(time.Second)
		if attempts.Load() != 1 {
			t.Errorf("the turn that was given back runs as attempt %d, want 1", attempts.Load())
		}
		if _, err := other.WaitCall(t.Context(), m); err == nil {
			t.Error("it has ended")
		}
	})
}

// D22: a handler that ignores its context beyond the limit is named in the error, idle actors are not, and its message
// is left to the lease.
func TestG31OverrunIsNamed(t *testing.T) {
	inTime(t, func(t *testing.T) {
		leave := make(chan struct{})
		p := definePads(func(_ *actors.Turn[pad], _ *pad, line string) error {
			if line == "deaf" {
				<-leave
			}
			return nil
		})
		db := openStore(t)
		cfg := config(p)
		cfg.Shutdown = 3 * time.Second
		rt := idle(t, db, cfg)
		ctx, stop := context.WithCancel(context.Background())
		ended := make(chan error, 1)
		go func() { ended <- rt.Run(ctx) }()
		pass(time.Second)
		for i := range 5 {
			p.ask(t, rt, fmt.Sprint(i), "idle")
		}
		p.tell(t, rt, "a", "deaf")
		settle()
		stop()
		err := <-ended
		if !errors.Is(err, actors.ErrShutdown) || strings.Count(err.Error(), "a turn of a pad") != 1 {
			t.Errorf("got %q, want it to name one turn", err)
		}
		other := start(t, db, config(p))
		if n := p.ask(t, other.Runtime, "0", "more"); n != 2 {
			t.Errorf("an idle actor was not released: %d", n)
		}
		close(leave)
		settle()
	})
}

// An effect that ignores its context holds up shutdown no longer than the limit.
func TestG31DeafEffectIsNamed(t *testing.T) {
	inTime(t, func(t *testing.T) {
		leave := make(chan struct{})
		var p *pads
		var effect *actors.EffectType[pad, string, string]
		p = definePads(func(turn *actors.Turn[pad], _ *pad, _ string) error { effect.Emit(turn, "x"); return nil })
		effect = actors.Effect[string, string](p.Type, "act")
		cfg := config(p)
		cfg.Shutdown = 3 * time.Second
		cfg.Effects = []actors.Executor{effect.By(func(context.Context, actors.EffectCall[string]) (string, error) { <-leave; return "", nil })}
		rt := idle(t, openStore(t), cfg)
		ctx, stop := context.WithCancel(context.Background())
		ended := make(chan error, 1)
		go func() { ended <- rt.Run(ctx) }()
		pass(time.Second)
		p.ask(t, rt, "a", "x")
		settle()
		stop()
		pass(time.Minute)
		select {
		case err := <-ended:
			if !errors.Is(err, actors.ErrShutdown) || !strings.Contains(err.Error(), "effect") {
				t.Errorf("got %v, want it to name the effect", err)
			}
		default:
			t.Error("Run has not returned a minute after its context ended")
		}
		close(leave)
		settle()
	})
}

// D15: a turn that is finished within the shutdown limit commits, however short its lease.
func TestG31LeasesAreKeptWhileDraining(t *testing.T) {
	inTime(t, func(t *testing.T) {
		runs := atomic.Int64{}
		p := definePads(func(*actors.Turn[pad], *pad, string) error { runs.Add(1); time.Sleep(10 * time.Second); return nil })
		db := openStore(t)
		cfg := config(p)
		cfg.Lease, cfg.Renew = 3*time.Second, time.Second
		rt := start(t, db, cfg)
		start(t, db, cfg)
		p.tell(t, rt.Runtime, "a", "long")
		pass(100 * time.Millisecond)
		if err := rt.end(); err != nil {
			t.Error(err)
		}
		pass(time.Minute)
		p.expect(t, rt.Runtime, "a", "long")
		if runs.Load() != 1 {
			t.Errorf("%d runs, want one", runs.Load())
		}
	})
}

func TestG31CloseAndRunTwice(t *testing.T) {
	inTime(t, func(t *testing.T) {
		p := definePads(nil)
		db := openStore(t)
		rt := idle(t, db, config(p))
		running := run(t, rt)
		expectIs(t, "Run while it runs", rt.Run(t.Context()), runtime.ErrRunning)
		p.ask(t, rt, "a", "1")
		if err := running.end(); err != nil {
			t.Error(err)
		}
		if rt.Ready() {
			t.Error("ready after Run has returned")
		}
		p.ask(t, rt, "a", "after Run") // as before it: inside the call
		if err := errors.Join(rt.Close(), rt.Close()); err != nil {
			t.Errorf("close: %v", err)
		}
		ctx := t.Context()
		_, asked := p.write.Ask(ctx, rt, p.Ref("a"), "x")
		_, told := p.write.Tell(ctx, rt, p.Ref("a"), "x")
		_, read := p.Ref("a").Snapshot(ctx, rt)
		_, destroyed := p.Ref("a").Destroy(ctx, rt)
		_, waited := p.write.Wait(ctx, rt, actors.MessageRef{})
		for what, err := range map[string]error{"Ask": asked, "Tell": told, "Snapshot": read, "Destroy": destroyed, "Wait": waited, "Run": rt.Run(ctx)} {
			expectIs(t, what+" after Close", err, actors.ErrClosed)
		}
		list, err := db.Processes(ctx)
		if err != nil || len(list) != 1 || list[0].State != "stopped" {
			t.Errorf("the registry says %+v, %v", list, err)
		}
	})
}

// G31: on a database whose lock tells, a process that died is recovered at once, though its lease and heartbeat hold.
func TestG31DeadProcessIsRecoveredAtOnce(t *testing.T) {
	onlyOn(t, inSQLite, func(t *testing.T) {
		stores := openShared(t, 2)
		var second atomic.Bool
		inside := make(chan struct{})
		p := definePads(func(turn *actors.Turn[pad], _ *pad, line string) error {
			if second.Load() {
				return nil
			}
			close(inside)
			<-turn.Context().Done() // the first process never gets further
			return context.Cause(turn.Context())
		})
		cfg := config(p)
		cfg.Shutdown = 10 * time.Millisecond
		dying, err := runtime.Open(t.Context(), stores[0], cfg)
		if err != nil {
			t.Fatal(err)
		}
		ctx, stop := context.WithCancel(context.Background())
		ended := make(chan error, 1)
		go func() { ended <- dying.Run(ctx) }()
		defer func() { stop(); <-ended }()
		m, err := p.write.Tell(t.Context(), dying, p.Ref("a"), "x")
		if err != nil {
			t.Fatal(err)
		}
		<-inside
		second.Store(true)
		if err := stores[0].Close(); err != nil { // what the end of a process does to its lock
			t.Fatal(err)
		}
		begun := time.Now()
		cfg.Shutdown = 0 // it has time to leave
		rt := start(t, stores[1], cfg)
		long, cancel := context.WithTimeout(t.Context(), 20*time.Second)
		defer cancel()
		if n, err := p.write.Wait(long, rt, m); n != 1 || err != nil {
			t.Errorf("answer %d, %v", n, err)
		}
		if took := time.Since(begun); took > 15*time.Second {
			t.Errorf("recovery took %v; a lease lasts 30 s", took)
		}
	})
}

// After Close no goroutine is left, on files and on the real clock; every test in a bubble checks the same.
func TestNoGoroutineIsLeft(t *testing.T) {
	onEach(t, func(t *testing.T) {
		before := goruntime.NumGoroutine()
		for range 3 {
			stores := openShared(t, 2)
			p := definePads(nil)
			for _, db := range stores {
				rt, err := runtime.Open(t.Context(), db, config(p))
				if err != nil {
					t.Fatal(err)
				}
				ctx, stop := context.WithCancel(t.Context())
				var running sync.WaitGroup
				running.Go(func() {
					if err := rt.Run(ctx); err != nil {
						t.Error(err)
					}
				})
				for i := range 20 {
					p.ask(t, rt, fmt.Sprint(i%3), "x")
				}
				stop()
				running.Wait()
				if err := errors.Join(rt.Close(), db.Close()); err != nil {
					t.Error(err)
				}
			}
		}
		for end := time.Now().Add(5 * time.Second); goruntime.NumGoroutine() > before; time.Sleep(10 * time.Millisecond) {
			if time.Now().After(end) {
				stacks := make([]byte, 1<<20)
				t.Fatalf("%d goroutines before, %d after:\n%s", before, goruntime.NumGoroutine(), stacks[:goruntime.Stack(stacks, true)])
			}
		}
	})
}

// G31: what a flush claimed while Run was ending is given back, or has ended when Run returns.
func TestG31NothingStartsAfterRun(t *testing.T) {
	inTime(t, func(t *testing.T) {
		var begun, ended, attempt atomic.Int64
		p := definePads(func(turn *actors.Turn[pad], _ *pad, _ string) error {
			begun.Add(1)
			attempt.Store(int64(turn.Attempt()))
			time.Sleep(time.Second)
			ended.Add(1)
			return nil
		})
		db := openStore(t)
		gated := &faults{Store: db}
		rt := start(t, gated, config(p))
		pass(time.Second)
		release := gated.hold()
		told := make(chan error, 1)
		go func() { _, err := p.write.Tell(t.Context(), rt, p.Ref("a"), "x"); told <- err }()
		settle()
		time.AfterFunc(2*time.Second, release)
		if err := rt.end(); err != nil {
			t.Error(err)
		}
		if err := <-told; err != nil {
			t.Error(err)
		}
		if begun.Load() != ended.Load() {
			t.Error("a turn is under way after Run has returned")
		}
		start(t, db, config(p))
		pass(5 * time.Second)
		if begun.Load() != 1 || attempt.Load() != 1 {
			t.Errorf("%d runs, the last at attempt %d; want one at the first", begun.Load(), attempt.Load())
		}
	})
}

// D22: the end of every context there is does not undo work that is being recorded.
func TestD22FinishedWorkIsRecorded(t *testing.T) {
	inTime(t, func(t *testing.T) {
		p := definePads(func(*actors.Turn[pad], *pad, string) error { time.Sleep(time.Second); return nil })
		db := openStore(t)
		gated := &faults{Store: db}
		opening, cancel := context.WithCancel(t.Context())
		rt, err := runtime.Open(opening, gated, config(p))
		if err != nil {
			t.Fatal(err)
		}
		cancel()
		running := run(t, rt)
		for i := range 10 {
			p.tell(t, rt, fmt.Sprint(i), "x")
		}
		release := gated.hold()
		pass(2 * time.Second) // ten turns have ended and wait for their commit
		time.AfterFunc(3*time.Second, release)
		if err := errors.Join(running.end(), rt.Close()); err != nil {
			t.Error(err)
		}
		reader := idle(t, db, config(p))
		for i := range 10 {
			p.expect(t, reader, fmt.Sprint(i), "x")
		}
	})
}
