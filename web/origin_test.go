package web

import (
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/lockstep-go/lockstep/realtime/origin"
)

// R38: who counts as one of our pages, in any spelling of the public origin.
func TestR38Origins(t *testing.T) {
	for _, tc := range []struct {
		name                    string
		host, origin, site, typ string
		listed                  []string
		ours                    bool
	}{
		{name: "own host", host: "shop.example", origin: "https://shop.example", ours: true},
		{name: "own host with a port", host: "localhost:8080", origin: "http://localhost:8080", ours: true},
		{name: "own host, default port spelled out", host: "shop.example:443", origin: "https://shop.example", ours: true},
		{name: "upper case", host: "Shop.Example", origin: "https://SHOP.example", ours: true},
		{name: "another site", host: "shop.example", origin: "https://evil.example"},
		{name: "another site that ends alike", host: "shop.example", origin: "https://evilshop.example"},
		{name: "another port", host: "shop.example", origin: "https://shop.example:8443"},
		{name: "no origin", host: "shop.example"},
		{name: "no origin, though same site", host: "shop.example", site: "same-origin"},
		{name: "null", host: "shop.example", origin: "null"},
		{name: "null under a strict referrer policy", host: "shop.example", origin: "null", site: "same-origin", ours: true},
		{name: "null from another site", host: "shop.example", origin: "null", site: "cross-site"},
		{name: "garbage", host: "shop.example", origin: "shop.example"},
		{name: "the browser says otherwise", host: "shop.example", origin: "https://shop.example", site: "cross-site"},
		{name: "a subdomain", host: "shop.example", origin: "https://user.shop.example", site: "same-site"},
		{name: "Host rewritten, the browser vouches", host: "10.0.0.1:8080", origin: "https://shop.example", site: "same-origin", ours: true},
		{name: "Host rewritten", host: "10.0.0.1:8080", origin: "https://shop.example"},
		{name: "Host rewritten, listed", host: "10.0.0.1", origin: "https://shop.example", listed: []string{"https://shop.example"}, ours: true},
		{name: "listed with a slash", host: "up", origin: "https://shop.example", listed: []string{"https://shop.example/"}, ours: true},
		{name: "listed in upper case", host: "up", origin: "https://shop.example", listed: []string{"HTTPS://Shop.Example"}, ours: true},
		{name: "listed with its port", host: "up", origin: "https://shop.example", listed: []string{"https://shop.example:443"}, ours: true},
		{name: "listed as a host", host: "up", origin: "http://shop.example", listed: []string{"shop.example"}, ours: true},
		{name: "listed with another scheme", host: "up", origin: "http://shop.example", listed: []string{"https://shop.example"}},
		{name: "another one listed", host: "up", origin: "https://evil.example", listed: []string{"https://shop.example"}},
		{name: "listed site", host: "up", origin: "https://shop.example", site: "cross-site", listed: []string{"https://shop.example"}, ours: true},
		{name: "a program's document", host: "shop.example", typ: "application/json; charset=utf-8", ours: true},
		{name: "a document of another site", host: "shop.example", typ: "application/json", origin: "https://evil.example"},
		{name: "a document from a browser without origin", host: "shop.example", typ: "application/json", site: "cross-site"},
		{name: "a form that claims to be text", host: "shop.example", typ: "text/plain"},
	} {
		set, err := origin.ParseSet("Origins", tc.listed)
		if err != nil {
			t.Fatalf("%s: %v", tc.name, err)
		}
		r := httptest.NewRequest(http.MethodPost, "/x", nil)
		r.Host = tc.host
		r.Header.Set("X-Forwarded-Host", "evil.example")
		for k, v := range map[string]string{"Origin": tc.origin, "Sec-Fetch-Site": tc.site, "Content-Type": tc.typ} {
			if v != "" {
				r.Header.Set(k, v)
			}
		}
		if got := ours(set, r); got != tc.ours {
			t.Errorf("%s: ours = %v, want %v", tc.name, got, tc.ours)
		}
		if tc.origin != "" {
			r.Header.Add("Origin", tc.origin)
			if ours(set, r) {
				t.Errorf("%s: two Origin headers are taken", tc.name)
			}
		}
	}
	for _, bad := range []string{"", "https://", "*", "https://*.example", "https://shop.example/path", "ftp://shop.example", "https://u@shop.example"} {
		if _, err := origin.ParseSet("Origins", []string{bad}); err == nil {
			t.Errorf("Origins takes %q", bad)
		}
	}
}
