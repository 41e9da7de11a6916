package web_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/a-h/templ"
	"github.com/go-chi/chi/v5"

	"github.com/lockstep-go/lockstep/actors"
	"github.com/lockstep-go/lockstep/realtime/wire"
	"github.com/lockstep-go/lockstep/runtime"
	"github.com/lockstep-go/lockstep/runtime/runtimetest"
	"github.com/lockstep-go/lockstep/views"
	"github.com/lockstep-go/lockstep/views/testdata/fixture"
	"github.com/lockstep-go/lockstep/web"
)

// serve runs the hub and a real server for a handler.
func serve(t testing.TB, live *web.Live, h http.Handler) *httptest.Server {
	t.Helper()
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- live.Run(ctx) }()
	srv := httptest.NewServer(h)
	t.Cleanup(func() {
		stop()
		if err := <-ended; err != nil {
			t.Errorf("hub: %v", err)
		}
		srv.Close()
	})
	return srv
}

// fetch is a real GET.
func fetch(t testing.TB, url string, headers header) string {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	for k, v := range headers {
		r.Header.Set(k, v)
	}
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil || resp.StatusCode != 200 {
		t.Fatalf("GET %s: %d %s %v", url, resp.StatusCode, text, err)
	}
	return string(text)
}

// R11, C1: after every commit, each viewer's page becomes what a fresh GET by that viewer shows.
func TestR11PagesFollowOverTheSocket(t *testing.T) {
	rt := runtimetest.Open(t, fixture.Carts, fixture.Stocks).Runtime
	live := newLive(t, rt)
	h := shop(live)
	srv := serve(t, live, h)
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	rng := rand.New(rand.NewPCG(seed, 1))
	viewers := []header{
		{"X-User": "ada", "X-Role": "clerk", "X-Lang": "de"}, {"X-User": "bob", "X-Role": "guest", "X-Lang": "en"}, {"X-User": "eve", "X-Role": "clerk", "X-Lang": "en"},
	}
	url := srv.URL + "/cart/shared"
	var pages []*browserPage
	for _, v := range viewers {
		pages = append(pages, open(t, socketOf(srv, "/lockstep/socket"), srv.URL, fetch(t, url, v), v))
	}
	for _, p := range pages {
		if f := p.answer(); f.Type != "ok" {
			t.Fatalf("answer %+v", f)
		}
	}
	cart := fixture.Carts.Ref("shared")
	notes := []string{"plain", "<b>bold</b>", "\n\nlines", `"quoted" & more`, "</textarea><script>", ""}
	for range 30 {
		var err error
		if rng.IntN(2) == 0 {
			_, err = fixture.Add.Ask(t.Context(), rt, cart, fixture.AddItem{SKU: []string{"mug", "pen", "<ink>"}[rng.IntN(3)], Qty: 1 + rng.IntN(3)})
		} else {
			_, err = fixture.Note.Ask(t.Context(), rt, cart, notes[rng.IntN(len(notes))])
		}
		if err != nil {
			t.Fatal(err)
		}
		if rng.IntN(3) == 0 {
			n := rng.IntN(len(pages))
			pages[n].until(url, viewers[n])
		}
	}
	for n, p := range pages {
		p.until(url, viewers[n])
	}
}

// Rooms are told apart by a parameter of the address, and its visitor too.
type Room struct {
	N int `json:"n"`
}

var (
	Rooms = actors.Define("room", func() Room { return Room{} })
	Knock = actors.Message[int, int](Rooms, "knock")
	N     = actors.Shared(Rooms, "n", func(r Room) int { return r.N })
	Mine  = views.Component1("mine", N, mine).PerViewer()
)

func init() {
	Knock.Handle(func(r *Room, _ *actors.Turn[Room], by int) (int, error) { r.N += by; return r.N, nil })
}

// mine shows what the viewer's ctx says.
func mine(n int) templ.Component {
	return templ.ComponentFunc(func(ctx context.Context, w io.Writer) error {
		_, err := fmt.Fprintf(w, "<p>%d for %s in %s</p>", n, fixture.ViewerOf(ctx).Name, chi.URLParamFromCtx(ctx, "tenant"))
		return err
	})
}

// room is the page of the lobby.
func room(*http.Request) (templ.Component, error) {
	return templ.ComponentFunc(func(ctx context.Context, w io.Writer) error {
		return views.Object(Rooms.Ref("lobby")).Render(templ.WithChildren(ctx, Mine), w)
	}), nil
}

// A viewer's policy and render see that viewer's values for the life of the socket, whatever else the server does with
// what it recycles: chi's parameters, and a middleware's own.
func TestViewerKeepsItsValues(t *testing.T) {
	var mu sync.Mutex
	asked := map[string]int{}
	rt := runtimetest.OpenConfig(t, runtime.Config{Types: []actors.AnyType{Rooms}, Policy: allow(func(ctx context.Context, r actors.Request) error {
		if r.ID == "lobby" && r.Operation == actors.SnapshotOp {
			mu.Lock()
			asked[fixture.ViewerOf(ctx).Name+" in "+chi.URLParamFromCtx(ctx, "tenant")]++
			mu.Unlock()
		}
		return nil
	})})
	live := newLive(t, rt.Runtime, func(c *web.Config) { c.Recheck = 20 * time.Millisecond })
	pool := sync.Pool{New: func() any { return new(fixture.Viewer) }}
	recycles := func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			v := pool.Get().(*fixture.Viewer)
			defer pool.Put(v)
			v.Name = r.Header.Get("X-User")
			next.ServeHTTP(w, r.WithContext(fixture.WithViewer(r.Context(), *v)))
		})
	}
	r := chi.NewRouter()
	r.Route("/t/{tenant}", func(r chi.Router) {
		r.Use(recycles, live.Middleware)
		r.Mount("/live", live.Handler())
		r.Get("/room", live.Page(room))
	})
	srv := serve(t, live, r)
	me := header{"X-User": "ada"}
	url := srv.URL + "/t/home/room"
	p := open(t, socketOf(srv, "/t/home/live/socket"), srv.URL, fetch(t, url, me), me)
	p.answer()
	stop := make(chan struct{})
	var others sync.WaitGroup
	for n := range 4 {
		others.Go(func() {
			for i := range 250 {
				get(t, r, fmt.Sprintf("/t/other%d/room", i), header{"X-User": fmt.Sprintf("user%d", n)})
			}
		})
	}
	var commits sync.WaitGroup
	commits.Go(func() {
		for n := 0; ; n++ {
			select {
			case <-stop:
				return
			case <-time.After(5 * time.Millisecond):
			}
			if _, err := Knock.Ask(context.Background(), rt, Rooms.Ref("lobby"), 1); err != nil {
				t.Errorf("knock: %v", err)
				return
			}
			p.mu.Lock()
			for _, text := range p.targets {
				if !strings.Contains(text, " for ada in home</p>") {
					t.Errorf("pushed %s", text)
				}
			}
			p.mu.Unlock()
		}
	})
	others.Wait()
	close(stop)
	commits.Wait()
	p.until(url, me)
	mu.Lock()
	defer mu.Unlock()
	if len(asked) < 1000 || asked["ada in home"] < 3 {
		t.Errorf("the policy was asked about %d viewers, %d times about ours", len(asked), asked["ada in home"])
	}
	for who := range asked {
		if strings.HasPrefix(who, "ada") != strings.HasSuffix(who, "home") {
			t.Errorf("the policy saw a mixed viewer %q", who)
		}
	}
}

// allow is a policy that asks one function about everything.
func allow(f func(ctx context.Context, r actors.Request) error) actors.Policy {
	return actors.Policy{Message: f, Query: f, Subscribe: f}
}

// R44: no token in an address, a header of ours or a log, in a whole session at the most talkative level.
func TestR44TokensDoNotLeak(t *testing.T) {
	var log lockedBuffer
	logger := slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug}))
	rt := runtimetest.OpenConfig(t, runtime.Config{Types: []actors.AnyType{fixture.Carts, fixture.Stocks}, Policy: actors.InsecureAllowAll(), Logger: logger})
	live := newLive(t, rt.Runtime, func(c *web.Config) { c.Logger = logger })
	inner := shop(live)
	srv := serve(t, live, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprintln(&log, r.Method, r.RequestURI, r.Referer())
		inner.ServeHTTP(w, r)
		fmt.Fprintln(&log, w.Header())
	}))
	url := srv.URL + "/cart"
	text := fetch(t, url, ada)
	secret := scopeToken.FindStringSubmatch(text)[1]
	p := open(t, socketOf(srv, "/lockstep/socket"), srv.URL, text, ada)
	p.answer()
	p.send(map[string]any{"t": "sub", "n": 2, "s": "b", "token": secret + "x"})
	p.answer()
	p.send(map[string]any{"t": "nonsense", "token": secret})
	post(t, inner, "/cart/add", "sku=mug&qty=1&_ls_key=K", ada)
	post(t, inner, "/cart/add", "sku=mug&qty=1", with(ada, "Origin", "https://evil.example"))
	p.until(url, ada)
	w := post(t, inner, "/lockstep/refresh", `{"tokens":["`+secret+`"]}`, with(ada, "Content-Type", "application/json"))
	var fresh struct{ Token string }
	if err := json.Unmarshal([]byte(body(w)), &fresh); err != nil || fresh.Token == "" || !strings.Contains(w.Header().Get("Cache-Control"), "no-store") {
		t.Fatalf("refresh: %d %v %s", w.Code, w.Header(), body(w))
	}
	fmt.Fprintln(&log, w.Header())
	seen := log.String()
	if !strings.Contains(seen, "/lockstep/socket") || !strings.Contains(seen, "foreign origin") {
		t.Errorf("the log is not one of a whole session: %s", seen)
	}
	for _, token := range []string{secret, fresh.Token} {
		for i := 0; i+20 <= len(token); i += 10 {
			if strings.Contains(seen, token[i:i+20]) {
				t.Fatalf("part %q of a token is in the log or a header", token[i:i+20])
			}
		}
	}
}

type lockedBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *lockedBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *lockedBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

// C4: a viewer whom the policy refuses gets not one byte of state, by page, socket or refresh.
func TestRefusedViewerGetsNothing(t *testing.T) {
	rt := runtimetest.OpenConfig(t, runtime.Config{Types: []actors.AnyType{fixture.Carts, fixture.Stocks}, Policy: allow(func(ctx context.Context, r actors.Request) error {
		if r.Type == "cart" && r.Operation != "note" && fixture.ViewerOf(ctx).Name != "ada" {
			return actors.ErrUnauthorized
		}
		return nil
	})})
	live := newLive(t, rt.Runtime)
	h := shop(live)
	srv := serve(t, live, h)
	cart := fixture.Carts.Ref("shared")
	if _, err := fixture.Note.Ask(t.Context(), rt, cart, "SECRET"); err != nil {
		t.Fatal(err)
	}
	text := fetch(t, srv.URL+"/cart/shared", ada)
	bob := header{"X-User": "bob"}
	if w := get(t, h, "/cart/shared", bob); w.Code != 403 || strings.Contains(body(w), "SECRET") {
		t.Errorf("the page: %d %s", w.Code, body(w))
	}
	p := open(t, socketOf(srv, "/lockstep/socket"), srv.URL, text, bob) // with ada's token
	if f := p.answer(); f.Type != "no" || f.Reason != wire.Denied || len(f.Fragments) > 0 {
		t.Errorf("the socket: %+v", f)
	}
	w := post(t, h, "/lockstep/refresh", `{"tokens":["`+scopeToken.FindStringSubmatch(text)[1]+`"]}`, with(bob, "Content-Type", "application/json"))
	if w.Code != 403 || !strings.Contains(body(w), `"denied"`) {
		t.Errorf("the refresh: %d %s", w.Code, body(w))
	}
}
