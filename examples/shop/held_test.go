package main

import (
	"bytes"
	"context"
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

// hoarder is a proxy in front of a shop that lets no socket through and holds answers back.
type hoarder struct {
	*opened
	upgrades, asked atomic.Int64
}

// hoard puts one before a shop: it passes an answer on when that has ended or, of one that goes on, what it has gathered
// whenever that are some kilobytes. What has become of the browser does not matter to it.
func hoard(t *testing.T, shop *opened, all bool) *hoarder {
	home, err := url.Parse(shop.URL)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	pass := &httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) {
		r.SetURL(home)
		r.Out.Host = r.In.Host
	}, ErrorHandler: func(w http.ResponseWriter, r *http.Request, err error) { w.WriteHeader(http.StatusBadGateway) }}
	h := &hoarder{}
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case r.Header.Get("Upgrade") != "":
			h.upgrades.Add(1)
			w.WriteHeader(http.StatusBadGateway)
			return
		case strings.HasSuffix(r.URL.Path, "/stream"):
			h.asked.Add(1)
		}
		bothWays(t, w)
		held := &gathered{ResponseWriter: w, status: http.StatusOK, all: all}
		pass.ServeHTTP(held, r.WithContext(context.WithValue(ctx, http.ServerContextKey, r.Context().Value(http.ServerContextKey))))
		if all {
			w.WriteHeader(held.status)
			w.Write(held.text.Bytes())
		}
	}))
	t.Cleanup(func() {
		cancel()
		srv.CloseClientConnections()
		srv.Close()
	})
	h.opened = &opened{URL: srv.URL, DB: shop.DB, log: shop.log, close: shop.close}
	return h
}

// gathered is an answer that knows of no flushing.
type gathered struct {
	http.ResponseWriter
	all    bool
	status int
	text   bytes.Buffer
}

func (g *gathered) WriteHeader(status int) {
	if g.status = status; !g.all {
		g.ResponseWriter.WriteHeader(status)
	}
}

func (g *gathered) Write(p []byte) (int, error) {
	if g.all {
		return g.text.Write(p)
	}
	return g.ResponseWriter.Write(p)
}

// Where sockets do not pass and a stream's answer is held back, wholly or some kilobytes of it, pages follow in rounds: the
// user sees no interruption once the page is connected, and every change within seconds.
func TestStreamWhereAnswersAreHeldBack(t *testing.T) {
	for name, all := range map[string]bool{"wholly": true, "in part": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			shop, b := openShop(t, config{}), chromiumtest.Open(t)
			proxy := hoard(t, shop, all)
			p := proxy.guest(t).window(b)
			p.Goto(proxy.URL + "/")
			for end := time.Now().Add(2 * patience); !p.Bool(connected) && time.Now().Before(end); { // in part: a ping is waited for
				time.Sleep(100 * time.Millisecond)
			}
			p.WaitFor(connected)
			p.Eval(`window.seen = ""; document.addEventListener("lockstep:status", e => seen += e.detail.status + " ")`, nil)
			p.Click(`.card button[aria-label="Add to cart: Morning mug"]`)
			shows(p, ".card:has([aria-label='Add to cart: Morning mug']) .in-cart", "1 in your cart")
			for range 2 {
				shop.guest(t).add("morning-mug", "1").until("/cart", "Reserved until")
				same(p)
			}

			// The tab's next page knows already.
			tried := proxy.upgrades.Load()
			begun := time.Now()
			proxy.visit(p, "/cart")
			t.Logf("the next page was connected after %v", time.Since(begun).Round(time.Millisecond))
			if n := proxy.upgrades.Load() - tried; n != 0 {
				t.Errorf("the next page tried %d upgrades more", n)
			}
			p.Eval(`window.seen = ""; document.addEventListener("lockstep:status", e => seen += e.detail.status + " ")`, nil)
			asked := proxy.asked.Load()
			p.Eval(`window.copy = document.querySelector("lockstep-scope").cloneNode(true); document.body.append(copy)`, nil)
			p.WaitFor(connected)
			p.Eval(`copy.remove()`, nil)
			for i := 0; all && i < 2; i++ { // longer than a round
				p.Eval(`new Promise(r => setTimeout(r, 10000))`, nil)
			}
			same(p)
			if got := p.String("seen"); got != "" {
				t.Errorf("the user saw %s", got)
			}
			if n := proxy.asked.Load() - asked; n > 8 {
				t.Errorf("%d requests in 20 s without news", n)
			}
			quietButForSockets(t, p)
		})
	}
}
