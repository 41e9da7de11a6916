package mysql_test

import (
	"cmp"
	"context"
	"database/sql"
	"fmt"
	"os"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	driver "github.com/go-sql-driver/mysql"

	"github.com/lockstep-go/lockstep/runtime/store"
	"github.com/lockstep-go/lockstep/runtime/store/mysql"
	"github.com/lockstep-go/lockstep/runtime/store/storetest"
)

// server is where the tests run: two databases of this run's own, one of them with another default character set.
type server struct {
	utf8, latin1 *driver.Config
	root         *sql.DB // without a database
	missing      error
}

var here server

const defaultDSN = "root@tcp(127.0.0.1:3306)/"

func TestMain(m *testing.M) {
	code := 1
	drop, err := here.begin()
	switch {
	case err == nil:
		code = m.Run()
		drop()
	case os.Getenv("LOCKSTEP_TEST_REQUIRE_MYSQL") == "1":
		fmt.Fprintln(os.Stderr, "no MySQL or MariaDB server, and LOCKSTEP_TEST_REQUIRE_MYSQL=1:", err)
	default:
		here.missing = err
		fmt.Fprintf(os.Stderr, "SKIP: tests that need MySQL or MariaDB, none at LOCKSTEP_TEST_MYSQL (default %s): %v\n", defaultDSN, err)
		code = m.Run()
	}
	os.Exit(code)
}

// begin makes the databases and returns what drops them.
func (s *server) begin() (drop func(), err error) {
	dsn := os.Getenv("LOCKSTEP_TEST_MYSQL")
	if dsn == "" {
		dsn = defaultDSN
	}
	c, err := driver.ParseDSN(dsn)
	if err != nil {
		return nil, err
	}
	c.DBName = ""
	c.Logger = &driver.NopLogger{}
	connector, err := driver.NewConnector(c)
	if err != nil {
		return nil, err
	}
	s.root = sql.OpenDB(connector)
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	if err := s.root.PingContext(ctx); err != nil {
		return nil, err
	}
	storetest.DropStale(ctx, s.root, "mysql")
	name := storetest.Database("test")
	for suffix, config := range map[string]**driver.Config{"": &s.utf8, "_latin1": &s.latin1} {
		set := map[string]string{"": "utf8mb4", "_latin1": "latin1"}[suffix]
		if _, err := s.root.Exec("CREATE DATABASE " + name + suffix + " CHARACTER SET " + set); err != nil {
			return nil, err
		}
		*config = c.Clone()
		(*config).DBName = name + suffix
	}
	return func() {
		for _, suffix := range []string{"", "_latin1"} {
			if _, err := s.root.Exec("DROP DATABASE " + name + suffix); err != nil {
				fmt.Fprintln(os.Stderr, err)
			}
		}
	}, nil
}

// lacking skips a test for which the server's user has no rights, or fails it where nothing may be missing.
func lacking(t testing.TB, format string, args ...any) {
	t.Helper()
	if os.Getenv("LOCKSTEP_TEST_REQUIRE_MYSQL") == "1" {
		t.Fatalf(format, args...)
	}
	t.Skipf(format, args...)
}

// need skips a test without a server; TestMain has said why.
func need(t testing.TB) {
	t.Helper()
	if here.missing != nil {
		t.Skip("no server")
	}
}

var tests atomic.Int64

// prefix is one test's own.
func prefix() string { return fmt.Sprintf("t%d_", tests.Add(1)) }

// opened is a store of Open, which opens again like another process.
type opened struct {
	host
	*mysql.Store
	dsn string
	cfg mysql.Config
}

func (o opened) Again(t *testing.T) store.Store { return open(t, o.dsn, o.cfg) }

func open(t testing.TB, dsn string, cfg mysql.Config) opened {
	t.Helper()
	need(t)
	cfg.WriteLimit = cmp.Or(cfg.WriteLimit, time.Second)
	cfg.Limit = cmp.Or(cfg.Limit, time.Minute) // a machine may be busy, and what happens then is for tests of the limit
	s, err := mysql.Open(t.Context(), dsn, cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return opened{host{}, s, dsn, cfg}
}

// fresh opens an empty store, whose tables go with the test.
func fresh(t testing.TB, c *driver.Config) opened {
	t.Helper()
	need(t)
	cfg := mysql.Config{Prefix: prefix()}
	clean(t, c, cfg.Prefix)
	return open(t, c.FormatDSN(), cfg)
}

// clean drops the tables of a prefix at the test's end.
func clean(t testing.TB, c *driver.Config, prefix string) {
	t.Cleanup(func() {
		rows, err := here.root.Query("SELECT table_name FROM information_schema.tables WHERE table_schema = ?", c.DBName)
		if err != nil {
			t.Error(err)
			return
		}
		var names []string
		for rows.Next() {
			var name string
			if rows.Scan(&name); strings.HasPrefix(name, prefix) {
				names = append(names, c.DBName+"."+name)
			}
		}
		rows.Close()
		if len(names) > 0 {
			if _, err := here.root.Exec("DROP TABLE " + strings.Join(names, ", ")); err != nil {
				t.Error(err)
			}
		}
	})
}

// lent is a store of New on an application's pool.
type lent struct {
	host
	*mysql.Store
	db  *sql.DB
	cfg mysql.Config
}

func (l lent) Again(t *testing.T) store.Store { return borrow(t, l.db, l.cfg) }

func borrow(t testing.TB, db *sql.DB, cfg mysql.Config) lent {
	t.Helper()
	cfg.WriteLimit = cmp.Or(cfg.WriteLimit, time.Second)
	cfg.Limit = cmp.Or(cfg.Limit, time.Minute) // a machine may be busy, and what happens then is for tests of the limit
	s, err := mysql.New(t.Context(), db, cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return lent{host{}, s, db, cfg}
}

// pool is an application's, with a session that is as unlike ours as can be.
func pool(t testing.TB, c *driver.Config, params map[string]string) *sql.DB {
	t.Helper()
	need(t)
	c = c.Clone()
	c.Params = params
	connector, err := driver.NewConnector(c)
	if err != nil {
		t.Fatal(err)
	}
	db := sql.OpenDB(connector)
	t.Cleanup(func() { db.Close() })
	return db
}

func TestStore(t *testing.T) {
	need(t)
	storetest.Run(t, func(t *testing.T) store.Store {
		return open(t, here.utf8.FormatDSN(), mysql.Config{Prefix: emptied(t, here.utf8)})
	})
}

// D47: see storetest.LateRows.
func TestD47LateRowsAreFound(t *testing.T) {
	o := fresh(t, here.utf8)
	c, err := pool(t, here.utf8, nil).Conn(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	storetest.LateRows(t, o, o.cfg.Prefix, func(statement string) error {
		if statement == "BEGIN" { // with what was deleted gone from the indexes too, whose gaps an insert would lock
			for _, table := range []string{"sends", "effects", "reminders", "broadcasts"} {
				if _, err := here.root.ExecContext(t.Context(), "ALTER TABLE "+here.utf8.DBName+"."+o.cfg.Prefix+table+" FORCE"); err != nil {
					return err
				}
			}
		}
		_, err := c.ExecContext(t.Context(), statement)
		return err
	})
}

// R31: see storetest.UnreadableRow.
func TestR31UnreadableRowHoldsNobodyUp(t *testing.T) {
	o := fresh(t, here.utf8)
	db := pool(t, here.utf8, nil)
	storetest.UnreadableRow(t, o, o.cfg.Prefix, func(statement string) error {
		_, err := db.ExecContext(t.Context(), statement)
		return err
	})
}
