package sqlite_test

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/lockstep-go/lockstep/runtime/store"
	"github.com/lockstep-go/lockstep/runtime/store/sqlite"
)

// actor is a warm activation of a benchmark.
type actor struct {
	key   store.Key
	fence store.Fence
	turn  store.Turn
}

func (a *actor) enqueue() *store.Enqueue {
	e := &store.Enqueue{
		Message: store.Message{
			ID: uuid.Must(uuid.NewV7()).String(), Type: a.key.Type, ActorID: a.key.ID, Operation: "add",
			Arguments: json.RawMessage(`{"sku":"mug","qty":1}`), Origin: store.FromClient, MaxAttempts: 5,
		},
		Cap:   10_000,
		Claim: &store.Claim{Owner: "bench", Token: "token-of-" + a.key.ID, Lease: time.Hour},
	}
	if a.fence.Instance != "" {
		e.Held = &a.fence
	}
	return e
}

func (a *actor) commit() *store.Commit {
	return &store.Commit{
		Fence: a.fence, Message: a.turn.ID, Sequence: a.turn.Sequence, Status: store.Completed, Result: json.RawMessage("3"),
		State: json.RawMessage(`{"lines":{"mug":3,"cup":1},"status":"open"}`), Version: 1, Next: true,
	}
}

func (a *actor) claimed(b *testing.B, e *store.Enqueue) {
	if e.Activation == nil {
		b.Fatalf("not claimed: %s %v", e.Outcome, e.Err)
	}
	a.turn, a.fence = e.Activation.Turn, e.Activation.Fence
}

func warm(b *testing.B, s store.Store, n int) []*actor {
	actors := make([]*actor, n)
	f := &store.Flush{}
	for i := range actors {
		actors[i] = &actor{key: store.Key{Type: "cart", ID: fmt.Sprintf("shopper-%d", i)}}
		f.Enqueues = append(f.Enqueues, actors[i].enqueue())
	}
	flush(b, s, f)
	for i, e := range f.Enqueues {
		actors[i].claimed(b, e)
	}
	return actors
}

func flush(b *testing.B, s store.Store, f *store.Flush) {
	if err := s.Flush(b.Context(), f); err != nil {
		b.Fatal(err)
	}
	for _, c := range f.Commits {
		if c.Outcome != store.Done {
			b.Fatalf("commit: %s %v", c.Outcome, c.Err)
		}
	}
}

// BenchmarkFlush is the hot path: a turn's enqueue with claim and its commit, for n warm actors at once. "apart" is two
// transactions, as for callers in step; "fused" puts the commits of one round and the enqueues of the next into one.
func BenchmarkFlush(b *testing.B) {
	for _, sync := range []sqlite.Synchronous{sqlite.Full, sqlite.UnsafeNormal} {
		for _, n := range []int{1, 16, 64, 200} {
			for _, fused := range []bool{false, true} {
				name := fmt.Sprintf("%s/%d/apart", sync, n)
				if fused {
					name = fmt.Sprintf("%s/%d/fused", sync, n)
				}
				b.Run(name, func(b *testing.B) {
					s, err := sqlite.Open(b.Context(), filepath.Join(b.TempDir(), "bench.db"), sqlite.Config{Synchronous: sync})
					if err != nil {
						b.Fatal(err)
					}
					defer s.Close()
					actors := warm(b, s, n)
					before := s.Stats()
					rounds := 0
					for b.Loop() {
						f := &store.Flush{}
						for _, a := range actors {
							f.Commits = append(f.Commits, a.commit())
						}
						if !fused {
							flush(b, s, f)
							f = &store.Flush{}
						}
						for _, a := range actors {
							f.Enqueues = append(f.Enqueues, a.enqueue())
						}
						flush(b, s, f)
						for i, e := range f.Enqueues {
							actors[i].claimed(b, e)
						}
						rounds++
					}
					turns := float64(rounds * n)
					after := s.Stats()
					b.ReportMetric(turns/b.Elapsed().Seconds(), "turns/s")
					b.ReportMetric(float64(b.Elapsed().Microseconds())/turns, "µs/turn")
					b.ReportMetric(float64(after.Statements-before.Statements)/turns, "stmts/turn")
				})
			}
		}
	}
}
