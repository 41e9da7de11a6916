package realtime

import (
	"encoding/binary"
	"errors"
	"net"
	"os"
	"slices"
	"time"

	"github.com/lockstep-go/lockstep/realtime/wire"
)

// frame is an encoded frame with its WebSocket header. Frames are shared between connections and never changed.
type frame struct {
	data     []byte
	topic    *topic // of a live fragment
	name     string // of its target
	revision int64

	version *version // of a list: what it makes the page show
	base    *version // of a patch: what the page must show before
}

// maxHeader is the longest header of a frame.
const maxHeader = 10

// room is where a payload of about this size is appended, to be framed.
func room(size int) []byte { return make([]byte, maxHeader, maxHeader+size) }

// framed makes a whole text frame, unmasked as a server's are, of what was appended to room.
func framed(buf []byte) *frame {
	at, size := 0, len(buf)-maxHeader
	switch {
	case size < 126:
		at = maxHeader - 2
		buf[at+1] = byte(size)
	case size < 1<<16:
		at = maxHeader - 4
		buf[at+1] = 126
		binary.BigEndian.PutUint16(buf[at+2:], uint16(size))
	default:
		buf[1] = 127
		binary.BigEndian.PutUint64(buf[2:], uint64(size))
	}
	buf[at] = 0x81
	return &frame{data: buf[at:]}
}

func newFrame(payload []byte) *frame { return framed(append(room(len(payload)), payload...)) }

// payload is the frame without its header.
func (f *frame) payload() []byte {
	switch f.data[1] {
	case 126:
		return f.data[4:]
	case 127:
		return f.data[10:]
	}
	return f.data[2:]
}

func encode(f wire.Frame) *frame { return newFrame(wire.Encode(f)) }

// outbox is what waits to be written to a connection: control frames and answers in order, then the newest fragment of
// each target. A slow reader conflates; what it can hold is bounded by what its page shows and by maxControl. It is
// guarded by its connection's mutex.
type outbox struct {
	control []*frame
	size    int // bytes of control
	live    []*frame
	weight  int            // bytes of live
	flying  int            // bytes being written
	at      map[string]int // where in live a target's fragment stands, once there are many
	pong    *frame         // answers the newest protocol ping, which browsers never send
	pinged  bool           // a ping is in control
	writing bool           // a goroutine is at it
}

// maxControl is how many bytes of answers may wait before the connection's next command must.
const maxControl = 512 << 10

// The time that a close frame has to be written, and then the other side to answer it.
const (
	closeWrite = time.Second
	closeWait  = 2 * time.Second
	lingerFor  = 10 * time.Second // with one who sends without listening
)

func (o *outbox) empty() bool { return len(o.control) == 0 && len(o.live) == 0 && o.pong == nil }

func (o *outbox) addControl(f *frame) {
	o.control = append(o.control, f)
	o.size += len(f.data)
}

// addLive replaces what waits for the same target among the first so many, and says whether something did.
func (o *outbox) addLive(f *frame, among int) bool {
	o.weight += len(f.data)
	if i, waits := o.find(f.name, among); waits {
		o.weight -= len(o.live[i].data)
		o.live[i] = f
		return true
	}
	o.live = append(o.live, f)
	if o.at != nil {
		o.at[f.name] = len(o.live) - 1
	}
	return false
}

// scanned is how many fragments are looked through one by one; most connections wait for few, and need no map.
const scanned = 64

// find says where in live a target's fragment stands, if it is among the first so many.
func (o *outbox) find(name string, among int) (int, bool) {
	if among > scanned && o.at == nil {
		o.index()
	}
	if o.at != nil {
		i, waits := o.at[name]
		return i, waits
	}
	i := slices.IndexFunc(o.live[:among], func(f *frame) bool { return f.name == name })
	return i, i >= 0
}

// index notes where everything stands.
func (o *outbox) index() {
	o.at = make(map[string]int, 2*len(o.live))
	for i, f := range o.live {
		o.at[f.name] = i
	}
}

// queue queues a live fragment, in place of one for the same target among the first so many, and ends the connection
// where more gathers than may; c.mu is held.
func (c *conn) queue(f *frame, among int) {
	if c.over != nil {
		return
	}
	if c.round != nil {
		c.round.news = true
	}
	if c.out.addLive(f, among) {
		c.hub.meter.Count(CountConflated, "", 1)
	}
	if c.out.weight+c.out.flying > c.hub.cfg.MaxPending {
		c.hub.log.Info("closed a connection for which too much waits", "limit", c.hub.cfg.MaxPending)
		c.endLocked(&ending{code: wire.CloseStalled, reason: "too much waits", why: ClosedPending, wait: closeWait})
	}
}

// update is the frame that brings r to a connection which shows has once all that waits has arrived; nil: who knows what
// it shows. Where a patch waits for the same list already, among the first so many, the new one begins where that would
// have.
func (o *outbox) update(r *rendered, t *topic, has *version, among int) *frame {
	if i, waits := o.find(r.name, among); waits && has != nil {
		before := o.live[i]
		if before.version == has {
			has = before.base
		} else {
			has = nil
		}
	}
	if has != nil {
		if f := r.patch(t, has); f != nil {
			return f
		}
	}
	return r.live(t)
}

// purge forgets what waits for an actor's targets.
func (o *outbox) purge(t *topic) {
	o.live = slices.DeleteFunc(o.live, func(f *frame) bool { return f.topic == t })
	o.weight = weigh(o.live)
	if o.at != nil {
		o.index()
	}
}

// take empties the outbox in the order of writing.
func (o *outbox) take() []*frame {
	all := o.live
	if len(o.control) > 0 {
		all = append(o.control, o.live...)
	}
	if o.pong != nil {
		all = append(all, o.pong)
	}
	*o = outbox{writing: o.writing, flying: weigh(all)}
	return all
}

func weigh(frames []*frame) (bytes int) {
	for _, f := range frames {
		bytes += len(f.data)
	}
	return bytes
}

// send queues a control frame; c.mu is held.
func (c *conn) send(f *frame) {
	if c.over == nil {
		c.out.addControl(f)
		c.flush()
	}
}

// flush sees to it that somebody writes; c.mu is held.
func (c *conn) flush() {
	if !c.out.writing {
		c.out.writing = c.hub.spawn(c.write)
	}
}

// flushQueued writes what was queued, at once where that needs no waiting; otherwise a goroutine does.
func (c *conn) flushQueued() {
	g := lend()
	defer g.back()
	c.flushWith(g)
}

// flushWith is flushQueued, after others that may have got the same.
func (c *conn) flushWith(g *gathered) {
	c.mu.Lock()
	if c.over != nil || c.out.empty() || c.out.writing {
		c.mu.Unlock()
		return
	}
	c.out.writing = true
	batch := c.out.take()
	c.mu.Unlock()
	rest := c.line.try(batch, g)
	if rest == nil {
		c.sent(batch)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if rest == nil {
		c.out.flying = 0
		if c.over == nil && c.out.empty() {
			c.out.writing = false
			c.kick() // commands may have waited for room
			return
		}
	}
	c.out.writing = c.hub.spawn(func() {
		if rest != nil {
			c.deliver(batch, rest)
		}
		c.write()
	})
}

// write writes until nothing waits, and the close frame once the connection is over.
func (c *conn) write() {
	for {
		c.mu.Lock()
		c.out.flying = 0
		if over := c.over; over != nil {
			c.mu.Unlock()
			c.finish(over)
			return // writing stays set: nothing may follow
		}
		if c.out.empty() && c.round.over() {
			c.endLocked(&ending{})
			c.mu.Unlock()
			continue
		}
		if c.out.empty() {
			c.out.writing = false
			c.kick() // commands may have waited for room
			c.mu.Unlock()
			return
		}
		batch := c.out.take()
		c.mu.Unlock()
		g := lend()
		rest := c.line.try(batch, g)
		g.back()
		if rest == nil {
			c.sent(batch)
		} else {
			c.deliver(batch, rest)
		}
	}
}

// deliver writes the rest of a batch, as long as the reader goes on taking it.
func (c *conn) deliver(batch, rest []*frame) {
	clean, err := c.line.send(rest, c.patient)
	if err != nil {
		c.writeFailed(clean, err)
		return
	}
	c.sent(batch)
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.over == nil {
		c.line.SetWriteDeadline(time.Time{}) // one that has passed would fail the next try
	}
}

func (c *conn) sent(batch []*frame) {
	c.hub.meter.Count(CountFrames, "", len(batch))
	c.hub.meter.Count(CountBytes, "", weigh(batch))
}

// finish says goodbye. The reader then sees the other side's answer, or nothing for a while, and ends the connection.
func (c *conn) finish(over *ending) {
	if over.silent {
		c.line.cut()
		return
	}
	c.line.close(over.code, over.reason, over.at.Add(closeWrite))
	c.line.SetReadDeadline(over.at.Add(over.wait))
}

// patient sets the deadline of the next piece; end may set an earlier one while it is being written, and no later one
// may undo that. A connection that is over has no patience left.
func (c *conn) patient() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case c.over != nil:
		return c.line.SetWriteDeadline(c.over.at.Add(closeWrite))
	case c.hub.cfg.WriteStall < 0:
		return c.line.SetWriteDeadline(time.Time{})
	}
	return c.line.SetWriteDeadline(time.Now().Add(c.hub.cfg.WriteStall))
}

func (c *conn) writeFailed(clean bool, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.over == nil {
		stalled, why := errors.Is(err, os.ErrDeadlineExceeded), ""
		if stalled {
			why = ClosedSlow
			c.hub.log.Info("closed a connection whose reader is too slow", "stall", c.hub.cfg.WriteStall)
		}
		c.endLocked(&ending{code: wire.CloseStalled, reason: "too slow", why: why, silent: !stalled || !clean})
	} else if !clean && !errors.Is(err, net.ErrClosed) {
		c.over.silent = true // a close frame would land inside another frame
	}
}
