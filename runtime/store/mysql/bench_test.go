package mysql_test

import (
	"context"
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/lockstep-go/lockstep/actors"
	"github.com/lockstep-go/lockstep/runtime"
	"github.com/lockstep-go/lockstep/runtime/benchtest"
	"github.com/lockstep-go/lockstep/runtime/store"
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
	list := make([]*actor, n)
	f := &store.Flush{}
	for i := range list {
		list[i] = &actor{key: store.Key{Type: "cart", ID: fmt.Sprintf("shopper-%d", i)}}
		f.Enqueues = append(f.Enqueues, list[i].enqueue())
	}
	flushed(b, s, f)
	for i, e := range f.Enqueues {
		list[i].claimed(b, e)
	}
	return list
}

// flushed flushes and expects every commit to be done.
func flushed(t testing.TB, s store.Store, f *store.Flush) {
	t.Helper()
	if err := s.Flush(t.Context(), f); err != nil {
		t.Fatal(err)
	}
	for _, c := range f.Commits {
		if c.Outcome != store.Done {
			t.Fatalf("commit: %s %v", c.Outcome, c.Err)
		}
	}
}

// BenchmarkFlush is the hot path: a turn's enqueue with claim and its commit, for n warm actors at once. "apart" is two
// transactions, as for callers in step; "fused" puts the commits of one round and the enqueues of the next into one.
func BenchmarkFlush(b *testing.B) {
	for _, n := range []int{1, 16, 64, 200} {
		for _, how := range []string{"apart", "fused"} {
			b.Run(fmt.Sprintf("%d/%s", n, how), func(b *testing.B) {
				s := fresh(b, here.utf8)
				list := warm(b, s, n)
				before := s.Stats()
				rounds := 0
				for b.Loop() {
					f := &store.Flush{}
					for _, a := range list {
						f.Commits = append(f.Commits, a.commit())
					}
					if how == "apart" {
						flushed(b, s, f)
						f = &store.Flush{}
					}
					for _, a := range list {
						f.Enqueues = append(f.Enqueues, a.enqueue())
					}
					flushed(b, s, f)
					for i, e := range f.Enqueues {
						list[i].claimed(b, e)
					}
					rounds++
				}
				turns := float64(rounds * n)
				after := s.Stats()
				b.ReportMetric(turns/b.Elapsed().Seconds(), "turns/s")
				b.ReportMetric(float64(after.Statements-before.Statements)/float64(rounds), "stmts/round")
			})
		}
	}
}

// tally is the actor of the benchmarks of whole calls: nothing but a number.
type tally struct {
	N int `json:"n"`
}

var (
	tallies = actors.Define("tally", func() tally { return tally{} })
	bump    = actors.Message[int, int](tallies, "bump")
)

func init() {
	bump.Handle(func(s *tally, _ *actors.Turn[tally], by int) (int, error) {
		s.N += by
		return s.N, nil
	})
}

// running is a runtime that runs until the benchmark ends.
func running(b testing.TB, s store.Store) *runtime.Runtime {
	b.Helper()
	rt, err := runtime.Open(b.Context(), s, runtime.Config{Types: []actors.AnyType{tallies}, Policy: actors.InsecureAllowAll()})
	if err != nil {
		b.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- rt.Run(ctx) }()
	for !rt.Ready() {
		time.Sleep(time.Millisecond)
	}
	b.Cleanup(func() {
		stop()
		if err := <-ended; err != nil {
			b.Error(err)
		}
		if err := rt.Close(); err != nil {
			b.Error(err)
		}
	})
	return rt
}

// BenchmarkCalls is the set that every database runs.
func BenchmarkCalls(b *testing.B) {
	benchtest.Run(b, benchtest.Database{Open: func(b *testing.B) store.Store { return fresh(b, here.utf8) }, Bare: bare})
}
