package runtime_test

import (
	"testing"
	"time"
)

// Inventory 1.44, holes 6 and 14: an idle process asks what is due once a second, and the database's change counter ten
// times; beside its heartbeat it never opens a transaction that writes, and cached actors cost only their renewals.
func TestIdleProcessAsksLittle(t *testing.T) {
	inTime(t, func(t *testing.T) {
		p := definePads(nil)
		db := openStore(t)
		cfg := config(p)
		cfg.Idle = 10 * time.Minute
		rt := start(t, db, cfg)
		minute := func(what string, statements, commits int64) {
			t.Helper()
			before := db.Stats()
			pass(time.Minute)
			after := db.Stats()
			s, c := after.Statements-before.Statements, after.Commits-before.Commits
			t.Logf("%s: %d statements and %d commits in a minute", what, s, c)
			if s > statements || c > commits {
				t.Errorf("%s: %d statements and %d commits in a minute, want at most %d and %d", what, s, c, statements, commits)
			}
		}
		pass(5 * time.Minute) // the first pass of retention is over
		minute("nothing is active", 800, 5)
		for i := range 100 {
			p.ask(t, rt.Runtime, string(rune('a'+i%26))+string(rune('a'+i/26)), "x")
		}
		pass(time.Second)
		minute("100 actors are cached", 800+6*300, 5+6)
		pass(20 * time.Minute)
		minute("they are no more", 800, 5)
	})
}
