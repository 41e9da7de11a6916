package runtime_test

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/lockstep-go/lockstep/actors"
	"github.com/lockstep-go/lockstep/runtime"
	"github.com/lockstep-go/lockstep/runtime/store"
)

// pad is the actor of most of these tests: it keeps the lines that were written on it.
type pad struct {
	Lines []string `json:"lines"`
}

func (p pad) count() int        { return len(p.Lines) }
func (p pad) lines() []string   { return p.Lines }
func (p pad) has(s string) bool { return slices.Contains(p.Lines, s) }

// pads is one build's definition of the type pad.
type pads struct {
	*actors.Type[pad]
	write *actors.MessageType[pad, string, int] // returns how many lines there are
	count *actors.BareQuery[pad, int]
	lines *actors.ObservableType[pad, []string]
	size  *actors.SharedType[pad, int]
}

// script is what a pad does before it writes a line; an error is the turn's.
type script func(t *actors.Turn[pad], p *pad, line string) error

func definePads(do script) *pads {
	typ := actors.Define("pad", func() pad { return pad{} })
	p := &pads{Type: typ, write: actors.Message[string, int](typ, "write"), count: actors.Query(typ, "count", pad.count)}
	p.lines, p.size = actors.Observable(typ, "lines", pad.lines), actors.Shared(typ, "size", pad.count)
	p.write.Handle(func(s *pad, t *actors.Turn[pad], line string) (int, error) {
		if do != nil {
			if err := do(t, s, line); err != nil {
				return 0, err
			}
		}
		s.Lines = append(s.Lines, line)
		return len(s.Lines), nil
	})
	return p
}

func (p *pads) ask(t *testing.T, rt *runtime.Runtime, id, line string) int {
	t.Helper()
	n, err := p.write.Ask(t.Context(), rt, p.Ref(id), line)
	if err != nil {
		t.Fatalf("ask %s to write %q: %v", id, line, err)
	}
	return n
}

func (p *pads) tell(t *testing.T, rt *runtime.Runtime, id, line string, opts ...actors.CallOption) actors.MessageRef {
	t.Helper()
	m, err := p.write.Tell(t.Context(), rt, p.Ref(id), line, opts...)
	if err != nil {
		t.Fatalf("tell %s to write %q: %v", id, line, err)
	}
	return m
}

// expect compares an actor's committed lines.
func (p *pads) expect(t *testing.T, rt *runtime.Runtime, id string, want ...string) {
	t.Helper()
	got, err := p.Ref(id).Snapshot(t.Context(), rt)
	if err != nil {
		t.Fatalf("snapshot of %s: %v", id, err)
	}
	if !slices.Equal(got.Lines, want) {
		t.Errorf("%s has the lines %q, want %q", id, got.Lines, want)
	}
}

// config is a runtime's configuration for these types, open to everybody.
func config(types ...actors.AnyType) runtime.Config {
	return runtime.Config{Types: types, Policy: actors.InsecureAllowAll()}
}

// calm is cfg for a test in which hours pass: it asks the database for anything once in minutes.
func calm(cfg runtime.Config) runtime.Config {
	cfg.Poll, cfg.Heartbeat, cfg.Stale = time.Minute, 5*time.Minute, 15*time.Minute
	return runtime.KeepHouse(cfg, 5*time.Minute)
}

// pause stops an actor, or lets it go on.
func pause(t *testing.T, db store.Store, typ, id string, paused bool) {
	t.Helper()
	if o, err := db.Pause(t.Context(), actors.Address{Type: typ, ID: id}, paused); err != nil || o != store.Done {
		t.Fatalf("pause %v: %s, %v", paused, o, err)
	}
}

// process is a runtime as a process of its own would have it.
type process struct {
	*runtime.Runtime
	stop  context.CancelFunc
	ended chan error
	once  sync.Once
	err   error
}

// end stops Run and returns its error.
func (p *process) end() error {
	p.once.Do(func() {
		p.stop()
		p.err = <-p.ended
	})
	return p.err
}

// idle opens a runtime that does not run; it is closed when the test ends.
func idle(t *testing.T, db store.Store, cfg runtime.Config) *runtime.Runtime {
	t.Helper()
	rt, err := runtime.Open(t.Context(), db, cfg)
	if err != nil {
		t.Fatalf("open runtime: %v", err)
	}
	t.Cleanup(func() {
		if err := rt.Close(); err != nil {
			t.Errorf("close runtime: %v", err)
		}
	})
	return rt
}

// start opens a runtime and runs it until the test ends.
func start(t *testing.T, db store.Store, cfg runtime.Config) *process {
	t.Helper()
	return run(t, idle(t, db, cfg))
}

func run(t *testing.T, rt *runtime.Runtime) *process {
	t.Helper()
	ctx, stop := context.WithCancel(context.Background())
	p := &process{Runtime: rt, stop: stop, ended: make(chan error, 1)}
	go func() { p.ended <- rt.Run(ctx) }()
	t.Cleanup(func() {
		if err := p.end(); err != nil {
			t.Errorf("run: %v", err)
		}
	})
	for !rt.Ready() {
		time.Sleep(time.Millisecond)
	}
	return p
}

// record is a list that several goroutines add to.
type record struct {
	mu   sync.Mutex
	list []string
}

func (r *record) add(s string) {
	r.mu.Lock()
	r.list = append(r.list, s)
	r.mu.Unlock()
}

func (r *record) all() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.list)
}

func (r *record) expect(t *testing.T, what string, want ...string) {
	t.Helper()
	if got := r.all(); !slices.Equal(got, want) {
		t.Errorf("%s: %q, want %q", what, got, want)
	}
}

// as is errors.AsType that fails the test.
func as[E error](t *testing.T, err error) E {
	t.Helper()
	e, ok := errors.AsType[E](err)
	if !ok {
		t.Fatalf("got the error %v (%T), want a %T", err, err, e)
	}
	return e
}

func expectIs(t *testing.T, what string, err, want error) {
	t.Helper()
	if !errors.Is(err, want) {
		t.Errorf("%s: %v, want %v", what, err, want)
	}
}

// eventually waits on the real clock, for tests whose processes do not share a bubble.
func eventually(t *testing.T, what string, true func() bool) {
	t.Helper()
	for end := time.Now().Add(20 * time.Second); time.Now().Before(end); time.Sleep(5 * time.Millisecond) {
		if true() {
			return
		}
	}
	t.Fatalf("%s: not after 20 s", what)
}
