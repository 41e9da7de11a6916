package mysql

import (
	"context"
	"fmt"
	"time"

	"github.com/lockstep-go/lockstep/actors"
	"github.com/lockstep-go/lockstep/runtime/store"
)

var (
	remindersDue    = declare("reminders_due")
	remindersLock   = declare("reminders_lock")
	reminderAdvance = declare("reminder_advance")
	alarmsRead      = declare("alarms")
)

// occurrence is a reminder that is due, and how far it has come.
type occurrence struct {
	name      reminderName
	period    int64
	policy    string
	next, due int64
	message   store.Message
	moved     bool
}

// FireReminders enqueues due occurrences, each with its reminder's advance. Each round takes one occurrence of each
// reminder, so one that has thousands to catch up with holds nobody back. An actor that another session holds is left
// for the next time.
func (s *Store) FireReminders(ctx context.Context, limit, mailboxCap, maxAttempts int, backoff time.Duration) (fired []store.Message, err error) {
	err = patiently(ctx, 5*patience, func() (again bool, err error) {
		due, err := s.dueReminders(ctx, limit)
		if err != nil || len(due) == 0 {
			return false, err
		}
		err = s.write(ctx, "fire reminders", func(w *work) error {
			found, err := w.lockReminders(due, maxAttempts)
			if err != nil {
				return err
			}
			if fired, err = w.fireAll(found, limit, mailboxCap, backoff); err != nil {
				return err
			}
			return w.advance(found)
		})
		return len(fired) == 0, err
	})
	if err != nil {
		return nil, err
	}
	return fired, nil
}

func (s *Store) dueReminders(ctx context.Context, limit int) ([]reminderName, error) {
	return read(ctx, s, "look for reminders", func(q *session) (due []reminderName, err error) {
		err = q.all(remindersDue, func(r row) error {
			due = append(due, reminderName{r.text(0), r.text(1), r.text(2)})
			return nil
		}, s.offset.Load(), limit)
		return due, err
	})
}

// fireAll goes round the reminders until none is due.
func (w *work) fireAll(found []*occurrence, limit, mailboxCap int, backoff time.Duration) (fired []store.Message, err error) {
	for more := true; more && len(fired) < limit; {
		more = false
		for _, o := range found {
			if len(fired) == limit {
				break
			}
			m, err := w.fire(o, mailboxCap, backoff)
			if err != nil {
				return nil, fmt.Errorf("reminder %s: %w", o.name.operation, err)
			}
			if m != nil {
				fired, more = append(fired, *m), true
			}
		}
	}
	return fired, nil
}

// lockReminders takes the instances and then those of their reminders that are still there, in the order of due.
func (w *work) lockReminders(due []reminderName, maxAttempts int) (found []*occurrence, err error) {
	ids := make([]string, len(due))
	for n, name := range due {
		ids[n] = name.instance
	}
	if err := w.lock(ids); err != nil {
		return nil, err
	}
	var args []any
	for _, name := range due {
		if !w.elsewhere[name.instance] {
			args = append(args, name.instance, name.operation, name.key)
		}
	}
	by := map[reminderName]*occurrence{}
	err = w.each(remindersLock, 3, args, func(r row) error {
		name := reminderName{r.text(0), r.text(1), r.text(2)}
		by[name] = &occurrence{name: name, period: r.int(4), policy: r.text(5), next: r.int(6), due: r.int(7), message: store.Message{
			Operation: name.operation, Arguments: r.doc(3), Origin: store.FromReminder, MaxAttempts: maxAttempts,
		}}
		return nil
	})
	if err != nil {
		return nil, err
	}
	for _, name := range due {
		if o := by[name]; o != nil {
			found = append(found, o)
		}
	}
	return found, w.tick(nil)
}

// fire enqueues one occurrence and moves the reminder on its grid, or to a later try where the mailbox is full. It
// returns nothing where nothing is due.
func (w *work) fire(o *occurrence, mailboxCap int, backoff time.Duration) (*store.Message, error) {
	if o.due > w.now {
		return nil, nil
	}
	o.moved = true
	i := w.instances[o.name.instance]
	if i == nil { // destroying takes reminders along, so this row has no business here
		o.due = never
		w.reminders[o.name] = nil
		return nil, nil
	}
	id, err := newID()
	if err != nil {
		return nil, err
	}
	e := store.Enqueue{Message: o.message, Cap: mailboxCap}
	e.Message.ID, e.Message.Type, e.Message.ActorID = id, i.Type, i.ID
	if err := w.deliver(&e, i, w.now); err != nil {
		return nil, err
	}
	switch {
	case e.Outcome == store.Full:
		o.due = w.now + max(backoff, time.Millisecond).Microseconds()
		return nil, nil
	case o.period == 0:
		o.due = never
		w.reminders[o.name] = nil
	default:
		next := o.next + o.period
		if o.policy == "latest" && next <= w.now {
			next += (w.now - next) / o.period * o.period
			if next <= w.now {
				next += o.period
			}
		}
		o.next, o.due = next, next
	}
	return &e.Message, nil
}

// advance writes how far the reminders have come, with their occurrences.
func (w *work) advance(found []*occurrence) error {
	var moved []any
	for _, o := range found {
		if _, gone := w.reminders[o.name]; !gone && o.moved {
			moved = append(moved, o.next, o.due, o.name.instance, o.name.operation, o.name.key)
		}
	}
	if _, err := w.many(reminderAdvance, 5, moved); err != nil {
		return err
	}
	return w.save()
}

// Alarms reads an instance's reminders.
func (s *Store) Alarms(ctx context.Context, instance string) ([]actors.Alarm, error) {
	return read(ctx, s, "read the schedule of instance "+instance, func(q *session) (alarms []actors.Alarm, err error) {
		err = q.all(alarmsRead, func(r row) error {
			alarms = append(alarms, actors.Alarm{
				Operation: r.text(0), Key: r.text(1), Next: r.time(2),
				Interval: time.Duration(r.int(3)) * time.Microsecond, CatchUp: actors.CatchUpPolicy(r.text(4)),
			})
			return nil
		}, instance)
		return alarms, err
	})
}
