package bus

import (
	"context"
	"log/slog"
	"time"
)

const (
	// Proof is how often a listener has its server answer.
	Proof = 5 * time.Second
	// Patience is how long it waits for an answer, and for a connection.
	Patience = 3 * time.Second
	// retry is the longest pause before it connects anew.
	retry = 5 * time.Second
)

// Keep calls listen, which hears on one connection until that fails, again and again until ctx ends; then it returns
// nil. It pauses after each failure, longer and longer. The logger may be nil.
func Keep(ctx context.Context, log *slog.Logger, listen func(context.Context) error) error {
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	for failures := 0; ctx.Err() == nil; failures++ {
		begun := time.Now()
		err := listen(ctx)
		if ctx.Err() != nil {
			return nil
		}
		if time.Since(begun) > time.Minute {
			failures = 0
		}
		pause := min(100*time.Millisecond<<min(failures, 10), retry)
		log.Warn("the listener's connection ended and is made anew", "error", err, "in", pause)
		timer := time.NewTimer(pause)
		select {
		case <-ctx.Done():
		case <-timer.C:
		}
		timer.Stop()
	}
	return nil
}

// Deliver calls hear with what a packet says. What nobody can read is left out: it is a hint.
func Deliver(packet []byte, hear func(from string, hints []Hint)) {
	if from, hints, err := Unpack(packet); err == nil && len(hints) > 0 {
		hear(from, hints)
	}
}

// DeliverMissed calls hear with a Missed, after a connection was made.
func DeliverMissed(hear func(from string, hints []Hint)) { hear("", []Hint{{Kind: Missed}}) }
