package runtime

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"slices"
	"time"

	"go.opentelemetry.io/otel/trace"

	"github.com/lockstep-go/lockstep/actors"
)

// Config says what a Runtime runs. Zero fields are the documented defaults.
type Config struct {
	// Types are all actor types of the program; Effects perform every effect that they emit.
	Types   []actors.AnyType
	Effects []actors.Executor
	// Actions perform every commit action that the types have, on the database that the runtime opens with.
	Actions []actors.CommitExecutor
	// Policy decides about every call from outside; what it leaves nil is denied.
	Policy actors.Policy
	Logger *slog.Logger // quiet when nil: it hears of Events, at Info and above only of what is unusual
	// Events hears of everything that happens, as metrics and tests do. It is called where it happens, by several
	// goroutines at once, and everybody's commits may wait for it: it must return quickly, call nothing of the runtime
	// and not end its goroutine. If it panics, that is logged once and it goes on being called.
	Events func(context.Context, Event)
	// Tracer records the runtime's spans, and links turns and effects to what caused them, in other processes too. Nil
	// records none; the program's global provider is otel.GetTracerProvider().
	Tracer trace.TracerProvider

	// Bus carries hints between processes, so that they need not wait for a poll: see packages runtime/bus/nats and
	// runtime/bus/redis. Nil is the store's own, which PostgreSQL's has; elsewhere several processes poll, and say so
	// once. The runtime does not close it.
	Bus Bus

	// SingleOwner says that no other process uses the database, so that a runtime which has nothing to do asks it
	// nothing: it waits for what this process does and for what is due, keeps no heartbeat, and a hub does not compare.
	// Open refuses, with a *NotAlone, where another live process is in the registry, and from then on such processes are
	// refused. It excludes Bus. After a TellTx whose transaction is open for longer than a minute, Announce is a must.
	SingleOwner bool

	AskTimeout time.Duration // 5 s: how long Ask waits where ctx has no deadline
	Workers    int           // 256: turns in flight at once
	// EffectWorkers is how many effects run at once (16), EffectTimeout how long one attempt may take (1 min).
	EffectWorkers int
	EffectTimeout time.Duration

	Lease        time.Duration // 30 s
	Renew        time.Duration // 10 s; below Lease
	Idle         time.Duration // 30 s until an idle activation is given back; negative: at once
	PassMessages int           // 50 messages, or PassDuration (5 s), until an actor yields to others
	PassDuration time.Duration
	// Activations (10,000) and ActivationBytes (64 MiB of stored state) bound the cache of idle activations.
	Activations     int
	ActivationBytes int

	Mailbox  int // 10,000 unfinished messages of one actor
	Attempts int // 5, of a message and of an effect
	// Backoff is the wait after the n-th failed attempt, from 1: by default 2^(n-1) s up to 60 s. What it returns is
	// clamped to [0, 1 h] and lengthened by up to a quarter, so that retries do not stay in step.
	Backoff func(attempt int) time.Duration

	PayloadBytes int // 1 MiB of arguments
	ResultBytes  int // 1 MiB
	StateBytes   int // 5 MiB

	// Poll (100 ms) is how soon work is found that nobody told of, growing to PollIdle (1 s) while there is none.
	Poll     time.Duration
	PollIdle time.Duration

	Heartbeat        time.Duration // 15 s
	Stale            time.Duration // 60 s without a heartbeat is dead, where no lock tells; at least twice Heartbeat
	Shutdown         time.Duration // 15 s for turns in flight once Run's ctx has ended
	ProcessRetention time.Duration // 7 days

	house time.Duration // 5 s: how often the dead are recovered and late broadcasts taken over, at least every Heartbeat

	MessageRetention time.Duration // 30 days for finished messages; Forever keeps them
	// Retention is what differs by actor type; a type that is not there keeps its messages for MessageRetention, and its
	// actors.
	Retention map[string]Retention
	// RetentionEvery (1 h) is how often a running process deletes what was kept long enough; negative: never by itself.
	// RetentionBatch (1,000) bounds the messages of one transaction.
	RetentionEvery time.Duration
	RetentionBatch int
}

func (c Config) withDefaults() Config {
	c.AskTimeout = cmp.Or(c.AskTimeout, 5*time.Second)
	c.Workers = cmp.Or(c.Workers, 256)
	c.EffectWorkers = cmp.Or(c.EffectWorkers, 16)
	c.EffectTimeout = cmp.Or(c.EffectTimeout, time.Minute)
	c.Lease = cmp.Or(c.Lease, 30*time.Second)
	c.Renew = cmp.Or(c.Renew, 10*time.Second)
	c.Idle = cmp.Or(c.Idle, 30*time.Second)
	c.PassMessages = cmp.Or(c.PassMessages, 50)
	c.PassDuration = cmp.Or(c.PassDuration, 5*time.Second)
	c.Activations = cmp.Or(c.Activations, 10_000)
	c.ActivationBytes = cmp.Or(c.ActivationBytes, 64<<20)
	c.Mailbox = cmp.Or(c.Mailbox, 10_000)
	c.Attempts = cmp.Or(c.Attempts, 5)
	c.PayloadBytes = cmp.Or(c.PayloadBytes, 1<<20)
	c.ResultBytes = cmp.Or(c.ResultBytes, 1<<20)
	c.StateBytes = cmp.Or(c.StateBytes, 5<<20)
	c.Poll = cmp.Or(c.Poll, 100*time.Millisecond)
	c.PollIdle = max(cmp.Or(c.PollIdle, time.Second), c.Poll)
	c.Heartbeat = cmp.Or(c.Heartbeat, 15*time.Second)
	c.Stale = cmp.Or(c.Stale, time.Minute)
	c.house = cmp.Or(c.house, 5*time.Second)
	c.Shutdown = cmp.Or(c.Shutdown, 15*time.Second)
	c.MessageRetention = cmp.Or(c.MessageRetention, 30*24*time.Hour)
	c.ProcessRetention = cmp.Or(c.ProcessRetention, 7*24*time.Hour)
	c.RetentionEvery = cmp.Or(c.RetentionEvery, time.Hour)
	c.RetentionBatch = cmp.Or(c.RetentionBatch, 1000)
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	if c.Backoff == nil {
		c.Backoff = func(attempt int) time.Duration {
			return min(time.Minute, time.Second<<min(attempt-1, 6))
		}
	}
	return c
}

func (c Config) validate() error {
	var problems []error
	must := func(ok bool, format string, args ...any) {
		if !ok {
			problems = append(problems, fmt.Errorf(format, args...))
		}
	}
	for name, d := range map[string]time.Duration{
		"AskTimeout": c.AskTimeout, "EffectTimeout": c.EffectTimeout, "Lease": c.Lease, "Renew": c.Renew, "PassDuration": c.PassDuration,
		"Poll": c.Poll, "Heartbeat": c.Heartbeat, "Stale": c.Stale, "Shutdown": c.Shutdown, "ProcessRetention": c.ProcessRetention,
	} {
		must(d > 0, "%s is %v, must be positive", name, d)
	}
	for name, n := range map[string]int{
		"Workers": c.Workers, "EffectWorkers": c.EffectWorkers, "PassMessages": c.PassMessages, "Activations": c.Activations,
		"ActivationBytes": c.ActivationBytes, "Mailbox": c.Mailbox, "Attempts": c.Attempts,
		"PayloadBytes": c.PayloadBytes, "ResultBytes": c.ResultBytes, "StateBytes": c.StateBytes,
		"RetentionBatch": c.RetentionBatch,
	} {
		must(n > 0, "%s is %d, must be positive", name, n)
	}
	must(c.Bus == nil || !c.SingleOwner, "Bus is for several processes, and SingleOwner for one")
	must(c.Lease > c.Renew, "Lease (%v) must be longer than Renew (%v)", c.Lease, c.Renew)
	must(c.Stale >= 2*c.Heartbeat, "Stale (%v) must be at least twice Heartbeat (%v)", c.Stale, c.Heartbeat)
	must(c.MessageRetention < 0 || c.MessageRetention > c.AskTimeout, "MessageRetention (%v) must be longer than AskTimeout (%v), or idempotency keys would not hold", c.MessageRetention, c.AskTimeout)
	must(c.RetentionEvery < 0 || c.RetentionEvery >= time.Minute, "RetentionEvery is %v, must be at least a minute, or negative", c.RetentionEvery)
	for typ, r := range c.Retention {
		known := slices.ContainsFunc(c.Types, func(t actors.AnyType) bool { return t.Definition().Name == typ })
		must(known, "Retention names actor type %q, which is not in Types", typ)
		must(r.Messages <= 0 || r.Messages > c.AskTimeout, "Retention of messages of %q (%v) must be longer than AskTimeout (%v), or idempotency keys would not hold", typ, r.Messages, c.AskTimeout)
		must(r.Actors <= 0 || r.Actors > c.AskTimeout, "Retention of actors of %q (%v) must be longer than AskTimeout (%v)", typ, r.Actors, c.AskTimeout)
	}
	return errors.Join(problems...)
}

// backoff is the wait after a failed attempt: never below what was configured, spread over a quarter of it.
func (c *Config) backoff(attempt int) time.Duration {
	answer := make(chan time.Duration, 1)
	go func() { // apart: it is application code, and the caller's goroutine must live
		d := time.Minute // where it panics
		defer func() {
			_ = recover()
			answer <- d
		}()
		d = min(max(c.Backoff(attempt), 0), time.Hour)
	}()
	d := <-answer
	return d + time.Duration(rand.Int64N(int64(d)/4+1))
}
