package runtime_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/lockstep-go/lockstep/actors"
	"github.com/lockstep-go/lockstep/runtime/store"
)

// G11: a handler runs in no transaction and holds no connection: on a database with a single one, everybody else goes
// on, and the handler itself may read.
func TestG11HandlersHoldNoConnection(t *testing.T) {
	inTime(t, func(t *testing.T) {
		inside, leave := make(chan struct{}), make(chan struct{})
		var rt *process
		var p *pads
		p = definePads(func(turn *actors.Turn[pad], _ *pad, line string) error {
			if line != "wait" {
				return nil
			}
			other, err := p.Ref("b").Snapshot(turn.Context(), rt)
			if err != nil || len(other.Lines) != 1 {
				t.Errorf("reading from inside a turn: %+v, %v", other, err)
			}
			close(inside)
			<-leave
			return nil
		})
		rt = start(t, openStore(t), config(p))
		p.ask(t, rt.Runtime, "b", "one")
		p.tell(t, rt.Runtime, "a", "wait")
		<-inside
		begun := time.Now()
		if n := p.ask(t, rt.Runtime, "b", "two"); n != 2 || time.Since(begun) > 0 {
			t.Errorf("another actor answered %d after %v", n, time.Since(begun))
		}
		close(leave)
		settle()
		p.expect(t, rt.Runtime, "a", "wait")
	})
}

// everything stages one of each and changes the state; the error says how the turn ends.
func everything(p **pads, effect **actors.EffectType[pad, string, string], end error) script {
	return func(turn *actors.Turn[pad], s *pad, line string) error {
		if line != "all" {
			return nil
		}
		(*p).write.Send(turn, (*p).Ref("target"), "sent")
		(*effect).Emit(turn, "emitted")
		(*p).write.Schedule(turn, actors.In(time.Minute), "reminded")
		s.Lines = append(s.Lines, "half")
		return end
	}
}

// G12, G14: what a turn changed and staged is there with its commit, all of it; after an error or a rejection nothing.
func TestG12OneCommitOrNothing(t *testing.T) {
	for name, end := range map[string]error{"commit": nil, "error": actors.Permanent(errors.New("no")), "rejection": actors.Reject("no", "not today")} {
		t.Run(name, func(t *testing.T) {
			inTime(t, func(t *testing.T) {
				var p *pads
				var effect *actors.EffectType[pad, string, string]
				var performed, news record
				p = definePads(everything(&p, &effect, end))
				effect = actors.Effect[string, string](p.Type, "act")
				cfg := config(p)
				cfg.Effects = []actors.Executor{effect.By(func(_ context.Context, c actors.EffectCall[string]) (string, error) {
					performed.add(c.In)
					return "", nil
				})}
				db := openStore(t)
				rt := start(t, db, cfg)
				defer rt.Follow(func(b actors.Broadcast) { news.add(b.Actor.ID) })()
				p.ask(t, rt.Runtime, "a", "before")
				_, err := p.write.Ask(t.Context(), rt, p.Ref("a"), "all")
				if (err == nil) != (end == nil) {
					t.Errorf("ended with %v", err)
				}
				pass(2 * time.Minute)
				if end == nil {
					p.expect(t, rt.Runtime, "a", "before", "half", "all", "reminded")
					p.expect(t, rt.Runtime, "target", "sent")
					performed.expect(t, "performed", "emitted")
					return
				}
				p.expect(t, rt.Runtime, "a", "before")
				p.expect(t, rt.Runtime, "target")
				performed.expect(t, "performed")
				news.expect(t, "broadcasts of", "a")
				if _, stamp, _ := p.Ref("a").SnapshotStamp(t.Context(), rt); stamp.Revision != 1 {
					t.Errorf("the revision is %d, want that of the last committed state, 1", stamp.Revision)
				}
				p.ask(t, rt.Runtime, "a", "after")
				p.expect(t, rt.Runtime, "a", "before", "after")
			})
		})
	}
}

// G13: what only reads may not change what it is given: it fails, and nothing is kept.
func TestG13ReadersChangeNothing(t *testing.T) {
	inTime(t, func(t *testing.T) {
		type book struct {
			Pages map[string]int `json:"pages"`
		}
		typ := actors.Define("book", func() book { return book{Pages: map[string]int{}} })
		add := actors.Message[string, actors.None](typ, "add")
		add.Handle(func(b *book, _ *actors.Turn[book], page string) (actors.None, error) {
			b.Pages[page] = 1
			return actors.None{}, nil
		})
		read := actors.Query(typ, "read", func(b book) int { b.Pages["query"] = 1; return len(b.Pages) })
		refuse := actors.QueryWith(typ, "refuse", func(b book, _ int) (int, error) {
			b.Pages["refused"] = 1
			return 0, actors.Reject("no", "not for you")
		})
		actors.Observable(typ, "first", func(b book) int {
			if b.Pages["poison"] == 1 {
				b.Pages["observable"] = 1
			}
			return len(b.Pages)
		})
		rt := start(t, openStore(t), config(typ))
		ctx, ref := t.Context(), typ.Ref("a")
		expect := func(what string) {
			t.Helper()
			if s, err := ref.Snapshot(ctx, rt); err != nil || len(s.Pages) != 1 || s.Pages["one"] != 1 {
				t.Errorf("after %s: %v, %v", what, s, err)
			}
		}
		if _, err := add.Ask(ctx, rt, ref, "one"); err != nil {
			t.Fatal(err)
		}
		_, err := read.Ask(ctx, rt, ref)
		if failed := as[*actors.MessageFailed](t, err); !strings.Contains(failed.Kind, "QueryChangedState") || failed.Attempts != 1 {
			t.Errorf("a query that writes: %+v", failed)
		}
		expect("a query that writes")
		_, err = refuse.Ask(ctx, rt, ref, 0)
		as[*actors.Rejected](t, err)
		if _, err := add.Ask(ctx, rt, ref, "one"); err != nil { // a commit that would store what the query left behind
			t.Fatal(err)
		}
		expect("a query that writes and refuses")
		_, err = add.Ask(ctx, rt, ref, "poison")
		if failed := as[*actors.MessageFailed](t, err); !strings.Contains(failed.Kind, "QueryChangedState") {
			t.Errorf("an observable that writes: %+v", failed)
		}
		expect("an observable that writes")
	})
}

// G14, D17: whichever way a turn fails, the next one sees the committed state, deeply; and a result never aliases it.
func TestG14FailureRestoresTheState(t *testing.T) {
	inTime(t, func(t *testing.T) {
		type deep struct {
			Maps map[string][]int `json:"maps"`
			Any  any              `json:"any"`
		}
		typ := actors.Define("deep", func() deep { return deep{Maps: map[string][]int{}} })
		poke := actors.Message[string, map[string][]int](typ, "poke")
		var activations int
		typ.OnActivate(func(*deep, *actors.Activation) error { activations++; return nil })
		poke.Handle(func(d *deep, _ *actors.Turn[deep], how string) (map[string][]int, error) {
			if how == "look" {
				return d.Maps, nil
			}
			if how == "set" {
				d.Maps["a"], d.Any = []int{1, 2}, map[string]any{"b": 9007199254740993}
				return d.Maps, nil
			}
			d.Maps["a"][0], d.Maps["new"], d.Any = 99, nil, "gone"
			switch how {
			case "error":
				return nil, actors.Permanent(errors.New("no"))
			case "rejection":
				return nil, actors.Reject("no", "")
			case "panic":
				panic(actors.Permanent(errors.New("no")))
			}
			return nil, actors.Permanent(errors.New("unknown " + how))
		})
		cfg := config(typ)
		cfg.Attempts = 1
		rt := start(t, openStore(t), cfg)
		ctx, ref := t.Context(), typ.Ref("a")
		set, err := poke.Ask(ctx, rt, ref, "set")
		if err != nil {
			t.Fatal(err)
		}
		set["a"][0] = 77 // a caller's own copy
		for _, how := range []string{"error", "rejection", "panic"} {
			before := activations
			if _, err := poke.Ask(ctx, rt, ref, how); err == nil {
				t.Errorf("%s: no error", how)
			}
			got, err := poke.Ask(ctx, rt, ref, "look")
			if err != nil || fmt.Sprint(got) != "map[a:[1 2]]" {
				t.Errorf("after %s the next turn sees %v, %v", how, got, err)
			}
			if activations == before {
				t.Errorf("after %s the activation hook did not run again (hole 5)", how)
			}
			s, _ := ref.Snapshot(ctx, rt)
			if fmt.Sprint(s) != "{map[a:[1 2]] map[b:9007199254740993]}" {
				t.Errorf("after %s the snapshot is %v", how, s)
			}
		}
	})
}

// G15: a rejection is a final outcome: stored, told again, neither retried nor a dead letter.
func TestG15RejectIsFinal(t *testing.T) {
	inTime(t, func(t *testing.T) {
		var runs record
		p := definePads(func(_ *actors.Turn[pad], _ *pad, line string) error {
			runs.add(line)
			if line == "bad" {
				return fmt.Errorf("write: %w", actors.RejectWith("too_rude", "mind your words", map[string]int{"worst": 3}))
			}
			return nil
		})
		db := openStore(t)
		rt := start(t, db, config(p))
		check := func(err error) {
			t.Helper()
			r := as[*actors.Rejected](t, err)
			if r.Code != "too_rude" || r.Message != "mind your words" || string(r.Details) != `{"worst":3}` {
				t.Errorf("got %+v", r)
			}
		}
		m := p.tell(t, rt.Runtime, "a", "bad", actors.IdempotencyKey("K"))
		p.ask(t, rt.Runtime, "a", "good")
		_, err := p.write.Wait(t.Context(), rt, m)
		check(err)
		_, err = p.write.Ask(t.Context(), rt, p.Ref("a"), "bad", actors.IdempotencyKey("K"))
		check(err)
		pass(time.Minute)
		runs.expect(t, "handled", "bad", "good")
		p.expect(t, rt.Runtime, "a", "good")
		if letters, err := db.DeadLetters(t.Context(), 10); err != nil || len(letters) != 0 {
			t.Errorf("%d dead letters, %v", len(letters), err)
		}
	})
}

// G16, D20: retries wait for their backoff, lengthened by up to a quarter; then comes a dead letter, and the next message.
func TestG16RetriesThenADeadLetter(t *testing.T) {
	inTime(t, func(t *testing.T) {
		var at []time.Time
		p := definePads(func(turn *actors.Turn[pad], _ *pad, line string) error {
			if line != "bad" {
				return nil
			}
			at = append(at, turn.Now())
			if turn.Attempt() != len(at) {
				t.Errorf("attempt %d says that it is %d", len(at), turn.Attempt())
			}
			return errors.New("weather\x00 \xff")
		})
		db := openStore(t)
		rt := start(t, db, config(p))
		m := p.tell(t, rt.Runtime, "a", "bad")
		p.tell(t, rt.Runtime, "a", "next")
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
		defer cancel()
		_, err := p.write.Wait(ctx, rt, m)
		if failed := as[*actors.MessageFailed](t, err); failed.Attempts != 5 || failed.Kind != "*errors.errorString" || failed.Message.ID != m.ID {
			t.Errorf("got %+v", failed)
		}
		settle()
		if len(at) != 5 {
			t.Fatalf("%d attempts, want 5", len(at))
		}
		for i, base := range []time.Duration{time.Second, 2 * time.Second, 4 * time.Second, 8 * time.Second} {
			if wait := at[i+1].Sub(at[i]); wait < base || wait > base+base/4+50*time.Millisecond+slack(t) {
				t.Errorf("the wait after attempt %d is %v, want %v and up to a quarter", i+1, wait, base)
			}
		}
		p.expect(t, rt.Runtime, "a", "next")
		letters, err := db.DeadLetters(t.Context(), 10)
		if err != nil || len(letters) != 1 || letters[0].ID != m.ID || letters[0].Message.Attempts != 5 || letters[0].ErrorText != "weather\uFFFD \uFFFD" {
			t.Errorf("dead letters: %+v, %v", letters, err)
		}
	})
}

// D20: a backoff of the application is clamped, whatever it returns.
func TestD20BackoffIsClamped(t *testing.T) {
	for name, c := range map[string]struct {
		backoff  func(int) time.Duration
		min, max time.Duration
	}{
		"negative": {func(int) time.Duration { return -time.Hour }, 0, 0},
		"century":  {func(int) time.Duration { return 100 * 365 * 24 * time.Hour }, time.Hour, 75 * time.Minute},
		"panics":   {func(int) time.Duration { panic("no idea") }, time.Minute, 75 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			inTime(t, func(t *testing.T) {
				var at []time.Time
				p := definePads(func(turn *actors.Turn[pad], _ *pad, _ string) error {
					at = append(at, time.Now())
					return errors.New("no")
				})
				cfg := config(p)
				cfg.Backoff, cfg.Attempts, cfg.Poll, cfg.PollIdle = c.backoff, 2, time.Minute, time.Minute
				rt := start(t, openStore(t), cfg)
				p.tell(t, rt.Runtime, "a", "bad")
				pass(2 * time.Hour)
				if len(at) != 2 {
					t.Fatalf("%d attempts in two hours, want 2", len(at))
				}
				if wait := at[1].Sub(at[0]); wait < c.min || wait > c.max+50*time.Millisecond {
					t.Errorf("the wait is %v, want %v to %v", wait, c.min, c.max)
				}
			})
		})
	}
}

// D24: a retry finds a full mailbox and may be pressed again later; of a destroyed actor nothing is retried.
func TestD24RetryOfAFullOrDestroyedActor(t *testing.T) {
	inTime(t, func(t *testing.T) {
		p := definePads(func(turn *actors.Turn[pad], _ *pad, line string) error {
			if line == "bad" && turn.Sequence() == 1 {
				return actors.Permanent(errors.New("no"))
			}
			return nil
		})
		db := openStore(t)
		rt := start(t, db, config(p))
		m := p.tell(t, rt.Runtime, "a", "bad")
		settle()
		pause(t, db, "pad", "a", true)
		p.tell(t, rt.Runtime, "a", "1")
		p.tell(t, rt.Runtime, "a", "2")
		const id = "01a00000-0000-7000-8000-000000000001"
		if _, o, err := db.Retry(t.Context(), m.ID, id, 2); err != nil || o != store.Full {
			t.Errorf("full: %s, %v", o, err)
		}
		pause(t, db, "pad", "a", false)
		pass(5 * time.Second)
		if _, o, err := db.Retry(t.Context(), m.ID, id, 2); err != nil || o != store.Done {
			t.Errorf("with room again: %s, %v", o, err)
		}
		pass(5 * time.Second)
		p.expect(t, rt.Runtime, "a", "1", "2", "bad")
		if existed, err := p.Ref("a").Destroy(t.Context(), rt); !existed || err != nil {
			t.Fatalf("destroy: %v, %v", existed, err)
		}
		if _, o, err := db.Retry(t.Context(), m.ID, "01a00000-0000-7000-8000-000000000002", 2); err != nil || o != store.Missing {
			t.Errorf("destroyed: %s, %v", o, err)
		}
		if existed, err := p.Ref("a").Destroy(t.Context(), rt); existed || err != nil {
			t.Errorf("the retry brought it back: %v, %v", existed, err)
		}
	})
}

// D19, hole 3: a message whose owner dies in each attempt ends as a dead letter, written by whoever recovers it.
func TestD19MessageThatKillsItsProcess(t *testing.T) {
	inTime(t, func(t *testing.T) {
		var runs record
		p := definePads(func(_ *actors.Turn[pad], _ *pad, line string) error { runs.add(line); return nil })
		db := openStore(t)
		rt := idle(t, db, config(p))
		killer := p.tell(t, rt, "a", "killer")
		p.tell(t, rt, "a", "next")
		for attempt := range 5 { // each time another process takes it, and is never heard of again
			scan := &store.Scan{Claim: store.Claim{Owner: fmt.Sprintf("gone-%d", attempt), Token: "t", Lease: 30 * time.Second}, Types: []string{"pad"}, Limit: 10}
			if err := db.Flush(t.Context(), &store.Flush{Claims: []*store.Scan{scan}}); err != nil || len(scan.Activations) != 1 {
				t.Fatalf("claim %d: %d activations, %v", attempt+1, len(scan.Activations), err)
			}
			if got := scan.Activations[0]; got.Message.ID != killer.ID || got.Attempts != attempt+1 {
				t.Fatalf("claim %d takes message %d at attempt %d", attempt+1, got.Sequence, got.Attempts)
			}
			pass(31 * time.Second)
			if attempt < 4 {
				if _, err := db.Recover(t.Context(), "nobody", time.Minute, time.Hour); err != nil {
					t.Fatal(err)
				}
			}
		}
		run(t, rt)
		_, err := p.write.Wait(t.Context(), rt, killer)
		if failed := as[*actors.MessageFailed](t, err); failed.Kind != "owner lost" || failed.Attempts != 5 {
			t.Errorf("got %+v", failed)
		}
		pass(time.Second)
		runs.expect(t, "handled", "next")
		if letters, err := db.DeadLetters(t.Context(), 10); err != nil || len(letters) != 1 || letters[0].ErrorKind != "owner lost" {
			t.Errorf("dead letters: %+v, %v", letters, err)
		}
	})
}

// G17, D24: ten presses on retry make one new message, at the tail, and the dead letter knows it.
func TestG17DeadLetterRetryIsIdempotent(t *testing.T) {
	inTime(t, func(t *testing.T) {
		var mended atomic.Bool
		p := definePads(func(_ *actors.Turn[pad], _ *pad, line string) error {
			if !mended.Load() && line == "bad" {
				return actors.Permanent(errors.New("no"))
			}
			return nil
		})
		db := openStore(t)
		rt := start(t, db, config(p))
		m := p.tell(t, rt.Runtime, "a", "bad")
		p.ask(t, rt.Runtime, "a", "good")
		mended.Store(true)
		var ids []string
		for i := range 10 {
			again, outcome, err := db.Retry(t.Context(), m.ID, fmt.Sprintf("01a00000-0000-7000-8000-00000000000%d", i), 100)
			if err != nil || outcome != map[bool]store.Outcome{true: store.Done, false: store.Duplicate}[i == 0] {
				t.Fatalf("press %d: %s, %v", i+1, outcome, err)
			}
			ids = append(ids, again.ID)
		}
		if ids = slices.Compact(ids); len(ids) != 1 {
			t.Errorf("the presses answer with %d messages", len(ids))
		}
		pass(2 * time.Second)
		p.expect(t, rt.Runtime, "a", "good", "bad")
		if letters, err := db.DeadLetters(t.Context(), 10); err != nil || len(letters) != 1 || letters[0].Replacement != ids[0] {
			t.Errorf("dead letters: %+v, %v", letters, err)
		}
	})
}
