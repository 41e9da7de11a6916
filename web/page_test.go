package web_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"strconv"
	"strings"
	"testing"

	"github.com/a-h/templ"
	"github.com/go-chi/chi/v5"

	"github.com/lockstep-go/lockstep/actors"
	"github.com/lockstep-go/lockstep/realtime"
	"github.com/lockstep-go/lockstep/views"
	"github.com/lockstep-go/lockstep/views/testdata/fixture"
	"github.com/lockstep-go/lockstep/web"
)

func TestPageErrors(t *testing.T) {
	rt := newFake(fixture.Carts)
	rt.put(t, "cart", "newer", fixture.Cart{})
	rt.instances[actors.Address{Type: "cart", ID: "newer"}].state = []byte(`{}`)
	rt.refuse = func(_ context.Context, r actors.Request) error {
		if r.ID == "private" {
			return actors.ErrUnauthorized
		}
		return nil
	}
	var log bytes.Buffer
	live := newLive(t, rt, func(c *web.Config) { c.Logger = slog.New(slog.NewTextHandler(&log, nil)) })
	cart := func(id string) web.PageFunc {
		return func(*http.Request) (templ.Component, error) {
			return fixture.CartPage(fixture.Carts.Ref(id), "mug"), nil
		}
	}
	fails := func(err error) web.PageFunc {
		return func(*http.Request) (templ.Component, error) { return nil, err }
	}
	draws := func(f templ.ComponentFunc) web.PageFunc {
		return func(*http.Request) (templ.Component, error) {
			return templ.Join(templ.Raw("<p>half a page</p>"), f), nil
		}
	}
	var large []string
	for i := range 1001 {
		large = append(large, strconv.Itoa(i))
	}
	for _, tc := range []struct {
		name   string
		page   web.PageFunc
		status int
		text   string
	}{
		{"fine", cart("a"), 200, "In your cart"},
		{"not allowed", cart("private"), 403, "not allowed"},
		{"no such id", cart("a\nb"), 404, "nothing here"},
		{"too large", func(*http.Request) (templ.Component, error) {
			return fixture.CartPage(fixture.Carts.Ref("a"), large...), nil
		}, 500, "on our side"},
		{"sign in", fails(web.Fail(401, "sign_in", "Please sign in.")), 401, "Please sign in."},
		{"not found", fails(fmt.Errorf("look up: %w", web.Fail(404, "no_cart", ""))), 404, "Not Found"},
		{"rejected", fails(actors.Reject("closed", "It is <closed>.")), 422, "It is &lt;closed&gt;."},
		{"busy", fails(&actors.MailboxFull{}), 503, "try again"},
		{"newer", fails(&actors.StateTooNew{Type: "cart", Stored: 2, Known: 1}), 503, "updating"},
		{"fails", fails(errors.New("secret")), 500, "on our side"},
		{"half a page", draws(func(context.Context, io.Writer) error { return errors.New("secret") }), 500, "on our side"},
		{"panics", draws(func(context.Context, io.Writer) error { panic("secret") }), 500, "on our side"},
		{"nothing", func(*http.Request) (templ.Component, error) { return nil, nil }, 500, "on our side"},
		{"a status that is none", fails(&web.Error{Status: 42, Code: "odd", Text: "Odd."}), 500, "Odd."},
	} {
		log.Reset()
		w := get(t, live.Page(tc.page), "/", nil)
		text := body(w)
		if w.Code != tc.status || !strings.Contains(text, tc.text) || strings.Contains(text, "secret") || strings.Contains(text, "half a page") {
			t.Errorf("%s: %d %s, want %d and %q", tc.name, w.Code, text, tc.status, tc.text)
		}
		if retry := w.Header().Get("Retry-After"); (retry != "") != (tc.status == 503) {
			t.Errorf("%s: Retry-After %q", tc.name, retry)
		}
		if logged := log.Len() > 0; logged != (tc.status >= 500) {
			t.Errorf("%s: logged %q", tc.name, log.String())
		}
	}
}

// A handler that gives up on its connection may do so in a page.
func TestPageMayAbort(t *testing.T) {
	defer func() {
		if p := recover(); p != http.ErrAbortHandler {
			t.Errorf("recovered %v, want http.ErrAbortHandler", p)
		}
	}()
	live := newLive(t, newFake(fixture.Carts))
	get(t, live.Page(func(*http.Request) (templ.Component, error) { panic(http.ErrAbortHandler) }), "/", nil)
}

func TestHead(t *testing.T) {
	_, h := real(t)
	g := get(t, h, "/cart", ada)
	r := do(t, h, newRequest(http.MethodHead, "/cart"), ada)
	if r.Code != 200 || body(r) != "" || r.Header().Get("Content-Length") != strconv.Itoa(len(body(g))) || r.Header().Get("Content-Type") != g.Header().Get("Content-Type") {
		t.Errorf("HEAD: %d %v %q, GET has %d bytes", r.Code, r.Header(), body(r), len(body(g)))
	}
}

// R44: a response that holds a token is kept out of caches.
func TestR44CacheControl(t *testing.T) {
	rt := newFake(fixture.Carts)
	var log bytes.Buffer
	live := newLive(t, rt, func(c *web.Config) { c.Logger = slog.New(slog.NewTextHandler(&log, nil)) })
	static := func(*http.Request) (templ.Component, error) { return templ.Raw("<p>no object</p>"), nil }
	for _, tc := range []struct {
		name   string
		page   web.PageFunc
		set    string
		want   string
		logged bool
	}{
		{"with a token", cartPage, "", "private, no-store", false},
		{"with a token, public", cartPage, "public, max-age=60", "private, no-store", true},
		{"with a token, private", cartPage, "private", "private, no-store", false},
		{"with a token, stricter", cartPage, "no-store, no-transform", "no-store, no-transform", false},
		{"without a token", static, "", "", false},
		{"without a token, public", static, "public, max-age=60", "public, max-age=60", false},
	} {
		component, err := tc.page(newRequest("GET", "/"))
		if err != nil {
			t.Fatal(err)
		}
		for kind, h := range map[string]http.Handler{
			"Page":          live.Page(tc.page),
			"templ.Handler": live.Middleware(templ.Handler(component)),
			"both":          live.Middleware(live.Page(tc.page)),
		} {
			log.Reset()
			w := get(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if tc.set != "" {
					w.Header().Set("Cache-Control", tc.set)
				}
				h.ServeHTTP(w, r)
			}), "/", nil)
			if got := w.Result().Header.Get("Cache-Control"); w.Code != 200 || got != tc.want || (log.Len() > 0) != tc.logged {
				t.Errorf("%s by %s: %d, Cache-Control %q, want %q; logged %q", tc.name, kind, w.Code, got, tc.want, log.String())
			}
		}
	}
	stream := func(set string) error {
		var err error
		get(t, live.Middleware(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if set != "" {
				w.Header().Set("Cache-Control", set)
			}
			io.WriteString(w, "<h1>begun</h1>")
			err = views.Object(fixture.Carts.Ref("a")).Render(r.Context(), w)
		})), "/", nil)
		return err
	}
	if err := stream(""); err == nil || !strings.Contains(err.Error(), "the response has begun") {
		t.Errorf("a token in a response that caches may keep: %v", err)
	}
	if err := stream("private, no-store"); err != nil {
		t.Errorf("a stream that says no-store: %v", err)
	}
}

// R64: one public base path, wherever the routes are mounted and whatever the page's own path is.
func TestR64BasePath(t *testing.T) {
	rt := newFake(fixture.Carts)
	for _, tc := range []struct {
		name, base string
		mount      func(live *web.Live, r chi.Router)
		inside     string // where this server sees the client's files
	}{
		{"default", "", func(l *web.Live, r chi.Router) { l.Mount(r) }, "/lockstep"},
		{"own", "/live/", func(l *web.Live, r chi.Router) { l.Mount(r) }, "/live"},
		{"below a path", "/app/live", func(l *web.Live, r chi.Router) {
			r.Route("/app", func(r chi.Router) { r.Mount("/live", l.Handler()) })
		}, "/app/live"},
		{"behind a proxy that strips", "/team/lockstep", func(l *web.Live, r chi.Router) { r.Mount("/lockstep", l.Handler()) }, "/lockstep"},
	} {
		live := newLive(t, rt, func(c *web.Config) { c.BasePath = tc.base })
		r := chi.NewRouter()
		r.Use(live.Middleware)
		tc.mount(live, r)
		r.Get("/cart", live.Page(cartPage))
		r.Get("/deep/er/cart/", live.Page(cartPage))
		public := strings.TrimRight(tc.base, "/")
		if public == "" {
			public = "/lockstep"
		}
		for _, page := range []string{"/cart", "/deep/er/cart/"} {
			text := body(get(t, r, page, nil))
			_, src, ok := strings.Cut(text, `<script type="module" src="`+public+`/static/`)
			if !ok {
				t.Fatalf("%s: the page at %s has no script below %s: %s", tc.name, page, public, text)
			}
			file, _, _ := strings.Cut(src, `"`)
			w := get(t, r, tc.inside+"/static/"+file, nil)
			if w.Code != 200 || !strings.HasPrefix(w.Header().Get("Content-Type"), "text/javascript") || !strings.Contains(w.Header().Get("Cache-Control"), "immutable") {
				t.Errorf("%s: the script is answered %d %v", tc.name, w.Code, w.Header())
			}
			if w := do(t, r, newRequest("HEAD", tc.inside+"/static/"+file), nil); w.Code != 200 || body(w) != "" {
				t.Errorf("%s: HEAD of the script: %d", tc.name, w.Code)
			}
		}
		if w := get(t, r, tc.inside+"/socket", nil); w.Code == 404 {
			t.Errorf("%s: no socket", tc.name)
		}
		if w := post(t, r, tc.inside+"/refresh", `{"tokens":[]}`, header{"Content-Type": "application/json"}); w.Code == 404 {
			t.Errorf("%s: no refresh", tc.name)
		}
		for _, wrong := range []string{"/wrong/socket", tc.inside + "/static/x/none.js", tc.inside + "/static/../page.go", tc.inside + "/other"} {
			if w := get(t, r, wrong, nil); w.Code != 404 {
				t.Errorf("%s: %s is answered %d, want 404", tc.name, wrong, w.Code)
			}
		}
	}
}

func TestNewReportsAllMistakes(t *testing.T) {
	rt := newFake(fixture.Carts)
	_, err := web.New(rt, web.Config{BasePath: "lockstep", Origins: []string{"*"}, MaxScopes: -1})
	for _, want := range []string{"no signing key", "BasePath", "Origins"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("the report lacks %q: %v", want, err)
		}
	}
	for name, cfg := range map[string]web.Config{
		"a short key":        {Keys: [][]byte{[]byte("short")}},
		"an old, short key":  {Keys: [][]byte{testKeys[0], []byte("short")}},
		"a negative limit":   {Keys: testKeys, MaxScopes: -1},
		"a negative age":     {Keys: testKeys, TokenAge: -1},
		"a negative size":    {Keys: testKeys, MaxBody: -1},
		"a nil middleware":   {Keys: testKeys, Subscribe: []realtime.Middleware{nil}},
		"a path with params": {Keys: testKeys, BasePath: "/{x}"},
		"the root":           {Keys: testKeys, BasePath: "/"},
		"another host":       {Keys: testKeys, BasePath: "//evil.example/x"},
	} {
		if _, err := web.New(rt, cfg); err == nil {
			t.Errorf("%s is taken", name)
		}
	}
	if _, err := web.New(nil, web.Config{Keys: testKeys}); err == nil {
		t.Error("no runtime is taken")
	}
	if _, err := web.New(rt, web.Config{Keys: testKeys}); err != nil {
		t.Errorf("the least configuration: %v", err)
	}
}
