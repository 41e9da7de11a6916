package realtime

import (
	"slices"
	"sync"
	"time"
)

// delivery is a fragment on its way to who shows its target.
type delivery struct {
	at *shown
	r  *rendered
}

// outgoing are the shared fragments of one pass: sent together, so that a commit which changes many parts of a page costs
// each connection one write.
type outgoing struct {
	topic *topic
	view  *view

	mu   sync.Mutex
	list []delivery
}

// gathering is how long fragments wait for a component that takes its time.
const gathering = 10 * time.Millisecond

func (o *outgoing) add(d delivery) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.list = append(o.list, d)
}

// send sends what was added, and returns once all of it was written, or left to goroutines that wait for their readers.
func (o *outgoing) send() {
	o.mu.Lock()
	list := o.list
	o.list = nil
	o.mu.Unlock()
	if len(list) > 0 {
		o.topic.deliver(o.view, list)
	}
}

// together is how many connections are given their fragments, and then written to, at once: while one goroutine writes to
// them, the next ones are given theirs.
const together = 512

// deliver hands shared fragments of a view to everybody who shows their targets.
func (t *topic) deliver(v *view, list []delivery) {
	t.mu.Lock()
	if t.epoch != v.epoch {
		t.mu.Unlock()
		return
	}
	among := t.subs
	if len(list) == 1 {
		among = list[0].at.subs
	}
	subs := make([]*sub, 0, len(among))
	for s := range among {
		subs = append(subs, s)
	}
	for _, d := range list {
		d.at.retry = backoff{}
	}
	t.mu.Unlock()
	id := t.hub.deliveries.Add(1)
	var writing sync.WaitGroup
	defer writing.Wait()
	for len(subs) > together {
		part := subs[:together]
		subs = subs[together:]
		t.give(v, part, list, id)
		writing.Go(func() { flushAll(part) })
	}
	t.give(v, subs, list, id)
	flushAll(subs)
}

// give queues fragments for subscriptions, unless the view is of an epoch that is over.
func (t *topic) give(v *view, subs []*sub, list []delivery, id int64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.epoch != v.epoch {
		return
	}
	for _, s := range subs {
		for _, d := range list {
			if len(d.r.frag.Nested)+len(s.nested) > 0 && d.at.subs[s] {
				t.nest(s, v, d.at, d.r.frag.Nested)
			}
		}
		s.push(list, id)
	}
}

func flushAll(subs []*sub) {
	g := lend()
	defer g.back()
	for _, s := range subs {
		s.conn.flushWith(g)
	}
}

// push queues those fragments of a list that s shows, or holds them until its answer is out; the caller flushes. A frame
// is for every scope of a page that shows the actor, so one delivery, which id tells from others, queues it once.
// topic.mu is held.
func (s *sub) push(list []delivery, id int64) {
	c := s.conn
	c.mu.Lock()
	defer c.mu.Unlock()
	if s.gone {
		return
	}
	among := len(c.out.live) // behind these will stand the list's own, whose targets differ
	if s.answered {
		c.out.live = slices.Grow(c.out.live, len(list))
	}
	for _, d := range list {
		if c.over != nil {
			return // too much waits
		}
		if !d.at.subs[s] {
			continue
		}
		has := s.has[d.at]
		if d.r.version != nil && s.lists {
			if has != nil && has.revision >= d.r.version.revision {
				continue // its answer lies ahead of this pass
			}
			s.knows(d.at, d.r.version)
		}
		if !s.answered {
			note(&s.held, d.r.name, d.r.live(s.topic))
			continue
		}
		if s.twin {
			base, was := c.given.of(id)[d.at]
			if was && base == has {
				continue
			}
			if was {
				has = nil // another scope of the page shows the list as it was at another time
			}
			c.given.bases[d.at] = has
			among = len(c.out.live)
		}
		c.queue(c.out.update(d.r, s.topic, has, among), among)
	}
}

// given is what one delivery has queued for a page whose scopes share an actor.
type given struct {
	id    int64
	bases map[*shown]*version // what the frame of a list can do without; nil of all else
}

func (g *given) of(id int64) map[*shown]*version {
	if g.id != id {
		*g = given{id, map[*shown]*version{}}
	}
	return g.bases
}

// meets notes that two scopes of a page follow one actor; s has not joined yet.
func (c *conn) meets(s *sub) {
	for _, other := range c.scopes {
		if other.topic == s.topic {
			s.topic.mu.Lock()
			s.twin, other.twin = true, true
			s.topic.mu.Unlock()
		}
	}
}
