package postgres_test

import (
	"context"
	"sync"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/lockstep-go/lockstep/runtime/store/postgres"
)

// Making a store's tables takes a server longer than most tests of the suite, so these share them, one after the other.

var idle struct {
	sync.Mutex
	schemas []string // of installed tables that are empty
}

// emptied is a schema whose tables the test finds empty or not yet made. Only a test that passed leaves its own to the
// next.
func emptied(t testing.TB) string {
	t.Helper()
	at := dsn(t, lax)
	idle.Lock()
	defer idle.Unlock()
	schema := ""
	if n := len(idle.schemas); n > 0 {
		schema, idle.schemas = idle.schemas[n-1], idle.schemas[:n-1]
	} else {
		schema = newSchema()
	}
	t.Cleanup(func() {
		if t.Failed() {
			return // the database is dropped in the end
		}
		if err := empty(at, schema); err != nil {
			t.Errorf("empty %s: %v", schema, err)
			return
		}
		idle.Lock()
		defer idle.Unlock()
		idle.schemas = append(idle.schemas, schema)
	})
	return schema
}

// openEmptied is openNew on tables that tests share.
func openEmptied(t testing.TB, options ...string) opened {
	t.Helper()
	return open(t, dsn(t, options...), postgres.Config{Schema: emptied(t)})
}

// leftBehind ends whoever still holds a table of a schema: behind a proxy a statement goes on when its client has gone.
const leftBehind = `SELECT pg_terminate_backend(l.pid) FROM pg_catalog.pg_locks l JOIN pg_catalog.pg_class c ON c.oid = l.relation
	WHERE c.relnamespace = $1::text::regnamespace AND l.pid <> pg_backend_pid()`

// empty deletes every row of a schema but what it keeps of itself, and the application's tables.
func empty(dsn, schema string) error {
	ctx := context.Background()
	conn, err := pgx.Connect(ctx, dsn)
	if err != nil {
		return err
	}
	defer conn.Close(ctx)
	if _, err := conn.Exec(ctx, leftBehind, schema); err != nil {
		return err
	}
	rows, err := conn.Query(ctx, `SELECT CASE WHEN tablename LIKE '%ledger' THEN 'DROP TABLE ' ELSE 'DELETE FROM ' END || schemaname || '.' || tablename
		FROM pg_catalog.pg_tables WHERE schemaname = $1 AND tablename NOT LIKE '%schema_migrations'`, schema)
	if err != nil {
		return err
	}
	statements, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		return err
	}
	return pgx.BeginFunc(ctx, conn, func(tx pgx.Tx) error {
		for _, statement := range statements {
			if _, err := tx.Exec(ctx, statement); err != nil {
				return err
			}
		}
		return nil
	})
}
