package main

import (
	"errors"
	"testing"
	"time"

	"github.com/lockstep-go/lockstep/actors"
)

func TestDefinitions(t *testing.T) {
	for _, typ := range []actors.AnyType{Stocks, Carts, Orders, Offices} {
		if err := typ.Definition().Check(); err != nil {
			t.Errorf("%s: %v", typ.Definition().Name, err)
		}
	}
}

func TestIntroducingTwiceDoublesNothing(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.shelf("mug", 5)
		mustSay(w, Add, "alice", AddItem{SKU: "mug", Qty: 2})
		mustSay(w, Introduce, "mug", Introduction{Name: "A better mug", Price: Money{1900, "EUR"}, Quantity: 5})
		s := look(w, Stocks, "mug")
		if s.OnHand != 5 || s.Free() != 3 {
			t.Errorf("on hand %d, free %d; want 5 and 3", s.OnHand, s.Free())
		}
		if s.Name != "A better mug" || s.Price.Minor != 1900 {
			t.Errorf("the catalogue's name and price were not taken over: %q %v", s.Name, s.Price)
		}
	})
}

func TestRestock(t *testing.T) {
	for _, c := range []struct {
		name string
		sku  string
		qty  int
		code string
		free int
	}{
		{"adds", "mug", 7, "", 12},
		{"nothing", "mug", 0, "quantity", 5},
		{"less than nothing", "mug", -3, "quantity", 5},
		{"a shipload", "mug", maxDelivery + 1, "quantity", 5},
		{"of what we do not sell", "ghost", 1, "unknown_product", 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			inWorld(t, func(t *testing.T, w *world) {
				w.shelf("mug", 5)
				_, err := say(w, Restock, c.sku, Delivery{Qty: c.qty})
				wantCode(t, err, c.code)
				if got := look(w, Stocks, c.sku).Free(); got != c.free {
					t.Errorf("free = %d, want %d", got, c.free)
				}
			})
		})
	}
}

func TestShelfIsNeverOversold(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.shelf("mug", 5)
		for _, cart := range []string{"alice", "bob", "carol", "dave"} {
			mustSay(w, Add, cart, AddItem{SKU: "mug", Qty: 2})
			if free := look(w, Stocks, "mug").Free(); free < 0 {
				t.Fatalf("after %s %d are free", cart, free)
			}
		}
		if s := look(w, Stocks, "mug"); s.Free() != 1 || len(s.Held) != 2 {
			t.Errorf("free = %d with %d holds, want 1 with 2", s.Free(), len(s.Held))
		}
	})
}

func TestLapse(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.shelf("mug", 5)
		mustSay(w, Add, "alice", AddItem{SKU: "mug", Qty: 2})
		w.Advance(t, 29*time.Minute)
		if free := look(w, Stocks, "mug").Free(); free != 3 {
			t.Fatalf("after 29 minutes %d are free, want 3", free)
		}
		mustSay(w, Add, "alice", AddItem{SKU: "mug", Qty: 1})      // and half an hour begins anew
		mustSay(w, Lapse, "mug", LapseItem{Cart: "alice", Ask: 1}) // whatever the first alarm says
		w.Advance(t, 29*time.Minute)
		if free := look(w, Stocks, "mug").Free(); free != 2 {
			t.Fatalf("29 minutes after the renewal %d are free, want 2", free)
		}
		w.Advance(t, time.Minute)
		if free := look(w, Stocks, "mug").Free(); free != 5 {
			t.Errorf("after the half hour %d are free, want 5", free)
		}
		if l := look(w, Carts, "alice").Lines[0]; l.State != LineLapsed || l.Qty != 3 {
			t.Errorf("the cart's line is %s with %d, want lapsed with 3", l.State, l.Qty)
		}
	})
}

func TestRefusedIncreaseStillLapses(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.shelf("mug", 2)
		mustSay(w, Add, "alice", AddItem{SKU: "mug", Qty: 2})
		mustSay(w, Add, "alice", AddItem{SKU: "mug", Qty: 1})
		if l := look(w, Carts, "alice").Lines[0]; l.State != LineHeld || l.Qty != 2 || l.Note == "" {
			t.Fatalf("after a refused increase the line is %+v, want held with 2 and a note", l)
		}
		w.Advance(t, holdFor)
		if l := look(w, Carts, "alice").Lines[0]; l.State != LineLapsed {
			t.Errorf("half an hour later the line is %s, want lapsed", l.State)
		}
	})
}

func TestKeepAndSell(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.shelf("mug", 5)
		mustSay(w, Hold, "mug", HoldItem{Cart: "alice", Qty: 2, Ask: 1})
		for range 2 {
			mustSay(w, Keep, "mug", KeepItem{Order: "o1", Cart: "alice", Qty: 2})
		}
		mustSay(w, Hold, "mug", HoldItem{Cart: "alice", Qty: 1, Ask: 2})
		mustSay(w, Keep, "mug", KeepItem{Order: "o1", Cart: "alice", Qty: 2})
		if held := look(w, Stocks, "mug").Held["alice"].Qty; held != 1 {
			t.Fatalf("the cart holds %d, want the 1 it asked for since: a repeated Keep took it", held)
		}
		w.Advance(t, time.Hour)
		if s := look(w, Stocks, "mug"); s.Free() != 3 || s.Kept["o1"] != 2 {
			t.Fatalf("free %d, kept %d; want 3 and 2: what is kept does not lapse", s.Free(), s.Kept["o1"])
		}
		for range 2 {
			mustSay(w, Sell, "mug", OrderItem{Order: "o1"})
		}
		if s := look(w, Stocks, "mug"); s.OnHand != 3 || s.Sold != 2 || s.Free() != 3 {
			t.Errorf("on hand %d, sold %d, free %d; want 3, 2, 3", s.OnHand, s.Sold, s.Free())
		}
	})
}

func TestBackOfficeHearsOfLowShelves(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.shelf("mug", 5)
		if low := look(w, Offices, "main").LowShelves(); len(low) != 0 {
			t.Fatalf("low shelves = %v, want none", low)
		}
		mustSay(w, Add, "alice", AddItem{SKU: "mug", Qty: 3})
		if low := look(w, Offices, "main").LowShelves(); len(low) != 1 || low[0].Left != 2 {
			t.Fatalf("low shelves = %v, want the mug with 2", low)
		}
		mustSay(w, Restock, "mug", Delivery{Qty: 20})
		if low := look(w, Offices, "main").LowShelves(); len(low) != 0 {
			t.Errorf("low shelves = %v, want none again", low)
		}
	})
}

// wantCode checks a refusal's code; "" is no error at all.
func wantCode(t *testing.T, err error, code string) {
	t.Helper()
	got := ""
	if err != nil {
		got = err.Error()
		if r, ok := asRejected(err); ok {
			got = r.Code
		}
	}
	if got != code {
		t.Errorf("refused with %q, want %q", got, code)
	}
}

func asRejected(err error) (*actors.Rejected, bool) {
	return errors.AsType[*actors.Rejected](err)
}
