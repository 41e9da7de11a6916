package realtime

import (
	"time"

	"github.com/lockstep-go/lockstep/actors"
	"github.com/lockstep-go/lockstep/realtime/wire"
)

// round is what makes a stream end by itself, for a client whose answers are held back until they have ended: once all
// that came with the request was answered, it ends at the first news or when its time is over. The client comes back for
// the next round. It is guarded by its connection's mutex.
type round struct {
	asked map[int64]seen // the subscribes that were not answered yet, by number
	open  bool           // all that came with the request is in asked
	news  bool
	late  bool // its time is over
	timer *time.Timer
}

// seen is the stamp that a page says it shows; without a revision it says nothing.
type seen struct {
	instance string
	revision wire.Revision
}

// asks notes a subscribe of the opening request; c.mu is held.
func (r *round) asks(cmd command) {
	if r != nil && !r.open && cmd.Type == "sub" && !cmd.garbage {
		r.asked[cmd.Number] = seen{cmd.Instance, cmd.Revision}
	}
}

// answers notes the answer to a subscribe, which is news where it has another stamp than the page; c.mu is held.
func (r *round) answers(number int64, stamp actors.Stamp) {
	if r == nil {
		return
	}
	if shows := r.asked[number]; shows != (seen{stamp.Instance, wire.Rev(stamp.Revision)}) {
		r.news = true
	}
	delete(r.asked, number)
}

// refuses notes a no; c.mu is held.
func (r *round) refuses(number int64) {
	if r != nil {
		r.news = true
		delete(r.asked, number)
	}
}

// over says whether there is nothing more to wait for; c.mu is held.
func (r *round) over() bool {
	return r != nil && r.open && len(r.asked) == 0 && (r.news || r.late)
}

// begin lets a round end, at the latest after wait.
func (c *conn) begin(wait time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.over != nil {
		return
	}
	c.round.open = true
	c.round.timer = time.AfterFunc(wait, func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.round.late = true
		c.flush()
	})
	c.flush()
}

// waits is how long a round may last: within a heartbeat, so that its client hears something in time.
func (h *Hub) waits(ms int64) time.Duration {
	longest := longestRound
	if h.cfg.Heartbeat > 0 {
		longest = min(longest, h.cfg.Heartbeat)
	}
	return time.Duration(min(max(ms, 0), longest.Milliseconds())) * time.Millisecond
}

const longestRound = 25 * time.Second
