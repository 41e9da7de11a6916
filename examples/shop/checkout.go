package main

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/base32"
	"fmt"
	"net/mail"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/lockstep-go/lockstep/actors"
)

// Checkout is the form at the end of a cart: where it goes and what pays.
type Checkout struct {
	Name     string `json:"name"`
	Email    string `json:"email"`
	Street   string `json:"street"`
	Postcode string `json:"postcode"`
	City     string `json:"city"`
	Country  string `json:"country"`
	Card     string `json:"card"` // a token of the payment service, never a card's number
}

// Card is one that the payment service knows by a token.
type Card struct{ Token, Label string }

// cards are those of this shop's shoppers, who pay with play money.
var cards = []Card{
	{"tok_visa_4242", "Visa ending 4242 (pays)"},
	{"tok_mastercard_5100", "Mastercard ending 5100 (pays)"},
	{declinedCard, "Visa ending 0002 (the bank declines)"},
}

const declinedCard = "tok_visa_0002"

var countries = []string{"Austria", "Belgium", "Denmark", "Finland", "France", "Germany", "Ireland", "Italy",
	"Luxembourg", "Netherlands", "Portugal", "Spain", "Sweden"}

// trimmed is the form without white space around what was typed.
func (c Checkout) trimmed() Checkout {
	for _, field := range []*string{&c.Name, &c.Email, &c.Street, &c.Postcode, &c.City, &c.Country, &c.Card} {
		*field = strings.TrimSpace(*field)
	}
	return c
}

// problems says what is wrong, by field, in the order of the form.
func (c Checkout) problems() []FieldProblem {
	var all []FieldProblem
	check := func(ok bool, field, text string) {
		if !ok {
			all = append(all, FieldProblem{field, text})
		}
	}
	short := func(s string, longest int) bool { return s != "" && utf8.RuneCountInString(s) <= longest }
	address, err := mail.ParseAddress(c.Email)
	check(short(c.Name, 80), "name", "Tell us who it is for.")
	check(err == nil && address.Address == c.Email && short(c.Email, 120), "email", "Give an e-mail address like ada@example.org.")
	check(short(c.Street, 120), "street", "Give a street and a house number.")
	check(short(c.Postcode, 12), "postcode", "Give a postcode.")
	check(short(c.City, 80), "city", "Give a town.")
	check(slices.Contains(countries, c.Country), "country", "Choose a country that we deliver to.")
	check(slices.ContainsFunc(cards, func(card Card) bool { return card.Token == c.Card }), "card", "Choose a card.")
	return all
}

// FieldProblem is what is wrong with one field of a form.
type FieldProblem struct {
	Field string `json:"field"`
	Text  string `json:"text"`
}

// CheckOut turns a cart whose goods are all held into an order and returns its id. The cart takes no changes until
// the order has ended, so pressing the button twice cannot buy twice.
func (c *Cart) CheckOut(t *actors.Turn[Cart], in Checkout) (string, error) {
	basket := c.Contents()
	switch {
	case c.Paying != "":
		return "", errPaying
	case len(c.Lines) == 0:
		return "", actors.Reject("cart_empty", "Your cart is empty.")
	case !basket.Ready:
		return "", actors.Reject("not_held", "Not everything in your cart is reserved for you. Go back to the cart and have a look.")
	}
	in = in.trimmed()
	if problems := in.problems(); len(problems) > 0 {
		texts := make([]string, len(problems))
		for i, p := range problems {
			texts[i] = p.Text
		}
		return "", actors.RejectWith("address", strings.Join(texts, " "), problems)
	}
	order := PlaceOrder{Cart: t.ID(), Total: basket.Total, To: in}
	for _, l := range c.Lines {
		order.Lines = append(order.Lines, OrderLine{SKU: l.SKU, Name: l.Name, Price: l.Price, Qty: l.Qty})
	}
	id := newOrderID(t.ID())
	Place.Send(t, Orders.Ref(id), order)
	c.Paying, c.Notice = id, ""
	c.Orders = slices.Insert(c.Orders, 0, Purchase{ID: id, Total: basket.Total, Pieces: basket.Pieces, Status: OrderReserving, At: t.Now()})
	c.Orders = c.Orders[:min(len(c.Orders), maxPurchases)]
	return id, nil
}

// Ended takes the news of how an order ended. A paid one empties the cart; after another the goods are on the shelf
// again and the cart can ask for them anew.
func (c *Cart) Ended(t *actors.Turn[Cart], in OrderEnd) (actors.None, error) {
	for i := range c.Orders {
		if c.Orders[i].ID == in.Order {
			c.Orders[i].Status = in.Status
		}
	}
	if c.Paying != in.Order {
		return actors.None{}, nil
	}
	c.Paying = ""
	if in.Status == OrderPaid {
		c.Lines = nil
		return actors.None{}, nil
	}
	c.Notice, c.Over = in.Text, in.Order
	for i := range c.Lines {
		l := &c.Lines[i]
		l.State, l.Note = LineLapsed, "It went back on the shelf when the order ended."
	}
	return actors.None{}, nil
}

// An order's id is a digest of its shopper, a hyphen and a number that cannot be guessed. So the policy knows by the
// id alone whose order it is, and the id does not tell the shopper's.

func newOrderID(shopper string) string {
	var random [10]byte
	_, _ = rand.Read(random[:]) // it never fails
	return ordersOf(shopper) + base32.StdEncoding.EncodeToString(random[:])
}

// ordersOf is what the ids of a shopper's orders begin with.
func ordersOf(shopper string) string {
	sum := sha256.Sum256([]byte("orders of " + shopper))
	return strings.ToLower(base32.HexEncoding.EncodeToString(sum[:15])) + "-"
}

// orderNumber is an order's id as people read it aloud.
func orderNumber(id string) string {
	_, number, _ := strings.Cut(id, "-")
	if len(number) < 8 {
		return id
	}
	return fmt.Sprintf("%s-%s", number[:4], number[4:8])
}
