package main

import (
	"context"
	"errors"
	"strings"

	"github.com/lockstep-go/lockstep/actors"
)

// errNotYours is why a policy says no.
var errNotYours = errors.New("not yours")

type insiderKey struct{}

// insider is the part of the program itself that is asking: no request can pretend to be one.
type insider string

const (
	seeder   insider = "seeder"   // puts the catalogue on the shelves
	cashier  insider = "cashier"  // brings what the payment service tells by itself
	operator insider = "operator" // runs shop admin on the shop's own machine
)

func (i insider) in(ctx context.Context) context.Context {
	return context.WithValue(ctx, insiderKey{}, i)
}

func insiderOf(ctx context.Context) insider {
	i, _ := ctx.Value(insiderKey{}).(insider)
	return i
}

// policy says who may do what. A shopper has one cart and the orders that came out of it, everybody sees how much is
// left, and the back office is the administrator's. What it does not name is refused.
func policy(c *Catalogue) actors.Policy {
	return actors.Policy{
		Message:   func(ctx context.Context, r actors.Request) error { return allow(mayTell(ctx, c, r)) },
		Query:     func(ctx context.Context, r actors.Request) error { return allow(maySee(ctx, r)) },
		Subscribe: func(ctx context.Context, r actors.Request) error { return allow(maySee(ctx, r)) },
		Administer: func(ctx context.Context, _ actors.AdminRequest) error {
			return allow(insiderOf(ctx) == operator)
		},
	}
}

func allow(yes bool) error {
	if yes {
		return nil
	}
	return errNotYours
}

func mayTell(ctx context.Context, c *Catalogue, r actors.Request) bool {
	visitor := visitorOf(ctx)
	switch r.Type {
	case Carts.Name():
		return r.ID == visitor.ID && mayShop(c, r)
	case Stocks.Name():
		return r.Operation == Introduce.Name() && insiderOf(ctx) == seeder ||
			r.Operation == Restock.Name() && visitor.Staff()
	case Orders.Name():
		return r.Operation == Confirm.Name() && insiderOf(ctx) == cashier
	case Offices.Name():
		return r.Operation == SetPayments.Name() && (visitor.Staff() || insiderOf(ctx) == seeder)
	}
	return false
}

// mayShop says whether a shopper may send this to the own cart: the answers of Stocks and Orders come from inside.
func mayShop(c *Catalogue, r actors.Request) bool {
	switch r.Operation {
	case Add.Name():
		in, ok := r.Input.(AddItem)
		_, known := c.Product(in.SKU)
		return ok && known // so that no stranger makes shelves for what we do not sell
	case Change.Name(), Remove.Name(), Renew.Name(), CheckOut.Name():
		return true
	}
	return false
}

func maySee(ctx context.Context, r actors.Request) bool {
	visitor := visitorOf(ctx)
	switch r.Type {
	case Stocks.Name():
		return true
	case Carts.Name():
		return r.ID == visitor.ID
	case Orders.Name():
		return visitor.Staff() || visitor.ID != "" && strings.HasPrefix(r.ID, ordersOf(visitor.ID))
	case Offices.Name():
		return visitor.Staff() || insiderOf(ctx) == seeder
	}
	return false
}
