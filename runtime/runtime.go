package runtime

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/google/uuid"

	"github.com/lockstep-go/lockstep/actors"
	"github.com/lockstep-go/lockstep/runtime/bus"
	"github.com/lockstep-go/lockstep/runtime/store"
)

// Runtime runs the actors of one program on one database. It is an actors.Client.
type Runtime struct {
	store store.Store
	cfg   Config
	id    string // of this process, random for each Open

	types     map[string]*actors.Definition
	typeNames []string
	executors map[string]actors.Executor
	actions   map[string]actors.CommitExecutor
	effects   []string // names of executors

	flusher   flusher
	cache     cache
	waiters   waiters
	followers followers[actors.Broadcast]
	revoked   followers[actors.Revoked]
	clock     *clock
	setbacks  setbacks
	bus       bus.Bus // nil: there is none
	warned    bool    // that there is none; housekeeping's own
	wall      func() time.Time
	observer  observer
	tracing   tracing

	running  atomic.Bool // workers claim
	crowded  atomic.Bool // more actors wait than there are slots: nobody is claimed out of turn
	closed   atomic.Bool
	slots    atomic.Int64 // turns in flight of the workers
	deaf     atomic.Int64 // effects that outlast the shutdown limit
	turns    inflight     // turns of the workers and of assisted calls
	beaten   atomic.Int64 // Unix nanoseconds of the last heartbeat
	seen     atomic.Int64 // of store.Changes
	retained retained
	once     sync.Once
	leave    error
}

// Open checks the program's wiring, registers this process and returns a Runtime that answers calls. It starts
// nothing in the background. The error joins all mistakes of the Config and of the types' definitions; a
// *DocumentLimit is among them where the database could not take what the Config allows. What is merely doubtful, a
// *SmallPool, is logged, and found again by Admin.Doctor.
func Open(ctx context.Context, db store.Store, cfg Config) (*Runtime, error) {
	cfg = cfg.withDefaults()
	rt := &Runtime{
		store: db, cfg: cfg, id: newID(),
		types: map[string]*actors.Definition{}, executors: map[string]actors.Executor{},
	}
	if err := errors.Join(cfg.validate(), rt.wire(), rt.wireActions(), rt.fits()); err != nil {
		return nil, err
	}
	rt.observer.log, rt.observer.sink, rt.tracing = cfg.Logger, cfg.Events, newTracing(cfg.Tracer)
	rt.flusher.store, rt.flusher.prepare, rt.flusher.wrote, rt.flusher.waits = db, rt.prepare, rt.flushed, rt.flushWaits
	rt.flusher.lease = cfg.Lease
	if p, ok := db.(store.Parallel); ok {
		rt.flusher.lanes = p.Flushes()
	}
	rt.cache.init(cfg.Activations, cfg.ActivationBytes)
	rt.waiters.init()
	rt.clock = newClock(cfg.SingleOwner)
	rt.wall = time.Now
	if rt.bus = cfg.Bus; rt.bus == nil && !cfg.SingleOwner {
		rt.bus, _ = db.(bus.Bus)
	}
	if err := db.Register(ctx, rt.process()); err != nil {
		return nil, fmt.Errorf("register process: %w", err)
	}
	rt.beaten.Store(time.Now().UnixNano())
	if err := rt.alone(ctx); err != nil {
		leaving, cancel := context.WithTimeout(context.WithoutCancel(ctx), rt.cfg.Shutdown)
		defer cancel()
		_, left := db.Leave(leaving, rt.id)
		return nil, errors.Join(err, left)
	}
	if small := rt.smallPool(); small != nil {
		cfg.Logger.WarnContext(ctx, "the store may wait for the application's pool", "error", small)
	}
	rt.observer.emit(ctx, Event{Name: ProcessStarted})
	return rt, nil
}

// wire indexes types and executors and finds what does not fit.
func (rt *Runtime) wire() error {
	var problems []error
	asked := map[string]*actors.EffectDefinition{}
	for _, t := range rt.cfg.Types {
		def := t.Definition()
		if rt.types[def.Name] != nil {
			problems = append(problems, fmt.Errorf("two actor types are named %q", def.Name))
			continue
		}
		rt.types[def.Name] = def
		rt.typeNames = append(rt.typeNames, def.Name)
		problems = append(problems, def.Check())
		for name, effect := range def.Effects() {
			if other := asked[name]; other != nil && !other.Same(effect) {
				problems = append(problems, fmt.Errorf("effect %q is asked for with different types (one of them by %s)", name, def.Name))
			}
			asked[name] = effect
		}
	}
	for _, x := range rt.cfg.Effects {
		if _, twice := rt.executors[x.Name]; twice {
			problems = append(problems, fmt.Errorf("effect %q is performed twice", x.Name))
		}
		rt.executors[x.Name] = x
		rt.effects = append(rt.effects, x.Name)
		if def := asked[x.Name]; def == nil {
			problems = append(problems, fmt.Errorf("effect %q is performed but no type asks for it", x.Name))
		} else if err := x.Fits(def); err != nil {
			problems = append(problems, err)
		}
	}
	for name := range asked {
		if _, ok := rt.executors[name]; !ok {
			problems = append(problems, fmt.Errorf("effect %q is performed by nobody", name))
		}
	}
	slices.Sort(rt.typeNames)
	return errors.Join(problems...)
}

// Definition is an actor type by name, or nil.
func (rt *Runtime) Definition(typ string) *actors.Definition { return rt.types[typ] }

// Ready says whether Run is working.
func (rt *Runtime) Ready() bool { return rt.running.Load() }

// ProcessID is this process's random id in the registry.
func (rt *Runtime) ProcessID() string { return rt.id }

// Close gives back what this process still holds and marks it stopped. Call it after Run has returned; a call after
// it gets actors.ErrClosed. It may be called again.
func (rt *Runtime) Close() error {
	rt.once.Do(func() {
		rt.closed.Store(true)
		rt.turns.wait(rt.cfg.Shutdown)
		rt.giveBackAll()
		ctx, cancel := context.WithTimeout(context.Background(), rt.cfg.Shutdown)
		defer cancel()
		left, err := rt.store.Leave(ctx, rt.id)
		if left.Messages+left.Effects > 0 {
			rt.tellAll()
		}
		if err != nil {
			rt.leave = fmt.Errorf("leave: %w", err)
			return
		}
		rt.observer.emit(ctx, Event{Name: ProcessStopped})
	})
	return rt.leave
}

// newID makes an id that sorts by the time it was made.
func newID() string { return uuid.Must(uuid.NewV7()).String() }
