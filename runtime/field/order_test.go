package field

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/lockstep-go/lockstep/actors"
	"github.com/lockstep-go/lockstep/runtime"
	"github.com/lockstep-go/lockstep/runtime/store"
)

// severed is a store whose process has died, as far as its database can tell: nothing more reaches it.
type severed struct {
	store.Store
	dead atomic.Bool
}

var errSevered = errors.New("the process is dead")

func (s *severed) Flush(ctx context.Context, f *store.Flush) error {
	if s.dead.Load() {
		return errSevered
	}
	return s.Store.Flush(ctx, f)
}

func (s *severed) Beat(ctx context.Context, id, state string) (store.Outcome, error) {
	if s.dead.Load() {
		return "", errSevered
	}
	return s.Store.Beat(ctx, id, state)
}

func (s *severed) Recover(ctx context.Context, self string, stale, retain time.Duration) (store.Recovered, error) {
	if s.dead.Load() {
		return store.Recovered{}, errSevered
	}
	return s.Store.Recover(ctx, self, stale, retain)
}

func (s *severed) Leave(ctx context.Context, id string) (store.Recovered, error) {
	if s.dead.Load() {
		return store.Recovered{}, nil
	}
	return s.Store.Leave(ctx, id)
}

// TestD25ARetryingHeadHoldsTheTail: the first message fails twice, the second was available earlier, the third is due
// later; two processes of two workers each are at it, and the one that runs the first attempt dies in the middle of it.
// The attempts are 1, 1, 1, 2, where the killed one counts; the third holds those behind it until it is due.
func TestD25ARetryingHeadHoldsTheTail(t *testing.T) {
	onEach(t, func(t *testing.T, b *base) {
		const later = 6 * time.Second // an hour as stated, waited for
		var mu sync.Mutex
		var runs []string
		var victim atomic.Pointer[severed]
		killed := make(chan struct{})
		typ := actors.Define("queue", func() order { return order{} })
		do := actors.Message[string, int](typ, "do")
		do.Handle(func(s *order, turn *actors.Turn[order], line string) (int, error) {
			mu.Lock()
			runs = append(runs, fmt.Sprintf("%s/%d", line, turn.Attempt()))
			mu.Unlock()
			if line == "1" && turn.Attempt() == 1 {
				victim.Load().dead.Store(true)
				close(killed)
				<-turn.Context().Done()
				return 0, context.Cause(turn.Context())
			}
			if line == "1" && turn.Attempt() == 2 {
				return 0, errors.New("once more")
			}
			s.Lines = append(s.Lines, line)
			return len(s.Lines), nil
		})
		cfg := hurried([]actors.AnyType{typ})
		cfg.Workers, cfg.Lease, cfg.Renew = 2, 1500*time.Millisecond, 300*time.Millisecond
		cfg.Stale, cfg.Shutdown = 1500*time.Millisecond, 100*time.Millisecond
		cfg.Backoff = func(int) time.Duration { return time.Second }
		first := &severed{Store: b.store(t)}
		victim.Store(first)
		dying, err := runtime.Open(t.Context(), first, cfg)
		if err != nil {
			t.Fatal(err)
		}
		ctx, stop := context.WithCancel(context.Background())
		ended := make(chan error, 1)
		go func() { ended <- dying.Run(ctx) }()
		t.Cleanup(func() { stop(); <-ended; dying.Close() })
		begun := time.Now()
		if _, err := do.Tell(t.Context(), dying, typ.Ref("a"), "1", actors.Available(actors.In(200*time.Millisecond))); err != nil {
			t.Fatal(err)
		}
		if _, err := do.Tell(t.Context(), dying, typ.Ref("a"), "2"); err != nil {
			t.Fatal(err)
		}
		third, err := do.Tell(t.Context(), dying, typ.Ref("a"), "3", actors.Available(actors.In(later)))
		if err != nil {
			t.Fatal(err)
		}
		for _, line := range []string{"4", "5"} {
			if _, err := do.Tell(t.Context(), dying, typ.Ref("a"), line); err != nil {
				t.Fatal(err)
			}
		}
		select {
		case <-killed:
		case <-time.After(20 * time.Second):
			t.Fatal("the first message was not begun")
		}
		other := start(t, b, cfg)
		before := func() []string {
			mu.Lock()
			defer mu.Unlock()
			return slices.Clone(runs)
		}
		eventually(t, "1, 1, 1, 2 have run", 30*time.Second, func() bool { return len(before()) >= 4 })
		if got := strings.Join(before()[:4], " "); got != "1/1 1/2 1/3 2/1" {
			t.Errorf("executions %s", got)
		}
		if n := len(before()); n > 4 && time.Since(begun) < later {
			t.Errorf("behind a message that is not due ran %v", before()[4:])
		}
		long, cancel := context.WithTimeout(t.Context(), later+20*time.Second)
		defer cancel()
		if n, err := do.Wait(long, other, third); n != 3 || err != nil {
			t.Errorf("the third message: %d, %v", n, err)
		}
		b.atRest(t, 20*time.Second)
		if got := strings.Join(before(), " "); got != "1/1 1/2 1/3 2/1 3/1 4/1 5/1" {
			t.Errorf("executions %s", got)
		}
		if got := b.text(t, "SELECT operation FROM lockstep_messages WHERE status <> 'completed'"); got != "" {
			t.Errorf("not completed: %s", got)
		}
	})
}
