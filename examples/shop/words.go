package main

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/a-h/templ"

	"github.com/lockstep-go/lockstep/views"
)

// Title is the line's product as a person reads it; before the first answer that is made of its SKU.
func (l Line) Title() string {
	if l.Name != "" || l.SKU == "" {
		return l.Name
	}
	words := strings.ReplaceAll(l.SKU, "-", " ")
	return strings.ToUpper(words[:1]) + words[1:]
}

// Word is the line's state in words.
func (l Line) Word() string {
	switch l.State {
	case LinePending:
		return "Asking the shelf…"
	case LineHeld:
		return "Reserved until " + l.Until.Local().Format("15:04")
	case LineRefused:
		return "Not available"
	case LineLapsed:
		return "No longer reserved"
	}
	return ""
}

// line is what the basket has of one product; nothing of it is the zero Line.
func (b Basket) line(sku string) Line {
	for _, l := range b.Lines {
		if l.SKU == sku {
			return l
		}
	}
	return Line{}
}

// Word is the status in a list.
func (s OrderStatus) Word() string {
	return cmp.Or(map[OrderStatus]string{
		OrderPaying: "Paying", OrderPaid: "Paid", OrderDeclined: "Declined", OrderFailed: "Failed",
	}[s], "Reserving")
}

// Title is the status at the top of the order's page.
func (s OrderStatus) Title() string {
	return cmp.Or(map[OrderStatus]string{
		OrderPaying:   "Waiting for the payment service",
		OrderPaid:     "Paid. Thank you!",
		OrderDeclined: "The card was declined",
		OrderFailed:   "The order could not be completed",
	}[s], "We are putting it together")
}

// Explain is the sentence below the title.
func (o Order) Explain() string {
	switch o.Status {
	case OrderPaying:
		return "This page changes by itself as soon as there is an answer. You can close it, too: nothing gets lost."
	case OrderPaid:
		return "We pack " + pieces(o.Pieces()) + " and send a message to " + o.To.Email + " when the parcel leaves."
	case OrderDeclined, OrderFailed:
		return o.Why + " Your goods are on the shelf again; reserve them in the cart to try once more."
	}
	return "The shelves are handing over your goods."
}

func pieces(n int) string {
	if n == 1 {
		return "1 piece"
	}
	return fmt.Sprint(n, " pieces")
}

func leftWords(n int) string {
	if n == 0 {
		return "none left"
	}
	return fmt.Sprint(n, " left")
}

// clock is a time as the shop's lists show it, in the shop's own zone.
func clock(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.Local().Format("2 January, 15:04")
}

func errorTitle(status int) string {
	switch status {
	case http.StatusNotFound:
		return "There is nothing here"
	case http.StatusForbidden:
		return "This is not for you"
	case http.StatusServiceUnavailable:
		return "Back in a moment"
	case http.StatusUnprocessableEntity:
		return "That did not work"
	}
	return "Something went wrong"
}

func picturePath(sku string) string { return "/pictures/" + sku + ".svg" }

// PicturePath is where the product's drawing is.
func (p Product) PicturePath() string { return picturePath(p.SKU) }

func urlQuery(s string) string { return url.QueryEscape(s) }

// wasOr is what was entered into a form that was refused, or what the field says otherwise.
func wasOr(was, otherwise string) string { return cmp.Or(was, otherwise) }

// paging is one page of a long list.
type paging struct{ Number, Pages int }

// perPage keeps a page's live objects below what one socket carries.
const perPage = 60

// page cuts the page that an address asks for out of all.
func page[T any](q url.Values, all []T) ([]T, paging) {
	pages := max(1, (len(all)+perPage-1)/perPage)
	n, err := strconv.Atoi(q.Get("page"))
	if err != nil {
		n = 1
	}
	n = min(max(n, 1), pages)
	return all[(n-1)*perPage : min(n*perPage, len(all))], paging{n, pages}
}

// link is the address of a list.
func (g goods) link(category, search string, page int) templ.SafeURL {
	q := url.Values{}
	if category != "" {
		q.Set("category", category)
	}
	if search != "" {
		q.Set("q", search)
	}
	if page > 1 {
		q.Set("page", strconv.Itoa(page))
	}
	if len(q) == 0 {
		return "/"
	}
	return templ.URL("/?" + q.Encode())
}

// entries are what stands in a form's fields, and what is wrong with them.
type entries struct {
	values   map[string]string
	problems map[string]string
}

// entered reads the form around ctx: empty at first, and after a refusal as it was sent.
func entered(ctx context.Context) entries {
	e := entries{values: map[string]string{}, problems: map[string]string{}}
	for _, name := range []string{"name", "email", "street", "postcode", "city", "country", "card"} {
		e.values[name] = views.Was(ctx, name)
	}
	if e.values["country"] == "" && e.values["card"] == "" {
		return e // both have a choice from the start, so the form was not sent
	}
	sent := Checkout{
		Name: e.values["name"], Email: e.values["email"], Street: e.values["street"], Postcode: e.values["postcode"],
		City: e.values["city"], Country: e.values["country"], Card: e.values["card"],
	}
	for _, p := range sent.trimmed().problems() {
		e.problems[p.Field] = p.Text
	}
	return e
}

// is says whether an option is the one to be shown.
func (e entries) is(name, option, first string) bool {
	return option == cmp.Or(e.values[name], first)
}

// marks ties a field that is wrong to the sentence about it.
func (e entries) marks(name string) templ.Attributes {
	if e.problems[name] == "" {
		return templ.Attributes{}
	}
	return templ.Attributes{"aria-invalid": "true", "aria-describedby": name + "-problem"}
}

// trendText says how the number of free pieces went over the last changes.
func trendText(past []int) string {
	n := len(past)
	if n < 2 {
		return "Nobody has taken one yet."
	}
	if n == 2 {
		return fmt.Sprintf("With the last change from %d to %d left.", past[0], past[1])
	}
	return fmt.Sprintf("Over the last %d changes from %d to %d left.", n-1, past[0], past[n-1])
}
