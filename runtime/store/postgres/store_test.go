package postgres_test

import (
	"cmp"
	"context"
	"database/sql"
	"fmt"
	"hash/fnv"
	"os"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	_ "github.com/jackc/pgx/v5/stdlib"

	"github.com/lockstep-go/lockstep/runtime/store"
	"github.com/lockstep-go/lockstep/runtime/store/postgres"
	"github.com/lockstep-go/lockstep/runtime/store/storetest"
)

// server is the database of this test run, or why there is none.
var server struct {
	dsn     string
	missing error
}

// TestMain makes a database of its own and drops it in the end. LOCKSTEP_TEST_POSTGRES is a DSN whose user may do
// that; without it a server on this host is tried.
func TestMain(m *testing.M) {
	dsn := cmp.Or(os.Getenv("LOCKSTEP_TEST_POSTGRES"), "postgres://postgres@127.0.0.1:5432/postgres")
	drop, err := makeDatabase(dsn)
	server.missing = err
	switch {
	case err == nil:
	case os.Getenv("LOCKSTEP_TEST_REQUIRE_POSTGRES") == "1":
		fmt.Fprintln(os.Stderr, "PostgreSQL is required:", err)
		os.Exit(1)
	default:
		fmt.Fprintln(os.Stderr, "tests of PostgreSQL are skipped, set LOCKSTEP_TEST_POSTGRES:", err)
	}
	failed := m.Run()
	if drop != nil {
		drop()
	}
	os.Exit(failed)
}

func makeDatabase(dsn string) (drop func(), err error) {
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	cfg, err := pgx.ParseConfig(dsn)
	if err != nil {
		return nil, err
	}
	conn, err := pgx.ConnectConfig(ctx, cfg)
	if err != nil {
		return nil, err
	}
	if all, err := sql.Open("pgx", dsn); err == nil {
		storetest.DropStale(ctx, all, "postgres")
		all.Close()
	}
	name := storetest.Database("test")
	if _, err := conn.Exec(ctx, "CREATE DATABASE "+name); err != nil {
		return nil, err
	}
	server.dsn = fmt.Sprintf("host=%s port=%d user=%s dbname=%s", cfg.Host, cfg.Port, cfg.User, name)
	if cfg.Password != "" {
		server.dsn += " password='" + strings.NewReplacer(`\`, `\\`, `'`, `\'`).Replace(cfg.Password) + "'"
	}
	return func() {
		defer conn.Close(context.Background())
		if _, err := conn.Exec(context.Background(), "DROP DATABASE "+name+" WITH (FORCE)"); err != nil {
			fmt.Fprintln(os.Stderr, "drop the test's database:", err)
		}
	}, nil
}

// dsn is the test's database with options, or the test is skipped.
func dsn(t testing.TB, options ...string) string {
	t.Helper()
	if server.missing != nil {
		t.SkipNow()
	}
	return strings.Join(append([]string{server.dsn}, options...), " ")
}

var schemas atomic.Int64

// newSchema is the name of a schema that the test has for itself.
func newSchema() string { return fmt.Sprintf("test_%d", schemas.Add(1)) }

// lax does not wait for the disk: what a power cut would take away is none of the suite's business.
const lax = "options='-c synchronous_commit=off'"

// opened is a store that opens again like another process.
type opened struct {
	host
	*postgres.Store
	dsn string
	cfg postgres.Config
}

func (o opened) Again(t *testing.T) store.Store { return open(t, o.dsn, o.cfg) }

func open(t testing.TB, dsn string, cfg postgres.Config) opened {
	t.Helper()
	cfg.WriteLimit = cmp.Or(cfg.WriteLimit, time.Second)
	cfg.Limit = cmp.Or(cfg.Limit, time.Minute) // a machine may be busy, and what happens then is for tests of the limit
	s, err := postgres.Open(t.Context(), dsn, cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return opened{host{}, s, dsn, cfg}
}

// openNew opens an empty database of the test's own.
func openNew(t testing.TB, options ...string) opened {
	t.Helper()
	return open(t, dsn(t, options...), postgres.Config{Schema: newSchema()})
}

// sample skips all but every fifth test of the suite, others for each i, unless LOCKSTEP_TEST_FULL is 1.
func sample(t *testing.T, i int) {
	t.Helper()
	h := fnv.New32a()
	h.Write([]byte(t.Name()[strings.LastIndex(t.Name(), "/")+1:]))
	if os.Getenv("LOCKSTEP_TEST_FULL") != "1" && (int(h.Sum32()>>8)+i)%5 != 0 {
		t.SkipNow()
	}
}

func pool(t testing.TB, dsn string) *pgxpool.Pool {
	t.Helper()
	p, err := pgxpool.New(t.Context(), dsn)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.Close)
	return p
}

func TestStore(t *testing.T) {
	storetest.Run(t, func(t *testing.T) store.Store { return openEmptied(t, lax) })
}

// D47: see storetest.LateRows.
func TestD47LateRowsAreFound(t *testing.T) {
	o := openNew(t, lax)
	c, err := pgx.Connect(t.Context(), o.dsn)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close(context.Background())
	storetest.LateRows(t, o, o.cfg.Schema+".lockstep_", func(statement string) error {
		_, err := c.Exec(t.Context(), statement)
		return err
	})
}

// R31: see storetest.UnreadableRow.
func TestR31UnreadableRowHoldsNobodyUp(t *testing.T) {
	o := openNew(t, lax)
	storetest.UnreadableRow(t, o, o.cfg.Schema+".lockstep_", func(statement string) error {
		_, err := session(t).Exec(t.Context(), statement)
		return err
	})
}
