//go:build unix

package crash

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	goruntime "runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/lockstep-go/lockstep/actors"
	"github.com/lockstep-go/lockstep/runtime"
	"github.com/lockstep-go/lockstep/runtime/store"
	"github.com/lockstep-go/lockstep/runtime/store/mysql"
	"github.com/lockstep-go/lockstep/runtime/store/postgres"
	"github.com/lockstep-go/lockstep/runtime/store/sqlite"
)

// full says whether sizes and waits are those that the field cases state, rather than scaled ones.
var full = os.Getenv("LOCKSTEP_TEST_FULL") == "1"

// scaled prints which of the two a test runs with.
func scaled[T any](t *testing.T, what string, small, stated T) T {
	t.Helper()
	v := small
	if full {
		v = stated
	}
	t.Logf("%s: %v of %v", what, v, stated)
	return v
}

// pool is an application's own connections to a database, and a store that was opened on them.
type pool struct {
	store store.Store
	// hold runs f while it has one of the pool's connections in a transaction.
	hold func(ctx context.Context, f func()) error
}

// pooled opens a store on an application's pool of n connections.
func pooled(t *testing.T, d *database, address string, n int) pool {
	t.Helper()
	ctx := context.WithoutCancel(t.Context())
	var p pool
	var err error
	switch d.name {
	case "postgres":
		cfg, err := pgxpool.ParseConfig(address + fmt.Sprintf(" pool_max_conns=%d", n))
		if err != nil {
			t.Fatal(err)
		}
		db, err := pgxpool.NewWithConfig(ctx, cfg)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(db.Close)
		p.hold = func(ctx context.Context, f func()) error {
			tx, err := db.Begin(ctx)
			if err != nil {
				return err
			}
			defer tx.Rollback(context.WithoutCancel(ctx))
			rows, err := tx.Query(ctx, "SELECT generate_series(1, 1000)")
			if err != nil {
				return err
			}
			defer rows.Close()
			rows.Next()
			f()
			return nil
		}
		p.store, err = postgres.New(ctx, db, postgres.Config{})
		if err != nil {
			t.Fatal(err)
		}
	case "mysql", "sqlite":
		kind := d.name
		if kind == "sqlite" {
			address = "file:" + address
		}
		db, opening := sql.Open(kind, address)
		if opening != nil {
			t.Fatal(opening)
		}
		db.SetMaxOpenConns(n)
		t.Cleanup(func() { db.Close() })
		p.hold = func(ctx context.Context, f func()) error {
			tx, err := db.BeginTx(ctx, nil)
			if err != nil {
				return err
			}
			defer tx.Rollback()
			rows, err := tx.QueryContext(ctx, "SELECT 1 UNION ALL SELECT 2 UNION ALL SELECT 3")
			if err != nil {
				return err
			}
			defer rows.Close()
			rows.Next()
			f()
			return nil
		}
		if kind == "mysql" {
			p.store, err = mysql.New(ctx, db, mysql.Config{})
		} else {
			p.store, err = sqlite.New(ctx, db, sqlite.Config{})
		}
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { p.store.Close() })
	return p
}

// probe is a slip whose handler the test says.
func probe(do func(t *actors.Turn[slip], line string) error) (*actors.Type[slip], *actors.MessageType[slip, string, int]) {
	typ := actors.Define("probe", func() slip { return slip{} })
	m := actors.Message[string, int](typ, "try")
	m.Handle(func(s *slip, t *actors.Turn[slip], line string) (int, error) {
		if err := do(t, line); err != nil {
			return 0, err
		}
		s.Lines = append(s.Lines, line)
		return len(s.Lines), nil
	})
	return typ, m
}

// everywhere runs a test on each database.
func everywhere(t *testing.T, test func(t *testing.T, d *database)) {
	for i := range databases {
		t.Run(databases[i].name, func(t *testing.T) { test(t, &databases[i]) })
	}
}

// D15: handlers that have every connection of a pool for longer than their lease do not lose it. On MySQL, where the
// store cannot connect beside the application's pool, that takes a store with connections of its own.
func TestD15HandlersDoNotStarveTheirLeases(t *testing.T) {
	everywhere(t, func(t *testing.T, d *database) {
		held := scaled(t, "each handler holds its query for", 4*time.Second, 40*time.Second)
		const conns = 5
		handlers := scaled(t, "handlers", 10, 20)
		address := d.empty(t, t.TempDir())
		p := pooled(t, d, address, conns)
		if d.name == "mysql" {
			p.store = opened(t, d, address)
		}
		var runs, lost atomic.Int64
		typ, try := probe(func(turn *actors.Turn[slip], _ string) error {
			runs.Add(1)
			err := p.hold(turn.Context(), func() {
				select {
				case <-time.After(held):
				case <-turn.Context().Done():
				}
			})
			if turn.Context().Err() != nil {
				lost.Add(1)
			}
			return err
		})
		cfg := hasty()
		cfg.Types = []actors.AnyType{typ}
		cfg.Lease, cfg.Renew = 3*time.Second, 300*time.Millisecond
		rt := serve(t, p.store, cfg)
		ctx, cancel := context.WithTimeout(t.Context(), 8*held*time.Duration(handlers/conns))
		defer cancel()
		var all sync.WaitGroup
		for i := range handlers {
			all.Go(func() {
				if n, err := try.Ask(ctx, rt, typ.Ref(fmt.Sprint(i)), "x"); n != 1 || err != nil {
					t.Errorf("handler %d: %d, %v", i, n, err)
				}
			})
		}
		all.Wait()
		if runs.Load() != int64(handlers) || lost.Load() != 0 {
			t.Errorf("%d runs of %d handlers, %d of which lost their lease", runs.Load(), handlers, lost.Load())
		}
	})
}

// D36: a storm of callers that give up costs the patient nothing: no error, no connection beyond the pool, no goroutine;
// and each of its messages is either named in its caller's error or not there.
func TestD36StormOfCancelledCallersOnAPool(t *testing.T) {
	everywhere(t, func(t *testing.T, d *database) {
		const conns = 10
		callers := scaled(t, "callers", 100, 500)
		lasts := scaled(t, "for", 2*time.Second, 10*time.Second)
		address := d.empty(t, t.TempDir())
		t.Run("storm", func(t *testing.T) {
			p := pooled(t, d, address, conns)
			typ, try := probe(func(_ *actors.Turn[slip], line string) error {
				if line == "slow" {
					time.Sleep(20 * time.Millisecond)
				}
				return nil
			})
			cfg := hasty()
			cfg.Types, cfg.Lease, cfg.Renew = []actors.AnyType{typ}, 30*time.Second, 10*time.Second
			rt := serve(t, p.store, cfg)
			storm, stop := context.WithTimeout(t.Context(), lasts)
			defer stop()
			var named sync.Map
			var all sync.WaitGroup
			var gaveUp, answered atomic.Int64
			for range callers {
				all.Go(func() {
					for storm.Err() == nil {
						ctx, cancel := context.WithTimeout(t.Context(), 5*time.Millisecond)
						_, err := try.Ask(ctx, rt, typ.Ref("slow"), "slow")
						cancel()
						_, overfull := errors.AsType[*actors.MailboxFull](err)
						late, ok := errors.AsType[*actors.AskTimeout](err)
						switch {
						case ok:
							named.Store(late.Message.ID, true)
							gaveUp.Add(1)
						case err != nil && !overfull && !errors.Is(err, context.DeadlineExceeded):
							t.Errorf("an impatient caller: %v", err)
							return
						}
					}
				})
			}
			for i := range 10 {
				all.Go(func() {
					for storm.Err() == nil {
						if _, err := try.Ask(t.Context(), rt, typ.Ref(fmt.Sprint("patient ", i)), "x"); err != nil {
							t.Errorf("a patient caller: %v", err)
							return
						}
						answered.Add(1)
					}
				})
			}
			most := 0
			for storm.Err() == nil {
				most = max(most, connections(t, d, address))
				time.Sleep(50 * time.Millisecond)
			}
			all.Wait()
			t.Logf("%d gave up, %d patient answers, at most %d connections", gaveUp.Load(), answered.Load(), most)
			if limit := conns + map[string]int{"postgres": 2}[d.name]; most > limit { // one listens, one is in reserve
				t.Errorf("%d connections, more than %d", most, limit)
			}
			if gaveUp.Load() == 0 || answered.Load() == 0 {
				t.Error("nothing is shown")
			}
			noneUnknown(t, d, address, &named)
			if existed, err := typ.Ref("slow").Destroy(t.Context(), rt); !existed || err != nil {
				t.Errorf("destroy: %v, %v", existed, err)
			}
		})
		noMore(t)
	})
}

// noneUnknown looks for messages that wait although no caller was told of them.
func noneUnknown(t *testing.T, d *database, address string, named *sync.Map) {
	t.Helper()
	v, err := look(t.Context(), d, address)
	if err != nil {
		t.Fatal(err)
	}
	unknown := 0
	for _, m := range v.Messages {
		if _, ok := named.Load(m.ID); !ok && strings.Contains(m.Arguments, "slow") && m.Status == "live" {
			unknown++
		}
	}
	if unknown > 0 {
		t.Errorf("%d messages are there of which no caller knows", unknown)
	}
}

// connections counts a database's connections at its server, but for the one that asks.
func connections(t *testing.T, d *database, address string) (n int) {
	t.Helper()
	query := map[string]string{
		"postgres": "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()",
		"mysql":    "SELECT COUNT(*) FROM information_schema.processlist WHERE db = DATABASE() AND id <> CONNECTION_ID()",
	}[d.name]
	if query == "" {
		return 0
	}
	db, err := d.raw(address)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	if err := db.QueryRowContext(context.WithoutCancel(t.Context()), query).Scan(&n); err != nil {
		t.Fatal(err)
	}
	return n
}

// noMore waits until no goroutine of a runtime is left.
func noMore(t *testing.T) {
	t.Helper()
	stacks := make([]byte, 4<<20)
	for end := time.Now().Add(40 * time.Second); ; time.Sleep(50 * time.Millisecond) {
		left := string(stacks[:goruntime.Stack(stacks, true)])
		if !strings.Contains(left, "lockstep/runtime.(") {
			return
		}
		if time.Now().After(end) {
			t.Fatalf("goroutines are left:\n%s", left)
		}
	}
}

// D22: the server is gone while the runtime shuts down. It does so within its limits, and says what it left behind;
// what is left is finished, once, by another process when the server is back.
func TestD22ShutdownWhileTheServerIsGone(t *testing.T) {
	for _, name := range []string{"postgres", "mysql"} {
		t.Run(name, func(t *testing.T) {
			d := find(name)
			address := d.empty(t, "")
			direct := opened(t, d, address)
			t.Run("outage", func(t *testing.T) { shutdownInAnOutage(t, d, address, direct) })
			noMore(t)
		})
	}
}

func shutdownInAnOutage(t *testing.T, d *database, address string, direct store.Store) {
	wire, remote := through(t, d, address)
	cut, err := d.open(t.Context(), remote)
	if err != nil {
		t.Fatal(err)
	}
	const turns = 10
	var inside sync.WaitGroup
	inside.Add(turns)
	leave := make(chan struct{})
	typ, try := probe(func(turn *actors.Turn[slip], line string) error {
		if turn.Attempt() == 1 && line == "x" {
			inside.Done()
			<-leave
		}
		return nil
	})
	cfg := hasty()
	cfg.Types, cfg.Shutdown = []actors.AnyType{typ}, 2*time.Second
	rt, err := runtime.Open(t.Context(), cut, cfg)
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- rt.Run(ctx) }()
	for i := range turns {
		if _, err := try.Tell(t.Context(), rt, typ.Ref(fmt.Sprint(i)), "x"); err != nil {
			t.Fatal(err)
		}
	}
	inside.Wait()
	wire.silence(true)
	close(leave) // ten turns have ended and cannot be recorded
	stop()
	begun := time.Now()
	err = <-ended
	t.Logf("run ended after %v with %v", time.Since(begun), err)
	if !errors.Is(err, actors.ErrShutdown) || strings.Count(err.Error(), "a turn of a probe") != turns {
		t.Errorf("it does not name the %d turns that it leaves behind: %v", turns, err)
	}
	if err := rt.Close(); err == nil {
		t.Error("nothing is said about the process's row, which could not be written")
	}
	if err := rt.Close(); err == nil {
		t.Error("the second call says something else")
	}
	if took := time.Since(begun); took > 30*time.Second {
		t.Errorf("shutdown took %v", took)
	}
	cut.Close()
	wire.silence(false)
	cfg.Stale, cfg.Heartbeat = time.Second, 200*time.Millisecond
	other := serve(t, direct, cfg)
	for i := range turns {
		if n, err := try.Ask(t.Context(), other, typ.Ref(fmt.Sprint(i)), "y"); n != 2 || err != nil {
			t.Errorf("actor %d: %d, %v; want both lines", i, n, err)
		}
	}
}
