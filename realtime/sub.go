package realtime

import (
	"slices"

	"github.com/lockstep-go/lockstep/actors"
	"github.com/lockstep-go/lockstep/realtime/wire"
)

// sub is one scope of one page, following one actor.
type sub struct {
	conn    *conn
	topic   *topic
	scope   string
	number  int64
	brought map[string]brought // what the page shows already, by target name; for its first answer
	lists   bool               // its client understands patches of lists
	twin    bool               // another scope of its page followed the same actor at some time; guarded by topic.mu

	// Guarded by topic.mu.
	order  []*shown            // what it shows: first what it was subscribed with, then what fragments brought
	counts map[*shown]int      // why: its tokens, and each parent whose newest fragment holds it
	nested map[*shown][]*shown // by parent
	epoch  int                 // of its last answer
	has    map[*shown]*version // the lists that it shows once all that was queued has arrived; nil where that is unclear

	// Guarded by conn.mu.
	answered bool              // its live fragments may be sent
	held     map[string]*frame // those that wait for its answer
	gone     bool
}

// brought is what the page already shows of a target, by the token it came with.
type brought struct {
	stamp  actors.Stamp
	build  string
	viewer string
}

// count adds a reason to show a target; topic.mu is held.
func (s *sub) count(at *shown) {
	if s.counts[at]++; s.counts[at] == 1 {
		s.order = append(s.order, at)
		s.conn.shows.Add(1)
	}
}

// uncount takes one away and says whether it was the last.
func (s *sub) uncount(at *shown) bool {
	n := s.counts[at]
	if n > 1 {
		s.counts[at]--
	}
	if n != 1 {
		return false
	}
	delete(s.counts, at)
	s.forgets(at)
	s.conn.shows.Add(-1)
	s.order = slices.DeleteFunc(s.order, func(o *shown) bool { return o == at })
	return true
}

// join makes the subscription part of its actor's topic, so that from here on no commit passes it by.
func (s *sub) join(targets []wire.Target, parts []Component, names []string) {
	t := s.topic
	t.mu.Lock()
	defer t.mu.Unlock()
	t.subs[s] = true
	t.hub.meter.Gauge(GaugeSubscriptions, 1)
	for i, target := range targets {
		s.count(t.add(s, target, names[i], parts[i]))
	}
}

// leave undoes join; nothing of the subscription is sent any more. others says whether the page goes on showing the
// actor elsewhere. It is the worker's to call.
func (s *sub) leave(others bool) {
	c, t := s.conn, s.topic
	c.mu.Lock()
	s.gone = true
	s.held = nil
	c.todo.forget(s)
	if !others {
		c.out.purge(t)
	}
	c.mu.Unlock()
	t.mu.Lock()
	for _, at := range s.order {
		t.drop(s, at)
	}
	delete(t.subs, s)
	s.forgetsAll()
	c.shows.Add(-int64(len(s.order)))
	s.order, s.counts, s.nested, s.has = nil, map[*shown]int{}, nil, nil
	t.mu.Unlock()
	c.hub.release(t)
	c.hub.meter.Gauge(GaugeSubscriptions, -1)
	for key := range c.fails {
		if key.sub == s {
			delete(c.fails, key)
		}
	}
}

// releaseHeld queues the live fragments of s that waited, and those to come; c.mu is held.
func (c *conn) releaseHeld(s *sub) {
	s.answered = true
	for _, f := range s.held {
		c.queue(f, len(c.out.live))
	}
	s.held = nil
}
