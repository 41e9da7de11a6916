package mysql

import (
	"context"

	"github.com/lockstep-go/lockstep/runtime/store"
)

var (
	destroy           = declare("destroy")
	tombstone         = declare("tombstone")
	tombstones        = declare("tombstones")
	tombstonesWaiting = declare("tombstones_waiting")
	tombstoneMove     = declare("tombstone_move")
	tombstoneDelete   = declare("tombstone_delete")
	sweepRead         = declare("sweep_read")
	historyDelete     = declare("history_delete")
	deadLettersRead   = declare("dead_letters")
	deadLetterRead    = declare("dead_letter")
	deadReplace       = declare("dead_replace")
	destroyLeftovers  = []statement{
		declare("destroy_ready"), declare("destroy_reminders"), declare("destroy_effects"), declare("destroy_sends"),
		declare("destroy_broadcasts"), declare("destroy_dead_letters"),
	}
)

// held waits for the lock of an actor's instance, or returns nil where there is none.
func (w *work) held(k store.Key) (*instance, error) {
	found, err := w.find([]store.Key{k})
	if err != nil {
		return nil, err
	}
	if id := found[k]; id != "" {
		if err := w.lockWaiting([]string{id}); err != nil {
			return nil, err
		}
	}
	return w.addresses[k], w.tick(nil)
}

// Pause stops claims of an actor, or lets them go on.
func (s *Store) Pause(ctx context.Context, k store.Key, paused bool) (o store.Outcome, err error) {
	err = s.write(ctx, "pause an actor", func(w *work) error {
		o = store.Missing
		i, err := w.held(k)
		if err != nil || i == nil {
			return err
		}
		o = store.Done
		if paused == (i.paused != 0) {
			return nil
		}
		i.paused = 0
		if paused {
			i.paused = w.now
		}
		w.keep(i)
		if i.head < i.next && i.claimed == "" {
			if err := w.waitAgain(i, paused); err != nil {
				return err
			}
		}
		return w.save()
	})
	return o, err
}

var (
	readyMessage = declare("ready_message")
	readyTime    = declare("ready_time")
)

// waitAgain moves a waiting head out of everybody's sight, or back to when it is due.
func (w *work) waitAgain(i *instance, paused bool) error {
	r, ok, err := w.first(readyMessage, i.id)
	if err != nil || !ok {
		return err
	}
	at := int64(never)
	if !paused {
		m, err := w.need(r.text(0))
		if err != nil {
			return err
		}
		at = micros(m.AvailableAt)
	}
	_, err = w.exec(readyTime, at, i.id)
	return err
}

// Destroy removes the instance and all that can act or be addressed. It waits for whoever is writing it.
func (s *Store) Destroy(ctx context.Context, k store.Key) (d store.Destroyed, err error) {
	err = s.write(ctx, "destroy an actor", func(w *work) error {
		d = store.Destroyed{}
		i, err := w.held(k)
		if err != nil || i == nil {
			return err
		}
		d = store.Destroyed{Existed: true, Instance: i.id}
		return w.destroy(i.id)
	})
	if err != nil {
		return store.Destroyed{}, err
	}
	return d, nil
}

// destroy ends a locked instance.
func (w *work) destroy(instance string) error {
	if _, err := w.exec(tombstone, instance, instance); err != nil {
		return err
	}
	for _, st := range append([]statement{destroy}, destroyLeftovers...) {
		if _, err := w.exec(st, instance); err != nil {
			return err
		}
	}
	return nil
}

// grave is a tombstone: where the history of a destroyed instance is to be swept from.
type grave struct{ instance, message string }

// Sweep deletes up to limit rows of the history of destroyed instances.
func (s *Store) Sweep(ctx context.Context, limit int) (swept int, err error) {
	if found, err := s.waiting(ctx, tombstonesWaiting, 0, nil); err != nil || !found {
		return 0, err
	}
	err = s.write(ctx, "sweep", func(w *work) error {
		swept = 0
		var graves []grave
		err := w.all(tombstones, func(r row) error {
			graves = append(graves, grave{r.text(0), r.text(1)})
			return nil
		}, max(min(limit, maxRows), 1))
		for _, g := range graves {
			if err != nil || swept >= limit {
				break
			}
			var n int
			n, err = w.sweep(g, min(limit-swept, 500))
			swept += n
		}
		return err
	})
	if err != nil {
		return 0, err
	}
	return swept, nil
}

// sweep deletes history backwards from a tombstone, and moves the tombstone to where it stopped.
func (w *work) sweep(g grave, limit int) (swept int, err error) {
	var ids, places []any
	next := ""
	if g.message != "" {
		err = w.all(sweepRead, func(r row) error {
			ids, places, next = append(ids, r.text(0)), append(places, g.instance, r.int(1)), r.text(2)
			return nil
		}, g.message, g.instance, g.instance, limit)
	}
	if err == nil {
		_, err = w.many(historyDelete, 1, ids)
	}
	if err == nil {
		_, err = w.many(queuedDelete, 2, places)
	}
	if err == nil {
		_, err = w.exec(tombstoneDelete, g.instance, g.message)
	}
	if err == nil && len(ids) == limit && next != "" { // otherwise it is the end, or retention was there before
		_, err = w.exec(tombstoneMove, g.instance, next)
	}
	return len(ids), err
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
func (s *Store) DeadLetters(ctx context.Context, limit int) ([]store.DeadLetter, error) {
	return read(ctx, s, "list dead letters", func(q *session) (letters []store.DeadLetter, err error) {
		err = q.all(deadLettersRead, func(r row) error {
			letters = append(letters, readDeadLetter(r))
			return nil
		}, limit)
		return letters, err
	})
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
	instance := r.text(1)
	if err := w.lockWaiting([]string{instance}); err != nil {
		return store.Message{}, "", err
	}
	if r, ok, err = w.first(deadLetterRead, id); err != nil || !ok { // as it is now, under the instance's lock
		return store.Message{}, store.Missing, err
	}
	d := readDeadLetter(r)
	if d.Replacement != "" {
		if err := w.load([]string{d.Replacement}); err != nil {
			return store.Message{}, "", err
		}
		if m := w.messages[d.Replacement]; m != nil {
			return m.Message, store.Duplicate, nil
		}
		return store.Message{ID: d.Replacement, Type: d.Message.Type, ActorID: d.Message.ActorID, Instance: instance}, store.Duplicate, nil
	}
	i := w.instances[instance]
	if i == nil {
		return store.Message{}, store.Missing, nil
	}
	if err := w.tick([]string{newID}); err != nil {
		return store.Message{}, "", err
	}
	e := store.Enqueue{Cap: mailboxCap, Message: store.Message{
		ID: newID, Type: d.Message.Type, ActorID: d.Message.ActorID, Operation: d.Message.Operation,
		Arguments: d.Message.Arguments, Origin: store.FromOperator, MaxAttempts: d.Message.MaxAttempts, Meta: d.Message.Meta,
	}}
	if err := w.deliver(&e, i, w.now); err != nil || e.Outcome != store.Done {
		return e.Message, e.Outcome, err
	}
	if _, err := w.exec(deadReplace, newID, id); err != nil {
		return store.Message{}, "", err
	}
	return e.Message, store.Done, w.save()
}
