package main

import (
	"time"

	"github.com/lockstep-go/lockstep/actors"
)

// Stock is one product's shelf: what lies there, who has set goods aside, and what went over the counter. Its id is the
// SKU. Carts and orders talk to it by messages only, and it is the one place that decides who gets the last piece.
type Stock struct {
	Name   string           `json:"name"` // "" until the catalogue introduced the product
	Price  Money            `json:"price"`
	OnHand int              `json:"on_hand"`
	Held   map[string]Claim `json:"held"` // for carts; lapses
	Kept   map[string]int   `json:"kept"` // for orders; stays until paid or given back
	Sold   int              `json:"sold"`
	Told   int              `json:"told"` // what the back office last heard is left, at most lowLevel+1
	Past   []int            `json:"past"` // what was free after each of the last changes, oldest first
}

// Claim is what one cart has set aside.
type Claim struct {
	Qty int `json:"qty"`
	Ask int `json:"ask"` // the cart's number of the request
}

const (
	holdFor     = 30 * time.Minute // how long a cart keeps what it set aside
	lowLevel    = 3                // from here on the back office is told of every change
	maxDelivery = 100_000          // pieces in one delivery
	maxPast     = 40
)

type (
	// Introduction is a product as the catalogue describes it to its shelf.
	Introduction struct {
		Name     string `json:"name"`
		Price    Money  `json:"price"`
		Quantity int    `json:"quantity"`
	}
	// Delivery is new goods for the shelf.
	Delivery struct {
		Qty int `json:"qty"`
	}
	// HoldItem asks for a cart to have Qty pieces set aside, in place of what it had.
	HoldItem struct {
		Cart string `json:"cart"`
		Qty  int    `json:"qty"`
		Ask  int    `json:"ask"`
		Over string `json:"over,omitempty"` // an order of the cart that came to nothing: its goods are free again
	}
	// ReleaseItem gives back what a cart had.
	ReleaseItem struct {
		Cart string `json:"cart"`
	}
	// LapseItem is the alarm of one hold.
	LapseItem struct {
		Cart string `json:"cart"`
		Ask  int    `json:"ask"`
	}
	// KeepItem turns what a cart had set aside into an order's, which does not lapse.
	KeepItem struct {
		Order string `json:"order"`
		Cart  string `json:"cart"`
		Qty   int    `json:"qty"`
	}
	// OrderItem names an order that has goods kept.
	OrderItem struct {
		Order string `json:"order"`
	}
)

var (
	Stocks = actors.Define("stock", func() Stock {
		return Stock{Held: map[string]Claim{}, Kept: map[string]int{}, Told: lowLevel + 1}
	})

	Introduce = actors.Message[Introduction, actors.None](Stocks, "introduce")
	Restock   = actors.Message[Delivery, int](Stocks, "restock")
	Hold      = actors.Message[HoldItem, int](Stocks, "hold")
	Release   = actors.Message[ReleaseItem, actors.None](Stocks, "release")
	Lapse     = actors.Message[LapseItem, actors.None](Stocks, "lapse")
	Keep      = actors.Message[KeepItem, actors.None](Stocks, "keep")
	GiveBack  = actors.Message[OrderItem, actors.None](Stocks, "give_back")
	Sell      = actors.Message[OrderItem, actors.None](Stocks, "sell")

	Free   = actors.Shared(Stocks, "free", Stock.Free)         // the number may travel to everyone
	Levels = actors.Observable(Stocks, "levels", Stock.Levels) // only the news that it changed travels
	Past   = actors.Observable(Stocks, "past", func(s Stock) []int { return s.Past })
)

func init() {
	Introduce.Handle((*Stock).Introduce)
	Restock.Handle((*Stock).Restock)
	Hold.Handle((*Stock).Hold)
	Release.Handle((*Stock).Release)
	Lapse.Handle((*Stock).Lapse)
	Keep.Handle((*Stock).Keep)
	GiveBack.Handle((*Stock).GiveBack)
	Sell.Handle((*Stock).Sell)
}

// Free is what a shopper may still take.
func (s Stock) Free() int { return s.OnHand - s.held() - s.kept() }

func (s Stock) held() (n int) {
	for _, claim := range s.Held {
		n += claim.Qty
	}
	return n
}

func (s Stock) kept() (n int) {
	for _, qty := range s.Kept {
		n += qty
	}
	return n
}

// Level is a shelf as the back office sees it.
type Level struct {
	OnHand, Held, Kept, Free, Sold int
}

// Levels is the shelf for the back office.
func (s Stock) Levels() Level {
	return Level{OnHand: s.OnHand, Held: s.held(), Kept: s.kept(), Free: s.Free(), Sold: s.Sold}
}

// Introduce puts a product's first goods on the shelf, once in its life; later it only takes over name and price.
func (s *Stock) Introduce(t *actors.Turn[Stock], in Introduction) (actors.None, error) {
	if s.Name == "" {
		s.OnHand += in.Quantity
	}
	s.Name, s.Price = in.Name, in.Price
	s.tell(t)
	return actors.None{}, nil
}

// Restock adds delivered goods and returns what is free now.
func (s *Stock) Restock(t *actors.Turn[Stock], in Delivery) (int, error) {
	switch {
	case s.Name == "":
		return 0, actors.Reject("unknown_product", "The catalogue does not have this product.")
	case in.Qty < 1 || in.Qty > maxDelivery:
		return 0, actors.Reject("quantity", "A delivery has 1 to 100,000 pieces.")
	}
	s.OnHand += in.Qty
	s.tell(t)
	return s.Free(), nil
}

// Hold sets goods aside for one cart, lets them lapse after half an hour, and tells the cart how it went.
func (s *Stock) Hold(t *actors.Turn[Stock], in HoldItem) (int, error) {
	delete(s.Kept, in.Over) // the cart may have heard of the order's end before this shelf did
	had := s.Held[in.Cart]
	if s.Name == "" || in.Qty < 1 || in.Qty-had.Qty > s.Free() {
		// The cart hears it by a message: a Reject would reach only somebody who asked.
		SoldOut.Send(t, Carts.Ref(in.Cart), Refusal{SKU: t.ID(), Ask: in.Ask, Holds: had, Left: s.Free() + had.Qty})
		return s.Free(), nil
	}
	s.Held[in.Cart] = Claim{Qty: in.Qty, Ask: in.Ask}
	alarm := LapseItem{Cart: in.Cart, Ask: in.Ask}
	Lapse.Schedule(t, actors.In(holdFor), alarm, actors.Key(in.Cart)) // one alarm for each cart
	Held.Send(t, Carts.Ref(in.Cart), HeldItem{
		SKU: t.ID(), Ask: in.Ask, Name: s.Name, Price: s.Price, Qty: in.Qty, Until: t.Now().Add(holdFor),
	})
	s.tell(t)
	return s.Free(), nil
}

// Release puts back what a cart had set aside.
func (s *Stock) Release(t *actors.Turn[Stock], in ReleaseItem) (actors.None, error) {
	delete(s.Held, in.Cart)
	Lapse.Cancel(t, actors.Key(in.Cart))
	s.tell(t)
	return actors.None{}, nil
}

// Lapse puts back what a cart had for half an hour. A hold that was renewed since has an alarm of its own.
func (s *Stock) Lapse(t *actors.Turn[Stock], in LapseItem) (actors.None, error) {
	if claim, ok := s.Held[in.Cart]; !ok || claim.Ask != in.Ask {
		return actors.None{}, nil
	}
	delete(s.Held, in.Cart)
	Lapsed.Send(t, Carts.Ref(in.Cart), LapsedItem{SKU: t.ID(), Ask: in.Ask})
	s.tell(t)
	return actors.None{}, nil
}

// Keep moves goods from a cart to its order, even when the hold has just lapsed and nobody took them.
func (s *Stock) Keep(t *actors.Turn[Stock], in KeepItem) (actors.None, error) {
	if _, again := s.Kept[in.Order]; again {
		return actors.None{}, nil
	}
	if in.Qty < 1 || in.Qty > s.Held[in.Cart].Qty+s.Free() {
		Gone.Send(t, Orders.Ref(in.Order), ShelfAnswer{SKU: t.ID()})
		return actors.None{}, nil
	}
	delete(s.Held, in.Cart)
	Lapse.Cancel(t, actors.Key(in.Cart))
	s.Kept[in.Order] = in.Qty
	Kept.Send(t, Orders.Ref(in.Order), ShelfAnswer{SKU: t.ID()})
	s.tell(t)
	return actors.None{}, nil
}

// GiveBack puts an order's goods back on the shelf.
func (s *Stock) GiveBack(t *actors.Turn[Stock], in OrderItem) (actors.None, error) {
	delete(s.Kept, in.Order)
	s.tell(t)
	return actors.None{}, nil
}

// Sell takes an order's goods off the shelf. What was sold is no longer kept, so a second time does nothing.
func (s *Stock) Sell(t *actors.Turn[Stock], in OrderItem) (actors.None, error) {
	qty := s.Kept[in.Order]
	delete(s.Kept, in.Order)
	s.OnHand -= qty
	s.Sold += qty
	s.tell(t)
	return actors.None{}, nil
}

// tell notes what is free now, and reports a shelf that is low, was low, or stopped being so to the back office; nothing
// twice.
func (s *Stock) tell(t *actors.Turn[Stock]) {
	if n := len(s.Past); n == 0 || s.Past[n-1] != s.Free() {
		s.Past = append(s.Past, s.Free())
		s.Past = s.Past[max(0, len(s.Past)-maxPast):]
	}
	left := min(s.Free(), lowLevel+1)
	if left == s.Told {
		return
	}
	s.Told = left
	ShelfNews.Send(t, office, Shelf{SKU: t.ID(), Name: s.Name, Left: left})
}
