package runtime_test

import (
	"context"
	"database/sql"
	"path/filepath"
	"testing"
	"time"

	"github.com/lockstep-go/lockstep/runtime/store"
	"github.com/lockstep-go/lockstep/runtime/store/sqlite"
)

// inSQLite keeps what need not last in memory. Its clock is this process's.
var inSQLite = &database{
	name: "sqlite", weakness: "in memory", statements: 18, handsOut: true, locks: true, writeLimit: 2 * time.Second,
	missing: func() error { return nil },
	clean:   func(int) error { return nil },
	begin: func(ctx context.Context, db store.Store, f func(ctx context.Context, tx hosted) error) error {
		return db.(*sqlite.Store).Write(ctx, func(ctx context.Context, tx *sql.Tx) error { return f(ctx, sqlHosted{tx, sqlite.Tx}) })
	},
	drop: func() {},
	open: func(t testing.TB, _, n int, durable bool) (stores []store.Store) {
		path := ":memory:"
		if durable {
			path = filepath.Join(t.TempDir(), "shared.db")
		}
		for range n {
			db, err := sqlite.Open(t.Context(), path)
			if err != nil {
				t.Fatalf("open database: %v", err)
			}
			stores = append(stores, db)
		}
		return stores
	},
}

// openAt opens a file of SQLite's.
func openAt(t testing.TB, path string) store.Store {
	t.Helper()
	db, err := sqlite.Open(t.Context(), path)
	if err != nil {
		t.Fatalf("open database: %v", err)
	}
	t.Cleanup(func() {
		if err := db.Close(); err != nil {
			t.Errorf("close database: %v", err)
		}
	})
	return db
}
