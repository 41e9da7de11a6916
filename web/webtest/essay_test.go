package webtest_test

import (
	"context"
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/a-h/templ"
	"github.com/go-chi/chi/v5"

	"github.com/lockstep-go/lockstep/actors"
	"github.com/lockstep-go/lockstep/runtime"
	"github.com/lockstep-go/lockstep/runtime/runtimetest"
	"github.com/lockstep-go/lockstep/views"
	"github.com/lockstep-go/lockstep/web"
	"github.com/lockstep-go/lockstep/web/webtest"
)

type essay struct {
	Text string `json:"text"`
}

var (
	essays  = actors.Define("essay", func() essay { return essay{} })
	rewrite = actors.Message[string, actors.None](essays, "rewrite")
	prose   = actors.Shared(essays, "prose", func(e essay) string { return e.Text })
)

func init() {
	rewrite.Handle(func(e *essay, _ *actors.Turn[essay], text string) (actors.None, error) {
		e.Text = text
		return actors.None{}, nil
	})
}

// R33: a shared value grows from 7 KB to 200 KB, under a long id: every commit succeeds and arrives.
func TestR33LargeSharedValues(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		rt := runtimetest.Open(t, essays)
		ref := essays.Ref(strings.Repeat("i", 190))
		page := essaySite(t, rt, ref).Visitor().Get("/essay")
		for size := 7 << 10; size <= 200<<10; size += size/2 + 1 {
			text := strings.Repeat("prose ", size/6) + "."
			if _, err := rewrite.Ask(t.Context(), rt, ref, text); err != nil {
				t.Fatalf("%d bytes: %v", size, err)
			}
			page.WaitText("p", text)
		}
		page.Equal()
	})
}

// C4: a viewer whose right was withdrawn keeps what the page shows already, marked, and nothing more comes.
func TestC4_WithdrawnPageKeepsWhatItShows(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var withdrawn atomic.Bool
		policy := actors.InsecureAllowAll()
		policy.Subscribe = func(context.Context, actors.Request) error {
			if withdrawn.Load() {
				return actors.ErrUnauthorized
			}
			return nil
		}
		rt := runtimetest.OpenConfig(t, runtime.Config{Types: []actors.AnyType{essays}, Policy: policy})
		ref := essays.Ref("diary")
		page := essaySite(t, rt, ref).Visitor().Get("/essay")
		say := func(text string) {
			if _, err := rewrite.Ask(t.Context(), rt, ref, text); err != nil {
				t.Fatal(err)
			}
		}
		say("allowed")
		page.WaitText("p", "allowed")
		withdrawn.Store(true)
		time.Sleep(31 * time.Second) // the re-check
		page.Wait(`lockstep-scope[status="denied"]`)
		say("secret")
		time.Sleep(5 * time.Minute)
		if text := page.Text("p"); text != "allowed" {
			t.Errorf("the page shows %q, want what it showed before", text)
		}
	})
}

// essaySite serves an essay.
func essaySite(t *testing.T, rt web.Runtime, ref actors.Ref[essay]) *webtest.Site {
	live, err := web.New(rt, web.Config{Keys: [][]byte{[]byte("32 random bytes of your own, here")}})
	if err != nil {
		t.Fatal(err)
	}
	r := chi.NewRouter()
	r.Use(live.Middleware)
	live.Mount(r)
	r.Get("/essay", live.Page(func(*http.Request) (templ.Component, error) {
		return templ.ComponentFunc(func(ctx context.Context, w io.Writer) error {
			io.WriteString(w, "<!doctype html><html><head>")
			if err := views.Script().Render(ctx, w); err != nil {
				return err
			}
			io.WriteString(w, "</head><body>")
			inside := templ.ComponentFunc(func(ctx context.Context, w io.Writer) error {
				io.WriteString(w, "<p>")
				defer io.WriteString(w, "</p>")
				return views.Value(prose).Render(ctx, w)
			})
			if err := views.Object(ref).Render(templ.WithChildren(ctx, inside), w); err != nil {
				return err
			}
			_, err := io.WriteString(w, "</body></html>")
			return err
		}), nil
	}))
	return webtest.Serve(t, live, r)
}
