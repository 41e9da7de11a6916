package main

import (
	"cmp"
	"slices"
	"time"

	"github.com/lockstep-go/lockstep/actors"
)

// Office is the back office's desk: what orders and shelves reported. There is one.
type Office struct {
	Rows     []OrderRow       `json:"rows"`    // newest first, the last maxRows
	Revenue  Money            `json:"revenue"` // of all paid orders
	Paid     int              `json:"paid"`    // how many those are
	Low      map[string]Shelf `json:"low"`     // shelves with few or no goods, by SKU
	Payments PaymentMode      `json:"payments"`
}

// OrderRow is one order in the back office's list.
type OrderRow struct {
	ID       string      `json:"id"`
	Customer string      `json:"customer"`
	Pieces   int         `json:"pieces"`
	Total    Money       `json:"total"`
	Status   OrderStatus `json:"status"`
	At       time.Time   `json:"at,omitzero"`
}

// Key is what tells a row from the others.
func (r OrderRow) Key() string { return r.ID }

// Shelf is a shelf's report.
type Shelf struct {
	SKU  string `json:"sku"`
	Name string `json:"name"`
	Left int    `json:"left"`
}

// PaymentChoice tells the payment service how to behave.
type PaymentChoice struct {
	Mode PaymentMode `json:"mode"`
}

const maxRows = 60

var (
	Offices = actors.Define("office", func() Office { return Office{Low: map[string]Shelf{}, Payments: PaymentsNormal} })
	office  = Offices.Ref("main")

	OrderNews   = actors.Message[OrderRow, actors.None](Offices, "order_news")
	ShelfNews   = actors.Message[Shelf, actors.None](Offices, "shelf_news")
	SetPayments = actors.Message[PaymentChoice, actors.None](Offices, "set_payments")
	Configure   = actors.Effect[PaymentChoice, actors.None](Offices, "configure_payments")

	Rows       = actors.Observable(Offices, "rows", func(o Office) []OrderRow { return o.Rows })
	Takings    = actors.Observable(Offices, "takings", Office.Takings)
	LowShelves = actors.Observable(Offices, "low_shelves", Office.LowShelves)
	Payments   = actors.Observable(Offices, "payments", func(o Office) PaymentMode { return o.Payments })
)

func init() {
	OrderNews.Handle((*Office).OrderNews)
	ShelfNews.Handle((*Office).ShelfNews)
	SetPayments.Handle((*Office).SetPayments)
}

// Taking is what the shop has earned.
type Taking struct {
	Revenue Money
	Paid    int
	Open    int // orders in the list that have not ended
}

// Takings is what the shop has earned.
func (o Office) Takings() Taking {
	taking := Taking{Revenue: o.Revenue, Paid: o.Paid}
	for _, row := range o.Rows {
		if !row.Status.Over() {
			taking.Open++
		}
	}
	return taking
}

// LowShelves are the shelves with few or no goods, emptiest first.
func (o Office) LowShelves() []Shelf {
	shelves := make([]Shelf, 0, len(o.Low))
	for _, shelf := range o.Low {
		shelves = append(shelves, shelf)
	}
	slices.SortFunc(shelves, func(a, b Shelf) int { return cmp.Or(a.Left-b.Left, cmp.Compare(a.Name, b.Name)) })
	return shelves
}

// OrderNews takes an order's report.
func (o *Office) OrderNews(t *actors.Turn[Office], in OrderRow) (actors.None, error) {
	o.Revenue = o.Revenue.Plus(in.Total.Times(0)) // nothing of a currency is still of it
	if in.Status == OrderPaid {                   // an order reports each of its states once
		o.Paid++
		o.Revenue = o.Revenue.Plus(in.Total)
	}
	if i := slices.IndexFunc(o.Rows, func(r OrderRow) bool { return r.ID == in.ID }); i >= 0 {
		o.Rows[i] = in
		return actors.None{}, nil
	}
	o.Rows = slices.Insert(o.Rows, 0, in)
	o.Rows = o.Rows[:min(len(o.Rows), maxRows)]
	return actors.None{}, nil
}

// ShelfNews takes a shelf's report.
func (o *Office) ShelfNews(t *actors.Turn[Office], in Shelf) (actors.None, error) {
	if in.Left > lowLevel {
		delete(o.Low, in.SKU)
	} else {
		o.Low[in.SKU] = in
	}
	return actors.None{}, nil
}

// SetPayments makes the payment service behave well or badly.
func (o *Office) SetPayments(t *actors.Turn[Office], in PaymentChoice) (actors.None, error) {
	if !in.Mode.Valid() {
		return actors.None{}, actors.Reject("mode", "The payment service does not know this behaviour.")
	}
	if in.Mode != o.Payments {
		o.Payments = in.Mode
		Configure.Emit(t, in)
	}
	return actors.None{}, nil
}
