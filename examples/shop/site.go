package main

import (
	"bytes"
	"crypto/sha256"
	"crypto/subtle"
	"embed"
	"encoding/hex"
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"net/url"
	"path"
	"strings"
	"time"

	"github.com/a-h/templ"
	"github.com/go-chi/chi/v5"
	"github.com/go-chi/chi/v5/middleware"

	"github.com/lockstep-go/lockstep/actors"
	"github.com/lockstep-go/lockstep/realtime"
	"github.com/lockstep-go/lockstep/runtime"
	"github.com/lockstep-go/lockstep/web"
)

// site is the shop's web side.
type site struct {
	catalogue *Catalogue
	rt        *runtime.Runtime
	live      *web.Live
	sessions  *Sessions
	password  [sha256.Size]byte        // digest of the administrator's
	sign      func(body []byte) string // how the payment service proves itself
	log       *slog.Logger
}

// routes is every address of the shop.
func (s *site) routes() http.Handler {
	r := chi.NewRouter()
	r.Use(middleware.Recoverer, headers, http.NewCrossOriginProtection().Handler)
	r.Get("/healthz", s.healthz)
	r.Get("/assets/{digest}/{file}", serveAsset)
	r.Get("/pictures/{sku}.svg", s.picture)
	r.Post("/payments/notice", s.notice)
	r.Group(func(r chi.Router) {
		r.Use(s.sessions.Middleware, s.live.Middleware)
		s.live.Mount(r)
		s.shopRoutes(r)
		s.officeRoutes(r)
		r.NotFound(s.live.Page(func(*http.Request) (templ.Component, error) { return nil, notHere }))
	})
	return r
}

func (s *site) shopRoutes(r chi.Router) {
	r.Get("/", s.live.Page(s.listPage))
	r.Get("/product/{sku}", s.live.Page(s.productPage))
	r.Get("/cart", s.live.Page(s.cartPage))
	r.Get("/checkout", s.live.Page(s.checkoutPage))
	r.Get("/orders", s.live.Page(s.ordersPage))
	r.Get("/orders/latest", s.latestOrder)
	r.Get("/orders/{id}", s.live.Page(s.orderPage))
	r.Post("/cart/add", web.Action(s.live, Add, myCart, web.Answer{NextFor: whereItWas, Next: "/cart", Again: s.whereAdded}))
	r.Post("/cart/change", web.Action(s.live, Change, myCart, web.Answer{Next: "/cart", Again: s.cartPage}))
	r.Post("/cart/remove", web.Action(s.live, Remove, myCart, web.Answer{Next: "/cart", Again: s.cartPage}))
	r.Post("/cart/renew", web.Action(s.live, Renew, myCart, web.Answer{Next: "/cart", Again: s.cartPage}))
	r.Post("/checkout", web.Action(s.live, CheckOut, myCart, web.Answer{Next: "/orders/latest", Again: s.checkoutPage}))
}

func (s *site) officeRoutes(r chi.Router) {
	r.Get("/sign-in", s.live.Page(func(*http.Request) (templ.Component, error) { return signInPage(""), nil }))
	r.Post("/sign-in", s.signIn)
	r.Post("/sign-out", s.signOut)
	r.Get("/admin", s.live.Page(s.officePage))
	r.Post("/admin/payments", web.Action(s.live, SetPayments, theOffice, web.Answer{NextFor: whereItWas, Next: "/admin", Again: s.officePage}))
	r.Post("/admin/restock/{sku}", web.Action(s.live, Restock, theShelf, web.Answer{NextFor: whereItWas, Next: "/admin", Again: s.officePage}))
}

// notHere is an address that nothing is at.
var notHere = web.Fail(http.StatusNotFound, web.CodeNotFound, "It may have been mistyped, or it is no longer in the catalogue.")

func myCart(r *http.Request) (actors.Ref[Cart], error) {
	return Carts.Ref(visitorOf(r.Context()).ID), nil
}

func theOffice(*http.Request) (actors.Ref[Office], error) { return office, nil }

func theShelf(r *http.Request) (actors.Ref[Stock], error) {
	return Stocks.Ref(chi.URLParam(r, "sku")), nil
}

// whereItWas keeps the browser client on the page of the form, which changes by itself. Every other browser goes on to
// Answer.Next.
func whereItWas(r *http.Request, _ any) string {
	from := cameFrom(r)
	if from.Path == "" || r.Header.Get("Lockstep-Action") == "" {
		return ""
	}
	back := url.URL{Path: path.Clean("/" + from.Path), RawQuery: from.RawQuery}
	return back.String()
}

// cameFrom is the page of ours that a form stood on; without a word about it the zero URL.
func cameFrom(r *http.Request) *url.URL {
	if from, err := url.Parse(r.Referer()); err == nil && from.Host == r.Host {
		return from
	}
	return &url.URL{}
}

func (s *site) frame(r *http.Request, title string) frame {
	v := visitorOf(r.Context())
	return frame{Title: title, Cart: Carts.Ref(v.ID), Staff: v.Staff(), Here: r.URL.Path}
}

func (s *site) listPage(r *http.Request) (templ.Component, error) {
	return s.list(r, r.URL.Query()), nil
}

func (s *site) list(r *http.Request, q url.Values) templ.Component {
	g := goods{Categories: s.catalogue.Categories(), Category: q.Get("category"), Search: strings.TrimSpace(q.Get("q"))}
	if len(g.Search) > 80 {
		g.Search = strings.ToValidUTF8(g.Search[:80], "")
	}
	g.Products, g.Page = page(q, s.catalogue.Search(g.Category, g.Search))
	title := "The shop"
	if g.Category != "" {
		title = g.Category
	}
	return listPage(s.frame(r, title), g)
}

func (s *site) productPage(r *http.Request) (templ.Component, error) {
	return s.product(r, chi.URLParam(r, "sku"))
}

func (s *site) product(r *http.Request, sku string) (templ.Component, error) {
	p, ok := s.catalogue.Product(sku)
	if !ok {
		return nil, notHere
	}
	var related []Product
	for _, other := range s.catalogue.Search(p.Category, "") {
		if other.SKU != p.SKU && len(related) < 4 {
			related = append(related, other)
		}
	}
	return productPage(s.frame(r, p.Name), p, related), nil
}

// whereAdded is the page that an add form stands on, for one that was refused.
func (s *site) whereAdded(r *http.Request) (templ.Component, error) {
	from := cameFrom(r)
	if from.Path == "/" {
		return s.list(r, from.Query()), nil
	}
	if sku, ok := strings.CutPrefix(from.Path, "/product/"); ok {
		if _, known := s.catalogue.Product(sku); known {
			return s.product(r, sku)
		}
	}
	return s.product(r, r.PostFormValue("sku"))
}

func (s *site) cartPage(r *http.Request) (templ.Component, error) {
	return cartPage(s.frame(r, "Your cart")), nil
}

func (s *site) checkoutPage(r *http.Request) (templ.Component, error) {
	return checkoutPage(s.frame(r, "Checkout")), nil
}

func (s *site) ordersPage(r *http.Request) (templ.Component, error) {
	return ordersPage(s.frame(r, "My orders")), nil
}

func (s *site) orderPage(r *http.Request) (templ.Component, error) {
	order := Orders.Ref(chi.URLParam(r, "id"))
	state, err := order.Snapshot(r.Context(), s.rt)
	if err != nil {
		return nil, err
	}
	if state.Status == "" && !s.justPlaced(r, order.ID()) {
		return nil, notHere
	}
	return orderPage(s.frame(r, "Order "+orderNumber(order.ID())), order), nil
}

// justPlaced says whether the visitor's cart has placed an order that has not heard of it yet.
func (s *site) justPlaced(r *http.Request, id string) bool {
	cart, err := Carts.Ref(visitorOf(r.Context()).ID).Snapshot(r.Context(), s.rt)
	return err == nil && cart.Paying == id
}

// latestOrder goes on to the order that was placed last.
func (s *site) latestOrder(w http.ResponseWriter, r *http.Request) {
	next := "/orders"
	cart, err := Carts.Ref(visitorOf(r.Context()).ID).Snapshot(r.Context(), s.rt)
	if err == nil && len(cart.Orders) > 0 {
		next += "/" + cart.Orders[0].ID
	}
	w.Header().Set("Cache-Control", "no-store")
	http.Redirect(w, r, next, http.StatusSeeOther)
}

func (s *site) officePage(r *http.Request) (templ.Component, error) {
	q := r.URL.Query()
	if r.Method == http.MethodPost { // a form was refused: the page that it stands on
		q = cameFrom(r).Query()
	}
	products, p := page(q, s.catalogue.Products)
	return officePage(s.frame(r, "Back office"), products, p), nil
}

// signIn lets the administrator in. Comparing digests takes equally long however much of the password is right.
func (s *site) signIn(w http.ResponseWriter, r *http.Request) {
	r.Body = http.MaxBytesReader(w, r.Body, 8<<10)
	given := sha256.Sum256([]byte(r.PostFormValue("password")))
	if subtle.ConstantTimeCompare(given[:], s.password[:]) != 1 {
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		w.Header().Set("Cache-Control", "no-store")
		w.WriteHeader(http.StatusUnprocessableEntity)
		s.show(w, r, signInPage("This is not the password."))
		return
	}
	v := visitorOf(r.Context())
	v.StaffUntil = time.Now().Add(staffAge).UTC().Truncate(time.Second)
	s.goOn(w, r, v, "/admin")
}

// signOut ends the right at once, in pages that are open too.
func (s *site) signOut(w http.ResponseWriter, r *http.Request) {
	v := visitorOf(r.Context())
	v.StaffUntil = time.Time{}
	if err := s.live.Revoke(r.Context(), realtime.Revocation{Session: v.ID}); err != nil {
		s.renderError(w, r, web.Fail(http.StatusInternalServerError, web.CodeInternal, ""))
		return
	}
	s.goOn(w, r, v, "/")
}

func (s *site) goOn(w http.ResponseWriter, r *http.Request, v Visitor, next string) {
	if err := s.sessions.Write(w, r, v); err != nil {
		s.renderError(w, r, web.Fail(http.StatusInternalServerError, web.CodeInternal, ""))
		return
	}
	w.Header().Set("Cache-Control", "no-store")
	http.Redirect(w, r, next, http.StatusSeeOther)
}

// notice takes what the payment service tells by itself, as often as it does: the order knows what it already knows.
func (s *site) notice(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, 16<<10))
	if err != nil {
		http.Error(w, "too much", http.StatusRequestEntityTooLarge)
		return
	}
	if subtle.ConstantTimeCompare([]byte(r.Header.Get("X-Signature")), []byte(s.sign(body))) != 1 {
		http.Error(w, "who are you?", http.StatusForbidden)
		return
	}
	var in Notice
	if err := json.Unmarshal(body, &in); err != nil {
		http.Error(w, "no notice", http.StatusBadRequest)
		return
	}
	if _, err := Confirm.Tell(cashier.in(r.Context()), s.rt, Orders.Ref(in.Order), in.Receipt); err != nil {
		http.Error(w, "later", http.StatusServiceUnavailable)
		return
	}
	w.WriteHeader(http.StatusNoContent)
}

func (s *site) healthz(w http.ResponseWriter, r *http.Request) {
	if !s.rt.Ready() {
		http.Error(w, "starting", http.StatusServiceUnavailable)
		return
	}
	_, _ = io.WriteString(w, "ok\n")
}

// renderError draws the page for a request that cannot be served.
func (s *site) renderError(w http.ResponseWriter, r *http.Request, e *web.Error) {
	text := e.Text
	if e.Status == http.StatusForbidden && strings.HasPrefix(r.URL.Path, "/admin") {
		text = "The back office is the administrator's."
	}
	w.WriteHeader(e.Status)
	s.show(w, r, errorPage(e.Status, text))
}

// show writes a page without anything live, whose status is sent.
func (s *site) show(w http.ResponseWriter, r *http.Request, c templ.Component) {
	var body bytes.Buffer
	if err := c.Render(r.Context(), &body); err != nil {
		s.log.Error("render a page", "error", err)
		return
	}
	_, _ = w.Write(body.Bytes()) // a reader that has gone away is nobody's problem
}

// headers are those of every answer: everything comes from here, and nothing inline runs.
func headers(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		h.Set("Content-Security-Policy", "default-src 'self'")
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("Referrer-Policy", "same-origin")
		next.ServeHTTP(w, r)
	})
}

//go:embed assets
var assets embed.FS

// assetDigest is part of the assets' addresses, so that a browser may keep them for good.
var assetDigest = func() string {
	h := sha256.New()
	for _, name := range []string{"style.css", "icon.svg", "trend.js"} {
		file, err := assets.ReadFile("assets/" + name)
		if err != nil {
			panic(err) // it is embedded
		}
		h.Write(file)
	}
	return hex.EncodeToString(h.Sum(nil)[:6])
}()

func asset(name string) string { return "/assets/" + assetDigest + "/" + name }

func serveAsset(w http.ResponseWriter, r *http.Request) {
	file, err := assets.ReadFile("assets/" + path.Base(chi.URLParam(r, "file")))
	if err != nil {
		http.NotFound(w, r)
		return
	}
	if chi.URLParam(r, "digest") == assetDigest {
		w.Header().Set("Cache-Control", "public, max-age=31536000, immutable")
	}
	http.ServeContent(w, r, chi.URLParam(r, "file"), time.Time{}, bytes.NewReader(file))
}
