package main

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strconv"
	"strings"
	"testing"

	"github.com/lockstep-go/lockstep/static/chromiumtest"
)

// tellParent is a script with which a frame tells the page around it, every 50 ms, what it shows.
const tellParent = `const id = Math.random()
setInterval(() => parent.postMessage({id, page: document.documentElement.dataset.lsStatus,
	scopes: [...document.querySelectorAll("lockstep-scope")].map(s => s.getAttribute("status")),
	left: document.querySelector(".card:has([href$='hanging-planter']) .left")?.textContent}, "*"), 50)`

// proxy stands in front of the shop under the name that it is asked by.
func (s *opened) proxy(t *testing.T, request func(*http.Request), response func(*http.Response) error) *httptest.Server {
	t.Helper()
	target, err := url.Parse(s.URL)
	if err != nil {
		t.Fatal(err)
	}
	srv := httptest.NewServer(&httputil.ReverseProxy{
		Rewrite: func(r *httputil.ProxyRequest) {
			r.SetURL(target)
			r.Out.Host = r.In.Host
			request(r.Out)
		},
		ModifyResponse: response,
	})
	t.Cleanup(srv.Close)
	return srv
}

// The shop in a frame of another site has no cookies: every request is a stranger's. The page is readable, what is for
// everybody follows, what is the visitor's own is refused once, and nothing is loaded again and again.
func TestR49EmbeddedWithoutCookies(t *testing.T) {
	shop, b := openShop(t, config{}), chromiumtest.Open(t)
	telling := shop.proxy(t, func(r *http.Request) { r.Header.Del("Accept-Encoding") }, func(r *http.Response) error {
		if !strings.HasPrefix(r.Header.Get("Content-Type"), "text/html") {
			return nil
		}
		page, err := io.ReadAll(r.Body)
		page = bytes.Replace(page, []byte("</head>"), []byte(`<script src="/tell.js"></script></head>`), 1)
		r.Body, r.ContentLength = io.NopCloser(bytes.NewReader(page)), int64(len(page))
		r.Header.Set("Content-Length", strconv.Itoa(len(page)))
		return err
	})
	inner := telling.Config.Handler
	telling.Config.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/tell.js" {
			w.Header().Set("Content-Type", "text/javascript")
			io.WriteString(w, tellParent)
			return
		}
		inner.ServeHTTP(w, r)
	})
	outer := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		fmt.Fprintf(w, `<!doctype html><title>outer</title><script>
			window.said = {}; window.ids = new Set()
			addEventListener("message", e => { said = e.data; ids.add(e.data.id) })
			</script><iframe src="%s/?category=Windowsill" width="800" height="600"></iframe>`, telling.URL)
	}))
	defer outer.Close()
	p := b.Visitor(t)
	p.Goto(strings.Replace(outer.URL, "127.0.0.1", "localhost", 1))
	strangers(t, shop, p, "said.", "ids.size === 1")
}

// The same without cookies altogether: a browser that neither keeps nor sends any.
func TestR49CookiesDisabled(t *testing.T) {
	shop, b := openShop(t, config{}), chromiumtest.Open(t)
	bare := shop.proxy(t, func(r *http.Request) { r.Header.Del("Cookie") }, func(r *http.Response) error {
		r.Header.Del("Set-Cookie")
		return nil
	})
	p := b.Visitor(t)
	p.BeforeEveryPage(`Object.defineProperty(window, "sessionStorage", {get() { throw new DOMException("no storage", "SecurityError") }})
		window.look = () => ({page: document.documentElement.dataset.lsStatus,
			scopes: [...document.querySelectorAll("lockstep-scope")].map(s => s.getAttribute("status")),
			left: document.querySelector(".card:has([href$='hanging-planter']) .left")?.textContent})`)
	p.Goto(bare.URL + "/?category=Windowsill")
	p.Eval(`window.here = true`, nil)
	strangers(t, shop, p, "look().", "here")
}

// strangers waits until the page's own scope is refused and the others live, and sells the last planter.
func strangers(t *testing.T, shop *opened, p *chromiumtest.Page, said, loadedOnce string) {
	t.Helper()
	p.WaitFor(said + `page === "connected" && ` + said + `scopes.includes("denied") && ` + said + `scopes.includes("connected") &&
		` + said + `scopes.every(s => s === "denied" || s === "connected")`)
	p.WaitFor(said + `left.includes("Only 1 left")`)
	refused := p.String(said + `scopes.filter(s => s === "denied").length`)
	shop.guest(t).add("hanging-planter", "1")
	p.WaitFor(said + `left.includes("Sold out")`)
	if refused != "1" || !p.Bool(loadedOnce) {
		t.Errorf("%s scopes refused, loaded once: %v", refused, p.Bool(loadedOnce))
	}
	p.Quiet()
}
