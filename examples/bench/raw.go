package main

import (
	"bufio"
	"context"
	"fmt"
	"net"
	"os"
	"runtime"
	"strings"
	"sync"
	"syscall"
)

// rawPage is who shows a page, and what they show.
type rawPage struct {
	mu    sync.Mutex
	shows map[*rawConn]bool
	shown []byte // as one frame
}

type rawConn struct {
	net.Conn
	fd syscall.RawConn
}

// serveRaw is no peer but the floor: what the kernel and Go take to bring bytes to so many connections. A client says
// which page it wants, in a line; each change is put into bytes once, with everything that belongs to it, and written to
// every connection with one system call, by as many goroutines as there are processors.
func serveRaw(_ context.Context, ln net.Listener) (func(string, int) error, error) {
	pages := map[string]*rawPage{pageOne: {shows: map[*rawConn]bool{}}, pageMany: {shows: map[*rawConn]bool{}}}
	go func() {
		for {
			nc, err := ln.Accept()
			if err != nil {
				fmt.Fprintln(os.Stderr, "raw:", err)
				os.Exit(1)
			}
			go serveRawConn(nc, pages)
		}
	}()
	n := 0
	return func(name string, size int) error {
		n++
		var news []byte
		shown := []byte("c")
		for k := range pushed(name) {
			html := asJSON(fragment(k, n, size))
			news = append(news, unmasked(append([]byte("f"), html...))...)
			shown = append(shown, html...)
		}
		p := pages[name]
		p.mu.Lock()
		defer p.mu.Unlock()
		p.shown = unmasked(shown)
		all := make([]*rawConn, 0, len(p.shows))
		for c := range p.shows {
			all = append(all, c)
		}
		var parts sync.WaitGroup
		for each := len(all)/runtime.GOMAXPROCS(0) + 1; len(all) > 0; {
			part := all[:min(each, len(all))]
			all = all[len(part):]
			parts.Go(func() {
				for _, c := range part {
					c.push(news)
				}
			})
		}
		parts.Wait()
		return nil
	}, nil
}

func serveRawConn(nc net.Conn, pages map[string]*rawPage) {
	defer nc.Close()
	in := bufio.NewReaderSize(nc, 16)
	name, err := in.ReadString('\n')
	p := pages[strings.TrimSpace(name)]
	if err != nil || p == nil {
		return
	}
	fd, err := nc.(*net.TCPConn).SyscallConn()
	if err != nil {
		return
	}
	c := &rawConn{nc, fd}
	p.mu.Lock()
	p.shows[c] = true
	_, err = nc.Write(append([]byte("raw\r\n\r\n"), p.shown...))
	p.mu.Unlock()
	for err == nil {
		_, err = in.ReadByte()
	}
	p.mu.Lock()
	delete(p.shows, c)
	p.mu.Unlock()
}

// push writes without waiting for the reader; what a socket does not take at once is left to a goroutine.
func (c *rawConn) push(news []byte) {
	n := 0
	c.fd.Write(func(fd uintptr) bool {
		n, _ = syscall.Write(int(fd), news)
		return true
	})
	if rest := news[max(n, 0):]; len(rest) > 0 {
		go c.Conn.Write(rest)
	}
}

// openRaw asks for a page.
func openRaw(_, page string) (opening, error) {
	return opening{
		request: page + "\n",
		status:  "raw",
		parser:  func() parser { return &frames{} },
		means: func(line string) meaning {
			return meaning{event: strings.HasPrefix(line, "f"), current: strings.HasPrefix(line, "c")}
		},
	}, nil
}
