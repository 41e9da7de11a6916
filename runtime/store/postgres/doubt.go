package postgres

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/lockstep-go/lockstep/runtime/store"
)

// doubt is a flush that went out in one round trip of which no answer came: it was written as a whole, or not at all.
type doubt struct {
	flush  *store.Flush
	before map[string]*box
	now    int64 // by which it was decided
}

// maxDoubts bounds what is kept for flushes that nobody tries again.
const maxDoubts = 16

func (m *memory) inDoubt(d *doubt) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.doubts = append(m.doubts, d)
	if n := len(m.doubts) - maxDoubts; n > 0 {
		m.doubts = slices.Delete(m.doubts, 0, n)
	}
}

func (m *memory) doubtOf(f *store.Flush) *doubt {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, d := range m.doubts {
		if d.flush == f {
			return d
		}
	}
	return nil
}

func (m *memory) settled(d *doubt) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.doubts = slices.DeleteFunc(m.doubts, func(o *doubt) bool { return o == d })
}

// settle finds out what became of a flush in doubt: done with what it had decided, or not written. Every error
// wraps store.ErrUnclear: with store.ErrTransient or store.ErrNotWritable while the server does not say, and alone where others have
// been at the same actors since.
func (s *Store) settle(ctx context.Context, d *doubt) (done bool, err error) {
	decided := newWork(&pipe{store: s})
	decided.now = d.now
	if err := decided.decide(d.flush, d.before); err != nil {
		decided.revert()
		return true, fmt.Errorf("%w: %w", store.ErrUnclear, err)
	}
	found := map[string]*box{}
	err = s.transact(ctx, "settle a flush", indexPatience, func(w *work) error {
		w.lock(lockWait, slices.Sorted(maps.Keys(d.before)), nil) // waits for the backend that may still be at it
		err := w.sync()
		found = w.boxes
		return err
	})
	done = err == nil && same(found, decided.boxes)
	if !done {
		decided.revert()
	}
	if err != nil {
		return true, fmt.Errorf("%w: %w", store.ErrUnclear, err)
	}
	s.memory.settled(d)
	if !done && !same(found, d.before) {
		return true, fmt.Errorf("flush: %w", store.ErrUnclear)
	}
	return done, nil
}

// same says whether two sets of instances are alike by what memory compares.
func same(a, b map[string]*box) bool {
	return maps.EqualFunc(a, b, func(a, b *box) bool {
		return a.head == b.head && a.next == b.next && a.owner == b.owner && a.token == b.token && a.generation == b.generation &&
			a.lease == b.lease && a.paused == b.paused
	})
}
