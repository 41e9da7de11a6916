package main

import (
	"context"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/chromedp"

	"github.com/lockstep-go/lockstep/static/chromiumtest"
)

// window opens a window in the guest's session: with several, one visitor has several pages open.
func (g *guest) window(b *chromiumtest.Browser) *chromiumtest.Page {
	g.t.Helper()
	if g.path == "" {
		g.get("/cart") // it gives the session
	}
	home, err := url.Parse(g.shop)
	if err != nil {
		g.t.Fatal(err)
	}
	p := b.Visitor(g.t)
	for _, c := range g.client.Jar.Cookies(home) {
		p.Do(chromedp.Func(func(ctx context.Context, t *chromedp.Target) error {
			_, err := cdp.Call(ctx, t, network.SetCookie, network.SetCookieParams{Name: c.Name, Value: c.Value, URL: g.shop})
			return err
		}))
	}
	return p
}

const connected = `document.documentElement.dataset.lsStatus === "connected" &&
	[...document.querySelectorAll("lockstep-scope")].every(s => s.getAttribute("status") === "connected")`

// visit opens a page and waits until all of it is live.
func (s *opened) visit(p *chromiumtest.Page, path string) {
	p.Goto(s.URL + path)
	p.WaitFor(connected)
}

// shows waits until the first element that matches is seen with the text in it.
func shows(p *chromiumtest.Page, selector, text string) {
	p.WaitFor(`(e => e.checkVisibility() && e.textContent.includes(` + quoted(text) + `))(document.querySelector(` + quoted(selector) + `))`)
}

func quoted(s string) string { return `"` + strings.ReplaceAll(s, `"`, `\"`) + `"` }

// same waits until every target of the open page has the text of a fresh render of it.
func same(p interface{ WaitFor(js string) }) {
	p.WaitFor(`fetch(location.href).then(r => r.text()).then(html => {
		const texts = root => [...root.querySelectorAll("[data-ls]")].map(e => e.dataset.ls + e.textContent.replace(/\s+/g, " ")).join("\n")
		return texts(document) === texts(new DOMParser().parseFromString(html, "text/html"))
	})`)
}

func TestTwoPagesOfOneCart(t *testing.T) {
	shop, b := openShop(t, config{}), chromiumtest.Open(t)
	ada := shop.guest(t)
	list, cart := ada.window(b), ada.window(b)
	shop.visit(list, "/")
	shop.visit(cart, "/cart")
	list.Click(`.card button[aria-label="Add to cart: Morning mug"]`)
	shows(list, ".card:has([aria-label='Add to cart: Morning mug']) .in-cart", "1 in your cart")
	if path := list.String("location.pathname"); path != "/" {
		t.Errorf("after adding the page is %s, want the list still", path)
	}
	shows(cart, ".line.held h2", "Morning mug")
	list.WaitText(".count span", "1")
	cart.WaitText(".count span", "1")
	cart.Eval(`document.querySelector("#qty-morning-mug").value = "4"`, nil)
	cart.Click(".change button")
	shows(list, ".card:has([aria-label='Add to cart: Morning mug']) .in-cart", "4 in your cart")
	shows(cart, ".total .amount strong", "€76.00")
	cart.Click(`button[aria-label="Remove Morning mug"]`)
	shows(cart, ".nothing", "There is nothing in it yet")
	list.WaitText(".count span", "0")
	same(list)
	same(cart)
	list.Quiet()
	cart.Quiet()
}

func TestStockFallsOnAStrangersPage(t *testing.T) {
	shop, b := openShop(t, config{}), chromiumtest.Open(t)
	list, product := shop.guest(t).window(b), shop.guest(t).window(b)
	shop.visit(list, "/?category=Windowsill")
	shop.visit(product, "/product/hanging-planter")
	shows(list, `.card:has([href$="hanging-planter"]) .left`, "Only 1 left")
	shop.guest(t).add("hanging-planter", "1")
	shows(list, `.card:has([href$="hanging-planter"]) .left`, "Sold out")
	shows(product, ".about .left", "Sold out")
	same(product)
	list.Quiet()
	product.Quiet()
}

// The line of what was left is drawn by a script of the shop's own, from JSON that follows each commit; also what happened
// while there was no connection. Without scripts there are the words.
func TestTrendFollowsTheShelf(t *testing.T) {
	shop, b := openShop(t, config{}), chromiumtest.Open(t)
	p, plain := shop.guest(t).window(b), shop.guest(t).window(b)
	p.BeforeEveryPage(`window.sockets = []; window.WebSocket = class extends WebSocket { constructor(...a) { super(...a); sockets.push(this) } }`)
	shop.visit(p, "/product/morning-mug")
	shows(p, ".trend figcaption", "Nobody has taken one yet.")
	if p.Bool(`document.querySelector("stock-trend").checkVisibility()`) {
		t.Error("a picture of nothing takes room")
	}
	steps := func(n int) {
		t.Helper()
		p.WaitFor(fmt.Sprintf(`document.querySelector("stock-trend .line")?.getAttribute("d").split("H").length - 1 === %d`, n))
	}
	taken := shop.guest(t)
	taken.add("morning-mug", "2")
	shows(p, ".trend figcaption", "With the last change from 36 to 34 left.")
	steps(2)
	p.Offline(true)
	p.Eval(`sockets.at(-1).close()`, nil)
	shop.guest(t).add("morning-mug", "5")
	shop.guest(t).add("morning-mug", "3")
	p.Offline(false)
	shows(p, ".trend figcaption", "Over the last 3 changes from 36 to 26 left.")
	steps(4)
	same(p)
	if dir := os.Getenv("LOCKSTEP_PICTURES"); dir != "" {
		p.Viewport(1100, 900)
		for _, scheme := range []string{"light", "dark"} {
			p.SetScheme(scheme)
			p.Screenshot(filepath.Join(dir, "trend-"+scheme+".png"))
		}
	}
	p.Quiet()
	plain.SetJavaScript(false)
	plain.Goto(shop.URL + "/product/morning-mug")
	if !plain.Bool(`document.querySelector(".trend figcaption").checkVisibility() && !document.querySelector("stock-trend").checkVisibility()`) ||
		!strings.Contains(plain.Text(".trend"), "from 36 to 26 left") {
		t.Errorf("without scripts: %s", plain.Text(".trend"))
	}
}

func TestTwoBuyersOfTheLastPieceInBrowsers(t *testing.T) {
	shop, b := openShop(t, config{}), chromiumtest.Open(t)
	guests := []*guest{shop.guest(t), shop.guest(t)}
	pages := []*chromiumtest.Page{guests[0].window(b), guests[1].window(b)}
	for _, p := range pages {
		shop.visit(p, "/product/hanging-planter")
		p.Eval(`document.querySelector(".buy button").focus()`, nil)
	}
	for _, p := range pages {
		p.Keys(" ") // not by the mouse: the first sale moves the other page's button
	}
	answers := map[string]int{}
	for i, p := range pages {
		p.WaitFor(`/held|refused/.test(document.querySelector(".in-cart").className)`)
		if strings.Contains(p.Text(".in-cart"), "1 in your cart") {
			answers["sale"]++
			guests[i].checkout().until("/orders/latest", "Paid. Thank you!")
		} else if strings.Contains(p.Text(".in-cart"), "Sold out: somebody else was a moment faster") {
			answers["refusal"]++
			guests[i].checkout().wants(422, "Not everything in your cart is reserved")
		}
		p.Quiet()
	}
	if answers["sale"] != 1 || answers["refusal"] != 1 {
		t.Errorf("answers = %v, want one sale and one clear refusal", answers)
	}
	if got := shop.charges(t); len(got) != 1 {
		t.Errorf("charges = %+v, want one", got)
	}
}

func TestWhatTheVisitorDoesSurvivesAnUpdate(t *testing.T) {
	shop, b := openShop(t, config{}), chromiumtest.Open(t)
	ada := shop.guest(t)
	ada.add("morning-mug", "1").until("/cart", "Reserved until")
	p := ada.window(b)
	shop.visit(p, "/cart")
	p.Click(".total summary")
	p.Eval(`window.field = document.querySelector("#qty-morning-mug"); field.value = ""`, nil)
	p.Type("#qty-morning-mug", "12")
	p.Eval(`field.setSelectionRange(1, 1)`, nil)
	ada.add("espresso-cup", "2")
	shows(p, "#line-espresso-cup .state", "Reserved until")
	for what, js := range map[string]string{
		"the field is the same":  `field === document.querySelector("#qty-morning-mug") && field.isConnected`,
		"it has the focus":       `document.activeElement === field`,
		"what was typed":         `field.value === "12"`,
		"the caret's place":      `field.selectionStart === 1`,
		"the details are open":   `document.querySelector(".total details").open`,
		"the total has followed": `document.querySelector(".total .amount").textContent.includes("€47.00")`,
	} {
		if !p.Bool(js) {
			t.Errorf("after the update: %s? no", what)
		}
	}
	p.Quiet()
}

func TestCheckoutInABrowser(t *testing.T) {
	shop, b := openShop(t, config{payments: PaymentsTwice}), chromiumtest.Open(t)
	ada, boss := shop.guest(t), shop.guest(t)
	boss.signIn()
	desk := boss.window(b)
	shop.visit(desk, "/admin")
	ada.add("morning-mug", "2").until("/cart", "Reserved until")
	p := ada.window(b)
	shop.visit(p, "/checkout")
	p.Type("#email", "ada at example")
	p.Click(".pay")
	shows(p, "#email-problem", "Give an e-mail address like")
	if got := p.String(`document.querySelector("#email").value`); got != "ada at example" {
		t.Errorf("the refused form shows %q, want what was typed", got)
	}
	for id, text := range map[string]string{"name": "Ada Lovelace", "street": "Rue du Pont 12", "postcode": "1000", "city": "Brussels"} {
		p.Type("#"+id, text)
	}
	p.Eval(`document.querySelector("#email").select()`, nil)
	p.Keys("ada@example.org")
	p.Click(".pay")
	shows(p, ".progress.paid", "Paid. Thank you!")
	p.WaitText(".count span", "0")
	shows(desk, "tbody .badge.paid", "Paid")
	shows(desk, ".takings", "€38.00")
	shows(desk, `li:has([aria-label="Restock Morning mug"]) .levels`, "34")
	same(desk)
	desk.Type(`#restock-morning-mug`, "6")
	desk.Click(`[aria-label="Restock Morning mug"]`)
	desk.WaitText(`li:has([aria-label="Restock Morning mug"]) .free`, "40")
	if got := shop.charges(t); len(got) != 1 {
		t.Errorf("charges = %+v, want one, though the payment service answers twice", got)
	}
	if log := shop.log.String(); strings.Contains(log, notHeard) {
		t.Errorf("the service's own notices were refused: %s", log)
	}
	p.Quiet()
	desk.Quiet()
}

func TestWithoutScriptsInABrowser(t *testing.T) {
	shop, b := openShop(t, config{}), chromiumtest.Open(t)
	p := shop.guest(t).window(b)
	p.SetJavaScript(false)
	p.Goto(shop.URL + "/")
	p.Click(`.card button[aria-label="Add to cart: Morning mug"]`)
	p.WaitFor(`document.querySelector(".line")`)
	for p.Bool(`document.querySelector(".line.pending")`) { // nothing moves without scripts but by loading again
		p.Goto(shop.URL + "/cart")
	}
	p.Click(".total a.button")
	p.WaitFor(`document.querySelector(".pay")`)
	for id, text := range map[string]string{"name": "Ada Lovelace", "email": "ada@example.org", "street": "Rue du Pont 12", "postcode": "1000", "city": "Brussels"} {
		p.Type("#"+id, text)
	}
	p.Click(".pay")
	p.WaitFor(`document.querySelector(".progress")`) // the address alone changes before the page is there
	for !strings.Contains(p.Text(".progress"), "Paid") {
		p.Goto(shop.URL + "/orders/latest")
	}
	p.Quiet()
}

func TestSignOutEndsTheOpenBackOffice(t *testing.T) {
	shop, b := openShop(t, config{}), chromiumtest.Open(t)
	boss := shop.guest(t)
	boss.signIn()
	open, leaving := boss.window(b), boss.window(b)
	shop.visit(open, "/admin")
	shop.visit(leaving, "/admin")
	leaving.Click(".office-head button")
	leaving.WaitFor(`location.pathname === "/"`)
	shows(open, ".when-denied", "You no longer have access")
	shop.guest(t).add("morning-mug", "1").until("/cart", "Reserved until")
	if got := open.Text(`li:has([aria-label="Restock Morning mug"]) .free`); got != "36" {
		t.Errorf("the page that was signed out still follows: %s free, want 36 as before", got)
	}
}

func TestEveryPageIsQuietAndFits(t *testing.T) {
	shop, b := openShop(t, config{}), chromiumtest.Open(t)
	boss := shop.guest(t)
	boss.signIn()
	boss.add("morning-mug", "1").until("/cart", "Reserved until")
	boss.checkout().until("/orders/latest", "Paid. Thank you!")
	order := boss.get("/orders/latest").path
	boss.add("hanging-planter", "2").until("/cart", "Not available")
	boss.add("tea-pot", "1").until("/cart", "Reserved until")
	p := boss.window(b)
	for _, path := range []string{"/", "/product/tea-pot", "/cart", "/checkout", "/orders", order, "/admin", "/sign-in", "/nowhere"} {
		for _, width := range []int{320, 1280} {
			p.Viewport(width, 800)
			p.Goto(shop.URL + path)
			p.WaitFor(`document.readyState === "complete" && (` + connected + ` || !document.querySelector("lockstep-scope"))`)
			if wide := p.String(`document.documentElement.scrollWidth`); wide != fmt.Sprint(width) {
				t.Errorf("%s is %s wide in a window of %d", path, wide, width)
			}
			small := p.String(`[...document.querySelectorAll("button, .button, nav a, .brand, summary, select, input:not([type=hidden], [type=radio]), label:has([type=radio])")]
				.filter(e => e.checkVisibility() && e.getBoundingClientRect().height < 43.5).map(e => e.outerHTML.slice(0, 120)).join("\n")`)
			if small != "" {
				t.Errorf("%s at %d has targets lower than 44 pixels:\n%s", path, width, small)
			}
			unnamed := p.String(`[...document.querySelectorAll("input:not([type=hidden]), select")].filter(e => !e.labels.length).map(e => e.name).join(" ")`)
			if unnamed != "" {
				t.Errorf("%s has fields without a label: %s", path, unnamed)
			}
		}
	}
	p.Quiet()
}

func TestKeyboardAlone(t *testing.T) {
	shop, b := openShop(t, config{}), chromiumtest.Open(t)
	p := shop.guest(t).window(b)
	shop.visit(p, "/product/morning-mug")
	p.Keys("\t")
	if got := p.String(`document.activeElement.textContent`); got != "Skip to the content" {
		t.Fatalf("the first stop is %q, want the skip link", got)
	}
	if top := p.String(`document.activeElement.getBoundingClientRect().top >= 0`); top != "true" {
		t.Error("the skip link is not seen when it has the focus")
	}
	p.Keys("\r")
	for range 12 {
		if p.Keys("\t"); p.Bool(`document.activeElement.matches(".buy button")`) {
			break
		}
	}
	if !p.Bool(`getComputedStyle(document.activeElement).outlineStyle !== "none"`) {
		t.Error("the button's focus is not seen")
	}
	p.Keys("\r")
	shows(p, ".in-cart", "1 in your cart")
	p.Quiet()
}
