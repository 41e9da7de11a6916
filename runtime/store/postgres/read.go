package postgres

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/lockstep-go/lockstep/actors"
	"github.com/lockstep-go/lockstep/runtime/store"
)

var (
	snapshotRead = declare("snapshot")
	stampsRead   = declare("stamps")
	messageByID  = declare("message_by_id")
	alarmsRead   = declare("alarms")
	dueRead      = declare("due")
)

// Snapshot reads committed state; a missing actor is a zero Snapshot.
func (s *Store) Snapshot(ctx context.Context, k store.Key) (snap actors.Snapshot, err error) {
	err = s.read(ctx, "read a snapshot", func(p *pipe) {
		p.query(snapshotRead, func(rows pgx.Rows) error {
			return rows.Scan(&snap.Instance, &snap.Revision, &snap.Message, &snap.Broadcast, &snap.Version, (*[]byte)(&snap.State))
		}, k.Type, k.ID)
	})
	return snap, err
}

// Stamps reads the stamp of each key's last broadcast, and its state's revision; a missing actor's are zero.
func (s *Store) Stamps(ctx context.Context, keys []store.Key) ([]actors.Progress, error) {
	stamps := make([]actors.Progress, len(keys))
	if len(keys) == 0 {
		return stamps, nil
	}
	types, ids := make([]string, len(keys)), make([]string, len(keys))
	for i, k := range keys {
		types[i], ids[i] = k.Type, k.ID
	}
	err := s.read(ctx, "read stamps", func(p *pipe) {
		p.query(stampsRead, func(rows pgx.Rows) error {
			var place int
			var stamp actors.Progress
			if err := rows.Scan(&place, &stamp.Instance, &stamp.Revision, &stamp.Message, &stamp.Committed); err != nil {
				return err
			}
			stamps[place-1] = stamp
			return nil
		}, types, ids)
	})
	if err != nil {
		return nil, err
	}
	return stamps, nil
}

// Message reads a message, and what a live one waits for.
func (s *Store) Message(ctx context.Context, id string) (m store.Message, waiting string, o store.Outcome, err error) {
	o = store.Missing
	err = s.read(ctx, "read message "+id, func(p *pipe) {
		p.query(messageByID, func(rows pgx.Rows) error {
			var x situation
			if err := scanMessage(rows, &m, &x.head, &x.lease, &x.paused, &x.owner, &x.claimed, &x.now); err != nil {
				return err
			}
			o = store.Done
			if m.Status == store.Live {
				waiting = x.waitsFor(&m)
			}
			return nil
		}, id, s.offset.Load())
	})
	if err != nil {
		return store.Message{}, "", "", err
	}
	return m, waiting, o, nil
}

// situation is what an instance is in.
type situation struct {
	head, lease, now int64
	paused           bool
	owner, claimed   string
}

func (x *situation) waitsFor(m *store.Message) string {
	later := micros(m.AvailableAt) > x.now
	switch {
	case x.claimed == m.ID:
		return "running"
	case x.paused:
		return "paused"
	case m.Sequence > x.head:
		return "earlier_message"
	case later && m.Attempts > 0:
		return "retry"
	case later:
		return "not_yet_available"
	case x.owner != "" && x.lease > x.now:
		return "activation_held"
	}
	return "ready"
}

// Alarms reads an instance's reminders.
func (s *Store) Alarms(ctx context.Context, instance string) (alarms []actors.Alarm, err error) {
	err = s.read(ctx, "read the schedule of instance "+instance, func(p *pipe) {
		p.query(alarmsRead, func(rows pgx.Rows) error {
			var a actors.Alarm
			var next, interval int64
			if err := rows.Scan(&a.Operation, &a.Key, &next, &interval, (*string)(&a.CatchUp)); err != nil {
				return err
			}
			a.Next, a.Interval = fromMicros(next), time.Duration(interval)*time.Microsecond
			alarms = append(alarms, a)
			return nil
		}, instance)
	})
	return alarms, err
}

// Due says when the earliest work can be taken.
func (s *Store) Due(ctx context.Context, types, effects []string) (d store.Due, err error) {
	err = s.read(ctx, "look for due work", func(p *pipe) {
		p.query(dueRead, func(rows pgx.Rows) error {
			var at [5]int64
			if err := rows.Scan(&at[0], &at[1], &at[2], &at[3], &at[4]); err != nil {
				return err
			}
			d = store.Due{Now: fromMicros(at[0]), Messages: fromMicros(at[1]), Effects: fromMicros(at[2]), Reminders: fromMicros(at[3]), Sends: fromMicros(at[4])}
			return nil
		}, s.offset.Load(), list(types), list(effects))
	})
	return d, err
}

// list is texts as a parameter: no texts are an empty array, not null.
func list(texts []string) []string {
	if texts == nil {
		return []string{}
	}
	return texts
}
