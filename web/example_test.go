package web_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"

	"github.com/a-h/templ"
	"github.com/go-chi/chi/v5"

	"github.com/lockstep-go/lockstep/actors"
	"github.com/lockstep-go/lockstep/runtime"
	"github.com/lockstep-go/lockstep/runtime/store/sqlite"
	"github.com/lockstep-go/lockstep/views/testdata/fixture"
	"github.com/lockstep-go/lockstep/web"
)

// A shop with one page and one form. A program would end with live.Serve(ctx, addr, r).
func Example() {
	ctx := context.Background()
	db, err := sqlite.Open(ctx, ":memory:")
	if err != nil {
		panic(err)
	}
	defer db.Close()
	rt, err := runtime.Open(ctx, db, runtime.Config{
		Types:  []actors.AnyType{fixture.Carts, fixture.Stocks},
		Policy: actors.InsecureAllowAll(),
	})
	if err != nil {
		panic(err)
	}
	defer rt.Close()
	live, err := web.New(rt, web.Config{Keys: [][]byte{[]byte("32 random bytes of your own, here")}})
	if err != nil {
		panic(err)
	}
	cartPage := func(*http.Request) (templ.Component, error) { return fixture.CartPage(fixture.Carts.Ref("mine")), nil }
	myCart := func(*http.Request) (actors.Ref[fixture.Cart], error) { return fixture.Carts.Ref("mine"), nil }
	r := chi.NewRouter()
	r.Use(live.Middleware)
	live.Mount(r)
	r.Get("/cart", live.Page(cartPage))
	r.Post("/cart/add", web.Action(live, fixture.Add, myCart, web.Answer{Next: "/cart", Again: cartPage}))

	add := httptest.NewRequest("POST", "https://shop.example/cart/add", strings.NewReader("sku=mug&qty=2"))
	add.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	add.Header.Set("Origin", "https://shop.example")
	answer := httptest.NewRecorder()
	r.ServeHTTP(answer, add)
	fmt.Println(answer.Code, answer.Header().Get("Location"))

	page := httptest.NewRecorder()
	r.ServeHTTP(page, httptest.NewRequest("GET", "https://shop.example/cart", nil))
	_, rest, _ := strings.Cut(page.Body.String(), "In your cart: ")
	fmt.Println(page.Code, page.Header().Get("Cache-Control"), strings.Contains(rest, ">2</span>"))
	// Output:
	// 303 /cart
	// 200 private, no-store true
}
