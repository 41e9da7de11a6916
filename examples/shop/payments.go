package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"time"

	"github.com/lockstep-go/lockstep/actors"
)

// PaymentClient is the shop's side of the payment service. It performs the effects of orders and of the back office.
// One effect may be performed more than once, in this process and after it: its id is the service's idempotency key.
type PaymentClient struct {
	URL    string
	Secret string
	HTTP   *http.Client
}

// codeDeclined is the refusal of a bank, which no further attempt changes.
const codeDeclined = "card_declined"

func newPaymentClient(url, secret string) *PaymentClient {
	return &PaymentClient{URL: url, Secret: secret, HTTP: &http.Client{Timeout: 10 * time.Second}}
}

// Executors are the effects that the client performs.
func (p *PaymentClient) Executors() []actors.Executor {
	return []actors.Executor{Charge.By(p.Charge), Void.By(p.Void), Configure.By(p.Configure)}
}

// Charge asks for money. A declined card is final; everything else that goes wrong is tried again.
func (p *PaymentClient) Charge(ctx context.Context, call actors.EffectCall[ChargeCard]) (Receipt, error) {
	var receipt Receipt
	err := p.do(ctx, http.MethodPost, "/charges", call.ID, call.In, &receipt)
	return receipt, err
}

// Void takes a charge back.
func (p *PaymentClient) Void(ctx context.Context, call actors.EffectCall[VoidCharge]) (actors.None, error) {
	return actors.None{}, p.do(ctx, http.MethodPost, "/voids", call.ID, call.In, nil)
}

// Configure tells the service how to behave.
func (p *PaymentClient) Configure(ctx context.Context, call actors.EffectCall[PaymentChoice]) (actors.None, error) {
	return actors.None{}, p.do(ctx, http.MethodPut, "/mode", call.ID, call.In, nil)
}

func (p *PaymentClient) do(ctx context.Context, method, path, key string, in, out any) error {
	body, err := json.Marshal(in)
	if err != nil {
		return err
	}
	req, err := http.NewRequestWithContext(ctx, method, p.URL+path, bytes.NewReader(body))
	if err != nil {
		return err
	}
	req.Header.Set("Authorization", "Bearer "+p.Secret)
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Idempotency-Key", key)
	resp, err := p.HTTP.Do(req)
	if err != nil {
		return fmt.Errorf("payment service: %w", err)
	}
	defer resp.Body.Close()
	answer := io.LimitReader(resp.Body, 64<<10)
	switch {
	case resp.StatusCode == http.StatusPaymentRequired:
		var refusal struct {
			Message string `json:"message"`
		}
		if err := json.NewDecoder(answer).Decode(&refusal); err != nil {
			return fmt.Errorf("payment service: %w", err)
		}
		return actors.Reject(codeDeclined, refusal.Message)
	case resp.StatusCode >= 500, resp.StatusCode == http.StatusTooManyRequests:
		return fmt.Errorf("payment service: %s", resp.Status)
	case resp.StatusCode >= 300:
		return actors.Permanent(fmt.Errorf("payment service: %s", resp.Status))
	case out == nil:
		return nil
	}
	if err := json.NewDecoder(answer).Decode(out); err != nil {
		return fmt.Errorf("payment service: %w", err)
	}
	return nil
}
