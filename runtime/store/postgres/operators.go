package postgres

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/lockstep-go/lockstep/runtime/store"
)

var (
	countsRead       = declare("counts")
	deadLettersAfter = declare("dead_letters_after")
	remindersRead    = declare("reminders")
)

// Warnings are what was found weaker than it should be when the store was opened: a *WeakCommit each.
func (s *Store) Warnings() []error { return s.warnings }

// SharedPool is how many connections the pool that New was given may have; zero where Open made it.
func (s *Store) SharedPool() int {
	if s.own {
		return 0
	}
	return int(s.pool.Config().MaxConns)
}

// Count says how much of each kind waits, each number up to limit.
func (s *Store) Count(ctx context.Context, limit int) (c store.Counts, err error) {
	err = s.read(ctx, "count what waits", func(p *pipe) {
		p.query(countsRead, func(rows pgx.Rows) error {
			var now int64
			var since [4]int64
			err := rows.Scan(&now, &c.Ready, &c.Delayed, &c.Paused, &c.Claimed, &c.Queued, &c.Effects, &c.Pending, &c.Failed,
				&c.Reminders, &c.Sends, &c.Dead, &since[0], &since[1], &since[2], &since[3])
			c.Now = fromMicros(now)
			c.ReadySince, c.EffectSince = fromMicros(since[0]), fromMicros(since[1])
			c.ReminderSince, c.SendSince = fromMicros(since[2]), fromMicros(since[3])
			return err
		}, s.offset.Load(), limit)
	})
	return c, err
}

// DeadLettersAfter reads given-up messages in the order in which they failed.
func (s *Store) DeadLettersAfter(ctx context.Context, failed time.Time, id string, limit int) (list []store.DeadLetter, err error) {
	err = s.read(ctx, "page through dead letters", func(p *pipe) {
		p.query(deadLettersAfter, func(rows pgx.Rows) error {
			d, err := scanDeadLetter(rows)
			list = append(list, d)
			return err
		}, micros(failed), id, limit)
	})
	return list, err
}

// Reminders lists what is scheduled, in the order in which it is tried.
func (s *Store) Reminders(ctx context.Context, limit int) (list []store.Scheduled, err error) {
	err = s.read(ctx, "list reminders", func(p *pipe) {
		list = nil
		p.query(remindersRead, func(rows pgx.Rows) error {
			var r store.Scheduled
			var next, due, interval int64
			err := rows.Scan(&r.Type, &r.ID, &r.Operation, &r.Name, &next, &due, &interval, &r.CatchUp)
			r.Next, r.Due, r.Interval = fromMicros(next), fromMicros(due), time.Duration(interval)*time.Microsecond
			list = append(list, r)
			return err
		}, limit)
	})
	return list, err
}
