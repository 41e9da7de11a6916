package sqlite

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/lockstep-go/lockstep/runtime/store"
)

var (
	countsRead       = declare("counts")
	deadLettersAfter = declare("dead_letters_after")
	remindersRead    = declare("reminders")
)

// WeakCommit is the warning that a power cut may lose commits that were acknowledged.
type WeakCommit struct{ Synchronous Synchronous }

func (e *WeakCommit) Error() string {
	return fmt.Sprintf("synchronous is %s, not %s: a power cut may lose commits that were acknowledged", e.Synchronous, Full)
}

// ErrInMemory is the warning that nothing outlives the process.
var ErrInMemory = errors.New("the database is in memory: it ends with the process")

// Warnings are what is weaker than it should be: a *WeakCommit, or ErrInMemory.
func (s *Store) Warnings() []error {
	switch {
	case s.path == "":
		return []error{ErrInMemory}
	case s.cfg.Synchronous != Full:
		return []error{&WeakCommit{s.cfg.Synchronous}}
	}
	return nil
}

// Count says how much of each kind waits, each number up to limit.
func (s *Store) Count(ctx context.Context, limit int) (c store.Counts, err error) {
	err = s.read(ctx, "count what waits", func(q session) error {
		now := s.now()
		r, _, err := q.first(countsRead, now, limit)
		if err != nil {
			return err
		}
		c.Now = fromMicros(now)
		for i, n := range []*int{
			&c.Ready, &c.Delayed, &c.Paused, &c.Claimed, &c.Queued, &c.Effects, &c.Pending, &c.Failed, &c.Reminders, &c.Sends, &c.Dead,
		} {
			*n = int(r.int(i))
		}
		c.ReadySince, c.EffectSince, c.ReminderSince, c.SendSince = r.time(11), r.time(12), r.time(13), r.time(14)
		return nil
	})
	return c, err
}

// DeadLettersAfter reads given-up messages in the order in which they failed.
func (s *Store) DeadLettersAfter(ctx context.Context, failed time.Time, id string, limit int) (list []store.DeadLetter, err error) {
	var after int64
	if !failed.IsZero() {
		after = micros(failed)
	}
	err = s.read(ctx, "page through dead letters", func(q session) error {
		return q.all(deadLettersAfter, func(r row) error {
			list = append(list, readDeadLetter(r))
			return nil
		}, after, id, limit)
	})
	return list, err
}

// Reminders lists what is scheduled, in the order in which it is tried.
func (s *Store) Reminders(ctx context.Context, limit int) (list []store.Scheduled, err error) {
	err = s.read(ctx, "list reminders", func(q session) error {
		list = nil
		return q.all(remindersRead, func(r row) error {
			list = append(list, store.Scheduled{
				Key: store.Key{Type: r.text(0), ID: r.text(1)}, Operation: r.text(2), Name: r.text(3), Next: r.time(4), Due: r.time(5),
				Interval: time.Duration(r.int(6)) * time.Microsecond, CatchUp: r.text(7),
			})
			return nil
		}, limit)
	})
	return list, err
}
