package runtime

import (
	"context"
	"fmt"
	"time"

	"github.com/lockstep-go/lockstep/actors"
	"github.com/lockstep-go/lockstep/runtime/bus"
)

const (
	// revokedFor is how long a revocation is kept for the hubs to read, which do every second. One that could not for
	// longer closes its sockets, whose pages come back and are judged anew.
	revokedFor = 10 * time.Minute
	// revokedPage is how many are read at once.
	revokedPage = 500
)

// Revoke withdraws from open pages, in every process on the database: at once in this one, on a bus's hint or within a
// second in the others. Call it once whoever judges new requests knows, after the session is deleted. An error says that
// the other processes may not hear of it: call it again.
func (rt *Runtime) Revoke(ctx context.Context, r actors.Revocation) error {
	digests := r.Digests()
	if digests == (actors.Revoked{}) {
		return nil
	}
	if rt.closed.Load() {
		return actors.ErrClosed
	}
	digests.ID = newID()
	rt.revoked.publish(digests)
	if rt.cfg.SingleOwner {
		return nil // nobody else has pages
	}
	if err := rt.store.Revoke(ctx, digests, revokedFor); err != nil {
		return fmt.Errorf("revoke: %w", err)
	}
	rt.tell(bus.Hint{Kind: bus.Revoke})
	return nil
}

// Revocations reads some of those after a position, in order, and the newest position that it saw: a position below
// after means that the database was taken back, a first one beyond after + 1 that some were forgotten.
func (rt *Runtime) Revocations(ctx context.Context, after int64) (list []actors.Revoked, newest int64, err error) {
	if rt.cfg.SingleOwner {
		return nil, 0, nil
	}
	return rt.store.Revocations(ctx, after, revokedPage)
}

// FollowRevocations calls heard, until stop, with each revocation that is made by this process, before it is written,
// and with a zero one when another process may have written any. It must return quickly and not call back.
func (rt *Runtime) FollowRevocations(heard func(actors.Revoked)) (stop func()) {
	return rt.revoked.follow(heard)
}
