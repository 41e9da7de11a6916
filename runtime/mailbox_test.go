package runtime_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/lockstep-go/lockstep/actors"
	"github.com/lockstep-go/lockstep/runtime/store"
)

func TestG1EnqueueTakesTheNextSequenceUpToTheCap(t *testing.T) {
	inTime(t, func(t *testing.T) {
		p := definePads(nil)
		cfg := config(p)
		cfg.Mailbox = 3
		db := openStore(t)
		rt := idle(t, db, cfg)
		for i := range 3 {
			if m := p.tell(t, rt, "a", fmt.Sprint(i)); m.Sequence != int64(i+1) {
				t.Errorf("message %d has sequence %d", i+1, m.Sequence)
			}
		}
		_, err := p.write.Tell(t.Context(), rt, p.Ref("a"), "one too many")
		if full := as[*actors.MailboxFull](t, err); *full != (actors.MailboxFull{Type: "pad", Depth: 3, Limit: 3}) {
			t.Errorf("got %+v, want depth 3 of 3", full)
		}
		if m := p.tell(t, rt, "b", "another actor"); m.Sequence != 1 {
			t.Errorf("another actor's first message has sequence %d", m.Sequence)
		}
		run(t, rt)
		pass(time.Second)
		if m := p.tell(t, rt, "a", "3"); m.Sequence != 4 {
			t.Errorf("after the refusal and three turns the next sequence is %d, want 4", m.Sequence)
		}
		settle()
		p.expect(t, rt, "a", "0", "1", "2", "3")
	})
}

// G1, D06: many first callers, in two processes, make one instance and distinct sequences (G2, D29).
func TestG2ConcurrentFirstCallers(t *testing.T) {
	onEach(t, func(t *testing.T) {
		stores := openShared(t, 2)
		p := definePads(nil)
		cfg := config(p)
		cfg.AskTimeout = 30 * time.Second
		both := []*process{start(t, stores[0], cfg), start(t, stores[1], cfg)}
		const rounds, callers = 3, 32
		for round := range rounds {
			id := fmt.Sprintf("new-%d", round)
			var wg sync.WaitGroup
			var mu sync.Mutex
			var counts []int
			begin := make(chan struct{})
			for c := range callers {
				wg.Go(func() {
					<-begin
					n, err := p.write.Ask(t.Context(), both[c%2], p.Ref(id), fmt.Sprint(c))
					if err != nil {
						t.Errorf("caller %d: %v", c, err)
					}
					mu.Lock()
					counts = append(counts, n)
					mu.Unlock()
				})
			}
			close(begin)
			wg.Wait()
			slices.Sort(counts)
			for i, n := range counts {
				if n != i+1 {
					t.Fatalf("round %d: the answers are %v, want 1 to %d once each", round, counts, callers)
				}
			}
			if m := p.tell(t, both[0].Runtime, id, "last"); m.Sequence != callers+1 {
				t.Errorf("round %d: the next sequence is %d, want %d", round, m.Sequence, callers+1)
			}
		}
	})
}

func TestG3IdempotencyKey(t *testing.T) {
	type order struct {
		SKU string `json:"sku"`
		Qty int    `json:"qty"`
	}
	inTime(t, func(t *testing.T) {
		var runs record
		typ := actors.Define("till", func() pad { return pad{} })
		buy := actors.Message[json.RawMessage, int](typ, "buy")
		sell := actors.Message[order, int](typ, "sell")
		buy.Handle(func(p *pad, _ *actors.Turn[pad], in json.RawMessage) (int, error) {
			runs.add(string(in))
			return len(runs.all()), nil
		})
		sell.Handle(func(p *pad, _ *actors.Turn[pad], in order) (int, error) { return 0, nil })
		db := openStore(t)
		rt := start(t, db, config(typ))
		ctx, ref, key := t.Context(), typ.Ref("a"), actors.IdempotencyKey("K")
		var wg sync.WaitGroup
		var ids sync.Map
		for range 50 {
			wg.Go(func() {
				m, err := buy.Tell(ctx, rt, ref, json.RawMessage(`{"sku":"mug","qty":1}`), key)
				if err != nil || m.Sequence != 1 {
					t.Errorf("%+v, %v; want the first message", m, err)
				}
				ids.Store(m.ID, true)
			})
		}
		wg.Wait()
		distinct := 0
		ids.Range(func(any, any) bool { distinct++; return true })
		if distinct != 1 {
			t.Errorf("50 sends with one key made %d messages", distinct)
		}
		// Another order of keys, other white space, another way of calling, and after completion.
		for _, doc := range []string{`{"qty":1,"sku":"mug"}`, "{ \"qty\" : 1,\n\"sku\":\"mug\" }"} {
			if n, err := buy.Ask(ctx, rt, ref, json.RawMessage(doc), key); n != 1 || err != nil {
				t.Errorf("repeated as %s: %d, %v; want the first result", doc, n, err)
			}
		}
		_, err := buy.Ask(ctx, rt, ref, json.RawMessage(`{"sku":"mug","qty":2}`), key)
		if c := as[*actors.IdempotencyConflict](t, err); c.Differs != "arguments" || c.Message.Sequence != 1 {
			t.Errorf("other arguments: %+v", c)
		}
		_, err = sell.Tell(ctx, rt, ref, order{"mug", 1}, key)
		if c := as[*actors.IdempotencyConflict](t, err); c.Differs != "operation" {
			t.Errorf("another operation: %+v", c)
		}
		if n, err := buy.Ask(ctx, rt, typ.Ref("b"), json.RawMessage(`{"qty":7}`), key); n != 2 || err != nil {
			t.Errorf("the key at another actor: %d, %v; want a message of its own", n, err)
		}
		if _, err := ref.Destroy(ctx, rt); err != nil {
			t.Fatal(err)
		}
		if n, err := buy.Ask(ctx, rt, ref, json.RawMessage(`{"qty":9}`), key); n != 3 || err != nil {
			t.Errorf("the key at a new incarnation: %d, %v; want it taken freshly", n, err)
		}
	})
}

// D06: a timed-out Ask, asked again with its key, attaches to the first message; a dead one answers as dead.
func TestD06RepeatedAskAttaches(t *testing.T) {
	inTime(t, func(t *testing.T) {
		var runs record
		p := definePads(func(turn *actors.Turn[pad], _ *pad, line string) error {
			runs.add(line)
			if line == "bad" {
				return actors.Permanent(errors.New("never"))
			}
			time.Sleep(8 * time.Second)
			return nil
		})
		rt := start(t, openStore(t), config(p))
		_, err := p.write.Ask(t.Context(), rt, p.Ref("a"), "slow", actors.IdempotencyKey("K"))
		first := as[*actors.AskTimeout](t, err)
		n, err := p.write.Ask(t.Context(), rt, p.Ref("a"), "slow", actors.IdempotencyKey("K"))
		if n != 1 || err != nil {
			t.Errorf("asked again: %d, %v", n, err)
		}
		if m := p.tell(t, rt.Runtime, "a", "slow", actors.IdempotencyKey("K")); m.ID != first.Message.ID {
			t.Errorf("the key belongs to %s, the timeout named %s", m.ID, first.Message.ID)
		}
		for range 2 {
			_, err = p.write.Ask(t.Context(), rt, p.Ref("b"), "bad", actors.IdempotencyKey("K"))
			as[*actors.MessageFailed](t, err)
		}
		runs.expect(t, "handled", "slow", "bad")
	})
}

// G5, D25: a retrying head holds the later messages of its actor, whenever those were due, and nobody else's.
func TestG5StrictOrder(t *testing.T) {
	inTime(t, func(t *testing.T) {
		var runs record
		began := time.Now()
		p := definePads(func(turn *actors.Turn[pad], _ *pad, line string) error {
			runs.add(fmt.Sprintf("%s@%v/%d", line, time.Since(began).Truncate(time.Second), turn.Attempt()))
			if line == "1" && turn.Attempt() < 3 {
				return errors.New("not yet")
			}
			return nil
		})
		cfg := config(p)
		cfg.Workers, cfg.Poll = 1, time.Second
		cfg.Backoff = func(int) time.Duration { return 8 * time.Second } // and up to 2 s more
		db := openStore(t)
		a := idle(t, db, cfg)
		p.tell(t, a, "a", "1", actors.Available(actors.In(2*time.Second)))
		p.tell(t, a, "a", "2")
		p.tell(t, a, "a", "3", actors.Available(actors.In(10*time.Minute)))
		p.tell(t, a, "a", "4")
		run(t, a)
		start(t, db, cfg)
		pass(time.Second)
		for i := range 20 { // with one slot each, an actor that may not run must not take it (hole 1)
			if n := p.ask(t, a, "b", "other"); n != i+1 {
				t.Errorf("another actor answers %d, want %d", n, i+1)
			}
		}
		if took := time.Since(began); took > 2*time.Second+slack(t) {
			t.Errorf("twenty calls of another actor took until %v", took)
		}
		pass(time.Minute)
		got := slices.DeleteFunc(runs.all(), func(s string) bool { return strings.HasPrefix(s, "other") })
		if len(got) != 4 || got[0] != "1@2s/1" && slack(t) == 0 || !strings.HasPrefix(got[0], "1@") || !strings.HasSuffix(got[0], "/1") || !strings.HasSuffix(got[1], "/2") || !strings.HasSuffix(got[2], "/3") || !strings.HasPrefix(got[3], "2@") || !strings.HasSuffix(got[3], "/1") {
			t.Errorf("within a minute the executions are %q, want 1, 1, 1, 2", got)
		}
		pass(10 * time.Minute)
		p.expect(t, a, "a", "1", "2", "3", "4")
	})
}

// G5: a query takes a sequence and stores its result, but moves no revision and broadcasts nothing.
func TestG5QueriesMoveNothing(t *testing.T) {
	inTime(t, func(t *testing.T) {
		p := definePads(nil)
		db := openStore(t)
		rt := start(t, db, config(p))
		var news record
		defer rt.Follow(func(b actors.Broadcast) { news.add(fmt.Sprint(b.Revision)) })()
		p.ask(t, rt.Runtime, "a", "one")
		for range 3 {
			if n, err := p.count.Ask(t.Context(), rt, p.Ref("a"), actors.IdempotencyKey("asked")); n != 1 || err != nil {
				t.Errorf("query: %d, %v", n, err)
			}
		}
		_, stamp, err := p.Ref("a").SnapshotStamp(t.Context(), rt)
		if err != nil || stamp.Revision != 1 {
			t.Errorf("after a query the revision is %d, %v; want 1", stamp.Revision, err)
		}
		if m := p.tell(t, rt.Runtime, "a", "two"); m.Sequence != 3 {
			t.Errorf("a message after a message and a query has sequence %d, want 3", m.Sequence)
		}
		settle()
		_, stamp, _ = p.Ref("a").SnapshotStamp(t.Context(), rt)
		if stamp.Revision != 3 {
			t.Errorf("the revision is %d, want 3: that of the last message that committed state", stamp.Revision)
		}
		news.expect(t, "broadcast revisions", "1", "3")
		// A query that comes first makes the instance, and an empty broadcast history.
		if n, err := p.count.Ask(t.Context(), rt, p.Ref("new")); n != 0 || err != nil {
			t.Errorf("query of a new actor: %d, %v", n, err)
		}
		_, stamp, _ = p.Ref("new").SnapshotStamp(t.Context(), rt)
		if stamp.Revision != 0 || len(news.all()) != 2 {
			t.Errorf("a query alone moved the revision to %d, and %d broadcasts", stamp.Revision, len(news.all()))
		}
	})
}

// badInput is every kind of input that is refused before any SQL: typed, and without a trace (D03, D04, D05, D08).
func TestBadInputLeavesNoRow(t *testing.T) {
	inTime(t, func(t *testing.T) {
		typ := actors.Define("sink", func() pad { return pad{} })
		take := actors.Message[any, any](typ, "take")
		look := actors.QueryWith(typ, "look", func(pad, any) (any, error) { return nil, nil })
		take.Handle(func(*pad, *actors.Turn[pad], any) (any, error) { return nil, nil })
		cfg := config(typ)
		cfg.PayloadBytes = 1000
		db := openStore(t)
		rt := start(t, db, cfg)
		pass(time.Second)
		ctx, a := t.Context(), typ.Ref("a")
		stray := definePads(nil)
		call := func(in any) func() error {
			return func() error { _, err := take.Ask(ctx, rt, a, in); return err }
		}
		var id *actors.InvalidID
		var doc *actors.InvalidDocument
		var large *actors.TooLarge
		var kind *actors.UnknownType
		var op *actors.UnknownOperation
		for name, c := range map[string]struct {
			call func() error
			want any
		}{
			"no id":             {func() error { _, err := take.Tell(ctx, rt, typ.Ref(""), 1); return err }, &id},
			"long id":           {func() error { _, err := take.Tell(ctx, rt, typ.Ref(strings.Repeat("x", 192)), 1); return err }, &id},
			"NUL in id":         {func() error { _, err := look.Ask(ctx, rt, typ.Ref("a\x00"), 1); return err }, &id},
			"id not UTF-8":      {func() error { _, err := typ.Ref("\xff").Destroy(ctx, rt); return err }, &id},
			"empty key":         {func() error { _, err := take.Tell(ctx, rt, a, 1, actors.IdempotencyKey("")); return err }, &id},
			"bad key":           {func() error { _, err := take.Tell(ctx, rt, a, 1, actors.IdempotencyKey("\n")); return err }, &id},
			"NUL":               {call("\x00"), &doc},
			"not UTF-8":         {call("\xff"), &doc},
			"lone surrogate":    {call(json.RawMessage(`"\ud800"`)), &doc},
			"duplicate key":     {call(json.RawMessage(`{"a":1,"a":1}`)), &doc},
			"too deep":          {call(json.RawMessage(strings.Repeat("[", 101) + strings.Repeat("]", 101))), &doc},
			"NaN":               {call(nan()), &doc},
			"channel":           {call(make(chan int)), &doc},
			"too large":         {call(strings.Repeat("x", 999)), &large},
			"much too large":    {call(strings.Repeat("x", 2<<20)), &large},
			"unknown type":      {func() error { _, err := stray.write.Ask(ctx, rt, stray.Ref("a"), ""); return err }, &kind},
			"unknown type read": {func() error { _, err := stray.Ref("a").Snapshot(ctx, rt); return err }, &kind},
			"unknown operation": {func() error {
				_, err := rt.TellCall(ctx, actors.Call{Type: "sink", ID: "a", Operation: "drain", Arguments: json.RawMessage(`1`)})
				return err
			}, &op},
		} {
			before := db.Stats()
			if err := c.call(); !errors.As(err, c.want) {
				t.Errorf("%s: %v, want a %T", name, err, c.want)
			}
			if after := db.Stats(); after.Commits != before.Commits {
				t.Errorf("%s: %d transactions were committed", name, after.Commits-before.Commits)
			}
		}
		if existed, err := a.Destroy(ctx, rt); existed || err != nil {
			t.Errorf("the actor exists: %v, %v", existed, err)
		}
	})
}

func nan() float64 { zero := 0.0; return zero / zero }

// D01: ids that some database might take for one another are eleven actors, and so are their keys.
func TestD01IdsDoNotMerge(t *testing.T) {
	inTime(t, func(t *testing.T) {
		p := definePads(nil)
		rt := start(t, openStore(t), config(p))
		ids := []string{"a", "A", "a ", "\u00e9", "e\u0301", "e", "ß", "s", "😀", "🍺", "a\u00a0", " a", "x_y", "x%y", "xzy", "%2F"}
		for _, id := range ids {
			if n := p.ask(t, rt.Runtime, id, id); n != 1 {
				t.Errorf("%q is at line %d: it has merged with another", id, n)
			}
			p.expect(t, rt.Runtime, id, id)
		}
		for i, id := range ids {
			m := p.tell(t, rt.Runtime, "keyed", id, actors.IdempotencyKey(id))
			if m.Sequence != int64(i+1) {
				t.Errorf("key %q has sequence %d, want %d: it has merged with another", id, m.Sequence, i+1)
			}
		}
	})
}

// D08: what a turn yields is checked before any SQL: one recorded attempt, final, and the next sequence runs.
func TestD08OutputThatCannotBeKept(t *testing.T) {
	inTime(t, func(t *testing.T) {
		type vat struct {
			Fill any `json:"fill"`
		}
		typ := actors.Define("vat", func() vat { return vat{} })
		fill := actors.Message[string, any](typ, "fill")
		fill.Handle(func(v *vat, turn *actors.Turn[vat], what string) (any, error) {
			switch what {
			case "state too large":
				v.Fill = strings.Repeat("x", 1000)
			case "state NUL":
				v.Fill = "\x00"
			case "state not UTF-8":
				v.Fill = "\xff"
			case "state surrogate":
				v.Fill = json.RawMessage(`"\ud800"`)
			case "state NaN":
				v.Fill = map[string]any{"a": []float64{nan()}}
			case "result too large":
				return strings.Repeat("x", 1000), nil
			case "result channel":
				return make(chan int), nil
			case "result panics":
				return panickyResult{}, nil
			case "send too large":
				fill.Send(turn, typ.Ref("b"), strings.Repeat("x", 1000))
			case "send to nobody":
				fill.Send(turn, typ.Ref(""), "x")
			default:
				v.Fill = what
			}
			return nil, nil
		})
		cfg := config(typ)
		cfg.PayloadBytes, cfg.StateBytes, cfg.ResultBytes = 500, 500, 500
		db := openStore(t)
		rt := start(t, db, cfg)
		bad := []string{"state too large", "state NUL", "state not UTF-8", "state surrogate", "state NaN", "result too large", "result channel", "result panics", "send too large", "send to nobody"}
		ctx, ref := t.Context(), typ.Ref("a")
		for _, what := range bad {
			begun := time.Now()
			_, err := fill.Ask(ctx, rt, ref, what)
			if failed := as[*actors.MessageFailed](t, err); failed.Attempts != 1 || time.Since(begun) > 0 {
				t.Errorf("%s: %v after %v; want it at once, after one attempt", what, err, time.Since(begun))
			}
			if _, err := fill.Ask(ctx, rt, ref, "after "+what); err != nil {
				t.Errorf("the message after %s: %v", what, err)
			}
			if s, err := ref.Snapshot(ctx, rt); err != nil || s.Fill != "after "+what {
				t.Errorf("after %s the state is %v, %v", what, s, err)
			}
		}
		letters, err := db.DeadLetters(ctx, 100)
		if err != nil || len(letters) != len(bad) {
			t.Errorf("%d dead letters, %v; want %d", len(letters), err, len(bad))
		}
		if !slices.ContainsFunc(letters, func(l store.DeadLetter) bool {
			return strings.Contains(l.ErrorText, "500") && strings.Contains(l.ErrorText, "1002")
		}) {
			t.Error("no dead letter names the limit and the actual size")
		}
		if !slices.ContainsFunc(letters, func(l store.DeadLetter) bool { return strings.Contains(l.ErrorText, "fill.a[0]") }) {
			t.Error("no dead letter names the path of the NaN")
		}
	})
}

type panickyResult struct{}

func (panickyResult) MarshalJSON() ([]byte, error) { panic("no") }

// A caller whose patience is over before it calls has nothing stored.
func TestEndedContextStoresNothing(t *testing.T) {
	inTime(t, func(t *testing.T) {
		p := definePads(nil)
		db := openStore(t)
		rt := start(t, db, config(p))
		pass(time.Second)
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		before := db.Stats().Commits
		_, asked := p.write.Ask(ctx, rt, p.Ref("a"), "x")
		_, told := p.write.Tell(ctx, rt, p.Ref("a"), "x")
		_, destroyed := p.Ref("a").Destroy(ctx, rt)
		settle()
		for what, err := range map[string]error{"Ask": asked, "Tell": told, "Destroy": destroyed} {
			if err == nil || errors.Is(err, actors.ErrOutcomeUnknown) {
				t.Errorf("%s: %v, want its context's end", what, err)
			}
		}
		if after := db.Stats().Commits; after != before {
			t.Errorf("%d transactions were committed", after-before)
		}
	})
}
