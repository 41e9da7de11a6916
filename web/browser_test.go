package web_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/coder/websocket"
	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"

	"github.com/lockstep-go/lockstep/realtime/wire"
)

// browserPage is a page that a socket keeps current, as the client in a browser does.
type browserPage struct {
	t       testing.TB
	ws      *websocket.Conn
	mu      sync.Mutex
	targets map[string]string // outer HTML by target, settled
	marks   map[string]int64
	answers chan wire.Frame
	closed  chan websocket.CloseError
}

var scopeToken = regexp.MustCompile(`<lockstep-scope token="([^"]*)"`)

// open loads a page's HTML and opens its socket.
func open(t testing.TB, socket, origin, text string, headers header) *browserPage {
	t.Helper()
	h := http.Header{"Origin": {origin}}
	for k, v := range headers {
		h.Set(k, v)
	}
	ws, resp, err := websocket.Dial(t.Context(), socket, &websocket.DialOptions{Subprotocols: []string{wire.Subprotocol}, HTTPHeader: h})
	if err != nil {
		t.Fatalf("open %s: %v (%v)", socket, err, resp)
	}
	ws.SetReadLimit(8 << 20)
	p := &browserPage{t: t, ws: ws, targets: targetsOf(t, text), marks: map[string]int64{}, answers: make(chan wire.Frame, 16), closed: make(chan websocket.CloseError, 1)}
	go p.read()
	t.Cleanup(func() { ws.CloseNow() })
	m := scopeToken.FindStringSubmatch(text)
	if m == nil {
		t.Fatalf("no scope in %s", text)
	}
	p.send(map[string]any{"t": "sub", "n": 1, "s": "a", "token": m[1]})
	return p
}

func (p *browserPage) send(command any) {
	doc, _ := json.Marshal(command)
	if err := p.ws.Write(context.Background(), websocket.MessageText, doc); err != nil {
		p.t.Errorf("write: %v", err)
	}
}

func (p *browserPage) read() {
	for {
		_, doc, err := p.ws.Read(context.Background())
		if err != nil {
			var closed websocket.CloseError
			if websocket.CloseStatus(err) != -1 {
				closed = websocket.CloseError{Code: websocket.CloseStatus(err)}
			}
			p.closed <- closed
			return
		}
		var f wire.Frame
		if err := json.Unmarshal(doc, &f); err != nil {
			p.t.Errorf("frame %s: %v", doc, err)
			return
		}
		switch f.Type {
		case "ping":
			p.send(map[string]string{"t": "pong"})
		case "ok", "no":
			for _, part := range f.Fragments {
				p.apply(part.Target, part.Revision, part.HTML, true)
			}
			p.answers <- f
		case "f":
			p.apply(f.Target, f.Revision, f.HTML, false)
		}
	}
}

// apply keeps the newest HTML of a target, and of what is nested in it.
func (p *browserPage) apply(target string, r wire.Revision, text string, answer bool) {
	rev, err := strconv.ParseInt(string(r), 10, 64)
	if err != nil {
		p.t.Errorf("revision %q: %v", r, err)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if rev <= p.marks[target] && !answer {
		return
	}
	p.marks[target] = rev
	nodes, err := html.ParseFragment(strings.NewReader(settled(text)), &html.Node{Type: html.ElementNode, Data: "template", DataAtom: atom.Template})
	if err != nil || len(nodes) != 1 {
		p.t.Errorf("a fragment has %d nodes: %s", len(nodes), text)
		return
	}
	collect(p.t, nodes[0], p.targets)
}

// until waits for the page to show what a fresh GET shows.
func (p *browserPage) until(url string, headers header) {
	p.t.Helper()
	deadline := time.Now().Add(10 * time.Second)
	for {
		want := targetsOf(p.t, fetch(p.t, url, headers))
		p.mu.Lock()
		var diff strings.Builder
		for name, html := range want {
			if p.targets[name] != html {
				fmt.Fprintf(&diff, "%s\n shows %s\n  want %s\n", name, p.targets[name], html)
			}
		}
		p.mu.Unlock()
		if diff.String() == "" {
			return
		}
		if time.Now().After(deadline) {
			p.t.Fatalf("the page differs from a fresh GET:\n%s", diff.String())
		}
		time.Sleep(10 * time.Millisecond)
	}
}

func (p *browserPage) answer() wire.Frame {
	p.t.Helper()
	select {
	case f := <-p.answers:
		return f
	case <-time.After(10 * time.Second):
		p.t.Fatal("no answer to the subscribe")
		return wire.Frame{}
	}
}

var unsettled = regexp.MustCompile(` (token|data-ls-token)="[^"]*"|<input type="hidden" name="_ls_key"[^>]*>|<p role="alert" data-ls-outcome>.*?</p>`)

func settled(text string) string { return unsettled.ReplaceAllString(text, "") }

func targetsOf(t testing.TB, text string) map[string]string {
	t.Helper()
	doc, err := html.Parse(strings.NewReader(settled(text)))
	if err != nil {
		t.Fatal(err)
	}
	found := map[string]string{}
	collect(t, doc, found)
	return found
}

// collect finds the targets in root: the HTML of each, with the targets inside it left out.
func collect(t testing.TB, root *html.Node, found map[string]string) {
	nodes := []*html.Node{root}
	for n := range root.Descendants() {
		nodes = append(nodes, n)
	}
	for _, n := range nodes {
		name := targetName(n)
		if name == "" {
			continue
		}
		var b strings.Builder
		if err := html.Render(&b, own(n, true)); err != nil {
			t.Error(err)
		}
		found[name] = b.String()
	}
}

func targetName(n *html.Node) string {
	for _, a := range n.Attr {
		if a.Key == "data-ls" {
			return a.Val
		}
	}
	return ""
}

// own copies a node without what is inside other targets.
func own(n *html.Node, top bool) *html.Node {
	if name := targetName(n); name != "" && !top {
		return &html.Node{Type: html.ElementNode, Data: "target", Attr: []html.Attribute{{Key: "data-ls", Val: name}}}
	}
	out := &html.Node{Type: n.Type, Data: n.Data, DataAtom: n.DataAtom, Attr: n.Attr, Namespace: n.Namespace}
	for c := range n.ChildNodes() {
		out.AppendChild(own(c, false))
	}
	return out
}

func socketOf(srv *httptest.Server, path string) string {
	return "ws" + strings.TrimPrefix(srv.URL, "http") + path
}
