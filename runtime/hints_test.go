package runtime_test

import (
	"context"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/lockstep-go/lockstep/actors"
	"github.com/lockstep-go/lockstep/runtime"
	"github.com/lockstep-go/lockstep/runtime/bus"
	"github.com/lockstep-go/lockstep/runtime/store"
)

// deaf is a store that cannot tell of others: only a bus or a poll can.
type deaf struct {
	store.Store
	messages  atomic.Int64 // reads of messages
	questions atomic.Int64 // of what is due
}

func (d *deaf) Changes(context.Context) (int64, error) { return -1, nil }

func (d *deaf) Message(ctx context.Context, id string) (store.Message, string, store.Outcome, error) {
	d.messages.Add(1)
	return d.Store.Message(ctx, id)
}

func (d *deaf) Due(ctx context.Context, types, effects []string) (store.Due, error) {
	d.questions.Add(1)
	return d.Store.Due(ctx, types, effects)
}

// hourly is a configuration on a bus that polls once an hour.
func hourly(b runtime.Bus, p *pads) runtime.Config {
	cfg := config(p)
	cfg.Bus, cfg.Poll, cfg.AskTimeout = b, time.Hour, 2*time.Hour
	return cfg
}

// DESIGN §4: what another process enqueued is begun when the bus tells of it, long before the next poll.
func TestAHintWakesTheWorkers(t *testing.T) {
	inTime(t, func(t *testing.T) {
		p := definePads(nil)
		db := openStore(t)
		b := &bus.InProcess{}
		start(t, &deaf{Store: db}, hourly(b, p))
		other := idle(t, &deaf{Store: db}, hourly(nil, p))
		pass(time.Second) // the first look is over
		m := p.tell(t, other, "a", "x")
		pass(30 * time.Second) // soon the other one would be thought dead, where only beats tell
		p.expect(t, other, "a")
		b.Publish("other", bus.Hint{Kind: bus.Messages, Name: m.Type})
		pass(time.Second)
		p.expect(t, other, "a", "x")
	})
}

// D18, D38: whatever waits for another process is begun, and whoever waits for another's end hears of it, with polling
// set to an hour: messages to an actor that is active elsewhere, one that is not due yet, calls on an actor that another
// process destroys.
func TestD18NothingWaitsForThePoll(t *testing.T) {
	inTime(t, func(t *testing.T) {
		p := definePads(nil)
		db := openStore(t)
		b := &bus.InProcess{}
		one := start(t, &deaf{Store: db}, hourly(b, p))
		two := start(t, &deaf{Store: db}, hourly(b, p))
		client := idle(t, &deaf{Store: db}, hourly(b, p))
		pass(time.Second)
		soon := func(what string, f func()) {
			t.Helper()
			begun := time.Now()
			f()
			if took := time.Since(begun); took > time.Second {
				t.Errorf("%s took %v", what, took)
			}
		}
		for i := range 200 {
			by := []*runtime.Runtime{one.Runtime, two.Runtime, client}[i%3]
			soon(fmt.Sprintf("ask %d", i), func() {
				if n := p.ask(t, by, "a", "x"); n != i+1 {
					t.Fatalf("ask %d answered %d", i, n)
				}
			})
		}
		pass(10 * time.Second)
		p.tell(t, client, "later", "x", actors.Available(actors.In(time.Minute)))
		pass(2 * time.Minute)
		p.expect(t, client, "later", "x")

		pause(t, db, "pad", "a", true)
		waits := make(chan error, 1)
		go func() {
			_, err := p.write.Ask(t.Context(), two, p.Ref("a"), "x")
			waits <- err
		}()
		pass(time.Second)
		soon("to hear of the end of its actor", func() {
			if _, err := p.Ref("a").Destroy(t.Context(), one); err != nil {
				t.Fatal(err)
			}
			expectIs(t, "the ask of another process", <-waits, actors.ErrActorDestroyed)
		})
	})
}

// D38 (b): however many hints come, the database is asked what is due once a window, and waiting calls read their
// messages once a second, or when it is theirs that ended.
func TestD38HintsDoNotMultiplyReads(t *testing.T) {
	inTime(t, func(t *testing.T) {
		p := definePads(nil)
		db := openStore(t)
		b := &bus.InProcess{}
		counted := &deaf{Store: db}
		rt := start(t, counted, hourly(b, p))
		pass(time.Second)
		p.tell(t, rt.Runtime, "a", "first")
		pause(t, db, "pad", "a", true)
		go p.write.Ask(t.Context(), rt.Runtime, p.Ref("a"), "x") // ends with the test
		pass(time.Second)
		messages, questions := counted.messages.Load(), counted.questions.Load()
		for i := range 10_000 {
			b.Publish("other", bus.Hint{Kind: bus.Messages, Name: "pad"}, bus.Hint{Kind: bus.Ended, ID: fmt.Sprint(i)})
			pass(time.Millisecond)
		}
		if n := counted.messages.Load() - messages; n != 0 {
			t.Errorf("%d reads for 10,000 ends of other messages, want none", n)
		}
		if n := counted.questions.Load() - questions; n < 10 || n > 502 {
			t.Errorf("asked %d times what is due in 10 s of hints, want at most once in %v", n, bus.Window)
		}
		for range 10_000 {
			b.Publish("other", bus.Hint{Kind: bus.Ended})
			pass(time.Millisecond)
		}
		pass(2 * time.Second)
		if n := counted.messages.Load() - messages; n < 2 || n > 13 {
			t.Errorf("%d reads for 10 s of ends without a name, want about one a second", n)
		}
		questions = counted.questions.Load()
		b.Publish("other", bus.Hint{Kind: bus.Messages, Name: "unknown"}, bus.Hint{Kind: bus.Effects, Name: "unknown"})
		pass(time.Second)
		if n := counted.questions.Load() - questions; n != 0 {
			t.Errorf("asked %d times because of work that this process cannot do", n)
		}
	})
}

// counter is a bus that counts what is published.
type counter struct {
	mu  sync.Mutex
	all map[bus.Kind]int
}

func (c *counter) Publish(_ string, hints ...bus.Hint) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, h := range hints {
		c.all[h.Kind]++
	}
}

func (c *counter) Listen(ctx context.Context, _ func(string, []bus.Hint)) error {
	<-ctx.Done()
	return nil
}

// D38: a process that does everything itself tells others only what their pages show.
func TestD38OwnWorkIsNotTold(t *testing.T) {
	inTime(t, func(t *testing.T) {
		p := definePads(nil)
		c := &counter{all: map[bus.Kind]int{}}
		rt := start(t, openStore(t), hourly(c, p))
		for range 50 {
			p.ask(t, rt.Runtime, "a", "x")
		}
		settle()
		c.mu.Lock()
		defer c.mu.Unlock()
		if c.all[bus.News] != 50 || len(c.all) != 1 {
			t.Errorf("told %v, want 50 times news", c.all)
		}
	})
}

// A hub follows the broadcasts of other processes: each as one that covers nothing by itself.
func TestFollowHearsOfOtherProcesses(t *testing.T) {
	inTime(t, func(t *testing.T) {
		p := definePads(nil)
		db := openStore(t)
		b := &bus.InProcess{}
		one, two := start(t, &deaf{Store: db}, hourly(b, p)), start(t, &deaf{Store: db}, hourly(b, p))
		pass(time.Second)
		var mu sync.Mutex
		var heard []actors.Broadcast
		stop := two.Follow(func(b actors.Broadcast) {
			mu.Lock()
			heard = append(heard, b)
			mu.Unlock()
		})
		defer stop()
		p.ask(t, one.Runtime, "a", "x")
		pass(time.Second)
		snap, err := two.Committed(t.Context(), actors.Address{Type: "pad", ID: "a"})
		if err != nil {
			t.Fatal(err)
		}
		mu.Lock()
		defer mu.Unlock()
		if len(heard) != 1 {
			t.Fatalf("heard %d broadcasts, want one", len(heard))
		}
		h := heard[0]
		if h.Actor.ID != "a" || h.Instance != snap.Instance || h.Revision != snap.Broadcast || h.Previous != h.Revision || len(h.Values)+len(h.Names) > 0 {
			t.Errorf("heard %+v of %+v", h, snap.Stamp)
		}
	})
}

// The listener ends with Run.
func TestListenEndsWithRun(t *testing.T) {
	inTime(t, func(t *testing.T) {
		p := definePads(nil)
		b := &bus.InProcess{}
		cfg := config(p)
		cfg.Bus = b
		rt := start(t, openStore(t), cfg)
		settle()
		if err := rt.end(); err != nil {
			t.Fatal(err)
		}
		// The bubble ends only when no goroutine is left.
	})
}

// lines is a log that a test reads.
type lines struct {
	mu   sync.Mutex
	text strings.Builder
}

func (l *lines) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(b)
}

func (l *lines) count(s string) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return strings.Count(l.text.String(), s)
}

// Several processes without a bus say so once; one alone, or with a bus, says nothing.
func TestPollingOnlyIsSaidOnce(t *testing.T) {
	for _, fleet := range []bool{false, true} {
		for _, b := range []runtime.Bus{nil, &bus.InProcess{}} {
			t.Run(fmt.Sprintf("fleet=%v,bus=%v", fleet, b != nil), func(t *testing.T) {
				inTime(t, func(t *testing.T) {
					if b != nil {
						b = &bus.InProcess{} // of this bubble
					}
					p := definePads(nil)
					db := openStore(t)
					log := &lines{}
					cfg := config(p)
					cfg.Bus, cfg.Logger = b, slog.New(slog.NewTextHandler(log, nil))
					start(t, db, cfg)
					if fleet {
						start(t, db, config(p))
					}
					pass(5 * time.Minute)
					want := 0
					if fleet && b == nil {
						want = 1
					}
					if n := log.count("no bus is configured"); n != want {
						t.Errorf("said %d times, want %d", n, want)
					}
				})
			})
		}
	}
}
