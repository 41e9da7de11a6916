package main

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/lockstep-go/lockstep/static/chromiumtest"
)

// breaker is a proxy in front of a shop that lets no socket through.
type breaker struct {
	*opened
	upgrades atomic.Int64 // tried
	streams  atomic.Int64 // open now
	requests atomic.Int64 // to the stream
	cuts     atomic.Int64 // streams that ended without an end although their browser had not gone
}

// behind puts a proxy before a shop; how answers an upgrade or passes it on changed.
func behind(t *testing.T, shop *opened, how func(w http.ResponseWriter, r *http.Request, pass http.Handler)) *breaker {
	t.Helper()
	home, err := url.Parse(shop.URL)
	if err != nil {
		t.Fatal(err)
	}
	pass := &httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) {
		r.SetURL(home)
		r.Out.Host = r.In.Host
	}, ErrorHandler: func(w http.ResponseWriter, r *http.Request, err error) { w.WriteHeader(http.StatusBadGateway) }}
	b := &breaker{}
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case r.Header.Get("Upgrade") != "":
			b.upgrades.Add(1)
			how(w, r, pass)
		case strings.HasSuffix(r.URL.Path, "/stream"):
			b.requests.Add(1)
			b.streams.Add(1)
			defer b.streams.Add(-1)
			defer b.watch(r)
			bothWays(t, w)
			pass.ServeHTTP(w, r)
		default:
			pass.ServeHTTP(w, r)
		}
	}))
	t.Cleanup(func() {
		srv.CloseClientConnections()
		srv.Close()
	})
	b.opened = &opened{URL: srv.URL, DB: shop.DB, log: shop.log, close: shop.close}
	return b
}

// bothWays keeps net/http from closing a request's body when the answer to it begins. Its own ReverseProxy may just be
// looking for that body's end, takes the closing for a failure, and cuts the answer.
func bothWays(t *testing.T, w http.ResponseWriter) {
	if err := http.NewResponseController(w).EnableFullDuplex(); err != nil {
		t.Error(err)
	}
}

// watch counts a stream that the proxy had to cut. An abort of the browser's own is one too, until its going is seen.
func (b *breaker) watch(r *http.Request) {
	cut := recover()
	if cut == nil {
		return
	}
	b.cuts.Add(1)
	select {
	case <-r.Context().Done():
		b.cuts.Add(-1)
	case <-time.After(time.Second):
	}
	panic(cut)
}

func refuse(status int) func(http.ResponseWriter, *http.Request, http.Handler) {
	return func(w http.ResponseWriter, r *http.Request, _ http.Handler) { w.WriteHeader(status) }
}

func strip(w http.ResponseWriter, r *http.Request, pass http.Handler) {
	r.Header.Del("Upgrade")
	r.Header.Set("Connection", "keep-alive")
	pass.ServeHTTP(w, r)
}

const hide = `Object.defineProperty(document, "hidden", {configurable: true, get: () => %t}); document.dispatchEvent(new Event("visibilitychange"))`

// skippable gives a page timers that skip(ms) fires as if that time had passed, each when and in the order that it is due.
const skippable = `(() => {
	const set = setTimeout.bind(window), clear = clearTimeout.bind(window), now = performance.now.bind(performance)
	const jobs = new Map()
	let ahead = 0, count = 1e6
	performance.now = () => now() + ahead
	const arm = job => { clear(job.real); job.real = set(fire, Math.max(0, job.due - performance.now()), job) }
	const fire = job => {
		clear(job.real)
		if (job.every) { job.due += job.every; arm(job) } else jobs.delete(job.id)
		job.f()
	}
	const add = (f, ms = 0, every = 0) => {
		const job = {id: ++count, f, due: performance.now() + Number(ms), every}
		jobs.set(job.id, job)
		arm(job)
		return job.id
	}
	window.setTimeout = (f, ms) => add(f, ms)
	window.setInterval = (f, ms) => add(f, ms, ms)
	window.clearTimeout = window.clearInterval = id => { clear(jobs.get(id)?.real); jobs.delete(id) }
	window.skip = async ms => {
		const end = performance.now() + ms
		for (let next; (next = [...jobs.values()].sort((a, b) => a.due - b.due)[0])?.due <= end;) {
			ahead += Math.max(0, next.due - performance.now())
			fire(next)
			await null
		}
		ahead += Math.max(0, end - performance.now())
		jobs.forEach(arm)
	}
})()`

// quiet fails the test for anything that the page said but for its sockets, and for streams that the shop cut.
func (b *breaker) quiet(t *testing.T, p *chromiumtest.Page) {
	t.Helper()
	quietButForSockets(t, p)
	await(t, "every stream that was cut was left by its browser", func() bool { return b.cuts.Load() == 0 })
}

// quietButForSockets fails the test for anything that the page said, but for its sockets.
func quietButForSockets(t *testing.T, p *chromiumtest.Page) {
	t.Helper()
	p.Quiet()
	for _, f := range p.Failures() {
		if !strings.Contains(f.Text, "WebSocket connection") {
			t.Errorf("the page reported a failure: %s", f.Text)
		}
	}
}

func TestStreamWhereUpgradesFail(t *testing.T) {
	for name, how := range map[string]func(http.ResponseWriter, *http.Request, http.Handler){
		"refused": refuse(http.StatusBadRequest), "bad gateway": refuse(http.StatusBadGateway), "headers stripped": strip,
	} {
		t.Run(name, func(t *testing.T) {
			shop, b := openShop(t, config{}), chromiumtest.Open(t)
			proxy := behind(t, shop, how)
			ada := proxy.guest(t)
			p := ada.window(b)
			proxy.visit(p, "/")
			if proxy.upgrades.Load() < 2 || proxy.streams.Load() != 1 {
				t.Fatalf("%d upgrades were tried, %d streams are open", proxy.upgrades.Load(), proxy.streams.Load())
			}
			p.Click(`.card button[aria-label="Add to cart: Morning mug"]`)
			shows(p, ".card:has([aria-label='Add to cart: Morning mug']) .in-cart", "1 in your cart")
			shop.guest(t).add("morning-mug", "2").until("/cart", "Reserved until")
			same(p)

			// The tab's next page knows already.
			tried := proxy.upgrades.Load()
			proxy.visit(p, "/cart")
			same(p)
			if n := proxy.upgrades.Load() - tried; n != 0 {
				t.Errorf("the next page tried %d upgrades more", n)
			}

			// A component with scopes of its own, added and removed by script, goes by commands.
			p.Eval(`window.copy = document.querySelector("lockstep-scope").cloneNode(true); document.body.append(copy)`, nil)
			p.WaitFor(connected)
			p.Eval(`copy.remove()`, nil)
			same(p)
			proxy.quiet(t, p)
		})
	}
}

func TestStreamComesBackAfterARestart(t *testing.T) {
	shop, b := openShop(t, config{}), chromiumtest.Open(t)
	proxy := behind(t, shop, refuse(http.StatusBadGateway))
	p := proxy.guest(t).window(b)
	proxy.visit(p, "/")
	p.Eval("window.never = 'reloaded'", nil)
	for range 2 {
		start := time.Now()
		shop.close() // fails the test where a stream had to be cut off
		if took := time.Since(start); took > 5*time.Second {
			t.Errorf("the shop took %s to close, with a stream open", took)
		}
		again := openShop(t, config{addr: strings.TrimPrefix(shop.URL, "http://"), db: "sqlite:" + shop.DB})
		shop.close = again.close
		again.guest(t).add("morning-mug", "1").until("/cart", "Reserved until")
		p.WaitFor(connected)
		same(p)
	}
	if !p.Bool("window.never === 'reloaded'") {
		t.Error("the page was loaded again")
	}
	p.Quiet()
}

func TestStreamOfASignedOutSessionEnds(t *testing.T) {
	shop, b := openShop(t, config{}), chromiumtest.Open(t)
	proxy := behind(t, shop, refuse(http.StatusBadRequest))
	boss := proxy.guest(t)
	boss.signIn()
	open, leaving := boss.window(b), boss.window(b)
	proxy.visit(open, "/admin")
	proxy.visit(leaving, "/admin")
	requests := proxy.requests.Load()
	leaving.Click(".office-head button")
	leaving.WaitFor(`location.pathname === "/"`)
	shows(open, ".when-denied", "You no longer have access")
	open.Eval(`dispatchEvent(new Event("online"))`, nil)
	open.Eval(`new Promise(r => setTimeout(r, 700))`, nil)
	if got := open.String(`document.documentElement.dataset.lsStatus`); got != "denied" || proxy.requests.Load() > requests+2 { // the shop's front page may ask for its own
		t.Errorf("the page is %s after %d requests to the stream", got, proxy.requests.Load()-requests)
	}
	proxy.quiet(t, open)
}

func TestR18HiddenTabGivesItsStreamBack(t *testing.T) {
	shop, b := openShop(t, config{}), chromiumtest.Open(t)
	proxy := behind(t, shop, refuse(http.StatusBadRequest))
	p := proxy.guest(t).window(b)
	p.BeforeEveryPage(skippable)
	proxy.visit(p, "/")
	p.Eval(`window.seen = ""; document.addEventListener("lockstep:status", e => seen += e.detail.status + " ")`, nil)
	p.Eval(fmt.Sprintf(hide, true), nil)
	await(t, "the stream to close", func() bool { return proxy.streams.Load() == 0 })
	shop.guest(t).add("morning-mug", "3").until("/cart", "Reserved until")
	p.Eval(`skip(600000)`, nil)
	if n := proxy.streams.Load(); n != 0 {
		t.Errorf("%d streams are open while the tab is hidden", n)
	}
	p.Eval(fmt.Sprintf(hide, false), nil)
	same(p)
	if got := p.String("seen"); got != "" {
		t.Errorf("the user saw %s", got)
	}
	await(t, "one stream", func() bool { return proxy.streams.Load() == 1 })
	proxy.quiet(t, p)
}

// Ten windows that are all seen, over HTTP/1.1, which gives them six connections together.
func TestR10TenTabsOverHTTP1(t *testing.T) {
	for host, locks := range map[string]bool{"127.0.0.1": true, chromiumtest.Insecure: false} {
		t.Run(host, func(t *testing.T) {
			t.Parallel()
			tenTabs(t, host, locks)
		})
	}
}

func tenTabs(t *testing.T, host string, locks bool) {
	shop, b := openShop(t, config{}), chromiumtest.Open(t)
	proxy := behind(t, shop, refuse(http.StatusBadRequest))
	proxy.URL = strings.Replace(proxy.URL, "127.0.0.1", host, 1)
	first := b.Visitor(t)
	first.Goto(proxy.URL + "/cart") // it gives the session
	tabs := []*chromiumtest.Page{first}
	proxy.visit(first, "/")
	if got := first.String(`performance.getEntriesByType("navigation")[0].nextHopProtocol`); got != "http/1.1" {
		t.Fatalf("the page came by %s", got)
	}
	if got := first.Bool(`navigator.locks`); got != locks {
		t.Fatalf("the page has locks: %t, want %t", got, locks)
	}
	for range 9 {
		tab := first.Tab()
		proxy.visit(tab, "/")
		tabs = append(tabs, tab)
	}
	// One that hands its turn on is still counted until the proxy has seen its end.
	await(t, "all but five of ten tabs have closed their streams", func() bool { return proxy.streams.Load() <= 5 })
	var slowest time.Duration
	for range 3 {
		shop.guest(t).add("morning-mug", "1").until("/cart", "Reserved until")
		for _, tab := range tabs {
			start := time.Now()
			tab.Eval(`fetch("/cart").then(r => r.text())`, nil)
			slowest = max(slowest, time.Since(start))
		}
	}
	t.Logf("the slowest of 30 requests took %s", slowest)
	if slowest > 3*time.Second {
		t.Errorf("a tab's request waited %s for other tabs", slowest)
	}
	for _, tab := range tabs {
		same(tab)
	}
	for _, tab := range tabs {
		proxy.quiet(t, tab)
	}
}

func await(t *testing.T, what string, done func() bool) {
	t.Helper()
	for end := time.Now().Add(patience); !done(); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("never happened: %s", what)
		}
	}
}
