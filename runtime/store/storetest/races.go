package storetest

import (
	"fmt"
	"sync"
	"time"

	"github.com/lockstep-go/lockstep/actors"
	"github.com/lockstep-go/lockstep/runtime/store"
)

// together runs f for each of n at once, in turns over the stores.
func (w *world) together(n int, stores []store.Store, f func(i int, s store.Store) error) {
	w.Helper()
	var wg sync.WaitGroup
	start := make(chan struct{})
	errs := make([]error, n)
	for i := range n {
		wg.Go(func() {
			<-start
			errs[i] = retrying(func() error { return f(i, stores[i%len(stores)]) })
		})
	}
	close(start)
	wg.Wait()
	for _, err := range errs {
		w.must(err)
	}
}

// settled flushes an enqueue again while it meets rows that another session holds, as a runtime does.
func (w *world) settled(s store.Store, e *store.Enqueue) error {
	for {
		err := s.Flush(w.ctx(), &store.Flush{Enqueues: []*store.Enqueue{e}})
		if err != nil || e.Outcome != store.Busy {
			return err
		}
	}
}

var raceTests = []test{
	{"G2/concurrent_first_callers_make_one_instance", func(w *world) {
		stores := []store.Store{w.Store, w.second()}
		for round := range w.sized("rounds", 10, 200) {
			actor := fmt.Sprint("a", round)
			const n = 64
			es := make([]*store.Enqueue, n)
			w.together(n, stores, func(i int, s store.Store) error {
				es[i] = message(actor)
				return w.settled(s, es[i])
			})
			seen := make([]bool, n+1)
			for _, e := range es {
				want(w, "outcome", e.Outcome, store.Done)
				want(w, "instance", e.Message.Instance, es[0].Message.Instance)
				if s := e.Message.Sequence; s < 1 || s > n || seen[s] {
					w.Fatalf("sequence %d", s)
				} else {
					seen[s] = true
				}
			}
		}
	}},
	{"D06/parallel_sends_with_one_key_are_one_message", func(w *world) {
		stores := []store.Store{w.Store, w.second()}
		const n = 50
		es := make([]*store.Enqueue, n)
		w.together(n, stores, func(i int, s store.Store) error {
			es[i] = keyed("a", "k", "add", "f")
			return w.settled(s, es[i])
		})
		done := 0
		for _, e := range es {
			if e.Outcome == store.Done {
				done++
			} else {
				want(w, "outcome", e.Outcome, store.Duplicate)
			}
			want(w, "message", e.Message.ID, es[0].Message.ID)
		}
		want(w, "stored", done, 1)
		want(w, "sequence", w.tell("a").Message.Sequence, 2)
	}},
	{"D24/parallel_retries_of_one_dead_letter", func(w *world) {
		m := w.bury("a")
		stores := []store.Store{w.Store, w.second()}
		const n = 10
		ids, outcomes := make([]string, n), make([]store.Outcome, n)
		w.together(n, stores, func(i int, s store.Store) error {
			again, o, err := s.Retry(w.ctx(), m.ID, newID(), 100)
			ids[i], outcomes[i] = again.ID, o
			return err
		})
		done := 0
		for i := range n {
			if outcomes[i] == store.Done {
				done++
			}
			want(w, "the same message", ids[i], ids[0])
		}
		want(w, "made", done, 1)
		want(w, "sequence", w.tell("a").Message.Sequence, 3)
	}},
	{"D31/parallel_scans_are_disjoint", func(w *world) {
		ready := w.sized("ready actors", 100, 10_000)
		for made := 0; made < ready; made += 100 {
			f := &store.Flush{}
			for i := range 100 {
				f.Enqueues = append(f.Enqueues, message(fmt.Sprint("a", made+i)))
			}
			w.flush(f)
		}
		stores := []store.Store{w.Store, w.second()}
		var mu sync.Mutex
		seen := map[string]int{}
		w.together(8, stores, func(i int, s store.Store) error {
			for {
				scan := &store.Scan{Claim: *claim(fmt.Sprint("p", i)), Types: []string{typ}, Limit: 5}
				if err := s.Flush(w.ctx(), &store.Flush{Claims: []*store.Scan{scan}}); err != nil {
					return err
				}
				if len(scan.Activations) > 5 {
					w.Errorf("a scan of %d", len(scan.Activations))
				}
				if len(scan.Activations) == 0 {
					return nil
				}
				mu.Lock()
				for _, a := range scan.Activations {
					seen[a.ID]++
				}
				mu.Unlock()
			}
		})
		want(w, "claimed", len(seen), ready)
		for id, n := range seen {
			want(w, "claims of "+id, n, 1)
		}
	}},
	{"G25/two_schedulers_enqueue_an_occurrence_once", func(w *world) {
		a := w.remind("a", store.Reminder{Operation: "tick", When: actors.In(time.Second), Interval: time.Second, CatchUp: actors.All})
		first := w.alarms(a.Fence.Instance)[0].Next
		w.pass(100 * time.Second)
		stores := []store.Store{w.Store, w.second(), w.second()}
		var mu sync.Mutex
		fired := map[string]int{}
		w.together(3, stores, func(_ int, s store.Store) error {
			for {
				got, err := s.FireReminders(w.ctx(), 7, 1000, 3, time.Second)
				if err != nil || len(got) == 0 {
					return err
				}
				mu.Lock()
				for _, m := range got {
					fired[m.ID]++
				}
				mu.Unlock()
			}
		})
		next := w.alarms(a.Fence.Instance)[0].Next
		want(w, "occurrences", len(fired), int(next.Sub(first)/time.Second))
		want(w, "messages", w.tell("a").Message.Sequence, int64(len(fired))+2)
	}},
	{"D48/two_deliverers", func(w *world) {
		sends := w.send("a", "target", 0, 100)
		stores := []store.Store{w.Store, w.second()}
		w.together(4, stores, func(_ int, s store.Store) error {
			for {
				got, err := s.Deliver(w.ctx(), 7, 1000, time.Second)
				if err != nil || len(got) == 0 {
					return err
				}
			}
		})
		for i, x := range sends {
			want(w, "sequence", w.stored(x.ID).Sequence, int64(i+1))
		}
		want(w, "no more", w.tell("target").Message.Sequence, 101)
	}},
	{"G29/random_histories_keep_the_rules", randomHistory},
}

// randomHistory lets a few owners do anything to a few actors, and checks what always holds: one activation an actor,
// sequences finished in order without a gap, attempts within the limit, state of the last commit.
func randomHistory(w *world) {
	r := w.random()
	type known struct {
		finished int64
		state    string
		revision int64
		stale    []store.Turn
	}
	actorsKnown := map[string]*known{}
	running := map[string]*store.Activation{}
	names := []string{"a", "b", "c"}
	for _, n := range names {
		actorsKnown[n] = &known{}
	}
	for range 600 {
		name := names[r.IntN(len(names))]
		k, cur := actorsKnown[name], running[name]
		switch r.IntN(10) {
		case 0, 1:
			w.tell(name)
		case 2, 3, 4:
			for _, a := range w.scan(fmt.Sprint("p", r.IntN(3)), 1+r.IntN(2)) {
				other := actorsKnown[a.ActorID]
				if running[a.ActorID] != nil {
					w.Fatalf("%s runs twice", a.ActorID)
				}
				want(w, "next in order", a.Sequence, other.finished+1)
				want(w, "state", string(a.Snapshot.State), other.state)
				want(w, "revision", a.Snapshot.Revision, other.revision)
				running[a.ActorID] = a
			}
		case 5, 6:
			if cur != nil {
				c := finishing(&cur.Turn)
				c.Yield = true
				want(w, "commit", w.commit(c).Outcome, store.Done)
				k.finished, k.revision, k.state = cur.Sequence, cur.Sequence, string(c.State)
				k.stale = append(k.stale, cur.Turn)
				delete(running, name)
			}
		case 7:
			if cur != nil {
				f := failing(&cur.Turn)
				f.Final = cur.Attempts >= cur.MaxAttempts
				f.Yield = true
				want(w, "failure", w.fail(f).Outcome, store.Done)
				if f.Final {
					k.finished = cur.Sequence
				}
				k.stale = append(k.stale, cur.Turn)
				delete(running, name)
			}
		case 8:
			if cur != nil {
				want(w, "release", w.release(cur.Fence, true), store.Done)
				k.stale = append(k.stale, cur.Turn)
				delete(running, name)
			}
		case 9:
			if len(k.stale) > 0 {
				t := k.stale[r.IntN(len(k.stale))]
				v := verbs[r.IntN(len(verbs))]
				want(w, "stale "+v.name, v.run(w, &t), store.Fenced)
			}
			w.pass(time.Duration(r.IntN(3)) * time.Second / 2)
			if cur != nil {
				want(w, "renew", w.renew(cur.Fence, lease).Outcome, store.Done)
			}
			for n, other := range running {
				if n != name {
					w.renew(other.Fence, lease)
				}
			}
		}
		if w.Failed() {
			return
		}
	}
}
