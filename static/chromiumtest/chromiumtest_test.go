package chromiumtest_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/lockstep-go/lockstep/static/chromiumtest"
)

func TestMain(m *testing.M) { os.Exit(chromiumtest.Main(m)) }

const home = `<!doctype html><title>home</title>
<style>body { background: white } @media (prefers-color-scheme: dark) { body { background: black } }</style>
<p id=who></p><input id=name><button id=go>Go</button><p id=out>-</p><noscript><p id=off>plain</p></noscript>
<script>
document.querySelector("#who").textContent = document.cookie
document.querySelector("#go").addEventListener("click", e =>
	setTimeout(() => document.querySelector("#out").textContent = document.querySelector("#name").value + e.isTrusted, 30))
</script>`

func serve(t *testing.T) string {
	mux := http.NewServeMux()
	mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		if user := r.URL.Query().Get("user"); user != "" {
			http.SetCookie(w, &http.Cookie{Name: "user", Value: user})
		}
		fmt.Fprint(w, home)
	})
	mux.HandleFunc("/bad", func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		w.Header().Set("Content-Security-Policy", "default-src 'self'")
		fmt.Fprint(w, `<!doctype html><title>bad</title><script>document.title = "ran"</script><p>text`)
	})
	srv := httptest.NewServer(mux)
	t.Cleanup(srv.Close)
	return srv.URL
}

func TestVisitorsHaveTheirOwnCookies(t *testing.T) {
	b, url := chromiumtest.Open(t), serve(t)
	alice, bob := b.Visitor(t), b.Visitor(t)
	alice.Goto(url + "?user=alice")
	bob.Goto(url + "?user=bob")
	for _, visit := range []struct {
		page *chromiumtest.Page
		want string
	}{{alice, "user=alice"}, {bob, "user=bob"}} {
		visit.page.Goto(url)
		if got := visit.page.Text("#who"); got != visit.want {
			t.Errorf("cookies = %q, want %q", got, visit.want)
		}
	}
}

func TestTypeAndClickAreRealInput(t *testing.T) {
	p := chromiumtest.Open(t).Visitor(t)
	p.Goto(serve(t))
	p.Type("#name", "Ada ")
	p.Type("#name", "L")
	p.Click("#go")
	p.WaitText("#out", "Ada Ltrue")
	p.Quiet()
}

// What is awaited may be promised: it is what the promise brings that counts.
func TestPromisesAreAwaited(t *testing.T) {
	p := chromiumtest.Open(t).Visitor(t)
	p.Goto(serve(t))
	if p.Bool(`new Promise(done => setTimeout(() => done(false), 20))`) {
		t.Error("a promise of false is true")
	}
	p.Eval(`window.asked = 0`, nil)
	p.WaitFor(`new Promise(done => done(++asked === 3))`)
	if got := p.String("asked"); got != "3" {
		t.Errorf("asked %s times, want three", got)
	}
}

func TestReportsTellPolicyConsoleAndException(t *testing.T) {
	p := chromiumtest.Open(t).Visitor(t)
	p.Goto(serve(t) + "/bad")
	if title := p.String("document.title"); title != "bad" {
		t.Errorf("title = %q: the inline script ran", title)
	}
	p.Eval(`console.error("said", 1)`, nil)
	p.Eval(`void setTimeout(() => { throw new Error("thrown") })`, nil)
	p.Eval(`new Promise(r => setTimeout(r, 20))`, nil)
	p.Eval(`fetch("/bad/missing", {method: "POST"}).then(r => r.status)`, nil)
	var kinds []string
	for _, r := range p.Reports() {
		kinds = append(kinds, string(r.Kind))
	}
	if got := strings.Join(kinds, " "); got != "policy console exception" {
		t.Errorf("reports = %s: %v", got, p.Reports())
	}
}

func TestConditions(t *testing.T) {
	p, url := chromiumtest.Open(t).Visitor(t), serve(t)
	p.Goto(url)
	background := "getComputedStyle(document.body).backgroundColor"
	p.SetScheme("dark")
	p.WaitFor(background + ` === "rgb(0, 0, 0)"`)
	p.SetScheme("light")
	p.WaitFor(background + ` === "rgb(255, 255, 255)"`)
	p.Viewport(360, 640)
	p.WaitFor("innerWidth === 360")
	p.Offline(true)
	p.WaitFor("!navigator.onLine")
	if !p.Bool(`fetch("/").then(() => false, () => true)`) {
		t.Error("a request went out while offline")
	}
	p.Offline(false)
	p.WaitFor("navigator.onLine")
	if !p.Bool(`fetch("/").then(() => true, () => false)`) {
		t.Error("no request went out after offline")
	}
	file := filepath.Join(t.TempDir(), "shots", "home.png")
	p.Screenshot(file)
	if head, err := os.ReadFile(file); err != nil || !strings.HasPrefix(string(head), "\x89PNG") {
		t.Errorf("screenshot: %v", err)
	}
	p.SetJavaScript(false)
	p.Goto(url)
	if got := p.Text("#off"); got != "plain" {
		t.Errorf("without scripts: %q", got)
	}
	p.SetJavaScript(true)
	p.Goto(url)
	if p.Bool(`document.querySelector("#off")`) {
		t.Error("scripts are still off")
	}
}
