package fleet

import (
	"io"
	"net"
	"sync"
	"sync/atomic"
	"testing"
)

// balancer is the one address of several processes: each connection goes to the next one that takes it.
type balancer struct {
	net.Listener
	next atomic.Int64

	mu    sync.Mutex
	homes []string
}

func balance(t testing.TB) *balancer {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	b := &balancer{Listener: l}
	t.Cleanup(func() { l.Close() })
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go b.pass(c)
		}
	}()
	return b
}

func (b *balancer) add(p *process) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.homes = append(b.homes, p.addr)
}

func (b *balancer) url() string { return "http://" + b.Addr().String() }

func (b *balancer) pass(c net.Conn) {
	defer c.Close()
	b.mu.Lock()
	homes := b.homes
	b.mu.Unlock()
	for range homes {
		to, err := net.Dial("tcp", homes[int(b.next.Add(1))%len(homes)])
		if err != nil {
			continue
		}
		defer to.Close()
		go func() {
			io.Copy(to, c)
			to.Close()
		}()
		io.Copy(c, to)
		return
	}
}
