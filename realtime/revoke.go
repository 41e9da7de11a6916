package realtime

import (
	"context"
	"math"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/coder/websocket"

	"github.com/lockstep-go/lockstep/actors"
	"github.com/lockstep-go/lockstep/realtime/wire"
)

// Revocation names what was withdrawn.
type Revocation = actors.Revocation

// Revoke withdraws at once what would otherwise be noticed at the next re-check: here before it returns, and in every
// other process on the database within two seconds. Sockets that it closes get nothing more than the close frame;
// subscriptions that it checks get nothing until their policies allowed them, and then a new answer. A socket or a
// subscribe that begins later is judged by the application as usual, which must therefore know first. An error says that
// other processes may not hear of it: call it again. An empty Revocation does nothing.
func (h *Hub) Revoke(ctx context.Context, r Revocation) error { return h.cfg.Source.Revoke(ctx, r) }

const (
	// readRevoked is the longest pause between two looks at what was revoked elsewhere, where anybody is connected;
	// readPause is the shortest.
	readRevoked = time.Second
	readPause   = 50 * time.Millisecond
	// remembered is for how long a revocation is held against connections that began before it and are not the hub's yet.
	remembered = time.Minute
)

// revocations is what a hub knows of them. It follows their positions from the moment when somebody connects, so that
// nobody is judged by what was revoked earlier.
type revocations struct {
	heard    chan struct{} // of capacity 1: there may be new ones
	arriving atomic.Int64  // connections that began and are not among the hub's yet
	reads    atomic.Int64  // how many reads began

	reading sync.Mutex  // held by whoever reads; it guards last and before
	fresh   atomic.Bool // everything from last on is known
	last    int64       // the position that was read up to
	before  int64       // the number of the last read that came to its end

	mu     sync.Mutex
	recent []withdrawn
}

// withdrawn is a revocation that was acted upon, at a time here, found by the read after one of that number. Without an
// id it is about everybody.
type withdrawn struct {
	actors.Revoked
	at     time.Time
	read   int64
	within int // ms for those that are to come back
}

// arrival is when a connection began: what is revoked later is held against it.
type arrival struct {
	reads int64 // that had begun
	at    time.Time
}

// arrive notes that a connection begins, before it is asked who that is. It waits for the database only where nobody was
// connected. Whoever calls it calls arrived once the connection is the hub's, or not.
func (h *Hub) arrive(ctx context.Context) arrival {
	v := &h.revocations
	v.arriving.Add(1)
	if !v.fresh.Load() {
		v.reading.Lock()
		if !v.fresh.Load() {
			_ = h.beginReading(ctx) // what cannot be read now is read by the loop, which has everybody come back
		}
		v.reading.Unlock()
	}
	return arrival{v.reads.Load(), time.Now()}
}

func (h *Hub) arrived() { h.revocations.arriving.Add(-1) }

// revokeLoop acts upon what other processes revoked.
func (h *Hub) revokeLoop(ctx context.Context) {
	every := readRevoked // also where nothing is compared
	if h.cfg.Compare > 0 {
		every = min(h.cfg.Compare, every)
	}
	tick := time.NewTicker(every)
	defer tick.Stop()
	failing := false
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		case <-h.revocations.heard:
		}
		err := h.readRevocations(ctx)
		if (err != nil) != failing && ctx.Err() == nil {
			if failing = err != nil; failing {
				h.log.Warn("could not read what was revoked", "error", kindOf(err))
			} else {
				h.log.Info("reading what is revoked again")
			}
		}
		pause := time.NewTimer(readPause)
		select {
		case <-ctx.Done():
		case <-pause.C:
		}
		pause.Stop()
	}
}

// readRevocations reads what was revoked since the last time and acts upon it. With nobody connected it reads nothing.
func (h *Hub) readRevocations(ctx context.Context) error {
	v := &h.revocations
	v.reading.Lock()
	defer v.reading.Unlock()
	if v.arriving.Load() == 0 && len(h.all()) == 0 {
		was := v.fresh.Swap(false)
		if v.arriving.Load() == 0 {
			return nil
		}
		v.fresh.Store(was) // somebody came meanwhile, and counts on it
	}
	if !v.fresh.Load() {
		err := h.beginReading(ctx)
		if err == nil {
			h.comeBack() // what was revoked since they began is not known
		}
		return err
	}
	number := v.reads.Add(1)
	for {
		list, newest, err := h.revokedAfter(ctx, v.last)
		switch {
		case err != nil:
			return err
		case newest < v.last || len(list) > 0 && list[0].Position != v.last+1:
			v.last = newest // some were forgotten, or the database was taken back
			h.comeBack()
			continue
		case len(list) == 0:
			v.before = number
			return nil
		}
		for i := range list {
			h.withdraw(&list[i], v.before)
			v.last = list[i].Position
		}
	}
}

// beginReading follows the positions from the newest on; v.reading is held.
func (h *Hub) beginReading(ctx context.Context) error {
	v := &h.revocations
	number := v.reads.Add(1)
	_, newest, err := h.revokedAfter(ctx, math.MaxInt64-1)
	if err == nil {
		v.last, v.before = newest, number
		v.fresh.Store(true)
	}
	return err
}

func (h *Hub) revokedAfter(ctx context.Context, position int64) (list []actors.Revoked, newest int64, err error) {
	err = guard(func() (err error) {
		ctx, cancel := context.WithTimeout(ctx, patience)
		defer cancel()
		list, newest, err = h.cfg.Source.Revocations(ctx, position)
		return err
	})
	return list, newest, err
}

// comeBack has everybody who is connected come back, to be judged by the application.
func (h *Hub) comeBack() {
	all := h.all()
	w := withdrawn{at: time.Now(), read: -1, within: returnWithin(len(all))}
	h.revocations.remember(w)
	for _, c := range all {
		w.judge(c)
	}
}

// hearRevoked takes a revocation from the runtime, or a zero one: others may have been made elsewhere.
func (h *Hub) hearRevoked(r actors.Revoked) {
	if r.ID != "" {
		h.withdraw(&r, math.MaxInt64)
		return
	}
	select {
	case h.revocations.heard <- struct{}{}:
	default:
	}
}

// withdraw acts upon a revocation that was made after the read of that number began.
func (h *Hub) withdraw(r *actors.Revoked, read int64) {
	w := withdrawn{Revoked: *r, at: time.Now(), read: read, within: returnWithin(0)}
	switch {
	case !h.revocations.remember(w): // this process made it
	case r.Actor != "":
		h.meter.Count(CountRevocations, "actor", 1)
		h.withdrawActor(r)
	default:
		h.meter.Count(CountRevocations, "viewer", 1)
		for _, c := range h.all() {
			w.judge(c)
		}
	}
}

// judge ends a connection that it names. One that began before the read began before the revocation, and ends for good.
// Of a younger one nobody knows whether it did: it is to come back, and be judged by the application.
func (w *withdrawn) judge(c *conn) {
	switch {
	case w.Actor != "" || c.since.at.After(w.at) || !w.Names(c.who.Principal, c.who.Session):
	case c.since.reads < w.read:
		c.endFor(ClosedRevoked, wire.CloseRevoked, "revoked")
	default:
		c.endFor(ClosedRevoked, int(websocket.StatusServiceRestart), strconv.Itoa(w.within))
	}
}

// withdrawActor has subscriptions to an actor checked.
func (h *Hub) withdrawActor(r *actors.Revoked) {
	h.revoked.Add(1) // whose policy is being asked is asked again
	var t *topic
	h.mu.RLock()
	for a, other := range h.topics {
		if r.Concerns(a) {
			t = other
			break
		}
	}
	h.mu.RUnlock()
	if t == nil {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	for s := range t.subs {
		if r.Names(s.conn.who.Principal, s.conn.who.Session) {
			s.conn.again(s)
		}
	}
}

// remember notes a revocation; false if it was noted before.
func (v *revocations) remember(w withdrawn) bool {
	v.mu.Lock()
	defer v.mu.Unlock()
	old := 0
	for i := range v.recent {
		if w.ID != "" && v.recent[i].ID == w.ID {
			return false
		}
		if w.at.Sub(v.recent[i].at) > remembered {
			old = i + 1
		}
	}
	v.recent = append(v.recent[old:], w)
	return true
}

// withdrawnSince holds against a connection that has just become the hub's what was revoked since it began.
func (h *Hub) withdrawnSince(c *conn) {
	v := &h.revocations
	v.mu.Lock()
	defer v.mu.Unlock()
	for i := range v.recent {
		v.recent[i].judge(c)
	}
}
