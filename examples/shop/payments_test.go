package main

import (
	"errors"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/lockstep-go/lockstep/actors"
)

// service starts a payment service and the shop's client for it.
func service(t *testing.T, mode PaymentMode) (*Gateway, *PaymentClient) {
	t.Helper()
	ledger, err := openLedger("")
	if err != nil {
		t.Fatal(err)
	}
	g, err := openGateway(ledger, mode, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := g.Close(); err != nil {
			t.Error(err)
		}
	})
	return g, newPaymentClient(g.url, g.secret)
}

func charge(id, card string) actors.EffectCall[ChargeCard] {
	return actors.EffectCall[ChargeCard]{ID: id, Attempt: 1, In: ChargeCard{Order: "o1", Amount: Money{1250, "EUR"}, Card: card}}
}

func TestOneKeyIsOneCharge(t *testing.T) {
	g, client := service(t, PaymentsNormal)
	first, err := client.Charge(t.Context(), charge("e1", cards[0].Token))
	if err != nil {
		t.Fatal(err)
	}
	again, err := client.Charge(t.Context(), charge("e1", cards[0].Token))
	if err != nil || again != first {
		t.Errorf("the second answer is %+v (%v), want the first again: %+v", again, err, first)
	}
	if n := len(g.ledger.Entries()); n != 1 {
		t.Errorf("%d entries, want 1", n)
	}
}

func TestDeclinedIsFinal(t *testing.T) {
	_, client := service(t, PaymentsNormal)
	for range 2 {
		_, err := client.Charge(t.Context(), charge("e1", declinedCard))
		wantCode(t, err, codeDeclined)
	}
}

func TestFailureIsTriedAgain(t *testing.T) {
	g, client := service(t, PaymentsFail)
	_, err := client.Charge(t.Context(), charge("e1", cards[0].Token))
	_, rejected := errors.AsType[*actors.Rejected](err)
	if err == nil || rejected || actors.IsPermanent(err) {
		t.Errorf("error = %v, want one that is tried again", err)
	}
	if n := len(g.ledger.Entries()); n != 0 {
		t.Errorf("%d entries, want none", n)
	}
}

func TestLostAnswerIsFoundAgain(t *testing.T) {
	g, client := service(t, PaymentsLost)
	client.HTTP.Transport = &http.Transport{DisableKeepAlives: true} // no second try behind our back
	if _, err := client.Charge(t.Context(), charge("e1", cards[0].Token)); err == nil {
		t.Fatal("the first answer was not lost")
	}
	if _, err := client.Charge(t.Context(), charge("e1", cards[0].Token)); err != nil {
		t.Errorf("the second attempt: %v", err)
	}
	if n := len(g.ledger.Entries()); n != 1 {
		t.Errorf("%d entries, want 1", n)
	}
}

func TestSlowServiceChargesBeforeItAnswers(t *testing.T) {
	g, client := service(t, PaymentsSlow)
	g.slow = time.Hour
	client.HTTP.Timeout = 100 * time.Millisecond
	if _, err := client.Charge(t.Context(), charge("e1", cards[0].Token)); err == nil {
		t.Fatal("it answered within its patience")
	}
	if n := len(g.ledger.Entries()); n != 1 {
		t.Errorf("%d entries, want 1", n)
	}
}

func TestVoidedChargeNeverHappens(t *testing.T) {
	g, client := service(t, PaymentsNormal)
	void := actors.EffectCall[VoidCharge]{ID: "e2", In: VoidCharge{Charge: "e1"}}
	for range 2 {
		if _, err := client.Void(t.Context(), void); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := client.Charge(t.Context(), charge("e1", cards[0].Token)); !actors.IsPermanent(err) {
		t.Errorf("a charge after its void: %v, want a final refusal", err)
	}
	if e := g.ledger.Entries(); len(e) != 1 || e[0].Outcome != voided {
		t.Errorf("entries = %+v", e)
	}
}

func TestServiceThatRepeatsItself(t *testing.T) {
	g, client := service(t, PaymentsTwice)
	heard := make(chan string, 4)
	shop := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		heard <- r.Header.Get("X-Signature")
	}))
	defer shop.Close()
	g.NotifyAt(shop.URL)
	if _, err := client.Charge(t.Context(), charge("e1", cards[0].Token)); err != nil {
		t.Fatal(err)
	}
	if a, b := <-heard, <-heard; a == "" || a != b {
		t.Errorf("it told us with signatures %q and %q, want the same twice", a, b)
	}
}

func TestServiceKnowsTheShop(t *testing.T) {
	g, client := service(t, PaymentsNormal)
	client.Secret = "guess"
	if _, err := client.Configure(t.Context(), actors.EffectCall[PaymentChoice]{ID: "e", In: PaymentChoice{PaymentsFail}}); err == nil {
		t.Error("a stranger may configure it")
	}
	if *g.mode.Load() != PaymentsNormal {
		t.Error("a stranger configured it")
	}
}

func TestLedgerOutlivesACrash(t *testing.T) {
	path := filepath.Join(t.TempDir(), "book")
	l, err := openLedger(path)
	if err != nil {
		t.Fatal(err)
	}
	for _, key := range []string{"a", "b"} {
		if _, _, err := l.Once(key, func() Entry { return Entry{Outcome: charged} }); err != nil {
			t.Fatal(err)
		}
	}
	if err := l.Void("b"); err != nil {
		t.Fatal(err)
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	whole, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, append(whole, `{"key": "c", "outc`...), 0o600); err != nil { // the power went
		t.Fatal(err)
	}
	if l, err = openLedger(path); err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	if _, again, _ := l.Once("c", func() Entry { return Entry{Outcome: declined} }); again {
		t.Error("a line that was cut off counts")
	}
	var got []string
	for _, e := range l.Entries() {
		got = append(got, e.Key+" "+e.Outcome)
	}
	slices.Sort(got)
	if text := strings.Join(got, ", "); text != "a charged, b voided, c declined" {
		t.Errorf("entries = %s", text)
	}
}
