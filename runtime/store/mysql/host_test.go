package mysql_test

import (
	"context"
	"database/sql"
	"testing"

	"github.com/lockstep-go/lockstep/actors"
	"github.com/lockstep-go/lockstep/runtime/store"
	"github.com/lockstep-go/lockstep/runtime/store/mysql"
)

// host is the application that a commit action is part of.
type host struct{}

func (host) Exec(ctx context.Context, tx actors.Tx, statement string) error {
	_, err := mysql.Unwrap(tx).ExecContext(ctx, statement)
	return err
}

func (host) End(_ context.Context, tx actors.Tx, commit bool) error {
	if commit {
		return mysql.Unwrap(tx).Commit()
	}
	return mysql.Unwrap(tx).Rollback()
}

func (host) Slow() string { return "DO SLEEP(60)" }

func ledger(t *testing.T, db *sql.DB, prefix string) string {
	t.Helper()
	table := prefix + "ledger"
	if _, err := db.ExecContext(t.Context(), "CREATE TABLE "+table+" (line VARCHAR(50) PRIMARY KEY) ENGINE = InnoDB"); err != nil {
		t.Fatal(err)
	}
	return table
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

func (o opened) Ledger(t *testing.T) string { return ledger(t, pool(t, here.utf8, nil), o.cfg.Prefix) }

func (o opened) Lines(t *testing.T, table string) []string {
	return lines(t, pool(t, here.utf8, nil), table)
}

func (l lent) Ledger(t *testing.T) string { return ledger(t, l.db, l.cfg.Prefix) }

func (l lent) Lines(t *testing.T, table string) []string { return lines(t, l.db, table) }

// Statements that end the transaction, or commit it implicitly, cannot be kept from the server: the attempt is the last
// one, so that what they committed is not committed once more. What follows them is not committed, and the session
// commits by itself again afterwards.
func TestG12ActionsThatEndTheTransactionBySQL(t *testing.T) {
	o := fresh(t, here.utf8)
	table := o.Ledger(t)
	for _, script := range [][]string{{"COMMIT"}, {"ROLLBACK"}, {"COMMIT", "START TRANSACTION"}, {"CREATE TABLE " + table + "2 (n INT)"}} {
		a := asked(t, o, newID())
		c := finishing(a)
		c.Action = func(ctx context.Context, tx actors.Tx) error {
			for _, statement := range append(script, "INSERT INTO "+table+" VALUES ('"+a.ID+"')") {
				if err := o.Exec(ctx, tx, statement); err != nil {
					return err
				}
			}
			return nil
		}
		if err := o.Flush(t.Context(), &store.Flush{Commits: []*store.Commit{c}}); err != nil {
			t.Fatal(err)
		}
		if c.Outcome != store.Failed || !actors.IsPermanent(c.Err) {
			t.Errorf("%q: %s, %v", script, c.Outcome, c.Err)
		}
		c.Action = func(context.Context, actors.Tx) error { return nil }
		if flushed(t, o, &store.Flush{Commits: []*store.Commit{c}}); c.Outcome != store.Done {
			t.Errorf("%q, afterwards: %s, %v", script, c.Outcome, c.Err)
		}
	}
	if got := o.Lines(t, table); len(got) != 0 {
		t.Errorf("what followed was committed: %q", got)
	}
	asked(t, o, "z")
	if snap, err := o.Again(t).Snapshot(t.Context(), actors.Address{Type: "cart", ID: "z"}); err != nil || snap.Stamp.Instance == "" {
		t.Errorf("the session does not commit any more: %+v, %v", snap, err)
	}
}
