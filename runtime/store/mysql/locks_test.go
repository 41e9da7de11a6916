package mysql_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/lockstep-go/lockstep/runtime/store"
)

// D09: another session holds the instance row and does not change it, until the lease is over. Each verb waits for it,
// and then is Fenced, since the clock is read after the lock.
func TestLeaseIsJudgedAfterTheLock(t *testing.T) {
	s := fresh(t, here.utf8)
	for name, verb := range map[string]func(a *store.Activation) (*store.Flush, *store.Outcome){
		"commit": func(a *store.Activation) (*store.Flush, *store.Outcome) {
			c := finishing(a)
			return &store.Flush{Commits: []*store.Commit{c}}, &c.Outcome
		},
		"failure": func(a *store.Activation) (*store.Flush, *store.Outcome) {
			x := &store.Failure{Fence: a.Fence, Message: a.ID, Sequence: a.Sequence}
			return &store.Flush{Failures: []*store.Failure{x}}, &x.Outcome
		},
		"release": func(a *store.Activation) (*store.Flush, *store.Outcome) {
			x := &store.Release{Fence: a.Fence}
			return &store.Flush{Releases: []*store.Release{x}}, &x.Outcome
		},
		"renewal": func(a *store.Activation) (*store.Flush, *store.Outcome) {
			x := &store.Renewal{Fence: a.Fence, Lease: time.Hour}
			return &store.Flush{Renewals: []*store.Renewal{x}}, &x.Outcome
		},
	} {
		t.Run(name, func(t *testing.T) {
			s.Offset(0)
			a := asked(t, s, name)
			tx := begin(t, "")
			execute(t, tx, "SELECT * FROM "+s.cfg.Prefix+"instances WHERE id = ? FOR UPDATE", a.Fence.Instance)
			f, outcome := verb(a)
			done := make(chan error, 1)
			go func() { done <- s.Flush(t.Context(), f) }()
			lockWait(t, s.cfg.Prefix)
			s.Offset(31 * time.Second)
			tx.Rollback()
			if err := <-done; err != nil || *outcome != store.Fenced {
				t.Errorf("after the lease: %s, %v", *outcome, err)
			}
			m, _, _, err := s.Message(t.Context(), a.ID)
			if err != nil || m.Status != store.Live {
				t.Errorf("the message is %s, %v", m.Status, err)
			}
		})
	}
}

// lockWait returns once a statement about instances with this prefix waits for a lock. The server answers from a copy
// that it makes anew only when nobody has asked for a tenth of a second.
func lockWait(t testing.TB, prefix string) {
	t.Helper()
	for end := time.Now().Add(5 * time.Second); time.Now().Before(end); {
		time.Sleep(130 * time.Millisecond)
		const query = "SELECT COUNT(*) FROM information_schema.innodb_trx WHERE trx_state = 'LOCK WAIT' AND trx_query LIKE ?"
		if ask(t, here.root, query, "%"+prefix+"instances%") != "0" {
			return
		}
	}
	t.Fatal("nobody waits")
}

// attempted flushes without a look at the outcomes.
func attempted(t testing.TB, s store.Store, f *store.Flush) {
	t.Helper()
	if err := s.Flush(t.Context(), f); err != nil {
		t.Fatal(err)
	}
}

// Design 4: an application's open transaction delays its own actors only, also where it is making the actor.
func TestOpenTransactionDelaysItsOwnActorsOnly(t *testing.T) {
	s := fresh(t, here.utf8)
	held := asked(t, s, "held")
	tx := begin(t, "")
	execute(t, tx, "SELECT * FROM "+s.cfg.Prefix+"instances WHERE id = ? FOR UPDATE", held.Fence.Instance)
	if err := s.EnqueueTx(t.Context(), joined(tx), message("forming")); err != nil {
		t.Fatal(err)
	}
	free := asked(t, s, "free")
	c, blocked, forming, other := finishing(free), finishing(held), message("forming"), message("other")
	neighbours := []*store.Enqueue{message("formin"), message("forming ")}
	begun := time.Now()
	attempted(t, s, &store.Flush{Commits: []*store.Commit{blocked, c}, Enqueues: append([]*store.Enqueue{forming, other}, neighbours...)})
	if took := time.Since(begun); took > 2*time.Second {
		t.Errorf("the flush took %v", took)
	}
	for what, got := range map[string][2]store.Outcome{
		"before": {neighbours[0].Outcome, store.Done}, "behind": {neighbours[1].Outcome, store.Done},
		"held": {blocked.Outcome, store.Busy}, "free": {c.Outcome, store.Done}, "forming": {forming.Outcome, store.Busy}, "other": {other.Outcome, store.Done},
	} {
		if got[0] != got[1] {
			t.Errorf("%s: %s, want %s", what, got[0], got[1])
		}
	}
	if err := tx.Commit(); err != nil {
		t.Fatal(err)
	}
	attempted(t, s, &store.Flush{Commits: []*store.Commit{blocked}, Enqueues: []*store.Enqueue{forming}})
	if blocked.Outcome != store.Done || forming.Outcome != store.Done || forming.Message.Sequence != 2 {
		t.Errorf("afterwards: %s, %s with sequence %d", blocked.Outcome, forming.Outcome, forming.Message.Sequence)
	}
}

// deadlocks is the server's counter, or -1.
func deadlocks(t testing.TB) int {
	var name string
	var n int
	if err := here.root.QueryRow("SHOW GLOBAL STATUS LIKE 'Innodb_deadlocks'").Scan(&name, &n); err == nil {
		return n
	}
	err := here.root.QueryRow("SELECT count FROM information_schema.innodb_metrics WHERE name = 'lock_deadlocks'").Scan(&n)
	if err != nil {
		return -1
	}
	return n
}

// together runs f for each of n at once.
func together(n int, f func(i int)) {
	var wg sync.WaitGroup
	start := make(chan struct{})
	for i := range n {
		wg.Go(func() {
			<-start
			f(i)
		})
	}
	close(start)
	wg.Wait()
}

// settled flushes one enqueue until it is not Busy any more, as the runtime does.
func settled(t *testing.T, s store.Store, f *store.Flush) {
	for range 200 {
		if err := s.Flush(t.Context(), f); err != nil {
			if errors.Is(err, store.ErrTransient) {
				continue
			}
			t.Error(err)
			return
		}
		left := &store.Flush{}
		for _, e := range f.Enqueues {
			if e.Outcome == store.Busy {
				left.Enqueues = append(left.Enqueues, e)
			}
		}
		if left.Empty() {
			return
		}
		f = left
	}
	t.Error("always busy")
}

// D29: first callers of one actor, and of neighbouring ones in any order, from two processes. Nobody deadlocks.
func TestFirstCallersDoNotDeadlock(t *testing.T) {
	s := fresh(t, here.utf8)
	stores := []store.Store{s, s.Again(t)}
	before := deadlocks(t)
	rounds := 10
	if os.Getenv("LOCKSTEP_TEST_FULL") == "1" {
		rounds = 200
	}
	t.Logf("rounds: %d (stated: 200)", rounds)
	for round := range rounds {
		const n = 64
		es := make([]*store.Enqueue, n)
		together(n, func(i int) {
			es[i] = message(fmt.Sprint("same", round))
			settled(t, stores[i%2], &store.Flush{Enqueues: []*store.Enqueue{es[i]}})
		})
		seen := map[int64]bool{}
		for _, e := range es {
			if e.Outcome != store.Done || e.Message.Instance != es[0].Message.Instance || seen[e.Message.Sequence] ||
				e.Message.Sequence < 1 || e.Message.Sequence > n {
				t.Fatalf("%s, sequence %d", e.Outcome, e.Message.Sequence)
			}
			seen[e.Message.Sequence] = true
		}
		together(8, func(i int) {
			f := &store.Flush{}
			for _, k := range rand.Perm(50) {
				f.Enqueues = append(f.Enqueues, message(fmt.Sprintf("neighbour-%d-%d", round, k)))
			}
			settled(t, stores[i%2], f)
			for _, e := range f.Enqueues {
				if e.Outcome != store.Done {
					t.Errorf("neighbours: %s", e.Outcome)
				}
			}
		})
	}
	if n := deadlocks(t) - before; before >= 0 && n != 0 {
		t.Errorf("%d deadlocks", n)
	}
	if got := ask(t, here.root, "SELECT MIN(next_sequence) FROM "+here.utf8.DBName+"."+s.cfg.Prefix+"instances WHERE actor_id LIKE 'neigh%'"); got != "9" {
		t.Errorf("a neighbour's next sequence is %s, want 9", got)
	}
}

// D29: the same with destroys in between and workers that claim: bounded retries cover what is left, and no caller
// sees an error.
func TestFirstCallersAmongDestroys(t *testing.T) {
	s := fresh(t, here.utf8)
	stores := []store.Store{s, s.Again(t)}
	before := deadlocks(t)
	together(12, func(i int) {
		st := stores[i%2]
		for round := range 15 {
			switch {
			case i < 6:
				e := message(fmt.Sprint("a", round%3))
				settled(t, st, &store.Flush{Enqueues: []*store.Enqueue{e}})
				if e.Outcome != store.Done {
					t.Errorf("enqueue: %s %v", e.Outcome, e.Err)
				}
			case i < 8:
				if _, err := st.Destroy(t.Context(), store.Key{Type: "cart", ID: fmt.Sprint("a", round%3)}); err != nil {
					t.Errorf("destroy: %v", err)
				}
			default:
				scan := &store.Scan{Claim: store.Claim{Owner: fmt.Sprint("p", i), Token: newID(), Lease: time.Minute}, Types: []string{"cart"}, Limit: 2}
				if err := st.Flush(t.Context(), &store.Flush{Claims: []*store.Scan{scan}}); err != nil {
					t.Errorf("scan: %v", err)
				}
				f := &store.Flush{}
				for _, a := range scan.Activations {
					c := finishing(a)
					c.Yield = true
					f.Commits = append(f.Commits, c)
				}
				if err := st.Flush(t.Context(), f); err != nil {
					t.Errorf("commit: %v", err)
				}
			}
		}
	})
	t.Logf("%d deadlocks, all retried", deadlocks(t)-before)
	// What is left has a mailbox without a gap.
	bad := ask(t, here.root, strings.ReplaceAll(`SELECT COUNT(*) FROM P_instances i WHERE i.next_sequence - 1 <>
		(SELECT COUNT(*) FROM P_messages m WHERE m.instance_id = i.id)`, "P_", here.utf8.DBName+"."+s.cfg.Prefix))
	if bad != "0" {
		t.Errorf("%s mailboxes with a gap", bad)
	}
}

// D31: thousands of ready actors; one worker keeps what it claimed locked. The next one is served at once, with others,
// and never more than it asked for, by a plan that reads in the index's order.
func TestScansPassOverWhatIsLocked(t *testing.T) {
	s := fresh(t, here.utf8)
	const n = 2000
	for i := 0; i < n; i += 200 {
		f := &store.Flush{}
		for j := range 200 {
			f.Enqueues = append(f.Enqueues, message(fmt.Sprint("a", i+j)))
		}
		flushed(t, s, f)
	}
	tx := begin(t, "")
	p := s.cfg.Prefix
	rows, err := tx.Query("SELECT r.instance_id FROM " + p + "ready r FORCE INDEX (" + p + "ready_pick) STRAIGHT_JOIN " + p +
		"instances i ON i.id = r.instance_id ORDER BY r.queue, r.priority, r.due_at LIMIT 5 FOR UPDATE SKIP LOCKED")
	if err != nil {
		t.Fatal(err)
	}
	locked := map[string]bool{}
	for rows.Next() {
		var id string
		if err := rows.Scan(&id); err != nil {
			t.Fatal(err)
		}
		locked[id] = true
	}
	rows.Close()
	if len(locked) != 5 {
		t.Fatalf("%d locked", len(locked))
	}
	begun := time.Now()
	scan := &store.Scan{Claim: store.Claim{Owner: "q", Token: newID(), Lease: time.Minute}, Types: []string{"cart"}, Limit: 5}
	flushed(t, s, &store.Flush{Claims: []*store.Scan{scan}})
	if took := time.Since(begun); took > time.Second {
		t.Errorf("served after %v", took)
	}
	if len(scan.Activations) != 5 {
		t.Fatalf("%d activations", len(scan.Activations))
	}
	for _, a := range scan.Activations {
		if locked[a.Fence.Instance] {
			t.Error("a locked one was claimed")
		}
	}
	var mu sync.Mutex
	seen := map[string]bool{}
	together(8, func(i int) {
		scan := &store.Scan{Claim: store.Claim{Owner: fmt.Sprint("w", i), Token: newID(), Lease: time.Minute}, Types: []string{"cart"}, Limit: 5}
		if err := s.Flush(t.Context(), &store.Flush{Claims: []*store.Scan{scan}}); err != nil {
			t.Error(err)
		}
		mu.Lock()
		defer mu.Unlock()
		if len(scan.Activations) > 5 {
			t.Errorf("a scan of %d", len(scan.Activations))
		}
		for _, a := range scan.Activations {
			if seen[a.ID] {
				t.Error("claimed twice")
			}
			seen[a.ID] = true
		}
	})
	if len(seen) != 40 {
		t.Errorf("%d claimed", len(seen))
	}
}
