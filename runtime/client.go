package runtime

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/lockstep-go/lockstep/actors"
	"github.com/lockstep-go/lockstep/runtime/bus"
	"github.com/lockstep-go/lockstep/runtime/store"
)

var _ actors.Client = (*Runtime)(nil)

// check says whether a call may go on: the runtime is open, and ctx has not ended and is no turn's and no transaction's.
// A caller whose patience is over already must not leave a message behind.
func (rt *Runtime) check(ctx context.Context, turns bool) error {
	switch {
	case rt.closed.Load():
		return actors.ErrClosed
	case actors.InTransaction(ctx):
		return actors.ErrInsideTransaction
	case !turns && actors.InTurn(ctx):
		return actors.ErrCallCycle
	}
	return ctx.Err()
}

// message checks a call and makes the message of it; the policy is asked before anything is looked up.
func (rt *Runtime) message(ctx context.Context, c actors.Call) (*store.Enqueue, error) {
	def := rt.types[c.Type]
	if def == nil {
		return nil, &actors.UnknownType{Type: c.Type}
	}
	operation := def.Operation(c.Operation)
	if operation == nil {
		return nil, &actors.UnknownOperation{Type: c.Type, Operation: c.Operation}
	}
	if len(c.Arguments) > rt.cfg.PayloadBytes {
		return nil, &actors.TooLarge{What: "arguments", Bytes: len(c.Arguments), Limit: rt.cfg.PayloadBytes}
	}
	if !inAction(ctx) {
		if err := rt.allowed(ctx, operation.ReadOnly, actors.Request{Type: c.Type, ID: c.ID, Operation: c.Operation, Input: c.Input}); err != nil {
			return nil, err
		}
	}
	e := &store.Enqueue{
		Message: store.Message{
			ID: newID(), Type: c.Type, ActorID: c.ID, Operation: c.Operation, Arguments: c.Arguments,
			Origin: store.FromClient, IdempotencyKey: c.IdempotencyKey, MaxAttempts: rt.cfg.Attempts,
		},
		When: c.When, Cap: rt.cfg.Mailbox,
	}
	if c.IdempotencyKey != "" {
		print, err := fingerprint(c.Operation, c.Arguments)
		if err != nil {
			return nil, err
		}
		e.Message.Fingerprint = print
	}
	return e, nil
}

// fingerprint is equal for equal operations and arguments, whatever the order of keys and the white space.
func fingerprint(operation string, arguments json.RawMessage) (string, error) {
	canonical, err := actors.Canonical(arguments)
	if err != nil {
		return "", err
	}
	h := sha256.New()
	fmt.Fprintf(h, "%d:%s", len(operation), operation)
	h.Write(canonical)
	return hex.EncodeToString(h.Sum(nil)), nil
}

// refusal is the error of an enqueue that stored nothing.
func refusal(e *store.Enqueue) error {
	switch e.Outcome {
	case store.Conflict:
		return &actors.IdempotencyConflict{Message: refOf(&e.Message), Differs: e.Differs}
	case store.Full:
		return &actors.MailboxFull{Type: e.Message.Type, Depth: e.Depth, Limit: e.Cap}
	case store.Done, store.Duplicate:
		return nil
	}
	if e.Err != nil {
		return fmt.Errorf("enqueue: %w", e.Err)
	}
	return fmt.Errorf("enqueue: the store answered %q", e.Outcome)
}

// AskCall implements actors.Client.
func (rt *Runtime) AskCall(ctx context.Context, c actors.Call) (result json.RawMessage, err error) {
	if err := rt.check(ctx, false); err != nil {
		return nil, err
	}
	e, err := rt.message(ctx, c)
	if err != nil {
		return nil, err
	}
	ctx, cancel := rt.patience(ctx)
	defer cancel()
	ctx, span := rt.tracing.call(ctx, "ask", e)
	defer func() { span.called(e, err) }()
	w := rt.waiters.add(e.Message.ID)
	defer rt.waiters.drop(w)
	begun := time.Now()
	if err := rt.enqueue(ctx, e, w); err != nil {
		if ctx.Err() != nil && errors.Is(err, actors.ErrOutcomeUnknown) && errors.Is(err, ctx.Err()) {
			return nil, &actors.AskTimeout{Message: refOf(&e.Message), Waited: time.Since(begun), For: "unknown", Cause: err}
		}
		return nil, err
	}
	if done, ok := endingOf(&e.Message); ok && e.Outcome == store.Duplicate {
		return done.result, done.err
	}
	return rt.wait(ctx, w, refOf(&e.Message), begun)
}

// patience gives ctx the default deadline where it has none.
func (rt *Runtime) patience(ctx context.Context) (context.Context, context.CancelFunc) {
	if _, ok := ctx.Deadline(); ok {
		return ctx, func() {}
	}
	return context.WithTimeout(ctx, rt.cfg.AskTimeout)
}

// TellCall implements actors.Client.
func (rt *Runtime) TellCall(ctx context.Context, c actors.Call) (actors.MessageRef, error) {
	if err := rt.check(ctx, false); err != nil {
		return actors.MessageRef{}, err
	}
	e, err := rt.message(ctx, c)
	if err != nil {
		return actors.MessageRef{}, err
	}
	ctx, cancel := rt.patience(ctx)
	defer cancel()
	ctx, span := rt.tracing.call(ctx, "tell", e)
	err = rt.enqueue(ctx, e, nil)
	span.called(e, err)
	if err != nil {
		return actors.MessageRef{}, err
	}
	return refOf(&e.Message), nil
}

// enqueue stores the message and has it run: by the workers, or, for a waiter where none are running, by the call
// itself. A ctx that ends while the message still waits for the database takes it back (*actors.Withdrawn); one that ends
// while it is on its way ends the waiting only, and the error wraps ErrOutcomeUnknown.
func (rt *Runtime) enqueue(ctx context.Context, e *store.Enqueue, w *waiter) error {
	stored := make(chan error, 1)
	sent := *e // the flusher's own copy: the caller may have gone when it is filled in
	o := &op{enqueue: &sent, actor: actors.Address{Type: sent.Message.Type, ID: sent.Message.ActorID}, done: func(err error) {
		if err == nil {
			err = refusal(&sent)
		}
		if err == nil && w != nil {
			rt.waiters.stored(w, sent.Message.ID, sent.Message.Instance)
		}
		rt.messageSent(ctx, &sent, err)
		rt.enqueued(&sent)
		stored <- err
	}}
	begun := time.Now()
	rt.flusher.submit(o)
	select {
	case err := <-stored:
		*e = sent
		if errors.Is(err, store.ErrUnclear) {
			return fmt.Errorf("message %s: %w", e.Message.ID, actors.ErrOutcomeUnknown)
		}
		return err
	case <-ctx.Done():
		if rt.flusher.withdraw(o) {
			err := &actors.Withdrawn{Waited: time.Since(begun), Cause: ctx.Err()}
			rt.messageSent(ctx, e, err)
			return err
		}
		return fmt.Errorf("message %s: %w: %w", e.Message.ID, actors.ErrOutcomeUnknown, ctx.Err())
	}
}

// enqueued runs what an enqueue claimed, or tells the workers. It is called on the flusher's goroutine.
func (rt *Runtime) enqueued(e *store.Enqueue) {
	if e.Held != nil {
		rt.cache.unpin(actors.Address{Type: e.Message.Type, ID: e.Message.ActorID}, *e.Held)
	}
	if e.Claim != nil && e.Activation == nil {
		rt.slots.Add(-1)
	}
	switch {
	case e.Activation != nil:
		rt.claimed(e.Activation, nil)
	case e.Outcome == store.Done && e.Head:
		rt.clock.wake(workRole, time.Until(e.Message.AvailableAt))
		rt.tell(bus.Hint{Kind: bus.Messages, Name: e.Message.Type}) // the actor may be active elsewhere
	}
}

// wait waits for a stored message until ctx ends. In-process news ends it; the database is asked now and then for
// those of other processes.
func (rt *Runtime) wait(ctx context.Context, w *waiter, ref actors.MessageRef, begun time.Time) (json.RawMessage, error) {
	pause := max(rt.cfg.Poll/2, rt.waiters.share(rt.cfg.PollIdle))
	for tries := 0; ; tries++ {
		if !rt.running.Load() {
			pause = min(pause, 5*time.Millisecond<<min(tries, 8))
			rt.assist(w, ref, tries)
		}
		timer := time.NewTimer(pause)
		select {
		case <-w.news:
			timer.Stop()
		case done := <-w.done:
			timer.Stop()
			return done.result, done.err
		case <-ctx.Done():
			timer.Stop()
			return nil, rt.timedOut(ctx, ref, begun)
		case <-timer.C:
		}
		pause = min(2*pause, rt.cfg.PollIdle)
		m, _, outcome, err := rt.store.Message(ctx, ref.ID)
		switch {
		case err != nil: // it may pass; the deadline ends it
		case outcome == store.Missing:
			return nil, actors.ErrActorDestroyed
		default:
			if done, ok := endingOf(&m); ok {
				return done.result, done.err
			}
		}
	}
}

// timedOut says what the message is waiting for.
func (rt *Runtime) timedOut(ctx context.Context, ref actors.MessageRef, begun time.Time) error {
	e := &actors.AskTimeout{Message: ref, Waited: time.Since(begun), For: "unknown", Cause: ctx.Err()}
	look, cancel := context.WithTimeout(context.WithoutCancel(ctx), 100*time.Millisecond)
	defer cancel()
	if _, waiting, _, err := rt.store.Message(look, ref.ID); err == nil && waiting != "" {
		e.For = waiting
	}
	return e
}

// WaitCall implements actors.Client. A reference that is not the actor's own is refused like one that is not allowed.
func (rt *Runtime) WaitCall(ctx context.Context, ref actors.MessageRef) (json.RawMessage, error) {
	if err := rt.check(ctx, false); err != nil {
		return nil, err
	}
	def := rt.types[ref.Type]
	if def == nil || def.Operation(ref.Operation) == nil || actors.CheckID(ref.ActorID) != nil {
		return nil, fmt.Errorf("%w: %w", actors.ErrUnauthorized, actors.ErrUnknownMessage)
	}
	operation := def.Operation(ref.Operation)
	request := actors.Request{Type: ref.Type, ID: ref.ActorID, Operation: ref.Operation}
	m, _, outcome, err := rt.store.Message(ctx, ref.ID)
	if err != nil {
		return nil, fmt.Errorf("read message: %w", err)
	}
	genuine := outcome != store.Missing && m.Type == ref.Type && m.ActorID == ref.ActorID && m.Operation == ref.Operation
	var unreadable error // told only to those who may know that the message exists
	if genuine {
		request.Input, unreadable = operation.Decode(m.Arguments)
	}
	if err := rt.allowed(ctx, operation.ReadOnly, request); err != nil {
		return nil, err
	}
	if !genuine {
		return nil, fmt.Errorf("%w: %w", actors.ErrUnauthorized, actors.ErrUnknownMessage)
	}
	if unreadable != nil {
		return nil, unreadable
	}
	if done, ok := endingOf(&m); ok {
		return done.result, done.err
	}
	ctx, cancel := rt.patience(ctx)
	defer cancel()
	w := rt.waiters.add(m.ID)
	defer rt.waiters.drop(w)
	rt.waiters.stored(w, m.ID, m.Instance)
	// The message may have ended between the read and the wait.
	if m, _, outcome, err := rt.store.Message(ctx, ref.ID); err == nil {
		if outcome == store.Missing {
			return nil, actors.ErrActorDestroyed
		}
		if done, ok := endingOf(&m); ok {
			return done.result, done.err
		}
	}
	return rt.wait(ctx, w, ref, time.Now())
}

// TellTxCall implements actors.Client.
func (rt *Runtime) TellTxCall(ctx context.Context, tx actors.Tx, c actors.Call) (actors.MessageRef, error) {
	if rt.closed.Load() {
		return actors.MessageRef{}, actors.ErrClosed
	}
	if actors.InTurn(ctx) {
		return actors.MessageRef{}, actors.ErrCallCycle
	}
	e, err := rt.message(ctx, c)
	if err != nil {
		return actors.MessageRef{}, err
	}
	ctx, span := rt.tracing.call(ctx, "tell", e)
	if err = rt.store.EnqueueTx(ctx, tx, e); err != nil {
		err = fmt.Errorf("enqueue in transaction: %w", err)
		span.called(e, err)
		return actors.MessageRef{}, err
	}
	err = refusal(e)
	span.called(e, err)
	rt.messageSentTx(ctx, e, err)
	if err == nil {
		tellAction(ctx, refOf(&e.Message))
	}
	rt.clock.unrest()
	return refOf(&e.Message), err
}

// Announce tells the workers of messages that TellTx stored, after their transaction has committed. Without it they
// wait for the next poll; with Config.SingleOwner there is none any more a minute after the last TellTx.
func (rt *Runtime) Announce(messages ...actors.MessageRef) {
	if len(messages) > 0 {
		rt.clock.wake(workRole, 0)
	}
	for _, m := range messages {
		rt.tell(bus.Hint{Kind: bus.Messages, Name: m.Type})
	}
}

// ReadCall implements actors.Client.
func (rt *Runtime) ReadCall(ctx context.Context, typ, id string) (actors.Snapshot, error) {
	if err := rt.check(ctx, true); err != nil {
		return actors.Snapshot{}, err
	}
	if rt.types[typ] == nil {
		return actors.Snapshot{}, &actors.UnknownType{Type: typ}
	}
	if err := rt.allowed(ctx, true, actors.Request{Type: typ, ID: id, Operation: actors.SnapshotOp}); err != nil {
		return actors.Snapshot{}, err
	}
	return rt.Committed(ctx, actors.Address{Type: typ, ID: id})
}

// Committed reads an actor's committed state and asks no policy: it is for the hub, which asks by itself.
func (rt *Runtime) Committed(ctx context.Context, a actors.Address) (actors.Snapshot, error) {
	snap, err := rt.store.Snapshot(ctx, a)
	if err != nil {
		return snap, fmt.Errorf("read snapshot: %w", err)
	}
	return snap, nil
}

// Stamps reads, for each actor, the stamp of its last broadcast and its state's revision, and asks no policy.
func (rt *Runtime) Stamps(ctx context.Context, of []actors.Address) ([]actors.Progress, error) {
	return rt.store.Stamps(ctx, of)
}

// DestroyCall implements actors.Client.
func (rt *Runtime) DestroyCall(ctx context.Context, typ, id string) (bool, error) {
	if err := rt.check(ctx, false); err != nil {
		return false, err
	}
	if rt.types[typ] == nil {
		return false, &actors.UnknownType{Type: typ}
	}
	if err := rt.ask(ctx, rt.cfg.Policy.Destroy, actors.Request{Type: typ, ID: id}); err != nil {
		return false, err
	}
	gone, err := rt.store.Destroy(ctx, actors.Address{Type: typ, ID: id})
	if err != nil {
		return false, fmt.Errorf("destroy: %w", err)
	}
	if gone.Existed {
		rt.destroyed(actors.Address{Type: typ, ID: id}, gone.Instance)
		rt.observer.emit(ctx, Event{Name: ActorDestroyed, Type: typ, ActorID: id})
	}
	return gone.Existed, nil
}
