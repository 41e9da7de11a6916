package main

import (
	"slices"
	"time"

	"github.com/lockstep-go/lockstep/actors"
)

// Order is one purchase from the moment the shopper pressed the button.
type Order struct {
	Cart    string      `json:"cart"`
	Status  OrderStatus `json:"status"` // "" before it was placed
	Lines   []OrderLine `json:"lines"`
	Total   Money       `json:"total"`
	To      Checkout    `json:"to"`
	Placed  time.Time   `json:"placed,omitzero"`
	Settled time.Time   `json:"settled,omitzero"`
	Receipt Receipt     `json:"receipt"`
	Why     string      `json:"why"` // why it came to nothing
}

// OrderLine is one product of an order, at the price of that moment.
type OrderLine struct {
	SKU   string `json:"sku"`
	Name  string `json:"name"`
	Price Money  `json:"price"`
	Qty   int    `json:"qty"`
	Kept  bool   `json:"kept"` // its Stock keeps the goods for this order
}

// OrderStatus is how far an order has come. It only moves forward, and the last three never change again: that is what
// makes a repeated answer of the payment service harmless.
type OrderStatus string

const (
	OrderReserving OrderStatus = "reserving" // the shelves are asked to keep the goods
	OrderPaying    OrderStatus = "paying"    // the payment service is asked
	OrderPaid      OrderStatus = "paid"
	OrderDeclined  OrderStatus = "declined" // the bank said no
	OrderFailed    OrderStatus = "failed"   // no goods, or no answer from the payment service
)

// Over says whether the order has ended.
func (s OrderStatus) Over() bool {
	return s == OrderPaid || s == OrderDeclined || s == OrderFailed
}

type (
	// PlaceOrder is what a cart hands over.
	PlaceOrder struct {
		Cart  string      `json:"cart"`
		Lines []OrderLine `json:"lines"`
		Total Money       `json:"total"`
		To    Checkout    `json:"to"`
	}
	// ShelfAnswer is a Stock's yes or no to keeping goods.
	ShelfAnswer struct {
		SKU string `json:"sku"`
	}
	// ChargeCard is what the payment service is asked for. The effect's id is its idempotency key.
	ChargeCard struct {
		Order  string `json:"order"`
		Amount Money  `json:"amount"`
		Card   string `json:"card"`
	}
	// Receipt is the payment service's proof that money moved.
	Receipt struct {
		ID     string    `json:"id"`
		Amount Money     `json:"amount"`
		At     time.Time `json:"at,omitzero"`
	}
	// VoidCharge takes a charge back, or forbids it where it has not happened yet.
	VoidCharge struct {
		Charge string `json:"charge"` // the charge's idempotency key
	}
)

var (
	Orders = actors.Define("order", func() Order { return Order{} })

	Place    = actors.Message[PlaceOrder, actors.None](Orders, "place")
	Kept     = actors.Message[ShelfAnswer, actors.None](Orders, "kept")
	Gone     = actors.Message[ShelfAnswer, actors.None](Orders, "gone")
	Paid     = actors.Message[actors.Done[ChargeCard, Receipt], actors.None](Orders, "paid")
	Unpaid   = actors.Message[actors.Failed[ChargeCard], actors.None](Orders, "unpaid")
	Confirm  = actors.Message[Receipt, actors.None](Orders, "confirm") // the payment service tells by itself
	Unvoided = actors.Message[actors.Failed[VoidCharge], actors.None](Orders, "unvoided")
	VoidIt   = actors.Message[VoidCharge, actors.None](Orders, "void")

	Charge = actors.Effect[ChargeCard, Receipt](Orders, "charge_card")
	Void   = actors.Effect[VoidCharge, actors.None](Orders, "void_charge")

	Progress = actors.Observable(Orders, "progress", func(o Order) Order { return o })
)

func init() {
	Place.Handle((*Order).Place)
	Kept.Handle((*Order).Kept)
	Gone.Handle((*Order).Gone)
	Paid.Handle((*Order).Paid)
	Unpaid.Handle((*Order).Unpaid)
	Confirm.Handle((*Order).Confirm)
	Unvoided.Handle((*Order).Unvoided)
	VoidIt.Handle((*Order).Void)
	Charge.Done(Paid)
	Charge.Failed(Unpaid)
	Void.Failed(Unvoided)
}

// Place asks every shelf to keep the goods, which a reservation's end could otherwise take away during the payment.
func (o *Order) Place(t *actors.Turn[Order], in PlaceOrder) (actors.None, error) {
	if o.Status != "" {
		return actors.None{}, nil
	}
	o.Cart, o.Lines, o.Total, o.To = in.Cart, in.Lines, in.Total, in.To
	o.Status, o.Placed = OrderReserving, t.Now()
	for _, l := range o.Lines {
		Keep.Send(t, Stocks.Ref(l.SKU), KeepItem{Order: t.ID(), Cart: o.Cart, Qty: l.Qty})
	}
	o.tell(t)
	return actors.None{}, nil
}

// Kept takes a shelf's yes. With the last one the card is charged.
func (o *Order) Kept(t *actors.Turn[Order], in ShelfAnswer) (actors.None, error) {
	if o.Status.Over() { // it ended while this shelf was still looking
		GiveBack.Send(t, Stocks.Ref(in.SKU), OrderItem{Order: t.ID()})
		return actors.None{}, nil
	}
	all := true
	for i := range o.Lines {
		l := &o.Lines[i]
		l.Kept = l.Kept || l.SKU == in.SKU
		all = all && l.Kept
	}
	if all && o.Status == OrderReserving {
		o.Status = OrderPaying
		Charge.Emit(t, ChargeCard{Order: t.ID(), Amount: o.Total, Card: o.To.Card})
		o.tell(t)
	}
	return actors.None{}, nil
}

// Gone takes a shelf's no: the reservation ended at the last moment and somebody else was there.
func (o *Order) Gone(t *actors.Turn[Order], in ShelfAnswer) (actors.None, error) {
	if o.Status != OrderReserving {
		return actors.None{}, nil
	}
	name := in.SKU
	if i := slices.IndexFunc(o.Lines, func(l OrderLine) bool { return l.SKU == in.SKU }); i >= 0 {
		name = o.Lines[i].Name
	}
	o.fail(t, OrderFailed, "Your reservation of “"+name+"” had just ended and somebody else took it. Nothing was charged.")
	return actors.None{}, nil
}

// Paid takes the payment service's yes.
func (o *Order) Paid(t *actors.Turn[Order], in actors.Done[ChargeCard, Receipt]) (actors.None, error) {
	o.pay(t, in.Result)
	return actors.None{}, nil
}

// Confirm takes the yes that the payment service sends by itself, as often as it likes.
func (o *Order) Confirm(t *actors.Turn[Order], in Receipt) (actors.None, error) {
	if in.Amount != o.Total {
		return actors.None{}, actors.Reject("amount", "The receipt is not for this order's amount.")
	}
	o.pay(t, in)
	return actors.None{}, nil
}

// pay ends the order well, once: the guard is its own committed status.
func (o *Order) pay(t *actors.Turn[Order], receipt Receipt) {
	if o.Status != OrderPaying {
		return
	}
	o.Status, o.Receipt, o.Settled = OrderPaid, receipt, t.Now()
	for _, l := range o.Lines {
		Sell.Send(t, Stocks.Ref(l.SKU), OrderItem{Order: t.ID()})
	}
	Ended.Send(t, Carts.Ref(o.Cart), OrderEnd{Order: t.ID(), Status: o.Status})
	o.tell(t)
}

// Unpaid takes the bank's no, or the news that no answer could be had. In the second case money may have moved all the
// same, so the charge is taken back.
func (o *Order) Unpaid(t *actors.Turn[Order], in actors.Failed[ChargeCard]) (actors.None, error) {
	if o.Status != OrderPaying {
		return actors.None{}, nil
	}
	if in.Code == codeDeclined {
		o.fail(t, OrderDeclined, in.Message)
		return actors.None{}, nil
	}
	Void.Emit(t, VoidCharge{Charge: in.EffectID})
	o.fail(t, OrderFailed, "The payment service did not answer. You have not paid anything; if the money had left your account, it is on its way back.")
	return actors.None{}, nil
}

// Unvoided tries again in a minute, for as long as it takes.
func (o *Order) Unvoided(t *actors.Turn[Order], in actors.Failed[VoidCharge]) (actors.None, error) {
	VoidIt.Schedule(t, actors.In(time.Minute), in.Args)
	return actors.None{}, nil
}

// Void takes a charge back.
func (o *Order) Void(t *actors.Turn[Order], in VoidCharge) (actors.None, error) {
	Void.Emit(t, in)
	return actors.None{}, nil
}

func (o *Order) fail(t *actors.Turn[Order], status OrderStatus, why string) {
	o.Status, o.Why, o.Settled = status, why, t.Now()
	for _, l := range o.Lines {
		if l.Kept {
			GiveBack.Send(t, Stocks.Ref(l.SKU), OrderItem{Order: t.ID()})
		}
	}
	Ended.Send(t, Carts.Ref(o.Cart), OrderEnd{Order: t.ID(), Status: status, Text: why})
	o.tell(t)
}

// Pieces is how many pieces were ordered.
func (o Order) Pieces() (n int) {
	for _, l := range o.Lines {
		n += l.Qty
	}
	return n
}

// tell keeps the back office up to date.
func (o *Order) tell(t *actors.Turn[Order]) {
	OrderNews.Send(t, office, OrderRow{
		ID: t.ID(), Customer: o.To.Name, Pieces: o.Pieces(), Total: o.Total, Status: o.Status, At: o.Placed,
	})
}
