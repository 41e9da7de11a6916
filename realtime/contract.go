package realtime

import (
	"context"

	"github.com/lockstep-go/lockstep/actors"
	"github.com/lockstep-go/lockstep/realtime/wire"
)

// Source is the runtime as the hub sees it; *runtime.Runtime is one.
type Source interface {
	// Committed reads an actor's committed state without asking a policy: the hub asks by itself.
	Committed(ctx context.Context, a actors.Address) (actors.Snapshot, error)
	// Stamps reads, for each actor, the stamp of its last broadcast and its state's revision, in few indexed reads.
	Stamps(ctx context.Context, of []actors.Address) ([]actors.Progress, error)
	// Mixed says whether a process of another build works on the database, or did until a while ago: one that may have
	// observables of which this one's commits do not know, or the other way round.
	Mixed(ctx context.Context) (bool, error)
	// MaySubscribe and MayQuery ask the policies under the viewer's ctx.
	MaySubscribe(ctx context.Context, r actors.Request) error
	MayQuery(ctx context.Context, r actors.Request) error
	// Follow calls news for every broadcast that this process learns of, until stop: those it delivers itself in order for
	// each actor; those of which it only heard from others, late, repeated or untrue as hints may be, with Previous equal
	// to Revision and no names, so that they cover nothing. It must return quickly.
	Follow(news func(actors.Broadcast)) (stop func())

	// Revoke has every hub on the database withdraw: those that follow revocations here before it returns.
	Revoke(ctx context.Context, r actors.Revocation) error
	// Revocations reads some of those after a position, in order and without gaps, and the newest position that it saw,
	// which lies below after where the database was taken back. With nothing after it the list is empty.
	Revocations(ctx context.Context, after int64) (list []actors.Revoked, newest int64, err error)
	// FollowRevocations calls heard, until stop, with each that this process makes, and with a zero one whenever another
	// may have made one. It must return quickly.
	FollowRevocations(heard func(actors.Revoked)) (stop func())
}

// Renderer turns a target and a snapshot into HTML; the registry of package views is one.
type Renderer interface {
	// Describe says what a target of an actor type depends on; false where this build has no such component.
	Describe(typ string, t wire.Target) (Component, bool)
	// Render renders a target from a snapshot. For Shared and ByGroup components ctx carries no viewer. The error of a
	// state newer than the code wraps *actors.StateTooNew.
	Render(ctx context.Context, r RenderRequest) (Fragment, error)
}

// Audience says who may share a component's bytes.
type Audience int

const (
	Shared    Audience = iota // everybody who may subscribe
	ByGroup                   // those with an equal group key
	PerViewer                 // nobody
)

// Component is what the hub must know about one.
type Component struct {
	Audience Audience
	Observes []string                         // names of observables; none: it depends on every commit
	Group    func(ctx context.Context) string // for ByGroup: the key of the viewer in ctx
	List     bool                             // its fragments have a List
	// Query, if set, is the operation that the Query policy is asked about for each viewer, before each render of the
	// component for them. Who may not see it is left with what their page shows.
	Query string
}

// RenderRequest asks for one target's HTML.
type RenderRequest struct {
	Actor    actors.Address
	Target   wire.Target
	Snapshot actors.Snapshot
	Group    string // for ByGroup
	Viewer   string // wire.Sealer.Viewer, for PerViewer: it goes into the token of a fragment with nested targets
}

// Fragment is a target's HTML: one root element that carries the target's name, or an empty template element. All
// targets that stand in it, at any depth, are in Nested.
type Fragment struct {
	HTML   string
	Nested []wire.Target // shown inside it, of the same actor
	List   *wire.List    // of a list: the same HTML in pieces
}

// Identity is who a connection belongs to, for Revoke and for tokens; both may be empty for a stranger.
type Identity struct {
	Principal string // the user
	Session   string // this sign-in
}
