package runtime_test

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/lockstep-go/lockstep/actors"
	"github.com/lockstep-go/lockstep/runtime"
)

// witness hears of events.
type witness struct {
	mu   sync.Mutex
	list []runtime.Event
}

func (w *witness) hear(_ context.Context, e runtime.Event) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.list = append(w.list, e)
}

// story lists what happened since it was last told, as name and outcome, sorted, without the events of the machinery
// that every story has.
func (w *witness) story() (lines []string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, e := range w.list {
		if e.Name != runtime.FlushWritten && e.Name != runtime.ProcessStarted {
			lines = append(lines, strings.TrimSpace(string(e.Name)+" "+e.Outcome))
		}
	}
	w.list = nil
	slices.Sort(lines)
	return lines
}

// forget ends a story that nobody asks for.
func (w *witness) forget() {
	settle()
	w.story()
}

// tells compares a story.
func (w *witness) tells(t *testing.T, what string, want ...string) {
	t.Helper()
	settle()
	slices.Sort(want)
	if got := w.story(); !slices.Equal(got, want) {
		t.Errorf("%s:\n%s\nwant\n%s", what, strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

const (
	commit = "turn.completed"
	rested = "activation.pass_ended nothing_due"
	news   = "broadcast.published"
	stored = "message.enqueued"
)

// What each story of a message is told as.
func TestEventsOfMessages(t *testing.T) {
	inTime(t, func(t *testing.T) {
		p := definePads(func(tn *actors.Turn[pad], _ *pad, line string) error {
			switch line {
			case "reject":
				return actors.Reject("no", "no")
			case "fail":
				return errors.New("no")
			case "stumble":
				if tn.Attempt() == 1 {
					panic("no")
				}
			}
			return nil
		})
		w := &witness{}
		cfg := calm(config(p))
		cfg.Events, cfg.Mailbox, cfg.Attempts = w.hear, 2, 2
		db := openStore(t)
		rt := start(t, db, cfg)
		p.ask(t, rt.Runtime, "a", "x")
		w.tells(t, "a call", stored, commit, news, rested)
		if _, err := p.count.Ask(t.Context(), rt, p.Ref("a")); err != nil {
			t.Fatal(err)
		}
		w.tells(t, "a query", stored, commit, rested)
		p.write.Ask(t.Context(), rt, p.Ref("a"), "reject")
		w.tells(t, "a refusal", stored, "turn.rejected", rested)
		p.ask(t, rt.Runtime, "a", "stumble")
		w.tells(t, "a failed attempt", stored, "turn.retried", "activation.pass_ended retry", commit, news, rested)
		p.write.Ask(t.Context(), rt, p.Ref("a"), "fail")
		w.tells(t, "two failed attempts", stored, "turn.retried", "activation.pass_ended retry", "turn.failed", "dead_letter.written", rested)
		for range 2 {
			p.tell(t, rt.Runtime, "a", "x", actors.IdempotencyKey("k"))
			settle()
		}
		p.write.Tell(t.Context(), rt, p.Ref("a"), "y", actors.IdempotencyKey("k"))
		w.tells(t, "one key three times", stored, commit, news, rested, "message.duplicate", "message.refused conflict")
		pause(t, db, "pad", "a", true)
		for range 3 {
			p.write.Tell(t.Context(), rt, p.Ref("a"), "z")
		}
		w.tells(t, "a full mailbox", stored, stored, "message.refused full")
	})
}

// What the background says: an idle actor, an operator, the end.
func TestEventsOfActors(t *testing.T) {
	inTime(t, func(t *testing.T) {
		p := definePads(func(tn *actors.Turn[pad], _ *pad, line string) error {
			if line == "wait" {
				<-tn.Context().Done()
				return tn.Context().Err()
			}
			if line == "fail" {
				return actors.Permanent(errors.New("no"))
			}
			return nil
		})
		w := &witness{}
		cfg := calm(config(p))
		cfg.Events, cfg.Shutdown = w.hear, time.Second
		rt := start(t, openStore(t), cfg)
		p.ask(t, rt.Runtime, "a", "x")
		w.forget()
		time.Sleep(40 * time.Second)
		w.tells(t, "an idle actor", "activation.released")
		a := actors.Address{Type: "pad", ID: "a"}
		rt.Admin().Pause(t.Context(), a)
		rt.Admin().Resume(t.Context(), a)
		w.tells(t, "an operator", "actor.paused", "actor.resumed")
		p.write.Ask(t.Context(), rt, p.Ref("a"), "fail")
		w.forget()
		if answers, err := rt.Admin().RetryAll(t.Context(), runtime.Selection{}); err != nil || len(answers) != 1 {
			t.Fatal(answers, err)
		}
		w.tells(t, "a dead letter retried", "dead_letter.retried", "turn.failed", "dead_letter.written", rested)
		if _, err := p.Ref("a").Destroy(t.Context(), rt); err != nil {
			t.Fatal(err)
		}
		w.tells(t, "an actor destroyed", "actor.destroyed", "sweep.swept")
		p.tell(t, rt.Runtime, "b", "wait")
		w.forget()
		if err := rt.end(); err != nil {
			t.Error(err)
		}
		rt.Close()
		w.tells(t, "a turn in flight at the end", "turn.handed_back", "activation.pass_ended shutdown", "process.stopped")
	})
}

// What outboxes say, and that an event has the words that identify what it is about.
func TestEventsOfOutboxes(t *testing.T) {
	inTime(t, func(t *testing.T) {
		o := defineOrders()
		tries := 0
		cfg := calm(o.config(func(_ context.Context, c actors.EffectCall[order]) (order, error) {
			if tries++; tries == 1 {
				return order{}, errors.New("no")
			}
			if c.In.Number == 2 {
				return order{}, actors.Reject("no", "no")
			}
			return c.In, nil
		}))
		w := &witness{}
		cfg.Events = w.hear
		rt := start(t, openStore(t), cfg)
		o.ask(t, rt.Runtime, "a", 1)
		time.Sleep(5 * time.Second)
		settle()
		w.mu.Lock()
		i := slices.IndexFunc(w.list, func(e runtime.Event) bool { return e.Name == runtime.EffectRetried })
		if i < 0 {
			t.Fatal("no effect.retried")
		}
		e := w.list[i]
		if e.Effect != "perform" || e.Type != "order" || e.ActorID != "a" || e.Attempt != 1 || e.ErrorKind != "*errors.errorString" || e.In < time.Second {
			t.Errorf("effect.retried is %+v", e)
		}
		w.mu.Unlock()
		w.tells(t, "an effect's second attempt", stored, commit, rested, "effect.retried", "effect.completed", commit, rested)
		o.ask(t, rt.Runtime, "a", 2)
		w.tells(t, "an effect refused", stored, commit, rested, "effect.rejected", commit, rested)
	})
}

// A sink that panics is the application's mistake: the log says so once, and everything goes on.
func TestEventsSinkPanics(t *testing.T) {
	inTime(t, func(t *testing.T) {
		var log bytes.Buffer
		p := definePads(nil)
		cfg := calm(config(p))
		cfg.Events = func(context.Context, runtime.Event) { panic("canary") }
		cfg.Logger = slog.New(slog.NewTextHandler(&log, nil))
		rt := start(t, openStore(t), cfg)
		for range 3 {
			p.ask(t, rt.Runtime, "a", "x")
		}
		if err := rt.end(); err != nil {
			t.Error(err)
		}
		if n := strings.Count(log.String(), "Config.Events panicked"); n != 1 || strings.Contains(log.String(), "canary") {
			t.Errorf("logged %d times:\n%s", n, log.String())
		}
	})
}

// The list of events is closed: each has a level, a healthy run's are below Info, and the operators' page has all.
func TestEventsAreListed(t *testing.T) {
	names := runtime.EventNames()
	if len(names) < 30 {
		t.Fatalf("%d names", len(names))
	}
	for _, healthy := range []runtime.EventName{
		runtime.MessageEnqueued, runtime.TurnCompleted, runtime.TurnRejected, runtime.PassEnded, runtime.ActivationReleased, runtime.EffectCompleted,
		runtime.ReminderFired, runtime.SendDelivered, runtime.BroadcastMade, runtime.FlushWritten, runtime.ProcessStarted, runtime.ProcessStopped,
	} {
		if !slices.Contains(names, healthy) || healthy.Level() >= slog.LevelInfo {
			t.Errorf("%s is logged at %s", healthy, healthy.Level())
		}
	}
	page := operationsPage(t)
	for _, name := range names {
		if !strings.Contains(page, "`"+string(name)+"`") {
			t.Errorf("docs/operations.md does not list %s", name)
		}
	}
}
