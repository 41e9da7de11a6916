package postgres

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/lockstep-go/lockstep/runtime/store"
)

var unchanged = declare("unchanged")

const (
	// maxRemembered bounds how many instances a memory has, some 500 B each.
	maxRemembered = 16_384
	// readingAge is how long a reading of the database's clock counts for more than one that came later and shows less.
	readingAge = 10 * time.Second
)

// memory is how transactions of this store left instances whose lease somebody has, and of which no message waits. A
// flush that is about such instances only needs to read nothing: it says what it takes them for, and its transaction
// fails where one has changed. Every change of an instance, of its place in ready and claimed, and of its live messages
// changes one of the columns that are compared.
type memory struct {
	mu    sync.Mutex
	boxes map[string]*box
	byKey map[store.Key]*box
	news  map[string]*box // by the id of the pending broadcast

	// How many transactions of this store are at work with an instance or an actor and have not been taken yet: to say
	// what those are would be a guess.
	under    map[string]int
	underKey map[store.Key]int

	doubts  []*doubt
	reading int64 // of the database's clock, without the store's offset
	readAt  time.Time
}

// take remembers how a transaction left its instances.
func (m *memory) take(boxes map[string]*box) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.boxes == nil {
		m.boxes, m.byKey, m.news = map[string]*box{}, map[store.Key]*box{}, map[string]*box{}
	}
	for _, b := range boxes {
		older := m.boxes[b.id]
		m.drop(older)
		if !b.settled() {
			continue
		}
		left := *b
		left.state, left.wanted, left.messages = nil, nil, nil
		if !left.heard && older != nil && older.broadcast == left.broadcast {
			left.heard, left.news = older.heard, older.news
		}
		if left.news != nil {
			left.news = new(*left.news)
			m.news[left.news.ID] = &left
		}
		m.boxes[left.id], m.byKey[left.key] = &left, &left
		for _, any := range m.boxes {
			if len(m.boxes) <= maxRemembered {
				break
			}
			m.drop(any)
		}
	}
}

// enter notes that a transaction is about to work with instances and actors, until it leaves.
func (m *memory) enter(ids []string, keys []store.Key) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.under == nil {
		m.under, m.underKey = map[string]int{}, map[store.Key]int{}
	}
	for _, id := range ids {
		m.under[id]++
	}
	for _, k := range keys {
		m.underKey[k]++
	}
}

func (m *memory) leave(ids []string, keys []store.Key) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, id := range ids {
		if m.under[id]--; m.under[id] == 0 {
			delete(m.under, id)
		}
	}
	for _, k := range keys {
		if m.underKey[k]--; m.underKey[k] == 0 {
			delete(m.underKey, k)
		}
	}
}

// settled says whether nothing is to be known of b's messages but which one is claimed.
func (b *box) settled() bool {
	live := b.next - b.head
	return !b.created && b.owner != "" && b.paused == 0 && !b.ready && (b.claimed == "" && live == 0 || b.claimed != "" && live == 1)
}

func (m *memory) drop(b *box) {
	if b == nil {
		return
	}
	delete(m.boxes, b.id)
	delete(m.byKey, b.key)
	if b.news != nil {
		delete(m.news, b.news.ID)
	}
}

// forget drops instances of which something else may have become.
func (m *memory) forget(boxes map[string]*box) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for id := range boxes {
		m.drop(m.boxes[id])
	}
}

// delivered notes that broadcasts were handed on.
func (m *memory) delivered(ids []string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, id := range ids {
		if b := m.news[id]; b != nil {
			after := new(*b)
			after.news = nil
			m.boxes[b.id], m.byKey[b.key] = after, after
			delete(m.news, id)
		}
	}
}

// recall returns the boxes that f is about, which do not change, or nil where it needs to read something.
func (m *memory) recall(f *store.Flush) map[string]*box {
	if len(f.Claims) > 0 || len(f.Commits)+len(f.Failures)+len(f.Releases)+len(f.Renewals)+len(f.Enqueues) == 0 {
		return nil
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	boxes := map[string]*box{}
	know := func(b *box) bool {
		if b == nil || m.under[b.id]+m.underKey[b.key] > 0 {
			return false
		}
		boxes[b.id] = b
		return true
	}
	for _, c := range f.Commits {
		if b := m.boxes[c.Fence.Instance]; !know(b) || c.Action != nil || c.Broadcast != nil && !b.heard {
			return nil
		}
	}
	for _, x := range f.Failures {
		if !know(m.boxes[x.Fence.Instance]) || !x.Final {
			return nil
		}
	}
	for _, x := range f.Releases {
		if b := m.boxes[x.Fence.Instance]; !know(b) || b.claimed != "" {
			return nil
		}
	}
	for _, x := range f.Renewals {
		if !know(m.boxes[x.Fence.Instance]) {
			return nil
		}
	}
	for _, e := range f.Enqueues {
		if !know(m.byKey[store.Key{Type: e.Message.Type, ID: e.Message.ActorID}]) {
			return nil
		}
	}
	return boxes
}

// read takes in a reading of the database's clock that arrived just now.
func (m *memory) read(now int64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	age := time.Since(m.readAt)
	if ahead := m.reading + age.Microseconds() - now; m.reading == 0 || age > readingAge || ahead <= 0 || ahead > time.Second.Microseconds() {
		m.reading, m.readAt = now, time.Now()
	}
}

// unread forgets what was read of a clock that may have been set.
func (m *memory) unread() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.reading = 0
}

// now is where the database's clock must be, or a little less; 0 where it was never read.
func (m *memory) now() int64 {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.reading == 0 {
		return 0
	}
	return m.reading + time.Since(m.readAt).Microseconds()
}

// errUnknown is a flush that needs to read something.
var errUnknown = errors.New("not all that the flush needs is known")

// flushKnown tries to do with what is remembered, in one round trip; not where it says so, with nothing written.
func (s *Store) flushKnown(ctx context.Context, f *store.Flush) (done bool, err error) {
	if d := s.memory.doubtOf(f); d != nil {
		return s.settle(ctx, d)
	}
	now, boxes := s.memory.now(), s.memory.recall(f)
	if boxes == nil || now == 0 {
		return false, nil
	}
	d := &doubt{flush: f, before: boxes, now: now + s.offset.Load()}
	err = s.attempt(ctx, indexPatience, func(w *work) error {
		if len(f.Delivered) > 0 {
			w.exec(broadcastDelivered, f.Delivered)
		}
		w.now = d.now
		w.unchanged(boxes, f.Enqueues)
		return w.decide(f, boxes)
	})
	switch {
	case errors.Is(err, store.ErrUnclear):
		s.memory.inDoubt(d)
		err = fmt.Errorf("%w: %w", store.ErrTransient, err)
	case err != nil && (errors.Is(err, errUnknown) || culprit(err) || stale(err)):
		s.memory.unread() // it may have been the clock: what is done instead reads it
		return false, nil
	}
	return true, translate("flush", err)
}

// decide works at items by what is known of their boxes, of which it makes copies.
func (w *work) decide(f *store.Flush, boxes map[string]*box) error {
	for _, b := range boxes {
		b = new(*b)
		if b.news != nil && slices.Contains(f.Delivered, b.news.ID) {
			b.news = nil
		}
		if b.news != nil {
			w.pending[b.id] = b.news
		}
		w.keep(b)
	}
	if err := w.turns(f); err != nil {
		return err
	}
	if !all(f, store.Done) { // what is refused is refused by what the database says
		return errUnknown
	}
	return nil
}

// unchanged gathers the locking of boxes and the comparison, and the look for the keys of enqueues.
func (w *work) unchanged(boxes map[string]*box, es []*store.Enqueue) {
	var id, owner, token []string
	var head, next, generation, lease []int64
	ids := map[store.Key]string{}
	for _, b := range slices.SortedFunc(maps.Values(boxes), byID) {
		id, owner, token = append(id, b.id), append(owner, b.owner), append(token, b.token)
		head, next = append(head, b.head), append(next, b.next)
		generation, lease = append(generation, b.generation), append(lease, b.lease)
		ids[b.key] = b.id
	}
	instances, keys := []string{}, []string{}
	for _, e := range es {
		if m := &e.Message; m.IdempotencyKey != "" {
			instances, keys = append(instances, ids[store.Key{Type: m.Type, ID: m.ActorID}]), append(keys, m.IdempotencyKey)
		}
	}
	offset := w.store.offset.Load()
	w.query(unchanged, func(rows pgx.Rows) error {
		var now int64
		err := rows.Scan(&now, nil)
		w.store.memory.read(now - offset)
		return err
	}, id, head, next, owner, token, generation, lease, w.now, offset, instances, keys)
}
