package postgres

import (
	"context"

	"github.com/jackc/pgx/v5"

	"github.com/lockstep-go/lockstep/runtime/store"
)

var (
	destroyLock      = declare("destroy_lock")
	destroy          = declare("destroy")
	tombstone        = declare("tombstone")
	sweepGraves      = declare("sweep_graves")
	sweepHistory     = declare("sweep")
	sweepDone        = declare("sweep_done")
	deadLettersRead  = declare("dead_letters")
	deadLetterRead   = declare("dead_letter")
	deadReplace      = declare("dead_replace")
	destroyLeftovers = []statement{
		declare("destroy_reminders"), declare("destroy_effects"), declare("destroy_sends"), declare("destroy_broadcasts"),
		declare("destroy_dead_letters"),
	}
)

// Pause stops claims of an actor, or lets them go on.
func (s *Store) Pause(ctx context.Context, k store.Key, paused bool) (o store.Outcome, err error) {
	err = s.transact(ctx, "pause an actor", indexPatience, func(w *work) error {
		o, err = w.pause(k, paused)
		return err
	})
	return o, err
}

func (w *work) pause(k store.Key, paused bool) (store.Outcome, error) {
	w.lock(lockWait, nil, []store.Key{k})
	if err := w.sync(); err != nil {
		return "", err
	}
	b := w.byKey[k]
	switch {
	case b == nil && w.busyKeys[k]:
		return "", errJustMade
	case b == nil:
		return store.Missing, nil
	case paused == (b.paused != 0):
		return store.Done, nil
	}
	b.paused, b.changed = 0, true
	if paused {
		b.paused = w.now
	}
	if !b.ready {
		return store.Done, nil
	}
	m, err := w.at(b, b.head)
	if err != nil {
		return "", err
	}
	if w.wait(b, m); !paused {
		b.due = micros(m.AvailableAt) // it has waited all the time
	}
	return store.Done, nil
}

// Destroy removes the instance and all that can act or be addressed.
func (s *Store) Destroy(ctx context.Context, k store.Key) (d store.Destroyed, err error) {
	err = s.transact(ctx, "destroy an actor", indexPatience, func(w *work) error {
		d = store.Destroyed{}
		w.query(destroyLock, func(rows pgx.Rows) error {
			d.Existed = true
			return rows.Scan(&d.Instance)
		}, k.Type, k.ID)
		if err := w.sync(); err != nil || !d.Existed {
			return err
		}
		w.destroy(d.Instance)
		return nil
	})
	if err != nil {
		return store.Destroyed{}, err
	}
	return d, nil
}

// destroy gathers the end of a locked instance.
func (w *work) destroy(instance string) {
	w.exec(tombstone, instance)
	w.exec(readyDelete, []string{instance})
	w.exec(claimedDelete, []string{instance})
	for _, st := range destroyLeftovers {
		w.exec(st, instance)
	}
	w.exec(destroy, instance)
}

// Sweep deletes up to limit rows of the history of destroyed instances.
func (s *Store) Sweep(ctx context.Context, limit int) (swept int, err error) {
	for more := true; more && swept == 0; {
		err = s.transact(ctx, "sweep", indexPatience, func(w *work) error {
			swept = 0
			var graves []string
			w.query(sweepGraves, func(rows pgx.Rows) error {
				var id string
				err := rows.Scan(&id)
				graves = append(graves, id)
				return err
			}, max(limit, 1))
			err := w.sync()
			if more = len(graves) == max(limit, 1); err != nil || len(graves) == 0 {
				return err
			}
			w.wrote = true
			w.counted(sweepHistory, &swept, graves, limit)
			w.exec(sweepDone, graves)
			return w.sync()
		})
		if err != nil {
			return 0, err
		}
	}
	return swept, nil
}

func scanDeadLetter(rows pgx.Rows) (d store.DeadLetter, err error) {
	err = scanMessage(rows, &d.Message, &d.ErrorText, &d.Replacement)
	d.ID, d.ErrorKind, d.FailedAt = d.Message.ID, d.Message.ErrorKind, d.Message.FinishedAt
	return d, err
}

// DeadLetters reads the newest given-up messages.
func (s *Store) DeadLetters(ctx context.Context, limit int) (list []store.DeadLetter, err error) {
	err = s.read(ctx, "list dead letters", func(p *pipe) {
		p.query(deadLettersRead, func(rows pgx.Rows) error {
			d, err := scanDeadLetter(rows)
			list = append(list, d)
			return err
		}, limit)
	})
	return list, err
}

// Retry makes a dead letter a new message at its mailbox's tail, once. The new one has no idempotency key: the old one
// keeps it.
func (s *Store) Retry(ctx context.Context, id, newID string, mailboxCap int) (m store.Message, o store.Outcome, err error) {
	err = s.transact(ctx, "retry dead letter "+id, indexPatience, func(w *work) error {
		m, o, err = w.retry(id, newID, mailboxCap)
		return err
	})
	if err != nil {
		return store.Message{}, "", err
	}
	return m, o, nil
}

func (w *work) retry(id, newID string, mailboxCap int) (store.Message, store.Outcome, error) {
	var d store.DeadLetter
	read := func(rows pgx.Rows) (err error) {
		d, err = scanDeadLetter(rows)
		return err
	}
	w.query(deadLetterRead, read, id)
	if err := w.sync(); err != nil || d.ID == "" {
		return store.Message{}, store.Missing, err
	}
	w.lock(lockWait, []string{d.Message.Instance}, nil)
	w.query(deadLetterRead, read, id) // again, under the lock of its mailbox
	if err := w.sync(); err != nil {
		return store.Message{}, "", err
	}
	b := w.boxes[d.Message.Instance]
	if d.Replacement != "" {
		m := store.Message{ID: d.Replacement, Type: d.Message.Type, ActorID: d.Message.ActorID, Instance: d.Message.Instance}
		w.query(loadIDs, func(rows pgx.Rows) error { return scanMessage(rows, &m) }, []string{d.Replacement})
		err := w.sync()
		w.count(&m)
		return m, store.Duplicate, err
	}
	if b == nil {
		return store.Message{}, store.Missing, nil
	}
	e := store.Enqueue{Cap: mailboxCap, Message: store.Message{
		ID: newID, Type: d.Message.Type, ActorID: d.Message.ActorID, Operation: d.Message.Operation,
		Arguments: d.Message.Arguments, Origin: store.FromOperator, MaxAttempts: d.Message.MaxAttempts, Meta: d.Message.Meta,
	}}
	w.known([]*store.Enqueue{&e})
	if err := w.sync(); err != nil {
		return store.Message{}, "", err
	}
	if _, err := w.deliver(&e, b, w.now); err != nil || e.Outcome != store.Done {
		return e.Message, e.Outcome, err
	}
	w.exec(deadReplace, id, newID)
	return e.Message, store.Done, nil
}
