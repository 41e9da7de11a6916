package realtime_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/coder/websocket"

	"github.com/lockstep-go/lockstep/realtime/wire"
)

// onBothLinks runs a test with pages on sockets, and again with pages on streams.
func onBothLinks(t *testing.T, f func(t *testing.T, w *world)) {
	t.Run("socket", func(t *testing.T) { bubble(t, f) })
	t.Run("stream", func(t *testing.T) {
		bubble(t, func(t *testing.T, w *world) {
			w.streams = true
			f(t, w)
		})
	})
}

// streamLine is a page's end of a stream.
type streamLine struct {
	client *http.Client
	header http.Header
	answer *http.Response
	events *bufio.Reader
	id     string
	cancel func()
}

// stream opens a stream as user, with commands.
func (h *house) stream(user, session string, commands ...string) *streamLine {
	h.t.Helper()
	s := &streamLine{
		client: &http.Client{Transport: &http.Transport{DialContext: h.dial, DisableKeepAlives: true, DisableCompression: true}},
		header: http.Header{"X-User": {user}, "X-Session": {session}, "Origin": {"http://shop.example"}, "Content-Type": {"application/json"}},
	}
	var ctx context.Context
	ctx, s.cancel = context.WithCancel(context.Background())
	h.t.Cleanup(s.cancel)
	answer, err := s.request(ctx, streamBody([]string{wire.Subprotocol}, "", commands...))
	if err != nil || answer.StatusCode != 200 {
		h.t.Fatalf("open a stream: %v %v", answer, err)
	}
	s.answer, s.events = answer, bufio.NewReader(answer.Body)
	kind, data, err := s.next()
	if err != nil || kind != "open" {
		h.t.Fatalf("the first event is %q %s, %v", kind, data, err)
	}
	var opened struct{ Stream string }
	if err := json.Unmarshal(data, &opened); err != nil {
		h.t.Fatal(err)
	}
	s.id = opened.Stream
	return s
}

// streamBody is a request to the stream.
func streamBody(protocol []string, id string, commands ...string) string {
	raw := []json.RawMessage{}
	for _, c := range commands {
		raw = append(raw, json.RawMessage(c))
	}
	return string(must(json.Marshal(map[string]any{"protocol": protocol, "stream": id, "commands": raw})))
}

func (s *streamLine) request(ctx context.Context, body string) (*http.Response, error) {
	r := must(http.NewRequestWithContext(ctx, "POST", "http://shop.example/stream", strings.NewReader(body)))
	r.Header = s.header.Clone()
	return s.client.Do(r)
}

// post sends commands and returns the status that answers them.
func (s *streamLine) post(commands ...string) int {
	answer, err := s.request(context.Background(), streamBody(nil, s.id, commands...))
	if err != nil {
		return 0
	}
	answer.Body.Close()
	return answer.StatusCode
}

// next is the next event.
func (s *streamLine) next() (kind string, data []byte, err error) {
	for {
		text, err := s.events.ReadBytes('\n')
		if err != nil {
			return "", nil, err
		}
		text = bytes.TrimSuffix(text, []byte("\n"))
		if len(text) == 0 {
			return kind, data, nil
		}
		if name, ok := bytes.CutPrefix(text, []byte("event: ")); ok {
			kind = string(name)
		} else if rest, ok := bytes.CutPrefix(text, []byte("data: ")); ok {
			data = rest
		}
	}
}

// readStream is a page's read.
func (p *page) readStream(s *streamLine, done chan struct{}) {
	defer close(done)
	defer s.answer.Body.Close()
	for {
		kind, data, err := s.next()
		if err != nil {
			p.mu.Lock()
			p.err = err
			p.mu.Unlock()
			return
		}
		if kind == "close" {
			var how struct {
				Code   int
				Reason string
			}
			must(0, json.Unmarshal(data, &how))
			p.mu.Lock()
			p.closed = &websocket.CloseError{Code: websocket.StatusCode(how.Code), Reason: how.Reason}
			p.err = *p.closed
			p.mu.Unlock()
			io.Copy(io.Discard, s.answer.Body)
			return
		}
		var f wire.Frame
		if err := json.Unmarshal(data, &f); err != nil {
			panic("frame " + string(data) + ": " + err.Error())
		}
		p.take(f, func() { s.post(`{"t":"pong"}`) })
	}
}
