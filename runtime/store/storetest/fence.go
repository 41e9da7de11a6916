package storetest

import (
	"time"

	"github.com/lockstep-go/lockstep/runtime/store"
)

var fenceTests = []test{
	{"G7/stale_owner_writes_nothing", func(w *world) {
		// Each verb, by a fence that differs in one part, and by one whose lease is over.
		for _, v := range verbs {
			spoil := map[string]func(*store.Turn){
				"owner":      func(t *store.Turn) { t.Owner = "q" },
				"token":      func(t *store.Turn) { t.Token = "other" },
				"generation": func(t *store.Turn) { t.Generation++ },
				"instance":   func(t *store.Turn) { t.Fence.Instance = newID() },
			}
			for part, change := range spoil {
				actor := v.name + part
				a := w.ask("p", actor)
				stale := a.Turn
				change(&stale)
				want(w, v.name+" with another "+part, v.run(w, &stale), store.Fenced)
				w.untouched(actor, a)
				w.done(&a.Turn)
			}
		}
	}},
	{"G7/expired_owner_writes_nothing", func(w *world) {
		for _, v := range verbs {
			a := w.ask("p", v.name)
			w.pass(lease)
			want(w, v.name+" after the lease", v.run(w, &a.Turn), store.Fenced)
			w.untouched(v.name, a)
		}
	}},
	{"G7/a_lease_holds_to_its_end", func(w *world) {
		a := w.ask("p", "a")
		w.pass(lease - 5*time.Second) // with room for a slow machine
		want(w, "commit", w.commit(finishing(&a.Turn)).Outcome, store.Done)
	}},
	{"G7/a_commit_needs_the_claimed_message", func(w *world) {
		a := w.ask("p", "a")
		second := w.tell("a")
		t := a.Turn
		t.ID, t.Sequence = second.Message.ID, 2
		want(w, "a message that only waits", w.commit(finishing(&t)).Outcome, store.Fenced)
		t.ID, t.Sequence = a.ID, 2
		want(w, "another sequence", w.commit(finishing(&t)).Outcome, store.Fenced)
		w.untouched("a", a)
		w.done(&a.Turn)
		t.ID, t.Sequence = second.Message.ID, 2
		want(w, "one that was not claimed", w.commit(finishing(&t)).Outcome, store.Fenced)
		want(w, "its status", w.stored(second.Message.ID).Status, store.Live)
	}},
	{"G8/a_waking_owner_commits_nothing_after_takeover", func(w *world) {
		for _, v := range verbs {
			a := w.ask("p", v.name)
			w.pass(lease + time.Second)
			w.recover("q")
			b := w.take("q")
			want(w, "taken over", b.ID, a.ID)
			want(w, "generation", b.Generation, a.Generation+1)
			want(w, "attempt", b.Attempts, 2)
			want(w, v.name+" of the old owner", v.run(w, &a.Turn), store.Fenced)
			w.untouched(v.name, b)
			w.done(&b.Turn)
			want(w, v.name+" of the old owner after the new one's commit", v.run(w, &a.Turn), store.Fenced)
			want(w, "status", w.stored(a.ID).Status, store.Completed)
		}
	}},
	{"G9/renewal", func(w *world) {
		a := w.ask("p", "a")
		for range 5 {
			w.pass(lease / 2)
			r := w.renew(a.Fence, lease)
			want(w, "outcome", r.Outcome, store.Done)
			want(w, "until", near(r.Until, w.now().Add(lease)), true)
		}
		w.recover("q")
		want(w, "nobody takes it over", len(w.scan("q", 10)), 0)
		w.done(&a.Turn)
	}},
	{"D09/the_wait_for_the_flush_in_front_counts", func(w *world) {
		// The clock is read when the work is done, not when it was asked for: between the two the lease ends.
		for _, v := range verbs {
			a := w.ask("p", v.name)
			w.pass(lease - time.Millisecond)
			w.pass(time.Second) // the flush in front
			want(w, v.name, v.run(w, &a.Turn), store.Fenced)
		}
		a := w.ask("p", "again")
		w.pass(lease + time.Second)
		want(w, "renewal of an expired lease", w.renew(a.Fence, time.Hour).Outcome, store.Fenced)
		as := w.scanWith(&store.Scan{Claim: *claim("q"), Types: []string{typ}, Limit: 1, Only: a.Fence.Instance})
		if len(as) != 1 {
			w.Fatalf("%d activations", len(as))
		}
		b := as[0]
		want(w, "a new lease lies in the future", b.Lease.After(w.now().Add(lease-10*time.Second)), true)
	}},
	{"D10/the_generation_never_starts_again", d10},
	{"D10/both_owners_in_one_process", func(w *world) {
		a := w.ask("p", "a")
		want(w, "release", w.release(a.Fence, true), store.Done)
		b := w.take("p")
		want(w, "same message", b.ID, a.ID)
		for _, v := range verbs {
			want(w, v.name, v.run(w, &a.Turn), store.Fenced)
			w.untouched("a", b)
		}
		w.done(&b.Turn)
	}},
	{"D14/a_fresh_claim_of_an_old_actor_is_not_stale", func(w *world) {
		a := w.ask("p", "a")
		w.done(&a.Turn)
		w.release(a.Fence, false)
		w.pass(time.Hour)
		a = w.ask("p", "a")
		rec := w.recover("q")
		want(w, "recovered", rec.Messages, 0)
		w.done(&a.Turn)
	}},
}

// untouched checks that a claimed turn is as it was, with nothing of a stale one in the database.
func (w *world) untouched(actor string, a *store.Activation) {
	w.Helper()
	m := w.stored(a.ID)
	want(w, "status", m.Status, store.Live)
	want(w, "attempts", m.Attempts, a.Attempts)
	want(w, "error", m.ErrorKind, "")
	want(w, "waiting", w.waits(a.ID), "running")
	w.sameSnapshot("snapshot", w.snapshot(actor), a.Snapshot)
	want(w, "alarms", len(w.alarms(a.Fence.Instance)), 0)
	d := w.due()
	want(w, "effects", d.Effects.IsZero(), true)
	want(w, "sends", d.Sends.IsZero(), true)
	want(w, "dead letters", len(w.dead()), 0)
	got, err := w.TakeBroadcasts(w.ctx(), "x", 0, 10)
	w.must(err)
	want(w, "broadcasts", len(got), 0)
}

// d10 clears the owner by each path and lets a second owner be in the middle of a turn.
func d10(w *world) {
	paths := map[string]func(t *store.Turn){
		"release":       func(t *store.Turn) { w.release(t.Fence, false) },
		"setup failure": func(t *store.Turn) { w.release(t.Fence, true) },
		"yield": func(t *store.Turn) {
			w.tell(t.ActorID)
			c := finishing(t)
			c.Yield = true
			w.commit(c)
		},
		"retry": func(t *store.Turn) {
			w.fail(failing(t))
			w.pass(2 * time.Second)
		},
		"dead letter": func(t *store.Turn) {
			w.tell(t.ActorID)
			f := failing(t)
			f.Final, f.Yield = true, true
			w.fail(f)
		},
		"idle timeout": func(t *store.Turn) {
			w.done(t)
			w.release(t.Fence, true)
			w.tell(t.ActorID)
		},
		"process cleanup": func(*store.Turn) {
			w.register(w.Store, "q")
			w.pass(2 * time.Minute) // longer than a heartbeat may be old, and than the lease
			w.Beat(w.ctx(), "q", "running")
			w.recover("q")
		},
		"shutdown": func(t *store.Turn) {
			w.release(t.Fence, true)
			_, err := w.Leave(w.ctx(), "p")
			w.must(err)
		},
		"expiry": func(*store.Turn) {
			w.pass(lease + time.Second)
			w.recover("q")
		},
		"leave": func(*store.Turn) {
			_, err := w.Leave(w.ctx(), "p")
			w.must(err)
		},
		"pause and resume": func(t *store.Turn) {
			for _, paused := range []bool{true, false} {
				_, err := w.Pause(w.ctx(), key(t.ActorID), paused)
				w.must(err)
			}
			w.release(t.Fence, false)
		},
	}
	for name, clear := range paths {
		w.register(w.Store, "p")
		a := w.ask("p", name)
		clear(&a.Turn)
		b := w.take("q")
		want(w, name+": actor", b.ActorID, name)
		if b.Generation <= a.Generation {
			w.Errorf("%s: generation %d after %d", name, b.Generation, a.Generation)
		}
		for _, v := range verbs {
			want(w, name+": "+v.name+" by the old handle", v.run(w, &a.Turn), store.Fenced)
		}
		want(w, name+": the new owner's turn", w.waits(b.ID), "running")
		w.done(&b.Turn)
		w.release(b.Fence, false)
		_, err := w.Destroy(w.ctx(), key(name))
		w.must(err)
	}
}
