package storetest

import (
	"encoding/json"
	"fmt"
	"time"

	"github.com/lockstep-go/lockstep/actors"
	"github.com/lockstep-go/lockstep/runtime/store"
)

// emit commits a turn of an actor with effects of two attempts.
func (w *world) emit(actor string, n int) (*store.Activation, []store.Effect) {
	w.Helper()
	a := w.ask("p", actor)
	c := finishing(&a.Turn)
	for range n {
		c.Effects = append(c.Effects, store.Effect{ID: newID(), Name: "charge", Arguments: json.RawMessage(`{"cents":5}`),
			Done: "paid", Failed: "declined", MaxAttempts: 2, Meta: json.RawMessage(`"trace"`)})
	}
	want(w, "emit", w.commit(c).Outcome, store.Done)
	return a, c.Effects
}

func (w *world) claimEffects(owner string, limit int) []store.Effect {
	w.Helper()
	got, err := w.ClaimEffects(w.ctx(), owner, []string{"charge"}, limit, lease)
	w.must(err)
	return got
}

func (w *world) finishEffect(o *store.EffectOutcome) []store.Message {
	w.Helper()
	sent, err := w.FinishEffects(w.ctx(), []*store.EffectOutcome{o})
	w.must(err)
	return sent
}

func outcome(operation string) *store.Message {
	return &store.Message{ID: newID(), Operation: operation, Arguments: json.RawMessage(`{"effect_id":"x"}`), MaxAttempts: 5}
}

var effectTests = []test{
	{"G23/an_effect_is_claimed_once_and_complete", func(w *world) {
		a, effects := w.emit("a", 3)
		got := w.claimEffects("p", 2)
		want(w, "limit", len(got), 2)
		e := got[0]
		want(w, "name", e.Name, "charge")
		want(w, "arguments", string(e.Arguments), `{"cents":5}`)
		want(w, "done", e.Done, "paid")
		want(w, "failed", e.Failed, "declined")
		want(w, "meta", string(e.Meta), `"trace"`)
		want(w, "attempt", e.Attempt, 1)
		want(w, "max attempts", e.MaxAttempts, 2)
		want(w, "instance", e.Instance, a.Fence.Instance)
		want(w, "actor", e.ActorID, "a")
		want(w, "type", e.Type, typ)
		rest := w.claimEffects("q", 10)
		want(w, "the rest", len(rest), 1)
		seen := map[string]bool{got[0].ID: true, got[1].ID: true, rest[0].ID: true}
		for _, e := range effects {
			want(w, "claimed", seen[e.ID], true)
		}
		want(w, "due when a lease is over", near(w.due().Effects, w.now().Add(lease)), true)
		none, err := w.ClaimEffects(w.ctx(), "p", []string{"other"}, 10, lease)
		w.must(err)
		want(w, "other names", len(none), 0)
	}},
	{"G23/success_tells_the_actor", func(w *world) {
		a, effects := w.emit("a", 1)
		w.claimEffects("p", 1)
		o := &store.EffectOutcome{ID: effects[0].ID, Owner: "p", Attempt: 1, Success: true, Message: outcome("paid")}
		o.Message.Meta = json.RawMessage(`{"traceparent":"x"}`)
		sent := w.finishEffect(o)
		want(w, "outcome", o.Outcome, store.Done)
		if len(sent) != 1 {
			w.Fatalf("%d messages", len(sent))
		}
		m := w.stored(o.Message.ID)
		want(w, "instance", m.Instance, a.Fence.Instance)
		want(w, "operation", m.Operation, "paid")
		want(w, "origin", m.Origin, store.FromEffect)
		want(w, "meta", string(m.Meta), `{"traceparent":"x"}`)
		want(w, "sequence", m.Sequence, 2)
		want(w, "returned", sent[0].Sequence, 2)
		want(w, "gone", w.due().Effects.IsZero(), true)
		sent = w.finishEffect(o)
		want(w, "a second end", o.Outcome, store.Missing)
		want(w, "no second message", len(sent), 0)
		want(w, "the actor hears of it", w.take("p").ID, m.ID)
	}},
	{"G23/another_attempt_and_then_the_end", func(w *world) {
		_, effects := w.emit("a", 1)
		id := effects[0].ID
		w.claimEffects("p", 1)
		o := &store.EffectOutcome{ID: id, Owner: "p", Attempt: 1, Again: true, Retry: 10 * time.Second, ErrorKind: "x", ErrorText: "y"}
		w.finishEffect(o)
		want(w, "outcome", o.Outcome, store.Done)
		want(w, "too early", len(w.claimEffects("q", 1)), 0)
		w.pass(11 * time.Second)
		got := w.claimEffects("q", 1)
		if len(got) != 1 {
			w.Fatal("not claimed")
		}
		want(w, "the same id", got[0].ID, id)
		want(w, "attempt", got[0].Attempt, 2)
		stale := &store.EffectOutcome{ID: id, Owner: "p", Attempt: 1, Success: true, Message: outcome("paid")}
		w.finishEffect(stale)
		want(w, "the first attempt's end comes too late", stale.Outcome, store.Missing)
		o = &store.EffectOutcome{ID: id, Owner: "q", Attempt: 2, ErrorKind: "x", ErrorText: "y", Message: outcome("declined")}
		want(w, "message", len(w.finishEffect(o)), 1)
		w.pass(24 * time.Hour)
		want(w, "never again", len(w.claimEffects("q", 1)), 0)
	}},
	{"G23/an_uncounted_attempt_is_not_counted", func(w *world) {
		_, effects := w.emit("a", 1)
		for range 5 {
			got := w.claimEffects("p", 1)
			if len(got) != 1 {
				w.Fatal("not claimed")
			}
			want(w, "attempt", got[0].Attempt, 1)
			w.finishEffect(&store.EffectOutcome{ID: effects[0].ID, Owner: "p", Attempt: 1, Again: true, Uncount: true})
		}
	}},
	{"G23/outcome_messages_have_an_allowance_above_the_cap", func(w *world) {
		_, effects := w.emit("a", 1)
		for range 5 {
			w.tell("a")
		}
		full := message("a")
		full.Cap = 5
		want(w, "the mailbox is full", w.enqueue(full).Outcome, store.Full)
		w.claimEffects("p", 1)
		o := &store.EffectOutcome{ID: effects[0].ID, Owner: "p", Attempt: 1, Success: true, Message: outcome("paid")}
		want(w, "message", len(w.finishEffect(o)), 1)
	}},
	{"G24/a_lost_executor_repeats_with_the_same_id", func(w *world) {
		_, effects := w.emit("a", 1)
		w.claimEffects("p", 1)
		w.pass(lease / 2)
		w.must(w.RenewEffects(w.ctx(), "p", []string{effects[0].ID}, lease))
		w.must(w.RenewEffects(w.ctx(), "q", []string{effects[0].ID}, time.Hour)) // not its own
		w.pass(lease/2 + time.Second)
		want(w, "renewed", len(w.claimEffects("q", 1)), 0)
		w.pass(lease)
		got := w.claimEffects("q", 1)
		if len(got) != 1 || got[0].ID != effects[0].ID {
			w.Fatalf("got %v", got)
		}
		want(w, "attempt", got[0].Attempt, 2)
		w.pass(lease + time.Second)
		got = w.claimEffects("r", 1)
		if len(got) != 1 {
			w.Fatal("an effect whose last attempt was lost is never ended")
		}
		want(w, "above its limit", got[0].Attempt, 3)
	}},
	{"G23/only_the_current_attempt_of_its_owner_ends_an_effect", func(w *world) {
		_, effects := w.emit("a", 1)
		w.claimEffects("p", 1)
		o := &store.EffectOutcome{ID: effects[0].ID, Owner: "q", Attempt: 1, Success: true, Message: outcome("paid")}
		want(w, "another owner", len(w.finishEffect(o)), 0)
		want(w, "its outcome", o.Outcome, store.Missing)
		w.pass(lease + time.Second)
		w.claimEffects("p", 1)
		o = &store.EffectOutcome{ID: effects[0].ID, Owner: "p", Attempt: 1, Success: true, Message: outcome("paid")}
		want(w, "an earlier attempt", len(w.finishEffect(o)), 0)
		o.Attempt = 2
		want(w, "the current one", len(w.finishEffect(o)), 1)
	}},
	{"G26/a_destroyed_actors_effect_changes_nothing", func(w *world) {
		_, effects := w.emit("a", 1)
		w.claimEffects("p", 1)
		_, err := w.Destroy(w.ctx(), key("a"))
		w.must(err)
		o := &store.EffectOutcome{ID: effects[0].ID, Owner: "p", Attempt: 1, Success: true, Message: outcome("paid")}
		want(w, "message", len(w.finishEffect(o)), 0)
		want(w, "outcome", o.Outcome, store.Missing)
		w.gone(o.Message.ID)
		want(w, "nothing was recreated", w.snapshot("a").Instance, "")
	}},
}

// send commits a turn of source with n messages to target, whose arguments are numbered from first.
func (w *world) send(source, target string, first, n int) []store.Send {
	w.Helper()
	a := w.ask("p", source)
	c := finishing(&a.Turn)
	for i := range n {
		c.Sends = append(c.Sends, store.Send{ID: newID(), To: key(target), Message: store.Message{
			Operation: "hold", Arguments: fmt.Appendf(nil, "%d", first+i), MaxAttempts: 4, Meta: json.RawMessage(`"trace"`),
		}})
	}
	want(w, "send", w.commit(c).Outcome, store.Done)
	w.release(a.Fence, false)
	return c.Sends
}

func (w *world) deliver(limit, mailboxCap int) []store.Message {
	w.Helper()
	got, err := w.Deliver(w.ctx(), limit, mailboxCap, 10*time.Second)
	w.must(err)
	return got
}

var sendTests = []test{
	{"D48/exactly_once_and_in_order", func(w *world) {
		sends := w.send("a", "target", 0, 60)
		sends = append(sends, w.send("a", "target", 60, 40)...)
		var got []store.Message
		for range 40 {
			got = append(got, w.deliver(3, 1000)...)
		}
		want(w, "delivered", len(got), len(sends))
		for i, m := range got {
			want(w, "id", m.ID, sends[i].ID)
			want(w, "sequence", m.Sequence, int64(i+1))
		}
		m := w.stored(sends[7].ID)
		want(w, "arguments", string(m.Arguments), "7")
		want(w, "origin", m.Origin, store.FromActor)
		want(w, "actor", m.ActorID, "target")
		want(w, "max attempts", m.MaxAttempts, 4)
		want(w, "meta", string(m.Meta), `"trace"`)
		want(w, "nothing is left", w.due().Sends.IsZero(), true)
	}},
	{"D48/a_full_target_delays_only_its_own", func(w *world) {
		w.tell("full")
		late := w.send("a", "full", 0, 3)
		w.send("a", "free", 0, 2)
		want(w, "delivered", len(w.deliver(100, 1)), 1) // one of the free target, whose cap is 1 too
		for _, s := range late {
			w.gone(s.ID)
		}
		want(w, "not at once again", len(w.deliver(100, 100)), 0)
		want(w, "due", near(w.due().Sends, w.now().Add(10*time.Second)), true)
		more := w.send("a", "full", 3, 1) // must not overtake
		want(w, "order is kept", len(w.deliver(100, 100)), 0)
		w.pass(11 * time.Second)
		got := w.deliver(100, 100)
		got = append(got, w.deliver(100, 100)...)
		var to []string
		for _, m := range got {
			if m.ActorID == "full" {
				to = append(to, string(m.Arguments))
			}
		}
		want(w, "order", fmt.Sprint(to), "[0 1 2 3]")
		want(w, "last", w.stored(more[0].ID).Sequence, 5)
	}},
	{"D48/the_sources_end_cancels_what_was_not_delivered", func(w *world) {
		sends := w.send("a", "target", 0, 2)
		other := w.send("b", "target", 0, 1)
		want(w, "one is delivered", len(w.deliver(1, 100)), 1)
		_, err := w.Destroy(w.ctx(), key("a"))
		w.must(err)
		w.deliver(100, 100)
		want(w, "delivered before", w.stored(sends[0].ID).Sequence, 1)
		w.gone(sends[1].ID)
		want(w, "the other source's", w.stored(other[0].ID).Sequence, 2)
	}},
	{"D48/the_targets_end_begins_a_new_one", func(w *world) {
		w.tell("target")
		sends := w.send("a", "target", 0, 1)
		_, err := w.Destroy(w.ctx(), key("target"))
		w.must(err)
		want(w, "delivered", len(w.deliver(10, 100)), 1)
		want(w, "sequence", w.stored(sends[0].ID).Sequence, 1)
	}},
	{"D48/a_send_that_can_never_arrive_ends_visible", func(w *world) {
		w.enqueue(keyed("target", "k", "add", "f"))
		a := w.ask("p", "a")
		c := finishing(&a.Turn)
		c.Sends = []store.Send{
			{ID: newID(), To: key("target"), Message: store.Message{Operation: "other", IdempotencyKey: "k", Fingerprint: "f", MaxAttempts: 1}},
			{ID: newID(), To: key("target"), Message: store.Message{Operation: "add", IdempotencyKey: "k", Fingerprint: "f", MaxAttempts: 1}},
			{ID: newID(), To: key("target"), Message: store.Message{Operation: "next", MaxAttempts: 1}},
		}
		w.commit(c)
		got := w.deliver(10, 100)
		if len(got) != 1 || got[0].ID != c.Sends[2].ID {
			w.Fatalf("delivered %v", got)
		}
		want(w, "nothing is left", w.due().Sends.IsZero(), true)
		list := w.dead()
		if len(list) != 1 {
			w.Fatalf("%d dead letters", len(list))
		}
		want(w, "letter", list[0].Message.ID, c.Sends[0].ID)
		want(w, "actor", list[0].Message.ActorID, "target")
	}},
	{"D48/a_delayed_send_is_delivered_and_waits_there", func(w *world) {
		a := w.ask("p", "a")
		c := finishing(&a.Turn)
		c.Sends = []store.Send{{ID: newID(), To: key("target"), When: actors.In(time.Hour), Message: store.Message{Operation: "x", MaxAttempts: 1}}}
		w.commit(c)
		want(w, "delivered", len(w.deliver(10, 100)), 1)
		want(w, "available", near(w.stored(c.Sends[0].ID).AvailableAt, w.now().Add(time.Hour)), true)
	}},
	{"D48/the_mailbox_takes_a_send_once_whatever_happens", func(w *world) {
		// As if a deliverer of another build had enqueued it and died before it forgot the row.
		sends := w.send("a", "target", 0, 1)
		e := message("target")
		e.Message.ID = sends[0].ID
		w.enqueue(e)
		w.deliver(10, 100)
		want(w, "nothing is left", w.due().Sends.IsZero(), true)
		want(w, "one message", w.tell("target").Message.Sequence, 2)
	}},
}
