package firefoxtest

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"sync"

	"github.com/coder/websocket"
)

// session is one connection of WebDriver BiDi: commands that are answered by their number, and events in between.
type session struct {
	conn *websocket.Conn

	mu      sync.Mutex
	count   int
	waiting map[int]chan message
	pages   map[string]*Page // by browsing context
	gone    error
}

// message is whatever the browser says.
type message struct {
	ID     int             `json:"id"`
	Type   string          `json:"type"`
	Result json.RawMessage `json:"result"`
	Error  string          `json:"error"`
	Text   string          `json:"message"`
	Method string          `json:"method"`
	Params entry           `json:"params"`
}

// entry is what log.entryAdded tells; no other event is asked for.
type entry struct {
	Level  string `json:"level"`
	Type   string `json:"type"`
	Text   string `json:"text"`
	Source struct {
		Context string `json:"context"`
	} `json:"source"`
}

func openSession(ctx context.Context, address string) (*session, error) {
	conn, _, err := websocket.Dial(ctx, address, nil)
	if err != nil {
		return nil, err
	}
	conn.SetReadLimit(-1)
	s := &session{conn: conn, waiting: map[int]chan message{}, pages: map[string]*Page{}}
	go s.read()
	capabilities := map[string]any{"alwaysMatch": map[string]any{"acceptInsecureCerts": true}}
	if err := s.call(ctx, "session.new", map[string]any{"capabilities": capabilities}, nil); err != nil {
		conn.CloseNow()
		return nil, err
	}
	if err := s.call(ctx, "session.subscribe", map[string]any{"events": []string{"log.entryAdded"}}, nil); err != nil {
		conn.CloseNow()
		return nil, err
	}
	return s, nil
}

// read hands on everything until the connection ends.
func (s *session) read() {
	for {
		var m message
		_, doc, err := s.conn.Read(context.Background())
		if err == nil {
			err = json.Unmarshal(doc, &m)
		}
		s.mu.Lock()
		if err != nil {
			s.gone = err
			for id, answer := range s.waiting {
				delete(s.waiting, id)
				close(answer)
			}
			s.mu.Unlock()
			return
		}
		answer, page := s.waiting[m.ID], s.pages[m.Params.Source.Context]
		delete(s.waiting, m.ID)
		s.mu.Unlock()
		switch {
		case answer != nil:
			answer <- m
		case page != nil:
			page.hear(m.Params)
		}
	}
}

// call sends a command and decodes what it results in, if anybody wants to know.
func (s *session) call(ctx context.Context, method string, params, into any) error {
	s.mu.Lock()
	if s.gone != nil {
		s.mu.Unlock()
		return fmt.Errorf("%s: the browser has gone: %w", method, s.gone)
	}
	s.count++
	id, answer := s.count, make(chan message, 1)
	s.waiting[id] = answer
	s.mu.Unlock()
	doc, err := json.Marshal(map[string]any{"id": id, "method": method, "params": params})
	if err == nil {
		err = s.conn.Write(context.Background(), websocket.MessageText, doc) // a ctx that ends would end the connection
	}
	if err != nil {
		return fmt.Errorf("%s: %w", method, err)
	}
	select {
	case m, ok := <-answer:
		switch {
		case !ok:
			return fmt.Errorf("%s: the browser has gone", method)
		case m.Type == "error":
			return fmt.Errorf("%s: %s: %s", method, m.Error, m.Text)
		case into != nil:
			return json.Unmarshal(m.Result, into)
		}
		return nil
	case <-ctx.Done():
		s.mu.Lock()
		delete(s.waiting, id)
		s.mu.Unlock()
		return fmt.Errorf("%s: %w", method, ctx.Err())
	}
}

// remote is a JavaScript value as the browser describes it.
type remote struct {
	Type  string          `json:"type"`
	Value json.RawMessage `json:"value"`
}

// plain makes of it what JSON.stringify would: functions, nodes and their like are null.
func (r remote) plain() (any, error) {
	switch r.Type {
	case "string", "boolean":
		var v any
		err := json.Unmarshal(r.Value, &v)
		return v, err
	case "number":
		var v any
		err := json.Unmarshal(r.Value, &v)
		switch v {
		case "-0":
			v = 0
		case "NaN", "Infinity", "-Infinity":
			v = nil
		}
		if f, ok := v.(float64); ok && f == math.Trunc(f) && math.Abs(f) < 1<<53 {
			v = int64(f)
		}
		return v, err
	case "array", "set":
		var list []remote
		if err := json.Unmarshal(r.Value, &list); err != nil {
			return nil, err
		}
		all := make([]any, 0, len(list))
		for _, item := range list {
			v, err := item.plain()
			if err != nil {
				return nil, err
			}
			all = append(all, v)
		}
		return all, nil
	case "object":
		var list [][2]json.RawMessage
		if err := json.Unmarshal(r.Value, &list); err != nil {
			return nil, err
		}
		all := map[string]any{}
		for _, pair := range list {
			var name string
			var item remote
			if json.Unmarshal(pair[0], &name) != nil || json.Unmarshal(pair[1], &item) != nil {
				continue // a key that is no string has no place in JSON
			}
			v, err := item.plain()
			if err != nil {
				return nil, err
			}
			all[name] = v
		}
		return all, nil
	}
	return nil, nil
}
