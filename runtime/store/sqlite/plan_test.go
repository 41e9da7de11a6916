package sqlite

import (
	"database/sql/driver"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/lockstep-go/lockstep/runtime/store"
)

// small tables may be read whole: they hold a row for each process, or for each turn that runs now. What bounds the
// others is an index.
var small = []string{"lockstep_processes", "lockstep_claimed", "lockstep_tombstones", "c", "k", "json_each", "CONSTANT"}

// whole are statements that read something else whole, and why they may.
var whole = map[string]string{
	"owned_broadcasts": "only what is not handed on yet, and only when a process ends",
}

// Every statement finds its rows by an index, reads in the order that it needs, and says in its first line what it is
// for.
func TestStatementsUseIndexes(t *testing.T) {
	s, err := Open(t.Context(), filepath.Join(t.TempDir(), "shop.db"))
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	names, err := fs.Glob(files, "sql/*.sql")
	if err != nil {
		t.Fatal(err)
	}
	if len(names) != len(texts) {
		t.Errorf("%d files, %d declared statements", len(names), len(texts))
	}
	for _, file := range names {
		name := strings.TrimSuffix(filepath.Base(file), ".sql")
		text, err := files.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if first, _, _ := strings.Cut(string(text), "\n"); !strings.HasPrefix(first, "-- ") || !slices.Contains(texts, string(text)) {
			t.Errorf("%s: no promise in its first line, or not declared", name)
		}
		steps := plan(t, s, string(text))
		for _, step := range steps {
			if table, ok := strings.CutPrefix(step, "SCAN "); ok {
				table, _, _ = strings.Cut(table, " ")
				// An index read in order up to a limit is no scan to the end.
				ordered := strings.Contains(step, " USING ") && strings.Contains(string(text), "LIMIT")
				inner := strings.HasPrefix(table, "(subquery-") // its own steps are listed too
				if !slices.Contains(small, table) && !inner && !ordered && whole[name] == "" {
					t.Errorf("%s: %s", name, step)
				}
			}
			if strings.Contains(step, "TEMP B-TREE") && name != "process_list" && name != "tombstone" {
				t.Errorf("%s: %s", name, step)
			}
		}
	}
}

// plan is what SQLite says it would do; nothing where the statement is none that it explains.
func plan(t *testing.T, s *Store, text string) (steps []string) {
	t.Helper()
	err := s.withWriter(t.Context(), func(c *conn) error {
		st, err := c.dc.Prepare("EXPLAIN QUERY PLAN " + text)
		if err != nil {
			if strings.Contains(err.Error(), "syntax error") {
				return nil // BEGIN and the like
			}
			return err
		}
		defer st.Close()
		var args []driver.NamedValue
		for i := range 40 { // more than any has
			args = append(args, driver.NamedValue{Ordinal: i + 1, Value: int64(1)})
		}
		rows, err := st.(driver.StmtQueryContext).QueryContext(t.Context(), args)
		if err != nil {
			return err
		}
		defer rows.Close()
		values := make([]driver.Value, len(rows.Columns()))
		for {
			if err := rows.Next(values); err == io.EOF {
				return nil
			} else if err != nil {
				return err
			}
			steps = append(steps, fmt.Sprint(values[len(values)-1]))
		}
	})
	if err != nil {
		t.Errorf("%s: %v", text, err)
	}
	return steps
}

// D33: the readers cannot write, on whichever connection.
func TestReadersOnlyRead(t *testing.T) {
	s, err := Open(t.Context(), filepath.Join(t.TempDir(), "shop.db"), Config{Readers: 3})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	for range 10 {
		err := s.read(t.Context(), "write", func(q session) error {
			_, err := q.exec(lockTx)
			return err
		})
		if !errors.Is(err, store.ErrNotWritable) {
			t.Fatalf("got %v", err)
		}
	}
}
