//go:build unix

package sqlite_test

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/lockstep-go/lockstep/runtime/store"
)

func lockFiles(t *testing.T, path string) []string {
	t.Helper()
	names, err := filepath.Glob(path + ".*.lock")
	if err != nil {
		t.Fatal(err)
	}
	return names
}

// G31: a killed process is known to be dead at once, whatever its lease and its last beat say.
func TestKilledProcessIsRecoveredAtOnce(t *testing.T) {
	path := filepath.Join(t.TempDir(), "shop.db")
	s := openFile(t, path)
	c := spawn(t, "own", path)
	id := c.line()
	if rec, err := s.Recover(t.Context(), "self", time.Minute, time.Hour); err != nil || len(rec.Processes) != 0 || rec.Messages != 0 {
		t.Fatalf("while it lives: %+v %v", rec, err)
	}
	if n := len(lockFiles(t, path)); n != 1 {
		t.Fatalf("%d lock files", n)
	}
	c.Process.Kill()
	c.Wait()
	rec, err := s.Recover(t.Context(), "self", time.Minute, time.Hour)
	if err != nil {
		t.Fatal(err)
	}
	if len(rec.Processes) != 1 || rec.Processes[0] != "child" || rec.Messages != 1 {
		t.Fatalf("recovered %+v", rec)
	}
	if names := lockFiles(t, path); len(names) != 0 {
		t.Errorf("left behind: %v", names)
	}
	scan := &store.Scan{Claim: store.Claim{Owner: "self", Token: "t", Lease: time.Minute}, Types: []string{"cart"}, Limit: 5}
	flushed(t, s, &store.Flush{Claims: []*store.Scan{scan}})
	if len(scan.Activations) != 1 || scan.Activations[0].ID != id || scan.Activations[0].Attempts != 2 {
		t.Fatalf("claimed %+v", scan.Activations)
	}
}

// G31: a stopped process keeps its lock, however old its beat: only the end of its lease frees what it has claimed.
func TestStoppedProcessIsJudgedByItsLease(t *testing.T) {
	path := filepath.Join(t.TempDir(), "shop.db")
	s := openFile(t, path)
	c := spawn(t, "own", path)
	c.line()
	if err := c.Process.Signal(syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	defer c.Process.Signal(syscall.SIGCONT)
	s.Offset(30 * time.Minute)
	rec, err := s.Recover(t.Context(), "self", time.Minute, time.Hour)
	if err != nil || len(rec.Processes) != 0 || rec.Messages != 0 {
		t.Fatalf("within its lease: %+v %v", rec, err)
	}
	s.Offset(61 * time.Minute)
	rec, err = s.Recover(t.Context(), "self", time.Minute, time.Hour)
	if err != nil || len(rec.Processes) != 0 || rec.Messages != 1 {
		t.Fatalf("after its lease: %+v %v", rec, err)
	}
	c.Process.Signal(syscall.SIGCONT)
	c.end()
}

// Where the lock cannot tell, the heartbeat does.
func TestHeartbeatWhereTheLockCannotTell(t *testing.T) {
	if os.Getuid() == 0 {
		t.Log("running as root, who may open any file: a directory in the lock's place stands for one that cannot be opened")
	}
	path := filepath.Join(t.TempDir(), "shop.db")
	s, other := openFile(t, path), openFile(t, path)
	if err := other.Register(t.Context(), store.Process{ID: "p"}); err != nil {
		t.Fatal(err)
	}
	name := lockFiles(t, path)[0]
	if err := os.Remove(name); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(name, 0o700); err != nil {
		t.Fatal(err)
	}
	rec, err := s.Recover(t.Context(), "self", time.Minute, time.Hour)
	if err != nil || len(rec.Processes) != 0 {
		t.Fatalf("with a fresh beat: %+v %v", rec, err)
	}
	s.Offset(2 * time.Minute)
	rec, err = s.Recover(t.Context(), "self", time.Minute, time.Hour)
	if err != nil || len(rec.Processes) != 1 {
		t.Fatalf("with an old beat: %+v %v", rec, err)
	}
}

func TestProcessIdsAreFileNames(t *testing.T) {
	s := openFile(t, filepath.Join(t.TempDir(), "shop.db"))
	for _, id := range []string{"", "../x", "a/b", "a b", strings.Repeat("x", 65)} {
		if err := s.Register(t.Context(), store.Process{ID: id}); err == nil {
			t.Errorf("%q was registered", id)
		}
	}
}

func TestProcessRegistersOnce(t *testing.T) {
	path := filepath.Join(t.TempDir(), "shop.db")
	s, other := openFile(t, path), openFile(t, path)
	for range 2 { // again by its own store: a row that was pruned is written anew
		if err := s.Register(t.Context(), store.Process{ID: "p"}); err != nil {
			t.Fatal(err)
		}
	}
	if err := other.Register(t.Context(), store.Process{ID: "p"}); err == nil {
		t.Error("two stores are one process")
	}
	if _, err := s.Leave(t.Context(), "p"); err != nil {
		t.Fatal(err)
	}
	if names := lockFiles(t, path); len(names) != 0 {
		t.Errorf("left behind: %v", names)
	}
}

// Several processes write to one file without an error, a gap or a double (D32).
func TestProcessesWriteTogether(t *testing.T) {
	path := filepath.Join(t.TempDir(), "shop.db")
	s := openFile(t, path)
	var children []*child
	for range 3 {
		c := spawn(t, "tell", path)
		c.line()
		children = append(children, c)
	}
	for _, c := range children {
		c.in.Write([]byte("go\n"))
	}
	for _, c := range children {
		if got := c.line(); got != "done" {
			t.Fatal(got)
		}
		c.end()
	}
	e := message("shared")
	flushed(t, s, &store.Flush{Enqueues: []*store.Enqueue{e}})
	if e.Message.Sequence != 601 {
		t.Errorf("sequence %d after 600 messages", e.Message.Sequence)
	}
}

// D40: eight processes open an empty database at once; one installs, the others wait and proceed.
func TestProcessesInstallTogether(t *testing.T) {
	rounds := 3
	if testing.Short() {
		rounds = 1
	}
	for range rounds {
		path := filepath.Join(t.TempDir(), "shop.db")
		var children []*child
		for range 8 {
			c := spawn(t, "open", path)
			c.line()
			children = append(children, c)
		}
		for _, c := range children {
			c.in.Write([]byte("go\n"))
		}
		for i, c := range children {
			if i == 3 {
				c.Process.Kill() // in the middle of it, or just after
				continue
			}
			if got := c.line(); got != "open" {
				t.Fatal(got)
			}
		}
		s := openFile(t, path)
		flushed(t, s, &store.Flush{Enqueues: []*store.Enqueue{message("a")}})
	}
}
