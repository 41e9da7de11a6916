package postgres_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/lockstep-go/lockstep/actors"
	"github.com/lockstep-go/lockstep/runtime"
	"github.com/lockstep-go/lockstep/runtime/store"
	"github.com/lockstep-go/lockstep/runtime/store/postgres"
)

// session is a connection of a stranger.
func session(t testing.TB) *pgx.Conn {
	t.Helper()
	c, err := pgx.Connect(t.Context(), dsn(t))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close(context.Background()) })
	return c
}

func mustExec(t testing.TB, c *pgx.Conn, text string, args ...any) {
	t.Helper()
	if _, err := c.Exec(context.WithoutCancel(t.Context()), text, args...); err != nil {
		t.Fatalf("%s: %v", text, err)
	}
}

// holding locks an instance's row in a stranger's transaction without changing it, until release is called.
func holding(t testing.TB, o opened, instance string) (release func()) {
	t.Helper()
	c := session(t)
	mustExec(t, c, "BEGIN")
	mustExec(t, c, fmt.Sprintf("SELECT 1 FROM %s.lockstep_instances WHERE id = $1 FOR UPDATE", o.cfg.Schema), instance)
	return func() { mustExec(t, c, "COMMIT") }
}

func tell(actor string) *store.Enqueue {
	e := (&warmActor{key: store.Key{Type: "cart", ID: actor}}).enqueue()
	e.Claim = nil
	return e
}

func flush(t testing.TB, s store.Store, f *store.Flush) {
	t.Helper()
	if err := s.Flush(t.Context(), f); err != nil {
		t.Fatal(err)
	}
}

// D09: while a session holds the instance's row, its lease ends; each verb is then refused as lost and changes no row,
// whether it came during the hold or after, and a new claim's lease lies in the future.
func TestTheLeaseIsJudgedUnderTheLock(t *testing.T) {
	const lease = 400 * time.Millisecond
	for _, name := range []string{"commit", "failure", "renewal", "release"} {
		t.Run(name, func(t *testing.T) {
			o := openNew(t, lax)
			a := &warmActor{key: store.Key{Type: "cart", ID: "a"}}
			e := a.enqueue()
			e.Claim.Lease = lease
			flush(t, o, &store.Flush{Enqueues: []*store.Enqueue{e}})
			a.turn, a.fence = e.Activation.Turn, e.Activation.Fence
			release := holding(t, o, a.fence.Instance)
			outcome := func() store.Outcome {
				f := &store.Flush{}
				c, x := a.commit(), &store.Failure{Fence: a.fence, Message: a.turn.ID, Sequence: 1}
				n, r := &store.Renewal{Fence: a.fence, Lease: time.Hour}, &store.Release{Fence: a.fence}
				switch name {
				case "commit":
					f.Commits = []*store.Commit{c}
				case "failure":
					f.Failures = []*store.Failure{x}
				case "renewal":
					f.Renewals = []*store.Renewal{n}
				case "release":
					f.Releases = []*store.Release{r}
				}
				flush(t, o, f)
				return c.Outcome + x.Outcome + n.Outcome + r.Outcome
			}
			if got := outcome(); got != store.Busy {
				t.Fatalf("while the row is held: %s, want busy", got)
			}
			ended := make(chan store.Outcome, 1)
			go func() { // as the runtime does
				got := outcome()
				for got == store.Busy {
					got = outcome()
				}
				ended <- got
			}()
			time.Sleep(lease + 100*time.Millisecond)
			release()
			if got := <-ended; got != store.Fenced {
				t.Errorf("after the hold: %s, want fenced", got)
			}
			m, waiting, _, err := o.Message(t.Context(), a.turn.ID)
			if err != nil || m.Status != store.Live || m.Attempts != 1 || waiting != "running" {
				t.Errorf("the message is %s (%s) with %d attempts, %v", m.Status, waiting, m.Attempts, err)
			}
			scan := &store.Scan{Claim: store.Claim{Owner: "q", Token: "t", Lease: time.Minute}, Types: []string{"cart"}, Limit: 1, Only: a.fence.Instance}
			flush(t, o, &store.Flush{Claims: []*store.Scan{scan}})
			now, err := o.Now(t.Context())
			if err != nil || len(scan.Activations) != 1 {
				t.Fatalf("%d activations, %v", len(scan.Activations), err)
			}
			if left := scan.Activations[0].Lease.Sub(now); left < 50*time.Second {
				t.Errorf("the new lease has %v left of a minute", left)
			}
		})
	}
}

// DESIGN §4: an application's open transaction delays only its own actor, which is busy and not waited for.
func TestAnOpenTransactionDelaysOnlyItsOwnActor(t *testing.T) {
	o := openNew(t, lax)
	flush(t, o, &store.Flush{Enqueues: []*store.Enqueue{tell("mine"), tell("other")}})
	c := session(t)
	tx, err := c.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	e := tell("mine")
	if err := o.EnqueueTx(t.Context(), postgres.Tx(tx), e); err != nil || e.Outcome != store.Done || e.Message.Sequence != 2 {
		t.Fatalf("enqueue in a transaction: %s %d, %v", e.Outcome, e.Message.Sequence, err)
	}
	begun := time.Now()
	mine, other := tell("mine"), tell("other")
	for range 20 {
		flush(t, o, &store.Flush{Enqueues: []*store.Enqueue{mine, other}})
		if mine.Outcome != store.Busy || other.Outcome != store.Done && other.Outcome != store.Duplicate {
			t.Fatalf("its actor is %s, the other %s", mine.Outcome, other.Outcome)
		}
	}
	if took := time.Since(begun); took > 5*time.Second {
		t.Errorf("20 flushes took %v", took)
	}
	scan := &store.Scan{Claim: store.Claim{Owner: "q", Token: "t", Lease: time.Minute}, Types: []string{"cart"}, Limit: 10}
	flush(t, o, &store.Flush{Claims: []*store.Scan{scan}})
	if len(scan.Activations) != 1 || scan.Activations[0].ActorID != "other" {
		t.Errorf("%d activations, want the other actor's", len(scan.Activations))
	}
	for range 5 { // alone it is waited for, but not for long, and at once only after a while again
		flush(t, o, &store.Flush{Enqueues: []*store.Enqueue{mine}})
		if mine.Outcome != store.Busy {
			t.Fatalf("alone it is %s", mine.Outcome)
		}
	}
	if err := tx.Commit(t.Context()); err != nil {
		t.Fatal(err)
	}
	flush(t, o, &store.Flush{Enqueues: []*store.Enqueue{mine}})
	if mine.Outcome != store.Done || mine.Message.Sequence != 3 {
		t.Errorf("after the commit: %s at sequence %d", mine.Outcome, mine.Message.Sequence)
	}
}

// G1: an enqueue in a transaction is the transaction's: gone with it, there with it, once for its key, and whatever its
// error, the transaction goes on.
func TestEnqueueInATransaction(t *testing.T) {
	for _, mode := range []string{"cache_statement", "exec", "simple_protocol"} {
		t.Run(mode, func(t *testing.T) {
			o := openNew(t, lax, "default_query_exec_mode="+mode)
			p := pool(t, dsn(t, "default_query_exec_mode="+mode))
			if _, err := p.Exec(t.Context(), fmt.Sprintf("CREATE TABLE %s.orders (id bigint PRIMARY KEY)", o.cfg.Schema)); err != nil {
				t.Fatal(err)
			}
			message, order, stranger := tell("a"), fmt.Sprintf("INSERT INTO %s.orders VALUES (1)", o.cfg.Schema), openNew(t, lax)
			for _, end := range []string{"rollback", "commit"} {
				tx, err := p.Begin(t.Context())
				if err != nil {
					t.Fatal(err)
				}
				if _, err := tx.Exec(t.Context(), order); err != nil {
					t.Fatal(err)
				}
				bad := tell("a")
				bad.Message.Operation = "a\x00b"
				if err := o.EnqueueTx(t.Context(), postgres.Tx(tx), bad); err == nil {
					t.Error("a text that the database cannot hold is taken")
				}
				e := *message
				if err := o.EnqueueTx(t.Context(), postgres.Tx(tx), &e); err != nil || e.Outcome != store.Done {
					t.Fatalf("%s, %v", e.Outcome, err)
				}
				if _, _, found, _ := o.Message(t.Context(), e.Message.ID); found != store.Missing {
					t.Error("it is seen before the transaction commits")
				}
				again := *message
				if err := o.EnqueueTx(t.Context(), postgres.Tx(tx), &again); err != nil || again.Outcome != store.Duplicate {
					t.Errorf("again: %s, %v", again.Outcome, err)
				}
				if end == "rollback" {
					err = tx.Rollback(t.Context())
				} else {
					err = tx.Commit(t.Context())
				}
				if err != nil {
					t.Fatal(err)
				}
				want := map[string]store.Outcome{"rollback": store.Missing, "commit": store.Done}[end]
				if _, _, found, _ := o.Message(t.Context(), e.Message.ID); found != want {
					t.Errorf("after the %s: %s", end, found)
				}
			}
			if err := o.EnqueueTx(t.Context(), nil, tell("a")); !errors.Is(err, actors.ErrForeignTransaction) {
				t.Errorf("no transaction: %v", err)
			}
			// A transaction on a database without these tables, or with others of the same names.
			for _, name := range []string{"postgres", "template1"} {
				c, err := pgx.Connect(t.Context(), strings.Replace(dsn(t), "dbname=", "dbname="+name+" application_name=", 1))
				if err != nil {
					continue
				}
				tx, err := c.Begin(t.Context())
				if err != nil {
					t.Fatal(err)
				}
				if err := stranger.EnqueueTx(t.Context(), postgres.Tx(tx), tell("a")); !errors.Is(err, actors.ErrForeignTransaction) {
					t.Errorf("a transaction of %s: %v", name, err)
				}
				if _, err := tx.Exec(t.Context(), "SELECT 1"); err != nil {
					t.Errorf("the foreign transaction cannot go on: %v", err)
				}
				tx.Rollback(t.Context())
				c.Close(t.Context())
				break
			}
		})
	}
}

// D31: eight workers claim 5 at a time out of many; no claim is larger, all are disjoint and complete, and one that
// keeps its claim's transaction open holds nobody up.
func TestClaimsAreDisjointAndWaitForNobody(t *testing.T) {
	const ready = 2000 // 10,000 in full
	for _, statistics := range []string{"missing", "fresh"} {
		t.Run(statistics, func(t *testing.T) {
			o := openNew(t, lax)
			for i := 0; i < ready; i += 500 {
				f := &store.Flush{}
				for j := range 500 {
					f.Enqueues = append(f.Enqueues, tell(fmt.Sprint(i+j)))
				}
				flush(t, o, f)
			}
			c := session(t)
			if statistics == "fresh" {
				mustExec(t, c, fmt.Sprintf("ANALYZE %[1]s.lockstep_ready, %[1]s.lockstep_instances, %[1]s.lockstep_messages", o.cfg.Schema))
			}
			mustExec(t, c, "BEGIN")
			mustExec(t, c, fmt.Sprintf(`SELECT 1 FROM %[1]s.lockstep_instances WHERE id IN (
				SELECT instance_id FROM %[1]s.lockstep_ready ORDER BY due_at LIMIT 5) FOR UPDATE`, o.cfg.Schema))
			stores := []opened{o, open(t, o.dsn, o.cfg)}
			var mu sync.Mutex
			seen := map[string]int{}
			var wg sync.WaitGroup
			for i := range 8 {
				wg.Go(func() {
					for {
						scan := &store.Scan{Claim: store.Claim{Owner: fmt.Sprint("p", i), Token: "t", Lease: time.Minute}, Types: []string{"cart"}, Limit: 5}
						begun := time.Now()
						if err := stores[i%2].Flush(t.Context(), &store.Flush{Claims: []*store.Scan{scan}}); err != nil {
							t.Error(err)
							return
						}
						if took := time.Since(begun); took > 2*time.Second {
							t.Errorf("a claim took %v", took)
						}
						if len(scan.Activations) > 5 {
							t.Errorf("a claim of %d", len(scan.Activations))
						}
						if len(scan.Activations) == 0 {
							return
						}
						mu.Lock()
						for _, a := range scan.Activations {
							seen[a.ID]++
						}
						mu.Unlock()
					}
				})
			}
			wg.Wait()
			if len(seen) != ready-5 {
				t.Errorf("%d were claimed, want all %d but the 5 that are held", len(seen), ready-5)
			}
			for id, n := range seen {
				if n != 1 {
					t.Fatalf("%s was claimed %d times", id, n)
				}
			}
			mustExec(t, c, "ROLLBACK")
		})
	}
}

// D39: a server that becomes read-only costs no attempt and no dead letter; the connections are given up, and work goes
// on by itself when it is writable again.
func TestAReadOnlyServer(t *testing.T) {
	o := openNew(t)
	rt := running(t, o.Store, runtime.Config{Poll: 20 * time.Millisecond})
	ask := func() error {
		_, err := bump.Ask(t.Context(), rt, tallies.Ref("a"), 1)
		return err
	}
	if err := ask(); err != nil {
		t.Fatal(err)
	}
	c := session(t)
	readOnly := func(on string) {
		mustExec(t, c, "SET default_transaction_read_only = off")
		var name string
		if err := c.QueryRow(context.WithoutCancel(t.Context()), "SELECT current_database()").Scan(&name); err != nil {
			t.Fatal(err)
		}
		mustExec(t, c, fmt.Sprintf("ALTER DATABASE %s SET default_transaction_read_only = %s", name, on))
		// Connections that are there learn of it when they are made anew.
		mustExec(t, c, "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()")
	}
	readOnly("on")
	t.Cleanup(func() { readOnly("off") })
	for range 2 { // the first connections are broken ones
		err := o.Flush(t.Context(), &store.Flush{Enqueues: []*store.Enqueue{tell("b")}})
		if err == nil {
			t.Fatal("a read-only server takes a write")
		}
		if errors.Is(err, store.ErrNotWritable) {
			break
		}
		if !errors.Is(err, store.ErrTransient) {
			t.Fatalf("got %v", err)
		}
	}
	ended := make(chan error, 1)
	go func() { ended <- ask() }()
	time.Sleep(300 * time.Millisecond)
	readOnly("off")
	if err := <-ended; err != nil {
		t.Errorf("an ask that met it: %v", err)
	}
	if err := ask(); err != nil {
		t.Errorf("an ask afterwards: %v", err)
	}
	snap, err := tallies.Ref("a").Snapshot(t.Context(), rt)
	if err != nil || snap.N != 3 {
		t.Errorf("the actor has %d, %v; want 3", snap.N, err)
	}
	if dead, err := o.DeadLetters(t.Context(), 10); err != nil || len(dead) > 0 {
		t.Errorf("%d dead letters, %v", len(dead), err)
	}
}

// D36: callers that give up end their wait and not a connection, and the patient see no error.
func TestCancelledCallersCostNoConnection(t *testing.T) {
	p := pool(t, dsn(t, lax, "pool_max_conns=4"))
	s, err := postgres.New(t.Context(), p, postgres.Config{Schema: newSchema(), NoNotify: true})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	flush(t, s, &store.Flush{Enqueues: []*store.Enqueue{tell("a")}})
	var callers sync.WaitGroup
	var cancelled, done atomic.Int64
	for i := range 200 {
		callers.Go(func() {
			for j := range 10 {
				ctx, cancel := context.WithTimeout(t.Context(), time.Duration(i*10+j)*20*time.Microsecond)
				if i%10 == 0 {
					ctx = t.Context() // a patient one
				}
				_, err := s.Snapshot(ctx, store.Key{Type: "cart", ID: "a"})
				if errors.Is(err, context.DeadlineExceeded) && i%10 != 0 {
					cancelled.Add(1)
				} else if err != nil {
					t.Error(err)
				} else {
					done.Add(1)
				}
				cancel()
			}
		})
	}
	callers.Wait()
	if cancelled.Load() == 0 || done.Load() == 0 {
		t.Fatalf("%d gave up, %d were answered: nothing is shown", cancelled.Load(), done.Load())
	}
	if n := p.Stat().NewConnsCount(); n > 4 {
		t.Errorf("%d connections were made for a pool of 4, while %d callers gave up", n, cancelled.Load())
	}
}
