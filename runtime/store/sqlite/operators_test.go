package sqlite_test

import (
	"errors"
	"path/filepath"
	"testing"

	"github.com/lockstep-go/lockstep/runtime/store/sqlite"
)

// What may be lost is said: a database in memory, and one whose commits do not wait for the disk.
func TestWarnings(t *testing.T) {
	warnings := func(path string, c sqlite.Config) []error {
		t.Helper()
		s, err := sqlite.Open(t.Context(), path, c)
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close()
		return s.Warnings()
	}
	file := filepath.Join(t.TempDir(), "shop.db")
	if got := warnings(file, sqlite.Config{}); len(got) != 0 {
		t.Errorf("a file at its default: %v", got)
	}
	if got := warnings(file, sqlite.Config{Synchronous: sqlite.UnsafeNormal}); len(got) != 1 {
		t.Errorf("without waiting for the disk: %v", got)
	} else if weak, ok := errors.AsType[*sqlite.WeakCommit](got[0]); !ok || weak.Synchronous != sqlite.UnsafeNormal {
		t.Errorf("without waiting for the disk: %v", got[0])
	}
	if got := warnings(":memory:", sqlite.Config{}); len(got) != 1 || !errors.Is(got[0], sqlite.ErrInMemory) {
		t.Errorf("in memory: %v", got)
	}
}
