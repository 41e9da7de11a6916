package storetest

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/lockstep-go/lockstep/actors"
	"github.com/lockstep-go/lockstep/runtime/store"
)

// lookalikes are different to us and the same to some collation.
var lookalikes = []string{"a", "A", "a ", "é", "e\u0301", "e", "ß", "s", "😀", "🍺", "a\u00a0"}

var identityTests = []test{
	{"D01/lookalike_ids_are_different_actors", func(w *world) {
		instances := map[string]bool{}
		for i, id := range lookalikes {
			a := w.ask("p", id)
			want(w, "sequence", a.Sequence, 1)
			c := finishing(&a.Turn)
			c.State = fmt.Appendf(nil, "%d", i)
			want(w, "commit", w.commit(c).Outcome, store.Done)
			instances[a.Fence.Instance] = true
		}
		want(w, "instances", len(instances), len(lookalikes))
		for i, id := range lookalikes {
			want(w, fmt.Sprintf("state of %q", id), string(w.snapshot(id).State), fmt.Sprint(i))
		}
	}},
	{"D01/lookalike_keys_are_different_messages", func(w *world) {
		for i, k := range lookalikes {
			e := message("a")
			e.Message.IdempotencyKey, e.Message.Fingerprint = k, fmt.Sprint(i)
			w.enqueue(e)
			want(w, fmt.Sprintf("outcome of %q", k), e.Outcome, store.Done)
			want(w, "sequence", e.Message.Sequence, int64(i+1))
			want(w, "key", w.stored(e.Message.ID).IdempotencyKey, k)
		}
	}},
	{"D01/lookalike_reminders_are_different_alarms", func(w *world) {
		a := w.ask("p", "a")
		c := finishing(&a.Turn)
		for _, k := range lookalikes {
			c.Reminders = append(c.Reminders, store.Reminder{ID: newID(), Operation: "expire", Key: k, When: actors.In(time.Hour)})
		}
		want(w, "commit", w.commit(c).Outcome, store.Done)
		want(w, "alarms", len(w.alarms(a.Fence.Instance)), len(lookalikes))
	}},
	{"D01/lookalike_effects_have_different_executors", func(w *world) {
		a := w.ask("p", "a")
		c := finishing(&a.Turn)
		for _, name := range lookalikes {
			c.Effects = append(c.Effects, store.Effect{ID: newID(), Name: name, MaxAttempts: 1})
		}
		want(w, "commit", w.commit(c).Outcome, store.Done)
		for _, name := range lookalikes {
			got, err := w.ClaimEffects(w.ctx(), "p", []string{name}, 100, lease)
			w.must(err)
			if len(got) != 1 || got[0].Name != name {
				w.Errorf("effects named %q: %v", name, got)
			}
		}
	}},
	{"D01/lookalike_operations_and_types_are_different", func(w *world) {
		for i, name := range lookalikes {
			e := message("a")
			e.Message.Type = name
			want(w, "sequence in a type of its own", w.enqueue(e).Message.Sequence, 1)
			e = keyed("operations", "k"+fmt.Sprint(i), name, "f")
			w.enqueue(e)
			want(w, "operation", w.stored(e.Message.ID).Operation, name)
		}
		first := w.enqueue(keyed("operations", "key", "a", "f"))
		e := w.enqueue(keyed("operations", "key", "A", "f"))
		want(w, "another operation's outcome", e.Outcome, store.Conflict)
		want(w, "what differs", e.Differs, "operation")
		want(w, "message", e.Message.ID, first.Message.ID)
		for _, name := range lookalikes {
			as := w.scanWith(&store.Scan{Claim: *claim("p"), Types: []string{name}, Limit: 100})
			want(w, fmt.Sprintf("actors of the type %q", name), len(as), 1)
		}
		a := w.ask("p", "reminders")
		c := finishing(&a.Turn)
		for _, name := range lookalikes {
			c.Reminders = append(c.Reminders, store.Reminder{ID: newID(), Operation: name, When: actors.In(time.Hour)})
		}
		c.Reminders = append(c.Reminders, store.Reminder{Operation: lookalikes[0], Cancel: true})
		want(w, "commit", w.commit(c).Outcome, store.Done)
		want(w, "alarms but for the one that was cancelled", len(w.alarms(a.Fence.Instance)), len(lookalikes)-1)
	}},
	{"D05/digits_are_kept_at_every_stop", func(w *world) {
		const doc = `{"signed":9223372036854775807,"unsigned":18446744073709551615,"odd":9007199254740993,"minus":-0,"exponent":1e2}`
		e := message("a")
		e.Message.Arguments, e.Claim = json.RawMessage(doc), claim("p")
		w.enqueue(e)
		want(w, "argument, claimed", string(e.Activation.Arguments), doc)
		want(w, "argument, stored", string(w.stored(e.Message.ID).Arguments), doc)
		c := finishing(&e.Activation.Turn)
		c.State, c.Result = json.RawMessage(doc), json.RawMessage(doc)
		c.Effects = []store.Effect{{ID: newID(), Name: "charge", Arguments: json.RawMessage(doc), Done: "done", MaxAttempts: 1}}
		c.Reminders = []store.Reminder{{ID: newID(), Operation: "tick", Arguments: json.RawMessage(doc), When: actors.In(0)}}
		c.Sends = []store.Send{{ID: newID(), To: key("b"), Message: store.Message{Operation: "add", Arguments: json.RawMessage(doc), MaxAttempts: 1}}}
		c.Broadcast = &store.Broadcast{ID: newID(), Actor: key("a"), Names: []string{"n"}, Values: map[string]json.RawMessage{"n": json.RawMessage(doc)}}
		want(w, "commit", w.commit(c).Outcome, store.Done)
		want(w, "state", string(w.snapshot("a").State), doc)
		want(w, "result", string(w.stored(e.Message.ID).Result), doc)
		w.release(e.Activation.Fence, false)
		w.pass(time.Minute)
		news, err := w.TakeBroadcasts(w.ctx(), "q", 0, 10)
		w.must(err)
		if len(news) != 1 {
			w.Fatalf("%d broadcasts", len(news))
		}
		want(w, "shared value", string(news[0].Values["n"]), doc)
		effects, err := w.ClaimEffects(w.ctx(), "p", []string{"charge"}, 10, lease)
		w.must(err)
		if len(effects) != 1 {
			w.Fatalf("%d effects", len(effects))
		}
		want(w, "effect", string(effects[0].Arguments), doc)
		told := &store.Message{ID: newID(), Operation: "done", Arguments: json.RawMessage(doc), MaxAttempts: 1}
		_, err = w.FinishEffects(w.ctx(), []*store.EffectOutcome{{ID: effects[0].ID, Owner: "p", Attempt: effects[0].Attempt, Success: true, Result: json.RawMessage(doc), Message: told}})
		w.must(err)
		want(w, "outcome", string(w.stored(told.ID).Arguments), doc)
		fired, err := w.FireReminders(w.ctx(), 10, 100, 1, time.Second)
		w.must(err)
		delivered, err := w.Deliver(w.ctx(), 10, 100, time.Second)
		w.must(err)
		for what, list := range map[string][]store.Message{"reminder": fired, "send": delivered} {
			if len(list) != 1 {
				w.Fatalf("%s: %d messages", what, len(list))
			}
			want(w, what, string(w.stored(list[0].ID).Arguments), doc)
		}
		for {
			as := w.scan("p", 1)
			if len(as) == 0 {
				break
			}
			f := failing(&as[0].Turn)
			f.Final, f.Yield = true, true
			w.fail(f)
		}
		letters := w.dead()
		want(w, "dead letters", len(letters), 3)
		for _, l := range letters {
			want(w, "dead letter", string(l.Message.Arguments), doc)
			again, o, err := w.Retry(w.ctx(), l.ID, newID(), 100)
			w.must(err)
			want(w, "retry", o, store.Done)
			want(w, "its argument", string(w.stored(again.ID).Arguments), doc)
		}
	}},
	{"D02/separators_do_not_collide", func(w *world) {
		keys := []store.Key{{Type: "a", ID: "b:c"}, {Type: "a:b", ID: "c"}, {Type: typ, ID: "x|y"}, {Type: typ, ID: "x||y"},
			{Type: typ, ID: "x/y"}, {Type: typ, ID: "x%y"}, {Type: typ, ID: "x_y"}, {Type: typ, ID: "xzy"}}
		instances := map[string]bool{}
		for _, k := range keys {
			e := message(k.ID)
			e.Message.Type = k.Type
			instances[w.enqueue(e).Message.Instance] = true
			want(w, "sequence", e.Message.Sequence, 1)
		}
		want(w, "instances", len(instances), len(keys))
		a := w.ask("p", "reminders")
		c := finishing(&a.Turn)
		c.Reminders = []store.Reminder{
			{ID: newID(), Operation: "expire", Key: "a:b", When: actors.In(time.Hour)},
			{ID: newID(), Operation: "expire:a", Key: "b", When: actors.In(time.Hour)},
		}
		want(w, "commit", w.commit(c).Outcome, store.Done)
		want(w, "alarms", len(w.alarms(a.Fence.Instance)), 2)
	}},
	{"D03/legal_ids_survive_byte_for_byte", func(w *world) {
		ids := []string{" ", strings.Repeat("x", actors.MaxIDBytes), strings.Repeat("😀", 47) + "abc", "\u202e", "../../x",
			"http://h/p?q=1#f", "%2F", "'; DROP TABLE x; --", `\`, `"`, "%", "?", "$1", ":a", "@a"}
		for _, id := range ids {
			if err := actors.CheckID(id); err != nil {
				w.Fatalf("%q is legal: %v", id, err)
			}
			e := w.tell(id)
			m := w.stored(e.Message.ID)
			want(w, "id", m.ActorID, id)
			want(w, "sequence", m.Sequence, 1)
			want(w, "snapshot", w.snapshot(id).Instance, m.Instance)
		}
		for _, a := range w.scan("p", 100) {
			w.done(&a.Turn)
		}
	}},
}

func (w *world) alarms(instance string) []actors.Alarm {
	w.Helper()
	list, err := w.Alarms(w.ctx(), instance)
	w.must(err)
	return list
}

// keyed is a message with an idempotency key, as one client sends it.
func keyed(actor, k, operation, fingerprint string) *store.Enqueue {
	e := message(actor)
	e.Message.IdempotencyKey, e.Message.Operation, e.Message.Fingerprint = k, operation, fingerprint
	return e
}

var idempotencyTests = []test{
	{"G3/same_key_is_the_same_message", func(w *world) {
		first := w.enqueue(keyed("a", "k", "add", "f"))
		again := w.enqueue(keyed("a", "k", "add", "f"))
		want(w, "outcome", again.Outcome, store.Duplicate)
		want(w, "message", again.Message.ID, first.Message.ID)
		want(w, "sequence", again.Message.Sequence, 1)
		want(w, "no second", w.tell("a").Message.Sequence, 2)
	}},
	{"G3/conflict_names_what_differs", func(w *world) {
		first := w.enqueue(keyed("a", "k", "add", "f"))
		e := w.enqueue(keyed("a", "k", "remove", "f"))
		want(w, "operation: outcome", e.Outcome, store.Conflict)
		want(w, "operation: differs", e.Differs, "operation")
		want(w, "operation: message", e.Message.ID, first.Message.ID)
		e = w.enqueue(keyed("a", "k", "add", "g"))
		want(w, "arguments: outcome", e.Outcome, store.Conflict)
		want(w, "arguments: differs", e.Differs, "arguments")
	}},
	{"G3/keys_are_each_actors_own", func(w *world) {
		want(w, "a", w.enqueue(keyed("a", "k", "add", "f")).Outcome, store.Done)
		want(w, "b", w.enqueue(keyed("b", "k", "add", "g")).Outcome, store.Done)
	}},
	{"D06/a_finished_message_answers_with_its_result", func(w *world) {
		e := keyed("a", "k", "add", "f")
		e.Claim = claim("p")
		w.enqueue(e)
		c := finishing(&e.Activation.Turn)
		c.Result = json.RawMessage(`"the result"`)
		w.commit(c)
		again := keyed("a", "k", "add", "f")
		again.Claim, again.Held = claim("p"), &e.Activation.Fence
		w.enqueue(again)
		want(w, "outcome", again.Outcome, store.Duplicate)
		want(w, "status", again.Message.Status, store.Completed)
		want(w, "result", string(again.Message.Result), `"the result"`)
		want(w, "not claimed", again.Activation == nil, true)
	}},
	{"D06/a_dead_letter_keeps_its_key", func(w *world) {
		e := keyed("a", "k", "add", "f")
		e.Claim = claim("p")
		w.enqueue(e)
		f := failing(&e.Activation.Turn)
		f.Final = true
		w.fail(f)
		again := w.enqueue(keyed("a", "k", "add", "f"))
		want(w, "outcome", again.Outcome, store.Duplicate)
		want(w, "status", again.Message.Status, store.Dead)
	}},
	{"D06/a_pruned_key_is_free", func(w *world) {
		e := keyed("a", "k", "add", "f")
		e.Claim = claim("p")
		w.enqueue(e)
		w.done(&e.Activation.Turn)
		w.pass(2 * time.Hour)
		n := w.prune(time.Hour, 10, false)
		want(w, "pruned", n, 1)
		want(w, "outcome", w.enqueue(keyed("a", "k", "add", "g")).Outcome, store.Done)
	}},
	{"D06/a_new_incarnation_takes_the_key_freshly", func(w *world) {
		first := w.enqueue(keyed("a", "k", "add", "f"))
		_, err := w.Destroy(w.ctx(), key("a"))
		w.must(err)
		e := w.enqueue(keyed("a", "k", "add", "g"))
		want(w, "outcome", e.Outcome, store.Done)
		want(w, "sequence", e.Message.Sequence, 1)
		want(w, "another instance", e.Message.Instance != first.Message.Instance, true)
	}},
	{"D06/the_cap_does_not_refuse_a_repetition", func(w *world) {
		e := keyed("a", "k", "add", "f")
		e.Cap = 1
		w.enqueue(e)
		again := keyed("a", "k", "add", "f")
		again.Cap = 1
		want(w, "outcome", w.enqueue(again).Outcome, store.Duplicate)
	}},
	{"D06/twice_in_one_flush", func(w *world) {
		a, b, c := keyed("a", "k", "add", "f"), keyed("a", "k", "add", "f"), keyed("a", "k", "sub", "f")
		w.flush(&store.Flush{Enqueues: []*store.Enqueue{a, b, c}})
		want(w, "first", a.Outcome, store.Done)
		want(w, "second", b.Outcome, store.Duplicate)
		want(w, "second is the first", b.Message.ID, a.Message.ID)
		want(w, "third", c.Outcome, store.Conflict)
	}},
	{"D27/the_same_id_is_stored_once", func(w *world) {
		e := message("a")
		again := *e
		w.enqueue(e)
		w.enqueue(&again)
		want(w, "outcome", again.Outcome, store.Duplicate)
		want(w, "sequence", again.Message.Sequence, 1)
		full := *e
		full.Cap = 1
		want(w, "outcome when full", w.enqueue(&full).Outcome, store.Duplicate)
		want(w, "no second", w.tell("a").Message.Sequence, 2)
	}},
	{"D27/the_same_id_with_a_held_activation", func(w *world) {
		a := w.ask("p", "a")
		w.done(&a.Turn)
		e := message("a")
		e.Claim, e.Held = claim("p"), &a.Fence
		w.enqueue(e)
		again := message("a")
		again.Message.ID, again.Claim, again.Held = e.Message.ID, claim("p"), &a.Fence
		w.enqueue(again)
		want(w, "outcome", again.Outcome, store.Duplicate)
		want(w, "sequence", again.Message.Sequence, 2)
		want(w, "the turn goes on", w.done(&e.Activation.Turn).Outcome, store.Done)
	}},
	{"D27/a_repeated_commit_is_fenced", func(w *world) {
		a := w.ask("p", "a")
		w.done(&a.Turn)
		c := finishing(&a.Turn)
		c.State = json.RawMessage(`"again"`)
		want(w, "outcome", w.commit(c).Outcome, store.Fenced)
		want(w, "state", string(w.snapshot("a").State), `{"n":1}`)
		want(w, "status", w.stored(a.ID).Status, store.Completed)
	}},
}
