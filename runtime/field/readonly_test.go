package field

import (
	"context"
	"database/sql"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	driver "github.com/go-sql-driver/mysql"
	"github.com/google/uuid"

	"github.com/lockstep-go/lockstep/actors"
	"github.com/lockstep-go/lockstep/runtime"
	"github.com/lockstep-go/lockstep/runtime/store"
	"github.com/lockstep-go/lockstep/runtime/store/sqlite"
)

// switchable is a database that can be made read-only for one store, while others still see it.
type switchable struct {
	*base
	db       store.Store
	readOnly func(on bool)
}

// TestD39ReadOnlyUnderLoad: a database that becomes read-only under load, and takes writes again after a while. The
// program's health says so, reading goes on, and afterwards everything goes on by itself: every call is answered, no
// attempt was used, and nothing was given up. On PostgreSQL and SQLite only new connections see the change, so that
// going on means that the old ones were given up.
func TestD39ReadOnlyUnderLoad(t *testing.T) {
	for _, d := range databases {
		t.Run(d.name, func(t *testing.T) {
			t.Parallel() // it mostly waits
			prepare := map[string]func(*testing.T) *switchable{
				"sqlite": switchableFile, "postgres": switchablePostgres, "mysql": switchableMySQL,
			}[d.name]
			if s := prepare(t); s != nil {
				readOnlyUnderLoad(t, s)
			}
		})
	}
}

func readOnlyUnderLoad(t *testing.T, s *switchable) {
	lasts := size(t, "read-only for", 3*time.Second, 30*time.Second)
	o := defineOrders()
	hold := make(chan struct{})
	slow := actors.Message[string, int](o.Type, "slow")
	slow.Handle(func(s *order, _ *actors.Turn[order], line string) (int, error) {
		<-hold
		s.Lines = append(s.Lines, line)
		return len(s.Lines), nil
	})
	send := actors.Message[string, int](o.Type, "send")
	send.Handle(func(s *order, t *actors.Turn[order], line string) (int, error) {
		s.Lines = append(s.Lines, line)
		o.ship.Emit(t, line)
		return len(s.Lines), nil
	})
	cfg := hurried([]actors.AnyType{o}, o.ship.By(func(_ context.Context, c actors.EffectCall[string]) (string, error) { return c.ID, nil }))
	cfg.Lease, cfg.AskTimeout, cfg.Stale = lasts+10*time.Second, lasts+30*time.Second, lasts+20*time.Second
	p := startOn(t, s.db, cfg)
	inFlight, err := slow.Tell(t.Context(), p, o.Ref("slow"), "in flight")
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	var callers sync.WaitGroup
	answered := make([]int, 4)
	for c := range answered {
		callers.Go(func() {
			for ctx.Err() == nil {
				if _, err := send.Ask(t.Context(), p, o.Ref(fmt.Sprint("a", c)), fmt.Sprint(answered[c])); err != nil {
					t.Errorf("a call: %v", err)
					return
				}
				answered[c]++
				time.Sleep(5 * time.Millisecond)
			}
		})
	}
	time.Sleep(300 * time.Millisecond)
	s.readOnly(true)
	begun := time.Now()
	close(hold) // a turn ends while its commit cannot be written
	eventually(t, "the health says that it is not writable", 10*time.Second, func() bool { return strings.Contains(writeCheck(t, p), "not writable") })
	if _, err := o.Ref("a0").Snapshot(t.Context(), p); err != nil {
		t.Errorf("reading from a read-only database: %v", err)
	}
	time.Sleep(time.Until(begun.Add(lasts)))
	s.readOnly(false)
	eventually(t, "the health says that it is writable", 20*time.Second, func() bool { return strings.HasPrefix(writeCheck(t, p), string(runtime.Pass)) })
	if n, err := slow.Wait(t.Context(), p, inFlight); n != 1 || err != nil {
		t.Errorf("the turn in flight: %d, %v", n, err)
	}
	stop()
	callers.Wait()
	s.atRest(t, 20*time.Second)
	for c, n := range answered {
		got, err := o.Ref(fmt.Sprint("a", c)).Snapshot(t.Context(), p)
		if err != nil || len(got.Lines) != 2*n || n < 2 { // each line, and that it was shipped
			t.Errorf("a%d has %d lines, %v; %d calls were answered", c, len(got.Lines), err, n)
		}
	}
	if bad := s.text(t, `SELECT concat(operation, ' ', status, ' ', attempts) FROM lockstep_messages WHERE status <> 'completed' OR attempts <> 1`); bad != "" {
		t.Errorf("messages that did not complete at their first attempt:\n%s", bad)
	}
	if n := s.number(t, "SELECT count(*) FROM lockstep_dead_letters"); n > 0 {
		t.Errorf("%d dead letters", n)
	}
}

// writeCheck is what the doctor says of writing.
func writeCheck(t *testing.T, p *process) string {
	t.Helper()
	report, err := p.Admin().Doctor(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range report.Checks {
		if c.Name == "write" {
			return string(c.Verdict) + " " + c.Text
		}
	}
	return ""
}

func switchablePostgres(t *testing.T) *switchable {
	b := newBase(t, find("postgres"))
	return &switchable{b, b.store(t), func(on bool) {
		name := b.text(t, "SELECT current_database()")
		b.exec(t, fmt.Sprintf("BEGIN READ WRITE; ALTER DATABASE %s SET default_transaction_read_only = %t; COMMIT", name, on))
		if on { // those that are there would go on writing; on the way back they stay read-only until they are given up
			b.exec(t, "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()")
		}
	}}
}

func switchableMySQL(t *testing.T) *switchable {
	b := newBase(t, find("mysql"))
	b.store(t)
	// The setting is the whole server's: tests of other packages with ordinary users have to wait.
	one, err := b.sql.Conn(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var locked int
	if err := one.QueryRowContext(t.Context(), "SELECT GET_LOCK('lockstep_ordinary_users', 300)").Scan(&locked); err != nil || locked != 1 {
		t.Fatalf("lock: %d, %v", locked, err)
	}
	cfg, err := driver.ParseDSN(b.address)
	if err != nil {
		t.Fatal(err)
	}
	cfg.User, cfg.Passwd = "lockstep_"+uuid.NewString()[:8], "secret"
	for _, text := range []string{"CREATE USER " + cfg.User + " IDENTIFIED BY 'secret'",
		"GRANT SELECT, INSERT, UPDATE, DELETE ON " + cfg.DBName + ".* TO " + cfg.User} {
		if _, err := b.sql.Exec(text); err != nil {
			t.Skipf("the tests' user may not make others: %v", err)
		}
	}
	t.Cleanup(func() {
		for _, text := range []string{"SET GLOBAL read_only = 0", "DROP USER " + cfg.User} {
			if _, err := b.sql.Exec(text); err != nil {
				t.Error(err)
			}
		}
		one.ExecContext(context.Background(), "DO RELEASE_LOCK('lockstep_ordinary_users')")
		one.Close()
	})
	db, err := b.open(t.Context(), cfg.FormatDSN())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
	return &switchable{b, db, func(on bool) { b.exec(t, fmt.Sprintf("SET GLOBAL read_only = %t", on)) }}
}

// switchableFile takes the right to write from the file and its folder. Who is root may write all the same: then the
// test runs once more, in a process of nobody.
func switchableFile(t *testing.T) *switchable {
	if os.Getuid() == 0 {
		asNobody(t)
		return nil
	}
	b := newBase(t, find("sqlite"))
	db, err := sqlite.Open(t.Context(), b.address, sqlite.Config{Synchronous: sqlite.UnsafeNormal, BusyTimeout: time.Second})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
	chmod := func(file, folder os.FileMode) {
		names, err := filepath.Glob(b.address + "*")
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range names {
			if err := os.Chmod(name, file); err != nil {
				t.Fatal(err)
			}
		}
		if err := os.Chmod(filepath.Dir(b.address), folder); err != nil {
			t.Fatal(err)
		}
	}
	t.Cleanup(func() { chmod(0o600, 0o700) })
	return &switchable{b, db, func(on bool) {
		if !on {
			chmod(0o600, 0o700)
			return
		}
		chmod(0o400, 0o500)
		// What is open stays writable by the file's permissions: the open connection is told.
		err := db.Write(t.Context(), func(ctx context.Context, tx *sql.Tx) error {
			_, err := tx.ExecContext(ctx, "PRAGMA query_only = ON")
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}}
}

func find(name string) *database {
	for _, d := range databases {
		if d.name == name {
			return d
		}
	}
	panic("no database is named " + name)
}
