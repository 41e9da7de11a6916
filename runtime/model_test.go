package runtime_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/lockstep-go/lockstep/actors"
	"github.com/lockstep-go/lockstep/runtime/store"
)

// The model: what a store must do, in so few words that it can be seen to be right. Its clock counts half hours.
// Everything happens at even ones and every deadline is odd, so the seconds that a test takes decide nothing.
const (
	halfHour    = 30 * time.Minute
	leaseSpan   = 21
	effectSpan  = 9
	backoffSpan = 3
	ringSpan    = 4 // between two occurrences; the first comes after 3
	modelLimit  = 3 // attempts of a message
)

func span(n int) time.Duration { return time.Duration(n) * halfHour }

type modelMessage struct {
	id, key, args string
	status        store.Status
	attempts, due int
	limit         int
}

type modelLease struct {
	owner, token string // no owner: it is free
	generation   int64
	until        int
}

type modelAlarm struct {
	next, interval int
	policy         actors.CatchUpPolicy
}

type modelActor struct {
	instance string
	box      []*modelMessage
	head     int // index in box
	claimed  bool
	lease    modelLease
	paused   bool
	state    []string // of the messages that wrote it
	revision int64
	alarms   map[string]modelAlarm
}

type modelEffect struct {
	id, owner    string
	attempt, due int
	of           *modelActor
}

type modelSend struct {
	id, to string
	of     *modelActor
}

// modelTurn is a claim that somebody was given, whatever has become of it since.
type modelTurn struct {
	fence    store.Fence
	actor    string
	message  *modelMessage
	sequence int64
}

// world is a store and the model that it is compared with.
type world struct {
	db      store.Store
	now     int
	serial  int
	actors  map[string]*modelActor
	turns   []modelTurn
	effects []*modelEffect
	efforts []store.Effect // that somebody was given
	owners  []string       // of efforts
	sends   []modelSend
}

var (
	modelActors = []string{"a", "b", "c"}
	modelOwners = []string{"p", "q"}
)

// worlds opens an empty database each time, one after another: in memory another one, on a server the same one emptied.
func worlds(t *testing.T) func() (store.Store, error) {
	t.Helper()
	d := here(t)
	var db store.Store
	return func() (store.Store, error) {
		if db != nil && d != inSQLite {
			db.Offset(0)
			return db, d.clean(d.opened)
		}
		db = openStore(t)
		return db, nil
	}
}

// worlds is how many of n a test goes through: on a server a tenth, unless LOCKSTEP_TEST_FULL is 1.
func (d *database) worlds(n int) int {
	if d == inSQLite || os.Getenv("LOCKSTEP_TEST_FULL") == "1" {
		return n
	}
	return n / 10
}

// newWorld begins anew on a database of the test, with whatever the last world left in it deleted.
func newWorld(t *rapid.T, open func() (store.Store, error), wrap func(store.Store) store.Store) *world {
	db, err := open()
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range modelOwners {
		if err := db.Register(context.Background(), store.Process{ID: p, Kind: "model", State: "running"}); err != nil {
			t.Fatal(err)
		}
	}
	return &world{db: wrap(db), actors: map[string]*modelActor{}}
}

func (w *world) id(kind string) string {
	w.serial++
	return fmt.Sprintf("%s%d", kind, w.serial)
}

func (w *world) flush(t *rapid.T, f *store.Flush) {
	if err := w.db.Flush(context.Background(), f); err != nil {
		t.Fatalf("flush: %v", err)
	}
}

func draw[T any](t *rapid.T, what string, from ...T) T { return rapid.SampledFrom(from).Draw(t, what) }

func same[T comparable](t *rapid.T, what string, got, want T) {
	if got != want {
		t.Fatalf("%s: the store says %v, the model %v", what, got, want)
	}
}

func (w *world) free(a *modelActor) bool { return a.lease.owner == "" || a.lease.until <= w.now }

// holds says whether a fence is the actor's newest and its lease not over.
func (w *world) holds(f store.Fence, a *modelActor) bool {
	return a != nil && f.Instance == a.instance && a.lease.owner == f.Owner && a.lease.token == f.Token &&
		a.lease.generation == f.Generation && a.lease.until > w.now
}

// may says whether a turn is the one that is current.
func (w *world) may(x modelTurn) bool {
	a := w.actors[x.actor]
	return w.holds(x.fence, a) && a.claimed && a.box[a.head] == x.message
}

// put adds a stored message to its mailbox.
func (w *world) put(t *rapid.T, m *store.Message, limit int) *modelMessage {
	a := w.actors[m.ActorID]
	if a == nil {
		a = &modelActor{instance: m.Instance, alarms: map[string]modelAlarm{}}
		w.actors[m.ActorID] = a
	}
	same(t, "instance of "+m.ActorID, m.Instance, a.instance)
	same(t, "sequence", m.Sequence, int64(len(a.box)+1))
	n := &modelMessage{id: m.ID, key: m.IdempotencyKey, args: string(m.Arguments), status: store.Live, due: w.now, limit: limit}
	a.box = append(a.box, n)
	return n
}

// given notes a claim, which must be of the head, under a lease that is newer than every one before or still the same.
func (w *world) given(t *rapid.T, actor string, turn *store.Turn, owner string, keeps bool) {
	a := w.actors[actor]
	if a.claimed || a.paused || a.head >= len(a.box) {
		t.Fatalf("%s was claimed (claimed already: %v, paused: %v, head %d of %d)", actor, a.claimed, a.paused, a.head, len(a.box))
	}
	m := a.box[a.head]
	m.attempts++
	same(t, "claimed message", turn.ID, m.id)
	same(t, "claimed sequence", turn.Sequence, int64(a.head+1))
	same(t, "attempt", turn.Attempts, m.attempts)
	same(t, "owner", turn.Owner, owner)
	if keeps {
		same(t, "token of a lease that is kept", turn.Token, a.lease.token)
		same(t, "generation of a lease that is kept", turn.Generation, a.lease.generation)
	} else {
		same(t, "generation of a new lease", turn.Generation, a.lease.generation+1)
	}
	a.claimed = true
	a.lease.owner, a.lease.token, a.lease.generation = owner, turn.Token, turn.Generation
	w.turns = append(w.turns, modelTurn{turn.Fence, actor, m, turn.Sequence})
}

// bury gives up heads without an attempt left, and says whether one is left that is due.
func (w *world) bury(a *modelActor) bool {
	for a.head < len(a.box) && a.box[a.head].attempts >= a.box[a.head].limit {
		a.box[a.head].status = store.Dead
		a.head++
	}
	return a.head < len(a.box) && a.box[a.head].due <= w.now
}

// follow goes on after a turn's end, as the store must.
func (w *world) follow(t *rapid.T, x modelTurn, next, yield bool, turn *store.Turn) {
	a := w.actors[x.actor]
	a.head++
	a.claimed = false
	if yield {
		a.lease.owner = ""
	}
	want := next && !yield && !a.paused && a.head < len(a.box) && a.box[a.head].due <= w.now
	same(t, "the next message is claimed", turn != nil, want)
	if want {
		w.given(t, x.actor, turn, x.fence.Owner, true)
	}
}

// compare reads the database and compares it with the model.
func (w *world) compare(t *rapid.T) {
	ctx := context.Background()
	alarms := 0
	for _, id := range modelActors {
		snap, err := w.db.Snapshot(ctx, store.Key{Type: "pad", ID: id})
		if err != nil {
			t.Fatal(err)
		}
		a := w.actors[id]
		if a == nil {
			same(t, "instance of "+id, snap.Instance, "")
			continue
		}
		same(t, "instance of "+id, snap.Instance, a.instance)
		same(t, "revision of "+id, snap.Revision, a.revision)
		want := ""
		if a.revision > 0 {
			want = string(document(a.state))
		}
		same(t, "state of "+id, string(snap.State), want)
		w.compareMessages(t, a)
		alarms += len(a.alarms)
		got, err := w.db.Alarms(ctx, a.instance)
		if err != nil {
			t.Fatal(err)
		}
		same(t, "alarms of "+id, len(got), len(a.alarms))
	}
	due, err := w.db.Due(ctx, []string{"pad"}, []string{"charge"})
	if err != nil {
		t.Fatal(err)
	}
	same(t, "there are sends", !due.Sends.IsZero(), len(w.sends) > 0)
	same(t, "there are effects", !due.Effects.IsZero(), len(w.effects) > 0)
	same(t, "there are reminders", !due.Reminders.IsZero(), alarms > 0)
}

// compareMessages looks at those around the head, where something can have happened.
func (w *world) compareMessages(t *rapid.T, a *modelActor) {
	for i := max(0, a.head-2); i < min(len(a.box), a.head+2); i++ {
		m, _, outcome, err := w.db.Message(context.Background(), a.box[i].id)
		if err != nil || outcome == store.Missing {
			t.Fatalf("message %s: %s, %v", a.box[i].id, outcome, err)
		}
		same(t, "status of "+a.box[i].id, m.Status, a.box[i].status)
		same(t, "attempts of "+a.box[i].id, m.Attempts, a.box[i].attempts)
	}
}

func document(v any) json.RawMessage {
	doc, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return doc
}

// lost is a store without its fence: whoever ends a turn does so under the newest lease that anybody was given.
type lost struct {
	store.Store
	newest map[string]store.Fence
}

func (l *lost) Flush(ctx context.Context, f *store.Flush) error {
	for _, c := range f.Commits {
		if newest, ok := l.newest[c.Fence.Instance]; ok {
			c.Fence = newest
		}
	}
	err := l.Store.Flush(ctx, f)
	for _, e := range f.Enqueues {
		if e.Activation != nil {
			l.newest[e.Activation.Fence.Instance] = e.Activation.Fence
		}
	}
	for _, s := range f.Claims {
		for _, a := range s.Activations {
			l.newest[a.Fence.Instance] = a.Fence
		}
	}
	return err
}

// twice is a store whose deliverer hands the first message of each pass over again, under another id.
type twice struct{ store.Store }

func (s twice) Deliver(ctx context.Context, limit, mailboxCap int, backoff time.Duration) ([]store.Message, error) {
	moved, err := s.Store.Deliver(ctx, limit, mailboxCap, backoff)
	if err != nil || len(moved) == 0 {
		return moved, err
	}
	again := moved[0]
	again.ID += " again"
	return moved, s.Flush(ctx, &store.Flush{Enqueues: []*store.Enqueue{{Message: again}}})
}

// late is a store whose reminders are moved on too late: the first of each pass fires again.
type late struct{ store.Store }

func (s late) FireReminders(ctx context.Context, limit, mailboxCap, maxAttempts int, backoff time.Duration) ([]store.Message, error) {
	fired, err := s.Store.FireReminders(ctx, limit, mailboxCap, maxAttempts, backoff)
	if err != nil || len(fired) == 0 {
		return fired, err
	}
	again := fired[0]
	again.ID += " again"
	e := &store.Enqueue{Message: again}
	if err := s.Flush(ctx, &store.Flush{Enqueues: []*store.Enqueue{e}}); err != nil {
		return nil, err
	}
	return append(fired, e.Message), nil
}

// failing is a rapid.TB that keeps a failure instead of failing the test.
type failing struct {
	rapid.TB
	failed bool
	said   strings.Builder
}

func (f *failing) Helper()                           {}
func (f *failing) Failed() bool                      { return f.failed }
func (f *failing) Fail()                             { f.failed = true }
func (f *failing) Logf(format string, args ...any)   { fmt.Fprintf(&f.said, format+"\n", args...) }
func (f *failing) Log(args ...any)                   { fmt.Fprintln(&f.said, args...) }
func (f *failing) Errorf(format string, args ...any) { f.Logf(format, args...); f.Fail() }
func (f *failing) Error(args ...any)                 { f.Log(args...); f.Fail() }
func (f *failing) Fatalf(format string, args ...any) { f.Logf(format, args...); f.FailNow() }
func (f *failing) Fatal(args ...any)                 { f.Log(args...); f.FailNow() }
func (f *failing) FailNow()                          { f.failed = true; panic(f) }

// fails says whether rapid falsifies a property, and with what smallest example.
func fails(tb rapid.TB, property func(*rapid.T)) (failed bool, said string) {
	f := &failing{TB: tb}
	func() {
		defer func() {
			if p := recover(); p != nil && p != f {
				panic(p)
			}
		}()
		rapid.Check(f, property)
	}()
	lines := strings.Split(f.said.String(), "\n")
	return f.failed, strings.Join(lines[:min(len(lines), 40)], "\n")
}

// rings are the occurrences that an alarm has due, and where it stands after them.
func (a modelAlarm) rings(now int) (n int, after modelAlarm, gone bool) {
	for a.next <= now {
		n++
		if a.interval == 0 {
			return n, a, true
		}
		a.next += a.interval
		if a.policy == actors.Latest {
			for a.next <= now {
				a.next += a.interval
			}
		}
	}
	return n, a, false
}

func indexOf[T any](all []T, is func(T) bool) int { return slices.IndexFunc(all, is) }
