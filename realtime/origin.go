package realtime

import (
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
)

// origins is a set of public origins, normalized: "https://shop.example", or "shop.example" for either scheme.
type origins map[string]bool

// parseOrigins takes any usual spelling of an origin: a trailing slash, upper case, an explicit default port, no
// scheme.
func parseOrigins(list []string) (origins, error) {
	set := origins{}
	var wrong []error
	for _, text := range list {
		scheme, host, err := splitOrigin(text)
		if err != nil {
			wrong = append(wrong, fmt.Errorf("realtime: Config.Origins: %w", err))
			continue
		}
		set[scheme+host] = true
	}
	return set, errors.Join(wrong...)
}

// splitOrigin returns the scheme with "://" (or "") and the host without its scheme's default port, in lower case.
func splitOrigin(text string) (scheme, host string, err error) {
	text = strings.ToLower(strings.TrimSpace(text))
	bare := !strings.Contains(text, "://")
	if bare {
		text = "//" + text
	}
	u, err := url.Parse(text)
	switch {
	case err != nil || u.Host == "" || u.User != nil || u.RawQuery != "" || u.Fragment != "" || strings.Trim(u.Path, "/") != "":
		return "", "", fmt.Errorf("%q is no origin: write it like https://shop.example", text)
	case strings.Contains(u.Host, "*"):
		return "", "", fmt.Errorf("%q: list each origin, there are no patterns", text)
	case bare:
		return "", strings.TrimSuffix(strings.TrimSuffix(u.Host, ":443"), ":80"), nil
	case u.Scheme != "http" && u.Scheme != "https":
		return "", "", fmt.Errorf("%q: an origin's scheme is http or https", text)
	}
	return u.Scheme + "://", withoutPort(u.Host, u.Scheme), nil
}

func withoutPort(host, scheme string) string {
	if scheme == "https" {
		return strings.TrimSuffix(host, ":443")
	}
	return strings.TrimSuffix(host, ":80")
}

// admits says whether the request comes from a page of ours: its one Origin is that of the request's own Host, or is
// listed. A missing Origin is no page of a browser's, and is not admitted.
func (o origins) admits(r *http.Request) bool {
	sent := r.Header.Values("Origin")
	if len(sent) != 1 || !strings.Contains(sent[0], "://") {
		return false
	}
	scheme, host, err := splitOrigin(sent[0])
	if err != nil {
		return false
	}
	own := withoutPort(strings.ToLower(r.Host), strings.TrimSuffix(scheme, "://"))
	return host == own || o[scheme+host] || o[host]
}

// admit answers a foreign request with 403 and tells the operator which setting would let it in.
func (h *Hub) admit(w http.ResponseWriter, r *http.Request) bool {
	if h.origins.admits(r) {
		return true
	}
	h.log.Warn("refused a request from a foreign origin", "origin", clip(r.Header.Get("Origin")), "host", clip(r.Host),
		"setting", "Origins of the hub's configuration")
	http.Error(w, "this origin is not allowed here", http.StatusForbidden)
	return false
}

// clip bounds what a stranger can write into the log.
func clip(s string) string {
	if len(s) > 200 {
		return s[:200] + "…"
	}
	return s
}
