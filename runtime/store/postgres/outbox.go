package postgres

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/lockstep-go/lockstep/runtime/store"
)

var (
	sendsDue        = declare("sends_due")
	sendsBefore     = declare("sends_before")
	sendDelay       = declare("send_delay")
	sendDelete      = declare("send_delete")
	deadSend        = declare("dead_send")
	remindersDue    = declare("reminders_due")
	reminderAdvance = declare("reminder_advance")
	reminderDelete  = declare("reminder_delete")
	broadcastsTake  = declare("broadcasts_take")
)

// busyRetry is when an outbox tries a mailbox again that somebody else was at work with.
const busyRetry = 20 * time.Millisecond

// staged is a row of the outbox between actors.
type staged struct {
	position  int64
	pair      pair
	available int64
	message   store.Message // with the target's type and id
}

// pair is a source and its target, between which order is kept.
type pair struct {
	source string
	target store.Key
}

// first is the earliest send of a pair, and when it is due.
type first struct{ position, due int64 }

// deliveries are what becomes of staged sends.
type deliveries struct {
	gone      []int64
	delayed   []int64
	until     []int64
	delivered map[int64]bool
	first     map[pair]first
	held      map[pair]int64 // pairs of which one had to wait in this pass, until when
}

// Deliver moves staged sends into their mailboxes.
func (s *Store) Deliver(ctx context.Context, limit, mailboxCap int, backoff time.Duration) (moved []store.Message, err error) {
	err = s.transact(ctx, "deliver sends", indexPatience, func(w *work) error {
		moved, err = w.deliverDue(limit, mailboxCap, max(backoff, time.Millisecond))
		return err
	})
	if err != nil {
		return nil, err
	}
	return moved, nil
}

func (w *work) deliverDue(limit, mailboxCap int, backoff time.Duration) (moved []store.Message, err error) {
	var due []staged
	w.query(sendsDue, func(rows pgx.Rows) error {
		x := staged{message: store.Message{Origin: store.FromActor}}
		m := &x.message
		err := rows.Scan(&x.position, &m.ID, &x.pair.source, &m.Type, &m.ActorID, &m.Operation, (*[]byte)(&m.Arguments), &m.IdempotencyKey,
			&m.Fingerprint, &m.MaxAttempts, &x.available, (*[]byte)(&m.Meta))
		x.pair.target = store.Key{Type: m.Type, ID: m.ActorID}
		due = append(due, x)
		return err
	}, w.store.offset.Load(), limit)
	if err := w.sync(); err != nil || len(due) == 0 {
		return nil, err
	}
	d := &deliveries{delivered: map[int64]bool{}, first: map[pair]first{}, held: map[pair]int64{}}
	w.targets(due, d)
	if err := w.sync(); err != nil {
		return nil, err
	}
	for i := range due {
		m, err := w.send(&due[i], d, mailboxCap, backoff)
		if err != nil {
			return nil, fmt.Errorf("send %s: %w", due[i].message.ID, err)
		}
		if m != nil {
			moved = append(moved, *m)
		}
	}
	if len(d.gone) > 0 {
		w.exec(sendDelete, d.gone)
	}
	if len(d.delayed) > 0 {
		w.exec(sendDelay, d.delayed, d.until)
	}
	return moved, nil
}

// targets gathers the reading of what the sends are about.
func (w *work) targets(due []staged, d *deliveries) {
	var keys []store.Key
	var es []*store.Enqueue
	var position []int64
	var source, typ, actor []string
	byPosition := map[int64]pair{}
	for i := range due {
		x := &due[i]
		keys = append(keys, x.pair.target)
		es = append(es, &store.Enqueue{Message: x.message})
		byPosition[x.position] = x.pair
		position, source = append(position, x.position), append(source, x.pair.source)
		typ, actor = append(typ, x.pair.target.Type), append(actor, x.pair.target.ID)
	}
	w.lock(lockSkip, nil, keys)
	w.known(es)
	w.query(sendsBefore, func(rows pgx.Rows) error {
		var at int64
		var f first
		err := rows.Scan(&at, &f.position, &f.due)
		d.first[byPosition[at]] = f
		return err
	}, position, source, typ, actor)
}

// send moves one message and returns it if it entered the mailbox now.
func (w *work) send(x *staged, d *deliveries, mailboxCap int, backoff time.Duration) (*store.Message, error) {
	delay := func(until int64) {
		d.delayed, d.until = append(d.delayed, x.position), append(d.until, until)
		d.held[x.pair] = until
	}
	if until, ok := d.held[x.pair]; ok {
		delay(until)
		return nil, nil
	}
	if f := d.first[x.pair]; f.position < x.position && !d.delivered[f.position] {
		delay(f.due) // it comes after that one, whenever that is
		return nil, nil
	}
	b, busy, err := w.find(x.pair.target)
	if err != nil {
		return nil, err
	}
	if busy {
		delay(w.now + busyRetry.Microseconds())
		return nil, nil
	}
	e := store.Enqueue{Message: x.message, Cap: mailboxCap}
	if _, err := w.deliver(&e, b, max(x.available, w.now)); err != nil {
		return nil, err
	}
	switch e.Outcome {
	case store.Full:
		delay(w.now + backoff.Microseconds())
		return nil, nil
	case store.Conflict:
		m := &x.message
		text := "the idempotency key was used with another " + e.Differs + " by message " + e.Message.ID
		w.exec(deadSend, m.ID, b.id, m.Type, m.ActorID, m.Operation, doc(m.Arguments), optional(m.IdempotencyKey),
			optional(m.Fingerprint), m.MaxAttempts, w.now, x.available, text, doc(m.Meta))
	}
	d.gone, d.delivered[x.position] = append(d.gone, x.position), true
	if e.Outcome != store.Done {
		return nil, nil
	}
	return &e.Message, nil
}

// occurrence is a reminder that is due.
type occurrence struct {
	id, instance string
	operation    string
	arguments    []byte
	interval     int64
	policy       string
	next, due    int64
	done         bool // it has no further occurrence
	changed      bool
}

// FireReminders enqueues due occurrences, each with its reminder's advance. Each round takes one occurrence of each
// reminder, so one that has thousands to catch up with holds nobody back.
func (s *Store) FireReminders(ctx context.Context, limit, mailboxCap, maxAttempts int, backoff time.Duration) (fired []store.Message, err error) {
	err = s.transact(ctx, "fire reminders", indexPatience, func(w *work) error {
		fired, err = w.fireDue(limit, mailboxCap, maxAttempts, max(backoff, time.Millisecond))
		return err
	})
	if err != nil {
		return nil, err
	}
	return fired, nil
}

func (w *work) fireDue(limit, mailboxCap, maxAttempts int, backoff time.Duration) (fired []store.Message, err error) {
	var due []*occurrence
	var instances []string
	w.query(remindersDue, func(rows pgx.Rows) error {
		o := &occurrence{}
		err := rows.Scan(&o.id, &o.instance, &o.operation, &o.arguments, &o.interval, &o.policy, &o.next)
		due, instances = append(due, o), append(instances, o.instance)
		return err
	}, w.store.offset.Load(), limit)
	if err := w.sync(); err != nil || len(due) == 0 {
		return nil, err
	}
	w.lock(lockSkip, instances, nil)
	if err := w.sync(); err != nil {
		return nil, err
	}
	for again := true; again && len(fired) < limit; {
		again = false
		for _, o := range due {
			if o.done || o.due > w.now || len(fired) >= limit {
				continue
			}
			m, err := w.fire(o, mailboxCap, maxAttempts, backoff)
			if err != nil {
				return nil, fmt.Errorf("reminder %s: %w", o.id, err)
			}
			if m != nil {
				fired, again = append(fired, *m), true
			}
		}
	}
	var gone, moved []string
	var next, at []int64
	for _, o := range due {
		switch {
		case o.done:
			gone = append(gone, o.id)
		case o.changed:
			moved, next, at = append(moved, o.id), append(next, o.next), append(at, o.due)
		}
	}
	if len(gone) > 0 {
		w.exec(reminderDelete, gone)
	}
	if len(moved) > 0 {
		w.exec(reminderAdvance, moved, next, at)
	}
	return fired, nil
}

// fire enqueues one occurrence and moves the reminder on its grid, or tries again later where the mailbox is full.
func (w *work) fire(o *occurrence, mailboxCap, maxAttempts int, backoff time.Duration) (*store.Message, error) {
	o.changed = true
	b := w.boxes[o.instance]
	switch {
	case b == nil && w.busy[o.instance]:
		o.due = w.now + busyRetry.Microseconds()
		return nil, nil
	case b == nil: // destroying takes reminders along, so this row has no business here
		o.done = true
		return nil, nil
	}
	id, err := newID()
	if err != nil {
		return nil, err
	}
	e := store.Enqueue{Cap: mailboxCap, Message: store.Message{
		ID: id, Type: b.key.Type, ActorID: b.key.ID, Operation: o.operation, Arguments: o.arguments,
		Origin: store.FromReminder, MaxAttempts: maxAttempts,
	}}
	if _, err := w.deliver(&e, b, w.now); err != nil {
		return nil, err
	}
	if e.Outcome == store.Full {
		o.due = w.now + backoff.Microseconds()
		return nil, nil
	}
	if o.interval == 0 {
		o.done = true
		return &e.Message, nil
	}
	next := o.next + o.interval
	if o.policy == "latest" && next <= w.now {
		next += (w.now - next) / o.interval * o.interval
		if next <= w.now {
			next += o.interval
		}
	}
	o.next, o.due = next, next
	return &e.Message, nil
}

// TakeBroadcasts takes over rows whose process did not hand them on within age.
func (s *Store) TakeBroadcasts(ctx context.Context, owner string, age time.Duration, limit int) (taken []store.Broadcast, err error) {
	err = s.single(ctx, "take over broadcasts", func(p *pipe) {
		taken = nil
		p.query(broadcastsTake, func(rows pgx.Rows) error {
			var b store.Broadcast
			var names, shared string
			err := rows.Scan(&b.Instance, &b.ID, &b.Actor.Type, &b.Actor.ID, &b.Revision, &b.Previous, &b.Message, &names, &shared)
			store.DecodeBroadcast(names, shared, &b)
			taken = append(taken, b)
			return err
		}, owner, s.offset.Load(), age.Microseconds(), limit)
	}, func() bool { return len(taken) > 0 })
	if err != nil {
		return nil, err
	}
	return taken, nil
}
