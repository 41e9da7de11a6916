package sqlite

import (
	"context"
	"database/sql"
	"fmt"

	lib "modernc.org/sqlite/lib"

	"github.com/lockstep-go/lockstep/actors"
	"github.com/lockstep-go/lockstep/runtime/store"
)

var (
	enqueueHeld    = declare("enqueue_held")
	enqueueKeep    = declare("enqueue_keep")
	enqueueFind    = declare("enqueue_find")
	enqueueFindID  = declare("enqueue_find_id")
	enqueueCreate  = declare("enqueue_create")
	enqueueMessage = declare("enqueue_message")
	enqueueTake    = declare("enqueue_take")
	enqueueClaim   = declare("enqueue_claim")
	lockTx         = declare("lock_tx")
	databaseRead   = declare("database")
)

// mailbox is what an enqueue needs to know of an instance.
type mailbox struct {
	id         string
	head, next int64
	tail       string // id of the newest message
	free       bool   // nobody holds its lease
	paused     bool
	missing    bool // it is to be made
}

func (w *work) enqueue(e *store.Enqueue) error {
	e.Outcome, e.Head, e.Depth, e.Differs, e.Activation, e.Err = "", false, 0, "", nil, nil
	m := &e.Message
	available := max(micros(e.When.From(fromMicros(w.now))), w.now)
	if e.Claim != nil && e.Held != nil && available <= w.now {
		if done, err := w.enqueueWarm(e); done || err != nil {
			return err
		}
	}
	box, err := w.find(m.Type, m.ActorID)
	if err != nil {
		return err
	}
	return w.deliver(e, box, available)
}

// enqueueWarm adds a message to the empty mailbox of an activation that its owner keeps, and claims it.
func (w *work) enqueueWarm(e *store.Enqueue) (bool, error) {
	m, f := &e.Message, *e.Held
	r, ok, err := w.first(enqueueHeld, f.Instance, f.Owner, f.Token, f.Generation, w.now, m.ActorID, m.Type)
	if err != nil || !ok {
		return false, err
	}
	sequence := r.int(0)
	if n, err := w.insert(m, f.Instance, sequence, r.text(1), 1, w.now); err != nil || n == 0 {
		return false, err
	}
	lease := w.now + e.Claim.Lease.Microseconds()
	if _, err := w.exec(enqueueKeep, m.ID, lease, w.now, f.Instance); err != nil {
		return false, err
	}
	if _, err := w.exec(claimedInsert, f.Instance, sequence, m.ID, w.now); err != nil {
		return false, err
	}
	w.stored(m, f.Instance, sequence, w.now)
	m.Attempts = 1
	e.Outcome = store.Done
	e.Activation = &store.Activation{
		Turn:  store.Turn{Fence: f, Message: *m, Claimed: fromMicros(w.now), Lease: fromMicros(lease)},
		Again: true,
	}
	return true, nil
}

// insert writes the message's row, unless its id or key is there already.
func (w *work) insert(m *store.Message, instance string, sequence int64, previous string, attempts int, available int64) (int64, error) {
	return w.exec(enqueueMessage, m.ID, instance, sequence, previous, m.Operation, m.Arguments, m.Origin,
		optional(m.IdempotencyKey), optional(m.Fingerprint), attempts, m.MaxAttempts, w.now, available, m.Meta)
}

// stored fills in what the store knows of a message that it has just taken.
func (w *work) stored(m *store.Message, instance string, sequence, available int64) {
	m.Instance, m.Sequence, m.Status, m.Attempts = instance, sequence, store.Live, 0
	m.EnqueuedAt, m.AvailableAt = fromMicros(w.now), fromMicros(available)
}

// find looks up the mailbox of an actor, or prepares a new one.
func (w *work) find(typ, id string) (mailbox, error) {
	r, ok, err := w.first(enqueueFind, typ, id)
	if err != nil {
		return mailbox{}, err
	}
	if !ok {
		instance, err := newID()
		return mailbox{id: instance, head: 1, next: 1, free: true, missing: true}, err
	}
	return w.box(r), nil
}

func (w *work) box(r row) mailbox {
	return mailbox{
		id: r.text(0), head: r.int(1), next: r.int(2), tail: r.text(3),
		free: r.null(4) || r.int(5) <= w.now, paused: !r.null(6),
	}
}

// deliver puts a message into a mailbox: at most once for its id and its key, and within the cap.
func (w *work) deliver(e *store.Enqueue, box mailbox, available int64) error {
	m := &e.Message
	if m.IdempotencyKey != "" && !box.missing {
		if known, err := w.known(e, messageByKey, box.id, m.IdempotencyKey); known || err != nil {
			return err
		}
	}
	if depth := int(box.next - box.head); e.Cap > 0 && depth >= e.Cap {
		// A repeated enqueue of a message that is there has nothing to add.
		if known, err := w.known(e, messageByID, m.ID); known || err != nil {
			return err
		}
		e.Outcome, e.Depth = store.Full, depth
		return nil
	}
	empty := box.head == box.next
	claim := e.Claim != nil && empty && box.free && !box.paused && available <= w.now
	attempts := 0
	if claim {
		attempts = 1
	}
	n, err := w.insert(m, box.id, box.next, box.tail, attempts, available)
	if err != nil {
		return err
	}
	if n == 0 {
		known, err := w.known(e, messageByID, m.ID)
		if err == nil && !known {
			err = fmt.Errorf("message id %s is used by the history of a destroyed actor", m.ID)
		}
		return err
	}
	if err := w.take(m, &box, claim); err != nil {
		return err
	}
	w.stored(m, box.id, box.next, available)
	e.Outcome = store.Done
	switch {
	case claim:
		return w.claimNew(e, box)
	case empty:
		e.Head = !box.paused
		return w.wait(&head{Message: *m, paused: box.paused})
	}
	_, err = w.exec(queuedInsert, box.id, box.next, m.ID)
	return err
}

// take makes the instance, if need be, and takes its next sequence, which claimNew does itself otherwise.
func (w *work) take(m *store.Message, box *mailbox, claim bool) (err error) {
	switch {
	case box.missing:
		_, err = w.exec(enqueueCreate, box.id, m.Type, m.ActorID, m.ID, w.now, w.now)
	case !claim:
		_, err = w.exec(enqueueTake, m.ID, w.now, box.id)
	}
	return err
}

// claimNew claims the message just enqueued, as head of a mailbox whose lease is free.
func (w *work) claimNew(e *store.Enqueue, box mailbox) error {
	m := &e.Message
	lease := w.now + e.Claim.Lease.Microseconds()
	var r row
	var ok bool
	var err error
	if box.missing {
		r, ok, err = w.first(claimLease, e.Claim.Owner, e.Claim.Token, w.now, lease, box.id)
	} else {
		r, ok, err = w.first(enqueueClaim, m.ID, e.Claim.Owner, e.Claim.Token, lease, w.now, box.id)
	}
	if err != nil {
		return err
	}
	if !ok {
		return fmt.Errorf("instance %s could not be claimed", box.id)
	}
	a := activation(r, e.Claim.Owner, w.now)
	if _, err := w.exec(claimedInsert, box.id, m.Sequence, m.ID, w.now); err != nil {
		return err
	}
	m.Attempts = 1
	a.Message = *m
	e.Activation = a
	return nil
}

// known answers an enqueue whose id or key was stored before.
func (w *work) known(e *store.Enqueue, by statement, args ...any) (bool, error) {
	r, ok, err := w.first(by, args...)
	if err != nil || !ok {
		return false, err
	}
	var found store.Message
	readMessage(r, &found)
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
	e.Message = found
	return true, nil
}

type transaction struct{ tx *sql.Tx }

func (transaction) Dialect() string { return "sqlite" }

// Tx lets TellTx join an application's transaction on the same database: one that Write handed out, or one of the
// application's own that began IMMEDIATE, during which all actors wait.
func Tx(tx *sql.Tx) actors.Tx { return transaction{tx} }

// EnqueueTx stores a message inside an application's transaction. The error is actors.ErrForeignTransaction for one
// of another database, and *NotImmediate for one that cannot write at once.
func (s *Store) EnqueueTx(ctx context.Context, tx actors.Tx, e *store.Enqueue) error {
	t, ok := tx.(transaction)
	if !ok || t.tx == nil {
		return actors.ErrForeignTransaction
	}
	w := &work{session: &within{ctx: ctx, tx: t.tx, texts: s.texts, count: &s.statements}, store: s}
	if err := w.join(ctx, t.tx); err != nil {
		return err
	}
	w.now = s.now()
	unclaimed := *e
	unclaimed.Claim, unclaimed.Held = nil, nil
	if err := w.enqueue(&unclaimed); err != nil {
		return translate("enqueue in a transaction", err)
	}
	unclaimed.Claim, unclaimed.Held = e.Claim, e.Held
	*e = unclaimed
	return nil
}

// join takes the write lock for a transaction that is of this very database.
func (w *work) join(ctx context.Context, tx *sql.Tx) error {
	file, err := mainFile(ctx, tx)
	if err != nil {
		return translate("join a transaction", err)
	}
	if file != w.store.path {
		return actors.ErrForeignTransaction
	}
	// A write of nothing comes first: a transaction that did not begin IMMEDIATE learns here whether it may write, and
	// one that may sees what was committed before it.
	_, err = w.exec(lockTx)
	switch code(err) & 0xff {
	case lib.SQLITE_BUSY, lib.SQLITE_LOCKED, lib.SQLITE_READONLY:
		return &NotImmediate{err}
	case lib.SQLITE_ERROR:
		return actors.ErrForeignTransaction // without our tables
	}
	if err != nil {
		return translate("join a transaction", err)
	}
	r, _, err := w.first(databaseRead)
	if err == nil && r.text(0) != w.store.database {
		return actors.ErrForeignTransaction
	}
	return translate("join a transaction", err)
}
