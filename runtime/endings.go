package runtime

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/lockstep-go/lockstep/actors"
	"github.com/lockstep-go/lockstep/runtime/bus"
	"github.com/lockstep-go/lockstep/runtime/store"
)

// failed records a failed attempt: a retry after a backoff, which gives the lease back, or a dead letter.
func (rt *Runtime) failed(act *activation, t *store.Turn, cause error) {
	if stopped := context.Cause(act.ctx); stopped != nil {
		if errors.Is(stopped, actors.ErrShutdown) {
			rt.turnEnded(act, t, TurnHandedBack, "", 0)
			rt.passEnded(act, StopShutdown)
			rt.handBack(act, t) // it failed because it was told to stop: that is no attempt
			return
		}
		rt.lost(act, t, stopped)
		return
	}
	final := actors.IsPermanent(cause) || t.Attempts >= t.MaxAttempts
	f := &store.Failure{
		Fence: act.fence, Message: t.Message.ID, Sequence: t.Sequence, Final: final,
		ErrorKind: errorKind(cause), ErrorText: actors.CleanText(errorText(cause), 8<<10),
	}
	if p, ok := errors.AsType[*actors.Panicked](cause); ok {
		f.Stack = p.Stack
	}
	if final {
		f.Next, f.Yield = rt.goesOn(act, t)
	} else {
		f.Backoff = rt.cfg.backoff(t.Attempts)
	}
	act.state = nil
	rt.flusher.submit(&op{failure: f, done: func(err error) {
		if err != nil || f.Outcome != store.Done {
			rt.lost(act, t, err)
			return
		}
		if f.Final {
			rt.turnEnded(act, t, TurnFailed, f.ErrorKind, 0)
			m := t.Message
			m.Attempts = t.Attempts
			rt.tellEnd(&m, rt.waiters.end(m.ID, ending{err: &actors.MessageFailed{Message: refOf(&m), Attempts: m.Attempts, Kind: f.ErrorKind}}))
			rt.goOn(act, f.Turn, f.Due, act.now(t), f.Yield)
			return
		}
		rt.turnEnded(act, t, TurnRetried, f.ErrorKind, f.Backoff)
		rt.passEnded(act, StopRetry)
		rt.clock.wake(workRole, f.Backoff)
		rt.tellIdle(bus.Hint{Kind: bus.Messages, Name: t.Type})
		rt.cache.drop(act)
		rt.settled(act)
	}})
}

// errorKind names an error for programs and operators: its Go type, or "panic".
func errorKind(err error) string {
	if _, ok := errors.AsType[*actors.Panicked](err); ok {
		return "panic"
	}
	for {
		inner := errors.Unwrap(err)
		if inner == nil {
			return fmt.Sprintf("%T", err)
		}
		err = inner
	}
}

// errorText is err.Error(), which is application code too.
func errorText(err error) (text string) {
	defer func() {
		if recover() != nil {
			text = fmt.Sprintf("a %T whose text panics", err)
		}
	}()
	return err.Error()
}

// lost drops an activation whose fence did not hold, or of whose commit nothing certain is known: the database says
// what is true, and whoever claims next reads it (G33).
func (rt *Runtime) lost(act *activation, t *store.Turn, err error) {
	kind := ""
	if err != nil {
		kind = errorKind(err)
	}
	rt.turnEnded(act, t, ActivationLost, kind, 0)
	rt.passEnded(act, StopLeaseLost)
	act.cancel(actors.ErrLostActivation)
	rt.cache.drop(act)
	if err != nil {
		// The lease may still be ours, and with it the claim: left alone, the actor would wait until it has run out.
		rt.giveBack(act.fence, false)
	}
	rt.settled(act)
	rt.clock.wake(workRole, 0)
}

// setupFailed gives the message back, without an attempt, and leaves the actor alone for a while in this process:
// another build may know what to do (G10).
func (rt *Runtime) setupFailed(act *activation, t *store.Turn, cause error) {
	wait := rt.setbacks.add(act.address, act.fence.Instance)
	rt.turnEnded(act, t, ActivationFailed, errorKind(cause), wait)
	rt.passEnded(act, StopSetup)
	m := t.Message
	rt.waiters.end(m.ID, ending{err: &actors.SetupFailed{Message: refOf(&m), Reason: cause}})
	act.state = nil
	rt.handBack(act, t)
	rt.clock.wake(workRole, wait)
}

// handBack returns a claimed message to its mailbox, uncounted.
func (rt *Runtime) handBack(act *activation, t *store.Turn) {
	rt.cache.drop(act)
	rt.flusher.submit(&op{release: &store.Release{Fence: act.fence, Uncount: true}, done: func(err error) {
		if err != nil {
			rt.unreleased(act, err)
		}
		rt.tell(bus.Hint{Kind: bus.Messages, Name: t.Type}) // another build may know, or this process is about to end
		rt.settled(act)
	}})
}

// giveBack releases a fence of which there is no activation here.
func (rt *Runtime) giveBack(f store.Fence, uncount bool) {
	rt.cache.leave(f)
	rt.flusher.submit(&op{release: &store.Release{Fence: f, Uncount: uncount}, done: func(error) {
		rt.cache.left(f)
		rt.clock.wake(workRole, 0)
	}})
}

// settled ends an activation's time in flight.
func (rt *Runtime) settled(act *activation) {
	rt.cache.settle(act)
	if act.slot {
		act.slot = false
		rt.slots.Add(-1)
		if rt.crowded.Load() {
			rt.clock.wake(workRole, 0) // somebody is waiting for a slot
		}
	}
	rt.turns.done()
}

// release lets go of an idle activation that the cache no longer has.
func (rt *Runtime) release(act *activation) {
	defer rt.deactivate(act)
	// A message that was claimed under the fence meanwhile has not begun (see cache.leaving): it is no attempt.
	rt.flusher.submit(&op{release: &store.Release{Fence: act.fence, Uncount: true}, done: func(err error) {
		if rt.cache.left(act.fence) {
			rt.clock.wake(workRole, 0)
			rt.tellIdle(bus.Hint{Kind: bus.Messages, Name: act.address.Type})
		}
		if err != nil {
			rt.unreleased(act, err)
		} else if rt.observer.curious() {
			rt.observer.emit(act.ctx, Event{Name: ActivationReleased, Type: act.address.Type, ActorID: act.address.ID})
		}
		act.cancel(actors.ErrLostActivation)
	}})
}

// deactivate runs the deactivation hook apart: this goroutine may be the flusher's, for which everybody waits.
func (rt *Runtime) deactivate(act *activation) {
	if act.state == nil || !act.def.Deactivates() {
		return
	}
	rt.turns.add()
	go func() {
		defer rt.turns.done()
		if err := act.def.Deactivate(act.state); err != nil {
			rt.observer.emit(act.ctx, Event{Name: HookFailed, Type: act.address.Type, ActorID: act.address.ID, ErrorKind: errorKind(err)})
		}
	}()
}

// releaseAll lets go of every idle activation.
func (rt *Runtime) releaseAll() {
	for _, act := range rt.cache.takeIdle(time.Time{}) {
		rt.release(act)
	}
}

// assist has the calling process run the actor up to the waiter's message, where no workers run. It only starts it;
// the waiter hears of the end.
func (rt *Runtime) assist(w *waiter, ref actors.MessageRef, tries int) {
	instance := rt.waiters.incarnation(w)
	if instance == "" || rt.closed.Load() {
		return
	}
	if act := rt.cache.find(actors.Address{Type: ref.Type, ID: ref.ActorID}); act != nil {
		return // a call of this process is at it
	}
	if tries == 1 || tries == 8 {
		rt.recoverDead() // somebody else has it: make sure that they live
	}
	rt.beatIfDue()
	scan := &store.Scan{
		Claim: store.Claim{Owner: rt.id, Token: newID(), Lease: rt.cfg.Lease},
		Types: []string{ref.Type}, Only: instance, Limit: 1,
	}
	rt.flusher.submit(&op{scan: scan, done: func(err error) {
		if err == nil {
			rt.took(scan, &assist{until: ref.Sequence})
		}
	}})
}

// took starts what a scan claimed and reports the dead letters that it wrote.
func (rt *Runtime) took(scan *store.Scan, by *assist) {
	rt.buried(scan.Dead)
	for _, a := range scan.Activations {
		rt.claimed(a, by)
	}
}

// buried tells waiters of messages that had no attempt left.
func (rt *Runtime) buried(letters []store.DeadLetter) {
	for i := range letters {
		m := &letters[i].Message
		rt.died(m, letters[i].ErrorKind)
		rt.tellEnd(m, rt.waiters.end(m.ID, ending{err: &actors.MessageFailed{Message: refOf(m), Attempts: m.Attempts, Kind: letters[i].ErrorKind}}))
	}
}
