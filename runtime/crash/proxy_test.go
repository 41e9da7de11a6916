//go:build unix

package crash

import (
	"bytes"
	"fmt"
	"net"
	"sync"
	"sync/atomic"
	"testing"

	driver "github.com/go-sql-driver/mysql"
	"github.com/jackc/pgx/v5"
)

// cut is where a proxy cuts a connection.
type cut int64

const (
	never    cut = iota
	unsent       // the COMMIT does not reach the server
	unheard      // the server has committed, and its answer reaches nobody
	silenced     // every connection, and every new one, for as long as it is set
)

func (c cut) String() string { return [...]string{"never", "unsent", "unheard", "silenced"}[c] }

// proxy is a wire between this process and a server, with a knife at it.
type proxy struct {
	net.Listener
	server    string
	commits   []byte // what the client says to commit
	committed []byte // what an answer has in it when the server has committed; any answer if empty
	next      atomic.Int64
	cuts      atomic.Int64
	links     sync.Map // *link of every connection
}

type link struct {
	client, server net.Conn
	swallow        atomic.Bool
}

func (l *link) close() {
	l.client.Close()
	l.server.Close()
}

// through opens a proxy before a database's server and returns the address by which it is reached through it.
func through(t *testing.T, d *database, address string) (*proxy, string) {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	p := &proxy{Listener: ln}
	port := ln.Addr().(*net.TCPAddr).Port
	switch d.name {
	case "postgres":
		cfg, err := pgx.ParseConfig(address)
		if err != nil {
			t.Fatal(err)
		}
		p.server = fmt.Sprintf("%s:%d", cfg.Host, cfg.Port)
		p.commits, p.committed = []byte("\nCOMMIT"), []byte("COMMIT\x00")
		address += fmt.Sprintf(" host=127.0.0.1 port=%d sslmode=disable default_query_exec_mode=exec", port)
	case "mysql":
		cfg, err := driver.ParseDSN(address)
		if err != nil {
			t.Fatal(err)
		}
		p.server, cfg.Addr = cfg.Addr, ln.Addr().String()
		p.commits = []byte("\x03COMMIT")
		address = cfg.FormatDSN()
	}
	go p.serve()
	t.Cleanup(func() {
		ln.Close()
		p.hangUp()
	})
	return p, address
}

func (p *proxy) serve() {
	for {
		client, err := p.Accept()
		if err != nil {
			return
		}
		if cut(p.next.Load()) == silenced {
			client.Close()
			continue
		}
		server, err := net.Dial("tcp", p.server)
		if err != nil {
			client.Close()
			continue
		}
		l := &link{client: client, server: server}
		p.links.Store(l, true)
		go p.up(l)
		go p.down(l)
	}
}

// hangUp ends every connection there is.
func (p *proxy) hangUp() {
	p.links.Range(func(l, _ any) bool {
		l.(*link).close()
		return true
	})
}

// silence ends all connections and answers no new one, until it is called with false.
func (p *proxy) silence(on bool) {
	if !on {
		p.next.Store(int64(never))
		return
	}
	p.next.Store(int64(silenced))
	p.hangUp()
}

// up carries what the client says.
func (p *proxy) up(l *link) {
	defer p.links.Delete(l)
	defer l.close()
	buffer := make([]byte, 256<<10)
	for {
		n, err := l.client.Read(buffer)
		if err != nil {
			return
		}
		said := buffer[:n]
		if how := cut(p.next.Load()); (how == unsent || how == unheard) && bytes.Contains(said, p.commits) && p.next.CompareAndSwap(int64(how), int64(never)) {
			p.cuts.Add(1)
			if how == unsent {
				return
			}
			l.swallow.Store(true)
		}
		if _, err := l.server.Write(said); err != nil {
			return
		}
	}
}

// down carries what the server answers, but for the answer to a COMMIT that nobody is to hear.
func (p *proxy) down(l *link) {
	defer l.close()
	buffer := make([]byte, 256<<10)
	var swallowed []byte
	for {
		n, err := l.server.Read(buffer)
		if err != nil {
			return
		}
		if l.swallow.Load() {
			if swallowed = append(swallowed, buffer[:n]...); bytes.Contains(swallowed, p.committed) {
				return
			}
			continue
		}
		if _, err := l.client.Write(buffer[:n]); err != nil {
			return
		}
	}
}
