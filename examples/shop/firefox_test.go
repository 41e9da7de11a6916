package main

import (
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/lockstep-go/lockstep/static/firefoxtest"
)

// The whole line in another family of browsers, told in one window: opening one is most of the work.
func TestShopInFirefox(t *testing.T) {
	b := firefoxtest.Open(t)
	shop := openShop(t, config{})
	ada := shop.guest(t)
	ada.get("/cart")
	home, err := url.Parse(shop.URL)
	if err != nil {
		t.Fatal(err)
	}
	p := b.Visitor(t)
	for _, c := range ada.client.Jar.Cookies(home) {
		p.SetCookie(home.Hostname(), c.Name, c.Value)
	}
	p.BeforeEveryPage(`window.violations = []; addEventListener("securitypolicyviolation", e => violations.push(e.violatedDirective))`)
	p.Goto(shop.URL + "/product/morning-mug")
	p.WaitFor(connected)
	p.Eval("window.never = 'reloaded'", nil)

	// Two clicks before the answer are one message.
	p.Eval(`window.real = fetch; (real => window.fetch = async (...args) => { window.sent = (window.sent ?? 0) + 1; await new Promise(r => window.release = r); return real(...args) })(fetch)`, nil)
	p.Click(".buy button")
	p.Click(".buy button")
	p.WaitFor(`window.release`)
	p.Eval(`release(); window.fetch = real`, nil)
	p.WaitText(".count span", "1")
	p.WaitFor(`document.querySelector(".in-cart").textContent.includes("1 in your cart")`)
	if got := p.String("sent"); got != "1" {
		t.Errorf("%s requests were sent for two clicks", got)
	}

	// A stranger's commit, and then a restart in the middle of a word.
	before := p.Text(".left")
	shop.guest(t).add("morning-mug", "3").until("/cart", "Reserved until")
	p.WaitFor(`document.querySelector(".left").textContent.trim() !== ` + quoted(before))
	p.Eval(`window.field = document.querySelector(".buy input[name=qty]"); field.type = "text"; field.value = ""`, nil)
	p.Type(".buy input[name=qty]", "12")
	p.Eval(`field.setSelectionRange(1, 1)`, nil)
	shop.close()
	again := openShop(t, config{addr: home.Host, db: "sqlite:" + shop.DB})
	shop.close = again.close
	again.guest(t).add("morning-mug", "2").until("/cart", "Reserved until")
	p.WaitFor(connected)
	same(p)
	if got := p.String(`[window.never, field.isConnected, document.activeElement === field, field.value, field.selectionStart]`); got != "reloaded,true,true,12,1" {
		t.Errorf("after the restart: %s", got)
	}
	if got := p.String("violations"); got != "" {
		t.Errorf("the page's policy was violated: %s", got)
	}

	// Where no socket passes.
	proxy := behind(t, again, refuse(http.StatusBadGateway))
	p.Goto(strings.Replace(proxy.URL, "127.0.0.1", "localhost", 1) + "/product/morning-mug")
	p.WaitFor(connected)
	if proxy.upgrades.Load() < 2 || proxy.streams.Load() != 1 {
		t.Errorf("%d upgrades were tried, %d streams are open", proxy.upgrades.Load(), proxy.streams.Load())
	}
	before = p.Text(".left")
	again.guest(t).add("morning-mug", "1").until("/cart", "Reserved until")
	p.WaitFor(`document.querySelector(".left").textContent.trim() !== ` + quoted(before))
	same(p)
	p.Quiet()
}
