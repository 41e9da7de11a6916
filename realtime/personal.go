package realtime

import (
	"slices"
	"time"

	"github.com/lockstep-go/lockstep/actors"
	"github.com/lockstep-go/lockstep/realtime/wire"
)

// showing is a target of one subscription.
type showing struct {
	sub *sub
	at  *shown
}

// fail is a per-viewer or by-group target that could not be rendered.
type fail struct{ backoff }

// renderPersonal renders targets that not everybody may share, after asking the policy once more for each
// subscription, and queues them. It is the worker's.
func (c *conn) renderPersonal(dirty map[*sub]map[*shown]bool) {
	if !c.hub.acquire(c.ctx, c.hub.pushes) {
		return
	}
	defer c.hub.free(c.hub.pushes)
	wanted := map[*shown][]*sub{}
	for s, targets := range dirty {
		switch {
		case s.gone:
		case c.hub.mayQuery(c.ctx, s.topic.actor, actors.SnapshotOp) != nil:
			c.deny(s, "render")
		default:
			for at := range targets {
				wanted[at] = append(wanted[at], s)
			}
		}
	}
	if len(wanted) > 1 {
		slow := time.AfterFunc(gathering, c.flushQueued)
		defer slow.Stop()
	}
	defer c.flushQueued()
	for at, subs := range wanted {
		if subs = slices.DeleteFunc(subs, func(s *sub) bool { return s.gone }); len(subs) > 0 && c.ctx.Err() == nil {
			c.renderFor(subs, at)
		}
	}
}

// renderFor renders a target once for all scopes of the page that show it.
func (c *conn) renderFor(subs []*sub, at *shown) {
	t := subs[0].topic
	t.mu.Lock()
	v := t.latest
	t.mu.Unlock()
	var r *rendered
	may, err := c.maySee(subs[0], at), error(nil)
	if may {
		r, err = c.render(subs[0], v, at)
	}
	switch {
	case err == nil:
		for _, s := range subs {
			delete(c.fails, showing{s, at})
		}
		if may {
			c.deliverPersonal(subs, v, at, r)
		}
	case c.ctx.Err() != nil:
	case tooNew(err):
		for _, s := range subs {
			c.leave(s)
			c.refuse(s.number, s.scope, wire.Newer)
		}
	default:
		for _, s := range subs {
			c.failed(s, at)
		}
	}
}

// deliverPersonal hands a fragment to subscriptions of one actor, unless it began a new epoch or the target is no longer
// shown.
func (c *conn) deliverPersonal(subs []*sub, v *view, at *shown, r *rendered) {
	t := subs[0].topic
	t.give(v, subs, []delivery{{at, r}}, c.hub.deliveries.Add(1))
}

// maySee asks the policy about a component that has a query of its own.
func (c *conn) maySee(s *sub, at *shown) bool {
	return at.part.Query == "" || c.hub.mayQuery(c.ctx, s.topic.actor, at.part.Query) == nil
}

// deny ends a subscription whose viewer lost the right to it.
func (c *conn) deny(s *sub, found string) {
	if c.ctx.Err() != nil {
		return // the policy failed because the socket ended
	}
	c.hub.meter.Count(CountDenied, found, 1)
	c.leave(s)
	c.refuse(s.number, s.scope, wire.Denied)
}

// failed plans the next try of a target.
func (c *conn) failed(s *sub, at *shown) {
	key := showing{s, at}
	f := c.fails[key]
	if f == nil {
		f = &fail{}
		note(&c.fails, key, f)
	}
	now := time.Now()
	f.backoff.failed(now)
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.over != nil {
		return
	}
	note(&c.todo.retries, key, f.at)
	c.arm()
}

// arm sets the timer for the first of the failed targets that is due; c.mu is held.
func (c *conn) arm() {
	var first time.Time
	for _, at := range c.todo.retries {
		if first.IsZero() || at.Before(first) {
			first = at
		}
	}
	switch {
	case first.IsZero():
	case c.retry == nil:
		c.retry = time.AfterFunc(time.Until(first), c.retryDue)
	default:
		c.retry.Reset(time.Until(first))
	}
}

// retryDue makes the failed targets that are due dirty.
func (c *conn) retryDue() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.over != nil {
		return
	}
	now := time.Now()
	for key, at := range c.todo.retries {
		if !at.After(now) {
			delete(c.todo.retries, key)
			c.mark(key.sub, key.at)
		}
	}
	c.arm()
	c.kick()
}

// mark makes a target dirty; c.mu is held.
func (c *conn) mark(s *sub, at *shown) {
	if s.gone {
		return
	}
	set := c.todo.dirty[s]
	if set == nil {
		set = map[*shown]bool{}
		note(&c.todo.dirty, s, set)
	}
	set[at] = true
}
