package static_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/chromedp"
	"github.com/coder/websocket"
	"github.com/lockstep-go/lockstep/static"
	"github.com/lockstep-go/lockstep/static/chromiumtest"
	"github.com/lockstep-go/lockstep/static/firefoxtest"
)

func TestMain(m *testing.M) {
	os.Exit(firefoxtest.Main(func() int { return chromiumtest.Main(m) }))
}

// policy is the strictest that the client promises to work under. The name "test" is for what tests put into pages.
const policy = "default-src 'self'; require-trusted-types-for 'script'; trusted-types lockstep test"

// frame is any frame of the protocol, in either direction.
type frame struct {
	T         string     `json:"t"`
	N         int        `json:"n,omitempty"`
	S         string     `json:"s,omitempty"`
	Token     string     `json:"token,omitempty"`
	More      []string   `json:"more,omitempty"`
	First     bool       `json:"first,omitempty"`
	I         string     `json:"i,omitempty"`
	R         string     `json:"r,omitempty"`
	K         string     `json:"k,omitempty"`
	H         string     `json:"h,omitempty"`
	B         string     `json:"b,omitempty"`
	X         []string   `json:"x,omitzero"`
	D         []change   `json:"d,omitzero"`
	Lists     bool       `json:"lists,omitempty"`
	F         []fragment `json:"f,omitempty"`
	Reason    string     `json:"reason,omitempty"`
	Retry     bool       `json:"retry,omitempty"`
	After     int        `json:"after,omitempty"`
	Heartbeat int        `json:"heartbeat,omitempty"`
	Build     string     `json:"build,omitempty"`
}

// change is what a patch says of an item.
type change struct {
	K string  `json:"k"`
	A *string `json:"a,omitempty"`
	H string  `json:"h,omitempty"`
}

type fragment struct {
	K string `json:"k"`
	R string `json:"r"`
	H string `json:"h"`
}

// heard is a frame from a client, and the connection that it came on.
type heard struct {
	frame
	conn *websocket.Conn
	num  int // of the connection, from 1
}

// stub is a server that speaks the protocol's words and leaves their meaning to the test.
type stub struct {
	t   *testing.T
	url string
	mux *http.ServeMux

	mu        sync.Mutex
	body      string
	base      string // in front of the client's address
	policy    string // the page's
	heartbeat int
	build     string
	shut      bool // refuses sockets
	version   string
	conns     map[*websocket.Conn]bool
	opened    int // connections so far
	tried     int // and those that were refused as well
	loads     int // of the page
	log       []heard
	onSub     func(heard) []frame
}

// newStub serves a page with this body. By default a subscribe is answered as equal: its token is INSTANCE@REVISION.
func newStub(t *testing.T, body string) *stub {
	st := &stub{t: t, body: body, heartbeat: 25000, build: "b1", version: "lockstep.v1", policy: policy,
		mux: http.NewServeMux(), conns: map[*websocket.Conn]bool{}}
	st.onSub = func(h heard) []frame { return []frame{ok(h)} }
	st.mux.Handle("/lockstep/static/", http.StripPrefix("/lockstep/static", static.Handler()))
	st.mux.HandleFunc("GET /lockstep/socket", st.socket)
	st.mux.HandleFunc("GET /frame", func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		fmt.Fprint(w, "<!doctype html><title>frame</title><p>frame")
	})
	st.mux.HandleFunc("GET /{$}", func(w http.ResponseWriter, r *http.Request) {
		st.set(func(st *stub) { st.loads++ })
		st.writePage(w, http.StatusOK)
	})
	srv := httptest.NewServer(st.mux)
	t.Cleanup(func() {
		st.closeAll(websocket.StatusNormalClosure, "")
		srv.CloseClientConnections()
		srv.Close()
	})
	st.url = srv.URL
	return st
}

func ok(h heard, f ...fragment) frame {
	i, r, _ := strings.Cut(h.Token, "@")
	return frame{T: "ok", N: h.N, S: h.S, I: i, R: r, F: f}
}

func (st *stub) writePage(w http.ResponseWriter, status int) {
	st.mu.Lock()
	body, base, policy := st.body, st.base, st.policy
	st.mu.Unlock()
	h := w.Header()
	h.Set("Content-Type", "text/html; charset=utf-8")
	h.Set("Content-Security-Policy", policy)
	w.WriteHeader(status)
	fmt.Fprintf(w, `<!doctype html><html lang="en"><head><title>stub</title>
<link rel="stylesheet" href="%[3]s/lockstep/static/%[1]s/lockstep.css">
<script type="module" src="%[3]s/lockstep/static/%[1]s/lockstep.js"></script></head><body>%[2]s</body></html>`, static.Digest(), body, base)
}

func (st *stub) socket(w http.ResponseWriter, r *http.Request) {
	st.mu.Lock()
	st.tried++
	shut, version := st.shut, st.version
	st.mu.Unlock()
	if shut {
		http.Error(w, "shut", http.StatusServiceUnavailable)
		return
	}
	c, err := websocket.Accept(w, r, &websocket.AcceptOptions{Subprotocols: []string{version, "lockstep"}})
	if err != nil {
		return
	}
	if c.Subprotocol() != version {
		c.Close(4426, version)
		return
	}
	st.mu.Lock()
	st.conns[c] = true
	st.opened++
	num, hello := st.opened, frame{T: "hello", Heartbeat: st.heartbeat, Build: st.build}
	st.mu.Unlock()
	st.write(c, hello)
	if hello.Heartbeat < 1000 {
		go st.ping(c, time.Duration(hello.Heartbeat)*time.Millisecond)
	}
	for {
		_, data, err := c.Read(context.Background())
		if err != nil {
			st.mu.Lock()
			delete(st.conns, c)
			st.mu.Unlock()
			return
		}
		h := heard{conn: c, num: num}
		if err := json.Unmarshal(data, &h.frame); err != nil {
			st.t.Errorf("frame %s: %v", data, err)
		}
		st.mu.Lock()
		st.log = append(st.log, h)
		answer := st.onSub
		st.mu.Unlock()
		if h.T == "sub" {
			for _, f := range answer(h) {
				st.write(c, f)
			}
		}
	}
}

func (st *stub) write(c *websocket.Conn, f frame) {
	data, _ := json.Marshal(f)
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	_ = c.Write(ctx, websocket.MessageText, data) // a client that has gone is not this side's failure
}

// ping keeps a connection alive for as long as it is open.
func (st *stub) ping(c *websocket.Conn, every time.Duration) {
	for range time.Tick(every) {
		st.mu.Lock()
		open := st.conns[c]
		st.mu.Unlock()
		if !open {
			return
		}
		st.write(c, frame{T: "ping"})
	}
}

func (st *stub) set(f func(*stub)) { st.mu.Lock(); f(st); st.mu.Unlock() }

func (st *stub) answerWith(f func(heard) []frame) { st.set(func(st *stub) { st.onSub = f }) }

// live sends a fragment to everybody.
func (st *stub) live(i, r, k, h string) { st.send(frame{T: "f", I: i, R: r, K: k, H: h}) }

func (st *stub) send(f frame) {
	for _, c := range st.open() {
		st.write(c, f)
	}
}

func (st *stub) open() []*websocket.Conn {
	st.mu.Lock()
	defer st.mu.Unlock()
	var all []*websocket.Conn
	for c := range st.conns {
		all = append(all, c)
	}
	return all
}

// closeAll closes every socket as the server would.
func (st *stub) closeAll(code websocket.StatusCode, reason string) {
	for _, c := range st.open() {
		go c.Close(code, reason) // it waits for the peer, who may be gone
	}
}

// count is how many frames of a type came so far.
func (st *stub) count(kind string) int { return len(st.all(kind)) }

func (st *stub) all(kind string) []heard {
	st.mu.Lock()
	defer st.mu.Unlock()
	var found []heard
	for _, h := range st.log {
		if h.T == kind {
			found = append(found, h)
		}
	}
	return found
}

func (st *stub) tries() int { st.mu.Lock(); defer st.mu.Unlock(); return st.tried }

func (st *stub) visits() int { st.mu.Lock(); defer st.mu.Unlock(); return st.loads }

func (st *stub) sockets() int { st.mu.Lock(); defer st.mu.Unlock(); return st.opened }

// await waits until a condition of the server's side holds.
func (st *stub) await(what string, done func() bool) {
	st.t.Helper()
	for end := time.Now().Add(20 * time.Second); !done(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			st.t.Fatalf("never happened: %s\nopen: %d, opened: %d, frames: %+v", what, len(st.open()), st.sockets(), st.log)
		}
	}
}

func (st *stub) awaitSubs(n int) []heard {
	st.t.Helper()
	st.await(fmt.Sprintf("%d subscribes", n), func() bool { return st.count("sub") >= n })
	return st.all("sub")
}

// visit opens the page in a new window and waits until its scopes are connected.
func (st *stub) visit() *chromiumtest.Page {
	st.t.Helper()
	p := chromiumtest.Open(st.t).Visitor(st.t)
	p.Goto(st.url)
	connected(p)
	return p
}

func connected(p interface{ WaitFor(js string) }) {
	p.WaitFor(`document.documentElement.dataset.lsStatus === "connected" &&
		[...document.querySelectorAll("lockstep-scope")].every(s => s.getAttribute("status") === "connected")`)
}

// fence sends a fragment that changes something else, and waits until the page shows it: whatever was sent before
// has had its effect by then, or has none. The page needs fenceScope.
func (st *stub) fence(p *chromiumtest.Page) {
	st.t.Helper()
	fences++
	st.live("fence", fmt.Sprint(fences), "fence", fmt.Sprintf(`<i data-ls="fence">%d</i>`, fences))
	p.WaitText(`[data-ls="fence"]`, fmt.Sprint(fences))
}

var fences = 1

const fenceScope = `<lockstep-scope token="fence@1" instance="fence" revision="1"><i data-ls="fence">1</i></lockstep-scope>`

// scope is the markup of a scope whose token is its stamp.
func scope(i, r, inner string) string {
	return fmt.Sprintf(`<lockstep-scope token="%s@%s" instance="%s" revision="%s">%s</lockstep-scope>`, i, r, i, r, inner)
}

// watch notes what happens to the DOM below an element from now on, and the client's own events there.
func watch(p *chromiumtest.Page, selector string) {
	p.Eval(fmt.Sprintf(`(() => {
		window.changes = []
		const root = document.querySelector(%q)
		new MutationObserver(list => list.forEach(m =>
			changes.push(m.type + " " + (m.attributeName ?? m.target.nodeName)))).observe(root,
			{subtree: true, childList: true, attributes: true, characterData: true})
		for (const type of ["before-update", "update", "missing", "conflict"])
			root.addEventListener("lockstep:" + type, e => changes.push(type))
	})()`, selector), nil)
}

// changes is what was noted since, in order.
func changes(p *chromiumtest.Page) string {
	return p.String(`window.changes.splice(0).join(", ")`)
}

// step is a chromedp step of one protocol command.
func step[P, R any](c cdp.Command[P, R], params P) chromedp.Action[chromedp.Void] {
	return chromedp.Func(func(ctx context.Context, target *chromedp.Target) error {
		_, err := cdp.Call(ctx, target, c, params)
		return err
	})
}

func websocketCode(code int) websocket.StatusCode { return websocket.StatusCode(code) }
