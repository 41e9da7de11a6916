package main

import (
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// Gateway is a payment service of play money. It stands for the real one that a shop would call over the internet: it
// has an HTTP server of its own on a loopback port, knows nothing about actors, and can be told to behave badly.
//
//	POST /charges  Idempotency-Key: …  {"order", "amount", "card"}  →  200 receipt | 402 {"message"}
//	POST /voids    {"charge"}                                         →  204
//	PUT  /mode     {"mode"}                                           →  204
type Gateway struct {
	ledger *Ledger
	secret string        // both sides know it
	slow   time.Duration // how long a slow answer takes
	log    *slog.Logger
	server *http.Server
	url    string

	mode   atomic.Pointer[PaymentMode]
	notify atomic.Pointer[string] // where it tells of charges by itself
	tells  sync.WaitGroup
	ctx    context.Context // of what it does by itself
	stop   context.CancelFunc
}

// PaymentMode is how the payment service behaves.
type PaymentMode string

const (
	PaymentsNormal PaymentMode = "normal"
	PaymentsSlow   PaymentMode = "slow"  // charges at once, answers late
	PaymentsFail   PaymentMode = "fail"  // answers 503 and charges nothing
	PaymentsTwice  PaymentMode = "twice" // answers, and tells the shop by itself two times more
	PaymentsLost   PaymentMode = "lost"  // charges, and hangs up without a word the first time
)

// paymentModes are all of them, with what the back office says about each.
var paymentModes = []struct {
	Mode PaymentMode
	Text string
}{
	{PaymentsNormal, "Normal"},
	{PaymentsSlow, "Slow: charges at once, answers seconds later"},
	{PaymentsFail, "Fails: answers 503, charges nothing"},
	{PaymentsTwice, "Answers twice: repeats itself by callback"},
	{PaymentsLost, "Loses answers: charges, then hangs up the first time"},
}

// Valid says whether there is such a mode.
func (m PaymentMode) Valid() bool {
	for _, known := range paymentModes {
		if known.Mode == m {
			return true
		}
	}
	return false
}

// openGateway starts a payment service on a free loopback port.
func openGateway(ledger *Ledger, mode PaymentMode, log *slog.Logger) (*Gateway, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("open payment service: %w", err)
	}
	g := &Gateway{ledger: ledger, secret: rand.Text(), slow: 3 * time.Second, log: log, url: "http://" + listener.Addr().String()}
	g.ctx, g.stop = context.WithCancel(context.Background())
	g.SetMode(mode)
	mux := http.NewServeMux()
	mux.HandleFunc("POST /charges", g.charge)
	mux.HandleFunc("POST /voids", g.void)
	mux.HandleFunc("PUT /mode", g.setMode)
	g.server = &http.Server{Handler: g.known(mux), ReadHeaderTimeout: 5 * time.Second, BaseContext: func(net.Listener) context.Context { return g.ctx }}
	go func() { _ = g.server.Serve(listener) }() // it ends with Close
	return g, nil
}

// SetMode changes the behaviour.
func (g *Gateway) SetMode(mode PaymentMode) { g.mode.Store(&mode) }

// NotifyAt sets the shop's address for what the service tells by itself.
func (g *Gateway) NotifyAt(url string) { g.notify.Store(&url) }

// Close ends the service and all that it still does.
func (g *Gateway) Close() error {
	g.stop()
	err := g.server.Close()
	g.tells.Wait()
	return err
}

// known lets pass who has the secret: other programs on this machine reach the port too.
func (g *Gateway) known(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !hmac.Equal([]byte(r.Header.Get("Authorization")), []byte("Bearer "+g.secret)) {
			http.Error(w, "who are you?", http.StatusUnauthorized)
			return
		}
		r.Body = http.MaxBytesReader(w, r.Body, 64<<10)
		next.ServeHTTP(w, r)
	})
}

func (g *Gateway) charge(w http.ResponseWriter, r *http.Request) {
	var in ChargeCard
	key := r.Header.Get("Idempotency-Key")
	if err := json.NewDecoder(r.Body).Decode(&in); err != nil || key == "" || in.Amount.Minor <= 0 {
		http.Error(w, "a charge needs a key, an order, an amount and a card", http.StatusBadRequest)
		return
	}
	mode := *g.mode.Load()
	if mode == PaymentsFail {
		http.Error(w, "out of order", http.StatusServiceUnavailable)
		return
	}
	entry, again, err := g.ledger.Once(key, func() Entry {
		e := Entry{Order: in.Order, Amount: in.Amount, Outcome: charged, Receipt: "rcpt_" + rand.Text()[:12], At: time.Now().UTC()}
		if in.Card == declinedCard {
			e.Outcome, e.Receipt = declined, ""
		}
		return e
	})
	if err != nil {
		http.Error(w, "the book cannot be written", http.StatusInternalServerError)
		return
	}
	switch mode {
	case PaymentsSlow:
		select {
		case <-time.After(g.slow):
		case <-r.Context().Done():
		}
	case PaymentsLost:
		if !again {
			panic(http.ErrAbortHandler)
		}
	case PaymentsTwice:
		if entry.Outcome == charged {
			g.tells.Go(func() { g.tell(entry) })
			g.tells.Go(func() { g.tell(entry) })
		}
	}
	g.answer(w, entry)
}

func (g *Gateway) answer(w http.ResponseWriter, e Entry) {
	w.Header().Set("Content-Type", "application/json")
	switch e.Outcome {
	case charged:
		_ = json.NewEncoder(w).Encode(Receipt{ID: e.Receipt, Amount: e.Amount, At: e.At})
	case declined:
		w.WriteHeader(http.StatusPaymentRequired)
		_ = json.NewEncoder(w).Encode(map[string]string{"message": "Your bank declined the card. Nothing was charged."})
	default:
		http.Error(w, "this charge was taken back", http.StatusConflict)
	}
}

// notHeard is logged where the shop does not take a notice.
const notHeard = "payment service: the shop does not listen"

// Notice is what the service tells by itself.
type Notice struct {
	Order   string  `json:"order"`
	Receipt Receipt `json:"receipt"`
}

func (g *Gateway) tell(e Entry) {
	url := g.notify.Load()
	if url == nil {
		return
	}
	body, err := json.Marshal(Notice{Order: e.Order, Receipt: Receipt{ID: e.Receipt, Amount: e.Amount, At: e.At}})
	if err != nil {
		return
	}
	ctx, cancel := context.WithTimeout(g.ctx, 10*time.Second)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, *url, bytes.NewReader(body))
	if err == nil {
		req.Header.Set("Content-Type", "application/json")
		req.Header.Set("X-Signature", g.Sign(body))
		var resp *http.Response
		if resp, err = http.DefaultClient.Do(req); err == nil {
			_, _ = io.Copy(io.Discard, io.LimitReader(resp.Body, 1<<16))
			if err = resp.Body.Close(); resp.StatusCode >= 300 {
				err = errors.New(resp.Status)
			}
		}
	}
	if err != nil && g.ctx.Err() == nil {
		g.log.Warn(notHeard, "error", err)
	}
}

// Sign is the proof that a notice comes from the service.
func (g *Gateway) Sign(body []byte) string {
	mac := hmac.New(sha256.New, []byte(g.secret))
	mac.Write(body)
	return hex.EncodeToString(mac.Sum(nil))
}

func (g *Gateway) void(w http.ResponseWriter, r *http.Request) {
	var in VoidCharge
	if err := json.NewDecoder(r.Body).Decode(&in); err != nil || in.Charge == "" {
		http.Error(w, "which charge?", http.StatusBadRequest)
		return
	}
	if err := g.ledger.Void(in.Charge); err != nil {
		http.Error(w, "the book cannot be written", http.StatusInternalServerError)
		return
	}
	w.WriteHeader(http.StatusNoContent)
}

func (g *Gateway) setMode(w http.ResponseWriter, r *http.Request) {
	var in PaymentChoice
	if err := json.NewDecoder(r.Body).Decode(&in); err != nil || !in.Mode.Valid() {
		http.Error(w, "no such mode", http.StatusBadRequest)
		return
	}
	g.SetMode(in.Mode)
	w.WriteHeader(http.StatusNoContent)
}

// parsePaymentMode reads the name of a mode.
func parsePaymentMode(s string) (PaymentMode, error) {
	mode := PaymentMode(strings.ToLower(s))
	if !mode.Valid() {
		return "", fmt.Errorf("payments: no mode %q", s)
	}
	return mode, nil
}
