package mysql

import (
	"context"

	"github.com/lockstep-go/lockstep/actors"
	"github.com/lockstep-go/lockstep/runtime/store"
)

var (
	snapshotRead = declare("snapshot")
	stampsRead   = declare("stamps")
	messageRead  = declare("message")
	dueRead      = declare("due")
)

// Snapshot reads committed state; a missing actor is a zero Snapshot.
func (s *Store) Snapshot(ctx context.Context, k store.Key) (actors.Snapshot, error) {
	return read(ctx, s, "read a snapshot", func(q *session) (snap actors.Snapshot, err error) {
		r, ok, err := q.first(snapshotRead, k.Type, k.ID)
		if err != nil || !ok {
			return snap, err
		}
		return actors.Snapshot{
			Stamp:     actors.Stamp{Instance: r.text(0), Revision: r.int(1), Message: r.text(2)},
			Broadcast: r.int(3), Version: int(r.int(4)), State: r.doc(5),
		}, nil
	})
}

// Stamps reads the stamp of each key's last broadcast, and its state's revision; a missing actor's are zero.
func (s *Store) Stamps(ctx context.Context, keys []store.Key) ([]actors.Progress, error) {
	return read(ctx, s, "read stamps", func(q *session) ([]actors.Progress, error) {
		var args []any
		for _, k := range keys {
			args = append(args, k.Type, k.ID)
		}
		found := make(map[store.Key]actors.Progress, len(keys))
		err := q.each(stampsRead, 2, args, func(r row) error {
			found[store.Key{Type: r.text(0), ID: r.text(1)}] = actors.Progress{
				Stamp: actors.Stamp{Instance: r.text(2), Revision: r.int(3), Message: r.text(4)}, Committed: r.int(5),
			}
			return nil
		})
		if err != nil {
			return nil, err
		}
		stamps := make([]actors.Progress, len(keys))
		for n, k := range keys {
			stamps[n] = found[k]
		}
		return stamps, nil
	})
}

// Message reads a message, and what a live one waits for.
func (s *Store) Message(ctx context.Context, id string) (m store.Message, waiting string, o store.Outcome, err error) {
	type answer struct {
		m       store.Message
		waiting string
		o       store.Outcome
	}
	a, err := read(ctx, s, "read message "+id, func(q *session) (a answer, err error) {
		a.o = store.Missing
		r, ok, err := q.first(messageRead, id)
		if err != nil || !ok {
			return a, err
		}
		a.o = store.Done
		readMessage(r, &a.m)
		if a.m.Status == store.Live {
			a.waiting = waitsFor(&a.m, r[messageColumns:], s.offset.Load())
		}
		return a, nil
	})
	return a.m, a.waiting, a.o, err
}

// waitsFor judges by the rest of the row: head sequence, lease, pause, owner, claimed message, clock.
func waitsFor(m *store.Message, r row, offset int64) string {
	now := r.int(5) + offset
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

// Due says when the earliest work can be taken.
func (s *Store) Due(ctx context.Context, types, effects []string) (store.Due, error) {
	return read(ctx, s, "look for due work", func(q *session) (d store.Due, err error) {
		t, e := list(types), list(effects)
		err = q.allText(s.texts.text(dueRead, len(t), len(e)), func(r row) error {
			d = store.Due{
				Now: fromMicros(r.int(0) + s.offset.Load()), Messages: r.time(1), Effects: r.time(2), Reminders: r.time(3), Sends: r.time(4),
			}
			return nil
		}, append(t, e...))
		return d, err
	})
}
