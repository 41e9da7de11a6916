package store

import (
	"encoding/json"
	"time"

	"github.com/lockstep-go/lockstep/actors"
)

// Effect is a row of the effect outbox.
type Effect struct {
	ID          string
	Name        string
	Arguments   json.RawMessage
	Done        string
	Failed      string
	MaxAttempts int
	Meta        json.RawMessage

	// Filled in by ClaimEffects.
	Instance string
	Type     string
	ActorID  string
	Attempt  int
}

// EffectOutcome ends one attempt at an effect (G23, G26).
type EffectOutcome struct {
	ID        string
	Owner     string
	Attempt   int
	Retry     time.Duration // with Again
	Again     bool          // another attempt after Retry
	Uncount   bool          // with Again: the attempt does not count (shutdown, no executor)
	Success   bool
	Result    json.RawMessage
	ErrorKind string
	ErrorText string
	// Message is what to tell the actor, or nil: its Operation, Arguments, ID and MaxAttempts. It has an allowance
	// above the mailbox cap.
	Message *Message

	Outcome Outcome // Done, Missing (destroyed, or no longer ours)
}

// Reminder is a change of the reminders of the committing instance, in call order.
type Reminder struct {
	ID        string // for a new one
	Operation string
	Key       string
	Arguments json.RawMessage
	When      actors.When
	Interval  time.Duration
	CatchUp   actors.CatchUpPolicy
	Cancel    bool
}

// Send is a row of the actor-to-actor outbox.
type Send struct {
	ID      string // becomes the message's id
	To      Key
	Message Message // Operation, Arguments, IdempotencyKey, Fingerprint, MaxAttempts, Meta
	When    actors.When
}

// Broadcast says what a commit changed (G27).
type Broadcast = actors.Broadcast
