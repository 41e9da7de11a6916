package actors

import (
	"encoding/json"
	"errors"
	"fmt"
	"time"
)

var (
	// ErrUnauthorized is what a policy's refusal is; it is answered before anything is looked up.
	ErrUnauthorized = errors.New("not allowed")
	// ErrActorDestroyed wakes those who waited for a message of an actor that was destroyed.
	ErrActorDestroyed = errors.New("the actor was destroyed")
	// ErrCallCycle refuses Ask, Tell and Destroy from inside a turn: stage a Send instead.
	ErrCallCycle = errors.New("called from inside a turn: stage a Send instead")
	// ErrInsideTransaction refuses a verb under a transaction of the store, which it would wait for: use TellTx.
	ErrInsideTransaction = errors.New("called inside a transaction of the store: use TellTx")
	// ErrForeignTransaction is a transaction that was not made by the runtime's own store.
	ErrForeignTransaction = errors.New("the transaction belongs to another store")
	// ErrOutcomeUnknown ends a call whose commit was sent but not answered. The error that wraps it names the message
	// id: look it up, or repeat the call with an idempotency key.
	ErrOutcomeUnknown = errors.New("the database did not say whether it committed")
	// ErrLostActivation is the cause that a turn's context ends with when its lease is gone.
	ErrLostActivation = errors.New("the activation lost its lease")
	// ErrShutdown is the cause that a turn's context ends with when the runtime reached its shutdown limit.
	ErrShutdown = errors.New("the runtime is shutting down")
	// ErrClosed answers every call after Close.
	ErrClosed = errors.New("the runtime is closed")
	// ErrUnknownMessage is a message reference that no message of the addressed actor has.
	ErrUnknownMessage = errors.New("no such message")
)

// Rejected is a domain refusal: final, stored as the message's outcome, with nothing of the turn kept.
type Rejected struct {
	Code    string          `json:"code"` // stable, for programs: letters, digits and underscores
	Message string          `json:"message"`
	Details json.RawMessage `json:"details,omitempty"`
}

func (e *Rejected) Error() string { return e.Code + ": " + e.Message }

// Reject is what a handler returns to refuse a message for good: no retry, no dead letter, state as before, the next
// message runs. The caller of Ask gets the *Rejected. A message that came by Send is answered, if at all, by a
// message: nobody but operators sees its rejection. Code is a letter followed by letters, digits and underscores.
func Reject(code, message string) error { return RejectWith(code, message, nil) }

// RejectWith is Reject with details, which must encode as JSON.
func RejectWith(code, message string, details any) error {
	if err := checkName("rejection code", code); err != nil {
		return Permanent(err)
	}
	r := &Rejected{Code: code, Message: message}
	if details != nil {
		doc, err := EncodeDocument("rejection details", details, 64<<10)
		if err != nil {
			return Permanent(err)
		}
		r.Details = doc
	}
	return r
}

type permanent struct{ error }

func (p permanent) Unwrap() error { return p.error }

// Permanent marks an error that no retry can mend: the message becomes a dead letter at once.
func Permanent(err error) error {
	if err == nil {
		return nil
	}
	return permanent{err}
}

// IsPermanent says whether err, or an error it wraps, was marked with Permanent or can by its nature not be mended by
// a retry (a document that is too large or cannot be encoded, an invalid id).
func IsPermanent(err error) bool {
	if _, ok := errors.AsType[permanent](err); ok {
		return true
	}
	if _, ok := errors.AsType[*TooLarge](err); ok {
		return true
	}
	if _, ok := errors.AsType[*InvalidDocument](err); ok {
		return true
	}
	_, ok := errors.AsType[*InvalidID](err)
	return ok
}

// MessageFailed answers an Ask whose message became a dead letter. Details of the failure are for operators; Kind
// is the Go type of the last error, or "panic", "owner lost".
type MessageFailed struct {
	Message  MessageRef
	Attempts int
	Kind     string
}

func (e *MessageFailed) Error() string {
	return fmt.Sprintf("message %s failed after %d attempts (%s)", e.Message.ID, e.Attempts, e.Kind)
}

// SetupFailed answers an Ask whose actor could not be activated here: its state is newer than this build, a
// migration or activation hook failed, or this build does not know the operation. The message waits for a process
// that can.
type SetupFailed struct {
	Message MessageRef
	Reason  error
}

func (e *SetupFailed) Error() string {
	return fmt.Sprintf("message %s waits, this process cannot activate its actor: %v", e.Message.ID, e.Reason)
}

func (e *SetupFailed) Unwrap() error { return e.Reason }

// StateTooNew is stored state whose version this build does not have.
type StateTooNew struct {
	Type          string
	Stored, Known int
}

func (e *StateTooNew) Error() string {
	return fmt.Sprintf("%s: stored state has version %d, this build knows %d", e.Type, e.Stored, e.Known)
}

// AskTimeout ends an Ask's or Wait's patience. The message goes on; Message can be waited for again.
type AskTimeout struct {
	Message MessageRef
	Waited  time.Duration
	// For is what it waited for: "not_yet_available", "earlier_message", "activation_held", "running", "retry",
	// "ready", "paused" or "unknown".
	For string
	// Cause is context.DeadlineExceeded or context.Canceled.
	Cause error
}

func (e *AskTimeout) Error() string {
	return fmt.Sprintf("message %s is not finished after %v (%s)", e.Message.ID, e.Waited.Round(time.Millisecond), e.For)
}

func (e *AskTimeout) Unwrap() error { return e.Cause }

// Withdrawn ends a call whose ctx ended while its message still waited for its turn to be written: nothing was stored,
// and nothing will be.
type Withdrawn struct {
	Waited time.Duration
	Cause  error // context.DeadlineExceeded or context.Canceled
}

func (e *Withdrawn) Error() string {
	return fmt.Sprintf("the message was not stored: it waited for the database for %v", e.Waited.Round(time.Millisecond))
}

func (e *Withdrawn) Unwrap() error { return e.Cause }

// IdempotencyConflict is a used key with another operation or other arguments. Differs names which.
type IdempotencyConflict struct {
	Message MessageRef // the message that has the key
	Differs string     // "operation" or "arguments"
}

func (e *IdempotencyConflict) Error() string {
	return "the idempotency key was used by message " + e.Message.ID + " with another " + e.Differs
}

// MailboxFull refuses a message to an actor that has Limit unfinished ones.
type MailboxFull struct {
	Type  string
	Depth int
	Limit int
}

func (e *MailboxFull) Error() string {
	return fmt.Sprintf("%s: the mailbox holds %d unfinished messages, the limit is %d", e.Type, e.Depth, e.Limit)
}

// UnknownType is an actor type that the runtime was not opened with.
type UnknownType struct{ Type string }

func (e *UnknownType) Error() string { return fmt.Sprintf("unknown actor type %q", e.Type) }

// UnknownOperation is an operation that an actor type does not have.
type UnknownOperation struct{ Type, Operation string }

func (e *UnknownOperation) Error() string {
	return fmt.Sprintf("%s has no operation %q", e.Type, e.Operation)
}

// QueryChangedState fails a query, observable or component that changed the state it was given or staged work.
type QueryChangedState struct{ Type, Operation string }

func (e *QueryChangedState) Error() string {
	return fmt.Sprintf("%s.%s only reads, but changed state or staged work", e.Type, e.Operation)
}

// Panicked is a panic in application code, turned into an error.
type Panicked struct {
	Value string // what it panicked with, as text without control characters, at most 8 KiB
	Stack string // at most 8 KiB
}

func (e *Panicked) Error() string { return "panic: " + e.Value }
