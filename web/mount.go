package web

import (
	"net/http"

	"github.com/go-chi/chi/v5"

	"github.com/lockstep-go/lockstep/static"
)

// Mount adds the routes of Handler below Config.BasePath. Middleware that limits the time of a request (chi's Timeout,
// http.TimeoutHandler) must not stand before it: it would end or refuse the socket and the stream.
func (l *Live) Mount(r chi.Router) { l.routes(r, l.cfg.BasePath) }

// Handler serves the socket, the stream that stands in for it, the browser client and the refresh of tokens at paths
// relative to where it is mounted. Mount it by hand where that is not Config.BasePath: in a router that is itself mounted
// below a path, or behind a proxy that strips one.
func (l *Live) Handler() http.Handler {
	r := chi.NewRouter()
	l.routes(r, "")
	return r
}

// routes adds what is served below a path.
func (l *Live) routes(r chi.Router, base string) {
	r.Get(base+"/socket", l.hub.ServeHTTP)
	r.Post(base+"/refresh", l.hub.RefreshHandler().ServeHTTP)
	r.Handle(base+"/stream", l.hub.StreamHandler())
	files := static.Handler()
	serve := func(w http.ResponseWriter, r *http.Request) {
		inner := r.Clone(r.Context())
		inner.URL.Path, inner.URL.RawPath = "/"+chi.URLParam(r, "*"), ""
		files.ServeHTTP(w, inner)
	}
	r.Get(base+"/static/*", serve)
	r.Head(base+"/static/*", serve)
}
