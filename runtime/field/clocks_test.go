package field

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/lockstep-go/lockstep/actors"
)

// clock notes when its messages run, by the database.
type clock struct {
	Ran int `json:"ran"`
}

type clocks struct {
	*actors.Type[clock]
	note *actors.MessageType[clock, string, int]
	set  *actors.MessageType[clock, time.Duration, int]
	hold *actors.MessageType[clock, time.Duration, int]

	mu  sync.Mutex
	ran map[string][]time.Time
}

func defineClocks() *clocks {
	typ := actors.Define("clock", func() clock { return clock{} })
	c := &clocks{
		Type: typ, note: actors.Message[string, int](typ, "note"), set: actors.Message[time.Duration, int](typ, "set"),
		hold: actors.Message[time.Duration, int](typ, "hold"), ran: map[string][]time.Time{},
	}
	c.note.Handle(func(s *clock, t *actors.Turn[clock], name string) (int, error) {
		c.mark(name, t.Now())
		if name == "retried" && t.Attempt() == 1 {
			return 0, errors.New("once more")
		}
		s.Ran++
		return s.Ran, nil
	})
	c.set.Handle(func(_ *clock, t *actors.Turn[clock], in time.Duration) (int, error) {
		c.mark("set", t.Now())
		c.note.Schedule(t, actors.In(in), "reminded")
		return 0, nil
	})
	c.hold.Handle(func(_ *clock, t *actors.Turn[clock], in time.Duration) (int, error) {
		c.mark("held", t.Now())
		time.Sleep(in)
		return t.Attempt(), context.Cause(t.Context())
	})
	return c
}

func (c *clocks) mark(name string, at time.Time) {
	c.mu.Lock()
	c.ran[name] = append(c.ran[name], at)
	c.mu.Unlock()
}

// at is when a message ran for the n-th time.
func (c *clocks) at(t *testing.T, name string, n int) (at time.Time) {
	t.Helper()
	eventually(t, name+" runs", 20*time.Second, func() bool {
		c.mu.Lock()
		defer c.mu.Unlock()
		if len(c.ran[name]) < n {
			return false
		}
		at = c.ran[name][n-1]
		return true
	})
	return at
}

// TestD41ClocksThatDisagree: processes whose clocks are ten minutes ahead of the database's, and behind it. Nothing is
// early, or late by more than a busy machine makes it, and nobody is taken over.
func TestD41ClocksThatDisagree(t *testing.T) {
	for _, skew := range []time.Duration{10 * time.Minute, -10 * time.Minute} {
		t.Run(fmt.Sprint("the database is ahead by ", skew), func(t *testing.T) {
			onEach(t, func(t *testing.T, b *base) {
				t.Parallel() // it mostly waits
				clocksDisagree(t, b, skew)
			})
		})
	}
}

func clocksDisagree(t *testing.T, b *base, skew time.Duration) {
	c := defineClocks()
	cfg := hurried([]actors.AnyType{c})
	cfg.Lease, cfg.Renew, cfg.Stale = 2*time.Second, 400*time.Millisecond, 3*time.Second
	cfg.Backoff = func(int) time.Duration { return time.Second }
	var processes []*process
	for range 2 {
		db := b.store(t)
		db.Offset(skew)
		processes = append(processes, startOn(t, db, cfg))
	}
	one, two := processes[0], processes[1]
	// The host's clock would be wrong by ten minutes; a busy machine is late by a second or two.
	punctual := func(what string, got, due time.Time) {
		t.Helper()
		if late := got.Sub(due); late < -time.Millisecond || late > 4*time.Second {
			t.Errorf("%s ran %v after it was due", what, late)
		}
	}
	now := func() time.Time {
		t.Helper()
		return must(one.db.Now(t.Context()))
	}
	tell := func(id, name string, opts ...actors.CallOption) time.Time {
		t.Helper()
		before := now()
		if _, err := c.note.Tell(t.Context(), one, c.Ref(id), name, opts...); err != nil {
			t.Fatal(err)
		}
		return before
	}
	held := must(c.hold.Tell(t.Context(), one, c.Ref("held"), 5*time.Second)) // longer than its lease and than Stale
	in := tell("in", "in a second", actors.Available(actors.In(time.Second)))
	at := now().Add(2 * time.Second)
	tell("at", "at a moment", actors.Available(actors.At(at)))
	tell("retried", "retried")
	if _, err := c.set.Tell(t.Context(), one, c.Ref("reminder"), time.Second); err != nil {
		t.Fatal(err)
	}
	punctual("a message in a second", c.at(t, "in a second", 1), in.Add(time.Second))
	punctual("a message at a moment", c.at(t, "at a moment", 1), at)
	punctual("a retry", c.at(t, "retried", 2), c.at(t, "retried", 1).Add(time.Second))
	punctual("a reminder", c.at(t, "reminded", 1), c.at(t, "set", 1).Add(time.Second))

	begun := time.Now()
	limit, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	_, err := c.note.Ask(limit, two, c.Ref("held"), "behind")
	if _, ok := errors.AsType[*actors.AskTimeout](err); !ok || time.Since(begun) > 5*time.Second {
		t.Errorf("a call with a second's patience ended after %v with %v", time.Since(begun), err)
	}
	if attempt, err := c.hold.Wait(t.Context(), two, held); attempt != 1 || err != nil {
		t.Errorf("a turn longer than its lease ended at attempt %d, %v: it was taken over", attempt, err)
	}
	survived(t, b, processes)
}

// survived: nobody was taken for dead.
func survived(t *testing.T, b *base, processes []*process) {
	t.Helper()
	for _, p := range processes {
		rec, err := p.db.Recover(t.Context(), p.ProcessID(), 3*time.Second, time.Hour)
		if err != nil || len(rec.Processes)+rec.Messages > 0 {
			t.Errorf("a recovery found %+v, %v", rec, err)
		}
	}
	if n := b.number(t, "SELECT count(*) FROM lockstep_processes WHERE state <> 'running'"); n > 0 {
		t.Errorf("%d processes were taken for dead", n)
	}
	eventually(t, "the last message is done", 20*time.Second, func() bool {
		return b.number(t, "SELECT count(*) FROM lockstep_messages WHERE status = 'live'") == 0
	})
	if bad := b.text(t, "SELECT operation FROM lockstep_messages WHERE attempts > 1 AND operation <> 'note'"); bad != "" {
		t.Errorf("run again: %s", bad)
	}
}
