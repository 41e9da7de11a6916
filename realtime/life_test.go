package realtime_test

import (
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"net/http/httptest"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/coder/websocket"
	"github.com/go-chi/chi/v5"

	"github.com/lockstep-go/lockstep/realtime"
	"github.com/lockstep-go/lockstep/realtime/wire"
)

// R16: where the hub sends no heartbeats, pages are told to wait for none: for longer than any page stays, and for less than
// a browser's timers take, which fire at once beyond 2³¹ ms. A quiet connection stays.
func TestR16_WithoutHeartbeats(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		h := open(t, w, func(c *realtime.Config) { c.Heartbeat = -1 })
		p := h.browse("alice")
		time.Sleep(time.Hour)
		hello := p.got("hello")
		if len(hello) != 1 || hello[0].Heartbeat < (7*24*time.Hour).Milliseconds() || hello[0].Heartbeat > 1<<31*3/4 {
			t.Errorf("greeted with %+v", hello)
		}
		if len(p.got("ping")) != 0 || p.closeCode() != 0 {
			t.Errorf("%d pings, closed with %d", len(p.got("ping")), p.closeCode())
		}
	})
}

// R16: a client that says nothing is gone within two heartbeats, whatever writes to it succeeded.
func TestR16_DeadConnectionsAreDropped(t *testing.T) {
	onBothLinks(t, func(t *testing.T, w *world) {
		h := open(t, w)
		var pages []*page
		for i := range 200 {
			p := h.browse(fmt.Sprint("user", i))
			p.get("s", cart("a"), tN)
			p.subscribe("s")
			pages = append(pages, p)
		}
		time.Sleep(2 * time.Minute)
		for _, p := range pages {
			if p.closeCode() != 0 {
				t.Fatalf("a live connection was closed with %d", p.closeCode())
			}
			p.mu.Lock()
			p.mute = true
			p.mu.Unlock()
		}
		renders := w.rendered("n")
		time.Sleep(50 * time.Second)
		synctest.Wait()
		for _, p := range pages {
			if p.closeCode() != wire.CloseStalled {
				t.Fatalf("a dead connection was closed with %d, want %d", p.closeCode(), wire.CloseStalled)
			}
		}
		before := w.count(&w.compares)
		w.set(cart("a"), "n", 2)
		time.Sleep(10 * time.Second)
		if w.rendered("n") != renders || w.count(&w.compares) != before {
			t.Error("something is still rendered or compared for nobody")
		}
	})
}

// R17: traffic in both directions, at most 30 s apart, by default.
func TestR17_PingsKeepIdleConnectionsUp(t *testing.T) {
	onBothLinks(t, func(t *testing.T, w *world) {
		h := open(t, w)
		p := h.browse("x")
		time.Sleep(5 * time.Minute)
		synctest.Wait()
		if n := len(p.got("ping")); n < 10 || p.closeCode() != 0 {
			t.Errorf("%d pings in five minutes, closed with %d", n, p.closeCode())
		}
		if hello := p.got("hello"); len(hello) != 1 || hello[0].Heartbeat != 25000 || hello[0].Build != "build-1" || p.frames[0].Type != "hello" {
			t.Errorf("greeted with %+v", hello)
		}
	})
}

// R21: shutdown closes every socket with "restart" and a time to come back, and leaves nothing behind.
func TestR21_Shutdown(t *testing.T) {
	onBothLinks(t, func(t *testing.T, w *world) {
		h := open(t, w)
		var pages []*page
		for i := range 50 {
			p := h.browse(fmt.Sprint("user", i))
			p.get("s", cart("a"), tN, tGreeting)
			p.subscribe("s")
			pages = append(pages, p)
		}
		stuck := h.connect("stuck", "s") // takes nothing
		defer stuck.CloseNow()
		h.follow(stuck, cart("a"), tN)
		synctest.Wait()
		w.set(cart("a"), "n", 2)
		start := time.Now()
		if err := h.stop(); err != nil {
			t.Error(err)
		}
		if took := time.Since(start); took > 5*time.Second {
			t.Errorf("shutdown took %v", took)
		}
		synctest.Wait()
		for _, p := range pages {
			p.mu.Lock()
			closed := p.closed
			p.mu.Unlock()
			if closed == nil || closed.Code != websocket.StatusServiceRestart {
				t.Fatalf("closed with %v, want %d", closed, websocket.StatusServiceRestart)
			}
			if ms, err := strconv.Atoi(closed.Reason); err != nil || ms < 500 || ms > 30000 {
				t.Fatalf("the reason is %q, want milliseconds", closed.Reason)
			}
		}
		if len(w.follow) != 0 {
			t.Error("still following")
		}
		late := h.connect("late", "s")
		_, _, err := late.Read(context.Background())
		if code := websocket.CloseStatus(err); code != websocket.StatusTryAgainLater {
			t.Errorf("after shutdown a socket was closed with %d, want %d", code, websocket.StatusTryAgainLater)
		}
		w.set(cart("a"), "n", 3)
	})
}

func TestSocketsBeforeRunAreToldToTryLater(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		hub := must(realtime.New(config(newWorld(), &logged{})))
		dial := serve(t, hub)
		ws, _, err := dialSocket(dial, "http://shop.example", nil)
		if err != nil {
			t.Fatal(err)
		}
		_, _, err = ws.Read(context.Background())
		if code := websocket.CloseStatus(err); code != websocket.StatusTryAgainLater {
			t.Errorf("closed with %d, want %d", code, websocket.StatusTryAgainLater)
		}
		ctx, cancel := context.WithCancel(context.Background())
		cancel()
		if err := hub.Run(ctx); err != nil {
			t.Error(err)
		}
		if err := hub.Run(ctx); err == nil {
			t.Error("a second Run was accepted")
		}
	})
}

// A component that ignores its ctx is named by Run's error; nothing else waits for it.
func TestRunIsBoundedByNobodysCode(t *testing.T) {
	onBothLinks(t, func(t *testing.T, w *world) {
		release := make(chan struct{})
		h := open(t, w)
		p := h.browse("x")
		p.get("s", cart("a"), tGreeting)
		p.subscribe("s")
		synctest.Wait()
		w.with(func() { w.beforeGet = func() { <-release } })
		w.set(cart("a"), "n", 2)
		synctest.Wait()
		start := time.Now()
		ctxErr := h.stop()
		if ctxErr == nil || time.Since(start) > 10*time.Second {
			t.Errorf("Run returned %v after %v, want an error soon", ctxErr, time.Since(start))
		}
		h.stop = func() error { return nil }
		close(release)
	})
}

// R24: a client of another version, newer or older, is told so by a code that a page can see.
func TestR24_AnotherVersionIsTurnedAway(t *testing.T) {
	onBothLinks(t, func(t *testing.T, w *world) {
		h := open(t, w)
		for _, protocols := range [][]string{nil, {"lockstep.v0"}, {"other"}, {"lockstep.v2", wire.AnyVersion}, {wire.AnyVersion, "other"}} {
			ws, _, err := websocket.Dial(context.Background(), "ws://shop.example/socket", &websocket.DialOptions{
				HTTPClient: &http.Client{Transport: &http.Transport{DialContext: h.dial}}, Subprotocols: protocols,
				HTTPHeader: http.Header{"Origin": {"http://shop.example"}},
			})
			if err != nil {
				t.Fatal(err)
			}
			want := ""
			if slices.Contains(protocols, wire.AnyVersion) { // a browser would call an answer without one of them no socket at all
				want = wire.AnyVersion
			}
			if got := ws.Subprotocol(); got != want {
				t.Errorf("%q: subprotocol %q, want %q", protocols, got, want)
			}
			_, data, err := ws.Read(context.Background())
			if code := websocket.CloseStatus(err); code != wire.CloseVersion {
				t.Errorf("%q: closed with %d after %q, want %d", protocols, code, data, wire.CloseVersion)
			}
		}
	})
}

// R23: an HTTP/2 CONNECT, and other requests that are no upgrade, are refused at once.
func TestR23_RequestsThatAreNoUpgrade(t *testing.T) {
	hub := must(realtime.New(config(newWorld(), &logged{})))
	for _, c := range []struct {
		method string
		major  int
		want   int
	}{
		{"CONNECT", 2, http.StatusHTTPVersionNotSupported},
		{"GET", 2, http.StatusHTTPVersionNotSupported},
		{"POST", 1, http.StatusMethodNotAllowed},
		{"GET", 1, http.StatusUpgradeRequired},
	} {
		r := httptest.NewRequest(c.method, "http://shop.example/socket", nil)
		r.ProtoMajor, r.ProtoMinor = c.major, 1
		r.Header.Set(":protocol", "websocket")
		r.Header.Set("Origin", "http://shop.example")
		answer := httptest.NewRecorder()
		hub.ServeHTTP(answer, r)
		if answer.Code != c.want {
			t.Errorf("%s over HTTP/%d: %d, want %d", c.method, c.major, answer.Code, c.want)
		}
	}
}

// R27: broadcasts, pings, resyncs and closes at random, under the race detector, on real sockets.
func TestR27_ManyWriters(t *testing.T) {
	w := newWorld()
	w.commit(cart("a"), change{set: state{"n": 1}, names: []string{"n"}})
	h := open(t, w, func(c *realtime.Config) {
		c.Heartbeat = 20 * time.Millisecond
		c.Recheck = 10 * time.Millisecond
		c.Compare = 5 * time.Millisecond
	})
	h.dial = loopback(t, signedIn(h.hub))
	clients, rounds := 60, 60
	stop := make(chan struct{})
	var commits, pages sync.WaitGroup
	for i := range 8 {
		commits.Go(func() {
			for n := 0; ; n++ {
				select {
				case <-stop:
					return
				case <-time.After(time.Millisecond):
					w.set(cart("a"), []string{"n", "m"}[i%2], n)
				}
			}
		})
	}
	for i := range clients {
		pages.Go(func() {
			rnd := rand.New(rand.NewPCG(uint64(i), 27))
			user := fmt.Sprint("user", i)
			p := h.browse(user)
			p.get("s", cart("a"), tN, tM, tGreeting, tStaff, tParent)
			for range rounds / 10 {
				switch rnd.IntN(4) {
				case 0:
					p.drop()
					h.attach(p, "session-"+user)
				case 1:
					h.revoke(realtime.Revocation{Actor: cart("a")})
				}
				p.subscribe("s")
				time.Sleep(time.Duration(rnd.IntN(20)) * time.Millisecond)
			}
			p.drop()
			h.attach(p, "session-"+user)
			p.subscribe("s")
			<-stop
			eventually(t, func() bool {
				select {
				case <-p.done:
					h.attach(p, "session-"+user)
					p.subscribe("s")
				default:
				}
				for _, target := range []wire.Target{tN, tM, tGreeting, tStaff} {
					if p.shows("s", target) != w.fresh(user, cart("a"), target) {
						return false
					}
				}
				return true
			})
		})
	}
	time.Sleep(time.Second)
	close(stop)
	commits.Wait()
	pages.Wait()
}

func eventually(t testing.TB, ok func() bool) {
	t.Helper()
	for end := time.Now().Add(20 * time.Second); !ok(); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(end) {
			t.Error("it never came to that")
			return
		}
	}
}

// loopback serves on a real socket.
func loopback(t testing.TB, handler http.Handler) func(context.Context, string, string) (net.Conn, error) {
	srv := httptest.NewServer(handler)
	t.Cleanup(srv.Close)
	addr := srv.Listener.Addr().String()
	return func(ctx context.Context, _, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "tcp", addr)
	}
}

// R29: goroutines and heap return to where they were, however connections end.
func TestR29_NothingLeaks(t *testing.T) {
	w := newWorld()
	w.commit(cart("a"), change{set: state{"n": 1}, names: []string{"n"}})
	h := open(t, w)
	h.dial = loopback(t, signedIn(h.hub))
	cycle := func(i int) {
		p := h.browse(fmt.Sprint("user", i%7))
		p.get("s", cart("a"), tN, tGreeting)
		p.get("u", cart(fmt.Sprint(i)), tN)
		p.subscribe("s", "u")
		switch i % 3 {
		case 0: // abruptly, before the answer
		case 1:
			p.sendText("what nobody expects")
			eventually(t, func() bool { return len(p.got("ok")) == 2 })
		case 2:
			w.set(cart("a"), "n", i)
			p.ws.Close(websocket.StatusNormalClosure, "")
		}
		p.drop()
	}
	for i := range 30 {
		cycle(i)
	}
	settled := func(limit int) bool { runtime.GC(); return runtime.NumGoroutine() <= limit }
	time.Sleep(100 * time.Millisecond)
	base := runtime.NumGoroutine()
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	cycles := 600
	if full {
		cycles = 2000
	}
	if testing.Short() {
		cycles = 100
	}
	for i := range cycles {
		cycle(i)
	}
	eventually(t, func() bool { return settled(base + 5) })
	runtime.ReadMemStats(&after)
	if grown := int64(after.HeapAlloc) - int64(before.HeapAlloc); grown > int64(cycles)*10<<10 { // seven of them are the pages of this test, which stay until it ends
		t.Errorf("the heap grew by %d KiB in %d cycles", grown>>10, cycles)
	}
	done := make(chan error)
	go func() { done <- h.stop() }()
	w.set(cart("a"), "n", -1)
	if err := <-done; err != nil {
		t.Error(err)
	}
}

// What a push sees of chi's parameters is the page's own, however many requests have passed since.
func TestViewersRouteParametersAreItsOwn(t *testing.T) {
	w := newWorld()
	w.commit(cart("a"), change{set: state{"n": 1}, names: []string{"n"}})
	w.parts["where"] = part{audience: realtime.PerViewer, observes: []string{"n"},
		render: func(ctx context.Context, _ realtime.RenderRequest, s state) (string, []wire.Target, error) {
			return fmt.Sprint(chi.URLParamFromCtx(ctx, "shop"), " ", s["n"], " ", ctx.Err()), nil, nil
		}}
	h := open(t, w, func(c *realtime.Config) {
		c.Detach = func(ctx context.Context) context.Context {
			route := chi.RouteContext(ctx)
			if route == nil {
				return ctx
			}
			return context.WithValue(ctx, chi.RouteCtxKey, route.Clone())
		}
	})
	r := chi.NewRouter()
	r.Use(signedIn)
	r.Handle("/{shop}/socket", h.hub)
	r.Get("/{shop}/page", func(w http.ResponseWriter, r *http.Request) { io.WriteString(w, chi.URLParam(r, "shop")) })
	srv := httptest.NewServer(r)
	defer srv.Close()
	addr := srv.Listener.Addr().String()
	ws, _, err := websocket.Dial(t.Context(), "ws://"+addr+"/mine/socket", &websocket.DialOptions{
		Subprotocols: []string{wire.Subprotocol}, HTTPHeader: http.Header{"Origin": {"http://" + addr}, "X-User": {"alice"}},
	})
	if err != nil {
		t.Fatal(err)
	}
	p := &page{h: h, user: "alice", scopes: map[string]*scope{}, ws: ws, done: make(chan struct{})}
	go p.read(ws, p.done)
	defer p.drop()
	target := wire.Target{Component: "where"}
	token := must(h.sealer.Seal(wire.Token{Actor: cart("a"), Targets: []wire.Target{target}}))
	p.scopes["s"] = &scope{actor: cart("a"), token: token, html: map[string]string{}, mark: map[string]int64{target.Name(cart("a")): 0}}
	p.subscribe("s")
	eventually(t, func() bool { return contains(p.shows("s", target), "mine 1 <nil>") })
	for i := range 1000 {
		answer, err := http.Get(fmt.Sprintf("http://%s/other%d/page", addr, i))
		if err != nil {
			t.Fatal(err)
		}
		io.Copy(io.Discard, answer.Body)
		answer.Body.Close()
		if i%100 == 0 {
			w.set(cart("a"), "n", 1000+i)
		}
	}
	w.set(cart("a"), "n", 5)
	eventually(t, func() bool { return contains(p.shows("s", target), "mine 5 <nil>") })
	for _, f := range p.got("f", "ok") {
		if text := string(wire.Encode(f)); strings.Contains(text, "other") || strings.Contains(text, "canceled") {
			t.Errorf("a push saw another request: %s", text)
		}
	}
}
