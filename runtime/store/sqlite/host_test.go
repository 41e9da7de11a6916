package sqlite_test

import (
	"context"
	"database/sql"
	"encoding/json"
	"testing"
	"time"

	"github.com/lockstep-go/lockstep/actors"
	"github.com/lockstep-go/lockstep/runtime/store"
	"github.com/lockstep-go/lockstep/runtime/store/sqlite"
)

// host is the application that a commit action is part of.
type host struct{}

func (host) Exec(ctx context.Context, tx actors.Tx, statement string) error {
	_, err := sqlite.Unwrap(tx).ExecContext(ctx, statement)
	return err
}

func (host) End(_ context.Context, tx actors.Tx, commit bool) error {
	if commit {
		return sqlite.Unwrap(tx).Commit()
	}
	return sqlite.Unwrap(tx).Rollback()
}

func (host) Slow() string {
	return "WITH RECURSIVE c(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM c WHERE n < 1e12) SELECT count(*) FROM c"
}

func ledger(t *testing.T, db *sql.DB) string {
	t.Helper()
	if _, err := db.ExecContext(t.Context(), "CREATE TABLE ledger (line TEXT PRIMARY KEY)"); err != nil {
		t.Fatal(err)
	}
	return "ledger"
}

func lines(t *testing.T, db *sql.DB, table string) (all []string) {
	t.Helper()
	rows, err := db.QueryContext(t.Context(), "SELECT line FROM "+table+" ORDER BY line")
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	for rows.Next() {
		var line string
		if err := rows.Scan(&line); err != nil {
			t.Fatal(err)
		}
		all = append(all, line)
	}
	return all
}

func (f file) Ledger(t *testing.T) string { return ledger(t, pool(t, f.path, immediate)) }

func (f file) Lines(t *testing.T, table string) []string {
	return lines(t, pool(t, f.path, immediate), table)
}

func (m memory) Ledger(t *testing.T) string { return ledger(t, m.db) }

func (m memory) Lines(t *testing.T, table string) []string { return lines(t, m.db, table) }

// What ends a transaction need not be a method of it, nor end it for good: nothing is written all the same, and the
// writer goes on.
func TestG12ActionsCannotEndTheTransactionBySQL(t *testing.T) {
	for name, s := range shops(t, sqlite.Config{}) {
		t.Run(name, func(t *testing.T) {
			for _, script := range [][]string{
				{"INSERT INTO orders DEFAULT VALUES", "COMMIT"},
				{"INSERT INTO orders DEFAULT VALUES", "COMMIT", "INSERT INTO orders DEFAULT VALUES"},
				{"INSERT INTO orders DEFAULT VALUES; END; BEGIN IMMEDIATE; INSERT INTO orders DEFAULT VALUES"},
				{"ROLLBACK", "INSERT INTO orders DEFAULT VALUES"},
				{"ROLLBACK", "INSERT INTO orders DEFAULT VALUES", "BEGIN", "INSERT INTO orders DEFAULT VALUES"},
				{"INSERT INTO orders VALUES (1)", "INSERT OR ROLLBACK INTO orders VALUES (1)", "INSERT INTO orders VALUES (2)"},
			} {
				e := message(newID())
				e.Claim = &store.Claim{Owner: "p", Token: newID(), Lease: time.Minute}
				flushed(t, s, &store.Flush{Enqueues: []*store.Enqueue{e}})
				c := &store.Commit{
					Fence: e.Activation.Fence, Message: e.Message.ID, Sequence: e.Message.Sequence, Status: store.Completed,
					Result: json.RawMessage("1"), State: json.RawMessage("{}"), Version: 1,
				}
				c.Action = func(ctx context.Context, tx actors.Tx) error {
					for _, statement := range script {
						_, _ = sqlite.Unwrap(tx).ExecContext(ctx, statement)
					}
					return nil
				}
				flushed(t, s, &store.Flush{Commits: []*store.Commit{c}})
				if c.Outcome != store.Failed {
					t.Errorf("%q: %s, %v", script, c.Outcome, c.Err)
				}
				if n := orders(t, s); n != 0 {
					t.Errorf("%q: %d orders", script, n)
				}
				if snap, err := s.Snapshot(t.Context(), actors.Address{Type: e.Message.Type, ID: e.Message.ActorID}); err != nil || snap.State != nil {
					t.Errorf("%q: state %s, %v", script, snap.State, err)
				}
				c.Action = func(ctx context.Context, tx actors.Tx) error { return nil }
				if flushed(t, s, &store.Flush{Commits: []*store.Commit{c}}); c.Outcome != store.Done {
					t.Errorf("%q, afterwards: %s, %v", script, c.Outcome, c.Err)
				}
			}
		})
	}
}
