package field

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/lockstep-go/lockstep/actors"
)

// jar keeps anything, if JSON can.
type jar struct {
	Content any `json:"content"`
}

// unholdable are values that some database would refuse, cut or change.
var unholdable = map[string]any{
	"NUL": "a\x00b", "not UTF-8": "\xff", "lone surrogate": json.RawMessage(`"\ud800"`), "escaped NUL": json.RawMessage(`"\u0000"`),
}

// TestD04TextTheDatabaseCannotHold: as an argument it is refused with nothing written; as a state, a result or an
// effect's result it is a failed attempt that ends as a dead letter, of which the caller hears at once; in the text of
// an error or a panic it is stored in a cleaned form. Nothing is left claimed.
func TestD04TextTheDatabaseCannotHold(t *testing.T) {
	onEach(t, func(t *testing.T, b *base) {
		typ := actors.Define("jar", func() jar { return jar{} })
		take := actors.Message[any, any](typ, "take")
		put := actors.Message[string, any](typ, "put")
		act := actors.Effect[string, any](typ, "act")
		failed := actors.Message[actors.Failed[string], actors.None](typ, "failed")
		take.Handle(func(*jar, *actors.Turn[jar], any) (any, error) { return nil, nil })
		heard := make(chan string, 100)
		failed.Handle(func(_ *jar, _ *actors.Turn[jar], f actors.Failed[string]) (actors.None, error) {
			heard <- f.Args
			return actors.None{}, nil
		})
		act.Failed(failed)
		split := func(in string) (place string, value any) {
			place, name, _ := strings.Cut(in, " of ")
			return place, unholdable[name]
		}
		put.Handle(func(s *jar, turn *actors.Turn[jar], in string) (any, error) {
			place, value := split(in)
			switch place {
			case "state":
				s.Content = map[string]any{"deep": []any{value}}
			case "result":
				return map[string]any{"deep": value}, nil
			case "error":
				return nil, fmt.Errorf("on the way: %w", errors.New(fmt.Sprint("\x00\xff", in)))
			case "panic":
				panic(fmt.Sprint("\x00\xff", in))
			case "effect", "effect's error", "effect's panic":
				act.Emit(turn, in)
			default:
				s.Content = in
			}
			return nil, nil
		})
		cfg := hurried([]actors.AnyType{typ}, act.By(func(_ context.Context, c actors.EffectCall[string]) (any, error) {
			switch place, value := split(c.In); place {
			case "effect's error":
				return nil, errors.New("\x00\xff")
			case "effect's panic":
				panic("\x00\xff")
			default:
				return value, nil
			}
		}))
		cfg.Attempts = 2
		p := start(t, b, cfg)
		ctx, ref := t.Context(), typ.Ref("a")
		for name, value := range unholdable {
			_, err := take.Ask(ctx, p, ref, value)
			if _, ok := errors.AsType[*actors.InvalidDocument](err); !ok {
				t.Errorf("%s as an argument: %v", name, err)
			}
		}
		if n := b.number(t, "SELECT count(*) FROM lockstep_messages"); n != 0 {
			t.Errorf("%d messages are stored", n)
		}
		letters, told := 0, 0
		for name := range unholdable {
			for _, place := range []string{"state", "result", "error", "panic", "effect", "effect's error", "effect's panic"} {
				in := place + " of " + name
				begun := time.Now()
				_, err := put.Ask(ctx, p, ref, in)
				if strings.HasPrefix(place, "effect") {
					if told++; err != nil {
						t.Errorf("%s: %v", in, err)
					}
				} else if _, ok := errors.AsType[*actors.MessageFailed](err); !ok {
					t.Errorf("%s: %v, want a failed message", in, err)
				} else {
					letters++
				}
				if took := time.Since(begun); took > 4*time.Second {
					t.Errorf("%s: the caller heard of it after %v", in, took)
				}
				if _, err := put.Ask(ctx, p, ref, "after "+in); err != nil {
					t.Errorf("the message after %s: %v", in, err)
				}
			}
		}
		for range told {
			select {
			case <-heard:
			case <-time.After(20 * time.Second):
				t.Fatal("the actor has not heard of each effect's failure")
			}
		}
		wantLetters(t, b, letters)
	})
}

// wantLetters compares what a database at rest holds with so many messages that have failed for good.
func wantLetters(t *testing.T, b *base, letters int) {
	t.Helper()
	b.atRestBut(t, 20*time.Second)
	if n := b.number(t, "SELECT count(*) FROM lockstep_dead_letters"); n != letters {
		t.Errorf("%d dead letters, want %d", n, letters)
	}
	if n := b.number(t, "SELECT count(*) FROM lockstep_messages WHERE status = 'live'"); n != 0 {
		t.Errorf("%d messages have not ended", n)
	}
	texts := b.text(t, "SELECT error_text FROM lockstep_dead_letters")
	if strings.Contains(texts, "\x00") || !utf8.ValidString(texts) || !strings.Contains(texts, "\uFFFD\uFFFD") {
		t.Errorf("the texts are not cleaned: %q", texts)
	}
	if n := b.number(t, "SELECT count(*) FROM lockstep_messages WHERE status = 'dead' AND attempts BETWEEN 1 AND 2"); n != letters {
		t.Errorf("%d dead messages have their attempts counted, want %d", n, letters)
	}
}

// atRestBut waits until nothing waits in a mailbox, whatever became of effects.
func (b *base) atRestBut(t *testing.T, within time.Duration) {
	t.Helper()
	eventually(t, "the mailboxes are empty", within, func() bool {
		return b.number(t, "SELECT count(*) FROM lockstep_instances WHERE head_sequence <> next_sequence") == 0
	})
}

// lookalikes are different to us and the same to some collation.
var lookalikes = []string{"a", "A", "a ", "é", "e\u0301", "e", "ß", "s", "😀", "🍺", "a\u00a0"}

// TestD01LookalikesEverywhere: ids, idempotency keys and reminder keys that some collation takes for one another are as
// many rows on each database as there are names, also where the database's default character set is latin1. Names of
// effects are identifiers of ASCII and can differ by case.
func TestD01LookalikesEverywhere(t *testing.T) {
	onEach(t, func(t *testing.T, b *base) {
		if b.name == "mysql" { // tables that are made from now on would be of latin1
			b.exec(t, "ALTER DATABASE CHARACTER SET latin1")
		}
		typ := actors.Define("jar", func() jar { return jar{} })
		put := actors.Message[string, int](typ, "put")
		alarm := actors.Message[string, int](typ, "alarm")
		effects := map[string]*actors.EffectType[jar, string, string]{}
		var performed atomic.Int64
		var executors []actors.Executor
		for _, name := range []string{"act", "Act", "ACT", "acT"} {
			e := actors.Effect[string, string](typ, name)
			effects[name] = e
			executors = append(executors, e.By(func(_ context.Context, c actors.EffectCall[string]) (string, error) {
				if c.In != name {
					t.Errorf("the effect of %q is performed by that of %q", c.In, name)
				}
				performed.Add(1)
				return "", nil
			}))
		}
		alarm.Handle(func(*jar, *actors.Turn[jar], string) (int, error) { return 0, nil })
		put.Handle(func(s *jar, turn *actors.Turn[jar], in string) (int, error) {
			alarm.Schedule(turn, actors.In(time.Hour), in, actors.Key(in))
			for name, e := range effects {
				e.Emit(turn, name)
			}
			s.Content = in
			return int(turn.Sequence()), nil
		})
		p := start(t, b, hurried([]actors.AnyType{typ}, executors...))
		for i, name := range lookalikes {
			if n, err := put.Ask(t.Context(), p, typ.Ref(name), name); n != 1 || err != nil {
				t.Errorf("%q: sequence %d, %v", name, n, err)
			}
			if n, err := put.Ask(t.Context(), p, typ.Ref("keys"), name, actors.IdempotencyKey(name)); n != i+1 || err != nil {
				t.Errorf("key %q: sequence %d, %v", name, n, err)
			}
		}
		for _, name := range lookalikes {
			if s, err := typ.Ref(name).Snapshot(t.Context(), p); err != nil || s.Content != name {
				t.Errorf("%q holds %q, %v", name, s.Content, err)
			}
		}
		n := len(lookalikes)
		eventually(t, "every effect is performed", 20*time.Second, func() bool { return performed.Load() == int64(2*n*len(effects)) })
		for table, want := range map[string]int{"instances": n + 1, "messages": 2 * n, "reminders": 2 * n} {
			if got := b.number(t, "SELECT count(*) FROM lockstep_"+table); got != want {
				t.Errorf("%d rows in %s, want %d", got, table, want)
			}
		}
	})
}
