package sqlite

import (
	"context"

	"github.com/lockstep-go/lockstep/runtime/store"
)

var (
	pauseActor       = declare("pause")
	resumeActor      = declare("resume")
	readyPause       = declare("ready_pause")
	readyResume      = declare("ready_resume")
	destroy          = declare("destroy")
	tombstone        = declare("tombstone")
	tombstones       = declare("tombstones")
	tombstoneMove    = declare("tombstone_move")
	tombstoneDelete  = declare("tombstone_delete")
	sweepRead        = declare("sweep_read")
	sweep            = declare("sweep")
	deadLettersRead  = declare("dead_letters")
	deadLetterRead   = declare("dead_letter")
	deadReplace      = declare("dead_replace")
	destroyLeftovers = []statement{
		readyDelete, claimedDelete, declare("destroy_reminders"), declare("destroy_effects"), declare("destroy_sends"),
		declare("destroy_broadcasts"), declare("destroy_dead_letters"),
	}
)

// Pause stops claims of an actor, or lets them go on.
func (s *Store) Pause(ctx context.Context, k store.Key, paused bool) (o store.Outcome, err error) {
	err = s.write(ctx, "pause an actor", func(w *work) error {
		o = store.Missing
		var r row
		var ok bool
		var err error
		ready := readyResume
		if paused {
			r, ok, err = w.first(pauseActor, w.now, k.Type, k.ID)
			ready = readyPause
		} else {
			r, ok, err = w.first(resumeActor, k.Type, k.ID)
		}
		if err != nil || !ok {
			return err
		}
		o = store.Done
		_, err = w.exec(ready, r.text(0))
		return err
	})
	return o, err
}

// Destroy removes the instance and all that can act or be addressed.
func (s *Store) Destroy(ctx context.Context, k store.Key) (d store.Destroyed, err error) {
	err = s.write(ctx, "destroy an actor", func(w *work) error {
		d, err = w.destroy(k)
		return err
	})
	if err != nil {
		return store.Destroyed{}, err
	}
	return d, nil
}

func (w *work) destroy(k store.Key) (store.Destroyed, error) {
	if _, err := w.exec(tombstone, k.Type, k.ID); err != nil {
		return store.Destroyed{}, err
	}
	r, ok, err := w.first(destroy, k.Type, k.ID)
	if err != nil || !ok {
		return store.Destroyed{}, err
	}
	d := store.Destroyed{Existed: true, Instance: r.text(0)}
	for _, st := range destroyLeftovers {
		if _, err := w.exec(st, d.Instance); err != nil {
			return d, err
		}
	}
	return d, nil
}

// Sweep deletes up to limit rows of the history of destroyed instances.
func (s *Store) Sweep(ctx context.Context, limit int) (swept int, err error) {
	err = s.write(ctx, "sweep", func(w *work) error {
		swept = 0
		var graves []candidate
		err := w.all(tombstones, func(r row) error {
			graves = append(graves, candidate{r.text(0), r.text(1)})
			return nil
		}, max(limit, 1))
		for _, grave := range graves {
			if err != nil || swept >= limit {
				break
			}
			var n int
			n, err = w.sweep(grave, limit-swept)
			swept += n
		}
		return err
	})
	return swept, err
}

// sweep deletes history backwards from a tombstone, and moves the tombstone to where it stopped.
func (w *work) sweep(grave candidate, limit int) (swept int, err error) {
	at := grave.message
	for at != "" && swept < limit {
		r, ok, err := w.first(sweepRead, at, grave.instance)
		if err != nil {
			return swept, err
		}
		if !ok { // retention was here before
			at = ""
			break
		}
		sequence, previous := r.int(0), r.text(1)
		if _, err := w.exec(sweep, at); err != nil {
			return swept, err
		}
		if _, err := w.exec(queuedDelete, grave.instance, sequence); err != nil {
			return swept, err
		}
		swept++
		at = previous
	}
	if _, err := w.exec(tombstoneDelete, grave.instance, grave.message); err != nil || at == "" {
		return swept, err
	}
	_, err = w.exec(tombstoneMove, grave.instance, at)
	return swept, err
}

func readDeadLetter(r row) store.DeadLetter {
	d := store.DeadLetter{
		ID: r.text(0), ErrorKind: r.text(16), FailedAt: r.time(12),
		ErrorText: r.text(messageColumns), Replacement: r.text(messageColumns + 1),
	}
	readMessage(r, &d.Message)
	return d
}

// DeadLetters reads the newest given-up messages.
func (s *Store) DeadLetters(ctx context.Context, limit int) (list []store.DeadLetter, err error) {
	err = s.read(ctx, "list dead letters", func(q session) error {
		return q.all(deadLettersRead, func(r row) error {
			list = append(list, readDeadLetter(r))
			return nil
		}, limit)
	})
	return list, err
}

// Retry makes a dead letter a new message at its mailbox's tail, once. The new one has no idempotency key: the old one
// keeps it.
func (s *Store) Retry(ctx context.Context, id, newID string, mailboxCap int) (m store.Message, o store.Outcome, err error) {
	err = s.write(ctx, "retry dead letter "+id, func(w *work) error {
		m, o, err = w.retry(id, newID, mailboxCap)
		return err
	})
	if err != nil {
		return store.Message{}, "", err
	}
	return m, o, nil
}

func (w *work) retry(id, newID string, mailboxCap int) (store.Message, store.Outcome, error) {
	r, ok, err := w.first(deadLetterRead, id)
	if err != nil || !ok {
		return store.Message{}, store.Missing, err
	}
	d := readDeadLetter(r)
	if d.Replacement != "" {
		m := store.Message{ID: d.Replacement, Type: d.Message.Type, ActorID: d.Message.ActorID, Instance: d.Message.Instance}
		r, ok, err := w.first(messageByID, d.Replacement)
		if ok {
			readMessage(r, &m)
		}
		return m, store.Duplicate, err
	}
	r, ok, err = w.first(enqueueFindID, d.Message.Instance)
	if err != nil || !ok {
		return store.Message{}, store.Missing, err
	}
	e := store.Enqueue{Cap: mailboxCap, Message: store.Message{
		ID: newID, Type: d.Message.Type, ActorID: d.Message.ActorID, Operation: d.Message.Operation,
		Arguments: d.Message.Arguments, Origin: store.FromOperator, MaxAttempts: d.Message.MaxAttempts, Meta: d.Message.Meta,
	}}
	if err := w.deliver(&e, w.box(r), w.now); err != nil || e.Outcome != store.Done {
		return e.Message, e.Outcome, err
	}
	_, err = w.exec(deadReplace, newID, id)
	return e.Message, store.Done, err
}
