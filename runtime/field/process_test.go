package field

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/lockstep-go/lockstep/actors"
	"github.com/lockstep-go/lockstep/runtime"
	"github.com/lockstep-go/lockstep/runtime/store"
)

// hurried is a runtime's configuration under which much happens in a second.
func hurried(types []actors.AnyType, effects ...actors.Executor) runtime.Config {
	return runtime.Config{
		Types: types, Effects: effects, Policy: actors.InsecureAllowAll(),
		Lease: 5 * time.Second, Renew: time.Second, Idle: 500 * time.Millisecond, Heartbeat: 500 * time.Millisecond, Stale: 5 * time.Second,
		Poll: 20 * time.Millisecond, PollIdle: 100 * time.Millisecond, PassMessages: 20, AskTimeout: 20 * time.Second,
		Backoff: func(int) time.Duration { return 10 * time.Millisecond },
	}
}

// process is a running runtime, as a process of its own would have it.
type process struct {
	*runtime.Runtime
	db    store.Store
	stop  context.CancelFunc
	ended chan error
	once  sync.Once
}

// start opens a runtime on a store of its own and runs it until it is ended, or the test is.
func start(t *testing.T, b *base, cfg runtime.Config) *process {
	t.Helper()
	return startOn(t, b.store(t), cfg)
}

func startOn(t *testing.T, db store.Store, cfg runtime.Config) *process {
	t.Helper()
	rt, err := runtime.Open(t.Context(), db, cfg)
	if err != nil {
		t.Fatalf("open a runtime: %v", err)
	}
	ctx, stop := context.WithCancel(context.Background())
	p := &process{Runtime: rt, db: db, stop: stop, ended: make(chan error, 1)}
	go func() { p.ended <- rt.Run(ctx) }()
	t.Cleanup(func() { p.end(t) })
	for !rt.Ready() {
		time.Sleep(time.Millisecond)
	}
	return p
}

// end shuts the process down as a deployment would.
func (p *process) end(t *testing.T) {
	t.Helper()
	p.once.Do(func() {
		p.stop()
		if err := <-p.ended; err != nil {
			t.Errorf("run: %v", err)
		}
		if err := p.Close(); err != nil {
			t.Errorf("close: %v", err)
		}
	})
}

// eventually waits on the real clock: these processes share a database server, not a bubble.
func eventually(t *testing.T, what string, within time.Duration, true func() bool) {
	t.Helper()
	for end := time.Now().Add(within); !true(); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("%s: not after %v", what, within)
		}
	}
}

// atRest waits until nothing waits in any mailbox or outbox.
func (b *base) atRest(t *testing.T, within time.Duration) {
	t.Helper()
	const waiting = `SELECT (SELECT count(*) FROM lockstep_instances WHERE head_sequence <> next_sequence) +
		(SELECT count(*) FROM lockstep_sends) + (SELECT count(*) FROM lockstep_effects WHERE state = 'pending') +
		(SELECT count(*) FROM lockstep_reminders)`
	eventually(t, "everything is at rest", within, func() bool { return b.number(t, waiting) == 0 })
}
