package runtimetest

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/lockstep-go/lockstep/runtime"
)

// patience is how long Drain waits, in a bubble by the bubble's clock, while no turn ends.
const patience = 10 * time.Second

// Drain returns when nothing is due any more: every message, message between actors, reminder, effect and outcome that is
// due now has had its turn, and so has whatever followed from it. What is due later stays: see Advance. An effect that is
// staged counts as due until it waits for the test, and no longer.
//
// It fails the test where that does not come to pass: where more than 5,000 turns follow from each other, or where for
// ten seconds nothing ends and something is due, which the failure names. In a bubble no time passes, except where a turn
// or an effect itself sleeps, or where only a poll or another attempt at an activation finds what is due.
func (rt *Runtime) Drain(t testing.TB) {
	t.Helper()
	if err := rt.drain(context.Background()); err != nil {
		t.Fatalf("drain: %v", err)
	}
}

func (rt *Runtime) drain(ctx context.Context) error {
	pause := time.Millisecond
	if rt.bubble {
		pause = 100 * time.Millisecond
	}
	rt.fuse.begin()
	begun, progress := time.Now(), rt.fuse.progress()
	for {
		if rt.bubble {
			synctest.Wait()
		}
		if err := rt.fuse.blew(); err != nil {
			return err
		}
		moving, err := rt.moving(ctx)
		if err != nil || moving == "" {
			return err
		}
		if now := rt.fuse.progress(); now != progress {
			begun, progress = time.Now(), now
		}
		if time.Since(begun) >= patience {
			return fmt.Errorf("for %v nothing ends, and there is still %s%s%s", patience, moving, rt.busy(ctx), rt.fuse.clues())
		}
		time.Sleep(pause)
	}
}

// moving says what is due or under way, by the database; "" is nothing.
func (rt *Runtime) moving(ctx context.Context) (string, error) {
	_, claims := rt.work.busy()
	c, err := rt.DB.Count(ctx, runtime.MaxCount)
	if err != nil {
		return "", fmt.Errorf("count what is due: %w", err)
	}
	performing, now := rt.work.busy()
	if claims != now {
		performing = max(performing, 1) // between the two it was neither due nor under way
	}
	var parts []string
	for _, part := range []struct {
		n    int
		what string
	}{
		{c.Claimed, "running turn"}, {c.Ready, "actor with a message due"}, {c.Sends, "message to deliver"},
		{c.Reminders, "reminder due"}, {c.Effects, "effect due"}, {performing, "effect being performed"},
	} {
		if part.n > 0 {
			parts = append(parts, fmt.Sprintf("%d × %s", part.n, part.what))
		}
	}
	return strings.Join(parts, ", "), nil
}

// busy names the actors with unfinished messages, a line each.
func (rt *Runtime) busy(ctx context.Context) (text string) {
	const most = 10
	named := 0
	for _, typ := range rt.types {
		after := ""
		for {
			list, err := rt.DB.Instances(ctx, typ, after, 1000)
			if err != nil || len(list) == 0 {
				break
			}
			for i := range list {
				if list[i].Pending > 0 {
					text += fmt.Sprintf("\n\t%s/%s: %d unfinished messages", typ, list[i].Key.ID, list[i].Pending)
					if named++; named == most {
						return text + "\n\t…"
					}
				}
			}
			after = list[len(list)-1].Key.ID
		}
	}
	return text
}

// Advance lets time pass and everything that is due within it happen, in the order in which it becomes due, and drains. In
// a bubble that is time.Sleep and Drain. Elsewhere the database's clock is moved, from one due time to the next: t.Now(),
// reminders, delays and retries go by it, while time.Now(), deadlines and Config.Idle go by the real one.
func (rt *Runtime) Advance(t testing.TB, d time.Duration) {
	t.Helper()
	if d < 0 {
		t.Fatalf("advance by %v: time passes in one direction", d)
	}
	if rt.bubble {
		time.Sleep(d)
		rt.Drain(t)
		return
	}
	rt.Drain(t)
	for {
		due, some := rt.next(t)
		if !some || due > d {
			break
		}
		rt.move(due)
		d -= due
		rt.Drain(t)
	}
	rt.move(d)
	rt.Drain(t)
}

// AdvanceToNext drains, advances to when the next thing is due (a reminder, a delayed message, another attempt) and
// returns how long that took. Where nothing is due at any time it fails the test.
func (rt *Runtime) AdvanceToNext(t testing.TB) time.Duration {
	t.Helper()
	rt.Drain(t)
	due, some := rt.next(t)
	if !some {
		t.Fatal("advance to what is due next: there is no reminder, delayed message or other attempt to come")
	}
	rt.Advance(t, due)
	return due
}

// next is how long it takes until anything is due.
func (rt *Runtime) next(t testing.TB) (wait time.Duration, some bool) {
	t.Helper()
	due, err := rt.DB.Due(context.Background(), rt.types, []string{})
	if err != nil {
		t.Fatalf("read what is due next: %v", err)
	}
	for _, at := range []time.Time{due.Messages, rt.work.retry(), due.Reminders, due.Sends} {
		if d := max(at.Sub(due.Now), 0); !at.IsZero() && (!some || d < wait) {
			wait, some = d, true
		}
	}
	return wait, some
}

// move moves the database's clock.
func (rt *Runtime) move(d time.Duration) {
	rt.ahead += d
	rt.DB.Offset(rt.ahead)
}
