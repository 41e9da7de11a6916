// Package storetest is the conformance suite of package store: what every database must do for a runtime, by the
// numbers of the rules (G) and cases (D) that the tests prove. It reads outcomes from the store and moves time with
// Offset; it never sleeps, and knows nothing of any one database.
//
//	func TestStore(t *testing.T) {
//		storetest.Run(t, func(t *testing.T) store.Store { return open(t) })
//	}
//
// # Concurrency
//
// Tests run one after another, each on a database of its own. Those about races start their own goroutines.
package storetest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/lockstep-go/lockstep/actors"
	"github.com/lockstep-go/lockstep/runtime/store"
)

// Again is what the store of an opener also has to be: it opens the same database once more, as another process would,
// and closes that store with the test.
type Again interface {
	Again(t *testing.T) store.Store
}

// Run runs the suite. Each call of open makes an empty database, opens it as a store that is an Again too, and closes
// it with the test.
func Run(t *testing.T, open func(t *testing.T) store.Store) {
	for _, c := range cases() {
		t.Run(c.name, func(t *testing.T) {
			s := open(t)
			again, ok := s.(Again)
			if !ok {
				t.Fatalf("%T cannot open its database again", s)
			}
			c.run(&world{T: t, Store: s, again: again})
		})
	}
}

// test is one promise.
type test struct {
	name string
	run  func(w *world)
}

// cases are all tests, by theme.
func cases() []test {
	var all []test
	for _, part := range [][]test{
		mailboxTests, identityTests, idempotencyTests, ownershipTests, fenceTests, turnTests, failureTests, deadLetterTests,
		actionTests, effectTests, sendTests, reminderTests, broadcastTests, destroyTests, processTests, revocationTests, retentionTests, bloatTests, flushTests, raceTests, operatorTests,
	} {
		all = append(all, part...)
	}
	return all
}

// world is a test's database and the shorthands that the stories are told in. Times in it are the store's.
type world struct {
	*testing.T
	store.Store
	again Again
	moved time.Duration
	other []store.Store // opened by second
}

const (
	lease = 30 * time.Second
	typ   = "cart"
)

func newID() string { return uuid.Must(uuid.NewV7()).String() }

func (w *world) ctx() context.Context { return w.Context() }

// must ends the test on an error.
func (w *world) must(err error) {
	w.Helper()
	if err != nil {
		w.Fatal(err)
	}
}

// want compares.
func want[T comparable](w *world, what string, got, expected T) {
	w.Helper()
	if got != expected {
		w.Errorf("%s: got %v, want %v", what, got, expected)
	}
}

// pass moves the database's clock, for all stores of the test.
func (w *world) pass(d time.Duration) {
	w.moved += d
	w.Offset(w.moved)
	for _, s := range w.other {
		s.Offset(w.moved)
	}
}

func (w *world) now() time.Time {
	now, err := w.Now(w.ctx())
	w.must(err)
	return now
}

// second opens the database once more.
func (w *world) second() store.Store {
	s := w.again.Again(w.T)
	s.Offset(w.moved)
	w.other = append(w.other, s)
	return s
}

// flush runs one and expects no error.
func (w *world) flush(f *store.Flush) {
	w.Helper()
	if err := w.Flush(w.ctx(), f); err != nil {
		w.Fatalf("flush: %v", err)
	}
}

// message is an enqueue of operation "add" without a claim.
func message(actor string) *store.Enqueue {
	return &store.Enqueue{Message: store.Message{
		ID: newID(), Type: typ, ActorID: actor, Operation: "add", Arguments: json.RawMessage(`{"qty":1}`),
		Origin: store.FromClient, MaxAttempts: 3,
	}}
}

func (w *world) enqueue(e *store.Enqueue) *store.Enqueue {
	w.Helper()
	w.flush(&store.Flush{Enqueues: []*store.Enqueue{e}})
	return e
}

// tell enqueues a message and expects it to be stored.
func (w *world) tell(actor string) *store.Enqueue {
	w.Helper()
	e := w.enqueue(message(actor))
	if e.Outcome != store.Done {
		w.Fatalf("tell %q: %s %v", actor, e.Outcome, e.Err)
	}
	return e
}

func claim(owner string) *store.Claim {
	return &store.Claim{Owner: owner, Token: newID(), Lease: lease}
}

// ask enqueues a message with a claim and expects to get it.
func (w *world) ask(owner, actor string) *store.Activation {
	w.Helper()
	e := message(actor)
	e.Claim = claim(owner)
	if w.enqueue(e); e.Activation == nil {
		w.Fatalf("ask %q: %s, not claimed", actor, e.Outcome)
	}
	return e.Activation
}

// scan claims up to limit due heads.
func (w *world) scan(owner string, limit int) []*store.Activation {
	w.Helper()
	return w.scanWith(&store.Scan{Claim: *claim(owner), Types: []string{typ}, Limit: limit})
}

func (w *world) scanWith(s *store.Scan) []*store.Activation {
	w.Helper()
	w.flush(&store.Flush{Claims: []*store.Scan{s}})
	return s.Activations
}

// take claims the one due head that there is.
func (w *world) take(owner string) *store.Activation {
	w.Helper()
	as := w.scan(owner, 10)
	if len(as) != 1 {
		w.Fatalf("scan by %s: %d activations, want 1", owner, len(as))
	}
	return as[0]
}

// finishing is a commit of a claimed turn.
func finishing(t *store.Turn) *store.Commit {
	return &store.Commit{
		Fence: t.Fence, Message: t.ID, Sequence: t.Sequence, Status: store.Completed, Result: json.RawMessage(`1`),
		State: fmt.Appendf(nil, `{"n":%d}`, t.Sequence), Version: 1,
	}
}

func (w *world) commit(c *store.Commit) *store.Commit {
	w.Helper()
	w.flush(&store.Flush{Commits: []*store.Commit{c}})
	return c
}

// done commits a claimed turn with a new state and expects success.
func (w *world) done(t *store.Turn) *store.Commit {
	w.Helper()
	c := w.commit(finishing(t))
	if c.Outcome != store.Done {
		w.Fatalf("commit of sequence %d: %s %v", t.Sequence, c.Outcome, c.Err)
	}
	return c
}

func failing(t *store.Turn) *store.Failure {
	return &store.Failure{
		Fence: t.Fence, Message: t.ID, Sequence: t.Sequence, Backoff: time.Second, ErrorKind: "*errors.errorString", ErrorText: "no",
	}
}

func (w *world) fail(f *store.Failure) *store.Failure {
	w.Helper()
	w.flush(&store.Flush{Failures: []*store.Failure{f}})
	return f
}

func (w *world) release(f store.Fence, uncount bool) store.Outcome {
	w.Helper()
	r := &store.Release{Fence: f, Uncount: uncount}
	w.flush(&store.Flush{Releases: []*store.Release{r}})
	return r.Outcome
}

func (w *world) renew(f store.Fence, d time.Duration) *store.Renewal {
	w.Helper()
	r := &store.Renewal{Fence: f, Lease: d}
	w.flush(&store.Flush{Renewals: []*store.Renewal{r}})
	return r
}

// stored reads a message that must be there.
func (w *world) stored(id string) store.Message {
	w.Helper()
	m, _, o, err := w.Message(w.ctx(), id)
	w.must(err)
	if o != store.Done {
		w.Fatalf("message %s: %s", id, o)
	}
	return m
}

// waits reads what a live message waits for.
func (w *world) waits(id string) string {
	w.Helper()
	_, waiting, o, err := w.Message(w.ctx(), id)
	w.must(err)
	if o != store.Done {
		w.Fatalf("message %s: %s", id, o)
	}
	return waiting
}

func (w *world) gone(id string) {
	w.Helper()
	_, _, o, err := w.Message(w.ctx(), id)
	w.must(err)
	want(w, "message "+id, o, store.Missing)
}

func key(actor string) store.Key { return store.Key{Type: typ, ID: actor} }

func (w *world) snapshot(actor string) actors.Snapshot {
	w.Helper()
	snap, err := w.Snapshot(w.ctx(), key(actor))
	w.must(err)
	return snap
}

func (w *world) sameSnapshot(what string, got, expected actors.Snapshot) {
	w.Helper()
	want(w, what+": stamp", got.Stamp, expected.Stamp)
	want(w, what+": state", string(got.State), string(expected.State))
	want(w, what+": version", got.Version, expected.Version)
	want(w, what+": broadcast", got.Broadcast, expected.Broadcast)
}

func (w *world) register(s store.Store, id string) {
	w.Helper()
	w.must(s.Register(w.ctx(), store.Process{ID: id, Kind: "worker", Host: "host", PID: 1, StartedAt: w.now(), State: "running"}))
}

// recover runs a recovery that takes nobody for dead by heartbeat within a minute.
func (w *world) recover(self string) store.Recovered {
	w.Helper()
	rec, err := w.Recover(w.ctx(), self, time.Minute, 7*24*time.Hour)
	w.must(err)
	return rec
}

func (w *world) dead() []store.DeadLetter {
	w.Helper()
	list, err := w.DeadLetters(w.ctx(), 1000)
	w.must(err)
	return list
}

func (w *world) due() store.Due {
	w.Helper()
	d, err := w.Due(w.ctx(), []string{typ}, []string{"charge"})
	w.must(err)
	return d
}

// prune makes one batch of retention of all types, as the runtime does, and says how many messages went or, of a
// preview, would go.
func (w *world) prune(age time.Duration, limit int, preview bool) int {
	w.Helper()
	var ids []string
	var after store.Finished
	for len(ids) < limit {
		page, err := w.Finished(w.ctx(), age, after, limit)
		w.must(err)
		for _, m := range page {
			if !m.Needed && len(ids) < limit {
				ids = append(ids, m.ID)
			}
		}
		if len(page) < limit {
			break
		}
		after = page[len(page)-1]
	}
	if preview {
		return len(ids)
	}
	n, err := w.Forget(w.ctx(), ids)
	w.must(err)
	return n
}

// sized is how many of something a test uses: the number that its case states where LOCKSTEP_TEST_FULL is 1, and a small
// one otherwise. It is printed.
func (w *world) sized(what string, small, stated int) int {
	n := small
	if os.Getenv("LOCKSTEP_TEST_FULL") == "1" {
		n = stated
	}
	w.Logf("%s: %d (stated: %d)", what, n, stated)
	return n
}

// near says whether two times differ by less than what a slow machine needs between two calls.
func near(a, b time.Time) bool { return a.Sub(b).Abs() < 10*time.Second }

// random is a generator whose seed a failing test prints.
func (w *world) random() *rand.Rand {
	seed := rand.Uint64()
	w.Cleanup(func() {
		if w.Failed() {
			w.Logf("seed %d", seed)
		}
	})
	return rand.New(rand.NewPCG(seed, 0))
}

// retrying repeats a verb while it says that the failure may pass, as the runtime does.
func retrying(f func() error) error {
	var err error
	for range 20 {
		if err = f(); !errors.Is(err, store.ErrTransient) {
			return err
		}
	}
	return err
}
