package static_test

import (
	"net/http"
	"net/http/httptest"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/lockstep-go/lockstep/static"
)

func TestHandler(t *testing.T) {
	if !regexp.MustCompile(`^[0-9a-f]{16}$`).MatchString(static.Digest()) {
		t.Errorf("digest %q", static.Digest())
	}
	for _, c := range []struct {
		path         string
		status       int
		cache, types string
	}{
		{"/" + static.Digest() + "/lockstep.js", 200, "public, max-age=31536000, immutable", "text/javascript; charset=utf-8"},
		{"/" + static.Digest() + "/lockstep.css", 200, "public, max-age=31536000, immutable", "text/css; charset=utf-8"},
		{"/0123456789abcdef/lockstep.js", 200, "no-cache", "text/javascript; charset=utf-8"},
		{"/" + static.Digest() + "/static.go", 404, "", "text/plain; charset=utf-8"},
		{"/" + static.Digest() + "/", 404, "", "text/plain; charset=utf-8"},
		{"/" + static.Digest() + "/../lockstep.js", 404, "", "text/plain; charset=utf-8"},
		{"/lockstep.js", 404, "", "text/plain; charset=utf-8"},
		{"//lockstep.js", 404, "", "text/plain; charset=utf-8"},
		{"/", 404, "", "text/plain; charset=utf-8"},
	} {
		w := httptest.NewRecorder()
		r := httptest.NewRequest(http.MethodGet, "/", nil)
		r.URL.Path = c.path
		static.Handler().ServeHTTP(w, r)
		if h := w.Header(); w.Code != c.status || h.Get("Cache-Control") != c.cache || h.Get("Content-Type") != c.types {
			t.Errorf("%s: %d, %q, %q", c.path, w.Code, h.Get("Cache-Control"), h.Get("Content-Type"))
		}
	}
}

func TestModulesNeedNothingThatAStrictPolicyRefuses(t *testing.T) {
	entries, err := os.ReadDir(".")
	if err != nil {
		t.Fatal(err)
	}
	refused := regexp.MustCompile(`\beval\(|new Function|document\.write|\.outerHTML\s*=[^=]|setAttribute\("style"|javascript:`)
	for _, e := range entries {
		if !strings.HasSuffix(e.Name(), ".js") {
			continue
		}
		body, err := os.ReadFile(e.Name())
		if err != nil {
			t.Fatal(err)
		}
		if found := refused.FindString(string(body)); found != "" {
			t.Errorf("%s: %s", e.Name(), found)
		}
	}
}
