package sqlite_test

import (
	"database/sql"
	"path/filepath"
	"testing"
	"time"

	_ "modernc.org/sqlite"

	"github.com/lockstep-go/lockstep/runtime/store"
	"github.com/lockstep-go/lockstep/runtime/store/sqlite"
	"github.com/lockstep-go/lockstep/runtime/store/storetest"
)

// file is a store on a file, which opens again like another process.
type file struct {
	host
	*sqlite.Store
	path string
}

func (f file) Again(t *testing.T) store.Store { return openFile(t, f.path) }

func openFile(t *testing.T, path string) *sqlite.Store {
	t.Helper()
	// What a power cut would take away is none of the suite's business.
	s, err := sqlite.Open(t.Context(), path, sqlite.Config{Synchronous: sqlite.UnsafeNormal, WriteLimit: time.Second})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

// memory is a store on an application's pool of one, which another store can share.
type memory struct {
	host
	*sqlite.Store
	db *sql.DB
}

func (m memory) Again(t *testing.T) store.Store { return newOn(t, m.db) }

// OneConnection says that both stores are on one connection.
func (memory) OneConnection() bool { return true }

func newOn(t *testing.T, db *sql.DB) *sqlite.Store {
	t.Helper()
	s, err := sqlite.New(t.Context(), db, sqlite.Config{WriteLimit: time.Second})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

func openMemory(t *testing.T) *sql.DB {
	t.Helper()
	db, err := sql.Open("sqlite", ":memory:")
	if err != nil {
		t.Fatal(err)
	}
	db.SetMaxOpenConns(1)
	t.Cleanup(func() { db.Close() })
	return db
}

func TestFile(t *testing.T) {
	storetest.Run(t, func(t *testing.T) store.Store {
		path := filepath.Join(t.TempDir(), "store.db")
		return file{host{}, openFile(t, path), path}
	})
}

func TestMemory(t *testing.T) {
	storetest.Run(t, func(t *testing.T) store.Store {
		db := openMemory(t)
		return memory{host{}, newOn(t, db), db}
	})
}

// R31: see storetest.UnreadableRow.
func TestR31UnreadableRowHoldsNobodyUp(t *testing.T) {
	path := filepath.Join(t.TempDir(), "store.db")
	f := file{host{}, openFile(t, path), path}
	db, err := sql.Open("sqlite", path)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	storetest.UnreadableRow(t, f, "lockstep_", func(statement string) error {
		_, err := db.ExecContext(t.Context(), statement)
		return err
	})
}
