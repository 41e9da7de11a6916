package realtime_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"net"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/coder/websocket"

	"github.com/lockstep-go/lockstep/actors"
	"github.com/lockstep-go/lockstep/realtime"
	"github.com/lockstep-go/lockstep/realtime/wire"
)

var testKey = []byte("0123456789abcdef0123456789abcdef")

func sealer() *wire.Sealer { return must(wire.NewSealer([][]byte{testKey}, 0, 0)) }

// house is a hub that serves over pipes, so that it works in a bubble.
type house struct {
	t      testing.TB
	w      *world
	hub    *realtime.Hub
	sealer *wire.Sealer
	dial   func(ctx context.Context, network, addr string) (net.Conn, error)
	stop   func() error // ends Run and returns what it returned
	log    *logged
}

// logged collects what the hub logs, as text.
type logged struct {
	mu   sync.Mutex
	text strings.Builder
}

func (l *logged) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

func (l *logged) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

func config(w *world, log *logged) realtime.Config {
	return realtime.Config{
		Source: w, Renderer: w, Sealer: sealer(), Build: "build-1",
		Identify: func(r *http.Request) realtime.Identity {
			user := r.Header.Get("X-User")
			return realtime.Identity{Principal: user, Session: r.Header.Get("X-Session")}
		},
		Logger: slog.New(slog.NewTextHandler(log, &slog.HandlerOptions{Level: slog.LevelDebug})),
	}
}

// signedIn puts the viewer into ctx, as an application's middleware does.
func signedIn(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		next.ServeHTTP(w, r.WithContext(context.WithValue(r.Context(), viewerKey{}, r.Header.Get("X-User"))))
	})
}

// open builds a hub and runs it over pipes until the test ends.
func open(t testing.TB, w *world, set ...func(*realtime.Config)) *house {
	t.Helper()
	h := &house{t: t, w: w, log: &logged{}}
	c := config(w, h.log)
	for _, f := range set {
		f(&c)
	}
	h.sealer = c.Sealer
	h.hub = must(realtime.New(c))
	ctx, cancel := context.WithCancel(context.Background())
	ran := make(chan error, 1)
	go func() { ran <- h.hub.Run(ctx) }()
	h.stop = sync.OnceValue(func() error { cancel(); return <-ran })
	routes := http.NewServeMux()
	routes.Handle("/", h.hub)
	routes.Handle("/stream", h.hub.StreamHandler())
	h.dial = serve(t, signedIn(routes))
	for { // until it runs
		ws := h.connect("nobody", "")
		_, _, err := ws.Read(context.Background())
		ws.CloseNow()
		if err == nil {
			break
		}
	}
	t.Cleanup(func() {
		if err := h.stop(); err != nil {
			t.Errorf("Run returned %v", err)
		}
	})
	return h
}

// serve serves a handler over pipes until the test ends.
func serve(t testing.TB, handler http.Handler) func(context.Context, string, string) (net.Conn, error) {
	l := &pipes{conns: make(chan net.Conn), done: make(chan struct{})}
	srv := &http.Server{Handler: handler, ErrorLog: slog.NewLogLogger(slog.DiscardHandler, slog.LevelError)}
	go srv.Serve(l)
	t.Cleanup(func() { srv.Close() })
	return l.dial
}

type pipes struct {
	conns chan net.Conn
	done  chan struct{}
	once  sync.Once
}

func (l *pipes) Accept() (net.Conn, error) {
	select {
	case c := <-l.conns:
		return c, nil
	case <-l.done:
		return nil, net.ErrClosed
	}
}
func (l *pipes) Close() error   { l.once.Do(func() { close(l.done) }); return nil }
func (l *pipes) Addr() net.Addr { return &net.UnixAddr{Name: "pipe"} }
func (l *pipes) dial(ctx context.Context, _, _ string) (net.Conn, error) {
	here, there := net.Pipe()
	select {
	case l.conns <- there:
		return here, nil
	case <-l.done:
		return nil, net.ErrClosed
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// connect opens a socket as user.
func (h *house) connect(user, session string) *websocket.Conn {
	h.t.Helper()
	ws, _, err := dialSocket(h.dial, "http://shop.example", http.Header{"X-User": {user}, "X-Session": {session}})
	if err != nil {
		h.t.Fatalf("dial: %v", err)
	}
	return ws
}

// follow subscribes a socket to what is shown of an actor.
func (h *house) follow(ws *websocket.Conn, a actors.Address, targets ...wire.Target) {
	h.t.Helper()
	token := must(h.sealer.Seal(wire.Token{Actor: a, Targets: targets}))
	if err := ws.Write(context.Background(), websocket.MessageText, fmt.Appendf(nil, `{"t":"sub","n":1,"s":"s","token":%q}`, token)); err != nil {
		h.t.Fatal(err)
	}
}

func dialSocket(dial func(context.Context, string, string) (net.Conn, error), origin string, header http.Header) (*websocket.Conn, *http.Response, error) {
	transport := &http.Transport{DialContext: dial, DisableKeepAlives: true}
	if origin != "" {
		header = header.Clone()
		if header == nil {
			header = http.Header{}
		}
		header.Set("Origin", origin)
	}
	ws, answer, err := websocket.Dial(context.Background(), "ws://shop.example/socket", &websocket.DialOptions{
		HTTPClient: &http.Client{Transport: transport}, HTTPHeader: header, Subprotocols: []string{wire.Subprotocol},
	})
	if err == nil {
		ws.SetReadLimit(-1)
	}
	return ws, answer, err
}

// page is a page in a browser, which keeps the protocol of docs/protocol.md.
type page struct {
	h      *house
	user   string
	ws     *websocket.Conn
	stream *streamLine // in its place
	scopes map[string]*scope
	n      int64

	mu      sync.Mutex
	frames  []wire.Frame // all that came, in order
	closed  *websocket.CloseError
	err     error // that ended reading
	done    chan struct{}
	mute    bool // answers no ping
	whole   bool // understands no patches
	missed  int  // patches that were for another list than it showed
	applied int  // changes of the DOM
}

type scope struct {
	actor    actors.Address
	token    string
	more     []string
	first    bool
	n        int64
	answered bool
	instance string
	html     map[string]string
	lines    map[string]wire.Target // inside parents
	mark     map[string]int64
	reason   wire.Reason
}

func (h *house) revoke(r realtime.Revocation) { must(0, h.hub.Revoke(context.Background(), r)) }

// browse loads a page and connects it.
func (h *house) browse(user string) *page {
	return h.attach(&page{h: h, user: user, scopes: map[string]*scope{}}, "session-"+user)
}

// attach opens a socket for a page that may have had one before.
func (h *house) attach(p *page, session string) *page {
	p.h, p.done = h, make(chan struct{})
	if h.w.streams {
		p.stream = h.stream(p.user, session)
	} else {
		p.ws = h.connect(p.user, session)
	}
	p.mu.Lock()
	p.frames, p.closed = nil, nil
	for _, s := range p.scopes {
		s.answered = false
	}
	p.mu.Unlock()
	if h.w.streams {
		go p.readStream(p.stream, p.done)
	} else {
		go p.read(p.ws, p.done)
	}
	h.t.Cleanup(func() { p.drop() })
	return p
}

// drop loses the connection abruptly.
func (p *page) drop() {
	if p.stream != nil {
		p.stream.cancel()
	} else {
		p.ws.CloseNow()
	}
	<-p.done
}

// get renders a scope into the page, as a GET does.
func (p *page) get(name string, a actors.Address, targets ...wire.Target) *scope {
	p.h.t.Helper()
	snap := p.h.w.snapshot(a)
	token, err := p.h.sealer.Seal(wire.Token{
		Actor: a, Targets: targets, Stamp: snap.Stamp, Build: "build-1", Viewer: p.h.sealer.Viewer(p.user, "session-"+p.user),
	})
	if err != nil {
		p.h.t.Fatal(err)
	}
	s := &scope{actor: a, token: token, first: true, html: map[string]string{}, mark: map[string]int64{}, lines: map[string]wire.Target{}}
	for _, t := range targets {
		s.html[t.Name(a)] = p.h.w.fresh(p.user, a, t)
		s.mark[t.Name(a)] = snap.Revision
	}
	p.mu.Lock()
	p.scopes[name] = s
	p.mu.Unlock()
	return s
}

// subscribe sends the subscribe of a scope.
func (p *page) subscribe(names ...string) {
	p.h.t.Helper()
	for _, name := range names {
		p.mu.Lock()
		s := p.scopes[name]
		p.n++
		s.n = p.n
		cmd := wire.Command{Type: "sub", Number: s.n, Scope: name, Token: s.token, More: s.tokens(p.h), First: s.first, Lists: !p.whole}
		s.first = false
		p.mu.Unlock()
		p.send(cmd)
	}
}

func (p *page) unsubscribe(name string) {
	p.mu.Lock()
	delete(p.scopes, name)
	p.mu.Unlock()
	p.send(wire.Command{Type: "unsub", Scope: name})
}

func (p *page) send(v any) { p.sendText(string(must(json.Marshal(v)))) }

func (p *page) sendText(text string) {
	if p.stream != nil {
		if code := p.stream.post(text); code != http.StatusNoContent {
			p.h.t.Logf("send: answered %d", code)
		}
		return
	}
	if err := p.ws.Write(context.Background(), websocket.MessageText, []byte(text)); err != nil {
		p.h.t.Logf("send: %v (reading ended with %v)\n%s", err, p.ended(), p.h.log)
	}
}

func (p *page) read(ws *websocket.Conn, done chan struct{}) {
	defer close(done)
	for {
		_, text, err := ws.Read(context.Background())
		if err != nil {
			p.mu.Lock()
			p.err = err
			if ce, ok := errors.AsType[websocket.CloseError](err); ok {
				p.closed = &ce
			}
			p.mu.Unlock()
			ws.CloseNow()
			return
		}
		var f wire.Frame
		if err := json.Unmarshal(text, &f); err != nil {
			// An answer's "f" is a list, as in wire.Frame; anything else is our mistake.
			panic(fmt.Sprintf("frame %s: %v", text, err))
		}
		p.take(f, func() { ws.Write(context.Background(), websocket.MessageText, []byte(`{"t":"pong"}`)) })
	}
}

func (p *page) take(f wire.Frame, pong func()) {
	p.mu.Lock()
	p.frames = append(p.frames, f)
	mute := p.mute
	switch f.Type {
	case "ok":
		if s := p.scopes[f.Scope]; s != nil && s.n == f.Number {
			s.answered, s.instance = true, *f.Instance
			for _, part := range f.Fragments {
				if _, shows := s.mark[part.Target]; shows { // else its parent lost it
					p.apply(s, part.Target, part.HTML, revision(part.Revision))
				}
			}
		}
	case "f":
		for _, s := range p.scopes {
			mark, shows := s.mark[f.Target]
			if s.answered && shows && s.instance == *f.Instance && revision(f.Revision) > mark {
				p.apply(s, f.Target, f.HTML, revision(f.Revision))
			}
		}
	case "l":
		for name, s := range p.scopes {
			mark, shows := s.mark[f.Target]
			if !s.answered || !shows || s.instance != *f.Instance || revision(f.Revision) <= mark {
				continue
			}
			if html, fits := patched(s.html[f.Target], f); fits && mark == revision(f.Base) {
				p.apply(s, f.Target, html, revision(f.Revision))
			} else {
				p.missed++
				go p.subscribe(name)
			}
		}
	case "no":
		if s := p.scopes[f.Scope]; s != nil && s.n == f.Number {
			s.answered, s.reason = false, f.Reason
		}
	}
	p.mu.Unlock()
	if f.Type == "ping" && !mute {
		go pong()
	}
}

// apply shows HTML in a target. The lines inside a parent are targets of their own: a morph of the parent leaves
// those alone whose mark is higher, and removes those that it does not have.
func (p *page) apply(s *scope, name, html string, rev int64) {
	if s.html[name] != html {
		s.html[name] = html
		p.applied++
	}
	s.mark[name] = rev
	inside := map[string]bool{}
	for _, inner := range strings.Split(html, "[")[1:] {
		child, rest, _ := strings.Cut(inner, ":")
		text, _, _ := strings.Cut(rest, "]")
		inside[child] = true
		if mark, ok := s.mark[child]; !ok || mark < rev {
			s.html[child], s.mark[child] = fmt.Sprintf(`<p data-ls="%s">%s</p>`, child, text), rev
			key, _, _ := strings.Cut(text, " ")
			s.lines[child] = wire.Target{Component: "line", Key: key}
		}
	}
	if name == tParent.Name(s.actor) {
		for child := range s.lines {
			if !inside[child] {
				delete(s.lines, child)
				delete(s.html, child)
				delete(s.mark, child)
			}
		}
	}
}

// tokens are those that stand inside the scope, on the fragments that came by push.
func (s *scope) tokens(h *house) []string {
	if len(s.lines) == 0 {
		return s.more
	}
	t := wire.Token{Actor: s.actor, Targets: slices.Collect(maps.Values(s.lines)), Stamp: actors.Stamp{Revision: -1}}
	return append(slices.Clone(s.more), must(h.sealer.Seal(t)))
}

func revision(r wire.Revision) int64 { return must(strconv.ParseInt(string(r), 10, 64)) }

// shows is the HTML that a scope shows of a target.
func (p *page) shows(name string, t wire.Target) string {
	p.mu.Lock()
	defer p.mu.Unlock()
	s := p.scopes[name]
	return s.html[t.Name(s.actor)]
}

// wantFresh compares a scope with a fresh GET.
func (p *page) wantFresh(name string, targets ...wire.Target) {
	p.h.t.Helper()
	p.mu.Lock()
	actor := p.scopes[name].actor
	p.mu.Unlock()
	for _, t := range targets {
		if got, want := p.shows(name, t), p.h.w.fresh(p.user, actor, t); got != want {
			p.h.t.Errorf("%s's scope %s shows %q of %s %s, a fresh GET shows %q", p.user, name, got, t.Component, t.Key, want)
		}
	}
}

// got is the frames of a type, in order.
func (p *page) got(types ...string) []wire.Frame {
	p.mu.Lock()
	defer p.mu.Unlock()
	var list []wire.Frame
	for _, f := range p.frames {
		for _, typ := range types {
			if f.Type == typ {
				list = append(list, f)
			}
		}
	}
	return list
}

func (p *page) reason(name string) wire.Reason {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.scopes[name].reason
}

func (p *page) ended() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.err
}

func (p *page) closeCode() websocket.StatusCode {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed == nil {
		return 0
	}
	return p.closed.Code
}

// wait lets a bubble's time pass.
func wait(d time.Duration) { time.Sleep(d) }
