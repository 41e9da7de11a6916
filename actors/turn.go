package actors

import (
	"context"
	"encoding/json"
	"fmt"
	"time"
)

// Turn is one message's handling by one actor of state S. It is valid until the handler returns.
type Turn[S any] struct {
	x   *Execution
	typ *Type[S]
}

// AnyTurn is a Turn of any state.
type AnyTurn interface{ execution() *Execution }

func (t *Turn[S]) execution() *Execution { return t.x }

// Context ends when the lease is lost (cause ErrLostActivation) or the shutdown limit is reached (ErrShutdown), never
// with the caller. Ask, Tell and Destroy refuse it and what is derived from it.
func (t *Turn[S]) Context() context.Context { return t.x.Context }

// Now is the database's time when the message was claimed.
func (t *Turn[S]) Now() time.Time { return t.x.Now }

// ID is the actor's id.
func (t *Turn[S]) ID() string { return t.x.ActorID }

// Self is the reference to the actor.
func (t *Turn[S]) Self() Ref[S] { return t.typ.Ref(t.x.ActorID) }

// MessageID is the id of the message.
func (t *Turn[S]) MessageID() string { return t.x.MessageID }

// Sequence is the message's place in the actor's mailbox, from 1 without gaps.
func (t *Turn[S]) Sequence() int64 { return t.x.Sequence }

// Attempt is 1 at the first try.
func (t *Turn[S]) Attempt() int { return t.x.Attempt }

// Execution is a turn as an engine sees it: what the handler is told, and what it staged.
type Execution struct {
	Context   context.Context
	Now       time.Time
	ActorID   string
	MessageID string
	Sequence  int64
	Attempt   int
	Payload   int // limit of staged arguments in bytes; zero is MaxPayloadBytes
	// Alarms reads the actor's stored schedule.
	Alarms func(ctx context.Context) ([]Alarm, error)

	Sends     []Call
	Effects   []EffectIntent
	Reminders []ReminderIntent
	Actions   []ActionIntent

	stored []Alarm
	read   bool
	err    error
}

// EffectIntent is a staged effect.
type EffectIntent struct {
	Name      string
	Arguments json.RawMessage
	Done      string
	Failed    string
}

// ReminderIntent is a staged reminder, or the end of one.
type ReminderIntent struct {
	Operation string
	Key       string
	Arguments json.RawMessage
	When      When
	Interval  time.Duration
	CatchUp   CatchUpPolicy
	Cancel    bool
}

func (r *ReminderIntent) check() error {
	if r.Key != "" {
		if err := CheckKey("reminder key", r.Key); err != nil {
			return err
		}
	}
	if r.Interval != 0 && r.Interval < time.Millisecond {
		return Permanent(fmt.Errorf("reminder %s: an interval of %v is below a millisecond", r.Operation, r.Interval))
	}
	if r.CatchUp != Latest && r.CatchUp != All {
		return Permanent(fmt.Errorf("reminder %s: unknown catch-up policy %q", r.Operation, r.CatchUp))
	}
	return nil
}

// Staged says whether anything was staged.
func (x *Execution) Staged() bool {
	return len(x.Sends)+len(x.Effects)+len(x.Reminders)+len(x.Actions) > 0 || x.err != nil
}

// Err is the first mistake made while staging; it fails the turn.
func (x *Execution) Err() error { return x.err }

func (x *Execution) stage(err error, add func()) {
	if err != nil {
		if x.err == nil {
			x.err = err
		}
		return
	}
	add()
}

func (x *Execution) payloadLimit() int {
	if x.Payload == 0 {
		return MaxPayloadBytes
	}
	return x.Payload
}

// alarm is the reminder of that name as the turn's commit would leave it.
func (x *Execution) alarm(operation, key string) (Alarm, bool, error) {
	for i := len(x.Reminders) - 1; i >= 0; i-- {
		if r := x.Reminders[i]; r.Operation == operation && r.Key == key {
			if r.Cancel {
				return Alarm{}, false, nil
			}
			return Alarm{operation, key, r.When.From(x.Now), r.Interval, r.CatchUp}, true, nil
		}
	}
	if !x.read && x.Alarms != nil {
		stored, err := x.Alarms(x.Context)
		if err != nil {
			return Alarm{}, false, fmt.Errorf("read own schedule: %w", err)
		}
		x.stored, x.read = stored, true
	}
	for _, a := range x.stored {
		if a.Operation == operation && a.Key == key {
			return a, true, nil
		}
	}
	return Alarm{}, false, nil
}

type turnKey struct{}

// WithTurn marks a ctx as an actor's turn; an engine puts the result into Execution.Context.
func WithTurn(ctx context.Context) context.Context { return context.WithValue(ctx, turnKey{}, true) }

// InTurn says whether ctx is, or derives from, a turn's.
func InTurn(ctx context.Context) bool { return ctx.Value(turnKey{}) != nil }

type transactionKey struct{}

// WithTransaction marks a ctx as inside a transaction that a store handed out; every verb but TellTx refuses it.
func WithTransaction(ctx context.Context) context.Context {
	return context.WithValue(ctx, transactionKey{}, true)
}

// InTransaction says whether ctx is, or derives from, one of WithTransaction.
func InTransaction(ctx context.Context) bool { return ctx.Value(transactionKey{}) != nil }
