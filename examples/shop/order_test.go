package main

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/lockstep-go/lockstep/actors"
	"github.com/lockstep-go/lockstep/runtime/runtimetest"
)

// ordered puts two mugs and a spoon into alice's cart, presses the button, and goes on from there.
func ordered(t *testing.T, test func(t *testing.T, w *world, id string)) {
	t.Helper()
	inWorld(t, func(t *testing.T, w *world) {
		w.fillCart()
		test(t, w, mustSay(w, CheckOut, "alice", ada()))
		w.NoDeadLetters(t)
	})
}

func (w *world) fillCart() {
	w.t.Helper()
	w.shelf("mug", 5)
	w.shelf("spoon", 1)
	mustSay(w, Add, "alice", AddItem{SKU: "mug", Qty: 2})
	mustSay(w, Add, "alice", AddItem{SKU: "spoon", Qty: 1})
}

var receipt = Receipt{ID: "rcpt_1", Amount: Money{3750, "EUR"}}

func TestPaidOrder(t *testing.T) {
	ordered(t, func(t *testing.T, w *world, id string) {
		if o := look(w, Orders, id); o.Status != OrderPaying || o.Total.String() != "€37.50" || o.Pieces() != 3 {
			t.Fatalf("the order is %s over %v with %d pieces, want paying, €37.50, 3", o.Status, o.Total, o.Pieces())
		}
		w.charge().Succeed(receipt)
		if o := look(w, Orders, id); o.Status != OrderPaid || o.Receipt.ID != "rcpt_1" {
			t.Errorf("the order is %s with receipt %q, want paid with rcpt_1", o.Status, o.Receipt.ID)
		}
		if s := look(w, Stocks, "mug"); s.Sold != 2 || s.OnHand != 3 || s.Free() != 3 {
			t.Errorf("mugs sold %d, on hand %d, free %d; want 2, 3, 3", s.Sold, s.OnHand, s.Free())
		}
		c := look(w, Carts, "alice")
		if len(c.Lines) != 0 || c.Paying != "" || c.Orders[0].Status != OrderPaid {
			t.Errorf("the cart is %+v, want it empty with a paid order", c)
		}
		if got := look(w, Offices, "main").Takings(); got.Revenue.String() != "€37.50" || got.Paid != 1 || got.Open != 0 {
			t.Errorf("takings = %+v", got)
		}
	})
}

func TestPressingTwiceBuysOnce(t *testing.T) {
	ordered(t, func(t *testing.T, w *world, id string) {
		_, err := say(w, CheckOut, "alice", ada())
		wantCode(t, err, "paying")
		w.charge().Succeed(receipt)
		_, err = say(w, CheckOut, "alice", ada())
		wantCode(t, err, "cart_empty")
		if orders := look(w, Carts, "alice").Orders; len(orders) != 1 || orders[0].ID != id {
			t.Errorf("orders = %v, want one", orders)
		}
	})
}

func TestAnswersThatRepeatThemselves(t *testing.T) {
	ordered(t, func(t *testing.T, w *world, id string) {
		charge := w.charge()
		mustSay(w, Confirm, id, receipt)
		charge.Succeed(receipt)
		mustSay(w, Paid, id, actors.Done[ChargeCard, Receipt]{EffectID: charge.ID, Args: charge.In, Result: receipt})
		mustSay(w, Confirm, id, receipt)
		if s := look(w, Stocks, "mug"); s.Sold != 2 || s.OnHand != 3 {
			t.Errorf("mugs sold %d, on hand %d; want 2 and 3", s.Sold, s.OnHand)
		}
		if got := look(w, Offices, "main"); got.Paid != 1 || got.Revenue.Minor != 3750 {
			t.Errorf("the office counts %d orders over %v, want 1 over €37.50", got.Paid, got.Revenue)
		}
	})
}

func TestReceiptOverAnotherAmount(t *testing.T) {
	ordered(t, func(t *testing.T, w *world, id string) {
		_, err := say(w, Confirm, id, Receipt{ID: "rcpt_1", Amount: Money{1, "EUR"}})
		wantCode(t, err, "amount")
		if o := look(w, Orders, id); o.Status != OrderPaying {
			t.Errorf("the order is %s, want paying", o.Status)
		}
	})
}

func TestPaymentThatNeedsThreeAttempts(t *testing.T) {
	ordered(t, func(t *testing.T, w *world, id string) {
		key := w.charge().ID
		for range 2 {
			w.charge().FailOnce(errors.New("no route to the bank"))
			w.AdvanceToNext(t)
		}
		if third := w.charge(); third.Attempt != 3 || third.ID != key {
			t.Errorf("attempt %d has the key %q, want the third with %q", third.Attempt, third.ID, key)
		}
		w.charge().Succeed(receipt)
		if o := look(w, Orders, id); o.Status != OrderPaid {
			t.Errorf("the order is %s, want paid", o.Status)
		}
	})
}

func TestPaymentThatNeverComes(t *testing.T) {
	ordered(t, func(t *testing.T, w *world, id string) {
		for range 4 {
			w.charge().FailOnce(errors.New("no route to the bank"))
			w.AdvanceToNext(t)
		}
		w.charge().FailOnce(errors.New("no route to the bank"))
		if o := look(w, Orders, id); o.Status != OrderFailed {
			t.Errorf("the order is %s, want failed", o.Status)
		}
		if free := look(w, Stocks, "spoon").Free(); free != 1 {
			t.Errorf("free = %d, want 1", free)
		}
	})
}

func TestDeclinedCard(t *testing.T) {
	ordered(t, func(t *testing.T, w *world, id string) {
		w.charge().Fail(actors.Reject(codeDeclined, "Your bank declined the card. Nothing was charged."))
		if o := look(w, Orders, id); o.Status != OrderDeclined {
			t.Errorf("the order is %s, want declined", o.Status)
		}
		if s := look(w, Stocks, "spoon"); s.Free() != 1 || len(s.Kept) != 0 {
			t.Errorf("spoons free %d, kept %d; want 1 and 0", s.Free(), len(s.Kept))
		}
		b := look(w, Carts, "alice").Contents()
		if b.Paying != "" || !b.Lapsed || !strings.Contains(b.Notice, "declined") {
			t.Fatalf("the cart is %+v, want it open with a notice", b)
		}
		if b.Total.String() != "€0.00" {
			t.Errorf("nothing is reserved, and the total is %v, want €0.00", b.Total)
		}
		mustSay(w, Renew, "alice", actors.None{})
		if b := look(w, Carts, "alice").Contents(); b.Notice != "" {
			t.Errorf("the notice stays after a new try: %q", b.Notice)
		}
		if again := mustSay(w, CheckOut, "alice", ada()); again == id {
			t.Error("the second try has the first one's order")
		}
	})
}

func TestReservingAgainBeforeTheShelfKnows(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.shelf("spoon", 1)
		mustSay(w, Hold, "spoon", HoldItem{Cart: "alice", Qty: 1, Ask: 1})
		mustSay(w, Keep, "spoon", KeepItem{Order: "o1", Cart: "alice", Qty: 1})
		// The order has come to nothing, and the cart is faster than the order.
		mustSay(w, Hold, "spoon", HoldItem{Cart: "alice", Qty: 1, Ask: 2, Over: "o1"})
		mustSay(w, GiveBack, "spoon", OrderItem{Order: "o1"})
		if s := look(w, Stocks, "spoon"); s.Free() != 0 || s.Held["alice"].Qty != 1 {
			t.Errorf("spoons free %d, held %d; want 0 and 1: it was alice's own order that kept it", s.Free(), s.Held["alice"].Qty)
		}
	})
}

func TestRenewAfterADeclinedCardHoldsEverything(t *testing.T) {
	ordered(t, func(t *testing.T, w *world, _ string) {
		w.charge().Fail(actors.Reject(codeDeclined, "Declined."))
		mustSay(w, Renew, "alice", actors.None{})
		if b := look(w, Carts, "alice").Contents(); !b.Ready {
			t.Errorf("the cart is %+v, want everything held", b)
		}
	})
}

func TestPaymentServiceThatNeverAnswers(t *testing.T) {
	ordered(t, func(t *testing.T, w *world, id string) {
		charge := w.charge()
		charge.Fail(errors.New("no answer"))
		if o := look(w, Orders, id); o.Status != OrderFailed || !strings.Contains(o.Why, "did not answer") {
			t.Fatalf("the order is %s (%s), want failed", o.Status, o.Why)
		}
		void := w.void()
		if void.In.Charge != charge.ID {
			t.Errorf("taken back is %s, want %s", void.In.Charge, charge.ID)
		}
		void.Fail(errors.New("no answer"))
		w.Advance(t, time.Minute)
		if again := w.void(); again.In.Charge != charge.ID || again.ID == void.ID {
			t.Errorf("a minute later %+v, want another effect that takes back %s", again.EffectCall, charge.ID)
		}
		mustSay(w, Confirm, id, Receipt{ID: "late", Amount: Money{3750, "EUR"}})
		if s := look(w, Stocks, "mug"); s.Sold != 0 || s.Free() != 5 {
			t.Errorf("mugs sold %d, free %d; want 0 and 5", s.Sold, s.Free())
		}
	})
}

func TestReservationEndsWhileTheButtonIsPressed(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.fillCart()
		resume := w.pause("spoon") // before it hears of the order the hold lapses, and bob is there
		leave(w, Lapse, "spoon", LapseItem{Cart: "alice", Ask: 2})
		leave(w, Hold, "spoon", HoldItem{Cart: "bob", Qty: 1, Ask: 1})
		id := mustSay(w, CheckOut, "alice", ada())
		resume()
		if o := look(w, Orders, id); o.Status != OrderFailed || !strings.Contains(o.Why, "The spoon") || !strings.Contains(o.Why, "Nothing was charged") {
			t.Errorf("the order is %s (%s), want failed because of the spoon", o.Status, o.Why)
		}
		runtimetest.Staged(w.Runtime, Charge).None(t)
		if s := look(w, Stocks, "mug"); s.Free() != 5 || len(s.Kept) != 0 {
			t.Errorf("mugs free %d, kept %d; want 5 and 0", s.Free(), len(s.Kept))
		}
	})
}

func TestGoodsThatLapsedButAreStillThereAreSold(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.shelf("mug", 5)
		mustSay(w, Add, "alice", AddItem{SKU: "mug", Qty: 2})
		resume := w.pause("mug")
		leave(w, Lapse, "mug", LapseItem{Cart: "alice", Ask: 1})
		id := mustSay(w, CheckOut, "alice", ada())
		resume()
		if o := look(w, Orders, id); o.Status != OrderPaying {
			t.Errorf("the order is %s, want paying", o.Status)
		}
	})
}

func TestOrderIDs(t *testing.T) {
	id := newOrderID("alice")
	if !strings.HasPrefix(id, ordersOf("alice")) || strings.HasPrefix(id, ordersOf("bob")) {
		t.Errorf("%s does not tell its shopper", id)
	}
	if strings.Contains(id, "alice") || id == newOrderID("alice") {
		t.Errorf("%s tells the shopper's id, or comes twice", id)
	}
}
