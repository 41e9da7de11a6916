package postgres_test

import (
	"context"
	"testing"
	"time"

	"github.com/lockstep-go/lockstep/runtime/store/postgres"
)

// The server compiles no plan of ours, though those that may not read a table as a whole look expensive where they have
// to: with nothing to do a round of recovery takes milliseconds, not the half second that compiling takes.
func TestRecoveryIsNotCompiled(t *testing.T) {
	o := openNew(t, lax)
	c := session(t)
	mustExec(t, c, "SET jit = on")
	mustExec(t, c, "BEGIN")
	mustExec(t, c, postgres.Settings(), "1000")
	var jit string
	if err := c.QueryRow(context.Background(), "SELECT current_setting('jit')").Scan(&jit); err != nil || jit != "off" {
		t.Errorf("in a transaction of the store jit is %q, %v", jit, err)
	}
	const rounds = 10
	var best time.Duration
	for i := range rounds {
		begun := time.Now()
		if _, err := o.Recover(t.Context(), "p", time.Minute, time.Hour); err != nil {
			t.Fatal(err)
		}
		if took := time.Since(begun); i == 0 || took < best {
			best = took
		}
	}
	if best > 150*time.Millisecond {
		t.Errorf("the best of %d rounds of recovery took %v", rounds, best)
	}
}
