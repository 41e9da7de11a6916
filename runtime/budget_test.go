package runtime_test

import (
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/lockstep-go/lockstep/actors"
)

// The budget of a warm call is two commits, its enqueue and its turn, and a fixed handful of statements, whether it
// broadcasts or not.
func TestWarmCallCostsTwoCommits(t *testing.T) {
	inTime(t, func(t *testing.T) {
		p := definePads(func(turn *actors.Turn[pad], s *pad, _ string) error {
			s.Lines = s.Lines[:min(len(s.Lines), int(turn.Sequence()%2))]
			return nil
		})
		db := openStore(t)
		rt := start(t, db, calm(config(p)))
		p.ask(t, rt.Runtime, "a", "x")
		pass(2 * time.Second)
		const calls = 100
		before := db.Stats()
		for range calls {
			p.ask(t, rt.Runtime, "a", "x")
		}
		after := db.Stats()
		commits, statements := after.Commits-before.Commits, after.Statements-before.Statements
		t.Logf("a warm call costs %.2f commits and %.2f statements", float64(commits)/calls, float64(statements)/calls)
		if commits != 2*calls {
			t.Errorf("%d calls cost %d commits, want two each", calls, commits)
		}
		if most := here(t).statements; statements > most*calls {
			t.Errorf("%d calls cost %d statements, want at most %d each", calls, statements, most)
		}
	})
}

// Callers of different actors share commits: many at once cost fewer than two each.
func TestCallersShareCommits(t *testing.T) {
	inTime(t, func(t *testing.T) {
		p := definePads(nil)
		db := openStore(t)
		rt := start(t, db, calm(config(p)))
		const callers, calls = 32, 10
		round := func() {
			var wg sync.WaitGroup
			for c := range callers {
				wg.Go(func() {
					for range calls {
						p.ask(t, rt.Runtime, fmt.Sprint(c), "x")
					}
				})
			}
			wg.Wait()
		}
		round()
		before := db.Stats().Commits
		round()
		if commits := db.Stats().Commits - before; commits >= callers*calls {
			t.Errorf("%d calls cost %d commits, want them shared", callers*calls, commits)
		}
	})
}

// A backlog costs one commit a turn: the end of one claims the next.
func TestBacklogCostsOneCommitATurn(t *testing.T) {
	inTime(t, func(t *testing.T) {
		p := definePads(nil)
		db := openStore(t)
		cfg := calm(config(p))
		cfg.PassMessages = 1000
		rt := start(t, db, cfg)
		p.ask(t, rt.Runtime, "a", "x")
		pause(t, db, "pad", "a", true)
		const messages = 100
		for range messages {
			p.tell(t, rt.Runtime, "a", "x")
		}
		before := db.Stats().Commits
		pause(t, db, "pad", "a", false)
		rt.Announce(actors.MessageRef{})
		settle()
		if commits := db.Stats().Commits - before; commits > messages+5 {
			t.Errorf("%d messages cost %d commits", messages, commits)
		}
		if n := p.ask(t, rt.Runtime, "a", "x"); n != messages+2 {
			t.Errorf("%d lines, want %d", n, messages+2)
		}
	})
}

// Hole 14: an idle runtime leaves the write lock alone but for its heartbeat, whatever it holds in its cache (hole 6).
func TestIdleRuntimeIsQuiet(t *testing.T) {
	inTime(t, func(t *testing.T) {
		p := definePads(nil)
		db := openStore(t)
		cfg := config(p)
		cfg.Idle = time.Hour
		rt := start(t, db, cfg)
		pass(time.Minute)
		measure := func() (commits, statements int64) {
			before := db.Stats()
			pass(10 * time.Minute)
			after := db.Stats()
			return after.Commits - before.Commits, after.Statements - before.Statements
		}
		commits, statements := measure()
		t.Logf("ten idle minutes cost %d commits and %d statements", commits, statements)
		if commits > 45 {
			t.Errorf("ten idle minutes cost %d commits, want little more than 40 heartbeats", commits)
		}
		for i := range 100 {
			p.ask(t, rt.Runtime, fmt.Sprint(i), "x")
		}
		pass(time.Minute)
		cached, more := measure()
		t.Logf("with 100 cached actors they cost %d commits and %d statements", cached, more)
		if cached > 45+60 { // and one commit for all leases every ten seconds
			t.Errorf("with 100 cached actors they cost %d commits", cached)
		}
	})
}
