package main

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/lockstep-go/lockstep/actors"
)

func TestAdd(t *testing.T) {
	for _, c := range []struct {
		name  string
		adds  []AddItem
		code  string // of the last one
		count int
	}{
		{"one", []AddItem{{"mug", 1}}, "", 1},
		{"twice the same", []AddItem{{"mug", 1}, {"mug", 2}}, "", 3},
		{"none", []AddItem{{"mug", 0}}, "quantity", 0},
		{"less than none", []AddItem{{"mug", -1}}, "quantity", 0},
		{"too many at once", []AddItem{{"mug", 100}}, "quantity", 0},
		{"too many in all", []AddItem{{"mug", 99}, {"mug", 1}}, "quantity", 99},
		{"no product's name", []AddItem{{"../etc", 1}}, "unknown_product", 0},
		{"not in the catalogue", []AddItem{{"ghost", 1}}, "", 0}, // its empty shelf refuses
	} {
		t.Run(c.name, func(t *testing.T) {
			inWorld(t, func(t *testing.T, w *world) {
				w.shelf("mug", 200)
				var err error
				for _, in := range c.adds {
					_, err = say(w, Add, "alice", in)
				}
				wantCode(t, err, c.code)
				if got := look(w, Carts, "alice").Count(); got != c.count {
					t.Errorf("count = %d, want %d", got, c.count)
				}
			})
		})
	}
}

func TestLineIsPendingUntilTheAnswer(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.shelf("mug", 3)
		resume := w.pause("mug")
		mustSay(w, Add, "alice", AddItem{SKU: "mug", Qty: 2})
		if l := look(w, Carts, "alice").Lines[0]; l.State != LinePending {
			t.Errorf("before the answer the line is %s, want pending", l.State)
		}
		resume()
		b := look(w, Carts, "alice").Contents()
		if l := b.Lines[0]; l.State != LineHeld || !l.Until.Equal(time.Now().Add(holdFor)) {
			t.Errorf("after the answer the line is %+v, want held for half an hour", l)
		}
		if !b.Ready || b.Total.String() != "€25.00" {
			t.Errorf("ready %v, total %v; want true and €25.00", b.Ready, b.Total)
		}
	})
}

func TestTwoBuyersOfTheLastPiece(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.shelf("mug", 1)
		for _, cart := range []string{"alice", "bob"} {
			leave(w, Add, cart, AddItem{SKU: "mug", Qty: 1}) // one is at it while the other comes
		}
		w.Drain(t)
		lines := map[LineState]Line{}
		for _, cart := range []string{"alice", "bob"} {
			l := look(w, Carts, cart).Lines[0]
			lines[l.State] = l
			if _, err := say(w, CheckOut, cart, ada()); l.State == LineRefused {
				wantCode(t, err, "not_held")
			}
		}
		if _, one := lines[LineHeld]; !one || !strings.Contains(lines[LineRefused].Note, "Sold out") {
			t.Errorf("the lines are %+v, want one held and one sold out", lines)
		}
		w.charge().Succeed(Receipt{ID: "rcpt_1", Amount: Money{1250, "EUR"}})
		if s := look(w, Stocks, "mug"); s.Sold != 1 || s.OnHand != 0 {
			t.Errorf("sold %d, on hand %d; want 1 and 0", s.Sold, s.OnHand)
		}
	})
}

func TestAnswerThatCameTooLate(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.shelf("mug", 10)
		w.pause("mug")
		for _, qty := range []int{2, 5} {
			mustSay(w, Add, "alice", AddItem{SKU: "mug", Qty: qty})
		}
		mustSay(w, Held, "alice", HeldItem{SKU: "mug", Ask: 1, Qty: 2})
		if l := look(w, Carts, "alice").Lines[0]; l.Qty != 7 || l.State != LinePending {
			t.Errorf("the line is %s with %d, want pending with 7: the answer to the first request no longer counts", l.State, l.Qty)
		}
	})
}

func TestChangeAndRemove(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.shelf("mug", 5)
		mustSay(w, Add, "alice", AddItem{SKU: "mug", Qty: 2})
		mustSay(w, Change, "alice", ChangeItem{SKU: "mug", Qty: 4})
		if free := look(w, Stocks, "mug").Free(); free != 1 {
			t.Errorf("free = %d, want 1", free)
		}
		mustSay(w, Change, "alice", ChangeItem{SKU: "mug", Qty: 1})
		if free := look(w, Stocks, "mug").Free(); free != 4 {
			t.Errorf("free = %d, want 4", free)
		}
		_, err := say(w, Change, "alice", ChangeItem{SKU: "mug", Qty: 0})
		wantCode(t, err, "quantity")
		_, err = say(w, Change, "alice", ChangeItem{SKU: "spoon", Qty: 1})
		wantCode(t, err, "not_in_cart")
		for range 2 {
			mustSay(w, Remove, "alice", RemoveItem{SKU: "mug"})
		}
		if s := look(w, Stocks, "mug"); s.Free() != 5 || len(s.Held) != 0 {
			t.Errorf("free = %d with %d holds, want 5 with none", s.Free(), len(s.Held))
		}
		w.Advance(t, holdFor)
		if len(look(w, Carts, "alice").Lines) != 0 {
			t.Error("the line came back")
		}
	})
}

func TestRefusalThenFewer(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.shelf("mug", 2)
		mustSay(w, Add, "alice", AddItem{SKU: "mug", Qty: 3})
		l := look(w, Carts, "alice").Lines[0]
		if l.State != LineRefused || !strings.Contains(l.Note, "only 2 left") {
			t.Fatalf("the line is %+v, want refused with the number left", l)
		}
		mustSay(w, Change, "alice", ChangeItem{SKU: "mug", Qty: 2})
		if l := look(w, Carts, "alice").Lines[0]; l.State != LineHeld || l.Note != "" {
			t.Errorf("the line is %+v, want held", l)
		}
	})
}

func TestFullCart(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		for i := range maxLines {
			mustSay(w, Add, "alice", AddItem{SKU: "p" + strings.Repeat("x", i), Qty: 1})
		}
		_, err := say(w, Add, "alice", AddItem{SKU: "one-more", Qty: 1})
		wantCode(t, err, "cart_full")
	})
}

func TestCheckoutForm(t *testing.T) {
	for _, c := range []struct {
		field string
		spoil func(*Checkout)
	}{
		{"name", func(c *Checkout) { c.Name = "  " }},
		{"name", func(c *Checkout) { c.Name = strings.Repeat("n", 81) }},
		{"email", func(c *Checkout) { c.Email = "ada" }},
		{"email", func(c *Checkout) { c.Email = "Ada <ada@example.org>" }},
		{"street", func(c *Checkout) { c.Street = "" }},
		{"postcode", func(c *Checkout) { c.Postcode = "" }},
		{"city", func(c *Checkout) { c.City = "" }},
		{"country", func(c *Checkout) { c.Country = "Atlantis" }},
		{"card", func(c *Checkout) { c.Card = "4242 4242 4242 4242" }},
	} {
		t.Run(c.field, func(t *testing.T) {
			inWorld(t, func(t *testing.T, w *world) {
				w.shelf("mug", 5)
				mustSay(w, Add, "alice", AddItem{SKU: "mug", Qty: 2})
				form := ada()
				c.spoil(&form)
				_, err := say(w, CheckOut, "alice", form)
				rejected, ok := errors.AsType[*actors.Rejected](err)
				if !ok || rejected.Code != "address" || !strings.Contains(string(rejected.Details), `"field":"`+c.field+`"`) {
					t.Fatalf("refused with %v, want the field %s", err, c.field)
				}
				if look(w, Carts, "alice").Paying != "" {
					t.Error("the cart pays all the same")
				}
			})
		})
	}
}
