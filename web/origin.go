package web

import (
	"mime"
	"net/http"

	"github.com/go-chi/chi/v5"

	"github.com/lockstep-go/lockstep/realtime/origin"
)

// ours says whether a POST comes from one of our pages. Browsers send Origin with every POST; only a JSON document
// without it is let through, since no other site's page can send one: it takes a preflight, which has an Origin. A
// browser's own word for the page's origin (Sec-Fetch-Site) counts before a comparison with Host, which a proxy may
// have rewritten. Forwarded headers never count.
func ours(listed origin.Set, r *http.Request) bool {
	site := r.Header.Get("Sec-Fetch-Site")
	sent := r.Header.Values("Origin")
	switch {
	case len(sent) == 0:
		return site == "" && isJSON(r)
	case len(sent) > 1:
		return false
	case site == "same-origin": // with "Origin: null" under a strict referrer policy
		return true
	}
	o, err := origin.Parse(sent[0])
	switch {
	case err != nil || o.Scheme == "":
		return false
	case listed.Has(o):
		return true
	}
	return (site == "" || site == "none") && o.Of(r.Host)
}

// isJSON says whether the request's body is a JSON document.
func isJSON(r *http.Request) bool { return mediaType(r) == "application/json" }

func mediaType(r *http.Request) string {
	typ, _, err := mime.ParseMediaType(r.Header.Get("Content-Type"))
	if err != nil {
		return ""
	}
	return typ
}

// routeOf is the request's route pattern, which holds no ids.
func routeOf(r *http.Request) string {
	if route := chi.RouteContext(r.Context()); route != nil {
		return route.RoutePattern()
	}
	return r.Pattern
}
