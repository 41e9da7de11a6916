package static_test

import (
	"net"
	"strings"
	"sync"
	"testing"
	"time"
)

// relay passes connections on until it freezes: then those it has stay open and say nothing more.
type relay struct {
	net.Listener
	mu     sync.Mutex
	frozen map[net.Conn]bool
}

func newRelay(t *testing.T, to string) *relay {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	r := &relay{Listener: l, frozen: map[net.Conn]bool{}}
	t.Cleanup(func() {
		l.Close()
		r.mu.Lock()
		defer r.mu.Unlock()
		for c := range r.frozen {
			c.Close()
		}
	})
	go func() {
		for {
			near, err := l.Accept()
			if err != nil {
				return
			}
			far, err := net.Dial("tcp", strings.TrimPrefix(to, "http://"))
			if err != nil {
				near.Close()
				continue
			}
			r.mu.Lock()
			r.frozen[near], r.frozen[far] = false, false
			r.mu.Unlock()
			go r.pass(near, far)
			go r.pass(far, near)
		}
	}()
	return r
}

func (r *relay) pass(from, to net.Conn) {
	buf := make([]byte, 32<<10)
	for {
		n, err := from.Read(buf)
		for r.isFrozen(from) {
			time.Sleep(5 * time.Millisecond)
		}
		if _, werr := to.Write(buf[:n]); err != nil || werr != nil {
			to.Close()
			return
		}
	}
}

func (r *relay) isFrozen(c net.Conn) bool { r.mu.Lock(); defer r.mu.Unlock(); return r.frozen[c] }

func (r *relay) freeze(on bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for c := range r.frozen {
		r.frozen[c] = on
	}
}
