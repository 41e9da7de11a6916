package webtest

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/coder/websocket"

	"github.com/lockstep-go/lockstep/realtime/wire"
)

// line carries a connection's frames: a socket, or a stream in its place.
type line interface {
	// read waits for the next frame. Its error is a websocket.CloseError where the server said why it ends.
	read() (frame []byte, err error)
	// write sends frames, and fails only where the connection has come to its end.
	write(frames [][]byte) error
	// cut ends it without a word.
	cut()
	// free gives back what it holds, after the last read.
	free()
}

// socket is the line where WebSockets pass.
type socket struct {
	ws    *websocket.Conn
	cable *cable
}

func (s *socket) read() ([]byte, error) {
	_, text, err := s.ws.Read(context.Background())
	return text, err
}

func (s *socket) write(frames [][]byte) error {
	for _, text := range frames {
		if err := s.ws.Write(context.Background(), websocket.MessageText, text); err != nil {
			return err
		}
	}
	return nil
}

func (s *socket) cut()  { s.cable.cut() }
func (s *socket) free() { s.ws.CloseNow() }

func (p *Page) dialSocket(ctx context.Context, at, origin string) (*socket, error) {
	s := &socket{}
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	var err error
	s.ws, _, err = websocket.Dial(ctx, at, &websocket.DialOptions{
		HTTPClient: p.visitor.tap(&s.cable), HTTPHeader: map[string][]string{"Origin": {origin}}, Subprotocols: []string{wire.Subprotocol},
	})
	if err != nil {
		s.cut()
		return nil, err
	}
	s.ws.SetReadLimit(-1)
	return s, nil
}

// stream is the line that stands in for the socket: frames come as Server-Sent Events in the answer to a POST, and go as
// more POSTs.
type stream struct {
	visitor *Visitor
	ctx     context.Context // ends with the stream
	end     context.CancelFunc
	at      string
	origin  string
	id      string // its name, for the commands that follow
	answer  *http.Response
	events  *bufio.Reader
}

// errElsewhere says that commands have reached a process that does not have the stream: the page opens another at once.
var errElsewhere = errors.New("no such stream here")

func (p *Page) newStream(ctx context.Context, at, origin string) *stream {
	s := &stream{visitor: p.visitor, at: at, origin: origin}
	s.ctx, s.end = context.WithCancel(ctx)
	return s
}

// open asks for the stream with the page's first commands, and returns when it has a name.
func (s *stream) open(commands [][]byte) error {
	late := time.AfterFunc(patience, s.end)
	defer late.Stop()
	var under *cable // which ends with the request
	r, err := s.request(map[string]any{"protocol": []string{wire.Subprotocol}}, commands)
	if err != nil {
		return err
	}
	if s.answer, err = s.visitor.tap(&under).Do(r); err != nil {
		return err
	}
	if s.answer.StatusCode != http.StatusOK {
		s.answer.Body.Close()
		return fmt.Errorf("a stream is answered %s", s.answer.Status)
	}
	s.events = bufio.NewReader(s.answer.Body)
	kind, data, err := s.event()
	if err != nil {
		return err
	}
	var named struct {
		Stream string `json:"stream"`
	}
	if kind == "close" {
		return closeOf(data)
	}
	if err := json.Unmarshal(data, &named); err != nil || kind != "open" {
		return fmt.Errorf("the first event of a stream is %q with %s", kind, excerpt(string(data)))
	}
	s.id = named.Stream
	return nil
}

func (s *stream) request(head map[string]any, commands [][]byte) (*http.Request, error) {
	list := make([]json.RawMessage, len(commands))
	for i, text := range commands {
		list[i] = text
	}
	head["commands"] = list
	body, err := json.Marshal(head)
	if err != nil {
		return nil, err
	}
	r, err := http.NewRequestWithContext(s.ctx, http.MethodPost, s.at, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Origin", s.origin)
	return r, nil
}

func (s *stream) read() ([]byte, error) {
	for {
		kind, data, err := s.event()
		switch {
		case err != nil:
			return nil, err
		case kind == "close":
			return nil, closeOf(data)
		case kind == "":
			return data, nil
		}
	}
}

// event is the next event of the stream.
func (s *stream) event() (kind string, data []byte, err error) {
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

// closeOf is the stream's last event as what ends a socket.
func closeOf(data []byte) error {
	var how struct {
		Code   int    `json:"code"`
		Reason string `json:"reason"`
	}
	if err := json.Unmarshal(data, &how); err != nil {
		return err
	}
	return websocket.CloseError{Code: websocket.StatusCode(how.Code), Reason: how.Reason}
}

func (s *stream) write(frames [][]byte) error {
	r, err := s.request(map[string]any{"stream": s.id}, frames)
	if err != nil {
		return err
	}
	resp, err := s.visitor.client.Do(r)
	if err != nil {
		return err
	}
	resp.Body.Close()
	switch resp.StatusCode {
	case http.StatusNoContent:
		return nil
	case http.StatusNotFound:
		return errElsewhere
	}
	return fmt.Errorf("commands are answered %s", resp.Status)
}

func (s *stream) cut() { s.end() }

func (s *stream) free() {
	s.end()
	if s.answer != nil {
		s.answer.Body.Close()
	}
}
