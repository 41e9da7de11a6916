package firefoxtest_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"strings"
	"testing"

	"github.com/lockstep-go/lockstep/static/firefoxtest"
)

func TestMain(m *testing.M) { os.Exit(firefoxtest.Main(m.Run)) }

const home = `<!doctype html><title>home</title>
<p id=who></p><input id=name><button id=go style="margin-top: 3000px">Go</button><p id=out>-</p>
<script>
document.querySelector("#who").textContent = document.cookie
document.querySelector("#go").addEventListener("click", e =>
	setTimeout(() => document.querySelector("#out").textContent = document.querySelector("#name").value + e.isTrusted, 30))
</script>`

func serve(t *testing.T) string {
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		if user := r.URL.Query().Get("user"); user != "" {
			http.SetCookie(w, &http.Cookie{Name: "user", Value: user})
		}
		fmt.Fprint(w, home)
	}))
	t.Cleanup(srv.Close)
	return srv.URL
}

func TestVisitorsHaveTheirOwnCookies(t *testing.T) {
	b, home := firefoxtest.Open(t), serve(t)
	host, err := url.Parse(home)
	if err != nil {
		t.Fatal(err)
	}
	alice, bob := b.Visitor(t), b.Visitor(t)
	alice.Goto(home + "?user=alice")
	bob.SetCookie(host.Hostname(), "user", "bob")
	for _, visit := range []struct {
		page *firefoxtest.Page
		want string
	}{{alice, "user=alice"}, {bob, "user=bob"}, {alice.Tab(), "user=alice"}} {
		visit.page.Goto(home)
		if got := visit.page.Text("#who"); got != visit.want {
			t.Errorf("cookies = %q, want %q", got, visit.want)
		}
		if visit.page.Bool("document.hidden") {
			t.Error("a window is hidden behind another")
		}
	}
}

// One window, since opening one is most of the work: what people do in it, what scripts say, and its history.
func TestPage(t *testing.T) {
	p, url := firefoxtest.Open(t).Visitor(t), serve(t)
	p.BeforeEveryPage(`window.early = document.readyState`)
	p.Goto(url)
	if got := p.String("early"); got != "loading" {
		t.Errorf("the script ran when the page was %s", got)
	}
	p.Type("#name", "Ada ")
	p.Type("#name", "L")
	p.Keys("\b")
	p.Press("#go")
	p.Release("#go")
	p.WaitText("#out", "Ada true")
	p.Type("#name", "B")
	p.Click("#go")
	p.WaitText("#out", "Ada Btrue")
	p.Quiet()

	var got struct {
		N    []float64
		Deep struct{ S *string }
		Fn   any
	}
	p.Eval(`Promise.resolve({n: [1, -0.5, 2 ** 40], deep: {s: "é\u2028"}, fn() {}})`, &got)
	if fmt.Sprint(got.N) != "[1 -0.5 1.099511627776e+12]" || *got.Deep.S != "é\u2028" || got.Fn != nil {
		t.Errorf("values come as %+v", got)
	}

	p.Eval(`window.here = true`, nil)
	p.Reload()
	if p.Bool("window.here") {
		t.Error("the page was not loaded again")
	}
	p.Goto(url + "?second")
	p.Back()
	p.WaitFor(`location.search === ""`)
	p.Eval(`console.error("said", 1); console.log("more"); void setTimeout(() => { throw new Error("thrown") })`, nil)
	p.Eval(`new Promise(r => setTimeout(r, 20))`, nil)
	var kinds []string
	for _, r := range p.Reports() {
		kinds = append(kinds, string(r.Kind))
	}
	if got := strings.Join(kinds, " "); got != "console exception" {
		t.Errorf("reports = %s: %v", got, p.Reports())
	}
}
