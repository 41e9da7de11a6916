package realtime_test

import (
	"bufio"
	"compress/gzip"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/coder/websocket"
	"github.com/go-chi/chi/v5/middleware"

	"github.com/lockstep-go/lockstep/realtime"
	"github.com/lockstep-go/lockstep/realtime/wire"
)

// ask sends a request to the stream's route by hand.
func (h *house) ask(method, body string, header ...string) (*http.Response, error) {
	r := must(http.NewRequest(method, "http://shop.example/stream", strings.NewReader(body)))
	r.Header.Set("Origin", "http://shop.example")
	r.Header.Set("Content-Type", "application/json")
	for i := 0; i < len(header); i += 2 {
		if r.Header.Set(header[i], header[i+1]); header[i+1] == "" {
			r.Header.Del(header[i])
		}
	}
	return (&http.Transport{DialContext: h.dial, DisableKeepAlives: true}).RoundTrip(r)
}

// R38: the same origins as for sockets, and a forged form can be none of these requests.
func TestR38_StreamsAreForPagesOfOurs(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		h := open(t, w, func(c *realtime.Config) { c.Origins = []string{"https://public.example"} })
		none := streamBody(nil, "x")
		for name, c := range map[string]struct {
			method, body string
			header       []string
			want         int
		}{
			"our own":          {"POST", none, nil, 404},
			"listed":           {"POST", none, []string{"Origin", "https://public.example"}, 404},
			"no origin":        {"POST", none, []string{"Origin", ""}, 403},
			"no origin, but":   {"POST", none, []string{"Origin", "", "Sec-Fetch-Site", "cross-site"}, 403},
			"null":             {"POST", none, []string{"Origin", "null"}, 403},
			"foreign":          {"POST", none, []string{"Origin", "https://evil.example"}, 403},
			"foreign, forged":  {"POST", none, []string{"Origin", "https://evil.example", "Content-Type", "text/plain"}, 403},
			"a form":           {"POST", "a=b", []string{"Content-Type", "application/x-www-form-urlencoded"}, 415},
			"plain text":       {"POST", none, []string{"Content-Type", "text/plain"}, 415},
			"no type":          {"POST", none, []string{"Content-Type", ""}, 415},
			"no JSON":          {"POST", "{", nil, 400},
			"no object":        {"POST", "[]", nil, 400},
			"no list":          {"POST", `{"commands":{}}`, nil, 400},
			"too large":        {"POST", `"` + strings.Repeat("x", 4<<20) + `"`, nil, 413},
			"GET":              {"GET", "", []string{"Sec-Fetch-Site", "same-origin"}, 405},
			"PUT":              {"PUT", none, nil, 405},
			"HEAD of anybody":  {"HEAD", "", []string{"Origin", ""}, 204},
			"foreign OPTIONS":  {"OPTIONS", "", []string{"Origin", "https://evil.example"}, 405},
			"stream of nobody": {"POST", streamBody(nil, strings.Repeat("A", 26), `{"t":"pong"}`), nil, 404},
		} {
			answer, err := h.ask(c.method, c.body, c.header...)
			if err != nil {
				t.Fatal(name, err)
			}
			answer.Body.Close()
			if answer.StatusCode != c.want {
				t.Errorf("%s: %d, want %d", name, answer.StatusCode, c.want)
			}
			if answer.Header.Get("Access-Control-Allow-Origin") != "" || !strings.Contains(answer.Header.Get("Cache-Control"), "no-store") {
				t.Errorf("%s: headers %v", name, answer.Header)
			}
		}
		wait(time.Second) // for the server to let go of what it did not read
	})
}

func TestStreamIsAnEventStream(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		h := open(t, w)
		s := h.stream("alice", "s")
		defer s.cancel()
		for name, want := range map[string]string{
			"Content-Type": "text/event-stream", "Cache-Control": "private, no-store, no-transform", "X-Accel-Buffering": "no",
		} {
			if got := s.answer.Header.Get(name); got != want {
				t.Errorf("%s: %q, want %q", name, got, want)
			}
		}
		kind, data, err := s.next()
		if kind != "" || string(data) != `{"t":"hello","heartbeat":25000,"build":"build-1"}` || err != nil {
			t.Errorf("greeted with %q %s, %v", kind, data, err)
		}
		if len(s.id) < 26 { // 128 bits
			t.Errorf("the stream's name is %q", s.id)
		}
	})
}

// What comes with the opening request takes effect before anything that follows, and in its order.
func TestR09_CommandsOfAStreamKeepTheirOrder(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		h := open(t, w)
		token := h.browse("alice").get("s", cart("a"), tN).token
		sub := func(n, scope string) string {
			return `{"t":"sub","n":` + n + `,"s":"` + scope + `","token":"` + token + `"}`
		}
		p := &page{h: h, user: "alice", scopes: map[string]*scope{}, done: make(chan struct{})}
		p.stream = h.stream("alice", "session-alice", sub("1", "s"), sub("2", "s"), `7`, sub("3", "s"))
		go p.readStream(p.stream, p.done)
		if code := p.stream.post(`{"t":"unsub","s":"s"}`, sub("4", "other")); code != 204 {
			t.Errorf("commands were answered %d", code)
		}
		synctest.Wait()
		var answers []int64
		for _, f := range p.got("ok", "no") {
			answers = append(answers, f.Number)
		}
		if len(answers) != 5 || answers[0] != 1 || answers[1] != 2 || answers[2] != 0 || answers[3] != 3 || answers[4] != 4 {
			t.Errorf("answers to %v, want each subscribe's and the garbage's in order", answers)
		}
		w.set(cart("a"), "n", 5)
		settle()
		if n := len(p.got("f")); n != 1 {
			t.Errorf("%d fragments for one scope", n)
		}
		p.drop()
		synctest.Wait()
		if code := p.stream.post(`{"t":"pong"}`); code != 404 {
			t.Errorf("commands for a stream that ended were answered %d, want 404", code)
		}
	})
}

// A stream takes commands from its own viewer only, in its own process only; whose it is cannot be told from outside.
func TestR48_CommandsForSomebodyElsesStream(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		h, other := open(t, w), open(t, w)
		p := h.attachStreamAs("alice")
		p.get("s", cart("a"), tN)
		p.subscribe("s")
		for name, thief := range map[string]*streamLine{
			"another user":    {client: p.stream.client, id: p.stream.id, header: http.Header{"X-User": {"bob"}, "X-Session": {"session-alice"}}},
			"another session": {client: p.stream.client, id: p.stream.id, header: http.Header{"X-User": {"alice"}, "X-Session": {"other"}}},
			"another process": {client: other.stream("alice", "session-alice").client, id: p.stream.id, header: p.stream.header},
		} {
			thief.header.Set("Origin", "http://shop.example")
			thief.header.Set("Content-Type", "application/json")
			if code := thief.post(`{"t":"unsub","s":"s"}`); code != 404 {
				t.Errorf("%s: %d, want 404", name, code)
			}
		}
		w.set(cart("a"), "n", 2)
		settle()
		p.wantFresh("s", tN)
	})
}

// attachStreamAs is a page on a stream, whatever the world's pages use.
func (h *house) attachStreamAs(user string) *page {
	before := h.w.streams
	h.w.streams = true
	defer func() { h.w.streams = before }()
	return h.browse(user)
}

func TestR34_OversizedFrameEndsAStreamWith1009(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		h := open(t, w)
		p := h.attachStreamAs("alice")
		p.stream.post(`{"t":"later","x":"` + strings.Repeat("x", wire.MaxFrameBytes) + `"}`)
		synctest.Wait()
		if p.closeCode() != websocket.StatusMessageTooBig {
			t.Errorf("closed with %d, want 1009", p.closeCode())
		}
	})
}

func TestR24_StreamOfAnotherVersionOrBeforeRun(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		h := open(t, w)
		ended := func(h *house, protocol string) string {
			answer, err := h.ask("POST", streamBody([]string{protocol}, ""))
			if err != nil {
				t.Fatal(err)
			}
			defer answer.Body.Close()
			return string(must(io.ReadAll(answer.Body)))
		}
		if got := ended(h, "lockstep.v0"); got != "event: close\ndata: {\"code\":4426,\"reason\":\"lockstep.v1\"}\n\n" {
			t.Errorf("another version got %q", got)
		}
		idle := must(realtime.New(config(w, h.log)))
		early := &house{t: t, w: w, hub: idle, dial: serve(t, idle.StreamHandler())}
		if got := ended(early, wire.Subprotocol); !strings.HasPrefix(got, "event: close\ndata: {\"code\":1013,\"reason\":\"") {
			t.Errorf("before Run a stream got %q", got)
		}
		if answer := must(early.ask("HEAD", "")); answer.StatusCode != 503 || answer.Header.Get("Retry-After") == "" {
			t.Errorf("before Run HEAD was answered %d", answer.StatusCode)
		}
	})
}

// C7, R16: who takes nothing is cut; who goes leaves nothing behind.
func TestC7_StreamsThatStallOrVanish(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		h := open(t, w)
		p := h.attachStreamAs("alice")
		token := p.get("s", cart("a"), tN).token
		stuck := h.stream("stuck", "s", `{"t":"sub","n":1,"s":"s","token":"`+token+`"}`) // reads no further
		defer stuck.cancel()
		gone := h.attachStreamAs("gone")
		gone.get("s", cart("a"), tN)
		gone.subscribe("s")
		synctest.Wait()
		gone.drop()
		for i := range 100 { // more than what the transport reads ahead
			w.set(cart("a"), "n", i)
			time.Sleep(300 * time.Millisecond)
		}
		synctest.Wait()
		if code := stuck.post(`{"t":"pong"}`); code != 404 {
			t.Errorf("a stalled stream takes commands after 30 s: %d", code)
		}
		if code := gone.stream.post(`{"t":"pong"}`); code != 404 {
			t.Errorf("a stream that vanished takes commands: %d", code)
		}
		if code := p.stream.post(`{"t":"pong"}`); code != 204 {
			t.Errorf("somebody else's stream: %d", code)
		}
	})
}

// A body that does not arrive is not waited for.
func TestStreamRequestAByteAtATime(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		h := open(t, w)
		nc := must(h.dial(context.Background(), "", ""))
		defer nc.Close()
		go io.WriteString(nc, "POST /stream HTTP/1.1\r\nHost: shop.example\r\nOrigin: http://shop.example\r\nContent-Type: application/json\r\nContent-Length: 100\r\n\r\n{")
		start := time.Now()
		answer, err := http.ReadResponse(bufio.NewReader(nc), nil)
		if err != nil || answer.StatusCode != 400 || time.Since(start) > 11*time.Second {
			t.Errorf("after %s: %v, %v", time.Since(start), answer, err)
		}
	})
}

// R21: the shutdown of a server, which waits for requests, ends the streams on it at once, and takes no others.
func TestR21_ServersShutdownEndsItsStreams(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		h := open(t, w)
		kept := h.attachStreamAs("kept")
		l := &pipes{conns: make(chan net.Conn), done: make(chan struct{})}
		srv := &http.Server{Handler: signedIn(h.hub.StreamHandler())}
		served := make(chan error, 1)
		go func() { served <- srv.Serve(l) }()
		there := &house{t: t, w: w, hub: h.hub, sealer: h.sealer, dial: l.dial, log: h.log}
		p := there.attachStreamAs("alice")
		start := time.Now()
		if err := srv.Shutdown(context.Background()); err != nil {
			t.Error(err)
		}
		if took := time.Since(start); took > 2*time.Second {
			t.Errorf("the shutdown took %s", took)
		}
		if err := <-served; !errors.Is(err, http.ErrServerClosed) {
			t.Error(err)
		}
		synctest.Wait()
		if p.closeCode() != websocket.StatusServiceRestart || kept.closeCode() != 0 {
			t.Errorf("closed with %d, and another server's stream with %d", p.closeCode(), kept.closeCode())
		}
	})
}

// hidden is a ResponseWriter as careless middleware makes them.
type hidden struct{ http.ResponseWriter }

func (h hidden) Header() http.Header         { return h.ResponseWriter.Header() }
func (h hidden) Write(p []byte) (int, error) { return h.ResponseWriter.Write(p) }

func TestStreamUnderMiddleware(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		h := open(t, w)
		careless := &house{t: t, w: w, log: h.log, dial: serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			h.hub.StreamHandler().ServeHTTP(hidden{w}, r)
		}))}
		answer := must(careless.ask("POST", streamBody([]string{wire.Subprotocol}, "")))
		answer.Body.Close()
		if answer.StatusCode != 501 || !strings.Contains(h.log.String(), "Unwrap") {
			t.Errorf("answered %d; the log says %s", answer.StatusCode, h.log)
		}

		// A wrapper that can only be unwrapped, and compression that was told to compress everything, let each frame
		// through at once.
		squeeze := middleware.Compress(5, "text/event-stream")
		squeezed := &house{t: t, w: w, log: h.log, dial: serve(t, squeeze(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			signedIn(h.hub.StreamHandler()).ServeHTTP(wrapped{w}, r)
		})))}
		token := must(h.sealer.Seal(wire.Token{Actor: cart("a"), Targets: []wire.Target{tN}}))
		answer = must(squeezed.ask("POST", streamBody([]string{wire.Subprotocol}, "", `{"t":"sub","n":1,"s":"s","token":"`+token+`"}`), "Accept-Encoding", "gzip"))
		defer answer.Body.Close()
		if got := answer.Header.Get("Content-Encoding"); got != "gzip" {
			t.Fatalf("the stream's encoding is %q", got)
		}
		s := &streamLine{events: bufio.NewReader(must(gzip.NewReader(answer.Body)))}
		want := func(what string) {
			t.Helper()
			if kind, data, err := s.next(); err != nil || !strings.HasPrefix(kind+string(data), what) {
				t.Fatalf("got %q %s %v, want %s", kind, data, err, what)
			}
		}
		want("open")
		want(`{"t":"hello"`)
		want(`{"t":"ok"`)
		for i := range 3 {
			w.set(cart("a"), "n", 7+i)
			want(`{"t":"f"`)
		}
	})
}

// Over HTTP/2 a stream is one of many requests of a connection.
func TestStreamOverHTTP2(t *testing.T) {
	w := newWorld()
	h := &house{t: t, w: w, log: &logged{}}
	h.hub = must(realtime.New(config(w, h.log)))
	h.sealer = sealer()
	ctx, cancel := context.WithCancel(context.Background())
	ran := make(chan error, 1)
	go func() { ran <- h.hub.Run(ctx) }()
	srv := httptest.NewUnstartedServer(signedIn(h.hub.StreamHandler()))
	srv.EnableHTTP2 = true
	srv.StartTLS()
	t.Cleanup(srv.Close)
	send := func(body string) *http.Response {
		r := must(http.NewRequest("POST", srv.URL+"/stream", strings.NewReader(body)))
		r.Header.Set("Origin", srv.URL)
		r.Header.Set("Content-Type", "application/json")
		return must(srv.Client().Do(r))
	}
	for must(srv.Client().Head(srv.URL+"/stream")).StatusCode != 204 {
		time.Sleep(time.Millisecond)
	}
	token := must(h.sealer.Seal(wire.Token{Actor: cart("a"), Targets: []wire.Target{tN}}))
	answer := send(streamBody([]string{wire.Subprotocol}, ""))
	defer answer.Body.Close()
	if answer.ProtoMajor != 2 {
		t.Fatalf("the stream came by %s", answer.Proto)
	}
	s := &streamLine{events: bufio.NewReader(answer.Body)}
	_, data, _ := s.next()
	id := strings.TrimSuffix(strings.TrimPrefix(string(data), `{"stream":"`), `"}`)
	if code := send(streamBody(nil, id, `{"t":"sub","n":1,"s":"s","token":"`+token+`"}`)).StatusCode; code != 204 {
		t.Errorf("commands were answered %d", code)
	}
	s.next() // hello
	if _, data, _ := s.next(); !strings.HasPrefix(string(data), `{"t":"ok","n":1,`) {
		t.Errorf("answered %s", data)
	}
	cancel()
	if err := <-ran; err != nil {
		t.Error(err)
	}
	if kind, data, _ := s.next(); kind != "close" || !strings.HasPrefix(string(data), `{"code":1012,`) {
		t.Errorf("ended with %s %s", kind, data)
	}
	if _, _, err := s.next(); !errors.Is(err, io.EOF) {
		t.Errorf("then came %v, want the end", err)
	}
}
