package realtime_test

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/coder/websocket"
	"github.com/go-chi/chi/v5/middleware"

	"github.com/lockstep-go/lockstep/realtime/wire"
)

// wrapped is what many a middleware does with a ResponseWriter.
type wrapped struct{ http.ResponseWriter }

func (w wrapped) Unwrap() http.ResponseWriter { return w.ResponseWriter }

// permutations calls f with each order of a list.
func permutations[T any](list []T, f func([]T)) {
	if len(list) < 2 {
		f(list)
		return
	}
	for i := range list {
		rest := slices.Delete(slices.Clone(list), i, i+1)
		permutations(rest, func(tail []T) { f(append([]T{list[i]}, tail...)) })
	}
}

type layer struct {
	name string
	wrap func(http.Handler) http.Handler
}

// The socket lives whatever the order of the application's middleware: past the limit of a request's time, uncompressed
// and with its viewer.
func TestMiddlewareInEveryOrder(t *testing.T) {
	layers := []layer{
		{"viewer", signedIn},
		{"recoverer", middleware.Recoverer},
		{"timeout", middleware.Timeout(time.Second)},
		{"compress", middleware.Compress(5, "text/html", "text/plain", "application/json", "text/event-stream")},
		{"wrapper", func(next http.Handler) http.Handler {
			return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { next.ServeHTTP(wrapped{w}, r) })
		}},
	}
	permutations(layers, func(order []layer) {
		bubble(t, func(t *testing.T, w *world) {
			h := open(t, w)
			var handler http.Handler = h.hub
			var names []string
			for _, l := range order {
				handler, names = l.wrap(handler), append(names, l.name)
			}
			h.dial = serve(t, handler)
			p := h.browse("alice")
			p.get("s", cart("a"), tN, tGreeting)
			p.subscribe("s")
			time.Sleep(5 * time.Second) // several times the limit of a request
			w.set(cart("a"), "n", 2)
			time.Sleep(time.Minute)
			p.wantFresh("s", tN, tGreeting)
			if len(p.got("f")) != 2 || p.closeCode() != 0 {
				t.Errorf("%v: %d frames, closed with %d", names, len(p.got("f")), p.closeCode())
			}
			p.drop()
		})
	})
}

// Middleware that hides the connection is named in the log, and the request is answered at once.
func TestMiddlewareThatHidesTheConnection(t *testing.T) {
	type bare struct{ http.ResponseWriter }
	for name, hide := range map[string]func(http.Handler) http.Handler{
		"http.TimeoutHandler": func(next http.Handler) http.Handler { return http.TimeoutHandler(next, time.Minute, "late") },
		"a bare wrapper": func(next http.Handler) http.Handler {
			return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { next.ServeHTTP(bare{w}, r) })
		},
		"below one that unwraps": func(next http.Handler) http.Handler {
			return http.TimeoutHandler(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { next.ServeHTTP(wrapped{w}, r) }), time.Minute, "late")
		},
	} {
		bubble(t, func(t *testing.T, w *world) {
			h := open(t, w)
			h.dial = serve(t, hide(h.hub))
			start := time.Now()
			_, answer, err := dialSocket(h.dial, "http://shop.example", nil)
			if err == nil || answer == nil || answer.StatusCode != http.StatusNotImplemented || time.Since(start) > time.Second {
				t.Errorf("%s: answered %v %v after %v, want 501 at once", name, answer, err, time.Since(start))
			}
			if !contains(h.log.String(), "Unwrap") {
				t.Errorf("%s: logged %q", name, h.log)
			}
		})
	}
}

// noted is a ResponseWriter that a log of requests reads the status from.
type noted struct {
	http.ResponseWriter
	status int
}

func (n *noted) Unwrap() http.ResponseWriter { return n.ResponseWriter }

func (n *noted) WriteHeader(status int) {
	n.status = status
	n.ResponseWriter.WriteHeader(status)
}

// An upgrade's answer has what middleware put into the header, and middleware that looks sees its status, with and
// without anybody around the server's ResponseWriter.
func TestUpgradeIsAnsweredWithTheHeaderOfMiddleware(t *testing.T) {
	for _, wraps := range []bool{false, true} {
		bubble(t, func(t *testing.T, w *world) {
			h := open(t, w)
			saw := &noted{}
			h.dial = serve(t, http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
				rw.Header().Set("X-Request-Id", "abc\r\nX-Evil: 1")
				rw.Header().Set("Content-Length", "5")
				http.SetCookie(rw, &http.Cookie{Name: "seen", Value: "1"})
				http.SetCookie(rw, &http.Cookie{Name: "and", Value: "2"})
				if wraps {
					saw.ResponseWriter = rw
					rw = saw
				}
				signedIn(h.hub).ServeHTTP(rw, r)
			}))
			ws, answer, err := dialSocket(h.dial, "http://shop.example", http.Header{"X-User": {"alice"}})
			if err != nil {
				t.Fatal(err)
			}
			defer ws.CloseNow()
			if len(answer.Cookies()) != 2 || answer.Header.Get("X-Request-Id") != "abc  X-Evil: 1" || answer.Header.Get("X-Evil") != "" ||
				!wraps && answer.Header.Get("Content-Length") != "" {
				t.Errorf("wrapped %v: the header is %v", wraps, answer.Header)
			}
			if want := http.StatusSwitchingProtocols; wraps && saw.status != want {
				t.Errorf("a log of requests has %d, want %d", saw.status, want)
			}
			h.follow(ws, cart("a"), tN)
			for _, want := range []string{"hello", "ok"} {
				if _, text, err := ws.Read(t.Context()); err != nil || !contains(string(text), `"t":"`+want) {
					t.Errorf("wrapped %v: read %q, %v, want %s", wraps, text, err, want)
				}
			}
		})
	}
}

// R23: a server of HTTP/2 serves pages over it and sockets over HTTP/1.1; what is no such socket is refused at once.
func TestR23_BesideHTTP2(t *testing.T) {
	w := newWorld()
	w.commit(cart("a"), change{set: state{"n": 1}, names: []string{"n"}})
	h := open(t, w)
	mux := http.NewServeMux()
	mux.Handle("/socket", signedIn(h.hub))
	mux.HandleFunc("/page", func(w http.ResponseWriter, r *http.Request) { fmt.Fprint(w, r.Proto) })
	srv := httptest.NewUnstartedServer(mux)
	srv.EnableHTTP2 = true
	srv.StartTLS()
	defer srv.Close()
	client := srv.Client()
	client.Timeout = 10 * time.Second

	page, err := client.Get(srv.URL + "/page")
	if err != nil {
		t.Fatal(err)
	}
	if text := must(io.ReadAll(page.Body)); string(text) != "HTTP/2.0" {
		t.Errorf("the page came over %s, want HTTP/2.0", text)
	}
	for _, method := range []string{"GET", "CONNECT"} {
		r := must(http.NewRequest(method, srv.URL+"/socket", nil))
		r.Header.Set("Origin", srv.URL)
		r.Header.Set("Sec-WebSocket-Version", "13")
		r.Header.Set("Sec-WebSocket-Protocol", wire.Subprotocol)
		start := time.Now()
		answer, err := client.Do(r)
		if err == nil {
			answer.Body.Close()
		}
		if err == nil && answer.StatusCode < 400 || time.Since(start) > 5*time.Second {
			t.Errorf("%s over HTTP/2 was answered %v %v after %v, want a refusal at once", method, answer, err, time.Since(start))
		}
		if method == "GET" && (err != nil || answer.StatusCode != http.StatusHTTPVersionNotSupported) {
			t.Errorf("GET over HTTP/2 was answered %v %v, want %d", answer, err, http.StatusHTTPVersionNotSupported)
		}
	}

	config := client.Transport.(*http.Transport).TLSClientConfig.Clone()
	config.NextProtos = []string{"http/1.1"} // what a browser offers for a socket
	old := &http.Client{Transport: &http.Transport{TLSClientConfig: config}}
	ws, _, err := websocket.Dial(t.Context(), "wss"+strings.TrimPrefix(srv.URL, "https")+"/socket", &websocket.DialOptions{
		HTTPClient: old, Subprotocols: []string{wire.Subprotocol}, HTTPHeader: http.Header{"Origin": {srv.URL}, "X-User": {"alice"}},
	})
	if err != nil {
		t.Fatal(err)
	}
	defer ws.CloseNow()
	h.follow(ws, cart("a"), tN)
	want := func(typ string) {
		t.Helper()
		for {
			_, text, err := ws.Read(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			if strings.HasPrefix(string(text), `{"t":"`+typ) {
				return
			}
		}
	}
	want("ok")
	w.set(cart("a"), "n", 2)
	want("f")
}
