package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
)

// patience is how long everything that is waited for may take.
const patience = time.Minute

// dialing is how many connections are being opened at once: fewer than a listener's queue holds, since one that finds it
// full tries again only after a second.
const dialing = 1000

// crowd is the clients of a page: one goroutine each, which waits for its connection to be readable and reads into a buffer
// that it lends only then.
type crowd struct {
	how   opening
	addr  string
	slots chan struct{}

	conns   []*visitor
	wg      sync.WaitGroup
	current atomic.Int64
	over    atomic.Bool

	wanted  atomic.Int64 // events that are still to come
	arrived chan time.Time
	ready   chan time.Time
	failed  chan error
}

// client is the process of the clients.
func client() error {
	var c *crowd
	leave := func() {
		if c != nil {
			c.leave()
		}
	}
	defer leave()
	return obey(reply{}, func(o order) (r reply) {
		var err error
		switch o.Do {
		case "open", "storm": // a storm is the same page's clients, all dropped and back at once
			begun := time.Now()
			leave()
			var p peer
			if p, err = peerNamed(o.Peer); err == nil {
				c, err = gather(p, o.Addr, o.Page, o.Count)
			}
			r.Ms = float64(time.Since(begun).Microseconds()) / 1000
		case "expect":
			c.wanted.Add(int64(o.Count))
		case "await":
			var at time.Time
			at, err = c.wait(c.arrived, "%d events did not arrive", &c.wanted)
			r.At = at.UnixNano()
		case "leave":
			leave()
			c = nil
		default:
			err = errors.New("unknown order " + o.Do)
		}
		if err != nil {
			r.Error = err.Error()
		}
		return r
	})
}

// gather opens n connections to a page and returns when all are current.
func gather(p peer, addr, page string, n int) (*crowd, error) {
	how, err := p.opening(addr, page)
	if err != nil {
		return nil, err
	}
	c := &crowd{
		how: how, addr: addr, slots: make(chan struct{}, dialing), conns: make([]*visitor, n),
		arrived: make(chan time.Time, 1), ready: make(chan time.Time, 1), failed: make(chan error, n),
	}
	c.current.Store(int64(n))
	for i := range c.conns {
		c.conns[i] = &visitor{crowd: c, parser: how.parser()}
		c.wg.Go(c.conns[i].visit)
	}
	if _, err := c.wait(c.ready, "%d connections did not become current", &c.current); err != nil {
		c.leave()
		return nil, err
	}
	return c, nil
}

func (c *crowd) wait(for_ chan time.Time, missing string, n *atomic.Int64) (time.Time, error) {
	select {
	case at := <-for_:
		return at, nil
	case err := <-c.failed:
		return time.Time{}, err
	case <-time.After(patience):
		return time.Time{}, fmt.Errorf(missing, n.Load())
	}
}

// leave drops all connections.
func (c *crowd) leave() {
	c.over.Store(true)
	for _, v := range c.conns {
		v.drop()
	}
	c.wg.Wait()
}

// visitor is one connection.
type visitor struct {
	crowd   *crowd
	parser  parser
	head    []byte // of the answer to the request, until it is whole
	open    bool
	current bool
	events  int64 // of what is being read

	mu   sync.Mutex
	conn *net.TCPConn
}

func (v *visitor) drop() {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.conn != nil {
		v.conn.SetLinger(0) // thousands would wait for their ports otherwise
		v.conn.Close()
	}
}

// visit lives as long as the connection.
func (v *visitor) visit() {
	c := v.crowd
	c.slots <- struct{}{}
	free := sync.OnceFunc(func() { <-c.slots })
	defer free()
	if c.over.Load() {
		return
	}
	if err := v.live(free); err != nil && !c.over.Load() {
		c.failed <- err
	}
}

func (v *visitor) live(opened func()) error {
	c := v.crowd
	conn, err := net.Dial("tcp", c.addr)
	if err != nil {
		return err
	}
	v.mu.Lock()
	v.conn = conn.(*net.TCPConn)
	v.mu.Unlock()
	if c.over.Load() {
		v.drop()
	}
	if _, err := io.WriteString(conn, c.how.request); err != nil {
		return err
	}
	raw, err := v.conn.SyscallConn()
	if err != nil {
		return err
	}
	for {
		var failed error
		err := raw.Read(func(fd uintptr) bool {
			lent := buffers.Get().(*[]byte)
			defer buffers.Put(lent)
			n, err := syscall.Read(int(fd), *lent)
			switch {
			case err == syscall.EAGAIN || err == syscall.EINTR:
				return false
			case err != nil:
				failed = os.NewSyscallError("read", err)
			case n == 0:
				failed = io.ErrUnexpectedEOF
			default:
				failed = v.take((*lent)[:n])
			}
			return true
		})
		if err = errors.Join(err, failed); err != nil {
			return err
		}
		if v.open {
			opened()
		}
	}
}

var buffers = sync.Pool{New: func() any { return new(make([]byte, 64<<10)) }}

// take takes what was read, and counts events once for all of it.
func (v *visitor) take(p []byte) error {
	c := v.crowd
	if !v.open {
		v.head = append(v.head, p...)
		end := bytes.Index(v.head, []byte("\r\n\r\n"))
		if end < 0 {
			return nil
		}
		if !bytes.HasPrefix(v.head, []byte(c.how.status)) {
			return fmt.Errorf("answered %q", v.head[:end])
		}
		p = v.head[end+4:]
		v.head, v.open = nil, true
		if _, err := v.conn.Write(c.how.then); err != nil {
			return err
		}
	}
	var wrong error
	v.events = 0
	err := v.parser.feed(p, func(line []byte) { wrong = errors.Join(wrong, v.understand(line)) })
	if n := v.events; n > 0 && c.wanted.Add(-n) == 0 {
		c.arrived <- time.Now()
	}
	return errors.Join(wrong, err)
}

func (v *visitor) understand(line []byte) error {
	c := v.crowd
	switch m := c.how.means(string(line)); {
	case m.failed != "":
		return errors.New(m.failed)
	case m.answer != nil && m.after > 0:
		time.AfterFunc(time.Duration(m.after)*time.Millisecond, func() { v.conn.Write(m.answer) })
	case m.answer != nil:
		_, err := v.conn.Write(m.answer)
		return err
	case m.current && !v.current:
		v.current = true
		if c.current.Add(-1) == 0 {
			c.ready <- time.Now()
		}
	case m.event:
		v.events++
	}
	return nil
}
