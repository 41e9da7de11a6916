// Package benchtest is the set of benchmarks of whole calls, from an Ask to its committed result, that every database
// runs: beside each other in one run, and an Ask beside a bare loop of the least statements.
//
//	func BenchmarkCalls(b *testing.B) {
//		benchtest.Run(b, benchtest.Database{Open: open, Bare: bare})
//	}
package benchtest

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/lockstep-go/lockstep/actors"
	"github.com/lockstep-go/lockstep/runtime"
	"github.com/lockstep-go/lockstep/runtime/store"
)

// Database is what a driver brings.
type Database struct {
	// Open opens an empty store, durable as by default, and closes it with the benchmark.
	Open func(b *testing.B) store.Store
	// Bare makes tables for so many actors, and returns what writes steps of calls in one durable transaction.
	Bare func(b *testing.B, actors int) func([]Step) error
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

// Run runs the set.
func Run(b *testing.B, d Database) {
	for _, n := range []int{1, 16, 64} {
		b.Run(fmt.Sprintf("ask/callers=%d", n), func(b *testing.B) { ask(b, d, n) })
	}
	b.Run("hot", func(b *testing.B) { // one actor, 16 callers
		run, _ := running(b, d)
		warm(b, run, 1)
		callers(b, 16, func(int, int) error { return bumped(b, run, 0) })
	})
	b.Run("warm", func(b *testing.B) { // 1,000 cached actors in turn, 64 callers
		run, _ := running(b, d)
		warm(b, run, 1000)
		callers(b, 64, func(_, i int) error { return bumped(b, run, i%1000) })
	})
	b.Run("cold", func(b *testing.B) { // a new actor with every call, 16 callers
		run, _ := running(b, d)
		callers(b, 16, func(_, i int) error { return bumped(b, run, i) })
	})
	b.Run("tell", func(b *testing.B) { // to 1,000 actors, 16 callers, while the workers run what comes
		run, _ := running(b, d)
		callers(b, 16, func(_, i int) error {
			_, err := bump.Tell(b.Context(), run, tallies.Ref(fmt.Sprint(i%1000)), 1)
			return err
		})
	})
	b.Run("backlog", func(b *testing.B) { backlog(b, d) })
}

// open is a runtime that does not run yet.
func open(b *testing.B, d Database) (*runtime.Runtime, store.Store) {
	b.Helper()
	s := d.Open(b)
	rt, err := runtime.Open(b.Context(), s, runtime.Config{Types: []actors.AnyType{tallies}, Policy: actors.InsecureAllowAll()})
	if err != nil {
		b.Fatal(err)
	}
	return rt, s
}

// start runs a runtime until stop is called.
func start(b *testing.B, rt *runtime.Runtime) (stop func()) {
	b.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- rt.Run(ctx) }()
	for !rt.Ready() {
		time.Sleep(time.Millisecond)
	}
	return func() {
		cancel()
		if err := <-ended; err != nil {
			b.Error(err)
		}
		if err := rt.Close(); err != nil {
			b.Error(err)
		}
	}
}

// running is a runtime that runs until the benchmark ends.
func running(b *testing.B, d Database) (*runtime.Runtime, store.Store) {
	b.Helper()
	rt, s := open(b, d)
	b.Cleanup(start(b, rt))
	return rt, s
}

func bumped(b *testing.B, rt *runtime.Runtime, actor int) error {
	_, err := bump.Ask(b.Context(), rt, tallies.Ref(fmt.Sprint(actor)), 1)
	return err
}

func warm(b *testing.B, rt *runtime.Runtime, n int) {
	b.Helper()
	for a := range n {
		if err := bumped(b, rt, a); err != nil {
			b.Fatal(err)
		}
	}
}

// callers spreads b.N calls over that many goroutines and reports calls a second and how long they took.
func callers(b *testing.B, n int, call func(caller, i int) error) {
	b.Helper()
	b.ResetTimer()
	var l lap
	l.run(b, n, b.N, call)
	b.StopTimer()
	l.report(b)
}

// lap is what some calls took.
type lap struct {
	calls int
	took  time.Duration
	waits []time.Duration
}

func (l *lap) run(b *testing.B, n, calls int, call func(caller, i int) error) {
	b.Helper()
	var next atomic.Int64
	var wg sync.WaitGroup
	waits := make([][]time.Duration, n)
	begun := time.Now()
	for c := range n {
		wg.Go(func() {
			for i := next.Add(1); i <= int64(calls); i = next.Add(1) {
				at := time.Now()
				if err := call(c, l.calls+int(i)); err != nil {
					b.Error(err)
					return
				}
				waits[c] = append(waits[c], time.Since(at))
			}
		})
	}
	wg.Wait()
	l.calls, l.took, l.waits = l.calls+calls, l.took+time.Since(begun), append(l.waits, slices.Concat(waits...)...)
}

func (l *lap) rate() float64 { return float64(l.calls) / l.took.Seconds() }

func (l *lap) report(b *testing.B) {
	b.Helper()
	slices.Sort(l.waits)
	if len(l.waits) == 0 {
		return
	}
	b.ReportMetric(l.rate(), "calls/s")
	b.ReportMetric(float64(l.waits[len(l.waits)/2].Microseconds()), "p50-µs")
	b.ReportMetric(float64(l.waits[len(l.waits)*99/100].Microseconds()), "p99-µs")
}

// ask is the whole call, enqueue to committed result, each caller on a warm actor of its own. Its laps alternate with
// those of the bare loop, so that the ratio holds whatever else the machine does.
func ask(b *testing.B, d Database, n int) {
	run, s := running(b, d)
	warm(b, run, n)
	loop := &bareLoop{write: d.Bare(b, n), next: make([]int64, n)}
	const each = 20
	var ours, bare lap
	var statements, commits int64
	for b.Loop() {
		before := s.Stats()
		ours.run(b, n, n*each, func(c, _ int) error { return bumped(b, run, c) })
		after := s.Stats()
		statements, commits = statements+after.Statements-before.Statements, commits+after.Commits-before.Commits
		bare.run(b, n, n*each, func(c, _ int) error { return loop.call(c) })
	}
	ours.report(b)
	b.ReportMetric(bare.rate(), "bare-calls/s")
	b.ReportMetric(ours.rate()/bare.rate(), "of-bare")
	b.ReportMetric(float64(statements)/float64(ours.calls), "statements/call")
	b.ReportMetric(float64(commits)/float64(ours.calls), "commits/call")
}

// backlog drains 20,000 messages over 1,000 actors that wait before the workers start.
func backlog(b *testing.B, d Database) {
	const messages, over = 20_000, 1_000
	var spent time.Duration
	var statements, commits int64
	rounds := 0
	for b.Loop() {
		b.StopTimer()
		rt, s := open(b, d)
		var tells sync.WaitGroup
		for c := range 64 {
			tells.Go(func() {
				for i := c; i < messages; i += 64 {
					if _, err := bump.Tell(b.Context(), rt, tallies.Ref(fmt.Sprint(i%over)), 1); err != nil {
						b.Error(err)
						return
					}
				}
			})
		}
		tells.Wait()
		before := s.Stats()
		b.StartTimer()
		begun := time.Now()
		stop := start(b, rt)
		// The last message of each actor stands behind its others; one more behind it is answered after all.
		var asks sync.WaitGroup
		for a := range over {
			asks.Go(func() {
				long, cancel := context.WithTimeout(b.Context(), 3*time.Minute)
				defer cancel()
				if n, err := bump.Ask(long, rt, tallies.Ref(fmt.Sprint(a)), 0); err != nil || n != messages/over {
					b.Errorf("actor %d ended at %d, %v; want %d", a, n, err, messages/over)
				}
			})
		}
		asks.Wait()
		spent += time.Since(begun)
		b.StopTimer()
		after := s.Stats()
		statements, commits, rounds = statements+after.Statements-before.Statements, commits+after.Commits-before.Commits, rounds+1
		stop()
		b.StartTimer()
	}
	turns := float64(rounds) * (messages + over)
	b.ReportMetric(turns/spent.Seconds(), "turns/s")
	b.ReportMetric(float64(statements)/turns, "statements/turn")
	b.ReportMetric(turns/float64(commits), "turns/commit")
}
