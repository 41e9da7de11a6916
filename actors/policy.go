package actors

import "context"

// SnapshotOp is the operation that the Query policy is asked about for Snapshot and for rendering a page's scope.
const SnapshotOp = "__snapshot__"

// Request is what a policy decides about. Who is asking is in the ctx, put there by the application.
type Request struct {
	Type      string
	ID        string
	Operation string
	Input     any // the decoded arguments of a message or query (a value, not a pointer), nil otherwise
}

// AdminRequest is what the Administer policy decides about.
type AdminRequest struct {
	Action     string // "list", "retry", "pause", …
	Resource   string // "dead_letter", "instance", …
	ResourceID string
}

// Policy says who may do what. Each function returns nil to allow and an error to refuse; a function that is nil
// refuses everything, and so does one that panics. They are asked before anything is looked up, so a refusal says
// nothing about whether an actor exists. They must be safe for concurrent use. Deliveries of the runtime itself
// (actor to actor, reminders, outcomes of effects) are not asked about.
type Policy struct {
	Message    func(ctx context.Context, r Request) error
	Query      func(ctx context.Context, r Request) error
	Destroy    func(ctx context.Context, r Request) error
	Subscribe  func(ctx context.Context, r Request) error
	Administer func(ctx context.Context, r AdminRequest) error
}

// InsecureAllowAll allows everybody everything: for tests and tools that nobody else can reach.
func InsecureAllowAll() Policy {
	allow := func(context.Context, Request) error { return nil }
	return Policy{allow, allow, allow, allow, func(context.Context, AdminRequest) error { return nil }}
}
