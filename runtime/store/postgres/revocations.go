package postgres

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/lockstep-go/lockstep/actors"
)

var (
	revocationLock    = declare("revocation_lock")
	revoke            = declare("revoke")
	revocationsForget = declare("revocations_forget")
	revocationsRead   = declare("revocations")
)

// Revoke writes what was revoked under the next position, and forgets what is older than keep.
func (s *Store) Revoke(ctx context.Context, r actors.Revoked, keep time.Duration) error {
	return s.transact(ctx, "revoke", indexPatience, func(w *work) error {
		offset := s.offset.Load()
		w.exec(revocationLock)
		w.exec(revoke, r.ID, r.Principal, r.Session, r.Actor, offset)
		w.exec(revocationsForget, offset, keep.Microseconds())
		return w.sync()
	})
}

// Revocations reads those after a position, and the newest position.
func (s *Store) Revocations(ctx context.Context, after int64, limit int) (list []actors.Revoked, newest int64, err error) {
	err = s.read(ctx, "read revocations", func(p *pipe) {
		list, newest = nil, 0
		p.query(revocationsRead, func(rows pgx.Rows) error {
			var r actors.Revoked
			if err := rows.Scan(&r.Position, &r.ID, &r.Principal, &r.Session, &r.Actor); err != nil {
				return err
			}
			if newest = r.Position; newest > after {
				list = append(list, r)
			}
			return nil
		}, after+1, limit)
	})
	return list, newest, err
}
