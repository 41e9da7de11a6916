package mysql

import (
	"context"
	"time"

	"github.com/lockstep-go/lockstep/runtime/store"
)

var (
	countsRead       = declare("counts")
	deadLettersAfter = declare("dead_letters_after")
	remindersRead    = declare("reminders")
)

// Warnings are what was found at opening that weakens what the store promises: *WeakDurability.
func (s *Store) Warnings() []error { return s.warnings }

// Largest is what the server's max_allowed_packet leaves for a document.
func (s *Store) Largest() (bytes int, setting string) {
	return s.packet - packetOverhead, "max_allowed_packet"
}

// SharedPool is how many connections the pool that New was given may have; zero where it has no bound, or Open made it.
func (s *Store) SharedPool() int {
	if s.own {
		return 0
	}
	return s.db.Stats().MaxOpenConnections
}

// Count says how much of each kind waits, each number up to limit.
func (s *Store) Count(ctx context.Context, limit int) (store.Counts, error) {
	return read(ctx, s, "count what waits", func(q *session) (c store.Counts, err error) {
		r, _, err := q.first(clockRead)
		if err != nil {
			return c, err
		}
		now := r.int(0) + s.offset.Load()
		c.Now = fromMicros(now)
		r, _, err = q.first(countsRead, now, limit, now, limit, limit, limit, limit, now, limit, limit, limit, now, limit, now, limit,
			limit, now, now, now, now)
		if err != nil {
			return c, err
		}
		for i, n := range []*int{
			&c.Ready, &c.Delayed, &c.Paused, &c.Claimed, &c.Queued, &c.Effects, &c.Pending, &c.Failed, &c.Reminders, &c.Sends, &c.Dead,
		} {
			*n = int(r.int(i))
		}
		c.ReadySince, c.EffectSince, c.ReminderSince, c.SendSince = r.time(11), r.time(12), r.time(13), r.time(14)
		return c, nil
	})
}

// DeadLettersAfter reads given-up messages in the order in which they failed.
func (s *Store) DeadLettersAfter(ctx context.Context, failed time.Time, id string, limit int) ([]store.DeadLetter, error) {
	return read(ctx, s, "page through dead letters", func(q *session) (list []store.DeadLetter, err error) {
		at := micros(failed)
		err = q.all(deadLettersAfter, func(r row) error {
			list = append(list, readDeadLetter(r))
			return nil
		}, at, at, id, limit)
		return list, err
	})
}

// Reminders lists what is scheduled, in the order in which it is tried.
func (s *Store) Reminders(ctx context.Context, limit int) ([]store.Scheduled, error) {
	return read(ctx, s, "list reminders", func(q *session) (list []store.Scheduled, err error) {
		err = q.all(remindersRead, func(r row) error {
			list = append(list, store.Scheduled{
				Key: store.Key{Type: r.text(0), ID: r.text(1)}, Operation: r.text(2), Name: r.text(3), Next: r.time(4), Due: r.time(5),
				Interval: time.Duration(r.int(6)) * time.Microsecond, CatchUp: r.text(7),
			})
			return nil
		}, limit)
		return list, err
	})
}
