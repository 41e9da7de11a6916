package sqlite_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/lockstep-go/lockstep/actors"
	"github.com/lockstep-go/lockstep/runtime/store"
	"github.com/lockstep-go/lockstep/runtime/store/sqlite"
)

func newID() string { return uuid.Must(uuid.NewV7()).String() }

func flushed(t *testing.T, s store.Store, f *store.Flush) {
	t.Helper()
	if err := s.Flush(t.Context(), f); err != nil {
		t.Fatal(err)
	}
}

// open is an application's own pool.
func open(path, options string) (*sql.DB, error) {
	return sql.Open("sqlite", (&url.URL{Scheme: "file", OmitHost: true, Path: path, RawQuery: options}).String())
}

func pool(t *testing.T, path, options string) *sql.DB {
	t.Helper()
	db, err := open(path, options)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
	return db
}

const immediate = "_txlock=immediate&_pragma=busy_timeout(5000)"

// told is the sequence of the next message to an actor, which tells how many there were.
func told(t *testing.T, s store.Store, actor string) int64 {
	t.Helper()
	e := message(actor)
	flushed(t, s, &store.Flush{Enqueues: []*store.Enqueue{e}})
	return e.Message.Sequence
}

func TestOpenNames(t *testing.T) {
	dir := t.TempDir()
	t.Chdir(dir)
	for name, file := range map[string]string{
		"plain.db": "plain.db", "sqlite:scheme.db": "scheme.db", "odd ?#%&.db": "odd ?#%&.db",
		"sqlite:options.db?synchronous=unsafe_normal&prefix=shop_": "options.db",
		filepath.Join(dir, "absolute.db"):                          "absolute.db",
	} {
		s, err := sqlite.Open(t.Context(), name)
		if err != nil {
			t.Errorf("%q: %v", name, err)
			continue
		}
		told(t, s, "a")
		if err := s.Close(); err != nil {
			t.Errorf("%q: close: %v", name, err)
		}
		if _, err := os.Stat(file); err != nil {
			t.Errorf("%q: %v", name, err)
		}
	}
	for _, name := range []string{":memory:", "sqlite::memory:"} {
		s, err := sqlite.Open(t.Context(), name)
		if err != nil {
			t.Fatalf("%q: %v", name, err)
		}
		if told(t, s, "a") != 1 || told(t, s, "a") != 2 {
			t.Errorf("%q is not one database", name)
		}
		s.Close()
	}
	for _, name := range []string{"", "sqlite:x.db?synchronous=off", "sqlite:x.db?unknown=1", filepath.Join(dir, "no", "such", "dir.db")} {
		if s, err := sqlite.Open(t.Context(), name); err == nil {
			s.Close()
			t.Errorf("%q was opened", name)
		}
	}
}

func TestConfigReportsAllMistakes(t *testing.T) {
	_, err := sqlite.Open(t.Context(), ":memory:", sqlite.Config{Prefix: "Shop-", Synchronous: "OFF", BusyTimeout: -1, Readers: -1})
	if joined, ok := errors.AsType[interface {
		error
		Unwrap() []error
	}](err); !ok || len(joined.Unwrap()) != 4 {
		t.Errorf("got %v", err)
	}
}

func TestPrefixesShareAFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "shop.db")
	a, err := sqlite.Open(t.Context(), path, sqlite.Config{Prefix: "a_"})
	if err != nil {
		t.Fatal(err)
	}
	defer a.Close()
	b := openFile(t, path)
	if told(t, a, "x") != 1 || told(t, b, "x") != 1 {
		t.Error("two prefixes share a mailbox")
	}
}

// D33: pragmas hold on every connection of the store, and the application's pool stays as it is.
func TestPragmas(t *testing.T) {
	for want, cfg := range map[int64]sqlite.Config{2: {}, 1: {Synchronous: sqlite.UnsafeNormal}} {
		path := filepath.Join(t.TempDir(), "shop.db")
		db := pool(t, path, "")
		if _, err := db.Exec("CREATE TABLE orders (id INTEGER)"); err != nil {
			t.Fatal(err)
		}
		s, err := sqlite.New(t.Context(), db, cfg)
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close()
		err = s.Write(t.Context(), func(ctx context.Context, tx *sql.Tx) error {
			for pragma, want := range map[string]any{
				"synchronous": want, "journal_mode": "wal", "busy_timeout": int64(5000), "wal_autocheckpoint": int64(4000),
				"temp_store": int64(2), "query_only": int64(0),
			} {
				var got any
				if err := tx.QueryRow("PRAGMA " + pragma).Scan(&got); err != nil || got != want {
					t.Errorf("writer: %s = %v, want %v (%v)", pragma, got, want, err)
				}
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		var timeout int
		if err := db.QueryRow("PRAGMA busy_timeout").Scan(&timeout); err != nil || timeout != 0 {
			t.Errorf("the application's busy timeout is %d now (%v)", timeout, err)
		}
		if n := db.Stats().MaxOpenConnections; n != 0 {
			t.Errorf("the application's pool is limited to %d now", n)
		}
	}
}

func TestNewFindsTheFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "shop.db")
	s, err := sqlite.New(t.Context(), pool(t, path, ""), sqlite.Config{})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	told(t, s, "a")
	if n := told(t, openFile(t, path), "a"); n != 2 {
		t.Errorf("sequence %d: not the same file", n)
	}
}

func TestNewInMemoryNeedsAPoolOfOne(t *testing.T) {
	db := openMemory(t)
	db.SetMaxOpenConns(2)
	_, err := sqlite.New(t.Context(), db, sqlite.Config{})
	if e, ok := errors.AsType[*sqlite.MemoryPool](err); !ok || e.MaxOpen != 2 {
		t.Fatalf("got %v", err)
	}
	db.SetMaxOpenConns(1)
	s := newOn(t, db)
	told(t, s, "a")
	var n int
	if err := db.QueryRow("SELECT count(*) FROM lockstep_messages").Scan(&n); err != nil || n != 1 {
		t.Errorf("the application sees %d messages (%v)", n, err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if err := db.Ping(); err != nil {
		t.Errorf("the application's pool after Close: %v", err)
	}
}

func TestSchemaOfOthers(t *testing.T) {
	path := filepath.Join(t.TempDir(), "shop.db")
	openFile(t, path).Close()
	db := pool(t, path, "")
	if _, err := db.Exec("INSERT INTO lockstep_schema_migrations VALUES (1000, 'lockstep-go/sqlite', '', 0)"); err != nil {
		t.Fatal(err)
	}
	if _, err := sqlite.Open(t.Context(), path); !errors.Is(err, store.ErrSchemaTooNew) {
		t.Errorf("a newer schema: %v", err)
	}
	if _, err := db.Exec("UPDATE lockstep_schema_migrations SET identity = 'stranger'"); err != nil {
		t.Fatal(err)
	}
	_, err := sqlite.Open(t.Context(), path)
	if e, ok := errors.AsType[*sqlite.ForeignSchema](err); !ok || e.Identity != "stranger" {
		t.Errorf("a foreign schema: %v", err)
	}
}

// D32: a wait for another process is honoured, and a caller's deadline ends it.
func TestBusyDatabase(t *testing.T) {
	path := filepath.Join(t.TempDir(), "shop.db")
	s := openFile(t, path)
	told(t, s, "a")
	c := spawn(t, "hold", path)
	c.line()

	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	before := time.Now()
	err := s.Flush(ctx, &store.Flush{Enqueues: []*store.Enqueue{message("a")}})
	if !errors.Is(err, context.DeadlineExceeded) || time.Since(before) > 3*time.Second {
		t.Errorf("with a deadline: %v after %v", err, time.Since(before))
	}
	if _, err := s.Snapshot(t.Context(), store.Key{Type: "cart", ID: "a"}); err != nil {
		t.Errorf("a read beside it: %v", err)
	}
	short, err := sqlite.Open(t.Context(), path, sqlite.Config{BusyTimeout: 20 * time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	defer short.Close()
	if err := short.Flush(t.Context(), &store.Flush{Enqueues: []*store.Enqueue{message("a")}}); !errors.Is(err, store.ErrTransient) {
		t.Errorf("after the busy timeout: %v", err)
	}
	waited := make(chan error)
	go func() { waited <- s.Flush(t.Context(), &store.Flush{Enqueues: []*store.Enqueue{message("a")}}) }()
	c.end()
	if err := <-waited; err != nil {
		t.Errorf("the wait: %v", err)
	}
	if n := told(t, s, "a"); n != 3 {
		t.Errorf("sequence %d", n)
	}
}

func TestReadOnlyDatabase(t *testing.T) {
	path := filepath.Join(t.TempDir(), "shop.db")
	s := openFile(t, path)
	err := s.Write(t.Context(), func(ctx context.Context, tx *sql.Tx) error {
		_, err := tx.Exec("PRAGMA query_only = ON")
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Flush(t.Context(), &store.Flush{Enqueues: []*store.Enqueue{message("a")}}); !errors.Is(err, store.ErrNotWritable) {
		t.Errorf("got %v", err)
	}
}

func TestClosedStore(t *testing.T) {
	for _, path := range []string{":memory:", filepath.Join(t.TempDir(), "shop.db")} {
		s, err := sqlite.Open(t.Context(), path)
		if err != nil {
			t.Fatal(err)
		}
		for range 2 {
			if err := s.Close(); err != nil {
				t.Error(err)
			}
		}
		if err := s.Flush(t.Context(), &store.Flush{Enqueues: []*store.Enqueue{message("a")}}); err == nil {
			t.Error("a closed store writes")
		}
		if _, err := s.Snapshot(t.Context(), store.Key{}); err == nil {
			t.Error("a closed store reads")
		}
		if err := s.Write(t.Context(), func(context.Context, *sql.Tx) error { return nil }); err == nil {
			t.Error("a closed store lends its writer")
		}
	}
}

// D34, scaled: the log stays bounded while a slow reader comes and goes, since no read of the store outlives its query.
func TestWALStaysBounded(t *testing.T) {
	path := filepath.Join(t.TempDir(), "shop.db")
	s := openFile(t, path)
	turns := 20_000
	if testing.Short() {
		turns = 5_000
	}
	for i := 0; i < turns; i += 100 {
		f := &store.Flush{}
		for j := range 100 {
			f.Enqueues = append(f.Enqueues, message(fmt.Sprint("a", j)))
		}
		flushed(t, s, f)
		if _, err := s.DeadLetters(t.Context(), 10); err != nil {
			t.Fatal(err)
		}
		if _, err := s.Finished(t.Context(), time.Hour, store.Finished{}, 10); err != nil {
			t.Fatal(err)
		}
	}
	info, err := os.Stat(path + "-wal")
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%d turns: the log has %d KiB", turns, info.Size()>>10)
	if limit := int64(3 * 4000 * 4096); info.Size() > limit {
		t.Errorf("the log has %d bytes, more than %d", info.Size(), limit)
	}
}

var errOwn = errors.New("own")

func TestForeignTransactions(t *testing.T) {
	path := filepath.Join(t.TempDir(), "shop.db")
	s := openFile(t, path)
	e := message("a")
	if err := s.EnqueueTx(t.Context(), otherTx{}, e); !errors.Is(err, actors.ErrForeignTransaction) {
		t.Errorf("another driver's: %v", err)
	}
	if err := s.EnqueueTx(t.Context(), sqlite.Tx(nil), e); !errors.Is(err, actors.ErrForeignTransaction) {
		t.Errorf("none: %v", err)
	}
	for name, db := range map[string]*sql.DB{
		"another file's": pool(t, filepath.Join(t.TempDir(), "other.db"), immediate), "memory's": openMemory(t),
	} {
		tx, err := db.Begin()
		if err != nil {
			t.Fatal(err)
		}
		if err := s.EnqueueTx(t.Context(), sqlite.Tx(tx), e); !errors.Is(err, actors.ErrForeignTransaction) {
			t.Errorf("%s: %v", name, err)
		}
		tx.Rollback()
	}
	if err := s.Close(); err != nil { // which writes the log back, so that the file is all there is
		t.Fatal(err)
	}
	content, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	twin := filepath.Join(t.TempDir(), "twin.db")
	if err := os.WriteFile(twin, content, 0o600); err != nil {
		t.Fatal(err)
	}
	s = openFile(t, path)
	copied, err := pool(t, twin, immediate).Begin()
	if err != nil {
		t.Fatal(err)
	}
	defer copied.Rollback()
	if err := s.EnqueueTx(t.Context(), sqlite.Tx(copied), e); !errors.Is(err, actors.ErrForeignTransaction) {
		t.Errorf("a copy's: %v", err)
	}
	one, two := openMemory(t), openMemory(t)
	a, _ := newOn(t, one), newOn(t, two)
	tx, err := two.Begin()
	if err != nil {
		t.Fatal(err)
	}
	defer tx.Rollback()
	if err := a.EnqueueTx(t.Context(), sqlite.Tx(tx), e); !errors.Is(err, actors.ErrForeignTransaction) {
		t.Errorf("another memory's with the same tables: %v", err)
	}
}

type otherTx struct{}

func (otherTx) Dialect() string { return "postgres" }
