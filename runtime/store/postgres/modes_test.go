package postgres_test

import (
	"context"
	"encoding/binary"
	"fmt"
	"net"
	"sync/atomic"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/lockstep-go/lockstep/runtime/store"
	"github.com/lockstep-go/lockstep/runtime/store/postgres"
	"github.com/lockstep-go/lockstep/runtime/store/storetest"
)

// modes are pgx's execution modes beside the default, cache_statement, which TestStore runs.
var modes = []string{"cache_describe", "describe_exec", "exec", "simple_protocol"}

// D35: the suite passes in every execution mode of pgx, a sample of it unless all of it is asked for.
func TestStoreInEveryMode(t *testing.T) {
	for i, mode := range modes {
		t.Run(mode, func(t *testing.T) {
			storetest.Run(t, func(t *testing.T) store.Store {
				sample(t, i)
				return openEmptied(t, lax, "default_query_exec_mode="+mode)
			})
		})
	}
}

// trips counts round trips by what the client says: each ends with a message after which it waits for the server.
type trips struct {
	net.Conn
	n       *atomic.Int64
	unread  []byte // of what was written, the beginning of a message
	started bool   // the startup packet, which has no kind, is out
}

func (c *trips) Write(b []byte) (int, error) {
	c.unread = append(c.unread, b...)
	for {
		size := 0
		if c.started {
			size = 1 // of the kind
		}
		if len(c.unread) < size+4 {
			break
		}
		kind := c.unread[0]
		size += int(binary.BigEndian.Uint32(c.unread[size:]))
		if len(c.unread) < size {
			break
		}
		if c.started && (kind == 'S' || kind == 'Q' || kind == 'H') { // Sync, a simple Query, Flush
			c.n.Add(1)
		}
		c.unread, c.started = c.unread[size:], true
	}
	return c.Conn.Write(b)
}

// counted is a store on one connection whose round trips are counted.
func counted(t *testing.T, mode string) (*postgres.Store, *atomic.Int64) {
	t.Helper()
	n := &atomic.Int64{}
	cfg, err := pgxpool.ParseConfig(dsn(t, lax, "pool_max_conns=1", "sslmode=disable", "default_query_exec_mode="+mode))
	if err != nil {
		t.Fatal(err)
	}
	dial := cfg.ConnConfig.DialFunc
	cfg.ConnConfig.DialFunc = func(ctx context.Context, network, addr string) (net.Conn, error) {
		c, err := dial(ctx, network, addr)
		return &trips{Conn: c, n: n}, err
	}
	p, err := pgxpool.NewWithConfig(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.Close)
	s, err := postgres.New(t.Context(), p, postgres.Config{Schema: newSchema(), NoNotify: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s, n
}

// DESIGN §4: a flush is the same number of round trips for 1 item and for 200, whatever its parts are: one where everything
// that it is about is known here.
func TestAFlushIsAFixedNumberOfRoundTrips(t *testing.T) {
	for _, mode := range append([]string{"cache_statement"}, modes...) {
		t.Run(mode, func(t *testing.T) {
			s, n := counted(t, mode)
			flush := flusher(t, s)
			each := 1
			if mode == "describe_exec" { // it asks for every statement's description every time
				each = 2
			}
			for round, size := range []int{1, 200, 1, 200} { // the first two prepare statements
				expect := func(what string, want int, f *store.Flush) {
					t.Helper()
					before := n.Load()
					flush(f)
					if got := int(n.Load() - before); round > 1 && got != want*each {
						t.Errorf("%s of %d: %d round trips, want %d", what, size, got, want*each)
					}
				}
				list := make([]*warmActor, size)
				for i := range list {
					list[i] = &warmActor{key: store.Key{Type: "cart", ID: fmt.Sprintf("%d-%d", round, i)}}
				}
				enqueues(t, list, &store.Flush{}, func(f *store.Flush) { expect("enqueue to new actors", 2, f) })
				expect("commit", 1, commits(list))
				enqueues(t, list, &store.Flush{}, func(f *store.Flush) { expect("enqueue to warm actors", 1, f) })
				enqueues(t, list, commits(list), func(f *store.Flush) { expect("commit and enqueue", 1, f) })
				full := commits(list)
				for i, c := range full.Commits {
					c.Effects = []store.Effect{{ID: fmt.Sprintf("%s-effect", c.Message), Name: "charge", MaxAttempts: 1}}
					c.Reminders = []store.Reminder{{Operation: "expire", Interval: 1000}}
					c.Sends = []store.Send{{ID: fmt.Sprintf("%s-send", c.Message), To: store.Key{Type: "x", ID: "y"}}}
					c.Broadcast = &store.Broadcast{ID: fmt.Sprintf("%s-news", c.Message), Actor: list[i].key, Names: []string{"n"}}
				}
				expect("commit of everything", 2, full) // what was announced before is read
				enqueues(t, list, &store.Flush{}, func(f *store.Flush) { expect("enqueue to warm actors", 1, f) })
				again := commits(list)
				for i, c := range again.Commits {
					c.Broadcast = &store.Broadcast{ID: fmt.Sprintf("%s-news", c.Message), Actor: list[i].key, Names: []string{"m"}}
					again.Delivered = append(again.Delivered, full.Commits[i].Broadcast.ID)
				}
				expect("commit with more news", 1, again)
				f := &store.Flush{}
				for _, a := range list {
					f.Renewals = append(f.Renewals, &store.Renewal{Fence: a.fence, Lease: 1 << 40})
				}
				expect("renewal", 1, f)
				f = &store.Flush{}
				for _, a := range list {
					f.Releases = append(f.Releases, &store.Release{Fence: a.fence})
					e := a.enqueue()
					e.Claim = nil
					f.Enqueues = append(f.Enqueues, e)
				}
				scan := &store.Scan{Claim: store.Claim{Owner: "q", Token: "t", Lease: 1 << 40}, Types: []string{"cart"}, Limit: size}
				f.Claims = []*store.Scan{scan}
				expect("release, enqueue and scan", 3, f)
				if len(scan.Activations) != size {
					t.Fatalf("%d activations, want %d", len(scan.Activations), size)
				}
				f = &store.Flush{}
				for _, a := range scan.Activations {
					f.Failures = append(f.Failures, &store.Failure{Fence: a.Fence, Message: a.ID, Sequence: a.Sequence})
				}
				expect("failure", 2, f)
				scan = &store.Scan{Claim: scan.Claim, Types: scan.Types, Limit: size}
				expect("scan", 2, &store.Flush{Claims: []*store.Scan{scan}})
				f = &store.Flush{}
				for _, a := range scan.Activations {
					f.Failures = append(f.Failures, &store.Failure{Fence: a.Fence, Message: a.ID, Sequence: a.Sequence, Final: true})
				}
				if len(f.Failures) != size {
					t.Fatalf("%d activations, want %d", len(f.Failures), size)
				}
				expect("final failure", 1, f)
			}
		})
	}
}

// D35: a column added while the store runs changes nothing.
func TestAColumnAddedWhileRunning(t *testing.T) {
	for _, mode := range append([]string{"cache_statement"}, modes...) {
		t.Run(mode, func(t *testing.T) {
			s := openNew(t, lax, "default_query_exec_mode="+mode, "pool_max_conns=2")
			flush := flusher(t, s)
			list := warmActors(t, s, 3)
			conn, err := pgx.Connect(t.Context(), dsn(t))
			if err != nil {
				t.Fatal(err)
			}
			defer conn.Close(t.Context())
			for i, table := range []string{"instances", "messages", "claimed", "ready"} {
				flush(commits(list))
				if _, err := conn.Exec(t.Context(), fmt.Sprintf("ALTER TABLE %s.lockstep_%s ADD COLUMN extra_%d text", s.cfg.Schema, table, i)); err != nil {
					t.Fatal(err)
				}
				enqueues(t, list, &store.Flush{}, flush)
			}
		})
	}
}
