package webtest_test

import (
	"net/http"
	"net/url"
	"testing"
	"testing/synctest"

	"github.com/a-h/templ"
	"github.com/go-chi/chi/v5"

	"github.com/lockstep-go/lockstep/actors"
	"github.com/lockstep-go/lockstep/runtime/runtimetest"
	"github.com/lockstep-go/lockstep/web"
	"github.com/lockstep-go/lockstep/web/webtest"
	"github.com/lockstep-go/lockstep/web/webtest/testdata/counter"
)

// A user tests a live page in ten lines, without a browser.
func TestCounter(t *testing.T) {
	synctest.Test(t, func(t *testing.T) { // waiting takes no time in here
		rt := runtimetest.Open(t, counter.Counters)
		live, routes := counterSite(t, rt)
		site := webtest.Serve(t, live, routes)
		ada, bob := site.Visitor().Get("/counter/visits"), site.Visitor().Get("/counter/visits")
		ada.Submit("form.count", url.Values{"by": {"2"}})
		ada.WaitText("output", "2")
		bob.WaitText("output", "2")
		bob.Equal() // what it shows is what a fresh GET shows
	})
}

// counterSite is the program's own wiring.
func counterSite(t *testing.T, rt web.Runtime) (*web.Live, http.Handler) {
	live, err := web.New(rt, web.Config{Keys: [][]byte{[]byte("32 random bytes of your own, here")}})
	if err != nil {
		t.Fatal(err)
	}
	ref := func(r *http.Request) (actors.Ref[counter.Counter], error) {
		return counter.Counters.Ref(chi.URLParam(r, "id")), nil
	}
	page := func(r *http.Request) (templ.Component, error) {
		return counter.Page(counter.Counters.Ref(chi.URLParam(r, "id"))), nil
	}
	r := chi.NewRouter()
	r.Use(live.Middleware)
	live.Mount(r)
	r.Get("/counter/{id}", live.Page(page))
	r.Post("/counter/{id}", web.Action(live, counter.Count, ref, web.Answer{
		NextFor: func(r *http.Request, _ any) string { return r.URL.Path }, Next: "/", Again: page,
	}))
	return live, r
}
