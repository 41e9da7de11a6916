package postgres

import (
	"fmt"
	"slices"
	"strings"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/lockstep-go/lockstep/actors"
	"github.com/lockstep-go/lockstep/runtime/store"
)

var (
	lockSkip       = declare("lock")
	lockWait       = declare("lock_wait")
	loadBoxes      = declare("load")
	loadHeads      = declare("load_heads")
	loadMessage    = declare("load_message")
	loadIDs        = declare("load_ids")
	loadKeys       = declare("load_keys")
	loadBroadcasts = declare("load_broadcasts")
)

// never is the due time of a paused mailbox.
const never = 1<<63 - 1

// work is one transaction. It locks the instances that it is about, reads what it needs to know of them, decides item
// by item in memory, where later items see earlier ones, and writes the difference: each step is one round trip.
type work struct {
	*pipe
	now  int64 // database time, read once the locks were held
	undo []func()

	boxes    map[string]*box // locked and loaded, by instance
	byKey    map[store.Key]*box
	busy     map[string]bool // instances that are there and locked by somebody else
	busyKeys map[store.Key]bool
	locked   map[string]bool

	stored  map[string]*store.Message // found in the database, by id
	keyed   map[messageKey]*store.Message
	pending map[string]*store.Broadcast // by instance
	changes changes

	performed []string // effects that succeeded
}

type messageKey struct {
	actor store.Key
	key   string
}

func newWork(p *pipe) *work {
	return &work{
		pipe: p, boxes: map[string]*box{}, byKey: map[store.Key]*box{}, busy: map[string]bool{}, busyKeys: map[store.Key]bool{},
		locked: map[string]bool{}, stored: map[string]*store.Message{}, keyed: map[messageKey]*store.Message{},
		pending: map[string]*store.Broadcast{},
	}
}

// box is a locked instance: its row without the state, its place in ready and claimed, and what is known of its messages.
type box struct {
	id         string
	key        store.Key
	head, next int64
	owner      string // "" where nobody has the lease
	token      string
	generation int64
	lease      int64
	paused     int64 // since when; 0 where it is not
	revision   int64
	message    string // that committed the state
	previous   int64  // broadcast revision before the last
	broadcast  int64
	announced  string // message of the last broadcast
	version    int64

	heard bool             // news is known
	news  *store.Broadcast // that is pending

	created bool // here, and not yet in the database
	changed bool
	stated  bool // state is new
	state   []byte
	wanted  *store.Activation // to be given the state

	claimed  string // id of the claimed message, or ""
	ready    bool   // it is in ready, due at
	due      int64
	wasClaim string
	wasReady bool
	wasDue   int64

	messages map[int64]*message // by sequence
}

// message is one that is loaded or made here.
type message struct {
	store.Message
	fresh bool // made here, and not yet in the database
}

func (b *box) scan(extra ...any) []any {
	return append([]any{&b.id, &b.key.Type, &b.key.ID, &b.head, &b.next, &b.owner, &b.token, &b.generation, &b.lease, &b.paused,
		&b.revision, &b.message, &b.previous, &b.broadcast, &b.announced, &b.version}, extra...)
}

// readMessage is where the statements that read messages put their columns.
func readMessage(m *store.Message, times *[3]int64, extra ...any) []any {
	return append([]any{&m.ID, &m.Instance, &m.Sequence, &m.Operation, (*[]byte)(&m.Arguments), (*string)(&m.Origin), &m.IdempotencyKey,
		&m.Fingerprint, &m.Attempts, &m.MaxAttempts, &times[0], &times[1], &times[2], (*string)(&m.Status),
		(*[]byte)(&m.Result), (*[]byte)(&m.Rejection), &m.ErrorKind, (*[]byte)(&m.Meta), &m.Type, &m.ActorID}, extra...)
}

func setTimes(m *store.Message, times *[3]int64) {
	m.EnqueuedAt, m.AvailableAt, m.FinishedAt = fromMicros(times[0]), fromMicros(times[1]), fromMicros(times[2])
}

func scanMessage(rows pgx.Rows, m *store.Message, extra ...any) error {
	var times [3]int64
	if err := rows.Scan(readMessage(m, &times, extra...)...); err != nil {
		return err
	}
	setTimes(m, &times)
	return nil
}

// lock gathers the locking and then the reading of instances, by id and by actor.
func (w *work) lock(how statement, ids []string, keys []store.Key) {
	types, actorIDs := make([]string, len(keys)), make([]string, len(keys))
	for i, k := range keys {
		types[i], actorIDs[i] = k.Type, k.ID
	}
	if ids == nil {
		ids = []string{}
	}
	w.enter(ids, keys)
	w.query(how, func(rows pgx.Rows) error {
		var id string
		err := rows.Scan(&id)
		w.locked[id] = true
		return err
	}, ids, types, actorIDs)
	w.clock(&w.now)
	w.query(loadBoxes, w.loaded, ids, types, actorIDs)
}

// loaded takes a row of an instance in: it is locked by us, or busy.
func (w *work) loaded(rows pgx.Rows) error {
	b := &box{}
	var claimed *string
	var due *int64
	if err := rows.Scan(b.scan(&claimed, &due)...); err != nil {
		return err
	}
	if !w.locked[b.id] {
		w.busy[b.id], w.busyKeys[b.key] = true, true
		return nil
	}
	if claimed != nil {
		b.claimed = *claimed
	}
	if due != nil {
		b.ready, b.due = true, *due
	}
	w.keep(b)
	return nil
}

// keep takes a box in as it is in the database.
func (w *work) keep(b *box) {
	if w.boxes[b.id] != nil {
		return
	}
	b.wasClaim, b.wasReady, b.wasDue = b.claimed, b.ready, b.due
	b.messages = map[int64]*message{}
	w.boxes[b.id], w.byKey[b.key] = b, b
}

// heads gathers the reading of messages, each by its instance and its distance from the head.
func (w *work) heads(instances []string, behind []int64) {
	if len(instances) == 0 {
		return
	}
	w.query(loadHeads, w.tookMessage, instances, behind)
}

func (w *work) tookMessage(rows pgx.Rows) error {
	m := &message{}
	if err := scanMessage(rows, &m.Message); err != nil {
		return err
	}
	if b := w.boxes[m.Instance]; b != nil {
		b.messages[m.Sequence] = m
	}
	w.count(&m.Message)
	return nil
}

// count adds the attempt of a message that was read while it is claimed.
func (w *work) count(m *store.Message) {
	if b := w.boxes[m.Instance]; b != nil && b.wasClaim == m.ID {
		m.Attempts++
	}
}

// at is the message of a sequence, read now if it was not foreseen; nil where there is none.
func (w *work) at(b *box, sequence int64) (*message, error) {
	if m := b.messages[sequence]; m != nil || sequence >= b.next {
		return m, nil
	}
	w.query(loadMessage, w.tookMessage, b.id, sequence)
	if err := w.sync(); err != nil {
		return nil, err
	}
	m := b.messages[sequence]
	if m == nil {
		return nil, fmt.Errorf("message %d of instance %s is live, but not there", sequence, b.id)
	}
	return m, nil
}

// find is the box of an actor, made here where it has none; busy where somebody else has it.
func (w *work) find(k store.Key) (b *box, busy bool, err error) {
	if b := w.byKey[k]; b != nil {
		return b, false, nil
	}
	if w.busyKeys[k] {
		return nil, true, nil
	}
	id, err := newID()
	if err != nil {
		return nil, false, err
	}
	b = &box{id: id, key: k, head: 1, next: 1, created: true}
	w.keep(b)
	return b, false, nil
}

// fenced is the box whose lease f holds; busy where somebody else has it.
func (w *work) fenced(f *store.Fence) (*box, store.Outcome) {
	b := w.boxes[f.Instance]
	switch {
	case b == nil && w.busy[f.Instance]:
		return nil, store.Busy
	case b == nil || !b.holds(f, w.now):
		return nil, store.Fenced
	}
	return b, store.Done
}

// holds says whether f matches and its lease has not expired.
func (b *box) holds(f *store.Fence, now int64) bool {
	return b.id == f.Instance && b.owner != "" && b.owner == f.Owner && b.token == f.Token && b.generation == f.Generation && b.lease > now
}

// free says whether nobody holds the lease.
func (b *box) free(now int64) bool { return b.owner == "" || b.lease <= now }

// disown ends the lease, whoever has it; the generation stays, so that it never repeats.
func (b *box) disown() { b.owner, b.token, b.lease, b.changed = "", "", 0, true }

// claim takes the lease for the message m; one that the owner holds already keeps token and generation.
func (w *work) claim(b *box, m *message, c *store.Claim, token string) *store.Activation {
	if b.owner != c.Owner || b.lease <= w.now {
		b.generation, b.token = b.generation+1, token
	}
	b.owner, b.lease = c.Owner, w.now+c.Lease.Microseconds()
	w.start(b, m)
	return w.activation(b, m)
}

// start makes m the claimed message and counts its attempt: a row of claimed stands for one more than the message's
// own row says, until the claim ends.
func (w *work) start(b *box, m *message) {
	b.claimed, b.ready, b.changed = m.ID, false, true
	m.Attempts++
}

// tried writes into the message's row that an attempt was made; its claim ends with this transaction.
func (w *work) tried(id string) { w.changes.message(id).attempts++ }

// activation is the claimed turn; its snapshot's state is read when the claim is written.
func (w *work) activation(b *box, m *message) *store.Activation {
	a := &store.Activation{Turn: w.turn(b, m)}
	a.Snapshot = actors.Snapshot{
		Stamp:     actors.Stamp{Instance: b.id, Revision: b.revision, Message: b.message},
		Broadcast: b.broadcast, Version: int(b.version),
	}
	switch {
	case b.state != nil:
		a.Snapshot.State = slices.Clone(b.state)
	case !b.created:
		b.wanted = a
	}
	return a
}

func (w *work) turn(b *box, m *message) store.Turn {
	return store.Turn{
		Fence:   store.Fence{Instance: b.id, Owner: b.owner, Token: b.token, Generation: b.generation},
		Message: m.Message, Claimed: fromMicros(w.now), Lease: fromMicros(b.lease),
	}
}

// wait puts the head m into ready. It begins to wait now, or when it is due.
func (w *work) wait(b *box, m *message) {
	b.ready, b.due, b.claimed, b.changed = true, max(micros(m.AvailableAt), w.now), "", true
	if b.paused != 0 {
		b.due = never
	}
}

// isDue says whether the head m may run now.
func (w *work) isDue(b *box, m *message) bool { return b.paused == 0 && micros(m.AvailableAt) <= w.now }

func exhausted(m *message) bool { return m.Attempts >= m.MaxAttempts }

// ownerLost is the kind of a dead letter whose last attempt nobody ended.
const ownerLost = "owner lost"

// bury makes dead letters of the head m and those after it, as long as they have no attempt left, and returns the
// first that has one, or nil.
func (w *work) bury(b *box, m *message) (_ *message, dead []store.DeadLetter, err error) {
	const text = "the process that ran it ended or lost its lease during the last attempt"
	for m != nil && exhausted(m) {
		w.dead(m.ID, ownerLost, text, "")
		d := store.DeadLetter{ID: m.ID, Message: m.Message, ErrorKind: ownerLost, ErrorText: text, FailedAt: fromMicros(w.now)}
		d.Message.Status, d.Message.ErrorKind, d.Message.FinishedAt = store.Dead, ownerLost, d.FailedAt
		dead = append(dead, d)
		b.head++
		b.changed, b.ready, b.claimed = true, false, ""
		if m, err = w.at(b, b.head); err != nil {
			return nil, nil, err
		}
	}
	return m, dead, nil
}

// takeBack ends an instance's lease, whoever has it, and returns its claimed message to ready, or makes it a dead letter
// where it has no attempt left; graceful gives the attempt back.
func (w *work) takeBack(b *box, graceful bool, rec *store.Recovered) error {
	b.disown()
	if b.claimed == "" {
		return nil
	}
	m, err := w.at(b, b.head)
	if err != nil {
		return err
	}
	rec.Messages++
	if graceful {
		m.Attempts = max(m.Attempts-1, 0)
	} else {
		w.tried(m.ID)
		var dead []store.DeadLetter
		if m, dead, err = w.bury(b, m); err != nil {
			return err
		}
		rec.Dead = append(rec.Dead, dead...)
	}
	if m == nil {
		b.claimed = ""
		return nil
	}
	w.wait(b, m)
	return nil
}

// revert takes back what the transaction put into its items, so that they can be tried again.
func (w *work) revert() {
	for i := len(w.undo) - 1; i >= 0; i-- {
		w.undo[i]()
	}
	w.undo = w.undo[:0]
}

// restore takes *p back, should the transaction not commit.
func restore[T any](w *work, p *T) {
	before := *p
	w.undo = append(w.undo, func() { *p = before })
}

// newID makes an id that sorts by time.
func newID() (string, error) {
	id, err := uuid.NewV7()
	return id.String(), err
}

func byID(a, b *box) int { return strings.Compare(a.id, b.id) }
