package mysql

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/lockstep-go/lockstep/runtime/store"
)

var (
	sendsDue   = declare("sends_due")
	sendsLock  = declare("sends_lock")
	sendsFirst = declare("sends_first")
	sendDelay  = declare("send_delay")
	sendDelete = declare("send_delete")

	broadcastsWaiting = declare("broadcasts_waiting")
	broadcastsLapsed  = declare("broadcasts_lapsed")
	broadcastsTake    = declare("broadcasts_take")
)

// staged is a row of the outbox between actors.
type staged struct {
	position  int64
	pair      pair
	available int64
	message   store.Message // with the target's type and id
}

// pair is a source and a target, between which order is kept.
type pair struct {
	source string
	target store.Key
}

// dueSend is a row that may be delivered, by its target.
type dueSend struct {
	position int64
	target   store.Key
}

// Deliver moves staged sends into their mailboxes. A target that another session holds is left for the next time.
func (s *Store) Deliver(ctx context.Context, limit, mailboxCap int, backoff time.Duration) (moved []store.Message, err error) {
	err = patiently(ctx, 5*patience, func() (again bool, err error) {
		due, err := s.dueSends(ctx, limit)
		if err != nil || len(due) == 0 {
			return false, err
		}
		keys := make([]store.Key, len(due))
		for n, d := range due {
			keys[n] = d.target
		}
		err = s.writeTo(ctx, "deliver sends", keys, func(w *work) (err error) {
			moved, err = w.deliverSends(due, mailboxCap, backoff)
			return err
		})
		return len(moved) == 0, err
	})
	if err != nil {
		return nil, err
	}
	return moved, nil
}

func (s *Store) dueSends(ctx context.Context, limit int) ([]dueSend, error) {
	return read(ctx, s, "look for sends", func(q *session) (due []dueSend, err error) {
		err = q.all(sendsDue, func(r row) error {
			due = append(due, dueSend{r.int(0), store.Key{Type: r.text(1), ID: r.text(2)}})
			return nil
		}, s.offset.Load(), limit)
		return due, err
	})
}

// deliverSends takes the targets, then the sends that are still there, and delivers them in the order of their staging
// between each source and target.
func (w *work) deliverSends(due []dueSend, mailboxCap int, backoff time.Duration) (moved []store.Message, err error) {
	keys := make([]store.Key, len(due))
	for n, d := range due {
		keys[n] = d.target
	}
	found, err := w.resolve(keys)
	if err != nil {
		return nil, err
	}
	if err := w.lock(found); err != nil {
		return nil, err
	}
	sends, err := w.lockSends(due)
	if err != nil {
		return nil, err
	}
	ids := make([]string, len(sends))
	for n := range sends {
		ids[n] = sends[n].message.ID
	}
	if err := w.tick(ids); err != nil {
		return nil, err
	}
	earlier, err := w.earlier(sends)
	if err != nil {
		return nil, err
	}
	var gone []any
	delays := map[int64][]any{}
	for n := range sends {
		x := &sends[n]
		if first, ok := earlier[x.pair]; ok && first.position < x.position { // it comes after that one, whenever that is
			delays[first.due] = append(delays[first.due], x.position)
			continue
		}
		at, done, err := w.send(x, mailboxCap, backoff)
		if err != nil {
			return nil, fmt.Errorf("send %s: %w", x.message.ID, err)
		}
		if at != 0 {
			delays[at] = append(delays[at], x.position)
			earlier[x.pair] = sendAt{x.position, at}
			continue
		}
		gone = append(gone, x.position)
		if done {
			moved = append(moved, x.message)
		}
	}
	if _, err := w.many(sendDelete, 1, gone); err != nil {
		return nil, err
	}
	for at, positions := range delays {
		if err := w.change(sendDelay, []any{at}, positions); err != nil {
			return nil, err
		}
	}
	return moved, w.save()
}

// lockSends takes those of due that are still there and whose target is locked.
func (w *work) lockSends(due []dueSend) (sends []staged, err error) {
	var positions []any
	for _, d := range due {
		if w.addresses[d.target] != nil {
			positions = append(positions, d.position)
		}
	}
	err = w.each(sendsLock, 1, positions, func(r row) error {
		sends = append(sends, staged{r.int(0), pair{r.text(2), store.Key{Type: r.text(3), ID: r.text(4)}}, r.int(10), store.Message{
			ID: r.text(1), Type: r.text(3), ActorID: r.text(4), Operation: r.text(5), Arguments: r.doc(6),
			Origin: store.FromActor, IdempotencyKey: r.text(7), Fingerprint: r.text(8), MaxAttempts: int(r.int(9)), Meta: r.doc(11),
		}})
		return nil
	})
	slices.SortFunc(sends, func(a, b staged) int { return cmp.Compare(a.position, b.position) })
	return sends, err
}

// sendAt is where a send stands and when it is due.
type sendAt struct{ position, due int64 }

// earlier finds, for each pair, the first send that is not among these.
func (w *work) earlier(sends []staged) (map[pair]sendAt, error) {
	first := map[pair]sendAt{}
	var pairs []pair
	for _, x := range sends {
		if !slices.Contains(pairs, x.pair) {
			pairs = append(pairs, x.pair)
		}
	}
	positions := make([]any, len(sends))
	for n, x := range sends {
		positions[n] = x.position
	}
	for part := range slices.Chunk(pairs, maxRows) {
		var args []any
		for _, p := range part {
			args = append(args, p.source, p.target.Type, p.target.ID)
		}
		args = append(append(args, positions...), sends[len(sends)-1].position)
		err := w.allText(w.store.texts.text(sendsFirst, len(part), len(positions)), func(r row) error {
			first[pair{r.text(0), store.Key{Type: r.text(1), ID: r.text(2)}}] = sendAt{r.int(3), r.int(4)}
			return nil
		}, args)
		if err != nil {
			return nil, err
		}
	}
	return first, nil
}

// send moves one message and says whether it entered the mailbox now, or when to try again.
func (w *work) send(x *staged, mailboxCap int, backoff time.Duration) (at int64, done bool, err error) {
	i := w.addresses[x.pair.target]
	e := store.Enqueue{Message: x.message, Cap: mailboxCap}
	if err := w.deliver(&e, i, max(x.available, w.now)); err != nil {
		return 0, false, err
	}
	switch e.Outcome {
	case store.Full:
		return w.now + max(backoff, time.Millisecond).Microseconds(), false, nil
	case store.Conflict:
		m := &x.message
		text := "the idempotency key was used with another " + e.Differs + " by message " + e.Message.ID
		w.dead = append(w.dead, m.ID, i.id, m.Type, m.ActorID, 0, m.Operation, m.Arguments, store.FromActor, optional(m.IdempotencyKey),
			optional(m.Fingerprint), 0, m.MaxAttempts, w.now, x.available, w.now, "idempotency conflict", text, "", m.Meta)
	}
	x.message = e.Message
	return 0, e.Outcome == store.Done, nil
}

// TakeBroadcasts takes over rows whose process did not hand them on within age.
func (s *Store) TakeBroadcasts(ctx context.Context, owner string, age time.Duration, limit int) (taken []store.Broadcast, err error) {
	if found, err := s.waiting(ctx, broadcastsWaiting, 0, []any{s.offset.Load() - age.Microseconds()}); err != nil || !found {
		return nil, err
	}
	err = s.write(ctx, "take over broadcasts", func(w *work) error {
		taken = nil
		if err := w.tick(nil); err != nil {
			return err
		}
		var instances []any
		err := w.all(broadcastsLapsed, func(r row) error {
			b := store.Broadcast{
				Instance: r.text(0), ID: r.text(1), Actor: store.Key{Type: r.text(2), ID: r.text(3)},
				Revision: r.int(4), Previous: r.int(5), Message: r.text(6),
			}
			store.DecodeBroadcast(r.text(7), r.text(8), &b)
			taken, instances = append(taken, b), append(instances, b.Instance)
			return nil
		}, w.now-age.Microseconds(), limit)
		if err != nil {
			return err
		}
		return w.change(broadcastsTake, []any{owner, w.now}, instances)
	})
	if err != nil {
		return nil, err
	}
	return taken, nil
}

// waiting says whether a statement finds anything, before a transaction is begun for it. The list in it has n values.
func (s *Store) waiting(ctx context.Context, st statement, n int, args []any) (bool, error) {
	return read(ctx, s, "look for work", func(q *session) (found bool, err error) {
		var counts []int
		if n > 0 {
			counts = []int{n}
		}
		err = q.allText(s.texts.text(st, counts...), func(row) error {
			found = true
			return nil
		}, args)
		return found, err
	})
}
