package runtime_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/lockstep-go/lockstep/actors"
)

// G28: who may not destroy learns nothing; one transaction removes all that can act; a later use starts afresh.
func TestG28Destroy(t *testing.T) {
	inTime(t, func(t *testing.T) {
		var runs record
		var p *pads
		p = definePads(func(turn *actors.Turn[pad], _ *pad, line string) error {
			runs.add(line)
			if line == "schedule" {
				p.write.Schedule(turn, actors.In(time.Minute), "reminded")
				p.write.Send(turn, p.Ref("full"), "sent")
			}
			if line == "bad" {
				return actors.Permanent(errors.New("no"))
			}
			return nil
		})
		db := openStore(t)
		rt := start(t, db, config(p))
		cfg := config(p)
		cfg.Policy.Destroy = nil
		denied := idle(t, db, cfg)
		ctx, ref := t.Context(), p.Ref("a")
		p.ask(t, rt.Runtime, "a", "schedule")
		p.tell(t, rt.Runtime, "a", "bad")
		p.tell(t, rt.Runtime, "a", "later", actors.Available(actors.In(time.Minute)))
		settle()
		_, here := ref.Destroy(ctx, denied)
		_, nowhere := p.Ref("never").Destroy(ctx, denied)
		if !errors.Is(here, actors.ErrUnauthorized) || here.Error() != nowhere.Error() {
			t.Errorf("a refusal tells whether the actor exists: %v, %v", here, nowhere)
		}
		p.expect(t, rt.Runtime, "a", "schedule")
		if existed, err := ref.Destroy(ctx, rt); !existed || err != nil {
			t.Errorf("destroy: %v, %v", existed, err)
		}
		if existed, err := ref.Destroy(ctx, rt); existed || err != nil {
			t.Errorf("destroy again: %v, %v", existed, err)
		}
		due, err := db.Due(ctx, []string{"pad"}, nil)
		letters, _ := db.DeadLetters(ctx, 10)
		if err != nil || !due.Messages.IsZero() || !due.Reminders.IsZero() || len(letters) != 0 {
			t.Errorf("left behind: %+v, %d dead letters, %v", due, len(letters), err)
		}
		pass(5 * time.Minute)
		if runs.all()[len(runs.all())-1] == "reminded" || slices.Contains(runs.all(), "later") {
			t.Errorf("the dead acted: %q", runs.all())
		}
		if m := p.tell(t, rt.Runtime, "a", "new"); m.Sequence != 1 {
			t.Errorf("the new incarnation begins at sequence %d", m.Sequence)
		}
		settle()
		p.expect(t, rt.Runtime, "a", "new")
		if n, err := db.Sweep(ctx, 100); n != 0 || err != nil {
			t.Errorf("history of the dead is still there: %d rows, %v", n, err)
		}
	})
}

// D46, G28: an actor destroyed in the middle of its turn, from another process, is not brought back by that turn.
func TestD46DestroyDuringATurn(t *testing.T) {
	inTime(t, func(t *testing.T) {
		inside, leave := make(chan struct{}), make(chan struct{})
		var p *pads
		p = definePads(func(turn *actors.Turn[pad], _ *pad, line string) error {
			if line == "long" {
				p.write.Schedule(turn, actors.In(time.Second), "reminded")
				p.write.Send(turn, turn.Self(), "sent")
				close(inside)
				<-leave
			}
			return nil
		})
		db := openStore(t)
		rt, other := start(t, db, config(p)), idle(t, db, config(p))
		waits := make(chan error, 1)
		go func() {
			_, err := p.write.Ask(t.Context(), rt, p.Ref("a"), "long")
			waits <- err
		}()
		<-inside
		if existed, err := p.Ref("a").Destroy(t.Context(), other); !existed || err != nil {
			t.Fatalf("destroy: %v, %v", existed, err)
		}
		pass(time.Second)
		expectIs(t, "the waiting caller", <-waits, actors.ErrActorDestroyed)
		close(leave)
		pass(time.Minute)
		if existed, err := p.Ref("a").Destroy(t.Context(), other); existed || err != nil {
			t.Errorf("it was brought back: %v, %v", existed, err)
		}
		if n := p.ask(t, rt.Runtime, "a", "fresh"); n != 1 {
			t.Errorf("the new incarnation answers %d, want 1", n)
		}
	})
}

// G29: a migration is stored by the next successful commit, and by nothing else; newer state is refused untouched.
func TestG29MigrationIsStoredByACommit(t *testing.T) {
	inTime(t, func(t *testing.T) {
		old := definePads(nil)
		db := openStore(t)
		old.ask(t, idle(t, db, config(old)), "a", "old")
		young := definePads(func(_ *actors.Turn[pad], _ *pad, line string) error {
			if line == "bad" {
				return actors.Permanent(errors.New("no"))
			}
			return nil
		})
		young.Migrate(1, func(s json.RawMessage) (json.RawMessage, error) {
			return json.RawMessage(strings.Replace(string(s), "old", "migrated", 1)), nil
		})
		rt := start(t, db, config(young))
		version := func() int {
			snap, err := db.Snapshot(t.Context(), actors.Address{Type: "pad", ID: "a"})
			if err != nil {
				t.Fatal(err)
			}
			return snap.Version
		}
		if n, err := young.count.Ask(t.Context(), rt, young.Ref("a")); n != 1 || err != nil || version() != 1 {
			t.Errorf("a query: %d, %v, and the stored version is %d; want 1", n, err, version())
		}
		_, err := young.write.Ask(t.Context(), rt, young.Ref("a"), "bad")
		if as[*actors.MessageFailed](t, err); version() != 1 {
			t.Errorf("after a failed turn the stored version is %d, want 1", version())
		}
		young.ask(t, rt.Runtime, "a", "new")
		if version() != 2 {
			t.Errorf("after a commit the stored version is %d, want 2", version())
		}
		young.expect(t, rt.Runtime, "a", "migrated", "new")
		_, err = old.Ref("a").Snapshot(t.Context(), idle(t, db, config(old)))
		if newer := as[*actors.StateTooNew](t, err); newer.Stored != 2 || newer.Known != 1 {
			t.Errorf("the old build says %+v", newer)
		}
	})
}

func TestG30PauseStopsAndResumeDrainsInOrder(t *testing.T) {
	inTime(t, func(t *testing.T) {
		p := definePads(nil)
		db := openStore(t)
		rt := start(t, db, config(p))
		p.ask(t, rt.Runtime, "a", "0")
		pause(t, db, "pad", "a", true)
		for i := range 5 {
			p.tell(t, rt.Runtime, "a", fmt.Sprint(i+1))
		}
		_, err := p.write.Ask(t.Context(), rt, p.Ref("a"), "6")
		if timeout := as[*actors.AskTimeout](t, err); timeout.For != "paused" && timeout.For != "earlier_message" {
			t.Errorf("it waits for %q", timeout.For)
		}
		p.ask(t, rt.Runtime, "b", "others go on")
		pass(10 * time.Minute)
		p.expect(t, rt.Runtime, "a", "0")
		pause(t, db, "pad", "a", false)
		pass(5 * time.Second)
		p.expect(t, rt.Runtime, "a", "0", "1", "2", "3", "4", "5", "6")
	})
}

// G32: a hot actor yields behind those that waited longer; with one slot, others run between its passes.
func TestG32HotActorYields(t *testing.T) {
	inTime(t, func(t *testing.T) {
		var runs record
		p := definePads(func(turn *actors.Turn[pad], _ *pad, _ string) error {
			runs.add(turn.ID())
			time.Sleep(time.Millisecond) // or all would have waited equally long
			return nil
		})
		cfg := config(p)
		cfg.Workers, cfg.PassMessages = 1, 5
		rt := idle(t, openStore(t), cfg)
		for range 30 {
			p.tell(t, rt, "hot", "x")
		}
		for i := range 3 {
			p.tell(t, rt, fmt.Sprint(i), "x")
		}
		run(t, rt)
		pass(5 * time.Second)
		got := runs.all()
		if len(got) != 33 {
			t.Fatalf("%d turns, want 33", len(got))
		}
		for i := range 3 {
			if at := slices.Index(got, fmt.Sprint(i)); at > 8 {
				t.Errorf("actor %d runs as number %d: %q", i, at, got)
			}
		}
	})
}

// G33: the cache is bounded in number, the longest idle go first, and what went is read again.
func TestG33CacheIsBounded(t *testing.T) {
	inTime(t, func(t *testing.T) {
		var gone, activated record
		p := definePads(nil)
		p.OnActivate(func(_ *pad, a *actors.Activation) error { activated.add(a.ID); return nil })
		p.OnDeactivate(func(s *pad) { gone.add(s.Lines[0]) })
		cfg := config(p)
		cfg.Activations, cfg.Idle = 3, time.Hour
		rt := start(t, openStore(t), cfg)
		for _, id := range []string{"a", "b", "c", "a", "d", "e", "a"} {
			p.ask(t, rt.Runtime, id, id)
			pass(time.Millisecond)
		}
		gone.expect(t, "let go", "b", "c")
		activated.expect(t, "activated", "a", "b", "c", "d", "e")
		if n := p.ask(t, rt.Runtime, "b", "again"); n != 2 {
			t.Errorf("an evicted actor answers %d, want 2", n)
		}
	})
}

func TestG33CacheIsBoundedInBytes(t *testing.T) {
	inTime(t, func(t *testing.T) {
		var gone record
		p := definePads(nil)
		p.OnDeactivate(func(s *pad) { gone.add(s.Lines[0][:1]) })
		cfg := config(p)
		cfg.ActivationBytes, cfg.Idle = 2500, time.Hour
		rt := start(t, openStore(t), cfg)
		for _, id := range []string{"a", "b", "c", "d"} {
			p.ask(t, rt.Runtime, id, id+strings.Repeat("x", 1000))
			pass(time.Millisecond)
		}
		gone.expect(t, "let go", "a", "b")
	})
}

// G34: retention deletes finished history of that age, never live work or dead letters, and ends the keys' time with it.
func TestG34RetentionLeavesLiveWork(t *testing.T) {
	inTime(t, func(t *testing.T) {
		p := definePads(func(_ *actors.Turn[pad], _ *pad, line string) error {
			if line == "bad" {
				return actors.Permanent(errors.New("no"))
			}
			return nil
		})
		db := openStore(t)
		cfg := calm(config(p))
		cfg.MessageRetention = 2 * time.Hour
		rt := start(t, db, cfg)
		done := p.tell(t, rt.Runtime, "a", "done", actors.IdempotencyKey("K"))
		p.tell(t, rt.Runtime, "a", "bad")
		settle()
		waiting := p.tell(t, rt.Runtime, "a", "later", actors.Available(actors.In(12*time.Hour)))
		pass(time.Hour)
		if n, err := p.write.Wait(t.Context(), rt, done); n != 1 || err != nil {
			t.Errorf("within the time: %d, %v", n, err)
		}
		pass(4 * time.Hour)
		_, err := p.write.Wait(t.Context(), rt, done)
		expectIs(t, "after it", err, actors.ErrUnknownMessage)
		if m := p.tell(t, rt.Runtime, "a", "done", actors.IdempotencyKey("K")); m.Sequence != 4 {
			t.Errorf("the key's second message has sequence %d, want 4", m.Sequence)
		}
		if letters, err := db.DeadLetters(t.Context(), 10); err != nil || len(letters) != 1 {
			t.Errorf("%d dead letters, %v", len(letters), err)
		}
		pass(8 * time.Hour)
		if n, err := p.write.Wait(t.Context(), rt, waiting); n != 2 || err != nil {
			t.Errorf("what waited longer than the retention: %d, %v", n, err)
		}
		p.expect(t, rt.Runtime, "a", "done", "later", "done")
	})
}
