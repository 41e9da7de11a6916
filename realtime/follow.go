package realtime

import (
	"context"
	"time"

	"github.com/lockstep-go/lockstep/actors"
	"github.com/lockstep-go/lockstep/realtime/wire"
)

// job is what a pass has to look at.
type job struct {
	news  []actors.Broadcast
	gap   bool
	extra map[*shown]bool // failed or late targets
}

// follow runs passes until there is nothing to do now.
func (t *topic) follow() {
	for {
		j, ok := t.collect()
		if !ok {
			return
		}
		if !t.hub.acquire(t.hub.base, t.hub.pushes) {
			return // the hub is gone
		}
		t.pass(j)
		t.hub.free(t.hub.pushes)
	}
}

// collect takes what is due out of the inbox; false ends the goroutine, which the next news or a timer starts again.
func (t *topic) collect() (job, bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	i := &t.inbox
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.closed || !t.marked { // the first answer sets the mark, and kicks
		i.running = false
		return job{}, false
	}
	now := time.Now()
	j := job{extra: t.late}
	t.late = map[*shown]bool{}
	if !i.retry.IsZero() {
		i.retry = time.Time{}
		for _, at := range t.shown {
			switch {
			case at.retry.fails == 0:
			case !at.retry.at.After(now):
				j.extra[at] = true
			default:
				i.due(at.retry.at)
			}
		}
	}
	news := len(i.news) > 0 || i.gap
	wait := max(i.pace.wait(now, pushEvery, pushBurst), i.pause.Sub(now))
	if news && wait <= 0 {
		i.pace.take(now, pushEvery)
		j.news, j.gap = i.news, i.gap
		i.news, i.gap = nil, false
		return j, true
	}
	if len(j.extra) > 0 {
		return j, true
	}
	i.running = false
	if !news {
		wait = i.retry.Sub(now)
	} else if !i.retry.IsZero() {
		wait = min(wait, i.retry.Sub(now))
	}
	if news || !i.retry.IsZero() {
		i.arm(wait, t.kick)
	}
	return job{}, false
}

// due notes when a failed target is to be tried again; i.mu is held.
func (i *inbox) due(at time.Time) {
	if i.retry.IsZero() || at.Before(i.retry) {
		i.retry = at
	}
}

func (i *inbox) arm(after time.Duration, f func()) {
	if i.timer == nil {
		i.timer = time.AfterFunc(after, f)
	} else {
		i.timer.Reset(after)
	}
}

// folded is what a run of broadcast rows comes to.
type folded struct {
	mark  actors.Stamp
	names []string
	news  bool // a row continues the mark
	gap   bool // one does not
	mixed bool // one also names what commits changed that may be another build's
	check bool // one is of another incarnation: the snapshot will tell
	fork  bool // one is of another history: the database lost the revision that was followed
}

// fold applies rows to a mark, in their order.
func fold(mark actors.Stamp, rows []actors.Broadcast) folded {
	f := folded{mark: mark}
	for _, b := range rows {
		switch {
		case b.Instance != f.mark.Instance:
			f.check = true
		case b.Revision < f.mark.Revision: // a late copy
		case b.Revision == f.mark.Revision:
			f.fork = f.fork || !same(f.mark, stampOfRow(b))
		default:
			f.news = true
			f.gap = f.gap || b.Previous > f.mark.Revision
			f.mixed = f.mixed || b.Inherited
			f.mark = stampOfRow(b)
			f.names = append(f.names, b.Names...)
		}
	}
	return f
}

func stampOfRow(b actors.Broadcast) actors.Stamp {
	return actors.Stamp{Instance: b.Instance, Revision: b.Revision, Message: b.Message}
}

// pass reads the newest snapshot once and pushes what depends on the news.
func (t *topic) pass(j job) {
	t.mu.Lock()
	f, epoch := fold(t.mark, j.news), t.epoch
	t.forked = t.forked || f.fork
	gap := f.gap || j.gap || f.fork || t.forked && f.news
	t.mu.Unlock()
	if f.gap || f.fork {
		t.hub.meter.Count(CountGaps, "news", 1)
	}
	if !gap && !f.news && !f.check && len(j.extra) == 0 {
		return
	}
	if !gap && f.mixed {
		mixed, err := t.hub.mixed(t.hub.base)
		gap = mixed || err != nil
	}
	v, err := t.read(t.hub.base)
	if err != nil {
		t.unread(err)
		return
	}
	t.mu.Lock()
	if t.epoch != epoch { // everybody gets a new answer
		t.mu.Unlock()
		return
	}
	gap = gap || f.mark.Revision > v.snap.Revision // news of what the database does not have
	switch {
	case gap:
		t.mark, t.covered = stampOf(v.snap), v.snap.Revision
	case f.news:
		t.mark, t.covered = f.mark, max(t.covered, f.mark.Revision)
	}
	t.pushed = max(t.pushed, v.snap.Revision)
	var targets []*shown
	for _, at := range t.shown {
		if gap || j.extra[at] || f.news && at.depends(f.names) {
			targets = append(targets, at)
		}
	}
	// Viewers render their own in their workers, from the topic's newest snapshot.
	shared := targets[:0]
	var own map[*conn][]showing // by connection, so that a worker sees all scopes of its page at once
	for _, at := range targets {
		if !at.personal() {
			shared = append(shared, at)
			continue
		}
		for s := range at.subs {
			note(&own, s.conn, append(own[s.conn], showing{s, at}))
		}
	}
	for c, list := range own {
		c.stale(list)
	}
	t.mu.Unlock()
	if len(shared) == 0 {
		return
	}
	out := outgoing{topic: t, view: v}
	slow := time.AfterFunc(gathering, out.send)
	defer slow.Stop()
	for _, at := range shared {
		slow.Reset(gathering)
		r, err := v.shared(t.hub.base, t.hub, t.actor, at, "")
		if err != nil {
			t.broke(at, err)
			continue
		}
		out.add(delivery{at, r})
	}
	out.send()
}

// unread keeps everything for a second: the database could not be read.
func (t *topic) unread(err error) {
	if t.hub.base.Err() != nil {
		return
	}
	t.hub.log.Warn("could not read an actor's snapshot", "type", t.actor.Type, "error", kindOf(err))
	t.inbox.mu.Lock()
	defer t.inbox.mu.Unlock()
	t.inbox.gap = true
	t.inbox.pause = time.Now().Add(firstRetry)
}

// broke plans the next try of a shared component that failed.
func (t *topic) broke(at *shown, err error) {
	if t.hub.base.Err() != nil {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if tooNew(err) {
		for s := range t.subs {
			s.conn.stop(s, wire.Newer)
		}
		return
	}
	at.retry.failed(time.Now())
	t.inbox.mu.Lock()
	t.inbox.due(at.retry.at)
	t.inbox.mu.Unlock()
	t.kick() // which sets the timer
}

// nest makes the targets inside a fragment s's own, in place of those that the parent's last fragment brought; t.mu is
// held. They show the snapshot of v: where passes have gone further, they are rendered again at once.
func (t *topic) nest(s *sub, v *view, parent *shown, inside []wire.Target) {
	before := s.nested[parent]
	if len(inside) == 0 && len(before) == 0 {
		return
	}
	now := make([]*shown, 0, len(inside))
	for _, target := range inside {
		part, ok := t.hub.describe(t.actor.Type, target)
		if !ok {
			continue // the renderer shows what it does not know; the page keeps it as it is
		}
		name := target.Name(t.actor)
		fresh := t.shown[name] == nil || !t.shown[name].subs[s]
		at := t.add(s, target, name, part)
		s.forgets(at) // the page shows it as this fragment has it, unless it is ahead
		if s.count(at); fresh && v.snap.Revision < t.pushed {
			t.late[at] = true
			t.kick()
		}
		now = append(now, at)
	}
	note(&s.nested, parent, now)
	for _, at := range before {
		t.uncount(s, at)
	}
	if len(s.order) > 2*wire.MaxTargets || s.conn.shows.Load() > int64(2*t.hub.cfg.MaxTargets) {
		s.conn.stop(s, wire.Limit)
	}
}

// uncount takes one reason away why s shows a target; t.mu is held.
func (t *topic) uncount(s *sub, at *shown) {
	if !s.uncount(at) {
		return
	}
	t.drop(s, at)
	gone := s.nested[at]
	delete(s.nested, at)
	for _, inner := range gone {
		t.uncount(s, inner)
	}
}

// acquire takes a slot of a semaphore; false if ctx ended first.
func (h *Hub) acquire(ctx context.Context, slots chan struct{}) bool {
	select {
	case slots <- struct{}{}:
		return true
	default: // a channel for the end of ctx is made for those who wait
	}
	select {
	case slots <- struct{}{}:
		return true
	case <-ctx.Done():
		return false
	}
}

func (h *Hub) free(slots chan struct{}) { <-slots }
