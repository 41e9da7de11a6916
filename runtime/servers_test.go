package runtime_test

import (
	"cmp"
	"context"
	"database/sql"
	"fmt"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	driver "github.com/go-sql-driver/mysql"
	"github.com/jackc/pgx/v5"
	_ "github.com/jackc/pgx/v5/stdlib"

	"github.com/lockstep-go/lockstep/runtime/store"
	"github.com/lockstep-go/lockstep/runtime/store/mysql"
	"github.com/lockstep-go/lockstep/runtime/store/postgres"
	"github.com/lockstep-go/lockstep/runtime/store/storetest"
)

// server is one on which these tests have a database of their own, with tables for each database of a test. They are
// installed once and emptied after each test.
type server struct {
	kind string // of database/sql
	dsn  string // of the tests' database
	root *sql.DB
	in   *sql.DB // the tests' database
	name string
	err  error

	once sync.Once
	full map[string][]string // tables by place
}

func (s *server) begin(kind, dsn string, within func(name string) (dsn string, err error)) error {
	s.once.Do(func() { s.err = s.make(kind, dsn, within) })
	return s.err
}

func (s *server) make(kind, dsn string, within func(name string) (dsn string, err error)) (err error) {
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	s.kind, s.full = kind, map[string][]string{}
	if s.root, err = sql.Open(kind, dsn); err != nil {
		return err
	}
	storetest.DropStale(ctx, s.root, map[string]string{"pgx": "postgres", "mysql": "mysql"}[kind])
	name := storetest.Database("runtime")
	if _, err := s.root.ExecContext(ctx, "CREATE DATABASE "+name); err != nil {
		return err
	}
	s.name = name
	if s.dsn, err = within(name); err != nil {
		return err
	}
	s.in, err = sql.Open(kind, s.dsn)
	return err
}

// drop is for the end of all tests.
func (s *server) drop(with string) {
	if s.name == "" {
		return
	}
	s.in.Close()
	if _, err := s.root.Exec("DROP DATABASE " + s.name + with); err != nil {
		fmt.Fprintln(os.Stderr, "drop the tests' database:", err)
	}
	s.root.Close()
}

// empty deletes what a test has left in the tables that list names, all but the schema's own.
func (s *server) empty(place, list, quote string) error {
	ctx := context.Background()
	tables, known := s.full[place]
	if !known {
		rows, err := s.in.QueryContext(ctx, list)
		if err != nil {
			return err
		}
		defer rows.Close()
		for rows.Next() {
			var name string
			if err := rows.Scan(&name); err != nil {
				return err
			}
			if !strings.HasSuffix(name, "schema_migrations") {
				tables = append(tables, name)
			}
		}
		if err := rows.Err(); err != nil {
			return err
		}
		s.full[place] = tables
	}
	tx, err := s.in.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer tx.Rollback()
	for _, name := range tables {
		if _, err := tx.ExecContext(ctx, "DELETE FROM "+quote+name); err != nil {
			return err
		}
	}
	return tx.Commit()
}

var postgresServer, mysqlServer server

// inPostgres does not wait for the disk where what lasts is not asked.
var inPostgres = &database{
	name: "postgres", weakness: "synchronous_commit", statements: 23, writeLimit: 5 * time.Second,
	missing: func() error {
		dsn := cmp.Or(os.Getenv("LOCKSTEP_TEST_POSTGRES"), "postgres://postgres@127.0.0.1:5432/postgres")
		return postgresServer.begin("pgx", dsn, func(name string) (string, error) {
			cfg, err := pgx.ParseConfig(dsn)
			if err != nil {
				return "", err
			}
			within := fmt.Sprintf("host=%s port=%d user=%s dbname=%s", cfg.Host, cfg.Port, cfg.User, name)
			if cfg.Password != "" {
				within += " password='" + strings.NewReplacer(`\`, `\\`, `'`, `\'`).Replace(cfg.Password) + "'"
			}
			return within, nil
		})
	},
	drop: func() { postgresServer.drop(" WITH (FORCE)") },
	clean: func(n int) error {
		for i := range n {
			schema := place(i + 1)
			list := "SELECT tablename FROM pg_catalog.pg_tables WHERE schemaname = '" + schema + "'"
			if err := postgresServer.empty(schema, list, schema+"."); err != nil {
				return err
			}
		}
		return nil
	},
	begin: func(ctx context.Context, _ store.Store, f func(ctx context.Context, tx hosted) error) error {
		conn, err := pgx.Connect(ctx, postgresServer.dsn)
		if err != nil {
			return err
		}
		defer conn.Close(context.Background())
		return pgx.BeginFunc(ctx, conn, func(tx pgx.Tx) error { return f(ctx, pgxHosted{tx}) })
	},
	open: func(t testing.TB, number, n int, durable bool) []store.Store {
		dsn := postgresServer.dsn
		if !durable {
			dsn += " options='-c synchronous_commit=off'"
		}
		return openServer(t, n, func(bubble bool) (store.Store, error) {
			// Nobody listens in a bubble, where whoever waits for the network lets no time pass.
			return postgres.Open(t.Context(), dsn, postgres.Config{Schema: place(number), NoNotify: bubble})
		})
	},
}

var inMySQL = &database{
	name: "mysql", statements: 15, writeLimit: 5 * time.Second,
	missing: func() error {
		dsn := cmp.Or(os.Getenv("LOCKSTEP_TEST_MYSQL"), "root@tcp(127.0.0.1:3306)/")
		cfg, err := driver.ParseDSN(dsn)
		if err != nil {
			return err
		}
		return mysqlServer.begin("mysql", dsn, func(name string) (string, error) {
			cfg.DBName = name
			return cfg.FormatDSN(), nil
		})
	},
	drop: func() { mysqlServer.drop("") },
	clean: func(n int) error {
		for i := range n {
			prefix := place(i+1) + "_"
			list := "SELECT table_name FROM information_schema.tables WHERE table_schema = '" + mysqlServer.name + "' AND LEFT(table_name, " + fmt.Sprint(len(prefix)) + ") = '" + prefix + "'"
			if err := mysqlServer.empty(prefix, list, ""); err != nil {
				return err
			}
		}
		return nil
	},
	begin: func(ctx context.Context, _ store.Store, f func(ctx context.Context, tx hosted) error) error {
		db, err := sql.Open("mysql", mysqlServer.dsn)
		if err != nil {
			return err
		}
		defer db.Close()
		tx, err := db.BeginTx(ctx, nil)
		if err != nil {
			return err
		}
		defer tx.Rollback()
		if err := f(ctx, sqlHosted{tx, mysql.Tx}); err != nil {
			return err
		}
		return tx.Commit()
	},
	open: func(t testing.TB, number, n int, _ bool) []store.Store {
		return openServer(t, n, func(bool) (store.Store, error) {
			return mysql.Open(t.Context(), mysqlServer.dsn, mysql.Config{Prefix: place(number) + "_"})
		})
	},
}

// place is where the tables of a test's database are.
func place(number int) string { return fmt.Sprintf("test%d", number) }

func openServer(t testing.TB, n int, open func(bubble bool) (store.Store, error)) (stores []store.Store) {
	t.Helper()
	bubble := here(t).bubble
	for range n {
		db, err := open(bubble)
		if err != nil {
			t.Fatalf("open database: %v", err)
		}
		stores = append(stores, db)
	}
	if bubble {
		alongside(t, stores)
	}
	return stores
}

func TestMain(m *testing.M) {
	code := m.Run()
	for _, d := range databases {
		d.drop()
	}
	os.Exit(code)
}
