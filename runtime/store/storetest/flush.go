package storetest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/lockstep-go/lockstep/runtime/store"
)

var flushTests = []test{
	{"G12/a_batch_of_200_with_three_culprits_commits_197", func(w *world) {
		taken := w.enqueue(keyed("keyed", "k", "add", "f"))
		first := &store.Flush{}
		for i := range 100 {
			e := message(fmt.Sprint("c", i))
			e.Claim = claim("p")
			first.Enqueues = append(first.Enqueues, e)
		}
		w.flush(first)
		f := &store.Flush{}
		for _, e := range first.Enqueues {
			f.Commits = append(f.Commits, finishing(&e.Activation.Turn))
		}
		f.Commits[17].Fence.Token = "lost"
		for i := range 100 {
			f.Enqueues = append(f.Enqueues, message(fmt.Sprint("e", i)))
		}
		f.Enqueues[3] = keyed("keyed", "k", "add", "f")
		f.Enqueues[90] = message("c5")
		f.Enqueues[90].Message.ID = first.Enqueues[5].Message.ID
		before := w.Stats()
		w.flush(f)
		after := w.Stats()
		want(w, "commits", after.Commits-before.Commits, 1)
		w.Logf("%d statements for 200 items", after.Statements-before.Statements)
		done := 0
		for i, c := range f.Commits {
			if c.Outcome == store.Done {
				done++
			} else {
				want(w, "the lost fence", i, 17)
				want(w, "its outcome", c.Outcome, store.Fenced)
			}
		}
		for i, e := range f.Enqueues {
			if e.Outcome == store.Done {
				done++
			} else {
				want(w, fmt.Sprintf("enqueue %d", i), e.Outcome, store.Duplicate)
			}
		}
		want(w, "the key's message", f.Enqueues[3].Message.ID, taken.Message.ID)
		want(w, "done", done, 197)
	}},
	{"G12/the_culprits_neighbours_commit_in_every_part", func(w *world) {
		// The database refuses one commit for its content; every other part of the flush is as if it had not been there.
		a, b, c, d, e := w.ask("p", "a"), w.ask("p", "b"), w.ask("p", "c"), w.ask("p", "d"), w.ask("p", "e")
		waiting := w.tell("waiting")
		dup := newID()
		bad := finishing(&a.Turn)
		bad.Effects = []store.Effect{{ID: dup, Name: "x", MaxAttempts: 1}, {ID: dup, Name: "x", MaxAttempts: 1}}
		good := finishing(&b.Turn)
		fail, release, renewal := failing(&c.Turn), &store.Release{Fence: d.Fence}, &store.Renewal{Fence: e.Fence, Lease: time.Hour}
		enqueue := keyed("f", "k", "add", "f")
		again := keyed("f", "k", "add", "f")
		scan := &store.Scan{Claim: *claim("q"), Types: []string{typ}, Limit: 10}
		w.flush(&store.Flush{
			Commits: []*store.Commit{bad, good}, Failures: []*store.Failure{fail}, Releases: []*store.Release{release},
			Renewals: []*store.Renewal{renewal}, Enqueues: []*store.Enqueue{enqueue, again}, Claims: []*store.Scan{scan},
		})
		want(w, "culprit", bad.Outcome, store.Refused)
		want(w, "commit", good.Outcome, store.Done)
		want(w, "failure", fail.Outcome, store.Done)
		want(w, "release", release.Outcome, store.Done)
		want(w, "renewal", renewal.Outcome, store.Done)
		want(w, "enqueue", enqueue.Outcome, store.Done)
		want(w, "again", again.Outcome, store.Duplicate)
		want(w, "claims", len(scan.Activations), 3)
		want(w, "waiting one is among them", w.waits(waiting.Message.ID), "running")
		want(w, "the culprit's turn goes on", w.done(&a.Turn).Outcome, store.Done)
	}},
	{"G32/every_flush_is_one_commit_and_idle_scans_none", func(w *world) {
		for _, n := range []int{1, 10, 200} {
			f := &store.Flush{}
			for i := range n {
				e := message(fmt.Sprintf("a%d-%d", n, i))
				e.Claim = claim("p")
				f.Enqueues = append(f.Enqueues, e)
			}
			w.counted(fmt.Sprintf("enqueue %d new", n), f, 1)
			c := &store.Flush{}
			for _, e := range f.Enqueues {
				c.Commits = append(c.Commits, finishing(&e.Activation.Turn))
			}
			w.counted(fmt.Sprintf("commit %d", n), c, 1)
			held := &store.Flush{}
			for i, e := range f.Enqueues {
				h := message(fmt.Sprintf("a%d-%d", n, i))
				h.Claim, h.Held = claim("p"), &e.Activation.Fence
				held.Enqueues = append(held.Enqueues, h)
			}
			w.counted(fmt.Sprintf("enqueue %d held", n), held, 1)
			renewals := &store.Flush{}
			for _, e := range f.Enqueues {
				renewals.Renewals = append(renewals.Renewals, &store.Renewal{Fence: e.Activation.Fence, Lease: lease})
			}
			w.counted(fmt.Sprintf("renew %d", n), renewals, 1)
		}
		w.counted("an idle scan", &store.Flush{Claims: []*store.Scan{{Claim: *claim("q"), Types: []string{typ}, Limit: 10}}}, 0)
		before := w.Stats().Commits
		w.deliver(10, 10)
		w.fire(10, 10)
		w.claimEffects("p", 10)
		w.takeBroadcasts("p", 0, 10)
		w.due()
		want(w, "idle outboxes", w.Stats().Commits-before, 0)
	}},
	{"G12/an_ended_ctx_writes_nothing", func(w *world) {
		ctx, cancel := context.WithCancel(w.ctx())
		cancel()
		e := message("a")
		err := w.Flush(ctx, &store.Flush{Enqueues: []*store.Enqueue{e}})
		want(w, "error", errors.Is(err, context.Canceled), true)
		w.gone(e.Message.ID)
		want(w, "sequence", w.tell("a").Message.Sequence, 1)
	}},
	{"G12/an_empty_flush", func(w *world) { w.flush(&store.Flush{}) }},
	{"D17/what_a_store_returns_is_not_shared", func(w *world) {
		a := w.ask("p", "a")
		c := finishing(&a.Turn)
		c.State = json.RawMessage(`{"n":1}`)
		w.commit(c)
		snap := w.snapshot("a")
		for i := range snap.State {
			snap.State[i] = 'x'
		}
		c.State[0] = 'y'
		want(w, "state", string(w.snapshot("a").State), `{"n":1}`)
	}},
}

// counted flushes and checks how many commits it took; what it took in statements is printed.
func (w *world) counted(what string, f *store.Flush, commits int64) {
	w.Helper()
	before := w.Stats()
	w.flush(f)
	after := w.Stats()
	want(w, what+": commits", after.Commits-before.Commits, commits)
	w.Logf("%-20s %5d statements", what, after.Statements-before.Statements)
	for _, e := range f.Enqueues {
		if e.Activation == nil {
			w.Fatalf("%s: %s, not claimed", what, e.Outcome)
		}
	}
	for _, c := range f.Commits {
		want(w, what, c.Outcome, store.Done)
	}
	for _, r := range f.Renewals {
		want(w, what, r.Outcome, store.Done)
	}
}
