package mysql_test

import (
	"database/sql"
	"encoding/json"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/lockstep-go/lockstep/runtime/store"
)

func newID() string { return uuid.Must(uuid.NewV7()).String() }

// message is an enqueue without a claim.
func message(actor string) *store.Enqueue {
	return &store.Enqueue{Message: store.Message{
		ID: newID(), Type: "cart", ActorID: actor, Operation: "add", Arguments: json.RawMessage(`{"qty":1}`),
		Origin: store.FromClient, MaxAttempts: 3,
	}}
}

// asked is a message that its enqueue claims.
func asked(t testing.TB, s store.Store, actor string) *store.Activation {
	t.Helper()
	e := message(actor)
	e.Claim = &store.Claim{Owner: "p", Token: newID(), Lease: 30 * time.Second}
	flushed(t, s, &store.Flush{Enqueues: []*store.Enqueue{e}})
	if e.Activation == nil {
		t.Fatalf("not claimed: %s %v", e.Outcome, e.Err)
	}
	return e.Activation
}

func finishing(a *store.Activation) *store.Commit {
	return &store.Commit{
		Fence: a.Fence, Message: a.ID, Sequence: a.Sequence, Status: store.Completed, Result: json.RawMessage(`1`),
		State: json.RawMessage(`{"n":1}`), Version: 1,
	}
}

// begin starts an application's transaction on a pool of its own.
func begin(t testing.TB, isolation string) *sql.Tx {
	t.Helper()
	db := pool(t, here.utf8, nil)
	db.SetMaxOpenConns(1)
	if isolation != "" {
		if _, err := db.Exec("SET SESSION TRANSACTION ISOLATION LEVEL " + isolation); err != nil {
			t.Fatal(err)
		}
	}
	tx, err := db.Begin()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { tx.Rollback() })
	return tx
}

// execute runs a statement to its end, whatever it answers.
func execute(t testing.TB, tx *sql.Tx, query string, args ...any) {
	t.Helper()
	rows, err := tx.Query(query, args...)
	if err != nil {
		t.Fatal(err)
	}
	for rows.Next() {
	}
	if err := rows.Close(); err != nil {
		t.Fatal(err)
	}
}
