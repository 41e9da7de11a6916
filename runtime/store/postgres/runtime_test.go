package postgres_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/lockstep-go/lockstep/actors"
	"github.com/lockstep-go/lockstep/runtime"
	"github.com/lockstep-go/lockstep/runtime/bus/bustest"
	"github.com/lockstep-go/lockstep/runtime/store/postgres"
)

// G5, G20: calls to the same actors from two processes, while an application's transactions enqueue to them too, each
// get a result of their own, and the actors end with all of them.
func TestTwoProcessesShareActors(t *testing.T) {
	o := openNew(t, lax)
	cfg := runtime.Config{Poll: 20 * time.Millisecond, PassMessages: 3}
	processes := []*runtime.Runtime{running(t, o.Store, cfg), running(t, open(t, o.dsn, o.cfg).Store, cfg)}
	const actorCount, callerCount, asks, tells = 3, 8, 15, 10
	var mu sync.Mutex
	seen := map[string]bool{}
	var wg sync.WaitGroup
	for c := range callerCount {
		wg.Go(func() {
			for i := range asks {
				id := fmt.Sprint((c + i) % actorCount)
				ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
				n, err := bump.Ask(ctx, processes[c%2], tallies.Ref(id), 1)
				cancel()
				if err != nil {
					t.Errorf("ask: %v", err)
					return
				}
				result := fmt.Sprint(id, " ", n)
				mu.Lock()
				if seen[result] {
					t.Errorf("two calls got %s", result)
				}
				seen[result] = true
				mu.Unlock()
			}
		})
	}
	p := pool(t, dsn(t, lax))
	wg.Go(func() {
		for i := range tells {
			tx, err := p.Begin(t.Context())
			if err != nil {
				t.Error(err)
				return
			}
			_, err = bump.TellTx(t.Context(), processes[0], postgres.Tx(tx), tallies.Ref(fmt.Sprint(i%actorCount)), 1)
			if err != nil {
				t.Errorf("tell in a transaction: %v", err)
			}
			time.Sleep(5 * time.Millisecond) // the actor is busy meanwhile
			if err := tx.Commit(t.Context()); err != nil {
				t.Error(err)
			}
		}
	})
	wg.Wait()
	total := func() (n int) {
		for i := range actorCount {
			snap, err := tallies.Ref(fmt.Sprint(i)).Snapshot(t.Context(), processes[0])
			if err != nil {
				t.Fatal(err)
			}
			n += snap.N
		}
		return n
	}
	eventually(t, "every message is run", func() bool { return total() >= callerCount*asks+tells })
	if n := total(); n != callerCount*asks+tells {
		t.Errorf("the actors counted %d, want %d", n, callerCount*asks+tells)
	}
	if dead, err := o.DeadLetters(t.Context(), 10); err != nil || len(dead) > 0 {
		t.Errorf("%d dead letters, %v", len(dead), err)
	}
}

// Inventory 1.44, hole 14: an idle process asks what is due once a second, and beside its heartbeat writes nothing.
func TestIdleProcessAsksLittle(t *testing.T) {
	if testing.Short() {
		t.Skip("it watches an idle process for a while")
	}
	o := openNew(t, lax)
	rt := running(t, o.Store, runtime.Config{})
	if _, err := bump.Ask(t.Context(), rt, tallies.Ref("a"), 1); err != nil {
		t.Fatal(err)
	}
	time.Sleep(2 * time.Second)
	before, begun := o.Stats(), time.Now()
	time.Sleep(15 * time.Second)
	after, minutes := o.Stats(), time.Since(begun).Minutes()
	statements, commits := float64(after.Statements-before.Statements)/minutes, float64(after.Commits-before.Commits)/minutes
	t.Logf("%.0f statements and %.0f commits in a minute", statements, commits)
	if statements > 300 || commits > 20 {
		t.Errorf("%.0f statements and %.0f commits in a minute, want at most 300 and 20", statements, commits)
	}
}

// Inventory 267: a process that has the database to itself sends the server nothing while it has nothing to do.
func TestSingleOwnerIsSilentWhenIdle(t *testing.T) {
	cfg, err := pgx.ParseConfig(dsn(t))
	if err != nil {
		t.Fatal(err)
	}
	p := bustest.NewProxy(t, net.JoinHostPort(cfg.Host, fmt.Sprint(cfg.Port)))
	_, port, _ := net.SplitHostPort(p.Addr())
	through := fmt.Sprintf("host=127.0.0.1 port=%s user=%s dbname=%s sslmode=disable %s", port, cfg.User, cfg.Database, password(cfg.Password))
	o := open(t, through, postgres.Config{Schema: newSchema()})
	rt := running(t, o.Store, runtime.Config{
		SingleOwner: true, Idle: 100 * time.Millisecond, Lease: time.Second, Renew: 300 * time.Millisecond,
		Heartbeat: 200 * time.Millisecond, Stale: time.Minute,
	})
	if _, err := bump.Ask(t.Context(), rt, tallies.Ref("a"), 1); err != nil {
		t.Fatal(err)
	}
	if _, err := bump.Tell(t.Context(), rt, tallies.Ref("a"), 1, actors.Available(actors.In(12*time.Second))); err != nil {
		t.Fatal(err)
	}
	eventually(t, "it falls silent", func() bool {
		before := p.Bytes()
		time.Sleep(1500 * time.Millisecond)
		return p.Bytes() == before
	})
	before := o.Stats()
	if p.Bytes() == 0 {
		t.Fatal("nothing went through the proxy")
	}
	bytes := p.Bytes()
	time.Sleep(3 * time.Second) // three leases, fifteen heartbeats
	if after := o.Stats(); after != before || p.Bytes() != bytes {
		t.Errorf("an idle process sent %d bytes, %d statements", p.Bytes()-bytes, after.Statements-before.Statements)
	}
	_, err = runtime.Open(t.Context(), open(t, dsn(t, lax), o.cfg).Store, runtime.Config{Types: []actors.AnyType{tallies}})
	if e, ok := errors.AsType[*runtime.NotAlone](err); !ok || !e.Owner {
		t.Errorf("a second process was refused with %v", err)
	}
	eventually(t, "the delayed message is run at its time", func() bool {
		snap, err := tallies.Ref("a").Snapshot(t.Context(), rt)
		return err == nil && snap.N == 2
	})
}

// D15: a pool of the application's that handlers could use up is reported when a runtime opens, though the store has a
// connection beside it for what must not wait; a pool of the store's own is not.
func TestD15SmallPoolIsReported(t *testing.T) {
	o := openNew(t, lax)
	p := pool(t, o.dsn)
	borrowed, err := postgres.New(t.Context(), p, o.cfg)
	if err != nil {
		t.Fatal(err)
	}
	defer borrowed.Close()
	for db, small := range map[*postgres.Store]bool{borrowed: true, o.Store: false} {
		var log bytes.Buffer
		rt, err := runtime.Open(t.Context(), db, runtime.Config{
			Types: []actors.AnyType{tallies}, Policy: actors.InsecureAllowAll(), Logger: slog.New(slog.NewTextHandler(&log, nil)),
		})
		if err != nil {
			t.Fatal(err)
		}
		rt.Close()
		want := (&runtime.SmallPool{Connections: int(p.Config().MaxConns), Handlers: 256 + 16}).Error()
		if told := strings.Contains(log.String(), want); told != small {
			t.Errorf("small is %v, and logged is %q", small, log.String())
		}
	}
}
