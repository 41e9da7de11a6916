package main

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestBuyingWithoutScripts(t *testing.T) {
	shop := openShop(t, config{})
	ada := shop.guest(t)
	ada.get("/").wants(200, "Morning mug", "€19.00", "36 left")
	ada.add("morning-mug", "2").wants(200, "Your cart", "Morning mug")
	if ada.path != "/cart" {
		t.Fatalf("after adding the browser is at %s, want /cart", ada.path)
	}
	ada.until("/cart", "Reserved until").wants(200, "€38.00", "Go to checkout")
	shop.guest(t).get("/product/morning-mug").wants(200, "34 left")
	ada.checkout()
	if !strings.HasPrefix(ada.path, "/orders/") {
		t.Fatalf("after the checkout the browser is at %s, want an order", ada.path)
	}
	order := ada.path
	ada.until(order, "Paid. Thank you!").wants(200, "€38.00", "Rue du Pont 12", "rcpt_")
	ada.until("/cart", "There is nothing in it yet")
	ada.get("/orders").wants(200, "2 pieces", "Paid")
	if got := shop.charges(t); len(got) != 1 || got[0].Amount.Minor != 3800 {
		t.Errorf("charges = %+v, want one of 3800", got)
	}
}

func TestCheckoutWithMistakes(t *testing.T) {
	shop := openShop(t, config{})
	ada := shop.guest(t)
	ada.checkout().wants(422, "Your cart is empty.")
	ada.add("morning-mug", "1").until("/cart", "Reserved until")
	ada.checkout("email", "ada at example", "postcode", "  ").wants(422, "Give an e-mail address like", "Give a postcode.")
	form := ada.form("/checkout")
	if form.Get("name") != "Ada Lovelace" || form.Get("email") != "ada at example" || form.Get("country") != "Belgium" {
		t.Errorf("the form forgot what was entered: %v", form)
	}
	if !strings.Contains(ada.body, `aria-describedby="email-problem"`) || strings.Contains(ada.body, `aria-describedby="name-problem"`) {
		t.Error("the problems are not tied to their fields")
	}
	ada.submit("/checkout", form, "email", "ada@example.org", "postcode", "1000").until("/orders/latest", "Paid. Thank you!")
}

func TestQuantities(t *testing.T) {
	shop := openShop(t, config{})
	ada := shop.guest(t)
	ada.add("morning-mug", "0").wants(422, "Choose a quantity from 1 to 99.")
	ada.add("morning-mug", "two").wants(422, "must be a whole number")
	ada.add("morning-mug", "50").until("/cart", "Not available").wants(200, "You wanted 50, but only 36 left.")
	ada.submit("/cart/change", ada.form("/cart/change", "sku", "morning-mug"), "qty", "3").until("/cart", "Reserved until").wants(200, "€57.00")
	ada.submit("/cart/change", ada.form("/cart/change", "sku", "morning-mug"), "qty", "100").wants(422, "Choose a quantity")
	ada.get("/cart")
	ada.submit("/cart/remove", ada.form("/cart/remove", "sku", "morning-mug")).wants(200, "There is nothing in it yet")
	ada.until("/product/morning-mug", "36 left")
}

func TestFormSentTwiceCountsOnce(t *testing.T) {
	shop := openShop(t, config{})
	ada := shop.guest(t)
	ada.get("/product/morning-mug")
	form := ada.form("/cart/add", "sku", "morning-mug")
	for range 2 {
		ada.submit("/cart/add", form)
	}
	ada.until("/cart", "Reserved until").wants(200, "1 × €19.00")
	ada.get("/checkout")
	form = ada.form("/checkout")
	for range 3 {
		ada.submit("/checkout", form, "name", "Ada", "email", "ada@example.org", "street", "Rue 1", "postcode", "1000", "city", "Brussels")
	}
	ada.until("/orders/latest", "Paid. Thank you!")
	ada.get("/orders").wants(200, "1 piece")
	if n := strings.Count(ada.body, `href="/orders/`); n != 1 {
		t.Errorf("%d orders are listed, want 1", n)
	}
	if got := shop.charges(t); len(got) != 1 {
		t.Errorf("charges = %+v, want one", got)
	}
}

func TestDeclinedCardInTheShop(t *testing.T) {
	shop := openShop(t, config{})
	ada := shop.guest(t)
	ada.add("hanging-planter", "1").until("/cart", "Reserved until")
	ada.checkout("card", declinedCard).until("/orders/latest", "The card was declined").wants(200, "Nothing was charged")
	ada.until("/cart", "Your bank declined the card.").wants(200, "No longer reserved", "Reserve again")
	shop.guest(t).until("/product/hanging-planter", "Only 1 left")
	ada.submit("/cart/renew", ada.form("/cart/renew")).until("/cart", "Reserved until")
	ada.checkout().until("/orders/latest", "Paid. Thank you!")
	if got := shop.charges(t); len(got) != 1 {
		t.Errorf("charges = %+v, want the second try only", got)
	}
}

func TestStrangersSeeNothing(t *testing.T) {
	shop := openShop(t, config{})
	ada, eve := shop.guest(t), shop.guest(t)
	ada.add("morning-mug", "1").until("/cart", "Reserved until")
	ada.checkout().until("/orders/latest", "Paid. Thank you!")
	order := ada.get("/orders/latest").path
	eve.get(order).wants(403, "This is not for you")
	if strings.Contains(eve.body, "Ada") || strings.Contains(eve.body, "lockstep-scope") {
		t.Error("the refusal shows something of the order")
	}
	eve.get("/cart").wants(200, "There is nothing in it yet")
	eve.get("/orders/ghost").wants(403)
	ada.get(order+"X").wants(404, "There is nothing here")
	eve.get("/admin").wants(403, "The back office is the administrator's.")
	eve.get("/")
	eve.post("/admin/payments", url.Values{"mode": {"fail"}}).wants(403)
	eve.post("/admin/restock/morning-mug", url.Values{"qty": {"5"}}).wants(403)
	eve.get("/product/morning-mug").wants(200, "35 left")
	eve.get("/product/ghost").wants(404, "There is nothing here")
	eve.get("/nowhere").wants(404, "There is nothing here")
	eve.post("/cart/add", url.Values{"sku": {"ghost"}, "qty": {"1"}}).wants(403)
}

func TestBackOffice(t *testing.T) {
	shop := openShop(t, config{})
	boss, ada := shop.guest(t), shop.guest(t)
	boss.post("/sign-in", url.Values{"password": {"guess"}}).wants(422, "This is not the password.")
	boss.get("/admin").wants(403)
	boss.signIn().wants(200, "Back office", "Nothing yet", "No orders yet.", "Hanging planter")
	ada.add("hanging-planter", "1").until("/cart", "Reserved until")
	ada.checkout().until("/orders/latest", "Paid. Thank you!")
	boss.until("/admin", "Orders paid 1").wants(200, "Ada Lovelace", "Revenue €39.50", "none left")
	boss.get(ada.get("/orders/latest").path).wants(200, "Ada Lovelace")
	boss.get("/admin")
	boss.submit("/admin/restock/hanging-planter", boss.form("/admin/restock/hanging-planter"), "qty", "6").wants(200)
	ada.until("/product/hanging-planter", "6 left")
	boss.submit("/admin/restock/hanging-planter", boss.form("/admin/restock/hanging-planter"), "qty", "0").wants(422, "A delivery has 1 to 100,000 pieces.")
	boss.post("/sign-out", nil)
	boss.get("/admin").wants(403)
}

func TestForeignPagesCannotBuy(t *testing.T) {
	shop := openShop(t, config{})
	ada := shop.guest(t)
	ada.get("/")
	for _, headers := range []http.Header{
		{"Origin": {"https://evil.example"}},
		{"Origin": {"https://evil.example"}, "Sec-Fetch-Site": {"cross-site"}},
	} {
		req, err := http.NewRequest(http.MethodPost, shop.URL+"/cart/add", strings.NewReader("sku=morning-mug&qty=1"))
		if err != nil {
			t.Fatal(err)
		}
		req.Header = headers
		req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		if ada.do(req); ada.status != http.StatusForbidden {
			t.Errorf("%v was answered %d, want 403", headers, ada.status)
		}
	}
	ada.get("/cart").wants(200, "There is nothing in it yet")
}

func TestNoticesMustBeSigned(t *testing.T) {
	shop := openShop(t, config{payments: PaymentsSlow})
	ada := shop.guest(t)
	ada.add("tea-pot", "1").until("/cart", "Reserved until")
	ada.checkout()
	order := strings.TrimPrefix(ada.path, "/orders/")
	body := `{"order": "` + order + `", "receipt": {"id": "mine", "amount": {"minor": 6800, "currency": "EUR"}}}`
	for _, signature := range []string{"", strings.Repeat("0", 64)} {
		req, err := http.NewRequest(http.MethodPost, shop.URL+"/payments/notice", strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("X-Signature", signature)
		if ada.do(req); ada.status != http.StatusForbidden {
			t.Errorf("a notice signed %q is answered %d, want 403", signature, ada.status)
		}
	}
	ada.until("/orders/"+order, "Paid. Thank you!")
	if strings.Contains(ada.text(), "mine") {
		t.Error("the order has the forged receipt")
	}
}

func TestSearchAndCategories(t *testing.T) {
	shop := openShop(t, config{})
	ada := shop.guest(t)
	ada.get("/?q=LINEN").wants(200, "Washed linen apron", "Linen napkins")
	if strings.Contains(ada.text(), "Morning mug") {
		t.Error("a search for linen finds the mug")
	}
	ada.get("/?category=Desk").wants(200, "Jointed desk lamp")
	if strings.Contains(ada.text(), "Morning mug") {
		t.Error("the desk shows the mug")
	}
	ada.get("/?q=%3Cscript%3E").wants(200, "Nothing here is called “<script>”")
}

func TestInMemory(t *testing.T) {
	shop := openShop(t, config{db: "sqlite::memory:"})
	ada := shop.guest(t)
	ada.add("morning-mug", "1").until("/cart", "Reserved until")
	ada.checkout().until("/orders/latest", "Paid. Thank you!")
}

func TestOtherCatalogueOfManyProducts(t *testing.T) {
	c, err := openCatalogue("")
	if err != nil {
		t.Fatal(err)
	}
	one := c.Products[0]
	c.Products = nil
	for i := range 130 {
		one.SKU, one.Name = fmt.Sprint("pan-", i), fmt.Sprint("Pan number ", i)
		c.Products = append(c.Products, one)
	}
	doc, err := json.Marshal(c)
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "pans.json")
	if err := os.WriteFile(path, doc, 0o600); err != nil {
		t.Fatal(err)
	}
	shop := openShop(t, config{catalogue: path})
	ada, boss := shop.guest(t), shop.guest(t)
	ada.get("/").wants(200, "Pan number 0", "Page 1 of 3")
	ada.get("/?page=3").wants(200, "Pan number 129", "Page 3 of 3")
	ada.add("pan-129", "1").until("/cart", "Reserved until")
	boss.signIn().wants(200, "Pan number 59")
	boss.get("/admin?page=2").wants(200, "Pan number 60")
	boss.submit("/admin/restock/pan-60", boss.form("/admin/restock/pan-60"), "qty", "0").wants(422, "A delivery has", "Pan number 60")
	boss.get("/admin?page=2")
	for _, g := range []*guest{ada.get("/"), boss} {
		if n := len(g.tokens()); n > 100 {
			t.Errorf("%s has %d live objects, more than a socket carries", g.path, n)
		}
	}
}

func TestHeaders(t *testing.T) {
	shop := openShop(t, config{})
	for _, path := range []string{"/", "/nowhere", "/assets/x/style.css", "/pictures/morning-mug.svg", "/healthz"} {
		resp, err := http.Get(shop.URL + path)
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
		for name, want := range map[string]string{
			"Content-Security-Policy": "default-src 'self'", "X-Content-Type-Options": "nosniff", "Referrer-Policy": "same-origin",
		} {
			if got := resp.Header.Get(name); got != want {
				t.Errorf("%s: %s = %q, want %q", path, name, got, want)
			}
		}
	}
	resp, err := http.Get(shop.URL + "/")
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	cookie := resp.Header.Get("Set-Cookie")
	if !strings.Contains(cookie, "HttpOnly") || !strings.Contains(cookie, "SameSite=Lax") {
		t.Errorf("the cookie is %q", cookie)
	}
}

func TestSessionsAndStockOutliveARestart(t *testing.T) {
	shop := openShop(t, config{})
	ada := shop.guest(t)
	ada.add("morning-mug", "2").until("/cart", "Reserved until")
	shop.close()
	again := openShop(t, config{db: "sqlite:" + shop.DB})
	ada.client.Jar = moved(t, ada, again.URL)
	ada.shop = again.URL
	ada.get("/cart").wants(200, "Morning mug", "Reserved until")
	ada.get("/product/morning-mug").wants(200, "34 left")
}

// moved is the guest's cookies at another address.
func moved(t *testing.T, g *guest, to string) http.CookieJar {
	t.Helper()
	from, err := url.Parse(g.shop)
	if err != nil {
		t.Fatal(err)
	}
	target, err := url.Parse(to)
	if err != nil {
		t.Fatal(err)
	}
	cookies := g.client.Jar.Cookies(from)
	fresh := (&opened{}).guest(t)
	fresh.client.Jar.SetCookies(target, cookies)
	return fresh.client.Jar
}
