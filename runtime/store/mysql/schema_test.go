package mysql_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	driver "github.com/go-sql-driver/mysql"

	"github.com/lockstep-go/lockstep/runtime/store"
	"github.com/lockstep-go/lockstep/runtime/store/mysql"
)

// user makes an ordinary user with these rights on the run's database, and returns its configuration.
func user(t *testing.T, rights string) *driver.Config {
	t.Helper()
	need(t)
	// Whether they may write at all is a setting of the whole server, which tests of other packages change too.
	one, err := here.root.Conn(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { one.Close() })
	if _, err := one.ExecContext(t.Context(), "DO GET_LOCK('lockstep_ordinary_users', 300)"); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		one.ExecContext(context.WithoutCancel(t.Context()), "DO RELEASE_LOCK('lockstep_ordinary_users')")
	})
	name := fmt.Sprintf("lockstep_%d", tests.Add(1))
	for _, text := range []string{
		"DROP USER IF EXISTS " + name,
		"CREATE USER " + name + " IDENTIFIED BY 'secret'",
		"GRANT " + rights + " ON " + here.utf8.DBName + ".* TO " + name,
	} {
		if _, err := here.root.Exec(text); err != nil {
			lacking(t, "the tests' user may not make others: %v", err)
		}
	}
	t.Cleanup(func() { here.root.Exec("DROP USER " + name) })
	c := here.utf8.Clone()
	c.User, c.Passwd = name, "secret"
	return c
}

// D40: eight processes open an empty database at once. One installs, the others find it done.
func TestManyInstallAtOnce(t *testing.T) {
	need(t)
	for range 5 {
		p := prefix()
		clean(t, here.utf8, p)
		errs := make([]error, 8)
		together(len(errs), func(i int) {
			s, err := mysql.Open(t.Context(), here.utf8.FormatDSN(), mysql.Config{Prefix: p})
			if errs[i] = err; err == nil {
				_, errs[i] = s.Due(t.Context(), []string{"cart"}, nil)
				s.Close()
			}
		})
		if err := errors.Join(errs...); err != nil {
			t.Error(err)
		}
		if got := ask(t, here.root, "SELECT GROUP_CONCAT(version ORDER BY version) FROM "+here.utf8.DBName+"."+p+"schema_migrations"); got != "0,1,2" {
			t.Errorf("recorded versions %s", got)
		}
	}
}

// D40: an installer that dies after any step leaves what the next one completes, once it has waited for its row.
func TestHalfInstalledSchemaIsCompleted(t *testing.T) {
	need(t)
	defer mysql.InstallLease(300 * time.Millisecond)()
	died := errors.New("killed")
	for after := 1; after <= 11; after += 5 {
		t.Run(fmt.Sprintf("after_%d", after), func(t *testing.T) {
			p := prefix()
			clean(t, here.utf8, p)
			var n atomic.Int64
			restore := mysql.AfterStep(func() error {
				if n.Add(1) == int64(after) {
					return died
				}
				return nil
			})
			_, err := mysql.Open(t.Context(), here.utf8.FormatDSN(), mysql.Config{Prefix: p})
			restore()
			if !errors.Is(err, died) {
				t.Fatal(err)
			}
			begun := time.Now()
			s := open(t, here.utf8.FormatDSN(), mysql.Config{Prefix: p})
			if took := time.Since(begun); took < 100*time.Millisecond {
				t.Errorf("it did not wait for the row: %v", took)
			}
			asked(t, s, "a")
		})
	}
}

// D40: an old build is refused in words, and so is a stranger's table.
func TestOtherSchemasAreRefused(t *testing.T) {
	s := fresh(t, here.utf8)
	table := here.utf8.DBName + "." + s.cfg.Prefix + "schema_migrations"
	again := func() error {
		x, err := mysql.Open(t.Context(), s.dsn, s.cfg)
		if err == nil {
			x.Close()
		}
		return err
	}
	if _, err := here.root.Exec("INSERT INTO " + table + " (version, identity, installation, installed_at) VALUES (99, 'lockstep-go/mysql', '', 0)"); err != nil {
		t.Fatal(err)
	}
	if err := again(); !errors.Is(err, store.ErrSchemaTooNew) || !strings.Contains(err.Error(), "99") {
		t.Errorf("a newer one: %v", err)
	}
	if _, err := here.root.Exec("UPDATE " + table + " SET identity = 'somebody/else', version = 98 WHERE version = 99"); err != nil {
		t.Fatal(err)
	}
	if foreign, ok := errors.AsType[*mysql.ForeignSchema](again()); !ok || foreign.Identity != "somebody/else" {
		t.Errorf("a stranger's: %v", again())
	}
	p := prefix()
	clean(t, here.utf8, p)
	if _, err := here.root.Exec("CREATE TABLE " + here.utf8.DBName + "." + p + "schema_migrations (version VARCHAR(20))"); err != nil {
		t.Fatal(err)
	}
	_, err := mysql.Open(t.Context(), here.utf8.FormatDSN(), mysql.Config{Prefix: p})
	if _, ok := errors.AsType[*mysql.ForeignSchema](err); !ok {
		t.Errorf("a table of that name: %v", err)
	}
}

// D40: opening a finished schema needs no right to change tables, and an unfinished one says what is missing.
func TestOpeningNeedsNoRightsToChangeTables(t *testing.T) {
	s := fresh(t, here.utf8)
	c := user(t, "SELECT, INSERT, UPDATE, DELETE")
	poor := open(t, c.FormatDSN(), s.cfg)
	a := asked(t, poor, "a")
	c1 := finishing(a)
	flushed(t, poor, &store.Flush{Commits: []*store.Commit{c1}})
	if _, err := mysql.Open(t.Context(), c.FormatDSN(), mysql.Config{Prefix: prefix()}); err == nil || !strings.Contains(err.Error(), "CREATE") {
		t.Errorf("without tables: %v", err)
	}
}

// D39: a server that became read-only, under load, and takes writes again. No attempt is used, nothing is dead, and the
// connections to it are given up.
func TestReadOnlyServer(t *testing.T) {
	s := fresh(t, here.utf8)
	c := user(t, "SELECT, INSERT, UPDATE, DELETE")
	poor := open(t, c.FormatDSN(), s.cfg)
	a := asked(t, poor, "a")
	if _, err := here.root.Exec("SET GLOBAL read_only = 1"); err != nil {
		lacking(t, "the tests' user may not make the server read-only: %v", err)
	}
	writable := func() { here.root.Exec("SET GLOBAL read_only = 0") }
	defer writable()
	before := connections(t, c.User)
	err := poor.Flush(t.Context(), &store.Flush{Commits: []*store.Commit{finishing(a)}, Enqueues: []*store.Enqueue{message("b")}})
	if !errors.Is(err, store.ErrNotWritable) {
		t.Fatalf("read-only: %v", err)
	}
	if errors.Is(err, store.ErrTransient) || errors.Is(err, store.ErrUnclear) {
		t.Errorf("read-only: %v", err)
	}
	if _, err := poor.Snapshot(t.Context(), store.Key{Type: "cart", ID: "a"}); err != nil {
		t.Errorf("reading: %v", err)
	}
	if after := connections(t, c.User); slicesIntersect(before, after) {
		t.Errorf("a connection was kept: %v, then %v", before, after)
	}
	writable()
	commit, e := finishing(a), message("b")
	flushed(t, poor, &store.Flush{Commits: []*store.Commit{commit}, Enqueues: []*store.Enqueue{e}})
	m, _, _, err := poor.Message(t.Context(), a.ID)
	if err != nil || m.Attempts != 1 || m.Status != store.Completed || e.Message.Sequence != 1 {
		t.Errorf("attempts %d, %s, sequence %d, %v", m.Attempts, m.Status, e.Message.Sequence, err)
	}
}

// connections are the ids of a user's.
func connections(t *testing.T, name string) []string {
	return strings.Split(ask(t, here.root, "SELECT COALESCE(GROUP_CONCAT(id), '') FROM information_schema.processlist WHERE user = ?", name), ",")
}

func slicesIntersect(a, b []string) bool {
	for _, x := range a {
		for _, y := range b {
			if x == y && x != "" {
				return true
			}
		}
	}
	return false
}
