package storetest

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/lockstep-go/lockstep/actors"
	"github.com/lockstep-go/lockstep/runtime/store"
)

var mailboxTests = []test{
	{"G1/first_message_makes_the_instance", func(w *world) {
		before := w.now()
		e := w.tell("a")
		m := w.stored(e.Message.ID)
		want(w, "sequence", m.Sequence, 1)
		want(w, "status", m.Status, store.Live)
		want(w, "type", m.Type, typ)
		want(w, "actor", m.ActorID, "a")
		want(w, "arguments", string(m.Arguments), `{"qty":1}`)
		want(w, "attempts", m.Attempts, 0)
		want(w, "enqueued in time", !m.EnqueuedAt.Before(before) && near(m.EnqueuedAt, before), true)
		want(w, "head", e.Head, true)
		want(w, "instance", m.Instance != "" && m.Instance == e.Message.Instance, true)
		snap := w.snapshot("a")
		want(w, "snapshot instance", snap.Instance, m.Instance)
		want(w, "snapshot state", snap.State == nil, true)
		w.sameSnapshot("missing actor", w.snapshot("b"), actors.Snapshot{})
	}},
	{"G1/sequences_have_no_gap", func(w *world) {
		for i := range 10 {
			e := w.tell("a")
			want(w, "sequence", e.Message.Sequence, int64(i+1))
			want(w, "head", e.Head, i == 0)
		}
		e := message("a")
		e.Cap = 10
		want(w, "refused", w.enqueue(e).Outcome, store.Full)
		want(w, "sequence after a refusal", w.tell("a").Message.Sequence, 11)
	}},
	{"G1/cap", func(w *world) {
		for range 3 {
			e := message("a")
			e.Cap = 3
			want(w, "below the cap", w.enqueue(e).Outcome, store.Done)
		}
		e := message("a")
		e.Cap = 3
		w.enqueue(e)
		want(w, "at the cap", e.Outcome, store.Full)
		want(w, "depth", e.Depth, 3)
		w.gone(e.Message.ID)
		a := w.take("p")
		w.done(&a.Turn)
		e = message("a")
		e.Cap = 3
		want(w, "after one is done", w.enqueue(e).Outcome, store.Done)
		w.enqueue(message("a")) // no cap
	}},
	{"G1/cap_counts_the_claimed_message", func(w *world) {
		w.ask("p", "a")
		e := message("a")
		e.Cap = 1
		want(w, "outcome", w.enqueue(e).Outcome, store.Full)
	}},
	{"G1/later_items_see_earlier_ones", func(w *world) {
		a, b := message("a"), message("a")
		c := message("a")
		c.Cap = 2
		w.flush(&store.Flush{Enqueues: []*store.Enqueue{a, b, c}})
		want(w, "first", a.Message.Sequence, 1)
		want(w, "second", b.Message.Sequence, 2)
		want(w, "same instance", b.Message.Instance, a.Message.Instance)
		want(w, "third", c.Outcome, store.Full)
	}},
	{"G4/finished_history_is_not_claimed_again", func(w *world) {
		for range 20 {
			a := w.ask("p", "a")
			w.done(&a.Turn)
			want(w, "release", w.release(a.Fence, false), store.Done)
		}
		want(w, "claims", len(w.scan("q", 100)), 0)
		want(w, "due", w.due().Messages.IsZero(), true)
	}},
	{"G5/head_blocks_the_mailbox_and_nobody_else", func(w *world) {
		first := message("a")
		first.When = actors.In(time.Hour)
		w.enqueue(first)
		second := w.tell("a")
		other := w.tell("b")
		a := w.take("p")
		want(w, "claimed", a.ID, other.Message.ID)
		want(w, "the head waits", w.waits(first.Message.ID), "not_yet_available")
		want(w, "the rest waits", w.waits(second.Message.ID), "earlier_message")
		want(w, "due", near(w.due().Messages, w.now().Add(time.Hour)), true)
		w.done(&a.Turn)
		w.pass(time.Hour + time.Second)
		a = w.take("p")
		want(w, "head first", a.ID, first.Message.ID)
		w.done(&a.Turn)
		want(w, "then the next", w.take("p").ID, second.Message.ID)
	}},
	{"G5/only_the_head_is_ever_claimed", func(w *world) {
		for range 5 {
			w.tell("a")
		}
		a := w.take("p")
		want(w, "first", a.Sequence, 1)
		want(w, "nothing else", len(w.scan("q", 10)), 0)
		want(w, "nothing else for the owner either", len(w.scan("p", 10)), 0)
		for i := int64(2); i <= 5; i++ {
			w.done(&a.Turn)
			if a = w.take("p"); a.Sequence != i {
				w.Fatalf("sequence %d after %d", a.Sequence, i-1)
			}
		}
	}},
	{"G5/a_query_moves_no_revision", func(w *world) {
		a := w.ask("p", "a")
		w.done(&a.Turn)
		before := w.snapshot("a")
		w.tell("a")
		b := w.take("p")
		c := finishing(&b.Turn)
		c.State, c.Result = nil, json.RawMessage(`[7]`)
		want(w, "outcome", w.commit(c).Outcome, store.Done)
		want(w, "result", string(w.stored(b.ID).Result), `[7]`)
		w.sameSnapshot("snapshot", w.snapshot("a"), before)
	}},
	{"G5/available_at", func(w *world) {
		past := message("a")
		past.When = actors.At(w.now().Add(-time.Hour))
		w.enqueue(past)
		want(w, "the past is now", near(past.Message.AvailableAt, w.now()), true)
		at := w.now().Add(90 * time.Minute).Truncate(time.Microsecond)
		later := message("b")
		later.When = actors.At(at)
		later.Claim = claim("p")
		w.enqueue(later)
		want(w, "not claimed", later.Activation == nil, true)
		want(w, "available", w.stored(later.Message.ID).AvailableAt.Equal(at), true)
	}},
	{"D25/a_retrying_head_holds_the_tail", d25},
	{"G1/documents_byte_for_byte", func(w *world) {
		docs := []string{`{"b":1, "a" : 2,"b":3}`, `1e2`, `-0`, `9007199254740993`, `"é\u00e9😀 <>&"`, `[ ]`, `null`, `"` + strings.Repeat("x", 100_000) + `"`}
		for i, doc := range docs {
			e := message(fmt.Sprint("a", i))
			e.Message.Arguments, e.Message.Meta = json.RawMessage(doc), json.RawMessage(doc)
			e.Claim = claim("p")
			w.enqueue(e)
			want(w, "claimed arguments", string(e.Activation.Arguments), doc)
			c := finishing(&e.Activation.Turn)
			c.State, c.Result = json.RawMessage(doc), json.RawMessage(doc)
			want(w, "outcome", w.commit(c).Outcome, store.Done)
			m := w.stored(e.Message.ID)
			want(w, "arguments", string(m.Arguments), doc)
			want(w, "meta", string(m.Meta), doc)
			want(w, "result", string(m.Result), doc)
			want(w, "state", string(w.snapshot(m.ActorID).State), doc)
		}
		e := message("none")
		e.Message.Arguments = nil
		want(w, "no arguments", w.stored(w.enqueue(e).Message.ID).Arguments == nil, true)
	}},
	{"G20/what_a_message_waits_for", func(w *world) {
		a := w.ask("p", "a")
		want(w, "claimed", w.waits(a.ID), "running")
		w.fail(failing(&a.Turn))
		want(w, "failed", w.waits(a.ID), "retry")
		w.pass(2 * time.Second)
		want(w, "again due", w.waits(a.ID), "ready")
		b := w.ask("p", "b")
		w.done(&b.Turn)
		held := w.tell("b")
		want(w, "its actor is held", w.waits(held.Message.ID), "activation_held")
		want(w, "released", w.release(b.Fence, false), store.Done)
		want(w, "free", w.waits(held.Message.ID), "ready")
		_, err := w.Pause(w.ctx(), key("b"), true)
		w.must(err)
		want(w, "paused", w.waits(held.Message.ID), "paused")
		want(w, "finished", w.waits(b.ID), "")
		w.gone("no-such-message")
	}},
}

// d25: the first fails twice, the second was available earlier than the first, the third is due in an hour.
func d25(w *world) {
	var ids []string
	for i := range 5 {
		e := message("a")
		if i == 2 {
			e.When = actors.In(time.Hour)
		}
		ids = append(ids, w.enqueue(e).Message.ID)
	}
	other := w.second()
	var ran []string
	for step := range 3 {
		a := w.take("p")
		ran = append(ran, a.ID)
		want(w, "attempt", a.Attempts, step+1)
		s := &store.Scan{Claim: *claim("q"), Types: []string{typ}, Limit: 50}
		w.must(other.Flush(w.ctx(), &store.Flush{Claims: []*store.Scan{s}}))
		want(w, "the other process", len(s.Activations), 0)
		if step == 2 {
			w.done(&a.Turn)
			w.release(a.Fence, false)
			break
		}
		want(w, "failure", w.fail(failing(&a.Turn)).Outcome, store.Done)
		want(w, "nothing runs during the backoff", len(w.scan("q", 50)), 0)
		w.pass(time.Second + time.Millisecond)
	}
	a := w.take("p")
	ran = append(ran, a.ID)
	want(w, "attempts of the second count only its own", a.Attempts, 1)
	w.done(&a.Turn)
	want(w, "order", fmt.Sprint(ran), fmt.Sprint([]string{ids[0], ids[0], ids[0], ids[1]}))
	want(w, "the third holds the fourth", len(w.scan("p", 50)), 0)
	want(w, "fourth", w.waits(ids[3]), "earlier_message")
}
