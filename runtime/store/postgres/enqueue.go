package postgres

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"

	"github.com/lockstep-go/lockstep/actors"
	"github.com/lockstep-go/lockstep/runtime/store"
)

var databaseRead = declare("database")

// known gathers the reading of messages whose ids or keys enqueues have.
func (w *work) known(es []*store.Enqueue) {
	var ids, types, actorIDs, keys []string
	for _, e := range es {
		m := &e.Message
		ids = append(ids, m.ID)
		if m.IdempotencyKey != "" {
			types, actorIDs, keys = append(types, m.Type), append(actorIDs, m.ActorID), append(keys, m.IdempotencyKey)
		}
	}
	if len(ids) > 0 {
		w.query(loadIDs, func(rows pgx.Rows) error {
			m := &store.Message{}
			err := scanMessage(rows, m)
			w.count(m)
			w.stored[m.ID] = m
			return err
		}, ids)
	}
	if len(keys) > 0 {
		w.query(loadKeys, func(rows pgx.Rows) error {
			m := &store.Message{}
			err := scanMessage(rows, m)
			w.count(m)
			w.keyed[messageKey{store.Key{Type: m.Type, ID: m.ActorID}, m.IdempotencyKey}] = m
			return err
		}, types, actorIDs, keys)
	}
}

func (w *work) enqueue(e *store.Enqueue) error {
	e.Outcome, e.Head, e.Depth, e.Differs, e.Activation, e.Err = "", false, 0, "", nil, nil
	b, busy, err := w.find(store.Key{Type: e.Message.Type, ID: e.Message.ActorID})
	if err != nil {
		return err
	}
	if busy {
		e.Outcome = store.Busy
		return nil
	}
	_, err = w.deliver(e, b, max(micros(e.When.From(fromMicros(w.now))), w.now))
	return err
}

// deliver puts a message into a mailbox: at most once for its id and its key, and within the cap. It returns it where
// it is there now.
func (w *work) deliver(e *store.Enqueue, b *box, available int64) (*message, error) {
	m := &e.Message
	if found := w.stored[m.ID]; found != nil {
		return nil, w.answer(e, found)
	}
	key := messageKey{b.key, m.IdempotencyKey}
	if m.IdempotencyKey != "" {
		if found := w.keyed[key]; found != nil {
			return nil, w.answer(e, found)
		}
	}
	if depth := int(b.next - b.head); e.Cap > 0 && depth >= e.Cap {
		e.Outcome, e.Depth = store.Full, depth
		return nil, nil
	}
	restore(w, m)
	empty := b.head == b.next
	n := &message{Message: *m, fresh: true}
	n.Instance, n.Sequence, n.Status, n.Attempts = b.id, b.next, store.Live, 0
	n.EnqueuedAt, n.AvailableAt = fromMicros(w.now), fromMicros(available)
	b.next, b.changed = b.next+1, true
	b.messages[n.Sequence] = n
	w.changes.fresh = append(w.changes.fresh, n)
	w.stored[n.ID] = &n.Message
	if m.IdempotencyKey != "" {
		w.keyed[key] = &n.Message
	}
	e.Outcome = store.Done
	switch {
	case empty && e.Claim != nil && b.paused == 0 && available <= w.now && (b.free(w.now) || e.Held != nil && b.holds(e.Held, w.now)):
		w.claimNew(e, b, n)
	case empty:
		e.Head = b.paused == 0
		w.wait(b, n)
	}
	*m = n.Message
	return n, nil
}

// claimNew claims the message just enqueued, as head of a mailbox whose lease is free, or the claimer's already.
func (w *work) claimNew(e *store.Enqueue, b *box, n *message) {
	if b.free(w.now) {
		e.Activation = w.claim(b, n, e.Claim, e.Claim.Token)
		return
	}
	b.lease = w.now + e.Claim.Lease.Microseconds()
	w.start(b, n)
	e.Activation = &store.Activation{Turn: w.turn(b, n), Again: true}
}

// answer answers an enqueue whose id or key was stored before.
func (w *work) answer(e *store.Enqueue, found *store.Message) error {
	switch asked := &e.Message; {
	case found.ID == asked.ID:
		e.Outcome = store.Duplicate
	case found.Operation != asked.Operation:
		e.Outcome, e.Differs = store.Conflict, "operation"
	case found.Fingerprint != asked.Fingerprint:
		e.Outcome, e.Differs = store.Conflict, "arguments"
	default:
		e.Outcome = store.Duplicate
	}
	restore(w, &e.Message)
	e.Message = *found
	return nil
}

type transaction struct{ tx pgx.Tx }

func (transaction) Dialect() string { return "postgres" }

// Tx lets TellTx join an application's transaction on the same database. From the enqueue to the end of the transaction
// the actor is busy to everybody else, and nobody else is.
func Tx(tx pgx.Tx) actors.Tx { return transaction{tx} }

// EnqueueTx stores a message inside an application's transaction; it waits for whoever is at work with that actor. The
// error is actors.ErrForeignTransaction for a transaction of another database. Whatever the error, the transaction can
// go on, unless its connection broke.
func (s *Store) EnqueueTx(ctx context.Context, tx actors.Tx, e *store.Enqueue) error {
	t, ok := tx.(transaction)
	if !ok || t.tx == nil {
		return actors.ErrForeignTransaction
	}
	if s.closed.Load() {
		return errClosed
	}
	var err error
	for range 4 {
		if err = s.enqueueTx(ctx, t.tx, e); err == nil || !s.raced(err) && err != errJustMade {
			break
		}
	}
	switch code(err) {
	case "42P01", "3F000", "42501": // without our tables
		return actors.ErrForeignTransaction
	}
	return translate("enqueue in a transaction", err)
}

// errJustMade is an actor that was made between the locking and the reading.
var errJustMade = fmt.Errorf("the actor was made just now: %w", store.ErrTransient)

func (s *Store) enqueueTx(ctx context.Context, tx pgx.Tx, e *store.Enqueue) (err error) {
	w := newWork(&pipe{to: tx, ctx: ctx, store: s, guest: true})
	w.add(savepoint, nil) // apart: what follows is prepared before it is executed, which can fail already
	if err := w.sync(); err != nil {
		return err
	}
	defer func() {
		if err != nil {
			w.revert()
			w.forget()
			w.add(savepointUndo, nil) // alone: a transaction that failed lets nothing else even be prepared
			if w.sync() == nil {      // otherwise the transaction is over anyway
				w.add(savepointDone, nil)
				w.sync()
			}
		}
	}()
	database := ""
	w.query(databaseRead, func(rows pgx.Rows) error { return rows.Scan(&database) })
	w.lock(lockWait, nil, []store.Key{{Type: e.Message.Type, ID: e.Message.ActorID}})
	w.known([]*store.Enqueue{e})
	if err := w.sync(); err != nil {
		return err
	}
	if database != s.database {
		return actors.ErrForeignTransaction
	}
	claim, held := e.Claim, e.Held
	e.Claim, e.Held = nil, nil
	defer func() { e.Claim, e.Held = claim, held }()
	if err := w.enqueue(e); err != nil {
		return err
	}
	if e.Outcome == store.Busy {
		return errJustMade
	}
	if err := w.save(); err != nil {
		return err
	}
	w.add(savepointDone, nil)
	return w.sync()
}
