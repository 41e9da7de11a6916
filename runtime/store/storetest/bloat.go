package storetest

import (
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/lockstep-go/lockstep/runtime/store"
)

var bloatTests = []test{
	{"D46/a_million_messages_end_in_bounded_batches", d46Million},
	{"D56/a_million_finished_messages_go_beside_live_work", d56},
}

// d46Million: the end of an actor is as many statements however many messages it has, and deletes none of them: that is
// done in batches, between which others work.
func d46Million(w *world) {
	const batch = 500
	n := w.sized("messages of the actor", 2_000, 1_000_000)
	for i := 0; i < n; i += 250 {
		f := &store.Flush{}
		for range min(250, n-i) {
			f.Enqueues = append(f.Enqueues, message("large"))
		}
		w.flush(f)
	}
	w.tell("small")
	statements := func(what string, do func()) int64 {
		before := w.Stats()
		do()
		after := w.Stats()
		want(w, what+": transactions", after.Commits-before.Commits, 1)
		return after.Statements - before.Statements
	}
	small := statements("the end of a small actor", func() { w.destroy("small") })
	want(w, "statements of the end of a large one", statements("the end of a large actor", func() { w.destroy("large") }), small)
	batches, gone := 0, 0
	for {
		swept, err := w.Sweep(w.ctx(), batch)
		w.must(err)
		if swept == 0 {
			break
		}
		if swept > batch {
			w.Fatalf("a batch of %d", swept)
		}
		batches, gone = batches+1, gone+swept
		a := w.ask("p", "beside")
		want(w, "others", w.done(&a.Turn).Outcome, store.Done)
		w.release(a.Fence, false)
	}
	want(w, "messages that the ends left for batches", gone, n+1)
	if least := n / batch; batches < least {
		w.Errorf("%d batches, want %d or more", batches, least)
	}
}

// d56: history of a stated size goes in batches while others work, though whoever deletes it is killed in the middle.
// What must stay stays. How long live messages and batches took is logged, since a busy machine says nothing of either.
func d56(w *world) {
	n := w.sized("finished messages", 3_000, 1_000_000)
	w.finishMany(n)
	kept := []string{w.tell("waiting").Message.ID, w.bury("dead").ID}
	a := w.ask("p", "outbox")
	w.commit(full(&a.Turn))
	w.release(a.Fence, false)
	kept = append(kept, a.ID)
	w.pass(1000 * time.Hour)
	young := keyed("young", "k", "add", "f")
	w.enqueue(young)
	kept = append(kept, young.Message.ID)
	running := w.ask("p", "running")
	kept = append(kept, running.ID)

	quiet := w.latencies(50, nil)
	killed, next := w.second(), w.second()
	stop := make(chan struct{})
	var gone int
	var slowest time.Duration
	var err error
	var wg sync.WaitGroup
	wg.Go(func() {
		defer close(stop)
		if gone, slowest, err = w.forgetAll(killed, n/2); err != nil {
			return
		}
		var rest int
		var slow time.Duration
		rest, slow, err = w.forgetAll(next, n)
		gone, slowest = gone+rest, max(slowest, slow)
	})
	beside := w.latencies(50, stop)
	wg.Wait()
	w.must(err)
	w.Logf("p99 of a live message: %v quiet, %v beside retention (%d of them); the slowest batch took %v", quiet[len(quiet)*99/100], beside[len(beside)*99/100], len(beside), slowest)
	want(w, "deleted", gone, n)
	for _, id := range kept {
		w.stored(id)
	}
	want(w, "the key holds", w.enqueue(keyed("young", "k", "add", "f")).Outcome, store.Duplicate)
	want(w, "dead letters", len(w.dead()), 1)
	w.done(&w.renewed(running).Turn)
	left, err := w.Finished(w.ctx(), time.Hour, store.Finished{}, 10)
	w.must(err)
	want(w, "left of that age", len(left), 1) // whose outbox is not empty
}

// renewed is an activation that is still held.
func (w *world) renewed(a *store.Activation) *store.Activation {
	w.Helper()
	want(w, "renewed", w.renew(a.Fence, lease).Outcome, store.Done)
	return a
}

// finishMany makes a history of n messages of some actors, all of one age.
func (w *world) finishMany(n int) {
	w.Helper()
	const batch = 250
	for i := 0; i < n; i += batch {
		f, c := &store.Flush{}, &store.Flush{}
		for j := range min(batch, n-i) {
			e := message(fmt.Sprint("history", j))
			e.Claim = claim("p")
			f.Enqueues = append(f.Enqueues, e)
		}
		w.flush(f)
		for _, e := range f.Enqueues {
			if e.Activation == nil {
				w.Fatalf("%s: not claimed", e.Outcome)
			}
			x := finishing(&e.Activation.Turn)
			x.Yield = true
			c.Commits = append(c.Commits, x)
		}
		w.flush(c)
	}
}

// latencies processes messages, at least n of them and until stop is closed, and says how long each took, in order.
func (w *world) latencies(n int, stop <-chan struct{}) (took []time.Duration) {
	w.Helper()
	for i := 0; ; i++ {
		begun := time.Now()
		a := w.ask("p", fmt.Sprint("live", i%50))
		c := finishing(&a.Turn)
		c.Yield = true
		want(w, "live", w.commit(c).Outcome, store.Done)
		took = append(took, time.Since(begun))
		if len(took) < n {
			continue
		}
		if stop != nil {
			select {
			case <-stop:
			default:
				continue
			}
		}
		slices.Sort(took)
		return took
	}
}

// forgetAll deletes history as a runtime does, from the beginning; it is killed once it has deleted limit, with the next
// batch read and not deleted.
func (w *world) forgetAll(s store.Store, limit int) (gone int, slowest time.Duration, err error) {
	var after store.Finished
	for {
		begun := time.Now()
		var page []store.Finished
		err := retrying(func() (err error) {
			page, err = s.Finished(w.ctx(), time.Hour, after, 1000)
			return err
		})
		if err != nil || len(page) == 0 || gone >= limit {
			return gone, slowest, err
		}
		var ids []string
		for _, m := range page {
			if !m.Needed {
				ids = append(ids, m.ID)
			}
		}
		var n int
		err = retrying(func() (err error) {
			n, err = s.Forget(w.ctx(), ids)
			return err
		})
		if err != nil {
			return gone, slowest, err
		}
		gone, after, slowest = gone+n, page[len(page)-1], max(slowest, time.Since(begun))
	}
}
