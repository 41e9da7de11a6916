package mysql

import (
	"fmt"
	"time"

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

// message is a row of history in memory. One that only ends is known by its id and its instance.
type message struct {
	store.Message
	previous string
	text     string // of the error that it failed with

	fresh                   bool // it is to be inserted
	ends, attempted, failed bool // it is in the list of that name
}

// head is the first unfinished message of a mailbox, and since when, or from when, it may be claimed.
type head struct {
	*message
	due int64
}

var (
	messagesByID   = declare("messages_by_id")
	messagesByKey  = declare("messages_by_key")
	messagesQueued = declare("messages_queued")
	statesRead     = declare("states")
)

// never is the due time of a paused mailbox.
const never = 1<<63 - 1

// load reads messages into memory.
func (w *work) load(ids []string) error {
	var args []any
	for _, id := range ids {
		if id != "" && w.messages[id] == nil {
			args = append(args, id)
		}
	}
	return w.each(messagesByID, 1, args, func(r row) error {
		w.learn(r)
		return nil
	})
}

func (w *work) learn(r row) *message {
	m := &message{}
	readMessage(r, &m.Message)
	if known := w.messages[m.ID]; known != nil {
		return known
	}
	w.messages[m.ID] = m
	return m
}

// loadKeys reads the messages that have these idempotency keys.
func (w *work) loadKeys(keys []string) error {
	var args []any
	for _, k := range keys {
		if _, ok := w.keys[k]; !ok {
			w.keys[k] = nil
			args = append(args, k)
		}
	}
	return w.each(messagesByKey, 1, args, func(r row) error {
		m := w.learn(r)
		w.keys[keyOf(m.Instance, m.IdempotencyKey)] = m
		return nil
	})
}

func keyOf(instance, key string) string { return instance + "/" + key }

// loadQueued reads messages behind heads.
func (w *work) loadQueued(places []place) error {
	var args []any
	for _, p := range places {
		if w.queued[p] == nil {
			args = append(args, p.instance, p.sequence)
		}
	}
	return w.each(messagesQueued, 2, args, func(r row) error {
		m := w.learn(r)
		w.queued[place{m.Instance, m.Sequence}] = m
		return nil
	})
}

// need returns a message that must be there.
func (w *work) need(id string) (*message, error) {
	if w.messages[id] == nil {
		if err := w.load([]string{id}); err != nil {
			return nil, err
		}
	}
	if m := w.messages[id]; m != nil {
		return m, nil
	}
	return nil, fmt.Errorf("message %s is live, but not there", id)
}

// pop returns the message that is the head now and was behind it before, taking it out of the queue.
func (w *work) pop(i *instance) (*message, bool, error) {
	if i.head >= i.next {
		return nil, false, nil
	}
	p := place{i.id, i.head}
	if w.queued[p] == nil {
		if err := w.loadQueued([]place{p}); err != nil {
			return nil, false, err
		}
	}
	m := w.queued[p]
	if m == nil {
		return nil, false, fmt.Errorf("sequence %d of instance %s is live, but not queued", i.head, i.id)
	}
	if _, ok := w.pushed[p]; ok {
		delete(w.pushed, p)
	} else {
		w.popped = append(w.popped, p)
	}
	return m, true, nil
}

// exhausted says whether no attempt is left.
func (m *message) exhausted() bool { return m.Attempts >= m.MaxAttempts }

// due says whether the head may run now.
func (w *work) due(i *instance, m *message) bool {
	return i.paused == 0 && micros(m.AvailableAt) <= w.now
}

// wait puts the head into ready. It begins to wait now, or when it is due.
func (w *work) wait(i *instance, m *message) {
	at := max(micros(m.AvailableAt), w.now)
	if i.paused != 0 {
		at = never
	}
	w.ready[i.id] = &head{m, at}
}

// attempt counts one attempt more, or takes one back.
func (w *work) attempt(m *message, by int) {
	m.Attempts = max(m.Attempts+by, 0)
	if !m.attempted && !m.fresh {
		m.attempted = true
		w.attempted = append(w.attempted, m)
	}
}

// end finishes a message.
func (w *work) end(id, instance string, status store.Status, result, rejection []byte) {
	m := w.messages[id]
	if m == nil {
		m = &message{}
		m.ID, m.Instance = id, instance
	}
	m.Status, m.Result, m.Rejection, m.FinishedAt = status, result, rejection, fromMicros(w.now)
	if !m.ends {
		m.ends = true
		w.ended = append(w.ended, m)
	}
}

// fail notes what an attempt failed with.
func (w *work) fail(m *message, kind, text string) {
	m.ErrorKind, m.text = kind, text
	if !m.failed {
		m.failed = true
		w.failed = append(w.failed, m)
	}
}

// follow sees to what comes after a finished message: it claims the next one (next), or leaves it to whoever scans,
// together with the lease (yield).
func (w *work) follow(i *instance, next, yield bool) (turn *store.Turn, due time.Time, err error) {
	i.claimed = ""
	f := store.Fence{Instance: i.id, Owner: i.owner, Token: i.token, Generation: i.generation}
	if yield {
		i.disown()
	}
	m, more, err := w.pop(i)
	if err != nil || !more {
		return nil, due, err
	}
	if next && !yield && w.due(i, m) && !m.exhausted() {
		w.attempt(m, 1)
		i.claimed = m.ID
		return &store.Turn{Fence: f, Message: m.Message, Claimed: fromMicros(w.now), Lease: fromMicros(i.lease)}, due, nil
	}
	if i.paused == 0 {
		due = m.AvailableAt
	}
	w.wait(i, m)
	return nil, due, nil
}

// unclaim takes an instance's claim, if any, away and returns its message. The lease must be over.
func (w *work) unclaim(i *instance, uncount bool) (*message, error) {
	if i.claimed == "" {
		return nil, nil
	}
	m, err := w.need(i.claimed)
	if err != nil {
		return nil, err
	}
	i.claimed = ""
	if uncount {
		w.attempt(m, -1)
	}
	return m, nil
}

// ownerLost is the kind of a dead letter whose last attempt nobody ended.
const ownerLost = "owner lost"

// bury makes dead letters of m and those after it, as long as they have no attempt left, and returns the first that
// has one, or nil. The mailbox's membership is the caller's.
func (w *work) bury(i *instance, m *message) (_ *message, dead []store.DeadLetter, err error) {
	for m != nil && m.exhausted() {
		const text = "the process that ran it ended or lost its lease during the last attempt"
		w.letter(i, m, ownerLost, text, "")
		i.head++
		dead = append(dead, store.DeadLetter{ID: m.ID, Message: m.Message, ErrorKind: ownerLost, ErrorText: text, FailedAt: fromMicros(w.now)})
		var more bool
		if m, more, err = w.pop(i); err != nil {
			return nil, dead, err
		} else if !more {
			m = nil
		}
	}
	return m, dead, nil
}

// letter makes a dead letter of a live message.
func (w *work) letter(i *instance, m *message, kind, text, stack string) {
	m.Status, m.FinishedAt = store.Dead, fromMicros(w.now)
	w.fail(m, kind, text)
	w.dead = append(w.dead, m.ID, i.id, i.Type, i.ID, m.Sequence, m.Operation, m.Arguments, m.Origin, optional(m.IdempotencyKey),
		optional(m.Fingerprint), m.Attempts, m.MaxAttempts, m.EnqueuedAt, m.AvailableAt, w.now, kind, text, stack, m.Meta)
}

// lease claims the instance for owner and message m; a lease that the owner still holds keeps token and generation.
func (w *work) lease(i *instance, c *store.Claim, token string, m *message) *store.Activation {
	if i.owner != c.Owner || i.lease <= w.now {
		i.generation++
		i.token = token
	}
	i.owner, i.lease, i.used, i.claimed = c.Owner, w.now+c.Lease.Microseconds(), w.now, m.ID
	w.keep(i)
	a := &store.Activation{Snapshot: i.snapshot()}
	a.Fence = store.Fence{Instance: i.id, Owner: i.owner, Token: i.token, Generation: i.generation}
	a.Message = m.Message
	a.Claimed, a.Lease = fromMicros(w.now), fromMicros(i.lease)
	if !i.made && !i.stated {
		w.unstated = append(w.unstated, a)
	}
	return a
}

// states reads the states of new activations.
func (w *work) states() error {
	if len(w.unstated) == 0 {
		return nil
	}
	by := map[string][]*store.Activation{}
	var args []any
	for _, a := range w.unstated {
		if a.Snapshot.Revision == 0 {
			continue // never committed
		}
		if by[a.Fence.Instance] == nil {
			args = append(args, a.Fence.Instance)
		}
		by[a.Fence.Instance] = append(by[a.Fence.Instance], a)
	}
	w.unstated = nil
	return w.each(statesRead, 1, args, func(r row) error {
		for _, a := range by[r.text(0)] {
			a.Snapshot.State = r.doc(1)
		}
		return nil
	})
}
