package storetest

import (
	"encoding/json"
	"time"

	"github.com/lockstep-go/lockstep/actors"
	"github.com/lockstep-go/lockstep/runtime/store"
)

// full is a commit that holds one of everything.
func full(t *store.Turn) *store.Commit {
	c := finishing(t)
	c.Effects = []store.Effect{{ID: newID(), Name: "charge", Arguments: json.RawMessage(`{"cents":5}`), Done: "paid", Failed: "declined", MaxAttempts: 2}}
	c.Reminders = []store.Reminder{{ID: newID(), Operation: "expire", Arguments: json.RawMessage(`{}`), When: actors.In(time.Hour)}}
	c.Sends = []store.Send{{ID: newID(), To: key("target"), Message: store.Message{Operation: "hold", Arguments: json.RawMessage(`[1]`), MaxAttempts: 4}}}
	c.Broadcast = &store.Broadcast{ID: newID(), Actor: key(t.ActorID), Names: []string{"items"}}
	return c
}

var turnTests = []test{
	{"G12/one_commit_holds_everything", func(w *world) {
		a := w.ask("p", "a")
		c := full(&a.Turn)
		c.Version = 7
		before := w.Stats()
		want(w, "outcome", w.commit(c).Outcome, store.Done)
		want(w, "commits", w.Stats().Commits-before.Commits, 1)
		snap := w.snapshot("a")
		want(w, "stamp", snap.Stamp, actors.Stamp{Instance: a.Fence.Instance, Revision: 1, Message: a.ID})
		want(w, "state", string(snap.State), `{"n":1}`)
		want(w, "version", snap.Version, 7)
		want(w, "broadcast", snap.Broadcast, 1)
		m := w.stored(a.ID)
		want(w, "status", m.Status, store.Completed)
		want(w, "result", string(m.Result), "1")
		want(w, "finished", near(m.FinishedAt, w.now()), true)
		d := w.due()
		want(w, "effect due", near(d.Effects, w.now()), true)
		want(w, "send due", near(d.Sends, w.now()), true)
		want(w, "reminder due", near(d.Reminders, w.now().Add(time.Hour)), true)
		want(w, "alarms", len(w.alarms(a.Fence.Instance)), 1)
		want(w, "not claimed any more", len(w.scan("q", 10)), 0)
		want(w, "the lease is kept", w.renew(a.Fence, lease).Outcome, store.Done)
	}},
	{"G12/all_or_none", func(w *world) {
		// An effect id that exists makes the database refuse the commit for its content.
		a := w.ask("p", "a")
		c := full(&a.Turn)
		w.commit(c)
		b := w.ask("p", "b")
		bad := full(&b.Turn)
		bad.Effects = append(bad.Effects, store.Effect{ID: c.Effects[0].ID, Name: "charge", MaxAttempts: 1})
		neighbour := w.ask("p", "c")
		good := finishing(&neighbour.Turn)
		late := message("d")
		w.flush(&store.Flush{Commits: []*store.Commit{bad, good}, Enqueues: []*store.Enqueue{late}})
		want(w, "the culprit", bad.Outcome, store.Refused)
		want(w, "its error is told", bad.Err != nil, true)
		want(w, "its neighbour", good.Outcome, store.Done)
		want(w, "its neighbour's state", string(w.snapshot("c").State), `{"n":1}`)
		want(w, "an enqueue behind it", late.Outcome, store.Done)
		want(w, "state", w.snapshot("b").State == nil, true)
		want(w, "message", w.waits(b.ID), "running")
		want(w, "alarms", len(w.alarms(b.Fence.Instance)), 0)
		effects, err := w.ClaimEffects(w.ctx(), "p", []string{"charge"}, 10, lease)
		w.must(err)
		want(w, "effects", len(effects), 1)
		sent, err := w.Deliver(w.ctx(), 10, 100, time.Second)
		w.must(err)
		want(w, "sends", len(sent), 1)
		w.done(&b.Turn)
	}},
	{"G12/revision_is_the_last_sequence_that_committed_state", func(w *world) {
		a := w.ask("p", "a")
		w.done(&a.Turn)
		for i := range 3 {
			w.tell("a")
			b := w.take("p")
			c := finishing(&b.Turn)
			if i < 2 {
				c.State = nil
			}
			w.commit(c)
			want(w, "revision", w.snapshot("a").Revision, map[bool]int64{true: 1, false: 4}[i < 2])
		}
	}},
	{"G12/snapshot_of_an_actor_that_never_committed", func(w *world) {
		e := w.tell("a")
		w.sameSnapshot("snapshot", w.snapshot("a"), actors.Snapshot{Stamp: actors.Stamp{Instance: e.Message.Instance}})
	}},
	{"G12/an_outbox_item_is_due_after_the_databases_now", func(w *world) {
		w.pass(1000 * time.Hour)
		a := w.ask("p", "a")
		c := full(&a.Turn)
		w.commit(c)
		want(w, "reminder", near(w.due().Reminders, w.now().Add(time.Hour)), true)
	}},
	{"G15/a_rejection_is_final", func(w *world) {
		w.tell("a")
		second := w.tell("a")
		a := w.take("p")
		c := finishing(&a.Turn)
		c.Status, c.Result, c.State = store.Rejected, nil, nil
		c.Rejection = json.RawMessage(`{"code":"closed","message":"no"}`)
		c.Next = true
		want(w, "outcome", w.commit(c).Outcome, store.Done)
		m := w.stored(a.ID)
		want(w, "status", m.Status, store.Rejected)
		want(w, "rejection", string(m.Rejection), `{"code":"closed","message":"no"}`)
		want(w, "no result", m.Result == nil, true)
		want(w, "no state", w.snapshot("a").State == nil, true)
		want(w, "no dead letter", len(w.dead()), 0)
		if c.Turn == nil || c.Turn.ID != second.Message.ID {
			w.Fatal("the next sequence does not run")
		}
	}},
	{"G12/commits_in_one_flush_see_each_other", func(w *world) {
		// A turn's commit and the next enqueue for the same activation share a flush.
		a := w.ask("p", "a")
		c := finishing(&a.Turn)
		e := message("a")
		e.Claim, e.Held = claim("p"), &a.Fence
		before := w.Stats()
		w.flush(&store.Flush{Commits: []*store.Commit{c}, Enqueues: []*store.Enqueue{e}})
		want(w, "commits", w.Stats().Commits-before.Commits, 1)
		want(w, "commit", c.Outcome, store.Done)
		if e.Activation == nil {
			w.Fatal("not claimed")
		}
		want(w, "again", e.Activation.Again, true)
		want(w, "sequence", e.Activation.Sequence, 2)
	}},
}

var failureTests = []test{
	{"G16/a_failure_is_retried_after_its_backoff", func(w *world) {
		a := w.ask("p", "a")
		f := failing(&a.Turn)
		f.Backoff = 10 * time.Second
		want(w, "outcome", w.fail(f).Outcome, store.Done)
		want(w, "due", near(f.Due, w.now().Add(10*time.Second)), true)
		m := w.stored(a.ID)
		want(w, "error", m.ErrorKind, "*errors.errorString")
		want(w, "attempts", m.Attempts, 1)
		want(w, "available", near(m.AvailableAt, w.now().Add(10*time.Second)), true)
		want(w, "the lease is given back", w.renew(a.Fence, lease).Outcome, store.Fenced)
		w.pass(9 * time.Second)
		want(w, "too early", len(w.scan("p", 10)), 0)
		w.pass(2 * time.Second)
		b := w.take("q")
		want(w, "attempts", b.Attempts, 2)
		want(w, "state is that of before", b.Snapshot.State == nil, true)
	}},
	{"G16/a_final_failure_is_a_dead_letter_and_the_next_runs", func(w *world) {
		w.tell("a")
		second := w.tell("a")
		a := w.take("p")
		f := failing(&a.Turn)
		f.Final, f.Next, f.Stack = true, true, "stack"
		want(w, "outcome", w.fail(f).Outcome, store.Done)
		if f.Turn == nil || f.Turn.ID != second.Message.ID {
			w.Fatal("the next sequence does not run")
		}
		want(w, "fence", f.Turn.Fence, a.Fence)
		m := w.stored(a.ID)
		want(w, "status", m.Status, store.Dead)
		want(w, "finished", m.FinishedAt.IsZero(), false)
		list := w.dead()
		if len(list) != 1 {
			w.Fatalf("%d dead letters", len(list))
		}
		d := list[0]
		want(w, "kind", d.ErrorKind, "*errors.errorString")
		want(w, "text", d.ErrorText, "no")
		want(w, "message", d.Message.ID, a.ID)
		want(w, "actor", d.Message.ActorID, "a")
		want(w, "type", d.Message.Type, typ)
		want(w, "operation", d.Message.Operation, "add")
		want(w, "arguments", string(d.Message.Arguments), `{"qty":1}`)
		want(w, "attempts", d.Message.Attempts, 1)
		want(w, "status of the letter's message", d.Message.Status, store.Dead)
		want(w, "failed", near(d.FailedAt, w.now()), true)
		w.done(f.Turn)
	}},
	{"G16/a_message_without_an_attempt_left_is_not_claimed", func(w *world) {
		// Its process died in the last attempt, and it was given back: a scan buries it and looks at the next.
		w.tell("a")
		second := w.tell("a")
		for range 3 {
			a := w.take("p")
			want(w, "sequence", a.Sequence, 1)
			w.release(a.Fence, false)
		}
		s := &store.Scan{Claim: *claim("q"), Types: []string{typ}, Limit: 1}
		w.scanWith(s)
		want(w, "dead", len(s.Dead), 1)
		want(w, "kind", s.Dead[0].ErrorKind, "owner lost")
		want(w, "attempts", s.Dead[0].Message.Attempts, 3)
		if len(s.Activations) != 1 || s.Activations[0].ID != second.Message.ID {
			w.Fatal("the next message is not claimed")
		}
		want(w, "letters", len(w.dead()), 1)
	}},
	{"D19/a_message_that_kills_its_process_ends", d19},
	{"D19/graceful_hand_backs_use_no_attempt", func(w *world) {
		w.tell("a")
		for range 10 {
			w.register(w.Store, "p")
			want(w, "attempt", w.take("p").Attempts, 1)
			rec, err := w.Leave(w.ctx(), "p")
			w.must(err)
			want(w, "messages", rec.Messages, 1)
			want(w, "dead", len(rec.Dead), 0)
		}
	}},
	{"D20/backoff_stays_in_range", func(w *world) {
		for i, d := range []time.Duration{-time.Hour, 0, time.Nanosecond, 24 * 365 * 100 * time.Hour, 1<<63 - 1} {
			a := w.ask("p", string(rune('a'+i)))
			f := failing(&a.Turn)
			f.Backoff = d
			want(w, "outcome", w.fail(f).Outcome, store.Done)
			m := w.stored(a.ID)
			want(w, "not before now", m.AvailableAt.Before(w.now().Add(-10*time.Second)), false)
			if d > time.Hour {
				want(w, "not before the backoff", m.AvailableAt.Before(w.now().Add(d-time.Minute)), false)
			}
		}
	}},
}

// d19: recoveries count every attempt; after the limit there is a dead letter with a reason of its own.
func d19(w *world) {
	w.tell("a")
	second := w.tell("a")
	for attempt := 1; attempt <= 3; attempt++ {
		a := w.take("p")
		want(w, "sequence", a.Sequence, 1)
		want(w, "attempt", a.Attempts, attempt)
		w.pass(lease + time.Second)
		rec := w.recover("q")
		want(w, "given back", rec.Messages, 1)
		want(w, "buried", len(rec.Dead), map[bool]int{true: 1}[attempt == 3])
	}
	list := w.dead()
	if len(list) != 1 {
		w.Fatalf("%d dead letters", len(list))
	}
	want(w, "kind", list[0].ErrorKind, "owner lost")
	want(w, "attempts", list[0].Message.Attempts, 3)
	a := w.take("p")
	want(w, "the next sequence", a.ID, second.Message.ID)
	want(w, "its attempt", a.Attempts, 1)
}

// bury makes a dead letter of one message to an actor.
func (w *world) bury(actor string) store.Message {
	w.Helper()
	a := w.ask("p", actor)
	f := failing(&a.Turn)
	f.Final, f.Yield = true, true
	w.fail(f)
	return a.Message
}

var deadLetterTests = []test{
	{"G17/a_retry_is_a_new_message_at_the_tail", func(w *world) {
		m := w.bury("a")
		w.tell("a")
		id := newID()
		again, o, err := w.Retry(w.ctx(), m.ID, id, 100)
		w.must(err)
		want(w, "outcome", o, store.Done)
		want(w, "id", again.ID, id)
		want(w, "sequence", again.Sequence, 3)
		stored := w.stored(id)
		want(w, "operation", stored.Operation, "add")
		want(w, "arguments", string(stored.Arguments), `{"qty":1}`)
		want(w, "origin", stored.Origin, store.FromOperator)
		want(w, "attempts", stored.Attempts, 0)
		want(w, "max attempts", stored.MaxAttempts, 3)
		want(w, "history is not rewritten", w.stored(m.ID).Status, store.Dead)
		want(w, "replacement", w.dead()[0].Replacement, id)
	}},
	{"D24/pressed_twice", func(w *world) {
		m := w.bury("a")
		first, o, err := w.Retry(w.ctx(), m.ID, newID(), 100)
		w.must(err)
		want(w, "outcome", o, store.Done)
		for range 3 {
			again, o, err := w.Retry(w.ctx(), m.ID, newID(), 100)
			w.must(err)
			want(w, "outcome", o, store.Duplicate)
			want(w, "message", again.ID, first.ID)
		}
		want(w, "one message", w.tell("a").Message.Sequence, 3)
	}},
	{"D24/full_mailbox", func(w *world) {
		m := w.bury("a")
		w.tell("a")
		_, o, err := w.Retry(w.ctx(), m.ID, newID(), 1)
		w.must(err)
		want(w, "full", o, store.Full)
		_, o, err = w.Retry(w.ctx(), m.ID, newID(), 2)
		w.must(err)
		want(w, "later", o, store.Done)
	}},
	{"D24/destroyed_actor", func(w *world) {
		m := w.bury("a")
		_, err := w.Destroy(w.ctx(), key("a"))
		w.must(err)
		w.tell("a")
		_, o, err := w.Retry(w.ctx(), m.ID, newID(), 100)
		w.must(err)
		want(w, "outcome", o, store.Missing)
		want(w, "nothing was created", w.tell("a").Message.Sequence, 2)
		_, o, err = w.Retry(w.ctx(), "no-such-letter", newID(), 100)
		w.must(err)
		want(w, "unknown", o, store.Missing)
	}},
	{"D24/the_key_was_used", func(w *world) {
		e := keyed("a", "k", "add", "f")
		e.Claim = claim("p")
		w.enqueue(e)
		f := failing(&e.Activation.Turn)
		f.Final, f.Yield = true, true
		w.fail(f)
		_, o, err := w.Retry(w.ctx(), e.Message.ID, newID(), 100)
		w.must(err)
		want(w, "outcome", o, store.Done)
		want(w, "the key is still the first's", w.enqueue(keyed("a", "k", "add", "f")).Message.Status, store.Dead)
	}},
	{"G17/newest_first", func(w *world) {
		var ids []string
		for range 3 {
			ids = append(ids, w.bury("a").ID)
			w.pass(time.Second)
		}
		list, err := w.DeadLetters(w.ctx(), 2)
		w.must(err)
		if len(list) != 2 || list[0].Message.ID != ids[2] || list[1].Message.ID != ids[1] {
			w.Errorf("dead letters: %v", list)
		}
	}},
}
