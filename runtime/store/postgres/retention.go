package postgres

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"

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
	err = s.read(ctx, "read finished history", func(p *pipe) {
		page = nil
		p.query(finishedRead, func(rows pgx.Rows) error {
			var f store.Finished
			var at int64
			err := rows.Scan(&f.ID, &f.Type, &at, &f.Needed)
			f.At = fromMicros(at)
			page = append(page, f)
			return err
		}, s.offset.Load(), age.Microseconds(), micros(after.At), after.ID, limit)
	})
	return page, err
}

// Forget deletes messages that are finished and that no outbox needs.
func (s *Store) Forget(ctx context.Context, ids []string) (forgotten int, err error) {
	if len(ids) == 0 {
		return 0, nil
	}
	err = s.single(ctx, "forget history", func(p *pipe) { p.counted(forget, &forgotten, ids) }, func() bool { return forgotten > 0 })
	return forgotten, err
}

// ForgetEffects deletes effects that were given up long ago.
func (s *Store) ForgetEffects(ctx context.Context, age time.Duration, limit int) (forgotten int, err error) {
	err = s.single(ctx, "forget effects", func(p *pipe) {
		p.counted(forgetEffects, &forgotten, s.offset.Load(), age.Microseconds(), limit)
	}, func() bool { return forgotten > 0 })
	return forgotten, err
}

// instanceInto is where the statements that read instances put their rows.
func instanceInto(list *[]store.Instance) func(pgx.Rows) error {
	*list = nil
	return func(rows pgx.Rows) error {
		var i store.Instance
		var created, used int64
		err := rows.Scan(&i.ID, &i.Type, &i.Key.ID, &created, &used, &i.Revision, &i.Version, &i.Pending, &i.Held, &i.Paused,
			&i.Scheduled, &i.Outbox, &i.Letters, (*[]byte)(&i.State))
		i.CreatedAt, i.UsedAt = fromMicros(created), fromMicros(used)
		*list = append(*list, i)
		return err
	}
}

// Instances reads a page of the actors of a type.
func (s *Store) Instances(ctx context.Context, typ, after string, limit int) (page []store.Instance, err error) {
	err = s.read(ctx, "list actors", func(p *pipe) {
		p.query(instancesRead, instanceInto(&page), s.offset.Load(), typ, after, limit)
	})
	return page, err
}

// States reads named actors of a type, with their state.
func (s *Store) States(ctx context.Context, typ string, ids []string) (found []store.Instance, err error) {
	if ids == nil {
		ids = []string{}
	}
	err = s.read(ctx, "read states", func(p *pipe) {
		p.query(instancesStates, instanceInto(&found), s.offset.Load(), typ, ids)
	})
	return found, err
}

// Expire destroys those incarnations that are quiet and were not used for that long. Those that somebody is at work with
// are not.
func (s *Store) Expire(ctx context.Context, instances []string, age time.Duration) (expired []store.Instance, err error) {
	err = s.transact(ctx, "expire actors", indexPatience, func(w *work) error {
		expired = nil
		w.lock(lockSkip, instances, nil)
		if err := w.sync(); err != nil {
			return err
		}
		var ids []string
		for id := range w.boxes {
			ids = append(ids, id)
		}
		if len(ids) == 0 {
			return nil
		}
		var list []store.Instance
		w.query(instancesLeft, instanceInto(&list), s.offset.Load(), ids)
		if err := w.sync(); err != nil {
			return err
		}
		for _, i := range list {
			if i.Quiet() && micros(i.UsedAt) <= w.now-age.Microseconds() {
				expired = append(expired, i)
				w.destroy(i.ID)
			}
		}
		return w.sync()
	})
	if err != nil {
		return nil, err
	}
	return expired, nil
}
