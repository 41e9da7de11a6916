package runtimetest

import (
	"context"
	"errors"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/lockstep-go/lockstep/actors"
	"github.com/lockstep-go/lockstep/runtime"
	"github.com/lockstep-go/lockstep/runtime/store/sqlite"
)

// Runtime is the real runtime of one test, running, with what a test wants to do to it and to know of it.
type Runtime struct {
	*runtime.Runtime
	// DB is its database: for an application's own tables, which commit actions write, and for TellTx.
	DB *sqlite.Store

	bubble bool          // the clock is that of a testing/synctest bubble
	ahead  time.Duration // of the program's clock is the database's
	types  []string
	work   *watched
	fuse   *fuse
	staged map[string]*shelf // by name of the effect
	ended  <-chan struct{}   // Run was told to end
}

// Open opens a Runtime with these types that allows everybody everything (actors.InsecureAllowAll), on a database of its
// own, and closes both when the test ends. A turn that is still in flight then fails the test.
func Open(t testing.TB, types ...actors.AnyType) *Runtime {
	t.Helper()
	return OpenConfig(t, runtime.Config{Types: types, Policy: actors.InsecureAllowAll()})
}

// OpenConfig is Open for any configuration, such as one with the application's own policy. An effect that Config.Effects
// does not perform is staged: see Staged. Outside a bubble, where Advance moves the database's clock and not the
// program's, leases hold for ten years and polls come every 10 ms unless the Config says otherwise.
func OpenConfig(t testing.TB, cfg runtime.Config) *Runtime {
	t.Helper()
	db, err := sqlite.Open(t.Context(), ":memory:")
	if err != nil {
		t.Fatalf("open database: %v", err)
	}
	ctx, stop := context.WithCancel(context.Background())
	rt := &Runtime{
		DB: db, bubble: inBubble(), work: newWatched(db), fuse: newFuse(stop, cfg.Events),
		staged: map[string]*shelf{}, ended: ctx.Done(),
	}
	rt.fuse.bubble = rt.bubble
	cfg.Events = rt.fuse.hear
	rt.stage(&cfg)
	if !rt.bubble {
		patient(&cfg)
	}
	if rt.Runtime, err = runtime.Open(t.Context(), rt.work, cfg); err != nil {
		stop()
		t.Fatalf("open runtime: %v", errors.Join(err, db.Close()))
	}
	ended := make(chan error, 1)
	go func() { ended <- rt.Run(ctx) }()
	t.Cleanup(func() {
		stop()
		if err := <-ended; err != nil {
			t.Errorf("run: %v", err)
		}
		if err := rt.Close(); err != nil {
			t.Errorf("close runtime: %v", err)
		}
		if err := db.Close(); err != nil {
			t.Errorf("close database: %v", err)
		}
		if err := rt.fuse.untold(); err != nil {
			t.Error(err)
		}
	})
	return rt
}

// stage has the effects that nobody performs wait for the test.
func (rt *Runtime) stage(cfg *runtime.Config) {
	cfg.Effects = slices.Clone(cfg.Effects)
	for _, typ := range cfg.Types {
		def := typ.Definition()
		rt.types = append(rt.types, def.Name)
		for name, effect := range def.Effects() {
			if slices.ContainsFunc(cfg.Effects, func(x actors.Executor) bool { return x.Name == name }) {
				continue
			}
			s := &shelf{rt: rt}
			rt.staged[name] = s
			cfg.Effects = append(cfg.Effects, effect.By(s.perform))
		}
	}
	if len(rt.staged) > 0 && cfg.EffectWorkers == 0 {
		cfg.EffectWorkers = 1000 // each call that waits for the test has one
	}
}

// patient keeps what is measured by the database's clock from being hurt when Advance moves that alone.
func patient(cfg *runtime.Config) {
	if cfg.Lease == 0 {
		cfg.Lease = 10 * 365 * 24 * time.Hour
	}
	if cfg.Poll == 0 && cfg.PollIdle == 0 {
		cfg.Poll, cfg.PollIdle = 10*time.Millisecond, 10*time.Millisecond
	}
}

// inBubble says whether the calling goroutine is in a bubble, whose other goroutines have come to rest then.
func inBubble() (yes bool) {
	defer func() { _ = recover() }() // Wait panics outside
	synctest.Wait()
	return true
}
