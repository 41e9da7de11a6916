package realtime

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"net"
	"net/http"
	"slices"
	"sync"
	"syscall"
	"time"
)

// line is what a connection's frames are written to.
type line interface {
	// send writes frames, in as few writes as their size allows, after setting the deadline of each. After an error,
	// clean says whether the line stands between two frames, so that an ending could follow.
	send(frames []*frame, deadline func() error) (clean bool, err error)
	// try writes frames at once or not at all, as far as others can see, and never waits: what it returns is still to be
	// sent, before anything else. Whoever writes the same to many connections lends all of them one gathered.
	try(frames []*frame, g *gathered) (rest []*frame)
	// close writes an ending, and lets nothing follow it.
	close(code int, reason string, deadline time.Time)
	// cut ends the line without a word, whoever uses it.
	cut()
	SetWriteDeadline(t time.Time) error
	SetReadDeadline(t time.Time) error
}

// link is a hijacked connection. The WebSocket library reads through it and writes nothing but the close frames of its
// own; our frames are made once, header included, and many of them go out in one write.
type link struct {
	net.Conn
	in    *bufio.Reader   // the library's, on this link
	ahead []byte          // what was read before the library asked: by the server, or by await
	lent  *[readSize]byte // that ahead is in, or nil
	small []byte          // where await reads what cannot be waited for without a buffer

	raw  syscall.RawConn // for try and await; nil where Conn is not the socket itself
	now  attempt
	lock chan struct{} // holds one token: whole frames only, and none after a close frame
	head []byte        // the answer to the upgrade, where it is to go out with the first frame
	shut bool
	torn bool // the beginning of a frame was written, and its rest was not
}

// attempt is a write that does not wait, made once for all of a connection's: it would be three allocations each.
type attempt struct {
	write func(fd uintptr) bool
	p     []byte
	n     int
}

// readSize is what one read takes: a page's subscribes, mostly.
const readSize = 4 << 10

// reads are where connections read, which have none while they wait.
var reads = sync.Pool{New: func() any { return new([readSize]byte) }}

// rawOf is a socket, where writing to it is all that a Write of nc does.
func rawOf(nc net.Conn) syscall.RawConn {
	var raw syscall.RawConn
	switch nc := nc.(type) {
	case *net.TCPConn:
		raw, _ = nc.SyscallConn()
	case *net.UnixConn:
		raw, _ = nc.SyscallConn()
	}
	return raw
}

// writeChunk bounds one write, and with it what a stalled reader can hold.
const writeChunk = 64 << 10

var chunks = sync.Pool{New: func() any { return new(make([]byte, 0, writeChunk)) }}

// hijacker gives the WebSocket library a link and buffers that are small: control frames are all it writes, whole ones
// in one piece, and what it reads is in the link.
type hijacker struct {
	http.ResponseWriter
	later bool // the link answers the upgrade
	link  *link
	err   error // that Hijack returned
}

// WriteHeader leaves the answer to an upgrade to the link, which writes it together with the first frame. Not so where
// middleware wraps the ResponseWriter: a log of requests reads the status there.
func (j *hijacker) WriteHeader(status int) {
	_, wraps := j.ResponseWriter.(interface{ Unwrap() http.ResponseWriter })
	if j.later = status == http.StatusSwitchingProtocols && !wraps; !j.later {
		j.ResponseWriter.WriteHeader(status)
	}
}

func (j *hijacker) Hijack() (net.Conn, *bufio.ReadWriter, error) {
	nc, rw, err := hijack(j.ResponseWriter)
	if err != nil {
		j.err = err
		return nil, nil, err
	}
	ahead, err := rw.Reader.Peek(rw.Reader.Buffered())
	if err != nil {
		nc.Close()
		return nil, nil, err
	}
	j.link = &link{Conn: nc, raw: rawOf(nc), ahead: append([]byte(nil), ahead...), lock: make(chan struct{}, 1)}
	j.link.in = bufio.NewReaderSize(j.link, 16)
	if j.later {
		j.link.head = switching(j.Header())
	}
	return j.link, bufio.NewReadWriter(j.link.in, bufio.NewWriterSize(j.link, maxControlFrame)), nil
}

// switching is the answer to an upgrade, with a header.
func switching(h http.Header) []byte {
	const first, last = "HTTP/1.1 101 Switching Protocols\r\n", "\r\n"
	size := len(first) + len(last)
	for name, values := range h {
		for _, v := range values {
			size += len(name) + len(": ") + len(v) + len(last)
		}
	}
	b := bytes.NewBuffer(make([]byte, 0, size))
	b.WriteString(first)
	h.WriteSubset(b, bodily) // a Buffer takes everything
	b.WriteString(last)
	return b.Bytes()
}

// bodily are headers of answers that have a body, which middleware may have expected.
var bodily = map[string]bool{"Content-Length": true, "Transfer-Encoding": true}

// hijack asks each ResponseWriter around the server's for the connection, from the outermost in: some wrappers can pass on
// only what they wrap themselves.
func hijack(w http.ResponseWriter) (nc net.Conn, rw *bufio.ReadWriter, err error) {
	err = http.ErrNotSupported
	for {
		if j, is := w.(http.Hijacker); is {
			if nc, rw, err = j.Hijack(); err == nil {
				return nc, rw, nil
			}
		}
		inner, wraps := w.(interface{ Unwrap() http.ResponseWriter })
		if !wraps {
			return nil, nil, err
		}
		w = inner.Unwrap()
	}
}

// maxControlFrame is the largest control frame of a server: its header and 125 bytes.
const maxControlFrame = 2 + 125

// await returns when there is something to read, or false where the connection has ended. An idle one waits here and not
// in the library, whose calls go so deep that the waiting goroutine would keep four times the stack.
func (l *link) await() bool {
	if len(l.ahead) > 0 || l.in.Buffered() > 0 {
		return true
	}
	if l.raw != nil && readWhenReady(l) {
		return len(l.ahead) > 0
	}
	if l.small == nil {
		l.small = make([]byte, 256)
	}
	n, _ := l.Conn.Read(l.small)
	l.ahead = l.small[:n]
	return n > 0
}

// message takes a text message that was read ahead as a whole, in one frame and with nothing special about it, as almost
// all are. The rest is left to the library.
func (l *link) message() (text []byte, ok bool) {
	in := l.ahead
	if l.in.Buffered() > 0 || len(in) < 2 || in[0] != 0x81 || in[1] < 0x80 {
		return nil, false
	}
	at, size := 2, int(in[1]&0x7f)
	if size == 126 && len(in) >= 4 {
		at, size = 4, int(binary.BigEndian.Uint16(in[2:]))
	} else if size >= 126 {
		return nil, false
	}
	if len(in) < at+4+size {
		return nil, false
	}
	mask := in[at : at+4]
	text = bytes.Clone(in[at+4 : at+4+size])
	for i := range text {
		text[i] ^= mask[i%4]
	}
	l.consume(at + 4 + size)
	return text, true
}

// consume takes bytes that were read ahead as read.
func (l *link) consume(n int) {
	if l.ahead = l.ahead[n:]; len(l.ahead) == 0 && l.lent != nil {
		reads.Put(l.lent)
		l.lent = nil
	}
}

func (l *link) Read(p []byte) (int, error) {
	if len(l.ahead) == 0 {
		return l.Conn.Read(p)
	}
	n := copy(p, l.ahead)
	l.consume(n)
	return n, nil
}

// Write is the library's: a close frame of its own, in one piece. After ours it is dropped.
func (l *link) Write(p []byte) (int, error) {
	l.lock <- struct{}{}
	defer func() { <-l.lock }()
	if l.shut || l.torn {
		return len(p), nil
	}
	l.shut = true
	if err := l.SetWriteDeadline(time.Now().Add(closeWrite)); err != nil {
		return 0, err
	}
	if _, err := l.Conn.Write(l.headed(p)); err != nil {
		return 0, err
	}
	return len(p), nil
}

// headed is p, after what must go out before it; l.lock is held.
func (l *link) headed(p []byte) []byte {
	if l.head == nil {
		return p
	}
	return slices.Concat(l.head, p)
}

func (l *link) send(frames []*frame, deadline func() error) (clean bool, err error) {
	l.lock <- struct{}{}
	defer func() { <-l.lock }()
	if l.shut {
		return false, net.ErrClosed
	}
	clean = !l.torn
	write := func(p []byte, whole bool) error {
		if err := deadline(); err != nil {
			return err
		}
		n, err := l.Conn.Write(l.headed(p))
		if n > 0 {
			l.head = nil
		}
		clean = (err == nil && whole) || (n == 0 && clean)
		l.torn = !clean
		return err
	}
	if len(frames) == 1 && len(frames[0].data) <= writeChunk {
		err = write(frames[0].data, true)
		return clean, err
	}
	var buf []byte // pooled, once there is something to gather
	for _, f := range frames {
		if len(buf) > 0 && len(buf)+len(f.data) > writeChunk {
			if err := write(buf, true); err != nil {
				return clean, err
			}
			buf = buf[:0]
		}
		rest := f.data
		for len(rest) > writeChunk {
			if err := write(rest[:writeChunk], false); err != nil {
				return clean, err
			}
			rest = rest[writeChunk:]
		}
		if len(rest) < len(f.data) { // the end of a long one
			if err := write(rest, true); err != nil {
				return clean, err
			}
			continue
		}
		if buf == nil {
			pooled := chunks.Get().(*[]byte)
			defer chunks.Put(pooled)
			buf = (*pooled)[:0]
		}
		buf = append(buf, rest...)
	}
	if len(buf) > 0 {
		err = write(buf, true)
	}
	return clean, err
}

// gathered is frames in one piece, kept for the next connection that gets the same.
type gathered struct {
	frames []*frame
	data   []byte
}

// maxGathered bounds what one write tries at once: a burst of many large fragments.
const maxGathered = 256 << 10

func (g *gathered) of(frames []*frame) []byte {
	if !slices.Equal(g.frames, frames) {
		g.frames, g.data = frames, g.data[:0]
		for _, f := range frames {
			g.data = append(g.data, f.data...)
		}
	}
	return g.data
}

var gathers = sync.Pool{New: func() any { return new(gathered) }}

// lend returns an empty one, to be given back.
func lend() *gathered { return gathers.Get().(*gathered) }

func (g *gathered) back() {
	g.frames = nil
	gathers.Put(g)
}

func (l *link) try(frames []*frame, g *gathered) (rest []*frame) {
	if l.raw == nil || len(frames) > 1 && weigh(frames) > maxGathered {
		return frames
	}
	select {
	case l.lock <- struct{}{}:
		defer func() { <-l.lock }()
	default: // a close frame is being written
		return frames
	}
	if l.shut || l.torn {
		return frames
	}
	all := frames[0].data
	if len(frames) > 1 {
		all = g.of(frames)
	}
	n := writeNow(l, l.headed(all))
	if n == 0 {
		return frames
	}
	head := l.head
	if l.head = nil; n < len(head) {
		l.torn = true
		return append([]*frame{{data: head[n:]}}, frames...)
	}
	n -= len(head)
	for i, f := range frames {
		if n < len(f.data) {
			if n > 0 {
				l.torn = true
				rest = append(rest, &frame{data: f.data[n:]})
				i++
			}
			return append(rest, frames[i:]...)
		}
		n -= len(f.data)
	}
	return nil
}

func (l *link) cut() { l.Conn.Close() }

func (l *link) close(code int, reason string, deadline time.Time) {
	l.lock <- struct{}{}
	defer func() { <-l.lock }()
	if l.shut {
		return
	}
	l.shut = true
	if l.torn { // it would land inside a frame
		l.Conn.Close()
		return
	}
	if l.SetWriteDeadline(deadline) == nil {
		payload := binary.BigEndian.AppendUint16(nil, uint16(code))
		payload = append(payload, reason...)
		l.Conn.Write(l.headed(append([]byte{0x88, byte(len(payload))}, payload...)))
	}
}
