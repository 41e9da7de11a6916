package webtest

import (
	"encoding/json"
	"errors"
	"strconv"
	"time"

	"github.com/coder/websocket"
	"golang.org/x/net/html"

	"github.com/lockstep-go/lockstep/realtime/wire"
)

const (
	lasted   = 10 * time.Second // after which a connection counts as a good one
	silent   = 8 * time.Second  // stands for the heartbeat until the server has named it
	maxFrame = 120 << 10        // of a subscribe; a longer one asks for one token in place of many
)

// conn is a page's connection. What is not the reading goroutine's alone is under the page's lock.
type conn struct {
	life    *life
	line    line
	greeted time.Time
	lost    bool
	beat    time.Duration
	silence *time.Timer
	ended   chan struct{} // closed with lost
	thaw    chan struct{} // while frozen: closed by Thaw
	out     [][]byte
	writing bool
	astray  bool // its commands have reached a process that does not have it
}

// keepConnected holds a connection as long as a scope wants one.
func (p *Page) keepConnected(l *life) {
	for l.ctx.Err() == nil {
		p.mu.Lock()
		wanted := p.wanted(l)
		p.mu.Unlock()
		if !wanted {
			select {
			case <-l.wake:
			case <-l.ctx.Done():
			}
			continue
		}
		wait := time.NewTimer(p.connection(l))
		select {
		case <-wait.C:
		case <-l.ctx.Done():
			wait.Stop()
		}
	}
}

func (p *Page) wanted(l *life) bool {
	for _, s := range p.scopes {
		if !s.ended {
			return !l.revoked
		}
	}
	return false
}

// connection opens a connection, follows it to its end, and says how long to wait for the next.
func (p *Page) connection(l *life) time.Duration {
	c, err := p.dial(l)
	for err == nil {
		var text []byte
		if text, err = c.line.read(); err == nil && !p.receive(c, text) {
			break
		}
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.over(l, c, err)
}

func (p *Page) dial(l *life) (*conn, error) {
	p.mu.Lock()
	at, err := p.client.Parse("socket")
	streams := p.overStream
	if err == nil && streams {
		at, err = p.client.Parse("stream")
	}
	origin := p.address.Scheme + "://" + p.address.Host
	if p.status() == "" {
		p.show("connecting")
	}
	p.mu.Unlock()
	if err != nil {
		return nil, err
	}
	if streams {
		s := p.newStream(l.ctx, at.String(), origin)
		c := p.begin(l, s, true)
		p.mu.Lock()
		commands := c.out // which go with the request; what comes to be said meanwhile waits for the stream's name
		c.out = nil
		p.mu.Unlock()
		if err := s.open(commands); err != nil {
			return c, err
		}
		l.work.Go(func() { p.write(c) })
		return c, nil
	}
	s, err := p.dialSocket(l.ctx, at.String(), origin)
	if err != nil {
		return nil, err
	}
	return p.begin(l, s, false), nil
}

// begin makes a line the page's connection, and subscribes the scopes. Where waits is set, somebody else has the first
// commands sent.
func (p *Page) begin(l *life, to line, waits bool) *conn {
	p.mu.Lock()
	defer p.mu.Unlock()
	c := &conn{life: l, line: to, beat: silent, ended: make(chan struct{}), writing: waits}
	c.silence = time.AfterFunc(c.patience(), func() { p.mu.Lock(); defer p.mu.Unlock(); c.lose() })
	if p.life != l {
		c.lose()
		return c
	}
	p.conn, p.faults = c, faults{}
	for _, s := range p.scopes {
		if !s.ended && !s.renewing {
			p.subscribe(s)
		}
	}
	return c
}

// patience is how long the server may say nothing.
func (c *conn) patience() time.Duration { return c.beat + c.beat/2 }

// lose gives the connection up.
func (c *conn) lose() {
	if c == nil || c.lost {
		return
	}
	c.lost = true
	close(c.ended)
	c.silence.Stop()
	c.line.cut()
}

// over takes note of a connection's end and returns the wait for the next.
func (p *Page) over(l *life, c *conn, err error) time.Duration {
	if c != nil {
		c.lose()
		c.line.free()
		if !c.greeted.IsZero() && time.Since(c.greeted) >= lasted {
			l.attempt = 0
		}
	}
	if p.life != l {
		return 0
	}
	p.conn = nil
	closed, _ := errors.AsType[websocket.CloseError](err)
	for _, s := range p.scopes {
		s.answered = false
		if closed.Code == wire.CloseRevoked {
			s.end("denied")
		} else if !s.ended {
			s.show("reconnecting")
		}
	}
	defer p.note()
	if closed.Code == wire.CloseRevoked {
		l.revoked = true
		p.show("denied")
		return 0
	}
	p.show("reconnecting")
	switch closed.Code {
	case websocket.StatusGoingAway, websocket.StatusServiceRestart, websocket.StatusTryAgainLater:
		if within, err := strconv.Atoi(closed.Reason); err == nil && within > 0 {
			return time.Duration(p.rnd.Int64N(int64(min(within, 300_000)))) * time.Millisecond
		}
	}
	if c != nil && c.astray {
		return 0
	}
	l.attempt++
	return p.backoff(l.attempt - 1)
}

// backoff is full jitter, as the client's.
func (p *Page) backoff(tries int) time.Duration {
	limit := min(30*time.Second, 500*time.Millisecond<<min(tries, 10))
	return time.Duration((1 - p.rnd.Float64()) * float64(limit))
}

// send queues a command.
func (p *Page) send(command any) {
	c := p.conn
	if c == nil || c.lost {
		return
	}
	text, err := json.Marshal(command)
	if err != nil {
		panic(err) // ours always encode
	}
	c.out = append(c.out, text)
	if !c.writing {
		c.writing = true
		c.life.work.Go(func() { p.write(c) })
	}
}

func (p *Page) write(c *conn) {
	for {
		p.mu.Lock()
		if len(c.out) == 0 || c.lost {
			c.writing = false
			p.mu.Unlock()
			return
		}
		frames := c.out
		c.out = nil
		p.mu.Unlock()
		if err := c.line.write(frames); err != nil {
			p.mu.Lock()
			defer p.mu.Unlock()
			c.astray = errors.Is(err, errElsewhere)
			if _, ok := c.line.(*stream); ok {
				c.lose()
			}
			return // reading says why
		}
	}
}

// receive takes a frame from the network; false once the connection is given up.
func (p *Page) receive(c *conn, text []byte) bool {
	p.mu.Lock()
	if !c.lost {
		c.silence.Reset(c.patience())
	}
	thaw := c.thaw
	p.mu.Unlock()
	if thaw != nil {
		select {
		case <-thaw:
		case <-c.ended:
		}
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if c.lost || p.conn != c {
		return false
	}
	var f wire.Frame
	if err := json.Unmarshal(text, &f); err != nil {
		p.t.Errorf("webtest: the server sent %s: %v", excerpt(string(text)), err)
		return false
	}
	for _, a := range p.faults.pass(arrival{f, text}) {
		p.take(&a.Frame)
	}
	p.join()
	p.note()
	return true
}

// take does what a frame says.
func (p *Page) take(f *wire.Frame) {
	c := p.conn
	switch f.Type {
	case "ping":
		p.send(map[string]string{"t": "pong"})
	case "hello":
		c.greeted = time.Now()
		if f.Heartbeat > 0 {
			c.beat = time.Duration(f.Heartbeat) * time.Millisecond
		}
		p.show("connected")
	case "ok":
		if s := p.asked(f); s != nil {
			s.answer(f)
		}
	case "no":
		if s := p.asked(f); s != nil {
			s.refused(f)
		}
	case "f", "l":
		for _, s := range p.scopes {
			s.live(f)
		}
	}
}

// asked is the scope whose newest subscribe a frame answers.
func (p *Page) asked(f *wire.Frame) *scope {
	for _, s := range p.scopes {
		if s.name == f.Scope && s.n == f.Number {
			return s
		}
	}
	return nil
}

// subscribe asks for a scope, now or as soon as there is a connection.
func (p *Page) subscribe(s *scope) {
	s.answered = false
	if p.conn == nil || p.conn.lost {
		p.wake()
		return
	}
	p.count++
	s.n = p.count
	command := s.ask()
	if text, err := json.Marshal(command); err == nil && len(text) > maxFrame {
		s.renew()
		return
	}
	p.send(command)
}

func (p *Page) wake() {
	if p.life != nil {
		select {
		case p.life.wake <- struct{}{}:
		default:
		}
	}
}

// join takes note of scopes that have come into the page, that are gone from it, and that have another token.
func (p *Page) join() {
	if p.life == nil {
		return
	}
	var now, born []*scope
	for _, n := range elements(p.doc, isScope) {
		s := p.scopeOf(n)
		if s == nil {
			s = p.newScope(n)
			born = append(born, s)
		}
		now = append(now, s)
	}
	old := p.scopes
	p.scopes = now
	for _, s := range old {
		if !contains(p.doc, s.node) {
			p.send(map[string]string{"t": "unsub", "s": s.name})
		} else if s.token != "" {
			s.follow()
		}
	}
	for _, s := range born {
		if p.life.revoked {
			s.end("denied")
		} else {
			p.subscribe(s)
		}
	}
	if c := p.conn; c != nil && !p.wanted(p.life) {
		c.lose() // nobody needs it
	}
}

func (p *Page) scopeOf(n *html.Node) *scope {
	for _, s := range p.scopes {
		if n != nil && s.node == n {
			return s
		}
	}
	return nil
}

// pairs says which shown scopes the scopes of a new rendering are.
func (p *Page) pairs(shown, fresh *html.Node) map[*html.Node]*scope {
	var free []*scope
	for _, s := range p.scopes {
		if s.node != shown && contains(shown, s.node) {
			free = append(free, s)
		}
	}
	pairs := map[*html.Node]*scope{}
	for _, n := range elements(fresh, isScope) {
		for i, s := range free {
			if s != nil && s.instance != "" && s.instance == attr(n, "instance") {
				pairs[n], free[i] = s, nil
				break
			}
		}
	}
	return pairs
}

// adopt makes shown scopes those of a new rendering.
func (p *Page) adopt(shown, fresh *html.Node) {
	for n, s := range p.pairs(shown, fresh) {
		setAttr(n, "status", attr(s.node, "status"))
		s.node = n
	}
}
