package runtime_test

import (
	"context"
	"fmt"
	"os"
	"sync/atomic"
	"testing"
	"time"

	"github.com/lockstep-go/lockstep/actors"
	"github.com/lockstep-go/lockstep/runtime/bus"
	"github.com/lockstep-go/lockstep/runtime/store"
)

// stated is a number that a case states, or without LOCKSTEP_TEST_FULL=1 a smaller one; either is logged.
func stated(t *testing.T, what string, full, scaled int) int {
	t.Helper()
	n := scaled
	if os.Getenv("LOCKSTEP_TEST_FULL") == "1" {
		n = full
	}
	t.Logf("%s: %d (stated: %d)", what, n, full)
	return n
}

// D18: with polling set to an hour, messages that two processes send around the moment at which the actor's owner, now the
// one and now the other, lets it go run at once, each once and in order.
func TestD18TwoProcessesAroundTheIdleTimeout(t *testing.T) {
	inTime(t, func(t *testing.T) {
		p := definePads(nil)
		db := openStore(t)
		b := &bus.InProcess{}
		cfg := hourly(b, p)
		cfg.Idle = 10 * time.Millisecond
		both := [2]*process{start(t, &deaf{Store: db}, cfg), start(t, &deaf{Store: db}, cfg)}
		pass(time.Second)
		n := stated(t, "messages", 10_000, here(t).scale(600))
		var want []string
		for i := range n {
			begun := time.Now()
			line := fmt.Sprint(i)
			want = append(want, line)
			if got := p.ask(t, both[i/3%2].Runtime, "a", line); got != len(want) {
				t.Fatalf("message %d answers %d", i, got)
			}
			if took := time.Since(begun); took > time.Second+slack(t) {
				t.Fatalf("message %d took %v", i, took)
			}
			time.Sleep(10*time.Millisecond + time.Duration(i%7-3)*time.Microsecond)
		}
		p.expect(t, both[0].Runtime, "a", want...)
	})
}

// member is the store of one process of a herd: it counts how often that looks for messages.
type member struct {
	deaf
	scans atomic.Int64
}

func (m *member) Flush(ctx context.Context, f *store.Flush) error {
	if len(f.Claims) > 0 {
		m.scans.Add(1)
	}
	return m.deaf.Flush(ctx, f)
}

// overheard is a bus that counts what arrives at one process.
type overheard struct {
	*bus.InProcess
	heard atomic.Int64
}

func (o *overheard) Listen(ctx context.Context, hear func(string, []bus.Hint)) error {
	return o.InProcess.Listen(ctx, func(from string, hints []bus.Hint) {
		o.heard.Add(1)
		hear(from, hints)
	})
}

// D38 (b): a thousand messages a second for eight processes: how often each asks what is due and looks for messages goes by
// time and not by how many messages there are, and all of them run, once.
func TestD38EightProcessesAreWokenByTime(t *testing.T) {
	inTime(t, func(t *testing.T) {
		var ran atomic.Int64
		p := definePads(func(*actors.Turn[pad], *pad, string) error { ran.Add(1); return nil })
		db := openStore(t)
		b := &bus.InProcess{}
		var herd [8]*member
		var ears [8]*overheard
		for i := range herd {
			herd[i] = &member{deaf: deaf{Store: db}}
			ears[i] = &overheard{InProcess: b}
			start(t, herd[i], hourly(ears[i], p))
		}
		client := idle(t, &deaf{Store: db}, hourly(b, p))
		pass(time.Second)
		for _, m := range herd {
			m.scans.Store(0)
			m.questions.Store(0)
		}
		for _, ear := range ears {
			ear.heard.Store(0)
		}
		n := stated(t, "messages", 10_000, here(t).scale(1_000))
		begun := time.Now()
		for i := range n {
			p.tell(t, client, fmt.Sprint(i), "x")
			time.Sleep(time.Millisecond)
		}
		pass(time.Second)
		windows := int64(time.Since(begun)/bus.Window) + 1
		var scans, questions, heard int64
		for i, m := range herd {
			scans, questions, heard = max(scans, m.scans.Load()), max(questions, m.questions.Load()), max(heard, ears[i].heard.Load())
			if m.scans.Load() > 2*windows || m.questions.Load() > 2*windows {
				t.Errorf("process %d looked %d times for messages and asked %d times what is due in %d windows of %v", i, m.scans.Load(), m.questions.Load(), windows, bus.Window)
			}
		}
		if heard > 10*windows { // one packet a window of each who has something to tell
			t.Errorf("a process was notified %d times in %d windows", heard, windows)
		}
		t.Logf("in %d windows a process was notified at most %d times, looked %d times for messages and asked %d times what is due", windows, heard, scans, questions)
		if got := ran.Load(); got != int64(n) {
			t.Errorf("%d turns of %d messages", got, n)
		}
	})
}
