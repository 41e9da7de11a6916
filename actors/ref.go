package actors

import "context"

// Ref addresses one actor. It is cheap, creates nothing and grants nothing.
type Ref[S any] struct {
	typ *Type[S]
	id  string
}

// Type is the actor's type.
func (r Ref[S]) Type() *Type[S] { return r.typ }

// ID is the actor's id.
func (r Ref[S]) ID() string { return r.id }

// Address is the reference without its type parameter.
func (r Ref[S]) Address() (typ, id string) { return r.typ.def.Name, r.id }

// Snapshot returns the actor's committed state: the fresh state where it has none. It takes no place in the mailbox
// and is authorized as a query named SnapshotOp. The state is the caller's own copy.
func (r Ref[S]) Snapshot(ctx context.Context, c Client) (S, error) {
	state, _, err := r.SnapshotStamp(ctx, c)
	return state, err
}

// SnapshotStamp is Snapshot with the stamp of what was read.
func (r Ref[S]) SnapshotStamp(ctx context.Context, c Client) (S, Stamp, error) {
	var zero S
	if err := CheckID(r.id); err != nil {
		return zero, Stamp{}, err
	}
	snap, err := c.ReadCall(ctx, r.typ.def.Name, r.id)
	if err != nil {
		return zero, Stamp{}, err
	}
	state, err := r.typ.def.Load(snap.Version, snap.State)
	if err != nil {
		return zero, Stamp{}, err
	}
	return *state.(*S), snap.Stamp, nil
}

// Destroy removes the actor with everything that can act or be addressed, and says whether it existed. Whoever waits
// on one of its messages gets ErrActorDestroyed; a later message begins a new incarnation. It is refused from inside
// a turn.
func (r Ref[S]) Destroy(ctx context.Context, c Client) (existed bool, err error) {
	if err := CheckID(r.id); err != nil {
		return false, err
	}
	return c.DestroyCall(ctx, r.typ.def.Name, r.id)
}
