package field

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/lockstep-go/lockstep/actors"
	"github.com/lockstep-go/lockstep/runtime"
	"github.com/lockstep-go/lockstep/runtime/store"
)

// watched is a process's store that tells of each named point, once, before it goes on.
type watched struct {
	store.Store
	mu    sync.Mutex
	point string
	do    func()
}

func (w *watched) reach(point string) {
	w.mu.Lock()
	do := w.do
	if point != w.point {
		do = nil
	} else {
		w.do = nil
	}
	w.mu.Unlock()
	if do != nil {
		do()
	}
}

// mine says whether a flush has to do with the actor that ends.
func mine(f *store.Flush) bool {
	for _, c := range f.Commits {
		if len(c.Effects) > 0 {
			return true
		}
	}
	return false
}

func (w *watched) Flush(ctx context.Context, f *store.Flush) error {
	if mine(f) {
		w.reach("before its commit")
	}
	err := w.Store.Flush(ctx, f)
	if mine(f) {
		w.reach("after its commit")
	}
	return err
}

func (w *watched) Deliver(ctx context.Context, limit, mailboxCap int, backoff time.Duration) ([]store.Message, error) {
	w.reach("before delivery")
	moved, err := w.Store.Deliver(ctx, limit, mailboxCap, backoff)
	if len(moved) > 0 {
		w.reach("after delivery")
	}
	return moved, err
}

func (w *watched) FireReminders(ctx context.Context, limit, mailboxCap, maxAttempts int, backoff time.Duration) ([]store.Message, error) {
	w.reach("before firing reminders")
	fired, err := w.Store.FireReminders(ctx, limit, mailboxCap, maxAttempts, backoff)
	if len(fired) > 0 {
		w.reach("after firing reminders")
	}
	return fired, err
}

func (w *watched) ClaimEffects(ctx context.Context, owner string, names []string, limit int, lease time.Duration) ([]store.Effect, error) {
	claimed, err := w.Store.ClaimEffects(ctx, owner, names, limit, lease)
	if len(claimed) > 0 {
		w.reach("after claiming its effect")
	}
	return claimed, err
}

func (w *watched) FinishEffects(ctx context.Context, o []*store.EffectOutcome) ([]store.Message, error) {
	w.reach("before recording its effect")
	sent, err := w.Store.FinishEffects(ctx, o)
	w.reach("after recording its effect")
	return sent, err
}

// mortal is an actor that leaves behind whatever an actor can.
type mortal struct {
	Lines []string `json:"lines"`
}

type mortals struct {
	*actors.Type[mortal]
	begin *actors.MessageType[mortal, string, int]
	count *actors.MessageType[mortal, string, int]
	work  *actors.EffectType[mortal, string, string]
}

func defineMortals(w *watched) *mortals {
	typ := actors.Define("mortal", func() mortal { return mortal{} })
	m := &mortals{
		Type: typ, begin: actors.Message[string, int](typ, "begin"), count: actors.Message[string, int](typ, "count"),
		work: actors.Effect[string, string](typ, "work"),
	}
	actors.Shared(typ, "lines", func(m mortal) []string { return m.Lines })
	m.count.Handle(func(s *mortal, _ *actors.Turn[mortal], line string) (int, error) {
		s.Lines = append(s.Lines, line)
		return len(s.Lines), nil
	})
	done := actors.Message[actors.Done[string, string], actors.None](typ, "done")
	done.Handle(func(s *mortal, _ *actors.Turn[mortal], in actors.Done[string, string]) (actors.None, error) {
		s.Lines = append(s.Lines, "done "+in.Args)
		return actors.None{}, nil
	})
	m.work.Done(done)
	m.begin.Handle(func(s *mortal, t *actors.Turn[mortal], line string) (int, error) {
		w.reach("in its turn")
		s.Lines = append(s.Lines, line)
		m.work.Emit(t, line)
		m.count.Schedule(t, actors.In(0), "rang", actors.Key("once"))
		m.count.Schedule(t, actors.In(time.Second), "rang", actors.Key("again"), actors.Every(time.Second))
		m.count.Send(t, m.Ref("self"), "to itself")
		m.count.Send(t, m.Ref("other"), "to another")
		return len(s.Lines), nil
	})
	return m
}

// TestD46DestroyedAtEveryPoint: an actor with a running turn, messages that are ready and that wait for their time,
// reminders, a running effect with an outcome, messages to itself and to others, a broadcast and a waiting call ends,
// by another process, at every named point. Nothing of it is left, nothing brings it back, the waiting call hears of
// it, and the next message begins a new one.
func TestD46DestroyedAtEveryPoint(t *testing.T) {
	points := []string{
		"in its turn", "before its commit", "after its commit", "before delivery", "after delivery", "before firing reminders", "after firing reminders",
		"after claiming its effect", "in its effect", "before recording its effect", "after recording its effect",
	}
	onEach(t, func(t *testing.T, b *base) {
		t.Parallel() // it mostly waits
		world := &watched{}
		m := defineMortals(world)
		other, err := runtime.Open(t.Context(), b.store(t), hurried([]actors.AnyType{m}, m.work.By(func(context.Context, actors.EffectCall[string]) (string, error) { return "", nil })))
		if err != nil {
			t.Fatal(err)
		}
		defer other.Close()
		for _, point := range points {
			t.Run(strings.ReplaceAll(point, " ", "_"), func(t *testing.T) { destroyedAt(t, b, m.Ref("self"), other, point) })
		}
	})
}

func destroyedAt(t *testing.T, b *base, self actors.Ref[mortal], other *runtime.Runtime, point string) {
	w := &watched{Store: b.store(t)}
	m := defineMortals(w)
	cfg := hurried([]actors.AnyType{m}, m.work.By(func(_ context.Context, c actors.EffectCall[string]) (string, error) {
		w.reach("in its effect")
		return c.ID, nil
	}))
	key := store.Key{Type: "mortal", ID: "self"}
	p := startOn(t, w, cfg)
	defer p.end(t)
	if _, err := m.count.Ask(t.Context(), p, m.Ref("self"), "lives"); err != nil {
		t.Fatal(err)
	}
	instance := must(p.db.Snapshot(t.Context(), key)).Instance
	must(p.db.Pause(t.Context(), key, true)) // until everything is there
	must(m.begin.Tell(t.Context(), p, m.Ref("self"), "first"))
	must(m.count.Tell(t.Context(), p, m.Ref("self"), "later", actors.Available(actors.In(time.Second))))
	asked := make(chan error, 1)
	go func() {
		_, err := m.count.Ask(t.Context(), p, m.Ref("self"), "waits")
		asked <- err
	}()
	eventually(t, "the call waits", 20*time.Second, func() bool {
		return b.number(t, "SELECT count(*) FROM lockstep_messages WHERE status = 'live' AND instance_id = '"+instance+"'") == 3
	})
	ended := make(chan error, 1)
	w.mu.Lock()
	w.point, w.do = point, func() {
		existed, err := self.Destroy(context.WithoutCancel(t.Context()), other)
		if err == nil && !existed {
			err = errors.New("it was not there")
		}
		ended <- err
	}
	w.mu.Unlock()
	must(p.db.Pause(t.Context(), key, false))
	select {
	case err := <-ended:
		if err != nil {
			t.Fatalf("destroy: %v", err)
		}
	case <-time.After(20 * time.Second):
		t.Fatal("the point was not met")
	}
	if err := <-asked; !errors.Is(err, actors.ErrActorDestroyed) {
		t.Errorf("the waiting call: %v, want ErrActorDestroyed", err)
	}
	time.Sleep(1500 * time.Millisecond) // past every due time
	eventually(t, "its history is gone", 20*time.Second, func() bool {
		return b.number(t, "SELECT count(*) FROM lockstep_messages WHERE instance_id = '"+instance+"'") == 0
	})
	for _, table := range []string{"ready", "claimed", "reminders", "effects", "sends", "broadcasts", "dead_letters", "messages"} {
		if slices.Contains(b.tables(t), "lockstep_"+table) {
			if n := b.number(t, "SELECT count(*) FROM lockstep_"+table+" WHERE instance_id = '"+instance+"'"); n > 0 {
				t.Errorf("%d rows of it are left in %s", n, table)
			}
		}
	}
	snap, err := p.db.Snapshot(t.Context(), key)
	if err != nil || snap.Instance != "" {
		t.Errorf("it was brought back: %+v, %v", snap, err)
	}
	if n, err := m.count.Ask(t.Context(), p, m.Ref("self"), "anew"); err != nil || n != 1 {
		t.Errorf("the next incarnation has %d lines, %v; want 1", n, err)
	}
	if _, err := m.Ref("self").Destroy(t.Context(), p); err != nil {
		t.Error(err)
	}
}
