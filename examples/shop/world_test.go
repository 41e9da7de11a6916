package main

import (
	"testing"
	"testing/synctest"

	"github.com/lockstep-go/lockstep/actors"
	"github.com/lockstep-go/lockstep/runtime/runtimetest"
)

// world is the shop's actors on the real runtime, on the clock of a bubble and open to everybody, so that a test can be any
// of them. Nobody performs effects: charges wait for the test.
type world struct {
	*runtimetest.Runtime
	t *testing.T
}

// inWorld runs a test in a world of its own.
func inWorld(t *testing.T, test func(t *testing.T, w *world)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		test(t, &world{runtimetest.Open(t, Stocks, Carts, Orders, Offices), t})
	})
}

// say is a message from outside, with everything that follows from it.
func say[S, In, Out any](w *world, m actors.AnyMessage[S, In, Out], id string, in In) (Out, error) {
	w.t.Helper()
	out, err := m.Message().Ask(w.t.Context(), w, m.Message().Type().Ref(id), in)
	w.Drain(w.t)
	return out, err
}

// mustSay is say for what has to succeed.
func mustSay[S, In, Out any](w *world, m actors.AnyMessage[S, In, Out], id string, in In) Out {
	w.t.Helper()
	out, err := say(w, m, id, in)
	if err != nil {
		w.t.Fatalf("%s: %v", m.Message().Name(), err)
	}
	return out
}

// leave is a message that waits for a shelf that pauses.
func leave[S, In, Out any](w *world, m actors.AnyMessage[S, In, Out], id string, in In) {
	w.t.Helper()
	if _, err := m.Message().Tell(w.t.Context(), w, m.Message().Type().Ref(id), in); err != nil {
		w.t.Fatalf("%s: %v", m.Message().Name(), err)
	}
}

// look is an actor's committed state.
func look[S any](w *world, typ *actors.Type[S], id string) S {
	w.t.Helper()
	return runtimetest.Snapshot(w.t, w.Runtime, typ.Ref(id))
}

// pause has a shelf let its messages wait until resume is called.
func (w *world) pause(sku string) (resume func()) {
	w.t.Helper()
	shelf := actors.Address{Type: Stocks.Name(), ID: sku}
	if found, err := w.Admin().Pause(w.t.Context(), shelf); err != nil || !found {
		w.t.Fatalf("pause the shelf of %s: %v, %v", sku, found, err)
	}
	return func() {
		w.t.Helper()
		if _, err := w.Admin().Resume(w.t.Context(), shelf); err != nil {
			w.t.Fatal(err)
		}
		w.Drain(w.t)
	}
}

// charge is the only charge that waits for the payment service.
func (w *world) charge() *runtimetest.Call[ChargeCard, Receipt] {
	w.t.Helper()
	return runtimetest.Staged(w.Runtime, Charge).One(w.t)
}

// void is the only charge that waits to be taken back.
func (w *world) void() *runtimetest.Call[VoidCharge, actors.None] {
	w.t.Helper()
	return runtimetest.Staged(w.Runtime, Void).One(w.t)
}

// shelf introduces a product with a number of pieces at 12.50.
func (w *world) shelf(sku string, pieces int) {
	w.t.Helper()
	mustSay(w, Introduce, sku, Introduction{Name: "The " + sku, Price: Money{1250, "EUR"}, Quantity: pieces})
}

// ada is a form that was filled in well.
func ada() Checkout {
	return Checkout{Name: "Ada Lovelace", Email: "ada@example.org", Street: "Rue du Pont 12", Postcode: "1000", City: "Brussels", Country: "Belgium", Card: cards[0].Token}
}
