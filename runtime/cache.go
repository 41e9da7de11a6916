package runtime

import (
	"container/list"
	"context"
	"encoding/json"
	"sync"
	"time"

	"github.com/lockstep-go/lockstep/actors"
	"github.com/lockstep-go/lockstep/runtime/store"
)

// activation is an actor in memory under its lease. Its state belongs to whoever runs its turn; the cache's lock
// guards the rest.
type activation struct {
	address actors.Address
	def     *actors.Definition
	fence   store.Fence

	ctx    context.Context // of its turns: ends when the lease is lost
	cancel context.CancelCauseFunc
	lease  leaseClock

	// What the turn's goroutine owns.
	state    any                        // *S, nil until loaded
	snapshot actors.Snapshot            // as claimed, until loaded
	base     json.RawMessage            // the state before its activation hook, to be restored from
	encoded  json.RawMessage            // the state as it would be stored
	values   map[string]json.RawMessage // of the observables for it
	revision int64
	origin   int64 // the revision as claimed: those above it are this activation's own
	stored   bool  // a commit has stored state
	dirty    bool  // migration or hook changed what is stored: the next commit stores and names everything
	assist   *assist
	seen     attempted // of the turn under way
	begun    time.Time // when that began

	// What the cache's lock guards.
	busy  bool // a turn runs or its end is being committed
	pins  int  // flushes under way that name its fence
	slot  bool // it holds one of the workers' slots
	gone  bool
	bytes int
	idle  *list.Element
	since time.Time // idle since

	// The pass.
	turns   int
	started time.Time
}

// leaseClock judges how much of a lease is left here, by the less hopeful of the monotonic and the wall clock.
type leaseClock struct {
	taken time.Time
	lasts time.Duration
}

func (l leaseClock) over(now time.Time) bool {
	elapsed := max(now.Sub(l.taken), now.Round(0).Sub(l.taken.Round(0)))
	return elapsed >= l.lasts
}

// cache holds the activations of this process, bounded in number and bytes; the longest idle go first (G33).
type cache struct {
	mu      sync.Mutex
	byActor map[actors.Address]*activation
	// leaving are fences whose release is on its way. A scan of this process may find such a lease its own and claim
	// the actor's next message under the very fence: the release gives that back too, so its turn must not begin. The value says that this was so.
	leaving map[store.Fence]bool
	// lost are activations that were dropped in the middle of a turn, until that turn has come to its end.
	lost     map[*activation]bool
	idle     list.List // of *activation, longest idle first
	bytes    int
	maxCount int
	maxBytes int
}

func (c *cache) init(count, bytes int) {
	c.byActor, c.leaving, c.lost = map[actors.Address]*activation{}, map[store.Fence]bool{}, map[*activation]bool{}
	c.maxCount, c.maxBytes = count, bytes
}

// fenceFor pins the cached activation of an actor and returns its fence, or nil.
func (c *cache) fenceFor(a actors.Address) *store.Fence {
	c.mu.Lock()
	defer c.mu.Unlock()
	act := c.byActor[a]
	if act == nil {
		return nil
	}
	act.pins++
	return &act.fence
}

// unpin undoes fenceFor and returns the activation if it is still the one with that fence.
func (c *cache) unpin(a actors.Address, fence store.Fence) *activation {
	c.mu.Lock()
	defer c.mu.Unlock()
	act := c.byActor[a]
	if act == nil || act.fence != fence {
		return nil
	}
	act.pins--
	return act
}

// leased notes a lease as just taken or renewed.
func (c *cache) leased(act *activation, l leaseClock) {
	c.mu.Lock()
	act.lease = l
	c.mu.Unlock()
}

// begin takes an activation out of idleness for a turn.
func (c *cache) begin(act *activation) {
	c.mu.Lock()
	defer c.mu.Unlock()
	act.busy = true
	if act.idle != nil {
		c.idle.Remove(act.idle)
		act.idle = nil
	}
}

// add puts in a new activation, in place of an older one of the actor, which is returned; false where its fence is
// leaving.
func (c *cache) add(act *activation) (old *activation, ok bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if _, leaving := c.leaving[act.fence]; leaving {
		c.leaving[act.fence] = true
		return nil, false
	}
	if old = c.byActor[act.address]; old != nil {
		c.remove(old)
	}
	c.byActor[act.address] = act
	act.busy = true
	return old, true
}

// leave notes that a fence is about to be released, left that it was; the latter says whether a message waits again.
func (c *cache) leave(f store.Fence) {
	c.mu.Lock()
	c.leaving[f] = false
	c.mu.Unlock()
}

func (c *cache) left(f store.Fence) (again bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	again = c.leaving[f]
	delete(c.leaving, f)
	return again
}

// rest makes an activation idle and returns those that must go to make room; their fences are leaving.
func (c *cache) rest(act *activation, now time.Time) (evicted []*activation) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if act.gone {
		return nil
	}
	act.busy, act.turns, act.since = false, 0, now
	c.bytes += len(act.encoded) - act.bytes
	act.bytes = len(act.encoded)
	if act.idle == nil {
		act.idle = c.idle.PushBack(act)
	}
	for e := c.idle.Front(); e != nil && (len(c.byActor) > c.maxCount || c.bytes > c.maxBytes); {
		next := e.Next()
		if oldest := e.Value.(*activation); oldest.pins == 0 {
			c.remove(oldest)
			c.leaving[oldest.fence] = false
			evicted = append(evicted, oldest)
		}
		e = next
	}
	return evicted
}

// drop forgets an activation.
func (c *cache) drop(act *activation) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !act.gone {
		c.remove(act)
	}
}

func (c *cache) remove(act *activation) {
	act.gone = true
	if act.busy {
		c.lost[act] = true
	}
	if c.byActor[act.address] == act {
		delete(c.byActor, act.address)
	}
	if act.idle != nil {
		c.idle.Remove(act.idle)
		act.idle = nil
	}
	c.bytes -= act.bytes
	act.bytes = 0
}

// takeIdle forgets and returns activations idle since before then; all idle ones for a zero then. Their fences are
// leaving.
func (c *cache) takeIdle(then time.Time) (taken []*activation) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for e := c.idle.Front(); e != nil; {
		next := e.Next()
		act := e.Value.(*activation)
		if !then.IsZero() && act.since.After(then) {
			break
		}
		if act.pins == 0 {
			c.remove(act)
			c.leaving[act.fence] = false
			taken = append(taken, act)
		}
		e = next
	}
	return taken
}

// all lists the activations.
func (c *cache) all() []*activation {
	c.mu.Lock()
	defer c.mu.Unlock()
	list := make([]*activation, 0, len(c.byActor))
	for _, act := range c.byActor {
		list = append(list, act)
	}
	return list
}

// settle notes that the turn of an activation has come to its end.
func (c *cache) settle(act *activation) {
	c.mu.Lock()
	delete(c.lost, act)
	c.mu.Unlock()
}

// busy lists the activations in whose turns the process is, also those that it has lost meanwhile.
func (c *cache) busy() (list []*activation) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for act := range c.lost {
		list = append(list, act)
	}
	for _, act := range c.byActor {
		if act.busy {
			list = append(list, act)
		}
	}
	return list
}

// find returns an actor's activation, or nil.
func (c *cache) find(a actors.Address) *activation {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.byActor[a]
}
