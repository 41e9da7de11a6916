package main

import (
	"net/url"
	"testing"

	"github.com/lockstep-go/lockstep/web/webtest"
)

// Two visitors look at one product: what one takes, the other sees leave the shelf, and the cart in the head of every page
// of the first one counts it. No browser is needed for that.
func TestPagesFollowEachOther(t *testing.T) {
	site := webtest.At(t, openShop(t, config{}).URL)
	ada, eve := site.Visitor(), site.Visitor()
	shelf, cart, other := ada.Get("/product/morning-mug"), ada.Get("/cart"), eve.Get("/product/morning-mug")
	shelf.Submit("form.buy", url.Values{"qty": {"2"}})
	cart.Wait("#line-morning-mug .state") // that page belongs to the same visitor
	cart.Equal()
	other.Equal() // eve's page shows the shelf as it is now
}
