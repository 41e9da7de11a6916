package main

import (
	"fmt"
	"slices"
	"time"

	"github.com/lockstep-go/lockstep/actors"
)

// Cart is one shopper's cart; its id is the shopper's. It asks the Stocks for goods and believes only their answers.
type Cart struct {
	Lines  []Line     `json:"lines"`
	Asks   int        `json:"asks"`   // numbers its requests, so that it knows a late answer as one
	Paying string     `json:"paying"` // the order that is being paid, or ""
	Notice string     `json:"notice"` // why the last order came to nothing, or ""
	Over   string     `json:"over"`   // that order
	Orders []Purchase `json:"orders"` // newest first
}

// Line is one product in a cart.
type Line struct {
	SKU   string    `json:"sku"`
	Name  string    `json:"name"`  // known from the first answer on
	Price Money     `json:"price"` // likewise
	Qty   int       `json:"qty"`   // wanted
	State LineState `json:"state"`
	Note  string    `json:"note"`  // what the shopper should know about it
	Ask   int       `json:"ask"`   // the request whose answer counts
	Until time.Time `json:"until"` // where it is held: when that ends
}

// LineState says what the Stock answered.
type LineState string

const (
	LinePending LineState = "pending" // asked, no answer yet
	LineHeld    LineState = "held"
	LineRefused LineState = "refused"
	LineLapsed  LineState = "lapsed" // was held, is no longer
)

// Purchase is an order as its shopper's list shows it.
type Purchase struct {
	ID     string      `json:"id"`
	Total  Money       `json:"total"`
	Pieces int         `json:"pieces"`
	Status OrderStatus `json:"status"`
	At     time.Time   `json:"at"`
}

const (
	maxLines     = 40
	maxPurchases = 50
)

type (
	// AddItem puts Qty more of a product into the cart.
	AddItem struct {
		SKU string `json:"sku"`
		Qty int    `json:"qty"`
	}
	// ChangeItem makes it Qty, and asks again where the last answer was no.
	ChangeItem struct {
		SKU string `json:"sku"`
		Qty int    `json:"qty"`
	}
	// RemoveItem takes a product out.
	RemoveItem struct {
		SKU string `json:"sku"`
	}
	// HeldItem is a Stock's yes.
	HeldItem struct {
		SKU   string    `json:"sku"`
		Ask   int       `json:"ask"`
		Name  string    `json:"name"`
		Price Money     `json:"price"`
		Qty   int       `json:"qty"`
		Until time.Time `json:"until"`
	}
	// Refusal is a Stock's no.
	Refusal struct {
		SKU   string `json:"sku"`
		Ask   int    `json:"ask"`
		Holds Claim  `json:"holds"` // set aside for this cart before, and still
		Left  int    `json:"left"`  // the most that it could have
	}
	// LapsedItem says that a hold has ended.
	LapsedItem struct {
		SKU string `json:"sku"`
		Ask int    `json:"ask"`
	}
	// OrderEnd says how an order of this cart ended.
	OrderEnd struct {
		Order  string      `json:"order"`
		Status OrderStatus `json:"status"`
		Text   string      `json:"text"`
	}
)

var (
	Carts = actors.Define("cart", func() Cart { return Cart{} })

	Add      = actors.Message[AddItem, int](Carts, "add")
	Change   = actors.Message[ChangeItem, int](Carts, "change")
	Remove   = actors.Message[RemoveItem, int](Carts, "remove")
	Renew    = actors.Bare(Carts, "renew") // asks again for everything that lapsed
	CheckOut = actors.Message[Checkout, string](Carts, "check_out")
	Held     = actors.Message[HeldItem, actors.None](Carts, "held")
	SoldOut  = actors.Message[Refusal, actors.None](Carts, "sold_out")
	Lapsed   = actors.Message[LapsedItem, actors.None](Carts, "lapsed")
	Ended    = actors.Message[OrderEnd, actors.None](Carts, "ended")

	Count     = actors.Shared(Carts, "count", Cart.Count)
	Contents  = actors.Observable(Carts, "contents", Cart.Contents)
	CartRows  = actors.Observable(Carts, "rows", Cart.Rows)
	Purchases = actors.Observable(Carts, "purchases", func(c Cart) []Purchase { return c.Orders })
)

func init() {
	Add.Handle((*Cart).Add)
	Change.Handle((*Cart).Change)
	Remove.Handle((*Cart).Remove)
	Renew.Handle((*Cart).Renew)
	CheckOut.Handle((*Cart).CheckOut)
	Held.Handle((*Cart).Held)
	SoldOut.Handle((*Cart).SoldOut)
	Lapsed.Handle((*Cart).Lapsed)
	Ended.Handle((*Cart).Ended)
}

// Count is how many pieces are in the cart, apart from those the shop does not have.
func (c Cart) Count() (n int) {
	for _, l := range c.Lines {
		if l.State != LineRefused {
			n += l.Qty
		}
	}
	return n
}

// Basket is a cart as its pages show it.
type Basket struct {
	Lines  []Line
	Total  Money // of what is held or asked for
	Pieces int   // likewise
	Lapsed bool  // something has lapsed
	Ready  bool  // everything is held, so it can be bought
	Paying string
	Notice string
}

// CartRow is a line as the cart's page shows it.
type CartRow struct {
	Line   Line
	Paying bool // nothing can be changed
}

// Key is what tells a row from the others.
func (r CartRow) Key() string { return r.Line.SKU }

// Rows are the cart's lines for its page.
func (c Cart) Rows() []CartRow {
	rows := make([]CartRow, len(c.Lines))
	for i, l := range c.Lines {
		rows[i] = CartRow{l, c.Paying != ""}
	}
	return rows
}

// Contents is the cart for its pages.
func (c Cart) Contents() Basket {
	b := Basket{Lines: c.Lines, Ready: len(c.Lines) > 0, Paying: c.Paying, Notice: c.Notice}
	for _, l := range c.Lines {
		b.Total = b.Total.Plus(l.Price.Times(0)) // nothing of a currency is still of it
		switch l.State {
		case LineHeld, LinePending:
			b.Total = b.Total.Plus(l.Price.Times(l.Qty))
			b.Pieces += l.Qty
		case LineLapsed:
			b.Lapsed = true
		}
		b.Ready = b.Ready && l.State == LineHeld
	}
	return b
}

// Add asks the product's Stock for more of it and returns how many pieces the cart then wants.
func (c *Cart) Add(t *actors.Turn[Cart], in AddItem) (int, error) {
	if err := c.open(in.SKU, in.Qty); err != nil {
		return 0, err
	}
	i := c.line(in.SKU)
	switch {
	case i < 0 && len(c.Lines) == maxLines:
		return 0, actors.Reject("cart_full", fmt.Sprintf("A cart holds at most %d different things.", maxLines))
	case i < 0:
		c.Lines = append(c.Lines, Line{SKU: in.SKU})
		i = len(c.Lines) - 1
	case c.Lines[i].State == LineRefused || c.Lines[i].State == LineLapsed:
		c.Lines[i].Qty = 0
	}
	l := &c.Lines[i]
	if l.Qty+in.Qty > maxQuantity {
		return 0, actors.Reject("quantity", fmt.Sprintf("A cart holds at most %d of one thing, and yours has %d.", maxQuantity, l.Qty))
	}
	c.ask(t, l, l.Qty+in.Qty)
	return c.Count(), nil
}

// Change asks for another quantity.
func (c *Cart) Change(t *actors.Turn[Cart], in ChangeItem) (int, error) {
	if err := c.open(in.SKU, in.Qty); err != nil {
		return 0, err
	}
	i := c.line(in.SKU)
	if i < 0 {
		return 0, actors.Reject("not_in_cart", "This is no longer in your cart.")
	}
	if l := &c.Lines[i]; l.Qty != in.Qty || l.State != LineHeld || l.Note != "" {
		c.ask(t, l, in.Qty)
	}
	return c.Count(), nil
}

// Remove takes a product out and gives it back.
func (c *Cart) Remove(t *actors.Turn[Cart], in RemoveItem) (int, error) {
	if c.Paying != "" {
		return 0, errPaying
	}
	if i := c.line(in.SKU); i >= 0 {
		c.Lines = slices.Delete(c.Lines, i, i+1)
		Release.Send(t, Stocks.Ref(in.SKU), ReleaseItem{Cart: t.ID()})
	}
	return c.Count(), nil
}

// Renew asks again for all that has lapsed.
func (c *Cart) Renew(t *actors.Turn[Cart]) error {
	if c.Paying != "" {
		return errPaying
	}
	for i := range c.Lines {
		if l := &c.Lines[i]; l.State == LineLapsed {
			c.ask(t, l, l.Qty)
		}
	}
	return nil
}

// Held takes a Stock's yes.
func (c *Cart) Held(t *actors.Turn[Cart], in HeldItem) (actors.None, error) {
	if l := c.answered(in.SKU, in.Ask); l != nil {
		l.Name, l.Price, l.Qty = in.Name, in.Price, in.Qty
		l.State, l.Until, l.Note = LineHeld, in.Until, ""
	}
	return actors.None{}, nil
}

// SoldOut takes a Stock's no: what the cart had before, it keeps.
func (c *Cart) SoldOut(t *actors.Turn[Cart], in Refusal) (actors.None, error) {
	l := c.answered(in.SKU, in.Ask)
	switch {
	case l == nil:
	case in.Holds.Qty > 0:
		l.State, l.Note = LineHeld, fmt.Sprintf("You wanted %d, but there are no more than %d. You still have your %d.", l.Qty, in.Left, in.Holds.Qty)
		l.Qty, l.Ask = in.Holds.Qty, in.Holds.Ask
	case in.Left > 0:
		l.State, l.Note = LineRefused, fmt.Sprintf("You wanted %d, but only %d left. Ask for fewer, or take it out.", l.Qty, in.Left)
	default:
		l.State, l.Note = LineRefused, "Sold out: somebody else was a moment faster and has the last one."
	}
	return actors.None{}, nil
}

// Lapsed takes the news that a hold has ended.
func (c *Cart) Lapsed(t *actors.Turn[Cart], in LapsedItem) (actors.None, error) {
	if l := c.answered(in.SKU, in.Ask); l != nil && c.Paying == "" {
		l.State, l.Note = LineLapsed, "We kept it for you for 30 minutes; it is on the shelf again."
	}
	return actors.None{}, nil
}

var errPaying = actors.Reject("paying", "Your order is being paid just now. Wait for the answer, then go on.")

// open says whether the cart takes a change of one product.
func (c *Cart) open(sku string, qty int) error {
	switch {
	case c.Paying != "":
		return errPaying
	case !skuFormat.MatchString(sku):
		return actors.Reject("unknown_product", "We do not sell this.")
	case qty < 1 || qty > maxQuantity:
		return actors.Reject("quantity", fmt.Sprintf("Choose a quantity from 1 to %d.", maxQuantity))
	}
	return nil
}

func (c *Cart) line(sku string) int {
	return slices.IndexFunc(c.Lines, func(l Line) bool { return l.SKU == sku })
}

// answered is the line that waits for, or lives by, this answer; nil for one that came too late.
func (c *Cart) answered(sku string, ask int) *Line {
	if i := c.line(sku); i >= 0 && c.Lines[i].Ask == ask {
		return &c.Lines[i]
	}
	return nil
}

func (c *Cart) ask(t *actors.Turn[Cart], l *Line, qty int) {
	c.Asks++
	l.Ask, l.Qty, l.State, l.Note = c.Asks, qty, LinePending, ""
	c.Notice = ""
	Hold.Send(t, Stocks.Ref(l.SKU), HoldItem{Cart: t.ID(), Qty: qty, Ask: l.Ask, Over: c.Over})
}
