package runtime_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	goruntime "runtime"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/lockstep-go/lockstep/actors"
	"github.com/lockstep-go/lockstep/runtime"
	"github.com/lockstep-go/lockstep/runtime/store"
)

// D23: a thousand times, wherever actor code may be: each is one failed attempt (of a setup: none), the process lives,
// the slot is free again, and there are as many goroutines as before.
func TestD23AThousandTimes(t *testing.T) {
	inTime(t, func(t *testing.T) {
		var hook atomic.Value
		hook.Store("")
		x := defineTraps()
		x.OnActivate(func(*trap, *actors.Activation) error { spring(hook.Load().(string), "hook"); return nil })
		x.Migrate(1, func(s json.RawMessage) (json.RawMessage, error) { return s, nil })
		cfg := config(x)
		cfg.Workers, cfg.EffectWorkers, cfg.Attempts = 1, 1, 1
		cfg.Idle = -1 // the hook runs for each message
		cfg.Backoff = func(int) time.Duration { panic("no idea") }
		var policy atomic.Bool
		cfg.Policy.Message = func(context.Context, actors.Request) error {
			if policy.Load() {
				panic("no rules")
			}
			return nil
		}
		cfg.Effects = []actors.Executor{x.effect.By(func(_ context.Context, c actors.EffectCall[string]) (string, error) {
			spring(c.In, "effect")
			return "", nil
		})}
		db := openStore(t)
		rt := start(t, db, cfg)
		ctx := t.Context()
		set := func(id, how string) error { _, err := x.set.Ask(ctx, rt, x.Ref(id), how); return err }
		if err := set("a", "fine"); err != nil {
			t.Fatal(err)
		}
		settle()
		before := goruntime.NumGoroutine()
		places := []string{"handler", "query", "observable", "marshal", "error text", "hook", "policy", "effect"}
		ways := []string{"panic", "nil", "Goexit"}
		times, failures := here(t).scale(200), 0
		if os.Getenv("LOCKSTEP_TEST_FULL") == "1" {
			times = 1000
		}
		t.Logf("times: %d (stated: 1000)", times)
		for i := range times {
			how := places[i%len(places)] + " " + ways[i/len(places)%len(ways)]
			id := "a"
			switch places[i%len(places)] {
			case "query":
				_, err := x.query.Ask(ctx, rt, x.Ref(id), how)
				as[*actors.MessageFailed](t, err)
				failures++
			case "policy":
				policy.Store(true)
				if err := set(id, "fine"); !errors.Is(err, actors.ErrUnauthorized) {
					t.Fatalf("%d, %s: %v", i, how, err)
				}
				policy.Store(false)
			case "hook":
				hook.Store(how)
				id = fmt.Sprint("hook ", i)
				failed := as[*actors.SetupFailed](t, set(id, "fine"))
				hook.Store("")
				pass(2 * time.Second)
				if _, err := x.set.Wait(ctx, rt, failed.Message); err != nil {
					t.Fatalf("%d, %s, once it is mended: %v", i, how, err)
				}
			case "effect":
				if err := set(id, how); err != nil {
					t.Fatal(err)
				}
				settle()
				select {
				case f := <-x.heard:
					if f.Attempts != 1 || f.Args != how {
						t.Fatalf("%d, %s: the actor hears %+v", i, how, f)
					}
				case <-time.After(time.Minute):
					t.Fatalf("%d, %s: the actor hears nothing", i, how)
				}
			default:
				as[*actors.MessageFailed](t, set(id, how))
				failures++
			}
			if err := set(id, "fine"); err != nil {
				t.Fatalf("%d, %s: the next message: %v", i, how, err)
			}
		}
		pass(time.Minute)
		if after := goruntime.NumGoroutine(); after > before {
			t.Errorf("%d goroutines before, %d after", before, after)
		}
		letters, err := db.DeadLetters(ctx, 10_000)
		if err != nil || len(letters) != failures {
			t.Errorf("%d dead letters, %v; want %d", len(letters), err, failures)
		}
		for _, l := range letters {
			if len(l.ErrorText) > 8<<10 {
				t.Fatalf("an error's text has %d bytes", len(l.ErrorText))
			}
		}
	})
}

// D15: every answer of the database takes twice as long as the time between renewals. A turn of ten minutes keeps its
// lease, and no lease is asked for twice at a time.
func TestD15LateAnswers(t *testing.T) {
	inTime(t, func(t *testing.T) {
		runs := 0
		p := definePads(func(turn *actors.Turn[pad], _ *pad, _ string) error {
			runs++
			select {
			case <-turn.Context().Done():
			case <-time.After(10 * time.Minute):
			}
			return context.Cause(turn.Context())
		})
		db := openStore(t)
		late := &faults{Store: db}
		cfg := config(p)
		cfg.Lease, cfg.Renew, cfg.AskTimeout = 90*time.Second, 10*time.Second, 10*time.Minute
		rounds := 0
		late.set(nil, func(b *store.Flush) error {
			seen := map[string]bool{}
			for _, r := range b.Renewals {
				if seen[r.Fence.Token] {
					t.Error("a lease is renewed twice in one flush")
				}
				seen[r.Fence.Token] = true
				rounds++
			}
			time.Sleep(2 * cfg.Renew)
			return nil
		})
		rt := start(t, late, cfg)
		start(t, db, cfg)
		m := p.tell(t, rt.Runtime, "a", "long")
		pass(12 * time.Minute)
		ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
		defer cancel()
		if n, err := p.write.Wait(ctx, rt, m); n != 1 || err != nil || runs != 1 {
			t.Errorf("answer %d, %v after %d runs; want one run", n, err, runs)
		}
		if most := int(12 * time.Minute / (2 * cfg.Renew)); rounds < 10 || rounds > most {
			t.Errorf("%d renewals, want 10 to %d: rounds pile up", rounds, most)
		}
		late.set(nil, nil)
	})
}

// D16: a sole process sleeps past its leases, with reminders that come due meanwhile. It goes on by itself within
// seconds, each reminder by its catch-up policy, and serves nothing that it does not own any more.
func TestD16SoleProcessThatSlept(t *testing.T) {
	inTime(t, func(t *testing.T) {
		var p *pads
		p = definePads(func(turn *actors.Turn[pad], _ *pad, line string) error {
			switch line {
			case "latest":
				p.write.Schedule(turn, actors.In(time.Minute), "tick latest", actors.Key("latest"), actors.Every(time.Minute))
			case "all":
				p.write.Schedule(turn, actors.In(time.Minute), "tick all", actors.Key("all"), actors.Every(time.Minute), actors.CatchUp(actors.All))
			case "stop":
				p.write.Cancel(turn, actors.Key("latest"))
				p.write.Cancel(turn, actors.Key("all"))
			}
			return nil
		})
		db := openStore(t)
		cfg := config(p)
		cfg.Idle = time.Hour
		rt := start(t, db, cfg)
		p.ask(t, rt.Runtime, "a", "latest")
		p.ask(t, rt.Runtime, "a", "all")
		db.Offset(10*time.Minute + 30*time.Second) // as far as the database can tell
		pass(15 * time.Second)
		count := func() (latest, all int) {
			s, err := p.Ref("a").Snapshot(t.Context(), rt)
			if err != nil {
				t.Fatal(err)
			}
			for _, l := range s.Lines {
				latest += strings.Count(l, "tick latest")
				all += strings.Count(l, "tick all")
			}
			return latest, all
		}
		if latest, all := count(); latest != 1 || all != 10 {
			t.Errorf("within seconds %d occurrences of the latest and %d of all, want 1 and 10", latest, all)
		}
		if n := p.ask(t, rt.Runtime, "a", "stop"); n != 14 {
			t.Errorf("it answers %d, want 14", n)
		}
		db.Offset(0)
	})
}

// D17 (d), (e), (f): a result shares nothing with the live state, a lost fence drops the state with the activation, and
// what a goroutine does with a pointer that it kept does not reach what is committed.
func TestD17NothingAliasesTheState(t *testing.T) {
	inTime(t, func(t *testing.T) {
		type deep struct {
			Maps map[string][]int `json:"maps"`
		}
		typ := actors.Define("deep", func() deep { return deep{Maps: map[string][]int{}} })
		poke := actors.Message[int, map[string][]int](typ, "poke")
		look := actors.Query(typ, "look", func(d deep) map[string][]int { return d.Maps })
		var kept *deep
		poke.Handle(func(d *deep, _ *actors.Turn[deep], n int) (map[string][]int, error) {
			d.Maps["a"] = append(d.Maps["a"], n)
			kept = d
			return d.Maps, nil
		})
		db := openStore(t)
		rt := start(t, db, config(typ))
		ctx, ref := t.Context(), typ.Ref("a")
		first, err := poke.Ask(ctx, rt, ref, 1)
		if err != nil {
			t.Fatal(err)
		}
		m, err := poke.Tell(ctx, rt, ref, 2)
		if err != nil {
			t.Fatal(err)
		}
		second, err := poke.Wait(ctx, rt, m)
		if err != nil || fmt.Sprint(first, second) != "map[a:[1]] map[a:[1 2]]" {
			t.Errorf("the results are %v and %v, %v", first, second, err)
		}
		seen, err := look.Ask(ctx, rt, ref)
		if err != nil {
			t.Fatal(err)
		}
		seen["a"][0], seen["b"] = 99, nil
		snap, err := ref.Snapshot(ctx, rt)
		if err != nil {
			t.Fatal(err)
		}
		snap.Maps["a"][1], snap.Maps["c"] = 99, nil
		settle()
		kept.Maps["a"][0] = 77 // a goroutine that the handler started
		if again, err := poke.Wait(ctx, rt, m); err != nil || fmt.Sprint(again) != "map[a:[1 2]]" {
			t.Errorf("the stored result is %v now, %v", again, err)
		}
		if s, err := ref.Snapshot(ctx, rt); err != nil || fmt.Sprint(s.Maps) != "map[a:[1 2]]" {
			t.Errorf("the committed state is %v now, %v", s.Maps, err)
		}
		db.Offset(time.Hour) // the fence is lost, and with it the state in memory
		if third, err := poke.Ask(ctx, rt, ref, 3); err != nil || fmt.Sprint(third) != "map[a:[1 2 3]]" {
			t.Errorf("after the lease was lost the answer is %v, %v", third, err)
		}
		db.Offset(0)
	})
}

// D14 (c): every duration that contradicts another, is negative or too short is refused, with the relation to satisfy.
func TestD14ContradictingDurations(t *testing.T) {
	db := openStore(t)
	for name, c := range map[string]struct {
		change func(*runtime.Config)
		says   string
	}{
		"lease 1 s, renewal 10 s":      {func(c *runtime.Config) { c.Lease, c.Renew = time.Second, 10*time.Second }, "Lease (1s) must be longer than Renew (10s)"},
		"lease as long as renewal":     {func(c *runtime.Config) { c.Lease, c.Renew = time.Second, time.Second }, "Lease (1s) must be longer than Renew (1s)"},
		"stale below the heartbeat":    {func(c *runtime.Config) { c.Stale, c.Heartbeat = time.Second, 2*time.Second }, "Stale (1s) must be at least twice Heartbeat (2s)"},
		"stale as long as heartbeat":   {func(c *runtime.Config) { c.Stale, c.Heartbeat = time.Second, time.Second }, "Stale (1s) must be at least twice Heartbeat (1s)"},
		"negative lease":               {func(c *runtime.Config) { c.Lease = -1 }, "Lease is -1ns, must be positive"},
		"negative renewal":             {func(c *runtime.Config) { c.Renew = -1 }, "Renew is -1ns, must be positive"},
		"negative heartbeat":           {func(c *runtime.Config) { c.Heartbeat = -1 }, "Heartbeat is -1ns, must be positive"},
		"negative stale":               {func(c *runtime.Config) { c.Stale = -1 }, "Stale is -1ns, must be positive"},
		"negative shutdown":            {func(c *runtime.Config) { c.Shutdown = -1 }, "Shutdown is -1ns, must be positive"},
		"negative ask timeout":         {func(c *runtime.Config) { c.AskTimeout = -1 }, "AskTimeout is -1ns, must be positive"},
		"negative poll":                {func(c *runtime.Config) { c.Poll = -1 }, "Poll is -1ns, must be positive"},
		"retention below the patience": {func(c *runtime.Config) { c.MessageRetention, c.AskTimeout = time.Second, 2*time.Second }, "MessageRetention (1s) must be longer than AskTimeout (2s)"},
	} {
		cfg := config(definePads(nil))
		c.change(&cfg)
		rt, err := runtime.Open(t.Context(), db, cfg)
		if err == nil || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: %v, want it to say %q", name, err, c.says)
		}
		if err == nil {
			rt.Close()
		}
	}
	if list, err := db.Processes(t.Context()); err != nil || len(list) != 0 {
		t.Errorf("%d processes are registered, %v", len(list), err)
	}
}
