package postgres_test

import (
	"context"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/lockstep-go/lockstep/actors"
	"github.com/lockstep-go/lockstep/runtime/store"
	"github.com/lockstep-go/lockstep/runtime/store/postgres"
)

// host is the application that a commit action is part of.
type host struct{}

func (host) Exec(ctx context.Context, tx actors.Tx, statement string) error {
	_, err := postgres.Unwrap(tx).Exec(ctx, statement)
	return err
}

func (host) End(ctx context.Context, tx actors.Tx, commit bool) error {
	if commit {
		return postgres.Unwrap(tx).Commit(ctx)
	}
	return postgres.Unwrap(tx).Rollback(ctx)
}

func (host) Slow() string { return "SELECT pg_sleep(60)" }

func (o opened) Ledger(t *testing.T) string {
	t.Helper()
	table := o.cfg.Schema + ".ledger"
	if _, err := pool(t, o.dsn).Exec(t.Context(), "CREATE TABLE "+table+" (line text PRIMARY KEY)", pgx.QueryExecModeExec); err != nil {
		t.Fatal(err)
	}
	return table
}

func (o opened) Lines(t *testing.T, table string) []string {
	t.Helper()
	rows, err := pool(t, o.dsn).Query(t.Context(), "SELECT line FROM "+table+" ORDER BY line", pgx.QueryExecModeExec)
	if err != nil {
		t.Fatal(err)
	}
	all, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// Statements that end the transaction cannot be kept from the server: the attempt is the last one, so that what they
// committed is not committed once more, and the connection serves nobody else.
func TestG12ActionsThatEndTheTransactionBySQL(t *testing.T) {
	o := openNew(t)
	table := o.Ledger(t)
	for _, script := range [][]string{{"COMMIT"}, {"ROLLBACK"}, {"COMMIT", "BEGIN"}} {
		a := claimed(t, o, newID())
		c := finishing(a)
		c.Action = func(ctx context.Context, tx actors.Tx) error {
			for _, statement := range append([]string{"INSERT INTO " + table + " VALUES ('" + a.ID + "')"}, script...) {
				if err := o.Exec(ctx, tx, statement); err != nil {
					return err
				}
			}
			return nil
		}
		flushed(t, o, &store.Flush{Commits: []*store.Commit{c}})
		if c.Outcome != store.Failed || !actors.IsPermanent(c.Err) {
			t.Errorf("%q: %s, %v", script, c.Outcome, c.Err)
		}
		c.Action = func(context.Context, actors.Tx) error { return nil }
		if flushed(t, o, &store.Flush{Commits: []*store.Commit{c}}); c.Outcome != store.Done {
			t.Errorf("%q, afterwards: %s, %v", script, c.Outcome, c.Err)
		}
	}
}

// An action meets the settings of the application's connection, and the store's statements their own.
func TestG11ActionsHaveTheirOwnSettings(t *testing.T) {
	o := openNew(t)
	a := claimed(t, o, "a")
	c := finishing(a)
	c.Action = func(ctx context.Context, tx actors.Tx) error {
		for name, want := range map[string]string{"enable_seqscan": "on", "plan_cache_mode": "auto", "lock_timeout": "0", "transaction_isolation": "read committed"} {
			var got string
			if err := postgres.Unwrap(tx).QueryRow(ctx, "SELECT current_setting('"+name+"')").Scan(&got); err != nil || got != want {
				t.Errorf("%s is %q, %v", name, got, err)
			}
		}
		inner, err := postgres.Unwrap(tx).Begin(ctx) // a transaction within is the application's own
		if err != nil {
			return err
		}
		if _, err := inner.Exec(ctx, "SELECT 1/0"); err == nil {
			t.Error("1/0 has a value")
		}
		return inner.Rollback(ctx)
	}
	if flushed(t, o, &store.Flush{Commits: []*store.Commit{c}}); c.Outcome != store.Done {
		t.Errorf("%s, %v", c.Outcome, c.Err)
	}
}

// claimed is a message that its enqueue claims.
func claimed(t *testing.T, s store.Store, actor string) *store.Activation {
	t.Helper()
	e := &store.Enqueue{
		Message: store.Message{
			ID: newID(), Type: "cart", ActorID: actor, Operation: "add", Arguments: []byte("1"), Origin: store.FromClient, MaxAttempts: 3,
		},
		Claim: &store.Claim{Owner: "p", Token: newID(), Lease: 30 * time.Second},
	}
	flushed(t, s, &store.Flush{Enqueues: []*store.Enqueue{e}})
	if e.Activation == nil {
		t.Fatalf("not claimed: %s, %v", e.Outcome, e.Err)
	}
	return e.Activation
}

func finishing(a *store.Activation) *store.Commit {
	return &store.Commit{
		Fence: a.Fence, Message: a.ID, Sequence: a.Sequence, Status: store.Completed, Result: []byte("1"), State: []byte("{}"), Version: 1,
	}
}

func flushed(t *testing.T, s store.Store, f *store.Flush) {
	t.Helper()
	if err := s.Flush(t.Context(), f); err != nil {
		t.Fatal(err)
	}
}

func newID() string { return uuid.Must(uuid.NewV7()).String() }
