package runtime_test

import (
	"testing"
	"time"

	"github.com/lockstep-go/lockstep/actors"
)

// D18: what came during a long turn whose actor yields after it does not wait for as long again, nor for the poll.
func TestD18YieldAfterALongTurn(t *testing.T) {
	inTime(t, func(t *testing.T) {
		const long = 10 * time.Second
		var second time.Time
		p := definePads(func(_ *actors.Turn[pad], _ *pad, line string) error {
			if line == "long" {
				time.Sleep(long)
			} else {
				second = time.Now()
			}
			return nil
		})
		cfg := config(p)
		cfg.Poll, cfg.PassMessages = time.Hour, 1
		rt := start(t, openStore(t), cfg)
		begun := time.Now()
		p.tell(t, rt.Runtime, "a", "long")
		pass(8 * time.Second)
		p.tell(t, rt.Runtime, "a", "short")
		pass(time.Minute)
		if wait := second.Sub(begun.Add(long)); second.IsZero() || wait > time.Second+slack(t) {
			t.Errorf("the next turn began %v after the long one", wait)
		}
		p.expect(t, rt.Runtime, "a", "long", "short")
	})
}

// A reminder for a time of day that a long turn sets is not late by the length of that turn.
func TestG25AlarmSetByALongTurn(t *testing.T) {
	inTime(t, func(t *testing.T) {
		var rung, due time.Time
		typ := actors.Define("sleeper", func() struct{} { return struct{}{} })
		ring := actors.Bare(typ, "ring")
		set := actors.Bare(typ, "set")
		ring.Handle(func(*struct{}, *actors.Turn[struct{}]) error { rung = time.Now(); return nil })
		set.Handle(func(_ *struct{}, turn *actors.Turn[struct{}]) error {
			due = time.Now().Add(15 * time.Second)
			ring.Schedule(turn, actors.At(turn.Now().Add(15*time.Second)))
			time.Sleep(10 * time.Second)
			return nil
		})
		cfg := config(typ)
		cfg.Poll = time.Hour
		rt := start(t, openStore(t), cfg)
		if _, err := set.Tell(t.Context(), rt, typ.Ref("a")); err != nil {
			t.Fatal(err)
		}
		pass(time.Minute)
		if late := rung.Sub(due); rung.IsZero() || late > time.Second+slack(t) {
			t.Errorf("rung at %v, %v late", rung, late)
		}
	})
}

// D18: an alarm that rings early by the database's clock, which was set back, asks again when it is to ring.
func TestD18AlarmThatRingsEarly(t *testing.T) {
	inTime(t, func(t *testing.T) {
		var ran time.Time
		p := definePads(func(*actors.Turn[pad], *pad, string) error { ran = time.Now(); return nil })
		cfg := config(p)
		cfg.Poll = time.Hour
		db := openStore(t)
		rt := start(t, db, cfg)
		begun := time.Now()
		p.tell(t, rt.Runtime, "a", "x", actors.Available(actors.In(time.Minute)))
		pass(30 * time.Second)
		db.Offset(-5 * time.Second)
		pass(2 * time.Minute)
		if took := ran.Sub(begun); ran.IsZero() || took > 66*time.Second+slack(t) {
			t.Errorf("what is due after 65 s began after %v", took)
		}
	})
}
