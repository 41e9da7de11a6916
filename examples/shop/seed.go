package main

import (
	"context"
	"fmt"

	"github.com/lockstep-go/lockstep/actors"
)

// seed puts the catalogue on the shelves before the shop opens. A shelf that already has its product, name and price
// gets no message, so a second start changes nothing; a product that is new in the file gets its shelf.
func seed(ctx context.Context, rt actors.Client, c *Catalogue) error {
	ctx = seeder.in(ctx)
	for _, p := range c.Products {
		shelf := Stocks.Ref(p.SKU)
		stock, err := shelf.Snapshot(ctx, rt)
		if err != nil {
			return fmt.Errorf("read the shelf of %s: %w", p.SKU, err)
		}
		if stock.Name == p.Name && stock.Price == p.Price {
			continue
		}
		in := Introduction{Name: p.Name, Price: p.Price, Quantity: p.Quantity}
		if _, err := Introduce.Ask(ctx, rt, shelf, in); err != nil {
			return fmt.Errorf("introduce %s: %w", p.SKU, err)
		}
	}
	return nil
}

// choosePayments says how the payment service is to behave: as chosen, or as the back office left it.
func choosePayments(ctx context.Context, rt actors.Client, chosen PaymentMode) (PaymentMode, error) {
	ctx = seeder.in(ctx)
	if chosen != "" {
		if _, err := SetPayments.Ask(ctx, rt, office, PaymentChoice{Mode: chosen}); err != nil {
			return "", fmt.Errorf("choose payments: %w", err)
		}
		return chosen, nil
	}
	desk, err := office.Snapshot(ctx, rt)
	if err != nil {
		return "", fmt.Errorf("read the back office: %w", err)
	}
	return desk.Payments, nil
}
