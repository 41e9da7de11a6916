package storetest

import (
	"encoding/json"
	"fmt"
	"time"

	"github.com/lockstep-go/lockstep/actors"
	"github.com/lockstep-go/lockstep/runtime/store"
)

var ownershipTests = []test{
	{"G6/a_claim_sets_owner_token_expiry_generation", func(w *world) {
		e := w.tell("a")
		s := &store.Scan{Claim: store.Claim{Owner: "p", Token: "tok", Lease: time.Minute}, Types: []string{typ}, Limit: 1}
		before := w.now()
		as := w.scanWith(s)
		if len(as) != 1 {
			w.Fatalf("%d activations", len(as))
		}
		a := as[0]
		want(w, "fence", a.Fence, store.Fence{Instance: e.Message.Instance, Owner: "p", Token: "tok-0", Generation: 1})
		want(w, "lease", a.Lease.Sub(a.Claimed), time.Minute)
		want(w, "claimed now", near(a.Claimed, before), true)
		want(w, "attempt counted", a.Attempts, 1)
		want(w, "attempt stored", w.stored(a.ID).Attempts, 1)
		want(w, "message", a.ID, e.Message.ID)
		want(w, "type", a.Type, typ)
		want(w, "actor", a.ActorID, "a")
	}},
	{"G6/an_enqueue_claims_what_it_made", func(w *world) {
		a := w.ask("p", "a")
		want(w, "generation", a.Generation, 1)
		want(w, "owner", a.Owner, "p")
		want(w, "attempts", a.Attempts, 1)
		want(w, "again", a.Again, false)
		want(w, "stored attempts", w.stored(a.ID).Attempts, 1)
		want(w, "nobody else", len(w.scan("q", 10)), 0)
	}},
	{"G6/an_enqueue_does_not_claim_past_others", func(w *world) {
		w.tell("queued")
		e := message("queued")
		e.Claim = claim("p")
		want(w, "behind a waiting head", w.enqueue(e).Activation == nil, true)
		a := w.ask("p", "held")
		w.done(&a.Turn)
		e = message("held")
		e.Claim = claim("q")
		want(w, "a lease of another", w.enqueue(e).Activation == nil, true)
		want(w, "it waits", e.Head, true)
		w.ask("p", "running")
		e = message("running")
		e.Claim = claim("p")
		want(w, "behind a running head", w.enqueue(e).Activation == nil, true)
		want(w, "it is not the head", e.Head, false)
	}},
	{"G6/a_lease_without_a_matching_held_is_left_to_a_scan", func(w *world) {
		a := w.ask("p", "a")
		w.done(&a.Turn)
		e := message("a")
		e.Claim = claim("p")
		want(w, "not claimed", w.enqueue(e).Activation == nil, true)
		want(w, "it waits", e.Head, true)
		b := w.take("p")
		want(w, "the owner's scan keeps the fence", b.Fence, a.Fence)
		want(w, "message", b.ID, e.Message.ID)
		want(w, "state comes along", string(b.Snapshot.State), `{"n":1}`)
	}},
	{"G6/an_enqueue_keeps_a_held_activation", func(w *world) {
		a := w.ask("p", "a")
		w.done(&a.Turn)
		w.pass(20 * time.Second)
		e := message("a")
		e.Claim, e.Held = claim("p"), &a.Fence
		w.enqueue(e)
		if e.Activation == nil {
			w.Fatal("not claimed")
		}
		want(w, "again", e.Activation.Again, true)
		want(w, "fence", e.Activation.Fence, a.Fence)
		want(w, "sequence", e.Activation.Sequence, 2)
		want(w, "attempts", e.Activation.Attempts, 1)
		want(w, "no state", e.Activation.Snapshot.State == nil, true)
		want(w, "the lease lasts", e.Activation.Lease.After(w.now()), true)
		w.done(&e.Activation.Turn)
	}},
	{"G6/a_held_activation_that_expired_is_not_kept", func(w *world) {
		a := w.ask("p", "a")
		w.done(&a.Turn)
		w.pass(lease + time.Second)
		e := message("a")
		e.Claim, e.Held = claim("p"), &a.Fence
		w.enqueue(e)
		if e.Activation == nil {
			w.Fatal("a free lease was not claimed")
		}
		want(w, "again", e.Activation.Again, false)
		want(w, "generation", e.Activation.Generation, 2)
		want(w, "state comes along", string(e.Activation.Snapshot.State), `{"n":1}`)
		want(w, "revision", e.Activation.Snapshot.Revision, 1)
	}},
	{"G6/a_held_activation_does_not_run_ahead_of_the_queue", func(w *world) {
		a := w.ask("p", "a")
		want(w, "behind its own running message", w.enqueueHeld(a, "a") == nil, true)
		w.done(&a.Turn)
		want(w, "behind one that waits", w.enqueueHeld(a, "a") == nil, true)
		want(w, "in order", w.take("p").Sequence, 2)
	}},
	{"G6/held_of_another_actor_is_not_kept", func(w *world) {
		a := w.ask("p", "a")
		w.done(&a.Turn)
		e := message("b")
		e.Claim, e.Held = claim("p"), &a.Fence
		w.enqueue(e)
		if e.Activation == nil {
			w.Fatal("not claimed")
		}
		want(w, "its own instance", e.Activation.Fence.Instance != a.Fence.Instance, true)
		want(w, "sequence", e.Activation.Sequence, 1)
	}},
	{"G6/scan_takes_no_more_than_its_limit_longest_wait_first", func(w *world) {
		for i := range 8 {
			w.tell(fmt.Sprint("a", i))
			w.pass(time.Second)
		}
		seen := map[string]bool{}
		for round := range 3 {
			as := w.scan(fmt.Sprint("p", round), 3)
			want(w, "taken", len(as), min(3, 8-3*round))
			for i, a := range as {
				want(w, "order", a.ActorID, fmt.Sprint("a", 3*round+i))
				want(w, "claimed once", seen[a.ActorID], false)
				seen[a.ActorID] = true
			}
		}
	}},
	{"G6/scan_takes_only_the_types_it_knows", func(w *world) {
		e := message("a")
		e.Message.Type = "stranger"
		w.enqueue(e)
		w.tell("b")
		as := w.scan("p", 10)
		if len(as) != 1 || as[0].ActorID != "b" {
			w.Fatalf("got %d activations", len(as))
		}
		want(w, "no types, nothing", len(w.scanWith(&store.Scan{Claim: *claim("p"), Limit: 10})), 0)
		want(w, "due counts known types", w.due().Messages.IsZero(), true)
	}},
	{"G6/scan_skips_and_singles_out", func(w *world) {
		a, b := w.tell("a"), w.tell("b")
		as := w.scanWith(&store.Scan{Claim: *claim("p"), Types: []string{typ}, Limit: 10, Skip: []string{a.Message.Instance}})
		if len(as) != 1 || as[0].ActorID != "b" {
			w.Fatalf("skip: got %d activations", len(as))
		}
		w.tell("c")
		as = w.scanWith(&store.Scan{Claim: *claim("p"), Types: []string{typ}, Limit: 10, Only: a.Message.Instance})
		if len(as) != 1 || as[0].ActorID != "a" {
			w.Fatalf("only: got %d activations", len(as))
		}
		as = w.scanWith(&store.Scan{Claim: *claim("q"), Types: []string{typ}, Limit: 10, Only: b.Message.Instance})
		want(w, "only one that is running", len(as), 0)
	}},
	{"G6/scan_leaves_the_leases_of_others", func(w *world) {
		a := w.ask("p", "a")
		w.done(&a.Turn)
		w.tell("a")
		want(w, "held by p", len(w.scan("q", 10)), 0)
		only := &store.Scan{Claim: *claim("q"), Types: []string{typ}, Limit: 1, Only: a.Fence.Instance}
		want(w, "held by p, singled out", len(w.scanWith(only)), 0)
		w.pass(lease + time.Second)
		want(w, "expired", w.take("q").Generation, 2)
	}},
	{"G6/only_waits_for_what_is_not_due", func(w *world) {
		e := message("a")
		e.When = actors.In(time.Minute)
		w.enqueue(e)
		only := &store.Scan{Claim: *claim("q"), Types: []string{typ}, Limit: 1, Only: e.Message.Instance}
		want(w, "not due", len(w.scanWith(only)), 0)
		w.pass(time.Minute + time.Second)
		want(w, "due", len(w.scanWith(only)), 1)
	}},
	{"G6/only_takes_over_an_expired_claim_at_once", func(w *world) {
		a := w.ask("p", "a")
		w.pass(lease + time.Second)
		as := w.scanWith(&store.Scan{Claim: *claim("q"), Types: []string{typ}, Limit: 1, Only: a.Fence.Instance})
		if len(as) != 1 {
			w.Fatalf("%d activations", len(as))
		}
		want(w, "message", as[0].ID, a.ID)
		want(w, "attempts", as[0].Attempts, 2)
		want(w, "generation", as[0].Generation, 2)
		want(w, "the old owner", w.commit(finishing(&a.Turn)).Outcome, store.Fenced)
	}},
	{"G10/a_setup_failure_costs_no_attempt", func(w *world) {
		for range 10 { // more than the limit of attempts
			w.setupFailure()
		}
		a := w.take("p")
		want(w, "attempts", a.Attempts, 1)
	}},
	{"G10/a_release_without_uncount_keeps_the_attempt", func(w *world) {
		w.tell("a")
		a := w.take("p")
		want(w, "release", w.release(a.Fence, false), store.Done)
		want(w, "attempts", w.take("q").Attempts, 2)
	}},
	{"G30/pause_stops_claims_and_resume_drains_in_order", func(w *world) {
		first, second := w.tell("a"), w.tell("a")
		o, err := w.Pause(w.ctx(), key("a"), true)
		w.must(err)
		want(w, "pause", o, store.Done)
		want(w, "nothing due", w.due().Messages.IsZero(), true)
		want(w, "no claim", len(w.scan("p", 10)), 0)
		e := message("a")
		e.Claim = claim("p")
		want(w, "no claim by an enqueue", w.enqueue(e).Activation == nil, true)
		o, err = w.Pause(w.ctx(), key("a"), false)
		w.must(err)
		want(w, "resume", o, store.Done)
		for _, id := range []string{first.Message.ID, second.Message.ID, e.Message.ID} {
			a := w.take("p")
			want(w, "order", a.ID, id)
			w.done(&a.Turn)
		}
		o, err = w.Pause(w.ctx(), key("nobody"), true)
		w.must(err)
		want(w, "a missing actor", o, store.Missing)
	}},
	{"G30/a_pause_during_a_turn_holds_what_follows", func(w *world) {
		w.tell("a")
		w.tell("a")
		a := w.take("p")
		_, err := w.Pause(w.ctx(), key("a"), true)
		w.must(err)
		c := finishing(&a.Turn)
		c.Next = true
		want(w, "the turn commits", w.commit(c).Outcome, store.Done)
		want(w, "no next", c.Turn == nil, true)
		want(w, "nothing due", w.due().Messages.IsZero(), true)
		want(w, "no claim", len(w.scan("p", 10)), 0)
		_, err = w.Pause(w.ctx(), key("a"), false)
		w.must(err)
		want(w, "then the second", w.take("p").Sequence, 2)
	}},
	{"G30/a_pause_holds_a_kept_activation_too", func(w *world) {
		a := w.ask("p", "a")
		w.done(&a.Turn)
		_, err := w.Pause(w.ctx(), key("a"), true)
		w.must(err)
		want(w, "not claimed", w.enqueueHeld(a, "a") == nil, true)
		want(w, "nothing due", w.due().Messages.IsZero(), true)
		_, err = w.Pause(w.ctx(), key("a"), false)
		w.must(err)
		want(w, "resumed", w.take("p").Sequence, 2)
	}},
	{"G30/a_retry_during_a_pause_waits_for_both", func(w *world) {
		a := w.ask("p", "a")
		_, err := w.Pause(w.ctx(), key("a"), true)
		w.must(err)
		w.fail(failing(&a.Turn))
		w.pass(time.Minute)
		want(w, "paused", len(w.scan("p", 10)), 0)
		_, err = w.Pause(w.ctx(), key("a"), false)
		w.must(err)
		want(w, "resumed", w.take("p").ID, a.ID)
	}},
	{"G32/a_yield_goes_behind_those_that_waited_longer", func(w *world) {
		w.tell("hot")
		w.tell("hot")
		w.pass(time.Second)
		w.tell("other")
		w.pass(time.Second)
		a := w.scan("p", 1)[0]
		want(w, "hot first", a.ActorID, "hot")
		c := finishing(&a.Turn)
		c.Next, c.Yield = true, true
		w.commit(c)
		want(w, "no next", c.Turn == nil, true)
		want(w, "due", near(c.Due, w.now()), true)
		want(w, "the lease is given back", w.renew(a.Fence, lease).Outcome, store.Fenced)
		b := w.scan("q", 1)[0]
		want(w, "other next", b.ActorID, "other")
		b = w.scan("q", 1)[0]
		want(w, "hot again, by anybody", b.ActorID, "hot")
		want(w, "generation", b.Generation, 2)
		want(w, "sequence", b.Sequence, 2)
	}},
	{"G32/a_commit_claims_the_next_due_message", func(w *world) {
		w.tell("a")
		second := w.tell("a")
		third := message("a")
		third.When = actors.In(time.Minute)
		w.enqueue(third)
		a := w.take("p")
		c := finishing(&a.Turn)
		c.Next = true
		w.commit(c)
		if c.Turn == nil {
			w.Fatal("no next turn")
		}
		want(w, "next", c.Turn.ID, second.Message.ID)
		want(w, "fence", c.Turn.Fence, a.Fence)
		want(w, "attempts", c.Turn.Attempts, 1)
		want(w, "stored attempts", w.stored(second.Message.ID).Attempts, 1)
		want(w, "actor", c.Turn.ActorID, "a")
		want(w, "arguments", string(c.Turn.Arguments), `{"qty":1}`)
		want(w, "lease", c.Turn.Lease.Equal(a.Lease), true)
		c = finishing(c.Turn)
		c.Next = true
		w.commit(c)
		want(w, "the third is not due", c.Turn == nil, true)
		want(w, "due in a minute", near(c.Due, w.now().Add(time.Minute)), true)
		want(w, "the lease is kept", w.renew(a.Fence, lease).Outcome, store.Done)
		want(w, "nobody else claims", len(w.scan("q", 10)), 0)
	}},
}

// setupFailure claims the actor "a", anew if need be, and gives it back as after a setup failure.
func (w *world) setupFailure() {
	w.Helper()
	if w.snapshot("a").Instance == "" {
		w.tell("a")
	}
	a := w.take("p")
	want(w, "release", w.release(a.Fence, true), store.Done)
	want(w, "attempts", w.stored(a.ID).Attempts, 0)
	want(w, "ready", w.waits(a.ID), "ready")
}

// enqueueHeld tries to join an activation.
func (w *world) enqueueHeld(a *store.Activation, actor string) *store.Activation {
	w.Helper()
	e := message(actor)
	e.Claim, e.Held = claim(a.Owner), &a.Fence
	return w.enqueue(e).Activation
}

// verbs are all that an activation can do, each by a fence.
var verbs = []struct {
	name string
	run  func(w *world, t *store.Turn) store.Outcome
}{
	{"commit", func(w *world, t *store.Turn) store.Outcome {
		c := finishing(t)
		c.State = json.RawMessage(`"stale"`)
		c.Effects = []store.Effect{{ID: newID(), Name: "charge", MaxAttempts: 1}}
		c.Reminders = []store.Reminder{{ID: newID(), Operation: "stale", When: actors.In(0)}}
		c.Sends = []store.Send{{ID: newID(), To: key("stale"), Message: store.Message{Operation: "x", MaxAttempts: 1}}}
		c.Broadcast = &store.Broadcast{ID: newID(), Names: []string{"stale"}}
		return w.commit(c).Outcome
	}},
	{"commit_without_broadcast", func(w *world, t *store.Turn) store.Outcome {
		c := finishing(t)
		c.State = json.RawMessage(`"stale"`)
		return w.commit(c).Outcome
	}},
	{"query", func(w *world, t *store.Turn) store.Outcome {
		c := finishing(t)
		c.State = nil
		return w.commit(c).Outcome
	}},
	{"rejection", func(w *world, t *store.Turn) store.Outcome {
		c := finishing(t)
		c.State, c.Status, c.Result, c.Rejection = nil, store.Rejected, nil, json.RawMessage(`{"code":"stale"}`)
		return w.commit(c).Outcome
	}},
	{"retry", func(w *world, t *store.Turn) store.Outcome { return w.fail(failing(t)).Outcome }},
	{"dead_letter", func(w *world, t *store.Turn) store.Outcome {
		f := failing(t)
		f.Final = true
		return w.fail(f).Outcome
	}},
	{"release", func(w *world, t *store.Turn) store.Outcome { return w.release(t.Fence, true) }},
	{"renewal", func(w *world, t *store.Turn) store.Outcome { return w.renew(t.Fence, time.Hour).Outcome }},
}
