package bustest

import (
	"bytes"
	"io"
	"net"
	"sync"
	"sync/atomic"
	"testing"
)

// Proxy passes connections on to a server, until it is told not to.
type Proxy struct {
	listener net.Listener
	server   string
	dark     atomic.Bool // what arrives vanishes
	only     string      // on connections on which a client has said this

	bytes atomic.Int64

	mu   sync.Mutex
	open []net.Conn
}

// NewProxy listens until the test ends.
func NewProxy(t testing.TB, server string) *Proxy {
	t.Helper()
	return NewProxyWhere(t, server, "")
}

// NewProxyWhere is NewProxy, but Darken concerns only connections on which a client has said something in one packet.
func NewProxyWhere(t testing.TB, server, said string) *Proxy {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	p := &Proxy{listener: l, server: server, only: said}
	go p.serve()
	t.Cleanup(func() {
		l.Close()
		p.Kill()
	})
	return p
}

// Addr is where it listens.
func (p *Proxy) Addr() string { return p.listener.Addr().String() }

// Bytes is how many bytes have arrived, from both sides.
func (p *Proxy) Bytes() int64 { return p.bytes.Load() }

// Darken lets every packet of the connections that exist vanish, for good, without closing them, and those of new ones
// until Lighten.
func (p *Proxy) Darken() { p.dark.Store(true) }

// Lighten passes new connections on again.
func (p *Proxy) Lighten() { p.dark.Store(false) }

// Kill closes all connections.
func (p *Proxy) Kill() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, c := range p.open {
		c.Close()
	}
	p.open = nil
}

func (p *Proxy) serve() {
	for {
		in, err := p.listener.Accept()
		if err != nil {
			return
		}
		out, err := net.Dial("tcp", p.server)
		if err != nil {
			in.Close()
			continue
		}
		p.mu.Lock()
		p.open = append(p.open, in, out)
		p.mu.Unlock()
		said := &atomic.Bool{}
		said.Store(p.only == "")
		go p.pass(in, out, said)
		go p.pass(out, in, said)
	}
}

func (p *Proxy) pass(from, to net.Conn, said *atomic.Bool) {
	defer from.Close()
	defer to.Close()
	buf := make([]byte, 64<<10)
	for {
		n, err := from.Read(buf)
		if err != nil {
			return
		}
		p.bytes.Add(int64(n))
		if !said.Load() && bytes.Contains(buf[:n], []byte(p.only)) {
			said.Store(true)
		}
		if p.dark.Load() && said.Load() {
			io.Copy(io.Discard, from)
			return
		}
		if _, err := to.Write(buf[:n]); err != nil {
			return
		}
	}
}
