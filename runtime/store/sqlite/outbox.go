package sqlite

import (
	"context"
	"fmt"
	"time"

	"github.com/lockstep-go/lockstep/runtime/store"
)

var (
	sendsWaiting = declare("sends_waiting")
	sendsDue     = declare("sends_due")
	sendsBefore  = declare("sends_before")
	sendDelay    = declare("send_delay")
	sendDelete   = declare("send_delete")
	deadSend     = declare("dead_send")

	remindersWaiting = declare("reminders_waiting")
	remindersDue     = declare("reminders_due")
	reminderAdvance  = declare("reminder_advance")
	reminderDelete   = declare("reminder_delete")

	broadcastsWaiting = declare("broadcasts_waiting")
	broadcastsLapsed  = declare("broadcasts_lapsed")
	broadcastTake     = declare("broadcast_take")
)

// staged is a row of the outbox between actors.
type staged struct {
	position  int64
	source    string
	available int64
	message   store.Message // with the target's type and id
}

// Deliver moves staged sends into their mailboxes.
func (s *Store) Deliver(ctx context.Context, limit, mailboxCap int, backoff time.Duration) (moved []store.Message, err error) {
	if found, err := s.waiting(ctx, sendsWaiting, s.now()); err != nil || !found {
		return nil, err
	}
	err = s.write(ctx, "deliver sends", func(w *work) error {
		moved = nil
		var due []staged
		err := w.all(sendsDue, func(r row) error {
			due = append(due, staged{r.int(0), r.text(2), r.int(10), store.Message{
				ID: r.text(1), Type: r.text(3), ActorID: r.text(4), Operation: r.text(5), Arguments: r.doc(6),
				Origin: store.FromActor, IdempotencyKey: r.text(7), Fingerprint: r.text(8), MaxAttempts: int(r.int(9)), Meta: r.doc(11),
			}})
			return nil
		}, w.now, limit)
		if err != nil {
			return err
		}
		for i := range due {
			done, err := w.send(&due[i], mailboxCap, backoff)
			if err != nil {
				return fmt.Errorf("send %s: %w", due[i].message.ID, err)
			}
			if done {
				moved = append(moved, due[i].message)
			}
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return moved, nil
}

// send moves one message and says whether it entered the mailbox now.
func (w *work) send(x *staged, mailboxCap int, backoff time.Duration) (bool, error) {
	r, ok, err := w.first(sendsBefore, x.source, x.message.Type, x.message.ActorID, x.position)
	if err != nil {
		return false, err
	}
	if ok { // it comes after that one, whenever that is
		_, err := w.exec(sendDelay, r.int(0), x.position)
		return false, err
	}
	box, err := w.find(x.message.Type, x.message.ActorID)
	if err != nil {
		return false, err
	}
	e := store.Enqueue{Message: x.message, Cap: mailboxCap}
	if err := w.deliver(&e, box, max(x.available, w.now)); err != nil {
		return false, err
	}
	switch e.Outcome {
	case store.Full:
		_, err := w.exec(sendDelay, w.now+max(backoff, time.Millisecond).Microseconds(), x.position)
		return false, err
	case store.Conflict:
		m := &x.message
		text := "the idempotency key was used with another " + e.Differs + " by message " + e.Message.ID
		if _, err := w.exec(deadSend, m.ID, box.id, m.Type, m.ActorID, m.Operation, m.Arguments, optional(m.IdempotencyKey),
			optional(m.Fingerprint), m.MaxAttempts, w.now, x.available, w.now, "idempotency conflict", text, m.Meta); err != nil {
			return false, err
		}
	}
	_, err = w.exec(sendDelete, x.position)
	x.message = e.Message
	return e.Outcome == store.Done, err
}

// occurrence is a reminder that is due.
type occurrence struct {
	id, instance string
	interval     int64
	policy       string
	next         int64
	message      store.Message
}

// FireReminders enqueues due occurrences, each with its reminder's advance. Each round takes one occurrence of each
// reminder, so one that has thousands to catch up with holds nobody back.
func (s *Store) FireReminders(ctx context.Context, limit, mailboxCap, maxAttempts int, backoff time.Duration) (fired []store.Message, err error) {
	if found, err := s.waiting(ctx, remindersWaiting, s.now()); err != nil || !found {
		return nil, err
	}
	err = s.write(ctx, "fire reminders", func(w *work) error {
		fired = nil
		for len(fired) < limit {
			due, err := w.occurrences(limit-len(fired), maxAttempts)
			if err != nil || len(due) == 0 {
				return err
			}
			for i := range due {
				done, err := w.fire(&due[i], mailboxCap, backoff)
				if err != nil {
					return fmt.Errorf("reminder %s: %w", due[i].id, err)
				}
				if done {
					fired = append(fired, due[i].message)
				}
			}
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return fired, nil
}

func (w *work) occurrences(limit, maxAttempts int) (due []occurrence, err error) {
	err = w.all(remindersDue, func(r row) error {
		due = append(due, occurrence{r.text(0), r.text(1), r.int(4), r.text(5), r.int(6), store.Message{
			Operation: r.text(2), Arguments: r.doc(3), Origin: store.FromReminder, MaxAttempts: maxAttempts,
		}})
		return nil
	}, w.now, limit)
	return due, err
}

// fire enqueues one occurrence and moves the reminder on its grid, or tries again later where the mailbox is full.
func (w *work) fire(o *occurrence, mailboxCap int, backoff time.Duration) (bool, error) {
	r, ok, err := w.first(enqueueFindID, o.instance)
	if err != nil {
		return false, err
	}
	if !ok { // destroying takes reminders along, so this row has no business here
		_, err := w.exec(reminderDelete, o.id)
		return false, err
	}
	o.message.Type, o.message.ActorID = r.text(7), r.text(8)
	box := w.box(r)
	if o.message.ID, err = newID(); err != nil {
		return false, err
	}
	e := store.Enqueue{Message: o.message, Cap: mailboxCap}
	if err := w.deliver(&e, box, w.now); err != nil {
		return false, err
	}
	if e.Outcome == store.Full {
		_, err := w.exec(reminderAdvance, o.next, w.now+max(backoff, time.Millisecond).Microseconds(), o.id)
		return false, err
	}
	o.message = e.Message
	if o.interval == 0 {
		_, err := w.exec(reminderDelete, o.id)
		return true, err
	}
	next := o.next + o.interval
	if o.policy == "latest" && next <= w.now {
		next += (w.now - next) / o.interval * o.interval
		if next <= w.now {
			next += o.interval
		}
	}
	_, err = w.exec(reminderAdvance, next, next, o.id)
	return true, err
}

// TakeBroadcasts takes over rows whose process did not hand them on within age.
func (s *Store) TakeBroadcasts(ctx context.Context, owner string, age time.Duration, limit int) (taken []store.Broadcast, err error) {
	if found, err := s.waiting(ctx, broadcastsWaiting, s.now()-age.Microseconds()); err != nil || !found {
		return nil, err
	}
	err = s.write(ctx, "take over broadcasts", func(w *work) error {
		taken = nil
		err := w.all(broadcastsLapsed, func(r row) error {
			b := store.Broadcast{
				Instance: r.text(0), ID: r.text(1), Actor: store.Key{Type: r.text(2), ID: r.text(3)},
				Revision: r.int(4), Previous: r.int(5), Message: r.text(6),
			}
			store.DecodeBroadcast(r.text(7), r.text(8), &b)
			taken = append(taken, b)
			return nil
		}, w.now-age.Microseconds(), limit)
		if err != nil {
			return err
		}
		for i := range taken {
			if _, err := w.exec(broadcastTake, owner, w.now, taken[i].ID); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return taken, nil
}
