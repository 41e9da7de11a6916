package field

import (
	"cmp"
	"context"
	"database/sql"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	driver "github.com/go-sql-driver/mysql"
	"github.com/jackc/pgx/v5"
	_ "github.com/jackc/pgx/v5/stdlib"

	"github.com/lockstep-go/lockstep/runtime/store"
	"github.com/lockstep-go/lockstep/runtime/store/mysql"
	"github.com/lockstep-go/lockstep/runtime/store/postgres"
	"github.com/lockstep-go/lockstep/runtime/store/sqlite"
	"github.com/lockstep-go/lockstep/runtime/store/storetest"
)

// database is one of the three.
type database struct {
	name string
	// fresh makes an empty database for one test and returns its address, or skips the test.
	fresh func(t *testing.T) (address string)
	// open opens it as a process would.
	open func(ctx context.Context, address string) (store.Store, error)
	// raw opens it past the store.
	raw func(address string) (*sql.DB, error)
}

var databases = []*database{
	{"sqlite", sqliteFile, openSQLite, rawSQLite},
	{"postgres", postgresDatabase, openPostgres, rawPostgres},
	{"mysql", mysqlDatabase, openMySQL, rawMySQL},
}

// onEach runs a test on an empty database of each kind.
func onEach(t *testing.T, test func(t *testing.T, b *base)) {
	for _, d := range databases {
		t.Run(d.name, func(t *testing.T) { test(t, newBase(t, d)) })
	}
}

// base is one test's database.
type base struct {
	*database
	address string
	sql     *sql.DB // past the store
}

func newBase(t *testing.T, d *database) *base {
	t.Helper()
	b := &base{database: d, address: d.fresh(t)}
	var err error
	if b.sql, err = d.raw(b.address); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { b.sql.Close() })
	return b
}

// store opens the database as one more process, until the test ends.
func (b *base) store(t *testing.T) store.Store {
	t.Helper()
	s, err := b.open(t.Context(), b.address)
	if err != nil {
		t.Fatalf("open the %s database: %v", b.name, err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

// number reads one past the store.
func (b *base) number(t *testing.T, query string) (n int) {
	t.Helper()
	if err := b.sql.QueryRowContext(context.WithoutCancel(t.Context()), query).Scan(&n); err != nil {
		t.Fatalf("%s: %v", query, err)
	}
	return n
}

// text reads what query finds in its only column, a line each.
func (b *base) text(t *testing.T, query string) string {
	t.Helper()
	rows, err := b.sql.QueryContext(t.Context(), query)
	if err != nil {
		t.Fatalf("%s: %v", query, err)
	}
	defer rows.Close()
	var lines []string
	for rows.Next() {
		var line sql.NullString
		if err := rows.Scan(&line); err != nil {
			t.Fatalf("%s: %v", query, err)
		}
		lines = append(lines, line.String)
	}
	if err := rows.Err(); err != nil {
		t.Fatalf("%s: %v", query, err)
	}
	return strings.Join(lines, "\n")
}

func (b *base) exec(t *testing.T, text string) {
	t.Helper()
	if _, err := b.sql.ExecContext(context.WithoutCancel(t.Context()), text); err != nil {
		t.Fatalf("%.300s: %v", text, err)
	}
}

// full says whether the stated sizes are asked for.
func full() bool { return os.Getenv("LOCKSTEP_TEST_FULL") == "1" }

// size is the stated one where that is asked for; what it is gets printed.
func size[T any](t testing.TB, what string, scaled, stated T) T {
	if full() {
		scaled = stated
	}
	t.Logf("%s: %v (stated: %v)", what, scaled, stated)
	return scaled
}

func sqliteFile(t *testing.T) string { return filepath.Join(t.TempDir(), "field.db") }

func openSQLite(ctx context.Context, address string) (store.Store, error) {
	return sqlite.Open(ctx, address, sqlite.Config{Synchronous: sqlite.UnsafeNormal})
}

func rawSQLite(address string) (*sql.DB, error) {
	return sql.Open("sqlite", "file:"+address+"?_txlock=immediate&_pragma=busy_timeout(10000)")
}

func postgresDatabase(t *testing.T) string {
	t.Helper()
	dsn := cmp.Or(os.Getenv("LOCKSTEP_TEST_POSTGRES"), "postgres://postgres@127.0.0.1:5432/postgres")
	cfg, err := pgx.ParseConfig(dsn)
	if err != nil {
		t.Fatal(err)
	}
	name := storetest.Empty(t, "pgx", dsn, "field")
	quote := strings.NewReplacer(`\`, `\\`, `'`, `\'`).Replace
	return fmt.Sprintf("host='%s' port=%d user='%s' password='%s' dbname=%s", quote(cfg.Host), cfg.Port, quote(cfg.User), quote(cfg.Password), name)
}

// openPostgres does not wait for the disk: a power cut is none of these tests' business.
func openPostgres(ctx context.Context, dsn string) (store.Store, error) {
	return postgres.Open(ctx, dsn+" options='-c synchronous_commit=off'")
}

func rawPostgres(dsn string) (*sql.DB, error) { return sql.Open("pgx", dsn) }

func mysqlDatabase(t *testing.T) string {
	t.Helper()
	cfg, err := driver.ParseDSN(cmp.Or(os.Getenv("LOCKSTEP_TEST_MYSQL"), "root@tcp(127.0.0.1:3306)/"))
	if err != nil {
		t.Fatal(err)
	}
	cfg.DBName = ""
	cfg.DBName = storetest.Empty(t, "mysql", cfg.FormatDSN(), "field")
	return cfg.FormatDSN()
}

func openMySQL(ctx context.Context, dsn string) (store.Store, error) { return mysql.Open(ctx, dsn) }

func rawMySQL(dsn string) (*sql.DB, error) { return sql.Open("mysql", dsn) }
