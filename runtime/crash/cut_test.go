//go:build unix

package crash

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/lockstep-go/lockstep/actors"
	"github.com/lockstep-go/lockstep/runtime"
	"github.com/lockstep-go/lockstep/runtime/store"
)

// slip remembers what was written on it, in order.
type slip struct {
	Lines []string `json:"lines"`
}

var (
	slips  = actors.Define("slip", func() slip { return slip{} })
	write  = actors.Message[string, int](slips, "write")
	fumble = actors.Message[string, int](slips, "fumble") // fails at its first attempt
	pass   = actors.Message[string, int](slips, "pass")   // writes on the next slip too
	later  = actors.Message[string, int](slips, "later")  // writes once more by a reminder
)

func (s *slip) write(_ *actors.Turn[slip], line string) (int, error) {
	s.Lines = append(s.Lines, line)
	return len(s.Lines), nil
}

func (s *slip) fumble(t *actors.Turn[slip], line string) (int, error) {
	if t.Attempt() == 1 {
		return 0, errors.New("butterfingers")
	}
	return s.write(t, line)
}

func (s *slip) pass(t *actors.Turn[slip], line string) (int, error) {
	write.Send(t, slips.Ref(t.ID()+", next"), line)
	return s.write(t, line)
}

func (s *slip) later(t *actors.Turn[slip], line string) (int, error) {
	write.Schedule(t, actors.In(10*time.Millisecond), "reminded of "+line)
	return s.write(t, line)
}

func init() {
	write.Handle((*slip).write)
	fumble.Handle((*slip).fumble)
	pass.Handle((*slip).pass)
	later.Handle((*slip).later)
}

// surgeon is a store whose wire is cut in the COMMIT of one verb, while no other is under way.
type surgeon struct {
	store.Store
	wire *proxy

	verbs sync.RWMutex
	mu    sync.Mutex
	want  func(verb string, f *store.Flush) bool
	how   cut
}

// aim has the wire cut in the next verb that is the wanted one.
func (s *surgeon) aim(how cut, want func(verb string, f *store.Flush) bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.how, s.want = how, want
}

// around runs a verb, with the knife at the wire where it is the wanted one.
func (s *surgeon) around(verb string, f *store.Flush, do func() error) error {
	s.mu.Lock()
	wanted, how := s.want != nil && s.want(verb, f), s.how
	s.mu.Unlock()
	if !wanted {
		s.verbs.RLock()
		defer s.verbs.RUnlock()
		return do()
	}
	s.verbs.Lock()
	defer s.verbs.Unlock()
	s.wire.next.Store(int64(how))
	err := do()
	if s.wire.next.Swap(int64(never)) == int64(never) { // it came to a COMMIT
		s.aim(never, nil)
	}
	return err
}

func (s *surgeon) Flush(ctx context.Context, f *store.Flush) error {
	return s.around("flush", f, func() error { return s.Store.Flush(ctx, f) })
}

func (s *surgeon) Deliver(ctx context.Context, limit, mailboxCap int, backoff time.Duration) (m []store.Message, err error) {
	err = s.around("deliver", nil, func() error { m, err = s.Store.Deliver(ctx, limit, mailboxCap, backoff); return err })
	return m, err
}

func (s *surgeon) FireReminders(ctx context.Context, limit, mailboxCap, attempts int, backoff time.Duration) (m []store.Message, err error) {
	err = s.around("fire", nil, func() error { m, err = s.Store.FireReminders(ctx, limit, mailboxCap, attempts, backoff); return err })
	return m, err
}

func (s *surgeon) Recover(ctx context.Context, self string, stale, retain time.Duration) (r store.Recovered, err error) {
	err = s.around("recover", nil, func() error { r, err = s.Store.Recover(ctx, self, stale, retain); return err })
	return r, err
}

func (s *surgeon) Beat(ctx context.Context, id, state string) (o store.Outcome, err error) {
	err = s.around("beat", nil, func() error { o, err = s.Store.Beat(ctx, id, state); return err })
	return o, err
}

func (s *surgeon) TakeBroadcasts(ctx context.Context, owner string, age time.Duration, limit int) (b []store.Broadcast, err error) {
	err = s.around("take broadcasts", nil, func() error { b, err = s.Store.TakeBroadcasts(ctx, owner, age, limit); return err })
	return b, err
}

// wired is a runtime on a database behind a wire; what became of its actor is read from the database itself.
type wired struct {
	*testing.T
	d       *database
	address string
	rt      *runtime.Runtime
	direct  store.Store
	actor   string
}

func (w *wired) ref() actors.Ref[slip] { return slips.Ref(w.actor) }

// serve runs a runtime until the test ends.
func serve(t *testing.T, db store.Store, cfg runtime.Config) *runtime.Runtime {
	t.Helper()
	rt, err := runtime.Open(t.Context(), db, cfg)
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- rt.Run(ctx) }()
	t.Cleanup(func() {
		stop()
		if err := errors.Join(<-ended, rt.Close()); err != nil {
			t.Errorf("the end of the runtime: %v", err)
		}
	})
	for !rt.Ready() {
		time.Sleep(time.Millisecond)
	}
	return rt
}

// hasty is a runtime's configuration for slips.
func hasty() runtime.Config {
	return runtime.Config{
		Types: []actors.AnyType{slips}, Policy: actors.InsecureAllowAll(), AskTimeout: 20 * time.Second,
		Lease: 2 * time.Second, Renew: 500 * time.Millisecond, Poll: 20 * time.Millisecond, PollIdle: 100 * time.Millisecond,
		Backoff: func(int) time.Duration { return 10 * time.Millisecond },
	}
}

func opened(t *testing.T, d *database, address string) store.Store {
	t.Helper()
	s, err := d.open(t.Context(), address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

// lines waits until an actor's committed lines are as many as wanted, and compares them.
func (w *wired) lines(actor string, want ...string) {
	w.Helper()
	var s slip
	for end := time.Now().Add(20 * time.Second); time.Now().Before(end); time.Sleep(10 * time.Millisecond) {
		snap, err := w.direct.Snapshot(w.Context(), store.Key{Type: "slip", ID: actor})
		if err != nil {
			w.Fatal(err)
		}
		s = slip{}
		if snap.State != nil {
			if err := actors.DecodeDocument("state", snap.State, &s); err != nil {
				w.Fatal(err)
			}
		}
		if len(s.Lines) >= len(want) {
			break
		}
	}
	if !slices.Equal(s.Lines, want) {
		w.Errorf("%s has the lines %q, want %q", actor, s.Lines, want)
	}
}

// messages waits until nothing is live and compares how many messages the actor and the next one have of each operation.
func (w *wired) messages(want map[string]int) {
	w.Helper()
	var got map[string]int
	for end := time.Now().Add(20 * time.Second); time.Now().Before(end); time.Sleep(20 * time.Millisecond) {
		v, err := look(w.Context(), w.d, w.address)
		if err != nil {
			w.Fatal(err)
		}
		if len(v.Dead) > 0 {
			w.Fatalf("%d dead letters", len(v.Dead))
		}
		mine := map[string]bool{}
		for _, i := range v.Instances {
			mine[i.ID] = strings.HasPrefix(i.Actor, w.actor)
		}
		got = map[string]int{}
		for _, m := range v.Messages {
			if mine[m.Instance] {
				got[m.Operation+" "+m.Status]++
			}
		}
		if len(v.waiting()) == 0 {
			break
		}
	}
	if fmt.Sprint(got) != fmt.Sprint(want) {
		w.Errorf("the database has the messages %v, want %v", got, want)
	}
}

// D27: the connection is cut in the COMMIT, before or after the server handled it, of an enqueue (with and without an
// idempotency key), a turn, a failure record, a reminder's firing and a delivery. Nothing is doubled and nothing lost,
// and who enqueued hears of the message or gets the id by which it can be looked up.
func TestD27WireIsCutDuringCommit(t *testing.T) {
	flush := func(what func(f *store.Flush) bool) func(string, *store.Flush) bool {
		return func(_ string, f *store.Flush) bool { return f != nil && what(f) }
	}
	verb := func(name string) func(string, *store.Flush) bool {
		return func(v string, _ *store.Flush) bool { return v == name }
	}
	cases := []struct {
		name string
		aim  func(string, *store.Flush) bool
		run  func(w *wired)
	}{
		{"enqueue", flush(func(f *store.Flush) bool { return len(f.Enqueues) > 0 }), func(w *wired) { w.enqueue() }},
		{"enqueue with a key", flush(func(f *store.Flush) bool { return len(f.Enqueues) > 0 }), func(w *wired) {
			w.enqueue(actors.IdempotencyKey("K"))
			if n, err := write.Ask(w.Context(), w.rt, w.ref(), "x", actors.IdempotencyKey("K")); n != 1 || err != nil {
				w.Errorf("asked again with the key: %d, %v", n, err)
			}
			w.lines(w.actor, "x")
		}},
		{"turn", flush(func(f *store.Flush) bool { return len(f.Commits) > 0 }), func(w *wired) {
			if n, err := write.Ask(w.Context(), w.rt, w.ref(), "x"); n != 1 || err != nil {
				w.Errorf("answer %d, %v", n, err)
			}
			w.lines(w.actor, "x")
			w.messages(map[string]int{"write completed": 1})
		}},
		{"failure", flush(func(f *store.Flush) bool { return len(f.Failures) > 0 }), func(w *wired) {
			if n, err := fumble.Ask(w.Context(), w.rt, w.ref(), "x"); n != 1 || err != nil {
				w.Errorf("answer %d, %v", n, err)
			}
			w.lines(w.actor, "x")
			w.messages(map[string]int{"fumble completed": 1})
		}},
		{"reminder", verb("fire"), func(w *wired) {
			if n, err := later.Ask(w.Context(), w.rt, w.ref(), "x"); n != 1 || err != nil {
				w.Errorf("answer %d, %v", n, err)
			}
			w.lines(w.actor, "x", "reminded of x")
			w.messages(map[string]int{"later completed": 1, "write completed": 1})
		}},
		{"delivery", verb("deliver"), func(w *wired) {
			if n, err := pass.Ask(w.Context(), w.rt, w.ref(), "x"); n != 1 || err != nil {
				w.Errorf("answer %d, %v", n, err)
			}
			w.lines(w.actor+", next", "x")
			w.messages(map[string]int{"pass completed": 1, "write completed": 1})
		}},
	}
	for _, name := range []string{"postgres", "mysql"} {
		t.Run(name, func(t *testing.T) {
			d := find(name)
			address := d.empty(t, "")
			wire, remote := through(t, d, address)
			s := &surgeon{Store: opened(t, d, remote), wire: wire}
			w := wired{d: d, address: address, direct: opened(t, d, address), rt: serve(t, s, hasty())}
			for _, c := range cases {
				for _, how := range []cut{unsent, unheard} {
					t.Run(fmt.Sprintf("%s %v", c.name, how), func(t *testing.T) {
						w, before := w, wire.cuts.Load()
						w.T, w.actor = t, fmt.Sprintf("%s %v", c.name, how)
						s.aim(how, c.aim)
						c.run(&w)
						if n := wire.cuts.Load() - before; n != 1 {
							t.Errorf("the wire was cut %d times, want once", n)
						}
					})
				}
			}
		})
	}
}

// enqueue tells a message and expects it, or the error that names it, and one row in any case.
func (w *wired) enqueue(options ...actors.CallOption) {
	w.Helper()
	m, err := write.Tell(w.Context(), w.rt, w.ref(), "x", options...)
	if err != nil && !errors.Is(err, actors.ErrOutcomeUnknown) {
		w.Fatalf("tell: %v", err)
	}
	if err != nil {
		w.Logf("the outcome is unknown: %v", err)
	} else if stored, _, o, err := w.direct.Message(w.Context(), m.ID); err != nil || o != store.Done || stored.Sequence != 1 {
		w.Errorf("the message that was answered: %s at %d, %v", o, stored.Sequence, err)
	}
	w.lines(w.actor, "x")
	w.messages(map[string]int{"write completed": 1})
}
