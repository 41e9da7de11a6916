// Package store is the contract that a database keeps for the runtime: a handful of verbs, each over a slice, each
// item with an outcome of its own. It is the one wide seam of the project and may change with any release;
// applications use the driver packages below it only to open one.
//
// # Vocabulary
//
// An instance is one incarnation of an actor: its row has the state, the lease and the next sequence. Its id is never
// reused. A message is a row of history from the moment it is enqueued; what is live of a mailbox is the range of
// sequences [Head, Next) of its instance. Messages are processed in strict order, so only the head can ever run: the
// ready table holds one narrow row for each mailbox whose head waits, the claimed table one for each mailbox whose
// head is being processed. Completed history is in neither.
//
// A fence is (instance, owner process, activation token, generation): every verb of an activation carries one, and
// does nothing at all where it does not match, or where the lease has expired by the database's clock.
//
// # Concurrency
//
// A Store is safe for concurrent use. Every verb is one transaction, or says otherwise.
//
// # Errors
//
// An item's Outcome says what became of that item. A verb's error is about all of it: nothing was written, unless it
// wraps ErrUnclear. Drivers translate their own errors: what is worth a retry wraps ErrTransient.
package store

import (
	"context"
	"encoding/json"
	"errors"
	"time"

	"github.com/lockstep-go/lockstep/actors"
)

var (
	// ErrTransient is a failure that may pass: busy, deadlock, connection refused.
	ErrTransient = errors.New("transient database failure")
	// ErrUnclear is a commit whose answer was lost: it may or may not have happened. Where the error wraps ErrTransient
	// or ErrNotWritable too, another call with the same *Flush finds out.
	ErrUnclear = errors.New("the outcome of the commit is unknown")
	// ErrNotWritable is a database that answers but does not take writes now.
	ErrNotWritable = errors.New("the database is not writable")
	// ErrSchemaTooNew is a database installed by a newer build.
	ErrSchemaTooNew = errors.New("the schema is newer than this build")
)

// Outcome is what became of one item of a verb.
type Outcome string

const (
	// Done: written.
	Done Outcome = "done"
	// Fenced: the fence did not match or the lease had expired; nothing was written.
	Fenced Outcome = "fenced"
	// Busy: another session holds a row that it needs; nothing was written, try again.
	Busy Outcome = "busy"
	// Duplicate: the idempotency key, or the message id itself, was stored before; the item holds that message.
	Duplicate Outcome = "duplicate"
	// Conflict: the idempotency key was used with another operation or other arguments.
	Conflict Outcome = "conflict"
	// Full: the mailbox has reached the cap.
	Full Outcome = "full"
	// Missing: the row that it addresses is not there (any more).
	Missing Outcome = "missing"
	// Failed: its action failed, and nothing was written; Err is the action's own error.
	Failed Outcome = "failed"
	// Refused: the database refused this item for a reason that is not transient; Err says why.
	Refused Outcome = "refused"
)

// Key addresses an actor.
type Key = actors.Address

// Fence identifies one activation.
type Fence struct {
	Instance   string
	Owner      string // process id
	Token      string // unique to the activation
	Generation int64
}

// Message is a stored message.
type Message struct {
	ID             string
	Instance       string
	Type           string
	ActorID        string
	Sequence       int64
	Operation      string
	Arguments      json.RawMessage
	Origin         Origin
	IdempotencyKey string // "" where there is none
	Fingerprint    string // of operation and canonical arguments; "" where there is no key
	Attempts       int
	MaxAttempts    int
	EnqueuedAt     time.Time
	AvailableAt    time.Time
	FinishedAt     time.Time // zero while live
	Status         Status
	Result         json.RawMessage // of a completed one
	Rejection      json.RawMessage // of a rejected one: an encoded actors.Rejected
	ErrorKind      string          // of the last failed attempt
	Meta           json.RawMessage // trace parent and the like; nil where there is none
}

// Origin says how a message came in.
type Origin string

const (
	FromClient   Origin = "client"
	FromActor    Origin = "actor"
	FromReminder Origin = "reminder"
	FromEffect   Origin = "effect"
	FromOperator Origin = "operator"
)

// Status is a message's state.
type Status string

const (
	Live      Status = "live"
	Completed Status = "completed"
	Rejected  Status = "rejected"
	Dead      Status = "dead"
)

// Turn is a claimed message with its attempt already counted.
type Turn struct {
	Fence
	Message
	Claimed time.Time // database time of the claim
	Lease   time.Time // until when the lease holds, by the database's clock
}

// Activation is a claimed instance: everything needed to run its head.
type Activation struct {
	Turn
	Snapshot actors.Snapshot
	// Again: an Enqueue's Held matched, so that the claimer has the state; Snapshot is zero then.
	Again bool
}

// Claim asks for the lease of an instance together with its head message.
type Claim struct {
	Owner string        // process id
	Token string        // for the activation, should there be a new one
	Lease time.Duration // how long it holds
}

// Enqueue is one message on its way into a mailbox (G1, G2, G3). The instance is made if missing.
type Enqueue struct {
	// Message's ID, Type, ActorID, Operation, Arguments, Origin, IdempotencyKey, Fingerprint, MaxAttempts and Meta
	// are the caller's; the store fills in the rest.
	Message Message
	When    actors.When
	Cap     int // refuse with Full where the mailbox has this many unfinished; 0 is no cap
	// Claim, if not nil, also claims the message, in the same transaction, where nothing is queued before it, it is
	// due, and the lease is free or expired. Held, if not nil, is the fence of an activation that the claimer has:
	// where it matches and its lease holds, that activation is kept. A lease that is the claimer's without a matching
	// Held is left to a Scan.
	Claim *Claim
	Held  *Fence

	Outcome    Outcome
	Head       bool        // it is its mailbox's head and waits to be claimed: somebody should scan when it is due
	Depth      int         // for Full
	Differs    string      // for Conflict: "operation" or "arguments"
	Activation *Activation // where it was claimed
	Err        error       // for Refused
}

// Commit ends one turn in success or rejection (G7, G12).
type Commit struct {
	Fence    Fence
	Message  string // the claimed message's id
	Sequence int64

	Status    Status          // Completed or Rejected
	Result    json.RawMessage // for Completed
	Rejection json.RawMessage // for Rejected

	// State is nil where the turn committed none (a query, a rejection, an unchanged state); otherwise the revision
	// becomes Sequence. A first commit always stores state.
	State   json.RawMessage
	Version int

	Effects   []Effect
	Reminders []Reminder
	Sends     []Send
	Broadcast *Broadcast

	// Action, if not nil, is application code that runs inside the transaction, once the fence was found to hold, and
	// whose writes commit with the turn or not at all. Such a commit is alone in its flush. The action is given a
	// transaction as the driver's Tx makes it, which it cannot end, and a ctx with the mark of actors.WithTransaction
	// that ends with the driver's WriteLimit. It does not panic. It may run again where the transaction has to.
	Action func(ctx context.Context, tx actors.Tx) error

	// Next asks to claim the actor's next due message in the same transaction, keeping the lease. Without it, or
	// where none is due, the lease is kept as it is; Yield gives it back instead, behind those that waited longer.
	Next  bool
	Yield bool

	Outcome Outcome
	Turn    *Turn     // the next message, where Next claimed one
	Due     time.Time // where the mailbox is not empty and nothing was claimed: when its head is due
	Err     error
}

// Failure records a failed attempt (G16): a retry after Backoff, or for good a dead letter.
type Failure struct {
	Fence    Fence
	Message  string
	Sequence int64

	Final     bool // dead letter now; the next message may run
	Backoff   time.Duration
	ErrorKind string // Go type or "panic"
	ErrorText string // cleaned, bounded
	Stack     string

	// Next and Yield are as in Commit, for a final failure. A retry always gives the lease back.
	Next  bool
	Yield bool

	Outcome Outcome
	Turn    *Turn
	Due     time.Time
	Err     error
}

// Release gives an activation back (G10, G31): its claimed message, if any, returns to ready.
type Release struct {
	Fence Fence
	// Uncount also takes back the attempt that the claim counted: a setup failure, a graceful hand-back.
	Uncount bool

	Outcome Outcome
}

// Renewal extends leases (G9).
type Renewal struct {
	Fence Fence
	Lease time.Duration

	Outcome Outcome
	Until   time.Time
}

// Flush is one group commit: all its parts in one transaction (or a fixed number of round trips), in the order of the
// fields but for Delivered, which comes first (a broadcast that was handed on is not absorbed by the next); later items
// see earlier ones. An item that the database refuses does not hurt its neighbours.
type Flush struct {
	Commits  []*Commit
	Failures []*Failure
	Releases []*Release
	Renewals []*Renewal
	Enqueues []*Enqueue
	Claims   []*Scan
	// Delivered are ids of broadcast rows that were handed on.
	Delivered []string
}

// Empty says whether there is nothing to do.
func (f *Flush) Empty() bool {
	return len(f.Commits)+len(f.Failures)+len(f.Releases)+len(f.Renewals)+len(f.Enqueues)+len(f.Claims)+len(f.Delivered) == 0
}

// Scan claims up to Limit instances whose head is due and that nobody else holds, in pick order (queue, priority,
// longest wait; G4, G5, G6, G32). A free or expired lease is taken with a generation one higher and a token made of
// Claim.Token, "-" and the instance's index in the scan; a lease that Claim.Owner holds already keeps token and
// generation. State is returned in either case. A message whose attempts are used up is made a dead letter instead
// of being claimed (G16), and the actor's next one is looked at.
type Scan struct {
	Claim       Claim
	Types       []string // only these
	Skip        []string // not these instances
	Only        string   // if not "", just this instance
	Limit       int
	Activations []*Activation
	Dead        []DeadLetter // heads that had no attempt left
}

// OwnerLost is the error kind of what was given up because its process died at the last attempt.
const OwnerLost = "owner lost"

// DeadLetter is a message that was given up.
type DeadLetter struct {
	ID          string
	Message     Message
	ErrorKind   string
	ErrorText   string
	FailedAt    time.Time
	Replacement string // id of the message that a retry made, or ""
}

// Process is a row of the process registry.
type Process struct {
	ID        string
	Kind      string
	Host      string
	PID       int
	Metadata  json.RawMessage
	StartedAt time.Time
	BeatAt    time.Time
	State     string    // "running", "draining", "stopped"
	StoppedAt time.Time // zero while it has not
}

// Recovered says what a recovery gave back.
type Recovered struct {
	Processes  []string // found dead
	Messages   int
	Effects    int
	Broadcasts int
	Dead       []DeadLetter // messages that had no attempt left (OwnerLost)
}

// Destroyed says what a Destroy removed.
type Destroyed struct {
	Existed  bool
	Instance string
}

// Due says when the earliest work of each kind can be taken; zero where there is none. It counts only the types named.
type Due struct {
	Now       time.Time
	Messages  time.Time
	Effects   time.Time
	Reminders time.Time
	Sends     time.Time
}

// Store is what a database does for a runtime.
type Store interface {
	// Dialect names the driver: "sqlite", "postgres", "mysql".
	Dialect() string
	// Now is the database's clock.
	Now(ctx context.Context) (time.Time, error)
	// Changes is a number that differs after another process committed, or -1 where the database cannot say cheaply.
	Changes(ctx context.Context) (int64, error)

	// Register writes the process's row and takes its lock, if the database has one (G31). Beat renews the row, and
	// answers Missing where it was pruned. Leave gives back everything that the process still owns and marks it
	// stopped.
	Register(ctx context.Context, p Process) error
	Beat(ctx context.Context, id, state string) (Outcome, error)
	Leave(ctx context.Context, id string) (Recovered, error)
	Processes(ctx context.Context) ([]Process, error)
	// Recover gives back what dead processes own: those whose lock is free, or whose beat is older than stale. It also
	// gives back claims whose lease has expired. It never touches a live owner's work (D12, D14). Processes stopped for
	// longer than retain are forgotten.
	Recover(ctx context.Context, self string, stale, retain time.Duration) (Recovered, error)

	// Flush is the group commit. On an error that is not transient the driver has already split the batch until the
	// culprit stood alone: every item has an outcome, and the error is for what could not be told apart.
	Flush(ctx context.Context, f *Flush) error

	// EnqueueTx is one enqueue inside an application's transaction, without a claim (TellTx).
	EnqueueTx(ctx context.Context, tx actors.Tx, e *Enqueue) error

	// Snapshot reads committed state; a missing actor is a zero Snapshot.
	Snapshot(ctx context.Context, k Key) (actors.Snapshot, error)
	// Stamps reads, for each key, the stamp of the last broadcast (instance, broadcast revision, id of its message) and
	// the revision of the state.
	Stamps(ctx context.Context, keys []Key) ([]actors.Progress, error)

	// Revoke writes what was revoked under the next position, and forgets what is older than keep. Positions are
	// committed in their order and without gaps, and the newest row stays: who reads one knows all before it.
	Revoke(ctx context.Context, r actors.Revoked, keep time.Duration) error
	// Revocations reads up to limit of those after a position, in order, and the newest position that it saw, which lies
	// before after where the database was taken back; 0 where there never was one.
	Revocations(ctx context.Context, after int64, limit int) (list []actors.Revoked, newest int64, err error)

	// Message reads a message by id; Missing where there is none, or its instance is gone. Waiting says what a live
	// one waits for, in the words of actors.AskTimeout.
	Message(ctx context.Context, id string) (m Message, waiting string, o Outcome, err error)
	// Alarms reads an instance's reminders.
	Alarms(ctx context.Context, instance string) ([]actors.Alarm, error)

	// Destroy removes the instance and all that can act or be addressed (G28), and answers whether it existed. Its
	// history becomes unreachable at once and is deleted by Sweep.
	Destroy(ctx context.Context, k Key) (Destroyed, error)
	// Sweep deletes up to limit rows of the history of destroyed instances and says how many.
	Sweep(ctx context.Context, limit int) (int, error)

	// Deliver moves up to limit staged sends into their mailboxes, in order for each source and target, exactly once
	// (D48). A full target, or one of an unknown state, delays only its own, by backoff. It returns what was enqueued.
	Deliver(ctx context.Context, limit, mailboxCap int, backoff time.Duration) ([]Message, error)
	// FireReminders enqueues up to limit due occurrences, each with the reminder's advance in one transaction (G25).
	FireReminders(ctx context.Context, limit, mailboxCap, maxAttempts int, backoff time.Duration) ([]Message, error)

	// ClaimEffects takes up to limit due effects of these names, counting the attempt; each is the owner's until it is
	// finished, or the owner is found dead, or lease has passed without renewal. One whose process died in its last
	// attempt comes back with an Attempt above MaxAttempts: it is to be finished as failed, not performed.
	ClaimEffects(ctx context.Context, owner string, names []string, limit int, lease time.Duration) ([]Effect, error)
	RenewEffects(ctx context.Context, owner string, ids []string, lease time.Duration) error
	// FinishEffects records attempts' ends; outcome messages are enqueued in the same transaction and returned.
	FinishEffects(ctx context.Context, outcomes []*EffectOutcome) ([]Message, error)

	// TakeBroadcasts takes over up to limit rows whose process did not hand them on within age, for owner to do so.
	TakeBroadcasts(ctx context.Context, owner string, age time.Duration, limit int) ([]Broadcast, error)

	// Due says when the earliest work can be taken.
	Due(ctx context.Context, types, effects []string) (Due, error)

	// DeadLetters reads the newest given-up messages; Retry makes one a new message at its mailbox's tail, once
	// (G17): a second call answers Duplicate with the same message.
	DeadLetters(ctx context.Context, limit int) ([]DeadLetter, error)
	Retry(ctx context.Context, id, newID string, mailboxCap int) (Message, Outcome, error)
	// Pause stops (or resumes) claims of an actor (G30); Missing where it has no row.
	Pause(ctx context.Context, k Key, paused bool) (Outcome, error)

	// Finished reads up to limit messages that finished at least age ago, those that follow after (its At, then its ID),
	// oldest first; a zero after is the beginning. Live messages and dead letters are not among them, whatever their age.
	Finished(ctx context.Context, age time.Duration, after Finished, limit int) ([]Finished, error)
	// Forget deletes messages by id and says how many, in one transaction. It passes over those that are not finished, or
	// that an unfinished effect, send or broadcast needs, as they are then (G34).
	Forget(ctx context.Context, ids []string) (int, error)
	// ForgetEffects deletes up to limit effects that were given up at least age ago.
	ForgetEffects(ctx context.Context, age time.Duration, limit int) (int, error)

	// Instances reads up to limit actors of a type in the order of the bytes of their ids, after the one given, without
	// their states. States reads those of the named actors that there are, in any order, each with its state of the same
	// moment.
	Instances(ctx context.Context, typ, after string, limit int) ([]Instance, error)
	States(ctx context.Context, typ string, ids []string) ([]Instance, error)
	// Expire is Destroy for those of these incarnations (by Instance.ID) that are Quiet and were not used for age, judged
	// under their locks, and answers which those were. One that somebody is at work with is passed over.
	Expire(ctx context.Context, instances []string, age time.Duration) ([]Instance, error)

	// Count counts what waits. It reads ranges of indexes, each up to limit entries, so that it stays cheap however much
	// there is.
	Count(ctx context.Context, limit int) (Counts, error)
	// DeadLettersAfter reads up to limit of the dead letters that follow (failed, id), oldest first; a zero time is the
	// beginning.
	DeadLettersAfter(ctx context.Context, failed time.Time, id string, limit int) ([]DeadLetter, error)
	// Reminders lists up to limit reminders in the order in which they are tried.
	Reminders(ctx context.Context, limit int) ([]Scheduled, error)
	// Warnings is what was found, when the store was opened, to be weaker than the contract wants: settings under which
	// an acknowledged commit may be lost.
	Warnings() []error

	// Offset moves the database's clock as this store sees it: tests only.
	Offset(d time.Duration)
	// Stats counts what went to the database since it was opened.
	Stats() Stats
	// Close releases what Open took. The application's own pool stays open.
	Close() error
}

// Stats are running counts, for tests and metrics.
type Stats struct {
	Statements int64
	Commits    int64
}
