package mysql

import (
	"fmt"
	"slices"
	"strings"

	"github.com/google/uuid"

	"github.com/lockstep-go/lockstep/actors"
	"github.com/lockstep-go/lockstep/runtime/store"
)

// work is one writing transaction: it locks instances, reads what it needs of them in batches, decides in memory, where
// later items see earlier ones, and writes what came of it in batches. What is in memory is the truth as long as the
// locks are held.
type work struct {
	*session
	now  int64 // server time, read once the locks were held
	undo []func()
	// waits: rows of others are queued for, in order.
	waits bool
	// manual: the session does not commit by itself, and is to do so again once the transaction is over.
	manual bool

	instances map[string]*instance // locked ones, by id
	addresses map[store.Key]*instance
	elsewhere map[string]bool    // asked for, and held by another session
	forming   map[store.Key]bool // another session is making them

	messages map[string]*message // by id
	queued   map[place]*message  // behind the heads
	keys     map[string]*message // by instance, "/" and idempotency key; nil: there is none
	pending  map[string]*broadcast
	unstated []*store.Activation // whose state is to be read

	outbox
}

// outbox is what is to be written.
type outbox struct {
	performed []any // effects that succeeded

	changed    []*instance
	inserted   []*message
	ended      []*message
	attempted  []*message
	failed     []*message
	ready      map[string]*head // nil: to be deleted
	pushed     map[place]string // message ids
	popped     []place
	effects    []any
	sends      []any
	reminders  map[reminderName][]any // nil: cancelled
	broadcasts []*broadcast
	delivered  []string
	dead       []any
}

// place is a sequence of an instance.
type place struct {
	instance string
	sequence int64
}

type reminderName struct{ instance, operation, key string }

func newWork(q *session) *work {
	w := &work{session: q, forming: map[store.Key]bool{}}
	w.forget()
	return w
}

// forget empties the memory, for what is read and written next.
func (w *work) forget() {
	w.instances, w.addresses, w.elsewhere = map[string]*instance{}, map[store.Key]*instance{}, map[string]bool{}
	w.messages, w.queued, w.keys = map[string]*message{}, map[place]*message{}, map[string]*message{}
	w.pending, w.unstated = map[string]*broadcast{}, nil
	w.outbox = outbox{ready: map[string]*head{}, pushed: map[place]string{}, reminders: map[reminderName][]any{}}
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

// instance is a locked row of instances.
type instance struct {
	store.Key
	id               string
	head, next       int64
	tail             string
	owner, token     string
	generation       int64
	lease            int64
	claimed          string // message id, or ""
	paused           int64  // since when, or 0
	revision         int64
	message          string
	previous         int64 // broadcast revision before the last
	broadcast        int64
	broadcastMessage string
	used             int64
	version          int64
	state            []byte

	made    bool // by this transaction
	stated  bool // state is to be written
	changed bool
}

// instanceColumns is how many columns the statements that lock instances begin with.
const instanceColumns = 19

func readInstance(r row) *instance {
	return &instance{
		id: r.text(0), Key: store.Key{Type: r.text(1), ID: r.text(2)}, head: r.int(3), next: r.int(4), tail: r.text(5),
		owner: r.text(6), token: r.text(7), generation: r.int(8), lease: r.int(9), claimed: r.text(10), paused: r.int(11),
		revision: r.int(12), message: r.text(13), previous: r.int(14), broadcast: r.int(15), broadcastMessage: r.text(16),
		used: r.int(17), version: r.int(18),
	}
}

// free says whether nobody else than owner holds the lease.
func (i *instance) free(owner string, now int64) bool {
	return i.owner == "" || i.lease <= now || i.owner == owner
}

// holds says whether the whole fence matches and the lease has not expired.
func (i *instance) holds(f *store.Fence, now int64) bool {
	return i.owner != "" && i.owner == f.Owner && i.token == f.Token && i.generation == f.Generation && i.lease > now
}

// disown ends the lease; the generation stays, so that it never repeats.
func (i *instance) disown() { i.owner, i.token, i.lease = "", "", 0 }

// keep has the row written.
func (w *work) keep(i *instance) {
	if !i.changed {
		i.changed = true
		w.changed = append(w.changed, i)
	}
}

var (
	findInstances  = declare("find")
	createInstance = declare("create")
	lockInstances  = declare("lock")
	lockWaiting    = declare("lock_waiting")
	lockAddress    = declare("lock_address")
	existInstances = declare("exists")
)

// add takes a locked row in, unless it is there already, in which case what is in memory is newer.
func (w *work) add(i *instance) *instance {
	if known := w.instances[i.id]; known != nil {
		return known
	}
	w.instances[i.id], w.addresses[i.Key] = i, i
	return i
}

// unlocked are those of ids that are not locked, sorted, each once.
func (w *work) unlocked(ids []string) []string {
	var list []string
	for _, id := range ids {
		if id != "" && w.instances[id] == nil {
			list = append(list, id)
		}
	}
	slices.Sort(list)
	return slices.Compact(list)
}

// lock takes instances by primary key; those that others hold are skipped and remembered as elsewhere.
func (w *work) lock(ids []string) error {
	ids = w.unlocked(ids)
	err := w.each(lockInstances, 1, listAny(ids), func(r row) error {
		w.add(readInstance(r))
		return nil
	})
	if err != nil {
		return err
	}
	return w.each(existInstances, 1, listAny(w.unlocked(ids)), func(r row) error {
		w.elsewhere[r.text(0)] = true
		return nil
	})
}

// lockWaiting is lock with a wait for those that others hold, in the order of the primary key.
func (w *work) lockWaiting(ids []string) error {
	return w.each(lockWaiting, 1, listAny(w.unlocked(ids)), func(r row) error {
		w.add(readInstance(r))
		return nil
	})
}

// find looks up the instances of actors, without a lock.
func (w *work) find(keys []store.Key) (map[store.Key]string, error) {
	found := map[store.Key]string{}
	var args []any
	for _, k := range keys {
		args = append(args, k.Type, k.ID)
	}
	err := w.each(findInstances, 2, args, func(r row) error {
		found[store.Key{Type: r.text(1), ID: r.text(2)}] = r.text(0)
		return nil
	})
	return found, err
}

// look finds the instances of actors before the transaction begins, and which of the missing ones other sessions are
// making: to insert those would be to wait for the end of transactions that may be the application's.
func (w *work) look(keys []store.Key) error {
	keys = sortedAddresses(keys)
	found, err := w.find(keys)
	if err != nil {
		return err
	}
	missing := without(keys, found)
	if len(missing) == 0 {
		return nil
	}
	if _, err := w.exec(isolationDirty); err != nil {
		return err
	}
	dirty, err := w.find(missing)
	for k := range dirty {
		w.forming[k] = true
	}
	return err
}

func sortedAddresses(keys []store.Key) []store.Key {
	slices.SortFunc(keys, compareKeys)
	return slices.Compact(keys)
}

// without are the keys that were not found.
func without(keys []store.Key, found map[store.Key]string) (missing []store.Key) {
	for _, k := range keys {
		if found[k] == "" {
			missing = append(missing, k)
		}
	}
	return missing
}

// resolve finds the instances of actors and makes those that are missing, all in the order of the addresses. It is the
// only wait for others within a flush, so it comes before any other lock.
func (w *work) resolve(keys []store.Key) ([]string, error) {
	keys = sortedAddresses(keys)
	found, err := w.find(keys)
	if err != nil {
		return nil, err
	}
	var args []any
	var missing []store.Key
	made := map[string]bool{}
	for _, k := range without(keys, found) {
		if w.forming[k] {
			continue
		}
		id, err := newID()
		if err != nil {
			return nil, err
		}
		made[id] = true
		missing, args = append(missing, k), append(args, id, k.Type, k.ID)
	}
	if len(missing) > 0 {
		if _, err := w.many(createInstance, 3, args); err != nil {
			return nil, err
		}
		again, err := w.find(missing)
		if err != nil {
			return nil, err
		}
		for k, id := range again {
			found[k] = id
			if made[id] {
				w.keep(w.add(&instance{id: id, Key: k, head: 1, next: 1, made: true}))
			}
		}
	}
	ids := make([]string, 0, len(found))
	for _, id := range found {
		ids = append(ids, id)
	}
	return ids, nil
}

func compareKeys(a, b store.Key) int {
	if n := strings.Compare(a.Type, b.Type); n != 0 {
		return n
	}
	return strings.Compare(a.ID, b.ID)
}

// tick reads the clock, after the locks. On the way it learns which of these message ids history has, and reads those
// messages.
func (w *work) tick(ids []string) error {
	var known []string
	w.now = 0
	each := func(r row) error {
		if at := r.int(0); at > w.now {
			w.now = at
		}
		if len(r) > 1 && !r.null(1) {
			known = append(known, r.text(1))
		}
		return nil
	}
	if len(ids) == 0 {
		if err := w.all(clockRead, each); err != nil {
			return err
		}
	} else if err := w.each(clockKnown, 1, listAny(ids), each); err != nil {
		return err
	}
	if w.now == 0 {
		return fmt.Errorf("the server has no clock")
	}
	w.now += w.store.offset.Load()
	return w.load(known)
}

// newID makes an id that sorts by time.
func newID() (string, error) {
	id, err := uuid.NewV7()
	return id.String(), err
}

// snapshot is the instance's committed state, as far as it is in memory.
func (i *instance) snapshot() actors.Snapshot {
	return actors.Snapshot{
		Stamp:     actors.Stamp{Instance: i.id, Revision: i.revision, Message: i.message},
		Broadcast: i.broadcast, Version: int(i.version), State: i.state,
	}
}
