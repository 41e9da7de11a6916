package mysql

import (
	"context"
	"time"

	"github.com/lockstep-go/lockstep/runtime/store"
)

var (
	finishedRead    = declare("finished")
	forget          = declare("forget")
	failedEffects   = declare("prunable_effects")
	effectsDelete   = declare("effects_delete")
	instancesRead   = declare("instances")
	instancesStates = declare("instances_states")
	instancesLeft   = declare("instances_left")
)

// Finished reads a page of finished history, oldest first.
func (s *Store) Finished(ctx context.Context, age time.Duration, after store.Finished, limit int) ([]store.Finished, error) {
	return read(ctx, s, "read finished history", func(q *session) (page []store.Finished, err error) {
		from := micros(after.At)
		err = q.all(finishedRead, func(r row) error {
			page = append(page, store.Finished{ID: r.text(0), Type: r.text(1), At: r.time(2), Needed: r.int(3) != 0})
			return nil
		}, from, s.offset.Load()-age.Microseconds(), from, after.ID, limit)
		return page, err
	})
}

// Forget deletes messages that are finished and that no outbox needs.
func (s *Store) Forget(ctx context.Context, ids []string) (forgotten int, err error) {
	if len(ids) == 0 {
		return 0, nil
	}
	err = s.write(ctx, "forget history", func(w *work) error {
		n, err := w.many(forget, 1, listAny(ids))
		forgotten = int(n)
		return err
	})
	if err != nil {
		return 0, err
	}
	return forgotten, nil
}

// ForgetEffects deletes effects that were given up long ago.
func (s *Store) ForgetEffects(ctx context.Context, age time.Duration, limit int) (forgotten int, err error) {
	err = s.write(ctx, "forget effects", func(w *work) error {
		var ids []any
		err := w.all(failedEffects, func(r row) error {
			ids = append(ids, r.text(0))
			return nil
		}, s.offset.Load()-age.Microseconds(), limit)
		if err != nil {
			return err
		}
		n, err := w.many(effectsDelete, 1, ids)
		forgotten = int(n)
		return err
	})
	if err != nil {
		return 0, err
	}
	return forgotten, nil
}

func readListed(r row, offset int64) store.Instance {
	return store.Instance{
		ID: r.text(0), Key: store.Key{Type: r.text(1), ID: r.text(2)}, CreatedAt: r.time(3), UsedAt: r.time(4),
		Revision: r.int(5), Version: int(r.int(6)), Pending: int(r.int(7)), Held: r.int(8) != 0 && r.int(8) > offset,
		Paused: !r.null(9), Scheduled: r.int(10) != 0, Outbox: r.int(11) != 0, Letters: r.int(12) != 0,
	}
}

// Instances reads a page of the actors of a type.
func (s *Store) Instances(ctx context.Context, typ, after string, limit int) ([]store.Instance, error) {
	return read(ctx, s, "list actors", func(q *session) (page []store.Instance, err error) {
		err = q.all(instancesRead, func(r row) error {
			page = append(page, readListed(r, s.offset.Load()))
			return nil
		}, typ, after, limit)
		return page, err
	})
}

// States reads named actors of a type, with their state.
func (s *Store) States(ctx context.Context, typ string, ids []string) ([]store.Instance, error) {
	return read(ctx, s, "read states", func(q *session) (found []store.Instance, err error) {
		var args []any
		for _, id := range ids {
			args = append(args, typ, id)
		}
		err = q.each(instancesStates, 2, args, func(r row) error {
			i := readListed(r, s.offset.Load())
			i.State = r.doc(13)
			found = append(found, i)
			return nil
		})
		return found, err
	})
}

// Expire destroys those incarnations that are quiet and were not used for that long. Those that somebody is at work with
// are not.
func (s *Store) Expire(ctx context.Context, instances []string, age time.Duration) (expired []store.Instance, err error) {
	err = s.write(ctx, "expire actors", func(w *work) error {
		expired = nil
		if err := w.lock(instances); err != nil {
			return err
		}
		if err := w.tick(nil); err != nil {
			return err
		}
		var locked []any
		for id := range w.instances {
			locked = append(locked, id)
		}
		err := w.each(instancesLeft, 1, locked, func(r row) error {
			if i := readListed(r, s.offset.Load()); i.Quiet() && micros(i.UsedAt) <= w.now-age.Microseconds() {
				expired = append(expired, i)
			}
			return nil
		})
		for _, i := range expired {
			if err == nil {
				err = w.destroy(i.ID)
			}
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	return expired, nil
}
