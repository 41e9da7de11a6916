package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/lockstep-go/lockstep/static/chromiumtest"
)

// axe is the source of axe-core, which `make client` installs. Without it the test is skipped, or fails if
// LOCKSTEP_TEST_REQUIRE_NODE=1.
func axe(t *testing.T) string {
	t.Helper()
	source, err := os.ReadFile(filepath.Join("..", "..", "static", "node_modules", "axe-core", "axe.min.js"))
	if err != nil {
		if os.Getenv("LOCKSTEP_TEST_REQUIRE_NODE") == "1" {
			t.Fatalf("%v: run make client", err)
		}
		t.Skipf("%v: run make client", err)
	}
	return string(source)
}

// Every page of the shop, as a visitor, a buyer and the administrator see it, in both colour schemes and on a phone.
func TestEveryPageIsAccessible(t *testing.T) {
	source := axe(t)
	shop, b := openShop(t, config{}), chromiumtest.Open(t)
	ada, boss := shop.guest(t), shop.guest(t)
	boss.signIn()
	boss.add("morning-mug", "1").until("/cart", "Reserved until")
	ada.add("espresso-cup", "1").until("/cart", "Reserved until")
	ada.checkout().until("/orders/latest", "Paid. Thank you!")
	ada.add("morning-mug", "2").until("/cart", "Reserved until")
	newcomer := shop.guest(t)
	for who, visit := range map[*guest][]string{
		newcomer: {"/cart", "/checkout", "/orders", "/sign-in", "/nowhere"},
		ada:      {"/", "/?category=Windowsill", "/?q=mug", "/?q=nothing-like-it", "/product/morning-mug", "/product/hanging-planter", "/cart", "/checkout", "/orders", "/orders/latest"},
		boss:     {"/admin", "/cart"},
	} {
		p := who.window(b)
		for _, path := range visit {
			p.Goto(shop.URL + path)
			if p.Bool(`document.querySelector("lockstep-scope")`) {
				p.WaitFor(connected)
			}
			p.SetScheme("light")
			p.Viewport(1280, 800)
			inspect(t, p, source, path+" light")
			p.SetScheme("dark")
			p.Viewport(360, 640)
			inspect(t, p, source, path+" dark, on a phone")
		}
	}
	// A refused form, with its alert.
	p := ada.window(b)
	shop.visit(p, "/checkout")
	p.Eval(`document.querySelector("form[action='/checkout']").noValidate = true`, nil)
	p.Click("form[action='/checkout'] button")
	p.WaitFor(`document.querySelector("[role=alert]")`)
	inspect(t, p, source, "/checkout refused")
	// What finds nothing has looked.
	p.Eval(`document.querySelector("main").innerHTML = '<p id="pale">pale</p><img src="/pictures/morning-mug.svg">'
		document.querySelector("#pale").style.cssText = "color: #777; background: #888"`, nil)
	var ids []string
	for _, v := range violations(p, source) {
		ids = append(ids, v.ID)
	}
	if got := strings.Join(ids, " "); !strings.Contains(got, "color-contrast") || !strings.Contains(got, "image-alt") {
		t.Errorf("of a page with pale text and a picture without words was found: %s", got)
	}
}

// violation is what axe-core says of a rule that a page breaks.
type violation struct {
	ID, Help string
	Nodes    []struct{ HTML, FailureSummary string }
}

func violations(p *chromiumtest.Page, source string) (found []violation) {
	p.Eval(source+";void 0", nil)
	p.Eval(`document.body.getBoundingClientRect(), document.getAnimations().forEach(a => a.finish()), 
		axe.run(document).then(r => r.violations)`, &found)
	return found
}

// inspect fails the test with whatever axe-core finds on the page.
func inspect(t *testing.T, p *chromiumtest.Page, source, where string) {
	t.Helper()
	for _, v := range violations(p, source) {
		for _, n := range v.Nodes {
			t.Errorf("%s: %s (%s)\n%s\n%s", where, v.ID, v.Help, n.HTML, n.FailureSummary)
		}
	}
}
