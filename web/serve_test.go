package web_test

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/coder/websocket"

	"github.com/lockstep-go/lockstep/actors"
	"github.com/lockstep-go/lockstep/runtime"
	"github.com/lockstep-go/lockstep/runtime/store/sqlite"
	"github.com/lockstep-go/lockstep/views/testdata/fixture"
	"github.com/lockstep-go/lockstep/web"
)

// running is a program that Serve runs.
type running struct {
	addr  string
	stop  context.CancelFunc
	ended chan error
}

func start(t *testing.T, live *web.Live, h http.Handler) *running {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	s := &running{ln.Addr().String(), stop, make(chan error, 1)}
	go func() { s.ended <- live.ServeListener(ctx, ln, h) }()
	return s
}

func (s *running) wait(t *testing.T) error {
	t.Helper()
	select {
	case err := <-s.ended:
		return err
	case <-time.After(20 * time.Second):
		t.Fatal("Serve does not return")
		return nil
	}
}

// On ctx's end: no new connection, requests finish while turns still run, sockets are closed with "come back", and the
// runtime drains.
func TestServeEndsInOrder(t *testing.T) {
	db, err := sqlite.Open(t.Context(), ":memory:")
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	rt, err := runtime.Open(t.Context(), db, runtime.Config{Types: []actors.AnyType{fixture.Carts, fixture.Stocks}, Policy: actors.InsecureAllowAll()})
	if err != nil {
		t.Fatal(err)
	}
	defer rt.Close()
	live := newLive(t, rt)
	r := shop(live)
	begun, release := make(chan struct{}), make(chan struct{})
	var socketOpen atomic.Bool
	r.Get("/slow", func(w http.ResponseWriter, r *http.Request) {
		close(begun)
		<-release
		n, err := fixture.Add.Ask(r.Context(), rt, fixture.Carts.Ref("cart-of-ada"), fixture.AddItem{SKU: "mug", Qty: 2})
		if err != nil || n != 2 || !rt.Ready() || !socketOpen.Load() {
			t.Errorf("a request while the server ends: %d, %v; the runtime runs: %v, the socket is open: %v", n, err, rt.Ready(), socketOpen.Load())
		}
		io.WriteString(w, "finished")
	})
	s := start(t, live, r)
	base := "http://" + s.addr
	p := open(t, "ws://"+s.addr+"/lockstep/socket", base, fetch(t, base+"/cart", ada), ada)
	if f := p.answer(); f.Type != "ok" {
		t.Fatalf("answer %+v", f)
	}
	socketOpen.Store(true)
	closed := make(chan websocket.StatusCode, 1)
	go func() { e := <-p.closed; socketOpen.Store(false); closed <- e.Code }()
	slow := make(chan string, 1)
	go func() { slow <- fetch(t, base+"/slow", nil) }()
	<-begun
	s.stop()
	for deadline := time.Now().Add(5 * time.Second); ; time.Sleep(5 * time.Millisecond) {
		c, err := net.Dial("tcp", s.addr)
		if err != nil {
			break
		}
		c.Close()
		if time.Now().After(deadline) {
			t.Fatal("the server still accepts")
		}
	}
	close(release)
	if text := <-slow; text != "finished" {
		t.Errorf("the request in flight got %q", text)
	}
	if err := s.wait(t); err != nil {
		t.Errorf("Serve: %v", err)
	}
	if code := <-closed; code != websocket.StatusServiceRestart && code != websocket.StatusGoingAway {
		t.Errorf("the socket was closed with %d, want 1001 or 1012", code)
	}
	if rt.Ready() {
		t.Error("the runtime still runs")
	}
	if c := cartOf(t, rt, "ada"); c.Lines["mug"] != 2 {
		t.Errorf("the last turn is lost: %+v", c)
	}
}

func TestServeCutsOffWhatDoesNotFinish(t *testing.T) {
	rt := newFake(fixture.Carts)
	live := newLive(t, rt, func(c *web.Config) { c.Shutdown = 50 * time.Millisecond })
	r := shop(live)
	begun := make(chan struct{})
	gone := make(chan struct{})
	r.Get("/hangs", func(w http.ResponseWriter, r *http.Request) {
		close(begun)
		<-r.Context().Done()
		close(gone)
	})
	s := start(t, live, r)
	go http.Get("http://" + s.addr + "/hangs")
	<-begun
	s.stop()
	if err := s.wait(t); err == nil || !strings.Contains(err.Error(), "requests were cut off after 50ms") {
		t.Errorf("Serve: %v", err)
	}
	<-gone
	if !rt.drained {
		t.Error("the runtime was not drained")
	}
}

// ends is a runtime whose Run returns at once.
type ends struct {
	*fakeRuntime
	err error
}

func (e ends) Run(context.Context) error { return e.err }

func TestServeEndsWithItsParts(t *testing.T) {
	broken := errors.New("no database")
	s := start(t, newLive(t, ends{newFake(fixture.Carts), broken}), http.NotFoundHandler())
	if err := s.wait(t); !errors.Is(err, broken) {
		t.Errorf("a runtime that fails: %v", err)
	}
	s = start(t, newLive(t, ends{newFake(fixture.Carts), nil}), http.NotFoundHandler())
	if err := s.wait(t); err == nil || !strings.Contains(err.Error(), "the runtime ended by itself") {
		t.Errorf("a runtime that ends: %v", err)
	}
	rt := newFake(fixture.Carts)
	live := newLive(t, rt)
	if err := live.Serve(t.Context(), "256.0.0.1:0", http.NotFoundHandler()); err == nil || rt.Ready() {
		t.Errorf("an address that is none: %v; the runtime ran: %v", err, rt.Ready())
	}
}
