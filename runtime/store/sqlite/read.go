package sqlite

import (
	"context"
	"time"

	"github.com/lockstep-go/lockstep/actors"
	"github.com/lockstep-go/lockstep/runtime/store"
)

var (
	snapshotRead = declare("snapshot")
	stampRead    = declare("stamp")
	alarmsRead   = declare("alarms")
	dueRead      = declare("due")
)

// Snapshot reads committed state; a missing actor is a zero Snapshot.
func (s *Store) Snapshot(ctx context.Context, k store.Key) (snap actors.Snapshot, err error) {
	err = s.read(ctx, "read a snapshot", func(q session) error {
		r, ok, err := q.first(snapshotRead, k.Type, k.ID)
		if ok {
			snap = snapshot(r, r.text(0), 1)
		}
		return err
	})
	return snap, err
}

// Stamps reads the stamp of each key's last broadcast, and its state's revision; a missing actor's are zero.
func (s *Store) Stamps(ctx context.Context, keys []store.Key) ([]actors.Progress, error) {
	stamps := make([]actors.Progress, len(keys))
	err := s.read(ctx, "read stamps", func(q session) error {
		for i, k := range keys {
			r, ok, err := q.first(stampRead, k.Type, k.ID)
			if err != nil {
				return err
			}
			if ok {
				stamps[i] = actors.Progress{Stamp: actors.Stamp{Instance: r.text(0), Revision: r.int(1), Message: r.text(2)}, Committed: r.int(3)}
			}
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return stamps, nil
}

// Message reads a message, and what a live one waits for.
func (s *Store) Message(ctx context.Context, id string) (m store.Message, waiting string, o store.Outcome, err error) {
	o = store.Missing
	err = s.read(ctx, "read message "+id, func(q session) error {
		r, ok, err := q.first(messageByID, id)
		if err != nil || !ok {
			return err
		}
		o = store.Done
		readMessage(r, &m)
		if m.Status == store.Live {
			waiting = waitsFor(&m, r[messageColumns:], s.now())
		}
		return nil
	})
	if err != nil {
		return store.Message{}, "", "", err
	}
	return m, waiting, o, nil
}

// waitsFor judges by the rest of the row: head sequence, lease, pause, owner, claimed message.
func waitsFor(m *store.Message, r row, now int64) string {
	switch {
	case r.text(4) == m.ID:
		return "running"
	case !r.null(2):
		return "paused"
	case m.Sequence > r.int(0):
		return "earlier_message"
	case micros(m.AvailableAt) > now && m.Attempts > 0:
		return "retry"
	case micros(m.AvailableAt) > now:
		return "not_yet_available"
	case !r.null(3) && r.int(1) > now:
		return "activation_held"
	}
	return "ready"
}

// Alarms reads an instance's reminders.
func (s *Store) Alarms(ctx context.Context, instance string) (alarms []actors.Alarm, err error) {
	err = s.read(ctx, "read the schedule of instance "+instance, func(q session) error {
		return q.all(alarmsRead, func(r row) error {
			alarms = append(alarms, actors.Alarm{
				Operation: r.text(0), Key: r.text(1), Next: r.time(2),
				Interval: time.Duration(r.int(3)) * time.Microsecond, CatchUp: actors.CatchUpPolicy(r.text(4)),
			})
			return nil
		}, instance)
	})
	return alarms, err
}

// Due says when the earliest work can be taken.
func (s *Store) Due(ctx context.Context, types, effects []string) (d store.Due, err error) {
	err = s.read(ctx, "look for due work", func(q session) error {
		r, _, err := q.first(dueRead, list(types), list(effects))
		if err == nil {
			d = store.Due{Now: fromMicros(s.now()), Messages: r.time(0), Effects: r.time(1), Reminders: r.time(2), Sends: r.time(3)}
		}
		return err
	})
	return d, err
}

// waiting says whether a statement finds anything, before a transaction is begun for it.
func (s *Store) waiting(ctx context.Context, st statement, args ...any) (found bool, err error) {
	err = s.read(ctx, "look for work", func(q session) error {
		_, found, err = q.first(st, args...)
		return err
	})
	return found, err
}
