package actors

import (
	"context"
	"encoding/json"
	"reflect"
)

// None is the input of a message without one, and the result of a handler without one.
type None struct{}

// MaxPayloadBytes bounds a message's arguments where no runtime has set a limit of its own.
const MaxPayloadBytes = 1 << 20

// MessageType is a message that actors of state S take: its input an In, its result an Out.
type MessageType[S, In, Out any] struct {
	typ *Type[S]
	op  *Operation
}

// Message adds a message to a type. Bind its handler in init: in the variable block a handler that sends or schedules
// its own message would be an initialization cycle.
func Message[In, Out, S any](t *Type[S], name string) *MessageType[S, In, Out] {
	op := newOperation[In](name)
	t.def.addOperation(op)
	return &MessageType[S, In, Out]{t, op}
}

func newOperation[In any](name string) *Operation {
	return &Operation{Name: name, input: reflect.TypeFor[In](), decode: func(doc json.RawMessage) (any, error) {
		var in In
		err := DecodeDocument("arguments", doc, &in)
		return in, err
	}}
}

// Handle binds the handler. It runs for one message of an actor at a time, outside any transaction. An error restores
// the state and what was staged; Reject is final, other errors are retried.
func (m *MessageType[S, In, Out]) Handle(handler func(*S, *Turn[S], In) (Out, error)) {
	if m.op.perform != nil {
		m.typ.def.problem("message %q has two handlers", m.op.Name)
	}
	if handler == nil {
		m.typ.def.problem("message %q is given a nil handler", m.op.Name)
	}
	m.op.perform = func(state any, x *Execution, in any) (any, error) {
		return handler(state.(*S), &Turn[S]{x, m.typ}, in.(In))
	}
}

// Name is the operation's stored name.
func (m *MessageType[S, In, Out]) Name() string { return m.op.Name }

// Type is the actor type that takes the message.
func (m *MessageType[S, In, Out]) Type() *Type[S] { return m.typ }

// Message is m itself; it makes MessageType and BareType one for functions that take either.
func (m *MessageType[S, In, Out]) Message() *MessageType[S, In, Out] { return m }

// AnyMessage is a MessageType or a BareType.
type AnyMessage[S, In, Out any] interface {
	Message() *MessageType[S, In, Out]
}

// Ask stores the message durably, waits for its turn's commit and returns the committed result. Without a deadline in
// ctx it waits 5 s (runtime.Config.AskTimeout). A timeout or a cancelled ctx ends the waiting, never a message that is on
// its way: the *AskTimeout names it. One that the database has not been given yet is taken back (*Withdrawn). Errors
// besides: *Rejected, *MessageFailed, *SetupFailed, *MailboxFull, *TooLarge, *InvalidDocument, *InvalidID,
// *IdempotencyConflict, ErrUnauthorized, ErrActorDestroyed, ErrCallCycle.
func (m *MessageType[S, In, Out]) Ask(ctx context.Context, c Client, ref Ref[S], in In, opts ...CallOption) (Out, error) {
	var out Out
	call, err := newCall(ref, m.op.Name, in, opts)
	if err != nil {
		return out, err
	}
	doc, err := c.AskCall(ctx, call)
	if err != nil {
		return out, err
	}
	return out, DecodeDocument("result", doc, &out)
}

// Tell returns once the message is durable. Its errors are Ask's, without those about the turn.
func (m *MessageType[S, In, Out]) Tell(ctx context.Context, c Client, ref Ref[S], in In, opts ...CallOption) (MessageRef, error) {
	call, err := newCall(ref, m.op.Name, in, opts)
	if err != nil {
		return MessageRef{}, err
	}
	return c.TellCall(ctx, call)
}

// TellTx stores the message inside the application's own transaction: it is there if and when tx commits. Call the
// runtime's Announce with the reference after that commit, or the message waits for the next poll.
func (m *MessageType[S, In, Out]) TellTx(ctx context.Context, c Client, tx Tx, ref Ref[S], in In, opts ...CallOption) (MessageRef, error) {
	call, err := newCall(ref, m.op.Name, in, opts)
	if err != nil {
		return MessageRef{}, err
	}
	return c.TellTxCall(ctx, tx, call)
}

// Wait waits for a stored message's result as Ask does; the caller is authorized anew.
func (m *MessageType[S, In, Out]) Wait(ctx context.Context, c Client, ref MessageRef) (Out, error) {
	var out Out
	doc, err := c.WaitCall(ctx, ref)
	if err != nil {
		return out, err
	}
	return out, DecodeDocument("result", doc, &out)
}

// Send stages the message on a turn of any actor: it leaves with that turn's commit and is delivered exactly once,
// in the order of staging for each target. A mistake (an invalid id, arguments too large) fails the turn.
func (m *MessageType[S, In, Out]) Send(t AnyTurn, ref Ref[S], in In, opts ...CallOption) {
	x := t.execution()
	call, err := newCall(ref, m.op.Name, in, opts)
	x.stage(err, func() { x.Sends = append(x.Sends, call) })
}

// Schedule stages a durable reminder on the actor's own turn: the message comes back to this actor when it is due. A
// reminder is named by its message and Key; scheduling it again replaces it.
func (m *MessageType[S, In, Out]) Schedule(t *Turn[S], when When, in In, opts ...ScheduleOption) {
	doc, err := EncodeDocument("reminder arguments", in, t.x.payloadLimit())
	r := ReminderIntent{Operation: m.op.Name, Arguments: doc, When: when, CatchUp: Latest}
	for _, opt := range opts {
		opt(&r)
	}
	if err == nil {
		err = r.check()
	}
	t.x.stage(err, func() { t.x.Reminders = append(t.x.Reminders, r) })
}

// Cancel stages the end of a reminder. It commits with the turn and wins over an occurrence not yet in the mailbox.
func (m *MessageType[S, In, Out]) Cancel(t *Turn[S], opts ...ScheduleOption) {
	r := m.named(opts)
	r.Cancel = true
	t.x.stage(r.check(), func() { t.x.Reminders = append(t.x.Reminders, r) })
}

// Scheduled reads the actor's own schedule as this turn's commit would leave it.
func (m *MessageType[S, In, Out]) Scheduled(t *Turn[S], opts ...ScheduleOption) (Alarm, bool, error) {
	r := m.named(opts)
	return t.x.alarm(r.Operation, r.Key)
}

func (m *MessageType[S, In, Out]) named(opts []ScheduleOption) ReminderIntent {
	r := ReminderIntent{Operation: m.op.Name, CatchUp: Latest}
	for _, opt := range opts {
		opt(&r)
	}
	return r
}

func (m *MessageType[S, In, Out]) accepts() (*Type[S], *Operation) { return m.typ, m.op }

// Accepting is a message of S that takes an In, whatever its result: where an effect's outcome goes.
type Accepting[S, In any] interface {
	accepts() (*Type[S], *Operation)
	takes(In)
}

func (m *MessageType[S, In, Out]) takes(In) {}

func newCall[S, In any](ref Ref[S], operation string, in In, opts []CallOption) (Call, error) {
	call := Call{Type: ref.typ.def.Name, ID: ref.id, Operation: operation, Input: in}
	for _, opt := range opts {
		opt(&call)
	}
	if err := CheckID(ref.id); err != nil {
		return call, err
	}
	if call.keyed {
		if err := CheckKey("idempotency key", call.IdempotencyKey); err != nil {
			return call, err
		}
	}
	doc, err := EncodeDocument("arguments", in, 64<<20) // the runtime knows the configured limit
	call.Arguments = doc
	return call, err
}

// BareType is a message without input and result.
type BareType[S any] struct {
	*MessageType[S, None, None]
}

// Bare adds a message without input and result to a type.
func Bare[S any](t *Type[S], name string) *BareType[S] {
	return &BareType[S]{Message[None, None](t, name)}
}

// Handle binds the handler, as MessageType.Handle does.
func (m *BareType[S]) Handle(handler func(*S, *Turn[S]) error) {
	m.MessageType.Handle(func(s *S, t *Turn[S], _ None) (None, error) { return None{}, handler(s, t) })
}

// Ask is MessageType.Ask.
func (m *BareType[S]) Ask(ctx context.Context, c Client, ref Ref[S], opts ...CallOption) error {
	_, err := m.MessageType.Ask(ctx, c, ref, None{}, opts...)
	return err
}

// Tell is MessageType.Tell.
func (m *BareType[S]) Tell(ctx context.Context, c Client, ref Ref[S], opts ...CallOption) (MessageRef, error) {
	return m.MessageType.Tell(ctx, c, ref, None{}, opts...)
}

// TellTx is MessageType.TellTx.
func (m *BareType[S]) TellTx(ctx context.Context, c Client, tx Tx, ref Ref[S], opts ...CallOption) (MessageRef, error) {
	return m.MessageType.TellTx(ctx, c, tx, ref, None{}, opts...)
}

// Send is MessageType.Send.
func (m *BareType[S]) Send(t AnyTurn, ref Ref[S], opts ...CallOption) {
	m.MessageType.Send(t, ref, None{}, opts...)
}

// Schedule is MessageType.Schedule.
func (m *BareType[S]) Schedule(t *Turn[S], when When, opts ...ScheduleOption) {
	m.MessageType.Schedule(t, when, None{}, opts...)
}
