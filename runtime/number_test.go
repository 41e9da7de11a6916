package runtime_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/lockstep-go/lockstep/actors"
)

// numbers are those that a double cannot hold.
type numbers struct {
	Signed   int64  `json:"signed"`
	Unsigned uint64 `json:"unsigned"`
	Any      any    `json:"any"`
}

var exact = numbers{math.MaxInt64, math.MaxUint64, json.Number("9007199254740993")}

// D05: integers beyond 2^53 have the same digits at every stop: argument, state, result, reminder, send, effect and its
// outcome, dead letter and its retry, observable, idempotency.
func TestD05NumbersStayExactAtEveryStop(t *testing.T) {
	inTime(t, func(t *testing.T) {
		var stops record
		var mended atomic.Bool
		see := func(stop string, n numbers) {
			if n != exact {
				t.Errorf("%s: %+v, want %+v", stop, n, exact)
			}
			stops.add(stop)
		}
		typ := actors.Define("abacus", func() numbers { return numbers{} })
		message := func(name string) *actors.MessageType[numbers, numbers, numbers] {
			return actors.Message[numbers, numbers](typ, name)
		}
		begin, reminded, sent, fail := message("begin"), message("reminded"), message("sent"), message("fail")
		effect := actors.Effect[numbers, numbers](typ, "count")
		done := actors.Message[actors.Done[numbers, numbers], actors.None](typ, "done")
		shared := actors.Shared(typ, "shared", func(n numbers) numbers { return n })
		begin.Handle(func(s *numbers, turn *actors.Turn[numbers], in numbers) (numbers, error) {
			see("argument", in)
			*s = in
			reminded.Schedule(turn, actors.In(time.Second), in)
			sent.Send(turn, typ.Ref("other"), in)
			effect.Emit(turn, in)
			return in, nil
		})
		hear := func(stop string) func(*numbers, *actors.Turn[numbers], numbers) (numbers, error) {
			return func(_ *numbers, _ *actors.Turn[numbers], in numbers) (numbers, error) { see(stop, in); return in, nil }
		}
		reminded.Handle(hear("reminder"))
		sent.Handle(hear("send"))
		fail.Handle(func(_ *numbers, _ *actors.Turn[numbers], in numbers) (numbers, error) {
			if !mended.Load() {
				return in, actors.Permanent(errors.New("no"))
			}
			see("retry", in)
			return in, nil
		})
		done.Handle(func(_ *numbers, _ *actors.Turn[numbers], d actors.Done[numbers, numbers]) (actors.None, error) {
			see("outcome arguments", d.Args)
			see("outcome result", d.Result)
			return actors.None{}, nil
		})
		effect.Done(done)
		cfg := config(typ)
		cfg.Effects = []actors.Executor{effect.By(func(_ context.Context, c actors.EffectCall[numbers]) (numbers, error) {
			see("effect", c.In)
			return c.In, nil
		})}
		db := openStore(t)
		rt := start(t, db, cfg)
		var value json.RawMessage
		defer rt.Follow(func(b actors.Broadcast) { value = b.Values[shared.Name()] })()
		ctx, ref := t.Context(), typ.Ref("a")
		out, err := begin.Ask(ctx, rt, ref, exact, actors.IdempotencyKey("K"))
		if see("result", out); err != nil {
			t.Fatal(err)
		}
		near := exact
		near.Any = json.Number("9007199254740992")
		_, err = begin.Ask(ctx, rt, ref, near, actors.IdempotencyKey("K"))
		as[*actors.IdempotencyConflict](t, err)
		m, err := fail.Tell(ctx, rt, ref, exact)
		if err != nil {
			t.Fatal(err)
		}
		pass(5 * time.Second)
		mended.Store(true)
		letters, err := db.DeadLetters(ctx, 1)
		if err != nil || len(letters) != 1 {
			t.Fatalf("%d dead letters, %v", len(letters), err)
		}
		var letter, observed numbers
		if err := errors.Join(actors.DecodeDocument("dead letter", letters[0].Message.Arguments, &letter), actors.DecodeDocument("observable", value, &observed)); err != nil {
			t.Fatal(err)
		}
		see("dead letter", letter)
		see("observable", observed)
		if _, _, err := db.Retry(ctx, m.ID, "01a00000-0000-7000-8000-000000000001", 100); err != nil {
			t.Fatal(err)
		}
		pass(5 * time.Second)
		state, err := ref.Snapshot(ctx, rt)
		if see("state", state); err != nil {
			t.Fatal(err)
		}
		got := stops.all()
		slices.Sort(got)
		if want := 11; len(got) != want {
			t.Errorf("%d stops were seen, want %d: %q", len(got), want, got)
		}
	})
}

// D20: a thousand retries that fall due together are spread over at least a tenth of their delay.
func TestD20RetriesAreSpread(t *testing.T) {
	inTime(t, func(t *testing.T) {
		began := time.Now()
		var second record
		p := definePads(func(turn *actors.Turn[pad], _ *pad, _ string) error {
			if turn.Attempt() == 1 {
				return errors.New("weather")
			}
			second.add(fmt.Sprint(turn.Now().Sub(began).Milliseconds()))
			return nil
		})
		cfg := config(p)
		cfg.Backoff = func(int) time.Duration { return 10 * time.Second }
		rt := start(t, openStore(t), cfg)
		const actorsAtOnce = 300
		for i := range actorsAtOnce {
			p.tell(t, rt.Runtime, fmt.Sprint(i), "x")
		}
		pass(time.Minute)
		at := second.all()
		if len(at) != actorsAtOnce {
			t.Fatalf("%d retries, want %d", len(at), actorsAtOnce)
		}
		slices.Sort(at)
		var first, last int
		fmt.Sscan(at[0], &first)
		fmt.Sscan(at[len(at)-1], &last)
		if first < 10_000 || last > 12_600+int(slack(t).Milliseconds()) || last-first < 1000 {
			t.Errorf("retries between %d and %d ms, want them spread within 10 to 12.5 s", first, last)
		}
	})
}

// D04: errors and panics whose text no database takes are recorded in a cleaned form.
func TestD04ErrorTextIsCleaned(t *testing.T) {
	inTime(t, func(t *testing.T) {
		p := definePads(func(_ *actors.Turn[pad], _ *pad, line string) error {
			if line == "panic" {
				panic("a\x00\xff")
			}
			return actors.Permanent(errors.New("b\x00\xff"))
		})
		db := openStore(t)
		cfg := config(p)
		cfg.Attempts = 1
		rt := start(t, db, cfg)
		for _, line := range []string{"panic", "error"} {
			_, err := p.write.Ask(t.Context(), rt, p.Ref("a"), line)
			as[*actors.MessageFailed](t, err)
			pass(time.Millisecond)
		}
		letters, err := db.DeadLetters(t.Context(), 10)
		if err != nil || len(letters) != 2 || letters[0].ErrorText != "b\uFFFD\uFFFD" || letters[1].ErrorText != "panic: a\uFFFD\uFFFD" || letters[1].ErrorKind != "panic" {
			t.Errorf("dead letters: %+v, %v", letters, err)
		}
	})
}
