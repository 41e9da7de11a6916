package postgres_test

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
	"github.com/lockstep-go/lockstep/runtime/store/postgres"
)

// warmActor is a kept activation.
type warmActor struct {
	key   store.Key
	fence store.Fence
	turn  store.Turn
}

func (a *warmActor) enqueue() *store.Enqueue {
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

func (a *warmActor) commit() *store.Commit {
	return &store.Commit{
		Fence: a.fence, Message: a.turn.ID, Sequence: a.turn.Sequence, Status: store.Completed, Result: json.RawMessage("3"),
		State: json.RawMessage(`{"lines":{"mug":3,"cup":1},"status":"open"}`), Version: 1, Next: true,
	}
}

// enqueues enqueues to each actor, with a claim.
func enqueues(t testing.TB, actors []*warmActor, f *store.Flush, flush func(*store.Flush)) {
	t.Helper()
	for _, a := range actors {
		f.Enqueues = append(f.Enqueues, a.enqueue())
	}
	flush(f)
	for i, e := range f.Enqueues {
		if e.Activation == nil {
			t.Fatalf("not claimed: %s %v", e.Outcome, e.Err)
		}
		actors[i].turn, actors[i].fence = e.Activation.Turn, e.Activation.Fence
	}
}

func commits(actors []*warmActor) *store.Flush {
	f := &store.Flush{}
	for _, a := range actors {
		f.Commits = append(f.Commits, a.commit())
	}
	return f
}

// flusher flushes and expects every commit to be done.
func flusher(t testing.TB, s store.Store) func(*store.Flush) {
	return func(f *store.Flush) {
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
}

func warmActors(t testing.TB, s store.Store, n int) []*warmActor {
	t.Helper()
	list := make([]*warmActor, n)
	for i := range list {
		list[i] = &warmActor{key: store.Key{Type: "cart", ID: fmt.Sprintf("shopper-%d", i)}}
	}
	enqueues(t, list, &store.Flush{}, flusher(t, s))
	return list
}

// BenchmarkFlush is the hot path: a turn's enqueue with claim and its commit, for n warm actors at once. "apart" is two
// transactions, as for callers in step; "fused" puts the commits of one round and the enqueues of the next into one.
func BenchmarkFlush(b *testing.B) {
	for _, n := range []int{1, 16, 64, 200} {
		for _, how := range []string{"apart", "fused"} {
			b.Run(fmt.Sprintf("%d/%s", n, how), func(b *testing.B) {
				s := openNew(b)
				flush := flusher(b, s)
				list := warmActors(b, s, n)
				before, rounds := s.Stats(), 0
				for b.Loop() {
					f := commits(list)
					if how == "apart" {
						flush(f)
						f = &store.Flush{}
					}
					enqueues(b, list, f, flush)
					rounds++
				}
				turns := float64(rounds * n)
				b.ReportMetric(turns/b.Elapsed().Seconds(), "turns/s")
				b.ReportMetric(float64(b.Elapsed().Microseconds())/turns, "µs/turn")
				b.ReportMetric(float64(s.Stats().Statements-before.Statements)/turns, "stmts/turn")
			})
		}
	}
}

// tally is the actor of the benchmarks: nothing but a number.
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

// running is a runtime on a store, at work until the test ends.
func running(t testing.TB, db *postgres.Store, cfg runtime.Config) *runtime.Runtime {
	t.Helper()
	cfg.Types, cfg.Policy = []actors.AnyType{tallies}, actors.InsecureAllowAll()
	rt, err := runtime.Open(t.Context(), db, cfg)
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- rt.Run(ctx) }()
	for !rt.Ready() {
		time.Sleep(time.Millisecond)
	}
	t.Cleanup(func() {
		stop()
		if err := <-ended; err != nil {
			t.Error(err)
		}
		if err := rt.Close(); err != nil {
			t.Error(err)
		}
	})
	return rt
}

// BenchmarkCalls is the set that every database runs, on connections of this host without encryption.
func BenchmarkCalls(b *testing.B) {
	benchtest.Run(b, benchtest.Database{
		Open: func(b *testing.B) store.Store { return openNew(b, "sslmode=disable") },
		Bare: bare,
	})
}
