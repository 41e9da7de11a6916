package main

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/lockstep-go/lockstep/actors"
	"github.com/lockstep-go/lockstep/runtime"
	"github.com/lockstep-go/lockstep/runtime/runtimetest"
)

// engine runs the shop's actors as the shop does, with its policy and its catalogue. Nobody is charged.
func engine(t *testing.T) *runtimetest.Runtime {
	t.Helper()
	c, err := openCatalogue("")
	if err != nil {
		t.Fatal(err)
	}
	rt := runtimetest.OpenConfig(t, runtime.Config{Types: []actors.AnyType{Stocks, Carts, Orders, Offices}, Policy: policy(c)})
	if err := seed(t.Context(), rt, c); err != nil {
		t.Fatal(err)
	}
	return rt
}

// shopper is a visitor's ctx.
func shopper(t *testing.T, id string) context.Context {
	return context.WithValue(t.Context(), visitorKey{}, Visitor{ID: id})
}

func snapshot[S any](t *testing.T, ctx context.Context, rt actors.Client, ref actors.Ref[S]) S {
	t.Helper()
	state, err := ref.Snapshot(ctx, rt)
	if err != nil {
		t.Fatal(err)
	}
	return state
}

// put adds to a shopper's cart and waits until nothing moves any more.
func put(t *testing.T, rt *runtimetest.Runtime, id, sku string, qty int) {
	t.Helper()
	if _, err := Add.Ask(shopper(t, id), rt, Carts.Ref(id), AddItem{SKU: sku, Qty: qty}); err != nil {
		t.Fatal(err)
	}
	rt.Drain(t)
}

func TestHoldLapsesAfterHalfAnHour(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		rt := engine(t)
		put(t, rt, "alice", "morning-mug", 2)
		if free := snapshot(t, t.Context(), rt, Stocks.Ref("morning-mug")).Free(); free != 34 {
			t.Fatalf("free = %d, want 34", free)
		}
		rt.Advance(t, 31*time.Minute)
		if free := snapshot(t, t.Context(), rt, Stocks.Ref("morning-mug")).Free(); free != 36 {
			t.Errorf("half an hour later %d are free, want 36", free)
		}
		if l := snapshot(t, shopper(t, "alice"), rt, Carts.Ref("alice")).Lines[0]; l.State != LineLapsed {
			t.Errorf("half an hour later the line is %s, want lapsed", l.State)
		}
	})
}

func TestManyBuyersOfFewPieces(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		rt := engine(t)
		buyers := []string{"ann", "ben", "cem", "dora", "eli", "fay", "gus", "hana"}
		for _, id := range buyers { // all at once for the three stools
			go func() {
				if _, err := Add.Ask(shopper(t, id), rt, Carts.Ref(id), AddItem{SKU: "folding-stool", Qty: 1}); err != nil {
					t.Error(err)
				}
			}()
		}
		rt.Drain(t)
		states := map[LineState]int{}
		for _, id := range buyers {
			states[snapshot(t, shopper(t, id), rt, Carts.Ref(id)).Lines[0].State]++
		}
		if states[LineHeld] != 3 || states[LineRefused] != 5 {
			t.Errorf("lines = %v, want 3 held and 5 refused", states)
		}
	})
}

func TestSeedingTwice(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		rt := engine(t)
		put(t, rt, "alice", "morning-mug", 2)
		_, before, err := Stocks.Ref("morning-mug").SnapshotStamp(t.Context(), rt)
		if err != nil {
			t.Fatal(err)
		}
		c, err := openCatalogue("")
		if err != nil {
			t.Fatal(err)
		}
		c.Products[0].Name = "A renamed pan"
		fresh := c.Products[0]
		fresh.SKU, fresh.Quantity = "brand-new", 12
		c.Products = append(c.Products, fresh)
		if err := seed(t.Context(), rt, c); err != nil {
			t.Fatal(err)
		}
		rt.Drain(t)
		if _, after, err := Stocks.Ref("morning-mug").SnapshotStamp(t.Context(), rt); err != nil || after != before {
			t.Errorf("the second start wrote to the mug's shelf: %v, before %v (%v)", after, before, err)
		}
		if s := snapshot(t, t.Context(), rt, Stocks.Ref(c.Products[0].SKU)); s.Name != "A renamed pan" || s.OnHand != 14 {
			t.Errorf("the pan is %q with %d, want it renamed with 14", s.Name, s.OnHand)
		}
		if s := snapshot(t, t.Context(), rt, Stocks.Ref("brand-new")); s.OnHand != 12 {
			t.Errorf("the new product has %d pieces, want 12", s.OnHand)
		}
	})
}

func TestPolicyIsAskedByTheRuntime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		rt := engine(t)
		eve := shopper(t, "eve")
		for name, try := range map[string]func() error{
			"add to another's cart": func() error {
				_, err := Add.Ask(eve, rt, Carts.Ref("alice"), AddItem{SKU: "morning-mug", Qty: 1})
				return err
			},
			"pretend to be a shelf": func() error {
				_, err := Held.Ask(eve, rt, Carts.Ref("eve"), HeldItem{SKU: "morning-mug", Qty: 9})
				return err
			},
			"confirm an own order": func() error {
				_, err := Confirm.Ask(eve, rt, Orders.Ref(newOrderID("eve")), Receipt{})
				return err
			},
			"hold goods by hand": func() error {
				_, err := Hold.Ask(eve, rt, Stocks.Ref("morning-mug"), HoldItem{Cart: "eve", Qty: 9})
				return err
			},
			"restock": func() error {
				_, err := Restock.Ask(eve, rt, Stocks.Ref("morning-mug"), Delivery{Qty: 9})
				return err
			},
			"read another's cart":  func() error { _, err := Carts.Ref("alice").Snapshot(eve, rt); return err },
			"read another's order": func() error { _, err := Orders.Ref(newOrderID("alice")).Snapshot(eve, rt); return err },
			"read the back office": func() error { _, err := office.Snapshot(eve, rt); return err },
			"destroy the own cart": func() error { _, err := Carts.Ref("eve").Destroy(eve, rt); return err },
			"be nobody":            func() error { _, err := Orders.Ref(newOrderID("")).Snapshot(t.Context(), rt); return err },
		} {
			if err := try(); !errors.Is(err, actors.ErrUnauthorized) {
				t.Errorf("to %s: %v, want %v", name, err, actors.ErrUnauthorized)
			}
		}
	})
}
