package webtest_test

import (
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/lockstep-go/lockstep/runtime/runtimetest"
	"github.com/lockstep-go/lockstep/web/webtest"
	"github.com/lockstep-go/lockstep/web/webtest/testdata/counter"
)

// What a page without a browser says is what the browser client says.
func TestTextsAreTheClients(t *testing.T) {
	client, err := os.ReadFile("../../static/forms.js")
	if err != nil {
		t.Fatal(err)
	}
	for _, text := range webtest.Said {
		if !strings.Contains(string(client), fmt.Sprintf("%q", text)) {
			t.Errorf("static/forms.js does not say %q", text)
		}
	}
}

// Answers that are no form's are told beside it as the browser client tells them.
func TestAnswersBesideAForm(t *testing.T) {
	long := strings.Repeat("0123456789", 60)
	for name, c := range map[string]struct {
		status     int
		kind, body string
		says       string
	}{
		"text":              {403, "text/plain", "  Not\n you. ", "Not you."},
		"a long text":       {403, "text/plain", long, long[:500]},
		"nothing":           {403, "text/plain", "", "Forbidden"},
		"a page":            {403, "text/html", "<title>x</title><body><h1>No</h1> <p>way</p>", "No way"},
		"a page's outcome":  {500, "text/html", "<body><h1>No</h1><p data-ls-outcome>Sold out.</p>", "Sold out."},
		"no such form":      {422, "text/html", "<body><p>Other page</p>", "Other page"},
		"a taken one":       {200, "application/json", "{}", webtest.Said[1]},
		"an empty 200":      {200, "text/plain", "", webtest.Said[1]},
		"what is no answer": {503, "text/plain", "down", webtest.Said[0]},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				live, routes := counterSite(t, runtimetest.Open(t, counter.Counters))
				site := webtest.Serve(t, live, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
					if r.Method != http.MethodPost {
						routes.ServeHTTP(w, r)
						return
					}
					w.Header().Set("Content-Type", c.kind)
					w.WriteHeader(c.status)
					io.WriteString(w, c.body)
				}))
				p := site.Visitor().Get("/counter/visits")
				p.Submit("form.count", url.Values{"by": {"1"}})
				if got := p.Text("form.count [role=alert]"); got != c.says {
					t.Errorf("the form says %q, want %q", got, c.says)
				}
			})
		})
	}
}

// failing takes the failure of a test.
type failing struct {
	testing.TB
	said string
}

func (f *failing) Helper() {}
func (f *failing) Fatalf(format string, args ...any) {
	f.said = fmt.Sprintf(format, args...)
	panic(f)
}

// A field for a file is sent as one that is empty, and a file for it is a mistake that is named.
func TestFilesAreNamedAsAMistake(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		live, _ := counterSite(t, runtimetest.Open(t, counter.Counters))
		var sent []string
		site := webtest.Serve(t, live, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.Method == http.MethodPost {
				if err := r.ParseMultipartForm(1 << 20); err != nil {
					t.Error(err)
				}
				sent = append(sent, r.Form.Encode())
			}
			io.WriteString(w, `<form method="post" enctype="multipart/form-data"><input name="a" value="b"><input type="file" name="photo"></form>`)
		}))
		p := site.Visitor().Get("/")
		p.Submit("form", nil)
		p.Submit("form", url.Values{"photo": nil})
		if want := []string{"a=b&photo=", "a=b"}; strings.Join(sent, " ") != strings.Join(want, " ") {
			t.Errorf("sent %q, want %q", sent, want)
		}
		f := &failing{TB: t}
		func() {
			defer func() {
				if r := recover(); r != nil && r != any(f) {
					panic(r)
				}
			}()
			webtest.Report(p, f).Submit("form", url.Values{"photo": {"x.png"}})
		}()
		if !strings.Contains(f.said, `"photo"`) || !strings.Contains(f.said, "web.Action") {
			t.Errorf("a file was refused with %q", f.said)
		}
	})
}
