package sqlite

import (
	"fmt"
	"time"

	"github.com/google/uuid"

	"github.com/lockstep-go/lockstep/actors"
	"github.com/lockstep-go/lockstep/runtime/store"
)

// messageColumns is how many columns the statements that read messages begin with.
const messageColumns = 20

// readMessage reads those columns.
func readMessage(r row, m *store.Message) {
	*m = store.Message{
		ID: r.text(0), Instance: r.text(1), Sequence: r.int(2), Operation: r.text(3), Arguments: r.doc(4),
		Origin: store.Origin(r.text(5)), IdempotencyKey: r.text(6), Fingerprint: r.text(7),
		Attempts: int(r.int(8)), MaxAttempts: int(r.int(9)),
		EnqueuedAt: r.time(10), AvailableAt: r.time(11), FinishedAt: r.time(12),
		Status: store.Status(r.text(13)), Result: r.doc(14), Rejection: r.doc(15), ErrorKind: r.text(16), Meta: r.doc(17),
		Type: r.text(18), ActorID: r.text(19),
	}
}

// head is the first unfinished message of a mailbox.
type head struct {
	store.Message
	lease  int64
	paused bool
}

var (
	readHead       = declare("head")
	messageByKey   = declare("message_by_key")
	messageByID    = declare("message_by_id")
	readyInsert    = declare("ready_insert")
	readyDelete    = declare("ready_delete")
	claimedInsert  = declare("claimed_insert")
	claimedUpdate  = declare("claimed_update")
	claimedDelete  = declare("claimed_delete")
	claimedFind    = declare("claimed_find")
	attemptCount   = declare("attempt_count")
	attemptUncount = declare("attempt_uncount")
	disown         = declare("disown")
	deadInsert     = declare("dead_insert")
	deadFinish     = declare("dead_finish")
	headAdvance    = declare("head_advance")
	queuedInsert   = declare("queued_insert")
	queuedFirst    = declare("queued_first")
	queuedDelete   = declare("queued_delete")
)

// never is the due time of a paused mailbox.
const never = 1<<63 - 1

// head reads the message that is a mailbox's head.
func (w *work) head(id string) (h head, err error) {
	r, ok, err := w.first(readHead, id)
	if err != nil {
		return head{}, err
	}
	if !ok {
		return head{}, fmt.Errorf("message %s is a head, but not there", id)
	}
	readMessage(r, &h.Message)
	h.lease, h.paused = r.int(messageColumns), !r.null(messageColumns+1)
	return h, nil
}

// pop takes the message behind the head out of the queue, to be the head.
func (w *work) pop(instance string) (h head, ok bool, err error) {
	r, ok, err := w.first(queuedFirst, instance)
	if err != nil || !ok {
		return head{}, false, err
	}
	if h, err = w.head(r.text(0)); err != nil {
		return head{}, false, err
	}
	_, err = w.exec(queuedDelete, instance, h.Sequence)
	return h, true, err
}

// exhausted says whether no attempt is left.
func (h *head) exhausted() bool { return h.Attempts >= h.MaxAttempts }

// due says whether the head may run now.
func (h *head) due(now int64) bool { return !h.paused && micros(h.AvailableAt) <= now }

// wait puts the head into ready. It begins to wait now, or when it is due.
func (w *work) wait(h *head) error {
	at := max(micros(h.AvailableAt), w.now)
	if h.paused {
		at = never
	}
	_, err := w.exec(readyInsert, h.Instance, h.Sequence, h.ID, h.Type, at)
	return err
}

// follow sees to what comes after a finished message whose claim is still there: it claims the next one (next), or
// leaves it to whoever scans, together with the lease (yield).
func (w *work) follow(f store.Fence, next, yield bool) (turn *store.Turn, due time.Time, err error) {
	if yield {
		if _, err := w.exec(disown, f.Instance); err != nil {
			return nil, due, err
		}
	}
	h, more, err := w.pop(f.Instance)
	if err != nil {
		return nil, due, err
	}
	if more && next && !yield && h.due(w.now) && !h.exhausted() {
		if _, err := w.exec(attemptCount, h.ID); err != nil {
			return nil, due, err
		}
		if _, err := w.exec(claimedUpdate, h.Sequence, h.ID, w.now, f.Instance); err != nil {
			return nil, due, err
		}
		h.Attempts++
		return &store.Turn{Fence: f, Message: h.Message, Claimed: fromMicros(w.now), Lease: fromMicros(h.lease)}, due, nil
	}
	if _, err := w.exec(claimedDelete, f.Instance); err != nil || !more {
		return nil, due, err
	}
	if !h.paused {
		due = h.AvailableAt
	}
	return nil, due, w.wait(&h)
}

// unclaim takes an instance's claim, if any, away and returns its message. The lease must be over.
func (w *work) unclaim(instance string, uncount bool) (h head, ok bool, err error) {
	r, ok, err := w.first(claimedFind, instance)
	if err != nil || !ok {
		return head{}, false, err
	}
	id := r.text(0)
	if uncount {
		if _, err := w.exec(attemptUncount, id); err != nil {
			return head{}, false, err
		}
	}
	if _, err := w.exec(claimedDelete, instance); err != nil {
		return head{}, false, err
	}
	h, err = w.head(id)
	return h, err == nil, err
}

// bury makes dead letters of h and those after it, as long as they have no attempt left, and returns the first that
// has one. The mailbox's row in ready or claimed is the caller's.
func (w *work) bury(h head) (_ head, ok bool, dead []store.DeadLetter, err error) {
	for ok = true; ok && h.exhausted(); {
		const text = "the process that ran it ended or lost its lease during the last attempt"
		if err := w.dead(h.ID, store.OwnerLost, text, ""); err != nil {
			return h, false, dead, err
		}
		if _, err := w.exec(headAdvance, h.Instance); err != nil {
			return h, false, dead, err
		}
		d := store.DeadLetter{ID: h.ID, Message: h.Message, ErrorKind: store.OwnerLost, ErrorText: text, FailedAt: fromMicros(w.now)}
		d.Message.Status, d.Message.ErrorKind, d.Message.FinishedAt = store.Dead, store.OwnerLost, d.FailedAt
		dead = append(dead, d)
		if h, ok, err = w.pop(h.Instance); err != nil {
			return h, false, dead, err
		}
	}
	return h, ok, dead, nil
}

// dead writes the dead letter of a live message.
func (w *work) dead(id, kind, text, stack string) error {
	if _, err := w.exec(deadInsert, w.now, kind, text, stack, id); err != nil {
		return err
	}
	_, err := w.exec(deadFinish, w.now, kind, text, id)
	return err
}

// snapshot reads revision, message id, broadcast revision, state version and state, which begin at column i.
func snapshot(r row, instance string, i int) actors.Snapshot {
	return actors.Snapshot{
		Stamp:     actors.Stamp{Instance: instance, Revision: r.int(i), Message: r.text(i + 1)},
		Broadcast: r.int(i + 2), Version: int(r.int(i + 3)), State: r.doc(i + 4),
	}
}

// newID makes an id that sorts by time.
func newID() (string, error) {
	id, err := uuid.NewV7()
	return id.String(), err
}
