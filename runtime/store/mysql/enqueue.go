package mysql

import (
	"cmp"
	"context"
	"database/sql"
	"fmt"
	"strings"

	"github.com/lockstep-go/lockstep/actors"
	"github.com/lockstep-go/lockstep/runtime/store"
)

func (w *work) enqueue(e *store.Enqueue) error {
	available := max(micros(e.When.From(fromMicros(w.now))), w.now)
	i := w.addresses[addressOf(e)]
	if i == nil { // held by another session, or gone since it was found: the next flush sees
		e.Outcome = store.Busy
		return nil
	}
	return w.deliver(e, i, available)
}

// deliver puts a message into a mailbox: at most once for its id and its key, and within the cap.
func (w *work) deliver(e *store.Enqueue, i *instance, available int64) error {
	m := &e.Message
	if m.IdempotencyKey != "" {
		if !i.made {
			if err := w.loadKeys([]string{keyOf(i.id, m.IdempotencyKey)}); err != nil {
				return err
			}
		}
		if known := w.keys[keyOf(i.id, m.IdempotencyKey)]; known != nil {
			w.known(e, known)
			return nil
		}
	}
	if known := w.messages[m.ID]; known != nil {
		w.known(e, known)
		return nil
	}
	depth := int(i.next - i.head)
	if e.Cap > 0 && depth >= e.Cap {
		e.Outcome, e.Depth = store.Full, depth
		return nil
	}
	x := &message{previous: i.tail, fresh: true}
	sequence := i.next
	m.Instance, m.Sequence, m.Status, m.Attempts = i.id, sequence, store.Live, 0
	m.EnqueuedAt, m.AvailableAt = fromMicros(w.now), fromMicros(available)
	x.Message = *m
	w.messages[m.ID] = x
	if m.IdempotencyKey != "" {
		w.keys[keyOf(i.id, m.IdempotencyKey)] = x
	}
	w.inserted = append(w.inserted, x)
	i.next++
	i.tail, i.used = m.ID, w.now
	w.keep(i)
	e.Outcome = store.Done
	switch {
	case depth > 0:
		p := place{i.id, sequence}
		w.queued[p], w.pushed[p] = x, m.ID
	case e.Claim != nil && i.paused == 0 && available <= w.now && w.admit(e, i):
		x.Attempts = 1
		m.Attempts = 1
		if e.Held != nil && i.holds(e.Held, w.now) {
			i.lease, i.claimed = w.now+e.Claim.Lease.Microseconds(), m.ID
			e.Activation = &store.Activation{
				Turn:  store.Turn{Fence: *e.Held, Message: *m, Claimed: fromMicros(w.now), Lease: fromMicros(i.lease)},
				Again: true,
			}
			break
		}
		e.Activation = w.lease(i, e.Claim, e.Claim.Token, x)
	default:
		e.Head = i.paused == 0
		w.wait(i, x)
	}
	return nil
}

// admit says whether an enqueue may claim what it made: the activation is the one it holds, or nobody has the lease.
func (w *work) admit(e *store.Enqueue, i *instance) bool {
	return i.owner == "" || i.lease <= w.now || e.Held != nil && i.holds(e.Held, w.now)
}

// known answers an enqueue whose id or key was stored before.
func (w *work) known(e *store.Enqueue, found *message) {
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
	e.Message = found.Message
}

type transaction struct{ tx *sql.Tx }

func (transaction) Dialect() string { return "mysql" }

// Tx lets TellTx join an application's transaction on the same database, at whatever isolation level. The actor is
// locked until that transaction ends: what its runtime has to write about it waits meanwhile, and nothing else does.
// Transactions that send to several actors should do so in one order, or the server may choose one of two as the
// victim of their deadlock.
func Tx(tx *sql.Tx) actors.Tx { return transaction{tx} }

var (
	databaseRead = declare("database")
	sessionWords = declare("session_words")
	messageKnown = declare("message_known")
	keyKnown     = declare("key_known")
)

// EnqueueTx stores a message inside an application's transaction. The error is actors.ErrForeignTransaction for one
// of another database. One that wraps store.ErrTransient may mean that the server has rolled the transaction back.
func (s *Store) EnqueueTx(ctx context.Context, tx actors.Tx, e *store.Enqueue) error {
	t, ok := tx.(transaction)
	if !ok || t.tx == nil {
		return actors.ErrForeignTransaction
	}
	if s.closed.Load() {
		return errClosed
	}
	w := newWork(&session{store: s, q: t.tx, ctx: ctx})
	r, ok, err := w.first(databaseRead)
	if code(err) == 1146 || code(err) == 1046 || err == nil && (!ok || r.text(0) != s.installation) {
		return actors.ErrForeignTransaction // without our tables, or with another's
	}
	if err != nil {
		return translate("join a transaction", err)
	}
	unclaimed := *e
	unclaimed.Claim, unclaimed.Held = nil, nil
	if err := w.wording(r, func() error { return w.join(&unclaimed) }); err != nil {
		return translate("enqueue in a transaction", err)
	}
	unclaimed.Claim, unclaimed.Held = e.Claim, e.Held
	*e = unclaimed
	return nil
}

// wording runs f with a session that takes texts as the store sends them. What the session had before is in r.
func (w *work) wording(r row, f func() error) error {
	theirs := []any{word(r.text(1)), word(r.text(2)), word(r.text(3)), word(r.text(4))}
	if r.text(1) == "utf8mb4" && r.text(3) == "utf8mb4" && strings.HasPrefix(r.text(2), "utf8mb4_") &&
		(strings.Contains(r.text(4), "STRICT_ALL_TABLES") || strings.Contains(r.text(4), "STRICT_TRANS_TABLES")) {
		return f()
	}
	if _, err := w.exec(sessionWords, word("utf8mb4"), word("utf8mb4_bin"), word("utf8mb4"), word("STRICT_ALL_TABLES")); err != nil {
		return err
	}
	err := f()
	_, restored := w.exec(sessionWords, theirs...)
	return cmp.Or(err, restored)
}

// join enqueues where earlier reads may be old: what decides is locked, or refused by a unique index.
func (w *work) join(e *store.Enqueue) error {
	reset(&store.Flush{Enqueues: []*store.Enqueue{e}})
	i, err := w.joinInstance(addressOf(e))
	if err != nil {
		return err
	}
	if err := w.tick([]string{e.Message.ID}); err != nil {
		return err
	}
	asked := e.Message
	if err := w.enqueue(e); err != nil {
		return err
	}
	if e.Outcome != store.Done {
		return nil
	}
	_, err = w.many(messageInsert, 14, w.insertions(w.inserted))
	w.inserted = nil
	if code(err) == 1062 {
		return w.refused(e, asked, i, err)
	}
	if err != nil {
		return err
	}
	return w.save()
}

// joinInstance locks the instance, and makes it where it is missing.
func (w *work) joinInstance(k store.Key) (*instance, error) {
	for range 3 {
		found, err := w.find([]store.Key{k})
		if err != nil {
			return nil, err
		}
		if id := found[k]; id != "" {
			if err := w.lockWaiting([]string{id}); err != nil {
				return nil, err
			}
		}
		if i := w.addresses[k]; i != nil {
			return i, nil
		}
		id, err := newID()
		if err != nil {
			return nil, err
		}
		if _, err := w.many(createInstance, 3, []any{id, k.Type, k.ID}); err != nil {
			return nil, err
		}
		if found, err = w.find([]store.Key{k}); err != nil {
			return nil, err
		}
		if found[k] == id {
			return w.add(&instance{id: id, Key: k, head: 1, next: 1, made: true}), nil
		}
		// Another session's, made after what this transaction first read.
		r, ok, err := w.first(lockAddress, k.Type, k.ID)
		if err != nil {
			return nil, err
		}
		if ok {
			return w.add(readInstance(r)), nil
		}
	}
	return nil, fmt.Errorf("the instance of actor %s comes and goes", k.ID)
}

// refused answers an enqueue whose row a unique index refused: somebody stored the message after the transaction's
// first read.
func (w *work) refused(e *store.Enqueue, asked store.Message, i *instance, cause error) error {
	r, ok, err := row(nil), false, error(nil)
	if asked.IdempotencyKey != "" {
		r, ok, err = w.first(keyKnown, keyOf(i.id, asked.IdempotencyKey))
	}
	if err == nil && !ok {
		r, ok, err = w.first(messageKnown, asked.ID)
	}
	if err != nil {
		return err
	}
	if !ok {
		return cause
	}
	found := &message{}
	readMessage(r, &found.Message)
	e.Message, e.Head = asked, false
	w.known(e, found)
	return nil
}
