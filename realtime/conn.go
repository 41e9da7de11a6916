package realtime

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"github.com/coder/websocket"

	"github.com/lockstep-go/lockstep/realtime/wire"
)

// conn is one page's connection: a socket, or a stream where sockets do not pass. One goroutine reads it, or waits for
// the stream's end; a second one (work) takes commands and renders for this viewer, and a third writes, both only while
// there is something to do.
//
// Locks are taken in this order: Hub.mu, topic.mu, conn.mu.
type conn struct {
	hub    *Hub
	line   line            // that frames are written to
	link   *link           // the same, of a socket
	ws     *websocket.Conn // of a socket
	ctx    context.Context // the viewer's, for policies and per-viewer components; ends with the socket
	cancel context.CancelFunc
	who    Identity
	since  arrival
	viewer string       // wire.Sealer.Viewer of who
	shows  atomic.Int64 // targets, over all scopes
	kept   atomic.Int64 // items of lists that not everybody shares, over all scopes

	scopes     map[string]*sub   // by the name the client gave; the worker's alone
	fails      map[showing]*fail // per-viewer and by-group targets that failed; the worker's alone
	offences   pace              // the worker's alone
	subscribes pace              // the worker's alone

	mu    sync.Mutex
	given given
	out   outbox
	todo  todo
	over  *ending
	round *round    // of a stream that ends by itself, else nil
	heard time.Time // when the client last said something
	beat  *time.Timer
	check *time.Timer // of the periodic re-check
	retry *time.Timer // of failed targets
}

// ending is how a connection ends.
type ending struct {
	code   int // 0: a round is over
	reason string
	why    string        // for the metrics; "" where the hub did not end it
	silent bool          // no close frame can be written
	wait   time.Duration // for the other side's close frame
	at     time.Time
}

// end closes the connection with a code, after which it gets not one byte more. It does not wait.
func (c *conn) end(code int, reason string) { c.endFor("", code, reason) }

// endFor is end, for a reason that the metrics count.
func (c *conn) endFor(why string, code int, reason string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.endLocked(&ending{code: code, reason: reason, why: why, wait: closeWait})
}

func (c *conn) endLocked(how *ending) {
	if c.over != nil {
		return
	}
	how.at = time.Now()
	c.over = how
	if how.why != "" {
		c.hub.meter.Count(CountClosed, how.why, 1)
	}
	c.cancel()
	c.out = outbox{writing: c.out.writing}
	c.todo = todo{running: c.todo.running}
	if !c.todo.running {
		c.todo.running = c.hub.spawn(c.work) // which gives up the subscriptions
	}
	stopTimers(c.beat, c.check, c.retry)
	if c.round != nil {
		stopTimers(c.round.timer)
	}
	// A writer that is stuck gets an earlier deadline; where there is none, one starts for the close frame.
	c.line.SetWriteDeadline(c.over.at.Add(closeWrite))
	c.flush()
}

func stopTimers(timers ...*time.Timer) {
	for _, t := range timers {
		if t != nil {
			t.Stop()
		}
	}
}

// never is what clients are told of a heartbeat that does not come: twelve days. They wait for a quarter more, which is
// still within the 2³¹ ms that a browser's timers take.
const never = 1 << 30 * time.Millisecond

// greet queues the first frame of a connection, before there is anybody who could queue another.
func (c *conn) greet() {
	c.out.addControl(c.hub.hello)
	c.heard = time.Now()
}

// start greets and starts the clocks of the connection.
func (c *conn) start() {
	c.flushQueued()
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.over != nil {
		return
	}
	if every := c.hub.cfg.Heartbeat; every > 0 && c.round == nil { // whose client could not answer
		c.beat = time.AfterFunc(every, c.heartbeat)
	}
	if every := c.hub.cfg.Recheck; every > 0 {
		c.check = time.AfterFunc(every, c.recheckAll)
	}
}

// pong answers a ping of the WebSocket protocol, which browsers never send, from the queue like everything else.
func (c *conn) pong(_ context.Context, payload []byte) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.heard = time.Now()
	if c.over == nil {
		c.out.pong = &frame{data: append([]byte{0x8a, byte(len(payload))}, payload...)}
		c.flush()
	}
	return false
}

// heartbeat pings, and ends a connection that was silent for more than one and a half intervals: within two of them
// after the client's last word, since a successful write proves nothing.
func (c *conn) heartbeat() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.over != nil {
		return
	}
	every := c.hub.cfg.Heartbeat
	if time.Since(c.heard) > every+every/2 {
		c.endLocked(&ending{code: wire.CloseStalled, reason: "no heartbeat", why: ClosedSilent})
		return
	}
	if !c.out.pinged {
		c.out.pinged = true
		c.out.addControl(ping)
		c.flush()
	}
	c.beat.Reset(every)
}

var ping = encode(wire.Frame{Type: "ping"})

// read takes the client's frames until the connection ends, and then removes every trace of it.
func (c *conn) read() {
	defer c.gone()
	for c.link.await() {
		text, ok := c.link.message()
		if !ok {
			kind, message, err := c.ws.Read(context.Background()) // ended by closing, so that a read costs no timer
			if err != nil {
				if websocket.CloseStatus(err) == -1 {
					c.linger()
				}
				return
			}
			text, ok = message, kind == websocket.MessageText
		}
		if c.alive() { // else until its close frame arrives
			c.accept(text, ok)
		}
	}
}

// alive notes that the client was heard, and says whether the connection is not over.
func (c *conn) alive() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.heard = time.Now()
	return c.over == nil
}

// accept takes a frame of the client's socket, which must be text. The worker reads it: this goroutine stays as long as
// the connection, and its stack with it. The answer to a ping, as our client spells it, is nothing to be done.
func (c *conn) accept(frame []byte, text bool) {
	switch {
	case !text:
		c.take(command{garbage: true, size: len(frame)})
	case string(frame) != `{"t":"pong"}`:
		c.take(command{text: frame, size: len(frame)})
	}
}

// linger throws away what the client goes on sending, for a while: closing at once would reset the connection, and
// the close frame with the reason would be lost on its way.
func (c *conn) linger() {
	buf := reads.Get().(*[readSize]byte)
	defer reads.Put(buf)
	for end := time.Now().Add(lingerFor); time.Now().Before(end); {
		c.mu.Lock()
		over := c.over != nil
		c.mu.Unlock()
		if over || c.link.SetReadDeadline(time.Now().Add(closeWrite)) != nil {
			return
		}
		if _, err := c.link.Read(buf[:]); err != nil {
			return
		}
	}
}

// gone removes the connection from the hub after its reader ended.
func (c *conn) gone() {
	c.mu.Lock()
	leaves := c.over == nil && !c.todo.running
	if c.over == nil {
		c.todo.running, c.out.writing = true, true // nobody else need come for what is left to do
		c.endLocked(&ending{silent: true})
	}
	c.mu.Unlock()
	if leaves {
		c.leaveAll()
	}
	c.line.cut()
	c.hub.remove(c)
}
