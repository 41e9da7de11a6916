package actors

import (
	"context"
	"encoding/json"
	"time"
)

// Call is one message or query on its way to an actor, with its arguments encoded.
type Call struct {
	Type           string
	ID             string
	Operation      string
	Arguments      json.RawMessage
	Input          any // what Arguments encodes, for the policy
	IdempotencyKey string
	When           When

	keyed bool // a key was given: an empty one is a mistake, not the wish for none
}

// MessageRef names a stored message. It is data, not permission: whoever waits on it is authorized anew.
type MessageRef struct {
	ID        string `json:"id"`
	Type      string `json:"type"`
	ActorID   string `json:"actor_id"`
	Operation string `json:"operation"`
	Sequence  int64  `json:"sequence"`
}

// Stamp says which committed state something was read from.
type Stamp struct {
	Instance string `json:"i"` // the incarnation's id; "" where the actor has no row
	Revision int64  `json:"r"` // sequence of the last message that committed state
	Message  string `json:"m"` // id of that message
}

// Progress is how far an actor has come.
type Progress struct {
	Stamp           // of its last broadcast
	Committed int64 // revision of its state: beyond the broadcast's where commits changed nothing that pages follow
}

// Snapshot is an actor's committed state as stored.
type Snapshot struct {
	Stamp
	Version   int             // of the state
	State     json.RawMessage // nil where the actor has no row or never committed
	Broadcast int64           // revision of the last commit that wrote a broadcast
}

// Tx is an application's own transaction, made by the driver package of the runtime's store (sqlite.Tx and so on).
type Tx interface {
	// Dialect names the store that made it.
	Dialect() string
}

// Client is what the typed handles of this package call; *runtime.Runtime is one. Applications use the handles.
type Client interface {
	// AskCall stores the message durably and returns its committed result.
	AskCall(ctx context.Context, c Call) (json.RawMessage, error)
	// TellCall returns once the message is durable.
	TellCall(ctx context.Context, c Call) (MessageRef, error)
	// TellTxCall stores the message inside tx.
	TellTxCall(ctx context.Context, tx Tx, c Call) (MessageRef, error)
	// WaitCall waits for a stored message's result.
	WaitCall(ctx context.Context, m MessageRef) (json.RawMessage, error)
	// ReadCall returns committed state, without a message.
	ReadCall(ctx context.Context, typ, id string) (Snapshot, error)
	// DestroyCall removes an actor.
	DestroyCall(ctx context.Context, typ, id string) (existed bool, err error)
}

// Alarm is a reminder as its own actor sees it.
type Alarm struct {
	Operation string
	Key       string
	Next      time.Time
	Interval  time.Duration // zero for one occurrence
	CatchUp   CatchUpPolicy
}

// Address is a Ref without its type parameter.
type Address struct{ Type, ID string }

// Broadcast is the news of one commit, or of several that one row absorbed: what changed, never for whom. It covers
// the revisions in (Previous, Revision].
type Broadcast struct {
	ID       string
	Actor    Address
	Instance string
	Revision int64
	Previous int64                      // the actor's broadcast revision before
	Message  string                     // id of the message that committed Revision
	Names    []string                   // observables that changed
	Values   map[string]json.RawMessage // of the shared ones among them
	// Inherited says that it also covers commits from before the activation that wrote it, which may be another build's:
	// the names are those that their builds know. It is not stored.
	Inherited bool
}
