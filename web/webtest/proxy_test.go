package webtest_test

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/coder/websocket"

	"github.com/lockstep-go/lockstep/web/webtest"
)

// proxy is the network between one browser and the site.
type proxy struct {
	site       *webtest.Site
	user, role string
	streams    bool // no socket passes

	mu   sync.Mutex
	link *link
}

// link is one connection through a proxy, a socket or a stream.
type link struct {
	send   func(text []byte) error // a frame to the browser
	close  func()
	line   webtest.Line
	lossy  bool
	frozen chan struct{}
	ended  chan struct{}
	once   sync.Once
}

func (l *link) cut() { l.once.Do(func() { close(l.ended); l.close() }) }

func (x *proxy) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	r.Header.Set("X-User", x.user)
	r.Header.Set("X-Role", x.role)
	switch {
	case strings.HasSuffix(r.URL.Path, "/socket") && x.streams:
		http.Error(w, "no sockets here", http.StatusBadGateway)
	case strings.HasSuffix(r.URL.Path, "/socket"):
		x.socket(w, r)
	case strings.HasSuffix(r.URL.Path, "/stream") && r.Method == http.MethodPost:
		x.stream(w, r)
	default:
		x.site.Handler().ServeHTTP(w, r)
	}
}

// client speaks to the site.
func (x *proxy) client() *http.Client {
	dial := func(ctx context.Context, _, _ string) (net.Conn, error) { return x.site.Dial(ctx) }
	return &http.Client{Transport: &http.Transport{DialContext: dial, DisableKeepAlives: true}}
}

// use makes a link the browser's connection.
func (x *proxy) use(l *link) *link {
	l.ended = make(chan struct{})
	x.mu.Lock()
	defer x.mu.Unlock()
	x.link = l
	return l
}

// arrive passes on what arrives now that a frame was sent to the browser.
func (x *proxy) arrive(l *link, text []byte) error {
	x.mu.Lock()
	frozen := l.frozen
	x.mu.Unlock()
	if frozen != nil {
		select {
		case <-frozen:
		case <-l.ended:
		}
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	for _, out := range l.line.Pass(text) {
		if err := l.send(out); err != nil {
			return err
		}
	}
	return nil
}

func (x *proxy) socket(w http.ResponseWriter, r *http.Request) {
	offers := strings.FieldsFunc(r.Header.Get("Sec-WebSocket-Protocol"), func(c rune) bool { return c == ',' || c == ' ' })
	far, _, err := websocket.Dial(r.Context(), "ws://"+r.Host+r.URL.Path, &websocket.DialOptions{
		HTTPClient: x.client(), Subprotocols: offers,
		HTTPHeader: http.Header{"Origin": r.Header["Origin"], "X-User": {x.user}, "X-Role": {x.role}},
	})
	if err != nil {
		http.Error(w, "the site is gone", http.StatusBadGateway)
		return
	}
	near, err := websocket.Accept(w, r, &websocket.AcceptOptions{Subprotocols: []string{far.Subprotocol()}})
	if err != nil {
		far.CloseNow()
		return
	}
	far.SetReadLimit(-1)
	near.SetReadLimit(-1)
	write := func(to *websocket.Conn) func([]byte) error {
		return func(text []byte) error { return to.Write(context.Background(), websocket.MessageText, text) }
	}
	l := x.use(&link{send: write(near), close: func() { near.CloseNow(); far.CloseNow() }})
	go relay(near, far, l, write(far))
	relay(far, near, l, func(text []byte) error { return x.arrive(l, text) })
}

// relay passes frames on, and the code of the close.
func relay(from, to *websocket.Conn, l *link, pass func([]byte) error) {
	for {
		_, text, err := from.Read(context.Background())
		if err != nil {
			if code := websocket.CloseStatus(err); code > 0 && code != websocket.StatusNoStatusRcvd {
				go to.Close(code, reasonOf(err)) // which waits for the other side; what else comes is nobody's
			}
			time.AfterFunc(time.Second, l.cut)
			return
		}
		if pass(text) != nil {
			l.cut()
			return
		}
	}
}

func reasonOf(err error) string {
	closed, _ := errors.AsType[websocket.CloseError](err)
	return closed.Reason
}

// stream passes on a request to the stream, and what is answered event by event.
func (x *proxy) stream(w http.ResponseWriter, r *http.Request) {
	ctx, cancel := context.WithCancel(r.Context())
	defer cancel()
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return
	}
	out, err := http.NewRequestWithContext(ctx, r.Method, "http://"+r.Host+r.URL.Path, bytes.NewReader(body))
	if err != nil {
		return
	}
	out.Header = r.Header.Clone()
	out.Header.Del("Accept-Encoding")
	resp, err := x.client().Do(out)
	if err != nil {
		http.Error(w, "the site is gone", http.StatusBadGateway)
		return
	}
	defer resp.Body.Close()
	w.Header().Set("Content-Type", resp.Header.Get("Content-Type"))
	w.WriteHeader(resp.StatusCode)
	if !strings.HasPrefix(resp.Header.Get("Content-Type"), "text/event-stream") {
		io.Copy(w, resp.Body)
		return
	}
	var writing sync.Mutex
	write := func(text string) error {
		writing.Lock()
		defer writing.Unlock()
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if _, err := io.WriteString(w, text); err != nil {
			return err
		}
		return http.NewResponseController(w).Flush()
	}
	l := x.use(&link{send: func(frame []byte) error { return write("data: " + string(frame) + "\n\n") }, close: cancel})
	defer func() { // whoever writes after the handler's end would write to nobody's answer
		l.cut()
		writing.Lock()
		defer writing.Unlock()
	}()
	event := ""
	for lines := bufio.NewReader(resp.Body); err == nil; {
		var line string
		line, err = lines.ReadString('\n')
		event += line
		if line != "\n" || err != nil {
			continue
		}
		if data, frame := strings.CutPrefix(event, "data: "); frame {
			err = x.arrive(l, []byte(strings.TrimSpace(data)))
		} else {
			err = write(event)
		}
		event = ""
	}
}

func (x *proxy) with(f func(*link)) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.link != nil {
		f(x.link)
	}
}

func (x *proxy) cut() { x.with((*link).cut) }

func (x *proxy) freeze() {
	x.with(func(l *link) {
		if l.frozen == nil {
			l.frozen = make(chan struct{})
		}
	})
}

func (x *proxy) thaw() {
	x.with(func(l *link) {
		if l.frozen != nil {
			close(l.frozen)
			l.frozen = nil
		}
	})
}

func (x *proxy) lossy() (yes bool) {
	x.with(func(l *link) { yes = l.lossy })
	return yes
}

func (x *proxy) fault(lossy bool, set func(*webtest.Line) [][]byte) {
	x.with(func(l *link) {
		l.lossy = l.lossy || lossy
		for _, out := range set(&l.line) {
			l.send(out)
		}
	})
}
