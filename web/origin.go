package web

import (
	"errors"
	"fmt"
	"mime"
	"net/http"
	"net/url"
	"strings"

	"github.com/go-chi/chi/v5"
)

// origins are the public origins besides a request's own Host, as "scheme://host" or, for either scheme, "host".
type origins map[string]bool

// parseOrigins takes any usual spelling: a trailing slash, upper case, an explicit default port, no scheme.
func parseOrigins(list []string) (origins, error) {
	set := origins{}
	var wrong []error
	for _, text := range list {
		o := normalOrigin(text)
		if o == "" || strings.Contains(o, "*") {
			wrong = append(wrong, fmt.Errorf("Config.Origins: %q is no origin, write it like https://shop.example", text))
			continue
		}
		set[o] = true
	}
	return set, errors.Join(wrong...)
}

// normalOrigin is an origin in lower case without its scheme's default port; "" if it is none.
func normalOrigin(text string) string {
	text = strings.ToLower(strings.TrimSpace(text))
	scheme, _, found := strings.Cut(text, "://")
	if !found {
		scheme, text = "", "//"+text
	}
	u, err := url.Parse(text)
	if err != nil || u.Host == "" || u.User != nil || u.RawQuery != "" || u.Fragment != "" || strings.Trim(u.Path, "/") != "" {
		return ""
	}
	switch scheme {
	case "http":
		return "http://" + strings.TrimSuffix(u.Host, ":80")
	case "https":
		return "https://" + strings.TrimSuffix(u.Host, ":443")
	case "":
		return strings.TrimSuffix(strings.TrimSuffix(u.Host, ":443"), ":80")
	}
	return ""
}

// ours says whether a POST comes from one of our pages. Browsers send Origin with every POST; only a JSON document
// without it is let through, since no other site's page can send one: it takes a preflight, which has an Origin. A
// browser's own word for the page's origin (Sec-Fetch-Site) counts before a comparison with Host, which a proxy may
// have rewritten. Forwarded headers never count.
func (o origins) ours(r *http.Request) bool {
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
	origin := normalOrigin(sent[0])
	_, host, ok := strings.Cut(origin, "://")
	if !ok {
		return false
	}
	if o[origin] || o[host] {
		return true
	}
	if site != "" && site != "none" {
		return false
	}
	own := strings.ToLower(r.Host)
	if strings.HasPrefix(origin, "https:") {
		return host == strings.TrimSuffix(own, ":443")
	}
	return host == strings.TrimSuffix(own, ":80")
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
