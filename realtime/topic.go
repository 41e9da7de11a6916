package realtime

import (
	"context"
	goruntime "runtime"
	"slices"
	"sync"
	"time"

	"github.com/lockstep-go/lockstep/actors"
	"github.com/lockstep-go/lockstep/realtime/wire"
)

// topic is one actor that somebody here follows.
//
// Its reads of the database never overlap, so what they return has an order: a snapshot that lies behind an earlier
// one means that the database lost revisions, another instance that the actor was recreated. Either begins a new epoch,
// in which every subscription gets a new answer and nothing of the old epoch is sent any more.
type topic struct {
	hub   *Hub
	actor actors.Address
	refs  int // subscriptions joined or about to; guarded by Hub.mu

	inbox inbox

	mu      sync.Mutex
	subs    map[*sub]bool
	shown   map[string]*shown // by target name
	mark    actors.Stamp      // of the last broadcast that was followed; the message may be unknown
	marked  bool
	latest  *view // the newest snapshot
	pushed  int64 // the revision of the newest snapshot that a pass chose its targets for
	covered int64 // the revision up to which every commit's changes were looked at
	epoch   int
	past    map[string]bool // instances seen
	forked  bool            // this instance was taken back to an earlier revision: rows may be of the history it lost
	late    map[*shown]bool // to render at once: they joined after the pass that they needed
	reading *reading        // the last read begun
	next    *reading        // one not yet begun: whoever asks now may have its result
}

// shown is a target that somebody here shows.
type shown struct {
	target wire.Target
	name   string
	part   Component
	subs   map[*sub]bool
	retry  backoff // of a shared one that failed; fails is 0 when it did not
}

// personal says whether each viewer's own worker sends it.
func (s *shown) personal() bool { return s.part.Audience != Shared || s.part.Query != "" }

// depends says whether it must be rendered after a commit that changed these observables. A component that observes
// nothing by name depends on every commit, and so do those for some viewers only where a commit names nothing: it
// changed what no observable shows.
func (s *shown) depends(names []string) bool {
	if len(s.part.Observes) == 0 || len(names) == 0 && s.part.Audience != Shared {
		return true
	}
	return slices.ContainsFunc(s.part.Observes, func(o string) bool { return slices.Contains(names, o) })
}

// reading is a read of the snapshot that several wait for.
type reading struct {
	done chan struct{}
	view *view
	err  error
}

// read returns a snapshot whose read began after the call, shared with everybody who called meanwhile.
func (t *topic) read(ctx context.Context) (*view, error) {
	t.mu.Lock()
	r, before := t.next, t.reading
	leader := r == nil
	if leader {
		r = &reading{done: make(chan struct{})}
		t.next = r
	}
	t.mu.Unlock()
	if leader {
		if before != nil {
			<-before.done
		}
		goruntime.Gosched() // those who are about to ask: in a storm one read serves most of who may read at once
		t.mu.Lock()
		t.reading, t.next = r, nil
		t.mu.Unlock()
		// Others wait for it, so it does not end with the viewer who happened to ask first.
		plain := withPatience(t.hub.base)
		defer plain.end()
		var snap actors.Snapshot
		r.err = guard(func() (err error) {
			snap, err = t.hub.cfg.Source.Committed(plain, t.actor)
			return err
		})
		if r.err == nil {
			r.view = t.observe(snap)
		}
		close(r.done)
	}
	select {
	case <-r.done:
		return r.view, r.err
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// observe makes a view of a snapshot that was just read, and begins a new epoch where it does not continue the last.
func (t *topic) observe(snap actors.Snapshot) *view {
	t.mu.Lock()
	defer t.mu.Unlock()
	old := t.latest
	if old != nil && old.snap.Stamp == snap.Stamp {
		return old // with what was rendered from it
	}
	if old != nil && (old.snap.Instance != snap.Instance || old.snap.Revision >= snap.Revision) {
		t.epoch++
		t.forked = t.past[snap.Instance]
		t.marked = false
		for s := range t.subs {
			s.conn.again(s)
		}
	}
	t.past[snap.Instance] = snap.Instance != ""
	t.latest = &view{snap: snap, epoch: t.epoch}
	if !t.marked {
		t.marked, t.mark = true, stampOf(snap)
		t.pushed, t.covered = snap.Revision, snap.Revision
		t.kick()
	}
	return t.latest
}

// stampOf is the mark that a snapshot sets: it shows all that was broadcast up to then.
func stampOf(s actors.Snapshot) actors.Stamp {
	m := actors.Stamp{Instance: s.Instance, Revision: s.Broadcast}
	if s.Broadcast == s.Revision {
		m.Message = s.Message
	}
	return m
}

// same says whether two stamps name one broadcast, as far as their messages are known.
func same(a, b actors.Stamp) bool {
	return a.Instance == b.Instance && a.Revision == b.Revision &&
		(a.Message == b.Message || a.Message == "" || b.Message == "")
}

// add shows a target to s; t.mu is held.
func (t *topic) add(s *sub, target wire.Target, name string, part Component) *shown {
	at := t.shown[name]
	if at == nil {
		at = &shown{target: target, name: name, part: part, subs: map[*sub]bool{}}
		t.shown[name] = at
	}
	at.subs[s] = true
	return at
}

// drop shows a target to s no longer; t.mu is held.
func (t *topic) drop(s *sub, at *shown) {
	delete(at.subs, s)
	if len(at.subs) == 0 {
		delete(t.shown, at.name)
		delete(t.late, at)
	}
}

// topicOf returns an actor's topic for one more subscription, which must be given back with release.
func (h *Hub) topicOf(a actors.Address) *topic {
	h.mu.Lock()
	defer h.mu.Unlock()
	t := h.topics[a]
	if t == nil {
		t = &topic{hub: h, actor: a, subs: map[*sub]bool{}, shown: map[string]*shown{}, late: map[*shown]bool{}, past: map[string]bool{}}
		h.topics[a] = t
		h.meter.Gauge(GaugeTopics, 1)
	}
	t.refs++
	return t
}

func (h *Hub) release(t *topic) {
	h.mu.Lock()
	t.refs--
	last := t.refs == 0
	if last {
		delete(h.topics, t.actor)
		h.meter.Gauge(GaugeTopics, -1)
	}
	h.mu.Unlock()
	if last {
		t.inbox.close()
	}
}

// inbox is the news of a topic that no pass has looked at. It has a lock of its own, so that whoever brings news
// never waits.
type inbox struct {
	mu      sync.Mutex
	news    []actors.Broadcast
	gap     bool // something is missing: everything shown must be rendered
	running bool // a pass is at it
	closed  bool
	pace    pace
	timer   *time.Timer
	retry   time.Time // when failed targets are due; zero: none failed
	pause   time.Time // no snapshot is read for news before: the last could not be
}

// maxNews is how many rows wait one by one; more of them are as good as a gap.
const maxNews = 256

func (i *inbox) close() {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.closed = true
	i.news = nil
	stopTimers(i.timer)
}

// tell hands a broadcast to the topic.
func (t *topic) tell(b actors.Broadcast) {
	i := &t.inbox
	i.mu.Lock()
	if len(i.news) >= maxNews {
		i.news, i.gap = nil, true
	}
	b.Values = nil // read from the snapshot instead
	i.news = append(i.news, b)
	i.mu.Unlock()
	t.kick()
}

// reaches says whether what waits goes up to a stamp.
func (i *inbox) reaches(at actors.Stamp) bool {
	i.mu.Lock()
	defer i.mu.Unlock()
	return i.gap || slices.ContainsFunc(i.news, func(b actors.Broadcast) bool {
		return b.Instance == at.Instance && b.Revision >= at.Revision
	})
}

// suspect asks for everything to be rendered.
func (t *topic) suspect() {
	t.inbox.mu.Lock()
	t.inbox.gap = true
	t.inbox.mu.Unlock()
	t.kick()
}

// kick sees to it that a pass looks at the inbox.
func (t *topic) kick() {
	i := &t.inbox
	i.mu.Lock()
	defer i.mu.Unlock()
	if !i.running && !i.closed {
		i.running = t.hub.spawn(t.follow)
	}
}
