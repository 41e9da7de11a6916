package runtime

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/lockstep-go/lockstep/actors"
	"github.com/lockstep-go/lockstep/runtime/store"
)

// attempted is what is observed of an attempt under way: at a turn, an effect or a commit action.
type attempted struct {
	ctx   context.Context // what its handler or executor sees, within the attempt's span
	span  span
	begun time.Time
}

// observeTurn begins the observation of a turn. It belongs to the turn's goroutine.
func (rt *Runtime) observeTurn(act *activation, t *store.Turn) {
	act.seen.begun = time.Now()
	act.seen.ctx, act.seen.span = rt.tracing.turn(act.ctx, t)
}

// turnEnded says how a turn ended, once that is certain.
func (rt *Runtime) turnEnded(act *activation, t *store.Turn, name EventName, kind string, in time.Duration) {
	seen := act.seen
	act.seen = attempted{}
	if seen.ctx == nil { // it was never begun
		seen.ctx = act.ctx
	}
	seen.span.end(turnOutcomes[name], kind)
	if kinds[name].usual() && !rt.observer.curious() {
		return
	}
	e := Event{
		Name: name, Type: t.Type, ActorID: t.ActorID, Operation: t.Operation, Message: t.Message.ID, Sequence: t.Sequence,
		Attempt: t.Attempts, Origin: string(t.Origin), ErrorKind: kind, In: in, Waited: max(0, t.Claimed.Sub(t.AvailableAt)),
	}
	if !seen.begun.IsZero() {
		e.Took = time.Since(seen.begun)
	}
	rt.observer.emit(seen.ctx, e)
	if name == TurnFailed {
		e.Name, e.Took, e.Waited = DeadLetterWritten, 0, 0
		rt.observer.emit(seen.ctx, e)
	}
}

// turnOutcomes are what a turn's span says.
var turnOutcomes = map[EventName]string{
	TurnCompleted: "completed", TurnRejected: "rejected", TurnRetried: "retried", TurnFailed: "failed",
	TurnHandedBack: "handed_back", ActivationLost: "lost", ActivationFailed: "setup_failed",
}

// passEnded says why an activation takes no further message now.
func (rt *Runtime) passEnded(act *activation, why StopReason) {
	if rt.observer.curious() {
		rt.observer.emit(act.ctx, Event{
			Name: PassEnded, Type: act.address.Type, ActorID: act.address.ID, Outcome: string(why), Count: act.turns, Took: time.Since(act.started),
		})
	}
}

// stopReason is why an activation that has ended its turn goes no further.
func (rt *Runtime) stopReason(act *activation, yielded bool) StopReason {
	switch {
	case !yielded:
		return StopNothingDue
	case act.assist != nil:
		return StopAssisted
	case act.turns >= rt.cfg.PassMessages || time.Since(act.started) >= rt.cfg.PassDuration:
		return StopBudget
	}
	return StopShutdown
}

// messageSent says what became of an enqueue.
func (rt *Runtime) messageSent(ctx context.Context, e *store.Enqueue, err error) {
	if !rt.observer.curious() {
		return
	}
	it := messageEvent(MessageEnqueued, &e.Message)
	switch {
	case err == nil && e.Outcome == store.Duplicate:
		it.Name = MessageDuplicate
	case err != nil:
		it.Name, it.Outcome = MessageRefused, string(e.Outcome)
		if it.Outcome == "" || e.Outcome == store.Done {
			it.Outcome, it.ErrorKind = "failed", errorKind(err)
		}
	}
	rt.observer.emit(ctx, it)
}

// messageSentTx is messageSent for an enqueue in the application's transaction.
func (rt *Runtime) messageSentTx(ctx context.Context, e *store.Enqueue, err error) {
	if err != nil || e.Outcome == store.Duplicate {
		rt.messageSent(ctx, e, err)
	} else if rt.observer.curious() {
		it := messageEvent(MessageEnqueued, &e.Message)
		it.Outcome = "transaction"
		rt.observer.emit(ctx, it)
	}
}

func messageEvent(name EventName, m *store.Message) Event {
	return Event{
		Name: name, Type: m.Type, ActorID: m.ActorID, Operation: m.Operation, Message: m.ID, Sequence: m.Sequence, Origin: string(m.Origin),
	}
}

// arrived says that an outbox's messages are in their mailboxes.
func (rt *Runtime) arrived(name EventName, messages []store.Message) {
	if len(messages) == 0 || !rt.observer.curious() {
		return
	}
	for i := range messages {
		rt.observer.emit(context.Background(), messageEvent(name, &messages[i]))
	}
}

// flushed says how a flush went.
func (rt *Runtime) flushed(ops []*op, took time.Duration, err error) {
	rt.clock.stir()
	if err == nil && !rt.observer.curious() {
		return
	}
	e := Event{Name: FlushWritten, Count: len(ops), Took: took}
	if err != nil {
		e.Name, e.ErrorKind, e.cause = FlushFailed, errorKind(err), err
	}
	for _, o := range ops {
		if at := o.outcome(); at != nil && *at == store.Busy {
			e.Busy++
		}
	}
	rt.observer.emit(context.Background(), e)
}

// flushWaits says that a flush will be tried again.
func (rt *Runtime) flushWaits(err error, wait time.Duration) {
	if rt.observer.curious() {
		rt.observer.emit(context.Background(), Event{Name: FlushRetried, ErrorKind: errorKind(err), In: wait, cause: err})
	}
}

func (rt *Runtime) observeEffect(ctx context.Context, e store.Effect) attempted {
	ctx, s := rt.tracing.effect(ctx, e)
	return attempted{ctx, s, time.Now()}
}

// effectEnded says how an attempt ended, where err is nil, and otherwise that its end could not be written.
func (rt *Runtime) effectEnded(a attempted, e store.Effect, o *store.EffectOutcome, rejected bool, err error) {
	name, outcome, kind := EffectCompleted, "completed", o.ErrorKind
	switch {
	case err != nil:
		name, outcome, kind = EffectUnrecorded, "unrecorded", errorKind(err)
	case o.Success:
	case o.Again && o.Uncount:
		name, outcome = EffectHandedBack, "handed_back"
	case o.Again:
		name, outcome = EffectRetried, "retried"
	case rejected:
		name, outcome, kind = EffectRejected, "rejected", ""
	default:
		name, outcome = EffectFailed, "failed"
	}
	a.span.end(outcome, kind)
	if kinds[name].usual() && !rt.observer.curious() {
		return
	}
	rt.observer.emit(a.ctx, Event{
		Name: name, Effect: e.Name, Type: e.Type, ActorID: e.ActorID, Attempt: e.Attempt, ErrorKind: kind,
		In: o.Retry, Took: time.Since(a.begun), cause: err,
	})
}

func (rt *Runtime) observeAction(ctx context.Context, t *store.Turn, name string) attempted {
	ctx, s := rt.tracing.action(ctx, t, name)
	return attempted{ctx, s, time.Now()}
}

// actionEnded says how a commit action ended. Whether its transaction commits is the turn's end to say.
func (rt *Runtime) actionEnded(a attempted, t *store.Turn, action string, err error) {
	name, outcome, kind := ActionRan, "done", ""
	switch err.(type) { // and nothing else: the error's methods are application code, and everybody's commits wait
	case nil:
	case *actors.Rejected:
		name, outcome = ActionRejected, "rejected"
	case *actors.Panicked:
		name, outcome, kind = ActionFailed, "failed", "panic"
	default:
		name, outcome, kind = ActionFailed, "failed", fmt.Sprintf("%T", err)
	}
	a.span.end(outcome, kind)
	if !rt.observer.curious() {
		return
	}
	e := messageEvent(name, &t.Message)
	e.Action, e.Attempt, e.ErrorKind, e.Took = action, t.Attempts, kind, time.Since(a.begun)
	rt.observer.emit(a.ctx, e)
}

// broadcasted says that a broadcast was handed to this process's followers.
func (rt *Runtime) broadcasted(ctx context.Context, name EventName, b *store.Broadcast) {
	if rt.observer.curious() {
		rt.observer.emit(ctx, Event{Name: name, Type: b.Actor.Type, ActorID: b.Actor.ID, Sequence: b.Revision, Count: len(b.Names)})
	}
}

// failing says that a part's pass failed and is made again. A part that is being ended says nothing.
func (rt *Runtime) failing(ctx context.Context, part string, err error, in time.Duration) {
	if ctx.Err() == nil || !errors.Is(err, ctx.Err()) {
		rt.observer.emit(ctx, Event{Name: PassFailed, Part: part, ErrorKind: errorKind(err), In: in, cause: err})
	}
}

// administered says that an operator did something to an actor.
func (rt *Runtime) administered(ctx context.Context, name EventName, of actors.Address) {
	rt.observer.emit(ctx, Event{Name: name, Type: of.Type, ActorID: of.ID})
}

// died says that a message was given up without another attempt.
func (rt *Runtime) died(m *store.Message, kind string) {
	e := messageEvent(DeadLetterWritten, m)
	e.Attempt, e.ErrorKind = m.Attempts, kind
	rt.observer.emit(context.Background(), e)
}

// unreleased says that a lease was not given back.
func (rt *Runtime) unreleased(act *activation, err error) {
	rt.observer.emit(act.ctx, Event{
		Name: ActivationUnreleased, Type: act.address.Type, ActorID: act.address.ID, ErrorKind: errorKind(err), cause: err,
	})
}

// restarting says that a part of the runtime ended although it should not have.
func (rt *Runtime) restarting(ctx context.Context, part string, err error, in time.Duration) {
	e := Event{Name: SupervisorRestart, Part: part, In: in, cause: err}
	if err != nil {
		e.ErrorKind = errorKind(err)
	}
	rt.observer.emit(ctx, e)
}

// counted says that so many rows were deleted.
func (rt *Runtime) counted(ctx context.Context, name EventName, rows int) {
	if rows > 0 {
		rt.observer.emit(ctx, Event{Name: name, Count: rows})
	}
}
