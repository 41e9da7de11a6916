package realtime

import (
	"time"

	"github.com/lockstep-go/lockstep/realtime/wire"
)

// todo is what a connection's worker has to do. Commands stay in order; the rest conflates. It is guarded by the
// connection's mutex.
type todo struct {
	running  bool
	commands []command
	size     int           // bytes of commands
	room     chan struct{} // closed when the reader may add another
	stops    map[*sub]wire.Reason
	redo     map[*sub]bool            // to answer again
	checkAll bool                     // to ask all policies again
	dirty    map[*sub]map[*shown]bool // to render for this viewer
	retries  map[showing]time.Time    // to make dirty again; a timer waits for the first
}

// command is one of the client's frames.
type command struct {
	wire.Command
	garbage bool
	text    []byte // of one that was not parsed yet
	size    int
}

// parse reads a frame of the client.
func parse(text []byte) command {
	cmd, err := wire.ParseCommand(text)
	return command{Command: cmd, garbage: err != nil, size: len(text)}
}

// Commands of one connection that wait; the reader stops reading at either bound.
const (
	maxCommands     = 1024
	maxCommandBytes = 2 * wire.MaxFrameBytes
)

func (d *todo) any() bool {
	return d.checkAll || len(d.commands)+len(d.stops)+len(d.redo)+len(d.dirty) > 0
}

// forget drops what was to be done for a subscription.
func (d *todo) forget(s *sub) {
	delete(d.stops, s)
	delete(d.redo, s)
	delete(d.dirty, s)
	for key := range d.retries {
		if key.sub == s {
			delete(d.retries, key)
		}
	}
}

// note adds an entry to one of the sets of todo.
func note[K comparable, V any](set *map[K]V, k K, v V) {
	if *set == nil {
		*set = map[K]V{}
	}
	(*set)[k] = v
}

// kick sees to it that the worker runs; c.mu is held.
func (c *conn) kick() {
	if !c.todo.running && c.over == nil && c.todo.any() {
		c.todo.running = c.hub.spawn(c.work)
	}
}

// take queues a command for the worker. A client that sends faster than its commands are done waits.
func (c *conn) take(cmd command) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for c.over == nil && (len(c.todo.commands) >= maxCommands || len(c.todo.commands) > 0 && c.todo.size+cmd.size > maxCommandBytes) {
		if c.todo.room == nil {
			c.todo.room = make(chan struct{})
		}
		room := c.todo.room
		c.mu.Unlock()
		select {
		case <-room:
		case <-c.ctx.Done():
		}
		c.mu.Lock()
	}
	if c.over == nil {
		c.round.asks(cmd)
		c.todo.commands = append(c.todo.commands, cmd)
		c.todo.size += cmd.size
		c.kick()
	}
}

// next takes the first command; c.mu is held.
func (d *todo) next() command {
	cmd := d.commands[0]
	d.commands[0] = command{}
	d.commands = d.commands[1:]
	if d.size -= cmd.size; len(d.commands) == 0 {
		d.commands = nil
	}
	if d.room != nil {
		close(d.room)
		d.room = nil
	}
	return cmd
}

// work does what there is to do for one viewer: commands in their order, new answers, checks, renders.
func (c *conn) work() {
	rendered := true // so that commands and renders take turns
	for {
		c.mu.Lock()
		d := &c.todo
		room := c.out.size <= maxControl
		switch {
		case c.over != nil: // running stays set: nothing may follow
			c.mu.Unlock()
			c.leaveAll()
			return
		case len(d.stops) > 0:
			stops := d.stops
			d.stops = nil
			c.mu.Unlock()
			for s, reason := range stops {
				c.leave(s)
				c.refuse(s.number, s.scope, reason)
			}
		case d.checkAll:
			d.checkAll = false
			c.mu.Unlock()
			c.recheck()
		case len(d.redo) > 0 && room:
			redo := d.redo
			d.redo = nil
			c.mu.Unlock()
			c.redo(redo)
		case len(d.commands) > 0 && room && (rendered || len(d.dirty) == 0):
			cmd := d.next()
			c.mu.Unlock()
			c.do(cmd)
			rendered = false
		case len(d.dirty) > 0:
			dirty := d.dirty
			d.dirty = nil
			c.mu.Unlock()
			c.renderPersonal(dirty)
			rendered = true
		default:
			d.running = false
			c.mu.Unlock()
			return
		}
	}
}

// again asks for a new answer of s: its actor began a new epoch. topic.mu is held.
func (c *conn) again(s *sub) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.over != nil || s.gone {
		return
	}
	s.answered, s.held = false, nil
	s.forgetsAll()
	c.out.purge(s.topic)
	delete(c.todo.dirty, s)
	note(&c.todo.redo, s, true)
	c.kick()
}

// stop ends a subscription with a reason. topic.mu is held.
func (c *conn) stop(s *sub, reason wire.Reason) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.over != nil || s.gone {
		return
	}
	s.answered = false
	note(&c.todo.stops, s, reason)
	c.kick()
}

// stale asks for targets to be rendered for this viewer. topic.mu is held.
func (c *conn) stale(list []showing) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.over != nil {
		return
	}
	for _, what := range list {
		c.mark(what.sub, what.at)
	}
	c.kick()
}

// do carries out one command.
func (c *conn) do(cmd command) {
	if cmd.text != nil {
		cmd = parse(cmd.text)
	}
	switch {
	case cmd.garbage:
		c.offence()
		c.refuse(cmd.Number, cmd.Scope, wire.BadRequest)
	case cmd.Type == "unsub":
		if s := c.scopes[cmd.Scope]; s != nil {
			c.leave(s)
		}
	case cmd.Type == "sub":
		c.subscribe(cmd.Command)
	case cmd.Type != "pong":
		c.offence() // of a later protocol, perhaps; a flood of them is none
	}
}

// offence counts what a well-behaved client does not do, and ends the connection of one who goes on with it.
func (c *conn) offence() {
	now := time.Now()
	if c.offences.wait(now, offenceEvery, offenceBurst) > 0 {
		c.hub.log.Info("closed a connection that floods the hub")
		c.endFor(ClosedFlood, wire.CloseProtocol, "too many frames that are no commands")
		return
	}
	c.offences.take(now, offenceEvery)
}

// leave ends a subscription without a word.
func (c *conn) leave(s *sub) {
	if c.scopes[s.scope] == s {
		delete(c.scopes, s.scope)
	}
	others := false
	for _, other := range c.scopes {
		others = others || other.topic == s.topic
	}
	s.leave(others)
}

func (c *conn) leaveAll() {
	for _, s := range c.scopes {
		c.leave(s)
	}
}

// refuse says no to a subscribe, or ends a running one.
func (c *conn) refuse(number int64, scope string, reason wire.Reason) {
	f := wire.Frame{Type: "no", Number: number, Scope: scope, Reason: reason, Retry: reason.Retry()}
	switch reason {
	case wire.Later:
		f.After = spread(laterAfter).Milliseconds()
	case wire.Newer:
		f.After = spread(newerAfter).Milliseconds()
	}
	c.hub.meter.Count(CountRefused, string(reason), 1)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.round.refuses(number)
	c.send(encode(f))
}

// When those come back who were told "later" or "newer": from then to twice as long.
const (
	laterAfter = time.Second
	newerAfter = 5 * time.Second
)
