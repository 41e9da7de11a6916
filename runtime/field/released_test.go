package field

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/lockstep-go/lockstep/actors"
	"github.com/lockstep-go/lockstep/runtime/store"
)

// released is the folder of dumps: for each released version and database the schema that it installed, with one of
// everything that can wait in it. They are never written again; TestWriteReleasedDump adds those of a new release.
const released = "testdata/released"

// order is the actor of the dumps. A release that needs other fields gives it a state version, as applications do.
type order struct {
	Lines []string `json:"lines"`
}

type orders struct {
	*actors.Type[order]
	add   *actors.MessageType[order, string, int]
	lines *actors.BareQuery[order, []string]
	ship  *actors.EffectType[order, string, string]
}

func defineOrders() *orders {
	typ := actors.Define("order", func() order { return order{} })
	o := &orders{Type: typ, add: actors.Message[string, int](typ, "add"), ship: actors.Effect[string, string](typ, "ship")}
	o.lines = actors.Query(typ, "lines", func(o order) []string { return o.Lines })
	actors.Observable(typ, "all", func(o order) []string { return o.Lines })
	o.add.Handle(func(s *order, _ *actors.Turn[order], line string) (int, error) {
		s.Lines = append(s.Lines, line)
		return len(s.Lines), nil
	})
	shipped := actors.Message[actors.Done[string, string], actors.None](typ, "shipped")
	shipped.Handle(func(s *order, _ *actors.Turn[order], in actors.Done[string, string]) (actors.None, error) {
		s.Lines = append(s.Lines, "shipped "+in.Args)
		return actors.None{}, nil
	})
	refused := actors.Message[actors.Failed[string], actors.None](typ, "refused")
	refused.Handle(func(s *order, _ *actors.Turn[order], in actors.Failed[string]) (actors.None, error) {
		s.Lines = append(s.Lines, "refused "+in.Args)
		return actors.None{}, nil
	})
	o.ship.Done(shipped)
	o.ship.Failed(refused)
	return o
}

// writer fills a database through the store, as a process that dies in the middle of everything.
type writer struct {
	t *testing.T
	store.Store
	n int
}

const deadOwner = "0190aaaa-0000-7000-8000-00000000dead"

func (w *writer) must(err error) {
	w.t.Helper()
	if err != nil {
		w.t.Fatal(err)
	}
}

// id makes ids that do not change from one dump to the next.
func (w *writer) id() string {
	w.n++
	return fmt.Sprintf("0190aaaa-0000-7000-8000-%012d", w.n)
}

func (w *writer) message(actor, operation, arguments string) *store.Enqueue {
	return &store.Enqueue{Message: store.Message{
		ID: w.id(), Type: "order", ActorID: actor, Operation: operation, Arguments: json.RawMessage(arguments),
		Origin: store.FromClient, MaxAttempts: 5, Meta: json.RawMessage(`{"trace":"00-1-2-03"}`),
	}}
}

func (w *writer) tell(actor, line string) *store.Enqueue {
	w.t.Helper()
	e := w.message(actor, "add", string(must(json.Marshal(line))))
	w.must(w.Flush(w.t.Context(), &store.Flush{Enqueues: []*store.Enqueue{e}}))
	return e
}

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

// claim begins a turn of an actor with one more line.
func (w *writer) claim(actor, line string, change func(*store.Enqueue)) *store.Activation {
	w.t.Helper()
	e := w.message(actor, "add", string(must(json.Marshal(line))))
	e.Claim = &store.Claim{Owner: deadOwner, Token: w.id(), Lease: time.Second}
	if change != nil {
		change(e)
	}
	w.must(w.Flush(w.t.Context(), &store.Flush{Enqueues: []*store.Enqueue{e}}))
	if e.Activation == nil {
		w.t.Fatalf("%s %s was not claimed: %s", actor, line, e.Outcome)
	}
	return e.Activation
}

// finish ends a turn with a state of these lines, and gives the lease back.
func (w *writer) finish(a *store.Activation, lines []string, change func(*store.Commit)) {
	w.t.Helper()
	c := &store.Commit{
		Fence: a.Fence, Message: a.Message.ID, Sequence: a.Sequence, Status: store.Completed,
		Result: json.RawMessage(fmt.Sprint(len(lines))), State: must(json.Marshal(order{lines})), Version: 1, Yield: true,
	}
	if change != nil {
		change(c)
	}
	w.must(w.Flush(w.t.Context(), &store.Flush{Commits: []*store.Commit{c}}))
	if c.Outcome != store.Done {
		w.t.Fatalf("commit: %s %v", c.Outcome, c.Err)
	}
}

// bury gives a message up.
func (w *writer) bury(actor, line string) string {
	w.t.Helper()
	a := w.claim(actor, line, nil)
	f := &store.Failure{Fence: a.Fence, Message: a.Message.ID, Sequence: a.Sequence, Final: true, Yield: true,
		ErrorKind: "*errors.errorString", ErrorText: "no", Stack: "main.go:1"}
	w.must(w.Flush(w.t.Context(), &store.Flush{Failures: []*store.Failure{f}}))
	return a.Message.ID
}

// everything writes one of everything.
func (w *writer) everything() {
	ctx := w.t.Context()
	w.must(w.Register(ctx, store.Process{ID: deadOwner, Kind: "runtime", Host: "old", PID: 1, Metadata: json.RawMessage(`{}`), State: "running"}))
	w.finish(w.claim("history", "first", func(e *store.Enqueue) { e.Message.IdempotencyKey, e.Message.Fingerprint = "key", "print" }), []string{"first"}, nil)
	w.finish(w.claim("history", "refused", nil), []string{"first"}, func(c *store.Commit) {
		c.Status, c.Result, c.State, c.Rejection = store.Rejected, nil, nil, json.RawMessage(`{"code":"closed","message":"it is closed"}`)
	})
	w.bury("dead", "given up")
	again := w.bury("dead", "retried")
	_, _, err := w.Retry(ctx, again, w.id(), 100)
	w.must(err)
	for _, line := range []string{"one", "two", "three"} {
		w.tell("queued", line)
	}
	w.claim("claimed", "in flight", nil)
	w.tell("claimed", "behind it")
	delayed := w.message("delayed", "add", `"far away"`)
	delayed.When = actors.At(time.Date(2200, 1, 1, 0, 0, 0, 0, time.UTC))
	w.must(w.Flush(ctx, &store.Flush{Enqueues: []*store.Enqueue{delayed}}))
	w.finish(w.claim("reminded", "set", nil), []string{"set"}, func(c *store.Commit) {
		c.Reminders = []store.Reminder{
			{ID: w.id(), Operation: "add", Key: "once", Arguments: json.RawMessage(`"rang once"`), When: actors.In(0), CatchUp: actors.Latest},
			{ID: w.id(), Operation: "add", Key: "daily", Arguments: json.RawMessage(`"rang daily"`), When: actors.In(0), Interval: 24 * time.Hour, CatchUp: actors.Latest},
		}
	})
	w.finish(w.claim("effects", "asked", nil), []string{"asked"}, func(c *store.Commit) {
		for _, what := range []string{"mug", "lost"} {
			c.Effects = append(c.Effects, store.Effect{ID: w.id(), Name: "ship", Arguments: must(json.Marshal(what)), Done: "shipped", Failed: "refused", MaxAttempts: 5})
		}
	})
	claimed, err := w.ClaimEffects(ctx, deadOwner, []string{"ship"}, 1, time.Second)
	w.must(err)
	if len(claimed) != 1 {
		w.t.Fatalf("%d effects were claimed", len(claimed))
	}
	w.finish(w.claim("sender", "sent", nil), []string{"sent"}, func(c *store.Commit) {
		for _, line := range []string{"from sender 1", "from sender 2"} {
			m := w.message("", "add", string(must(json.Marshal(line)))).Message
			c.Sends = append(c.Sends, store.Send{ID: w.id(), To: store.Key{Type: "order", ID: "target"}, Message: m})
		}
	})
	w.finish(w.claim("seen", "news", nil), []string{"news"}, func(c *store.Commit) {
		c.Broadcast = &store.Broadcast{ID: w.id(), Actor: actors.Address{Type: "order", ID: "seen"}, Names: []string{"all"}}
	})
	w.tell("paused", "held")
	_, err = w.Pause(ctx, store.Key{Type: "order", ID: "paused"}, true)
	w.must(err)
	w.finish(w.claim("destroyed", "gone", nil), []string{"gone"}, nil)
	_, err = w.Destroy(ctx, store.Key{Type: "order", ID: "destroyed"})
	w.must(err)
}

// TestG31UpgradeFromEveryRelease: what every released version left behind in the middle of everything, the current code
// upgrades and works through. G4, G16, G17, G23, G25, G27, G30 and D48 are kept across it; the schema that comes out is
// that of a fresh installation.
func TestG31UpgradeFromEveryRelease(t *testing.T) {
	onEach(t, func(t *testing.T, b *base) {
		dumps, err := filepath.Glob(filepath.Join(released, "*."+b.name+".sql"))
		if err != nil || len(dumps) == 0 {
			t.Fatalf("no release of %s: %v", b.name, err)
		}
		b.store(t)
		fresh := catalogue(t, b)
		for _, dump := range dumps {
			t.Run(strings.TrimSuffix(filepath.Base(dump), "."+b.name+".sql"), func(t *testing.T) {
				old := newBase(t, b.database)
				restore(t, old, dump)
				upgraded(t, old, fresh)
			})
		}
	})
}

func upgraded(t *testing.T, b *base, fresh string) {
	o := defineOrders()
	cfg := hurried([]actors.AnyType{o}, o.ship.By(func(_ context.Context, c actors.EffectCall[string]) (string, error) {
		if c.In == "lost" {
			return "", actors.Reject("lost", "it was lost on the way")
		}
		return c.ID, nil
	}))
	cfg.MessageRetention = -1
	db := b.store(t)
	if got := catalogue(t, b); got != fresh {
		t.Errorf("the upgraded schema differs from a fresh one:\n%s", difference(got, fresh))
	}
	p := startOn(t, db, cfg)
	expect := func(id string, want ...string) {
		t.Helper()
		var got order
		eventually(t, fmt.Sprintf("%s is done", id), 20*time.Second, func() bool {
			var err error
			got, err = o.Ref(id).Snapshot(t.Context(), p)
			return err == nil && len(got.Lines) >= len(want)
		})
		if !slices.Equal(slices.Sorted(slices.Values(got.Lines)), slices.Sorted(slices.Values(want))) {
			t.Errorf("%s has the lines %q, want %q", id, got.Lines, want)
		}
	}
	expect("history", "first")
	expect("queued", "one", "two", "three")
	expect("claimed", "in flight", "behind it")
	expect("effects", "asked", "shipped mug", "refused lost")
	expect("target", "from sender 1", "from sender 2")
	expect("reminded", "set", "rang once", "rang daily")
	expect("dead", "retried")
	expect("delayed")
	expect("paused")
	eventually(t, "the broadcast is taken up", 30*time.Second, func() bool { return b.number(t, "SELECT count(*) FROM lockstep_broadcasts") == 0 })
	eventually(t, "the history of the destroyed actor is gone", 20*time.Second, func() bool { return b.number(t, "SELECT count(*) FROM lockstep_tombstones") == 0 })
	operated(t, b, o, p)
}

// operated: what an operator and a caller do with what the release left.
func operated(t *testing.T, b *base, o *orders, p *process) {
	ctx := t.Context()
	alarms := b.number(t, "SELECT count(*) FROM lockstep_reminders")
	if alarms != 1 {
		t.Errorf("%d reminders are left, want the daily one", alarms)
	}
	_, err := o.add.Ask(ctx, p, o.Ref("history"), "another", actors.IdempotencyKey("key"))
	if conflict, ok := errors.AsType[*actors.IdempotencyConflict](err); !ok || conflict.Differs == "" {
		t.Errorf("the used key answers %v", err)
	}
	letters, err := p.db.DeadLetters(ctx, 10)
	if err != nil || len(letters) != 2 {
		t.Fatalf("%d dead letters, %v", len(letters), err)
	}
	for _, l := range letters {
		if l.Replacement != "" {
			continue
		}
		if _, outcome, err := p.db.Retry(ctx, l.ID, "0190bbbb-0000-7000-8000-000000000001", 100); outcome != store.Done || err != nil {
			t.Errorf("retry of a dead letter: %s, %v", outcome, err)
		}
	}
	if n, err := o.add.Ask(ctx, p, o.Ref("dead"), "last"); n != 3 || err != nil {
		t.Errorf("after the retry the actor has %d lines, %v; want 3", n, err)
	}
	if outcome, err := p.db.Pause(ctx, store.Key{Type: "order", ID: "paused"}, false); outcome != store.Done || err != nil {
		t.Errorf("resume: %s, %v", outcome, err)
	}
	if n, err := o.add.Ask(ctx, p, o.Ref("paused"), "after"); n != 2 || err != nil {
		t.Errorf("the resumed actor has %d lines, %v; want 2", n, err)
	}
	if n, err := o.add.Ask(ctx, p, o.Ref("destroyed"), "anew"); n != 1 || err != nil {
		t.Errorf("the destroyed actor has %d lines, %v; want 1", n, err)
	}
	m, waiting, outcome, err := p.db.Message(ctx, b.text(t, "SELECT id FROM lockstep_messages WHERE status = 'live'"))
	if err != nil || outcome != store.Done || m.ActorID != "delayed" || waiting == "" {
		t.Errorf("what waits for its time is %+v (%s), %s, %v", m, waiting, outcome, err)
	}
}

// restore plays a dump.
func restore(t *testing.T, b *base, path string) {
	t.Helper()
	script, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for step := range strings.SplitSeq(string(script), ";\n") {
		if step = strings.TrimSpace(step); step != "" {
			b.exec(t, step)
		}
	}
}
