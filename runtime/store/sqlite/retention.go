package sqlite

import (
	"context"
	"time"

	"github.com/lockstep-go/lockstep/runtime/store"
)

var (
	finishedRead    = declare("finished")
	forget          = declare("forget")
	forgetEffects   = declare("forget_effects")
	instancesRead   = declare("instances")
	instancesStates = declare("instances_states")
	instancesLeft   = declare("instances_left")
)

// Finished reads a page of finished history, oldest first.
func (s *Store) Finished(ctx context.Context, age time.Duration, after store.Finished, limit int) (page []store.Finished, err error) {
	err = s.read(ctx, "read finished history", func(q session) error {
		page = nil
		return q.all(finishedRead, func(r row) error {
			page = append(page, store.Finished{ID: r.text(0), Type: r.text(1), At: r.time(2), Needed: r.int(3) != 0})
			return nil
		}, s.now()-age.Microseconds(), micros(after.At), after.ID, limit)
	})
	return page, err
}

// Forget deletes messages that are finished and that no outbox needs.
func (s *Store) Forget(ctx context.Context, ids []string) (forgotten int, err error) {
	if len(ids) == 0 {
		return 0, nil
	}
	err = s.write(ctx, "forget history", func(w *work) error {
		n, err := w.exec(forget, list(ids))
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
		n, err := w.exec(forgetEffects, w.now-age.Microseconds(), limit)
		forgotten = int(n)
		return err
	})
	if err != nil {
		return 0, err
	}
	return forgotten, nil
}

func readInstance(r row, now int64) store.Instance {
	return store.Instance{
		ID: r.text(0), Key: store.Key{Type: r.text(1), ID: r.text(2)}, CreatedAt: r.time(3), UsedAt: r.time(4),
		Revision: r.int(5), Version: int(r.int(6)), Pending: int(r.int(7)), Held: r.int(8) > now, Paused: !r.null(9),
		Scheduled: r.int(10) != 0, Outbox: r.int(11) != 0, Letters: r.int(12) != 0,
	}
}

// Instances reads a page of the actors of a type.
func (s *Store) Instances(ctx context.Context, typ, after string, limit int) (page []store.Instance, err error) {
	err = s.read(ctx, "list actors", func(q session) error {
		page = nil
		return q.all(instancesRead, func(r row) error {
			page = append(page, readInstance(r, s.now()))
			return nil
		}, typ, after, limit)
	})
	return page, err
}

// States reads named actors of a type, with their state.
func (s *Store) States(ctx context.Context, typ string, ids []string) (found []store.Instance, err error) {
	err = s.read(ctx, "read states", func(q session) error {
		found = nil
		return q.all(instancesStates, func(r row) error {
			i := readInstance(r, s.now())
			i.State = r.doc(13)
			found = append(found, i)
			return nil
		}, typ, list(ids))
	})
	return found, err
}

// Expire destroys those incarnations that are quiet and were not used for that long.
func (s *Store) Expire(ctx context.Context, instances []string, age time.Duration) (expired []store.Instance, err error) {
	err = s.write(ctx, "expire actors", func(w *work) error {
		expired = nil
		err := w.all(instancesLeft, func(r row) error {
			if i := readInstance(r, w.now); i.Quiet() && micros(i.UsedAt) <= w.now-age.Microseconds() {
				expired = append(expired, i)
			}
			return nil
		}, list(instances))
		for _, i := range expired {
			if err == nil {
				_, err = w.destroy(i.Key)
			}
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	return expired, nil
}
