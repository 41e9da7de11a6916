package realtime_test

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"fmt"
	"net"
	"net/http"
	"regexp"
	"runtime"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/lockstep-go/lockstep/realtime/wire"
)

// stranger is a socket below the WebSocket library: it sends whatever bytes it likes.
type stranger struct {
	net.Conn
	head *http.Response
	done chan struct{}
	mu   sync.Mutex
	got  []byte // all that came after the upgrade
}

const upgrade = "GET /socket HTTP/1.1\r\nHost: shop.example\r\nOrigin: http://shop.example\r\nX-User: stranger\r\nConnection: Upgrade\r\n" +
	"Upgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n" +
	"Sec-WebSocket-Protocol: " + wire.Subprotocol + "\r\nSec-WebSocket-Extensions: permessage-deflate; client_max_window_bits\r\n\r\n"

// stranger opens a socket; send writes the request.
func (h *house) stranger(send func(net.Conn, []byte)) *stranger {
	h.t.Helper()
	conn := must(h.dial(h.t.Context(), "", ""))
	s := &stranger{Conn: conn, done: make(chan struct{})}
	answered := make(chan struct{})
	go func() {
		defer close(s.done)
		r := bufio.NewReader(conn)
		var err error
		s.head, err = http.ReadResponse(r, nil)
		close(answered)
		if err != nil {
			return
		}
		buf := make([]byte, 4<<10)
		for {
			n, err := r.Read(buf)
			s.mu.Lock()
			s.got = append(s.got, buf[:n]...)
			s.mu.Unlock()
			if err != nil {
				return
			}
		}
	}()
	send(conn, []byte(upgrade))
	<-answered
	if s.head == nil || s.head.StatusCode != http.StatusSwitchingProtocols {
		h.t.Fatalf("the upgrade was answered %+v", s.head)
	}
	return s
}

func atOnce(c net.Conn, data []byte) { c.Write(data) }

// bytewise sends a byte at a time.
func bytewise(c net.Conn, data []byte) {
	for i := range data {
		if _, err := c.Write(data[i : i+1]); err != nil {
			return
		}
		time.Sleep(2 * time.Millisecond)
	}
}

// heard is the text of the frames that came, and the code of the close frame or 0.
func (s *stranger) heard() (frames []string, code int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for b := s.got; len(b) >= 2; {
		size, at := int(b[1]), 2
		switch size {
		case 126:
			size, at = int(binary.BigEndian.Uint16(b[2:])), 4
		case 127:
			size, at = int(binary.BigEndian.Uint64(b[2:])), 10
		}
		body := b[at:min(len(b), at+size)]
		if b[0] == 0x88 && len(body) >= 2 {
			return frames, int(binary.BigEndian.Uint16(body))
		}
		frames = append(frames, string(body))
		b = b[min(len(b), at+size):]
	}
	return frames, 0
}

// frame is a client's frame: first is FIN, reserved bits and opcode.
func clientFrame(first byte, payload []byte) []byte {
	b := []byte{first}
	switch n := len(payload); {
	case n < 126:
		b = append(b, 0x80|byte(n))
	case n < 1<<16:
		b = binary.BigEndian.AppendUint16(append(b, 0x80|126), uint16(n))
	default:
		b = binary.BigEndian.AppendUint64(append(b, 0x80|127), uint64(n))
	}
	return append(append(b, 0, 0, 0, 0), payload...) // a mask of zeros changes nothing
}

func text(s string) []byte { return clientFrame(0x81, []byte(s)) }

const cut = -1 // closed without a code

// hostile is what a stranger sends, and how the hub must take it: the code of the close, or 0 where the socket lives on,
// and a part of what is said.
var hostile = map[string]struct {
	send func(s *stranger, token string)
	code int
	says string
}{
	"no mask":            {send: raw([]byte{0x81, 2, '{', '}'}), code: cut},
	"unknown opcode":     {send: raw(clientFrame(0x83, []byte("x"))), code: 1002},
	"unknown control":    {send: raw(clientFrame(0x8b, nil)), code: 1002},
	"reserved bits":      {send: raw(clientFrame(0xb1, []byte("x"))), code: 1002},
	"a compressed bomb":  {send: raw(clientFrame(0xc1, bytes.Repeat([]byte{0xec, 0xc1, 0x01, 0x01}, 1000))), code: 1002},
	"a split ping":       {send: raw(clientFrame(0x09, []byte("x"))), code: 1002},
	"a long ping":        {send: raw(clientFrame(0x89, make([]byte, 126))), code: 1002},
	"an endless frame":   {send: raw([]byte{0x81, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0, 0, 0, 0}), code: cut},
	"a continuation":     {send: raw(clientFrame(0x80, []byte("x"))), code: 1002},
	"a message in two":   {send: raw(clientFrame(0x01, []byte("{")), text("{}")), code: 1002},
	"a binary frame":     {send: raw(clientFrame(0x82, []byte(`{"t":"pong"}`))), says: "bad_request"},
	"invalid UTF-8":      {send: raw(text("\xff\xfe")), says: "bad_request"},
	"invalid UTF-8 in s": {send: raw(text("{\"t\":\"unsub\",\"s\":\"\xff\"}"))},
	"deep JSON":          {send: raw(text(strings.Repeat("[", 100_000))), says: "bad_request"},
	"a close of no code": {send: raw(clientFrame(0x88, []byte{0})), code: 1002},
	"endless parts": {send: func(s *stranger, _ string) {
		part := make([]byte, 64<<10)
		s.Write(clientFrame(0x01, part))
		for range 1000 {
			if _, err := s.Write(clientFrame(0x00, part)); err != nil {
				return
			}
		}
	}, code: 1009},
	"empty parts": {send: func(s *stranger, token string) {
		s.Write(clientFrame(0x01, nil))
		for range 10_000 {
			if _, err := s.Write(clientFrame(0x00, nil)); err != nil {
				return
			}
		}
		s.Write(clientFrame(0x80, fmt.Appendf(nil, `{"t":"sub","n":1,"s":"s","token":%q}`, token)))
	}, says: `"t":"ok"`},
	"pings": {send: func(s *stranger, _ string) {
		for range 10_000 {
			if _, err := s.Write(clientFrame(0x89, []byte("are you there?"))); err != nil {
				return
			}
		}
	}, says: "are you there?"},
	"a byte at a time": {send: func(s *stranger, token string) {
		bytewise(s, text(fmt.Sprintf(`{"t":"sub","n":1,"s":"s","token":%q}`, token)))
	}, says: `"t":"ok"`},
	"a frame that does not end": {send: func(s *stranger, _ string) {
		s.Write(text(`{"t":"what"}`)[:5])
		time.Sleep(time.Minute)
	}, code: wire.CloseStalled},
	"a frame that takes for ever": {send: func(s *stranger, _ string) {
		for _, b := range text(`{"t":"pong"}`) {
			if _, err := s.Write([]byte{b}); err != nil {
				return
			}
			time.Sleep(20 * time.Second)
		}
	}, code: wire.CloseStalled},
	"nothing": {send: func(*stranger, string) { time.Sleep(time.Minute) }, code: wire.CloseStalled},
	"10,000 subscribes of one stream": {send: func(s *stranger, token string) {
		for i := range 10_000 {
			if _, err := s.Write(text(fmt.Sprintf(`{"t":"sub","n":%d,"s":"s","token":%q}`, i+1, token))); err != nil {
				return
			}
		}
	}, code: wire.CloseProtocol},
	"gone in the middle": {send: func(s *stranger, _ string) { s.Write(text(`{"t":"pong"}`)[:3]); s.Close() }},
}

func raw(frames ...[]byte) func(*stranger, string) {
	return func(s *stranger, _ string) { s.Write(bytes.Join(frames, nil)) }
}

// R14, R34, R47: whatever a stranger sends is answered or ends the socket with the code that protocol.md names, a
// neighbour's updates arrive meanwhile, and nothing of it stays behind.
func TestR47_StrangersAreNobodysTrouble(t *testing.T) {
	for name, c := range hostile {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T, w *world) {
				h := open(t, w)
				q := h.browse("neighbour")
				q.get("s", cart("b"), tN)
				q.subscribe("s")
				token := must(h.sealer.Seal(wire.Token{Actor: cart("a"), Targets: []wire.Target{tN}}))
				s := h.stranger(atOnce)
				if ext := s.head.Header.Get("Sec-WebSocket-Extensions"); ext != "" {
					t.Errorf("compression was agreed on: %s", ext)
				}
				sent := make(chan struct{})
				go func() { defer close(sent); c.send(s, token) }()
				time.Sleep(100 * time.Millisecond)
				w.set(cart("b"), "n", 7)
				settle()
				q.wantFresh("s", tN)
				<-sent
				time.Sleep(15 * time.Second)
				synctest.Wait()
				frames, code := s.heard()
				select {
				case <-s.done:
					if code == 0 && c.code == cut {
						code = cut
					}
				default:
				}
				if code != c.code || !strings.Contains(strings.Join(frames, "\n"), c.says) {
					t.Errorf("closed with %d, want %d; last said %q, want %q", code, c.code, last(frames), c.says)
				}
				s.Close()
				<-s.done
				if q.closeCode() != 0 {
					t.Error("the neighbour was closed too")
				}
			})
		})
	}
}

func last(list []string) string {
	if len(list) == 0 {
		return ""
	}
	return list[len(list)-1]
}

// R47: an upgrade that comes a byte at a time is an upgrade.
func TestR47_SlowUpgrade(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		h := open(t, w)
		s := h.stranger(bytewise)
		synctest.Wait()
		if frames, _ := s.heard(); len(frames) == 0 || !strings.Contains(frames[0], "hello") {
			t.Errorf("heard %q", frames)
		}
		s.Close()
		<-s.done
	})
}

// resting finds the hub's goroutines that wait for the next task.
var resting = regexp.MustCompile(`(?m)^goroutine \d+ \[[^\]]*\]:\n\S+/realtime\.\(\*Hub\)\.serve\(`)

// R29, R47: strangers come and go, and memory and goroutines are what they were.
func TestR47_StrangersLeaveNothing(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		h := open(t, w)
		token := must(h.sealer.Seal(wire.Token{Actor: cart("a"), Targets: []wire.Target{tN}}))
		round := func() {
			for name, c := range hostile {
				if strings.Contains(name, "10,000") || name == "endless parts" {
					continue // which take long
				}
				s := h.stranger(atOnce)
				go func() { c.send(s, token); time.Sleep(time.Second); s.Close() }()
			}
			time.Sleep(10 * time.Minute)
			synctest.Wait()
		}
		measure := func() (goroutines int, heap uint64) {
			var m runtime.MemStats
			runtime.GC()
			runtime.GC()
			runtime.ReadMemStats(&m)
			stacks := make([]byte, 4<<20)
			stacks = stacks[:runtime.Stack(stacks, true)]
			return runtime.NumGoroutine() - len(resting.FindAll(stacks, -1)), m.HeapAlloc
		}
		round()
		goroutines, heap := measure()
		for range 10 {
			round()
		}
		if g, m := measure(); g > goroutines || m > heap+1<<20 {
			t.Errorf("%d goroutines and %d KiB after ten rounds, %d and %d after one", g, m>>10, goroutines, heap>>10)
		}
	})
}

// FuzzSocket sends any bytes to an open socket: the hub answers or closes with a code of the protocol's list, and a
// neighbour is served.
func FuzzSocket(f *testing.F) {
	for _, seed := range [][]byte{
		nil, text("{}"), text(`{"t":"sub","n":1,"s":"s","token":"x"}`), text(`{"t":"pong"}`), clientFrame(0x89, []byte("x")),
		clientFrame(0x88, binary.BigEndian.AppendUint16(nil, 1000)), clientFrame(0x01, []byte("{")), {0x81}, {0x81, 0xfe, 0xff}, clientFrame(0xc1, []byte{1, 2}),
	} {
		f.Add(seed)
	}
	codes := map[int]bool{0: true, 1000: true, 1002: true, 1007: true, 1009: true, 4400: true, 4408: true}
	f.Fuzz(func(t *testing.T, data []byte) {
		bubble(t, func(t *testing.T, w *world) {
			h := open(t, w)
			q := h.browse("neighbour")
			q.get("s", cart("b"), tN)
			q.subscribe("s")
			s := h.stranger(atOnce)
			go s.Write(data)
			time.Sleep(time.Second)
			w.set(cart("b"), "n", 7)
			settle()
			q.wantFresh("s", tN)
			if _, code := s.heard(); !codes[code] && !echoes(data, code) {
				t.Errorf("%x was closed with %d", data, code)
			}
			s.Close()
			<-s.done
		})
	})
}

// echoes says whether a code is the client's own.
func echoes(data []byte, code int) bool {
	return bytes.Contains(data, []byte{0x88}) && code >= 1000 && code < 5000
}
