package main

import (
	"bytes"
	"encoding/binary"
	"fmt"
)

// opening is how a client comes to a peer's page, and what it makes of what it is told.
type opening struct {
	request string // of HTTP
	status  string // what its answer begins with
	then    []byte // said after that
	parser  func() parser
	means   func(line string) meaning
}

// meaning is what a line says: a frame, one of several messages in a frame, or a line of an event stream.
type meaning struct {
	event   bool   // a fragment
	current bool   // that the client is subscribed and shows what there is
	answer  []byte // what to say to that
	after   int64  // in how many ms at the earliest
	failed  string
}

// parser splits what a connection brings into lines and hands each one's beginning to take.
type parser interface {
	feed(p []byte, take func(line []byte)) error
}

// kept is how much of a line is looked at.
const kept = 160

// lines splits text.
type lines struct{ begun []byte }

func (l *lines) feed(p []byte, take func([]byte)) {
	for len(p) > 0 {
		i := bytes.IndexByte(p, '\n')
		if i < 0 {
			l.keep(p)
			return
		}
		if len(l.begun) == 0 {
			take(p[:min(i, kept)]) // whole, so there is nothing to keep
		} else {
			l.keep(p[:i])
			l.end(take)
		}
		p = p[i+1:]
	}
}

func (l *lines) keep(p []byte) {
	l.begun = append(l.begun, p[:min(len(p), kept-len(l.begun))]...)
}

// end ends the last line.
func (l *lines) end(take func([]byte)) {
	if len(l.begun) > 0 {
		take(l.begun)
		l.begun = l.begun[:0]
	}
}

// frames parses a server's WebSocket frames.
type frames struct {
	lines
	head [10]byte
	has  int // bytes of head
	left uint64
	text bool
}

func (f *frames) feed(p []byte, take func([]byte)) error {
	for len(p) > 0 {
		if f.left > 0 {
			n := min(f.left, uint64(len(p)))
			if f.text {
				f.lines.feed(p[:n], take)
			}
			p, f.left = p[n:], f.left-n
			if f.left == 0 && f.text {
				f.end(take)
			}
			continue
		}
		f.head[f.has] = p[0]
		f.has++
		p = p[1:]
		size, whole := f.size()
		if !whole {
			continue
		}
		switch f.head[0] {
		case 0x81, 0x80, 0x01:
			f.text = true
		case 0x88:
			return fmt.Errorf("the server closed the socket")
		default:
			f.text = false
		}
		f.has, f.left = 0, size
	}
	return nil
}

// size is the length of the frame whose header there is, once there is all of it.
func (f *frames) size() (uint64, bool) {
	switch {
	case f.has < 2:
		return 0, false
	case f.head[1] < 126:
		return uint64(f.head[1]), true
	case f.head[1] == 126:
		return uint64(binary.BigEndian.Uint16(f.head[2:4])), f.has == 4
	}
	return binary.BigEndian.Uint64(f.head[2:10]), f.has == 10
}

// events parses an event stream, in chunks as HTTP/1.1 sends it.
type events struct {
	lines
	size  uint64 // of the chunk whose header is being read
	body  bool
	left  uint64
	ended bool // the line break after a chunk is still to come
}

func (e *events) feed(p []byte, take func([]byte)) error {
	for len(p) > 0 {
		if e.body {
			n := min(e.left, uint64(len(p)))
			e.lines.feed(p[:n], take)
			p, e.left = p[n:], e.left-n
			if e.left == 0 {
				e.body, e.ended = false, true
			}
			continue
		}
		b := p[0]
		p = p[1:]
		switch {
		case b == '\r':
		case b == '\n' && e.ended:
			e.ended = false
		case b == '\n' && e.size == 0:
			return fmt.Errorf("the server ended the stream")
		case b == '\n':
			e.body, e.left, e.size = true, e.size, 0
		case b >= '0' && b <= '9':
			e.size = e.size<<4 | uint64(b-'0')
		case b >= 'a' && b <= 'f':
			e.size = e.size<<4 | uint64(b-'a'+10)
		default:
			return fmt.Errorf("%q is no size of a chunk", b)
		}
	}
	return nil
}

// upgrade is a request for a WebSocket, as a page of addr sends it.
func upgrade(addr, path, subprotocol string) string {
	r := "GET " + path + " HTTP/1.1\r\nHost: " + addr + "\r\nOrigin: http://" + addr + "\r\nUpgrade: websocket\r\n" +
		"Connection: Upgrade\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n"
	if subprotocol != "" {
		r += "Sec-WebSocket-Protocol: " + subprotocol + "\r\n"
	}
	return r + "\r\n"
}

// masked is text as a frame of a client, with a mask that changes nothing.
func masked(text []byte) []byte {
	head := []byte{0x81, 0x80 | byte(len(text))}
	if len(text) > 125 {
		head = binary.BigEndian.AppendUint16([]byte{0x81, 0x80 | 126}, uint16(len(text)))
	}
	return append(append(head, 0, 0, 0, 0), text...)
}

// unmasked is text as a frame of a server.
func unmasked(text []byte) []byte {
	head := []byte{0x81, byte(len(text))}
	switch {
	case len(text) >= 1<<16:
		head = binary.BigEndian.AppendUint64([]byte{0x81, 127}, uint64(len(text)))
	case len(text) > 125:
		head = binary.BigEndian.AppendUint16([]byte{0x81, 126}, uint16(len(text)))
	}
	return append(head, text...)
}
