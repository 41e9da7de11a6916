package storetest

import (
	"context"
	"crypto/rand"
	"database/sql"
	"fmt"
	"os"
	"regexp"
	"strconv"
	"sync"
	"testing"
	"time"
)

// servers are what differs between the servers of SQL, by the name of their driver in database/sql.
var servers = map[string]struct{ dialect, required, drop string }{
	"pgx":   {"postgres", "LOCKSTEP_TEST_REQUIRE_POSTGRES", " WITH (FORCE)"},
	"mysql": {"mysql", "LOCKSTEP_TEST_REQUIRE_MYSQL", ""},
}

var swept sync.Map // drivers of the servers on which what killed tests left was dropped

// Empty makes a database on a server for one test, which drops it at its end, and returns its name, see Database. Where there
// is no server the test is skipped, or fails if one is required. The driver is "pgx" or "mysql".
func Empty(t testing.TB, driver, dsn, kind string) (name string) {
	t.Helper()
	of := servers[driver]
	server, err := sql.Open(driver, dsn)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { server.Close() })
	if _, done := swept.LoadOrStore(driver, true); !done {
		DropStale(t.Context(), server, of.dialect)
	}
	name = Database(kind)
	if _, err := server.ExecContext(t.Context(), "CREATE DATABASE "+name); err != nil {
		if os.Getenv(of.required) == "1" {
			t.Fatalf("no server to run on: %v", err)
		}
		t.Skipf("no server to run on, see LOCKSTEP_TEST_POSTGRES and LOCKSTEP_TEST_MYSQL: %v", err)
	}
	t.Cleanup(func() {
		if _, err := server.ExecContext(context.Background(), "DROP DATABASE "+name+of.drop); err != nil {
			t.Errorf("drop the test's database: %v", err)
		}
	})
	return name
}

// Database is a name for a test's own database on a server, which says when it was made: DropStale goes by that.
func Database(kind string) string {
	id := make([]byte, 4)
	rand.Read(id)
	return fmt.Sprintf("lockstep_%s_%d_%x", kind, time.Now().Unix(), id)
}

var madeAt = regexp.MustCompile(`^lockstep_[a-z0-9_]*?_(\d{10})(?:_|$)`)

// stale says whether a database's name was given more than an hour before now.
func stale(name string, now time.Time) bool {
	m := madeAt.FindStringSubmatch(name)
	if m == nil {
		return false
	}
	made, err := strconv.ParseInt(m[1], 10, 64)
	return err == nil && now.Sub(time.Unix(made, 0)) > time.Hour
}

// DropStale drops what tests that were killed have left on a server: databases named by Database more than an hour ago in
// which nobody is. The dialect is that of a store. Another process may be at it too, so a database that cannot be dropped is
// left alone.
func DropStale(ctx context.Context, server *sql.DB, dialect string) {
	list := `SELECT schema_name FROM information_schema.schemata s WHERE schema_name LIKE 'lockstep%'
		AND NOT EXISTS (SELECT 1 FROM information_schema.processlist p WHERE p.db = s.schema_name)`
	if dialect == "postgres" {
		list = `SELECT datname FROM pg_catalog.pg_database d WHERE datname LIKE 'lockstep%'
			AND NOT EXISTS (SELECT 1 FROM pg_catalog.pg_stat_activity a WHERE a.datname = d.datname)`
	}
	rows, err := server.QueryContext(ctx, list)
	if err != nil {
		return
	}
	defer rows.Close()
	var names []string
	for rows.Next() {
		var name string
		if rows.Scan(&name) == nil && stale(name, time.Now()) {
			names = append(names, name)
		}
	}
	rows.Close()
	for _, name := range names {
		_, _ = server.ExecContext(ctx, "DROP DATABASE "+name)
	}
}
