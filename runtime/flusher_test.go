package runtime_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/lockstep-go/lockstep/actors"
	"github.com/lockstep-go/lockstep/runtime/store"
)

// wide is a store whose flushes take a while, and that has several at once.
type wide struct {
	store.Store
	t *testing.T

	mu        sync.Mutex
	instances map[string]string // by actor
	under     map[string]bool   // instances in flushes under way
	now, most int
}

func (w *wide) Flushes() int { return 3 }

func (w *wide) Flush(ctx context.Context, f *store.Flush) error {
	w.mu.Lock()
	w.now++
	w.most = max(w.most, w.now)
	var about []string
	for _, c := range f.Commits {
		about = append(about, c.Fence.Instance)
	}
	for _, e := range f.Enqueues {
		if id := w.instances[e.Message.ActorID]; id != "" {
			about = append(about, id)
		}
	}
	slices.Sort(about)
	about = slices.Compact(about)
	for _, id := range about {
		if w.under[id] {
			w.t.Errorf("instance %s is in two flushes at once", id)
		}
		w.under[id] = true
	}
	w.mu.Unlock()
	time.Sleep(5 * time.Millisecond) // the bubble's
	w.mu.Lock()
	defer w.mu.Unlock()
	err := w.Store.Flush(ctx, f)
	for _, e := range f.Enqueues {
		w.instances[e.Message.ActorID] = e.Message.Instance
	}
	for _, id := range about {
		delete(w.under, id)
	}
	w.now--
	return err
}

// Design 4: a store that likes it gets several flushes at once, but nothing of one actor is ever in two of them, and
// every mailbox is worked off in order.
func TestG5FlushesBesideEachOtherShareNoActor(t *testing.T) {
	inTime(t, func(t *testing.T) {
		p := definePads(nil)
		db := &wide{Store: openStore(t), t: t, instances: map[string]string{}, under: map[string]bool{}}
		const over, each = 600, 3
		cfg := calm(config(p))
		cfg.Workers = 1000
		early := idle(t, db, cfg)
		var want []string
		for n := range each {
			want = append(want, fmt.Sprint(n))
			for a := range over {
				p.tell(t, early, fmt.Sprint(a), want[n])
			}
		}
		rt := run(t, early)
		var asks sync.WaitGroup
		for a := range over {
			asks.Go(func() { p.ask(t, rt.Runtime, fmt.Sprint(a), "last") })
		}
		asks.Wait()
		for a := range over {
			p.expect(t, rt.Runtime, fmt.Sprint(a), append(slices.Clone(want), "last")...)
		}
		if db.most < 2 {
			t.Errorf("at most %d flushes at once, want several", db.most)
		}
	})
}

// gate is a store whose flushes wait for each other and, while it is shut, for the test.
type gate struct {
	store.Store
	mu      sync.Mutex
	shut    chan struct{} // nil while it is open
	flushes []*store.Flush
}

func (g *gate) close() (open func()) {
	g.mu.Lock()
	defer g.mu.Unlock()
	shut := make(chan struct{})
	g.shut, g.flushes = shut, nil
	return func() { close(shut) }
}

func (g *gate) Flush(ctx context.Context, f *store.Flush) error {
	g.mu.Lock()
	shut := g.shut
	g.flushes = append(g.flushes, f)
	g.mu.Unlock()
	if shut != nil {
		<-shut
	}
	return g.Store.Flush(ctx, f)
}

// D36: a caller that gives up before the database was given its message takes it back, and is told so; one whose message
// is on its way is told its name.
func TestD36CallersThatGiveUpTakeTheirMessagesBack(t *testing.T) {
	inTime(t, func(t *testing.T) {
		p := definePads(nil)
		db := &gate{Store: openStore(t)}
		rt := start(t, db, calm(config(p)))
		p.ask(t, rt.Runtime, "a", "before")
		settle()
		open := db.close()
		give := func(line string) error {
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			defer cancel()
			_, err := p.write.Ask(ctx, rt, p.Ref("a"), line)
			return err
		}
		if late := as[*actors.AskTimeout](t, give("on its way")); late.Message.ID == "" {
			t.Error("the message that is on its way has no name")
		}
		for range 300 {
			err := give("waiting")
			if back := as[*actors.Withdrawn](t, err); back.Waited != time.Second || !errors.Is(err, context.DeadlineExceeded) || errors.Is(err, actors.ErrOutcomeUnknown) {
				t.Fatalf("%v after %v, want the end of its patience after a second and a definite outcome", err, back.Waited)
			}
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		_, told := p.write.Tell(ctx, rt, p.Ref("a"), "waiting")
		as[*actors.Withdrawn](t, told)
		open()
		p.ask(t, rt.Runtime, "a", "after")
		p.expect(t, rt.Runtime, "a", "before", "on its way", "after")
	})
}

// Design 4: where more waits than a flush holds, ends of turns and renewals go before new messages, and these are not
// shut out.
func TestD36TurnsDoNotWaitBehindACrowdOfCallers(t *testing.T) {
	inTime(t, func(t *testing.T) {
		release := make(chan struct{})
		p := definePads(func(_ *actors.Turn[pad], _ *pad, line string) error {
			if line == "long" {
				<-release
			}
			return nil
		})
		db := &gate{Store: openStore(t)}
		rt := start(t, db, calm(config(p)))
		var all sync.WaitGroup
		for a := range 3 {
			all.Go(func() { p.ask(t, rt.Runtime, fmt.Sprint("patient ", a), "long") })
		}
		settle()
		open := db.close()
		for a := range 600 {
			all.Go(func() { p.ask(t, rt.Runtime, fmt.Sprint(a), "x") })
		}
		settle()
		close(release)
		settle()
		open()
		all.Wait()
		second := db.flushes[1]
		if len(second.Commits) < 3 || len(second.Enqueues) < 64 {
			t.Errorf("after the one under way a flush with %d ends of turns and %d new messages, want 3 and a quarter of 256 at least", len(second.Commits), len(second.Enqueues))
		}
	})
}
