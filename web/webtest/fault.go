package webtest

import (
	"bytes"
	"slices"

	"github.com/lockstep-go/lockstep/realtime/wire"
)

// arrival is a frame on its way to a page.
type arrival struct {
	wire.Frame
	text []byte
}

// faults are what happens to the frames of one connection, between the server and the page.
type faults struct {
	drop    int
	repeat  int
	reorder int
	late    []arrival // second copies under way
	held    []arrival // of a reordering
}

// pass says what arrives now that f was sent.
func (x *faults) pass(f arrival) []arrival {
	switch {
	case f.Type == "hello" || f.Type == "ping":
		return []arrival{f}
	case x.drop > 0:
		x.drop--
		return nil
	case f.Type != "f" && f.Type != "l":
		return append(x.release(), f)
	}
	if x.reorder > 0 || len(x.held) > 0 {
		return x.hold(f)
	}
	now := []arrival{f}
	if x.repeat > 0 {
		now = append(now, f)
	}
	x.late = slices.DeleteFunc(x.late, func(old arrival) bool {
		if old.Target == f.Target {
			now = append(now, old)
		}
		return old.Target == f.Target
	})
	if x.repeat > 0 {
		x.repeat--
		x.late = append(x.late, f)
	}
	return now
}

// hold keeps a fragment or patch back, to arrive before those that were sent earlier.
func (x *faults) hold(f arrival) (now []arrival) {
	brings := func(h arrival) bool { return h.Target != f.Target && bytes.Contains(h.text, []byte(f.Target)) }
	if slices.ContainsFunc(x.held, brings) {
		now = x.release()
	}
	x.held = append(x.held, f)
	if x.reorder--; x.reorder <= 0 {
		now = append(now, x.release()...)
	}
	return now
}

// release lets what a reordering holds arrive, last first.
func (x *faults) release() []arrival {
	held := x.held
	x.held = nil
	slices.Reverse(held)
	return held
}

// Cut breaks the connection without a word, as a network that is gone: what was under way is lost. The page comes back by
// itself.
func (p *Page) Cut() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.conn.lose()
}

// Freeze takes nothing more from the connection, which stays open: a slow reader, or a network that swallows everything.
// The server conflates what it has for the page, and in the end cuts it off, as the page does when it hears no heartbeat
// for too long; then the page comes back. Thaw ends it before.
func (p *Page) Freeze() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.conn != nil && p.conn.thaw == nil {
		p.conn.thaw = make(chan struct{})
	}
}

// Thaw goes on reading after Freeze.
func (p *Page) Thaw() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.conn != nil && p.conn.thaw != nil {
		close(p.conn.thaw)
		p.conn.thaw = nil
	}
}

// DropNext loses the next n answers, refusals, fragments and patches that this connection brings. A connection that loses frames
// does not notice, nor does the server: what it leaves the page with is right again once it is cut.
func (p *Page) DropNext(n int) { p.fault(func(f *faults) { f.drop = n }) }

// RepeatNext lets each of the next n fragments and patches arrive three times: twice at once, and again after the next of its target.
func (p *Page) RepeatNext(n int) { p.fault(func(f *faults) { f.repeat = n }) }

// ReorderNext lets the next n fragments and patches arrive last first, when the last of them has come; 0 ends the wait for it. Nothing
// overtakes an answer, or the fragment that brings its target.
func (p *Page) ReorderNext(n int) {
	p.fault(func(f *faults) {
		f.reorder = n
		if n == 0 {
			for _, a := range f.release() {
				p.take(&a.Frame)
			}
			p.join()
			p.note()
		}
	})
}

func (p *Page) fault(set func(*faults)) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.conn != nil { // else there is nothing that could suffer
		set(&p.faults)
	}
}
