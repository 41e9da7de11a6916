package mysql

import (
	"context"
	"time"

	"github.com/lockstep-go/lockstep/actors"
)

var (
	revocationLock    = declare("revocation_lock")
	revocationNewest  = declare("revocation_newest")
	revoke            = declare("revoke")
	revocationsForget = declare("revocations_forget")
	revocationsRead   = declare("revocations")
)

// Revoke writes what was revoked under the next position, and forgets what is older than keep.
func (s *Store) Revoke(ctx context.Context, r actors.Revoked, keep time.Duration) error {
	return s.write(ctx, "revoke", func(w *work) error {
		if _, err := w.exec(revocationLock); err != nil {
			return err
		}
		if err := w.tick(nil); err != nil {
			return err
		}
		newest, _, err := w.first(revocationNewest)
		if err != nil {
			return err
		}
		next := newest.int(0) + 1
		if _, err := w.exec(revoke, next, r.ID, r.Principal, r.Session, r.Actor, w.now); err != nil {
			return err
		}
		_, err = w.exec(revocationsForget, next, w.now-keep.Microseconds())
		return err
	})
}

// Revocations reads those after a position, and the newest position.
func (s *Store) Revocations(ctx context.Context, after int64, limit int) (list []actors.Revoked, newest int64, err error) {
	list, err = read(ctx, s, "read revocations", func(q *session) (list []actors.Revoked, err error) {
		newest = 0
		err = q.all(revocationsRead, func(r row) error {
			if newest = r.int(0); newest > after {
				list = append(list, actors.Revoked{
					Position: newest, ID: r.text(1), Principal: r.text(2), Session: r.text(3), Actor: r.text(4),
				})
			}
			return nil
		}, after+1, limit)
		return list, err
	})
	return list, newest, err
}
