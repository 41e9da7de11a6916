package storetest

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/lockstep-go/lockstep/actors"
	"github.com/lockstep-go/lockstep/runtime/store"
)

// FuzzDocuments takes whatever the strict JSON of package actors accepts as the arguments of a message, an effect, a
// reminder and a message between actors, as state, result and value of an observable, through the store: each comes back
// byte for byte. s is an empty store of the fuzz target's own.
func FuzzDocuments(f *testing.F, s store.Store) {
	for _, doc := range []string{
		`null`, `""`, `0`, `-0`, `1e400`, `9007199254740993`, `18446744073709551615`, `{"a":[{"b":{}}]}`, ` { "b" : 1 , "a" : 2 } `,
		`"é\u0301ß\ud83d\ude00"`, `"😀\\u0000"`, `"'\"\\;--%_$1?:a\u2028"`, "\"\u00a0\u0085\ufffd\"", `[[[[[[[[]]]]]]]]`, `"` + strings.Repeat("x", 70_000) + `"`,
	} {
		f.Add([]byte(doc))
	}
	f.Fuzz(func(t *testing.T, doc []byte) {
		if actors.CheckDocument("document", doc, 1<<20) != nil {
			t.Skip("refused before any store sees it")
		}
		w := &world{T: t, Store: s}
		w.throughEverything(doc)
	})
}

// throughEverything is the way of one document.
func (w *world) throughEverything(doc json.RawMessage) {
	actor, target, effect := newID(), newID(), newID()
	same := func(what string, got json.RawMessage) {
		w.Helper()
		if !bytes.Equal(got, doc) {
			w.Errorf("%s: %q came back as %q", what, doc, got)
		}
	}
	e := message(actor)
	e.Message.Arguments, e.Claim = doc, claim("p")
	if w.enqueue(e); e.Activation == nil {
		w.Fatalf("not claimed: %s %v", e.Outcome, e.Err)
	}
	same("arguments of the claimed message", e.Activation.Message.Arguments)
	c := finishing(&e.Activation.Turn)
	c.Yield = true
	c.State, c.Result = doc, doc
	c.Effects = []store.Effect{{ID: newID(), Name: effect, Arguments: doc, MaxAttempts: 1}}
	c.Reminders = []store.Reminder{{ID: newID(), Operation: "ring", Arguments: doc, When: actors.In(0)}}
	c.Sends = []store.Send{{ID: newID(), To: key(target), Message: store.Message{Operation: "add", Arguments: doc, MaxAttempts: 1}}}
	c.Broadcast = &store.Broadcast{ID: newID(), Actor: key(actor), Names: []string{"n"}, Values: map[string]json.RawMessage{"n": doc}}
	if w.commit(c); c.Outcome != store.Done {
		w.Fatalf("commit: %s %v", c.Outcome, c.Err)
	}
	m := w.stored(e.Message.ID)
	same("arguments", m.Arguments)
	same("result", m.Result)
	same("state", w.snapshot(actor).State)
	got, err := w.ClaimEffects(w.ctx(), "p", []string{effect}, 1, lease)
	w.must(err)
	if len(got) != 1 {
		w.Fatalf("%d effects", len(got))
	}
	same("arguments of the effect", got[0].Arguments)
	fired, err := w.FireReminders(w.ctx(), 100, 100, 1, time.Second)
	w.must(err)
	delivered, err := w.Deliver(w.ctx(), 100, 100, time.Second)
	w.must(err)
	if len(fired) == 0 || len(delivered) == 0 {
		w.Fatalf("%d reminders fired, %d messages delivered", len(fired), len(delivered))
	}
	same("arguments of the reminder", w.stored(fired[0].ID).Arguments)
	same("arguments of the message between actors", w.stored(delivered[0].ID).Arguments)
	for _, b := range must(w.TakeBroadcasts(w.ctx(), "q", 0, 100)) {
		var value, want bytes.Buffer
		w.must(json.Compact(&value, b.Values["n"]))
		w.must(json.Compact(&want, doc))
		if !bytes.Equal(value.Bytes(), want.Bytes()) {
			w.Errorf("value of an observable: %q came back as %q", doc, b.Values["n"])
		}
	}
	w.destroy(actor)
	w.destroy(target)
}

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

// FuzzKeys takes whatever is a legal id as the id of an actor, an idempotency key, a reminder's key and an effect's
// name, beside another one: each comes back byte for byte, and the two are never taken for each other. s is an empty
// store of the fuzz target's own.
func FuzzKeys(f *testing.F, s store.Store) {
	for _, pair := range [][2]string{
		{"a", "A"}, {"a", "a "}, {"a", " a"}, {"é", "e\u0301"}, {"e", "é"}, {"ß", "ss"}, {"😀", "🍺"}, {"a", "a\u00a0"}, {"x%y", "x_y"}, {"x|y", "x||y"},
		{"../x", "%2e%2e/x"}, {"'", "''"}, {`\`, `\\`}, {"\u202ea", "a"}, {"0", "00"}, {"null", "NULL"}, {strings.Repeat("x", 191), strings.Repeat("x", 190)},
	} {
		f.Add(pair[0], pair[1])
	}
	f.Fuzz(func(t *testing.T, one, other string) {
		if actors.CheckID(one) != nil || actors.CheckID(other) != nil {
			t.Skip("refused before any store sees it")
		}
		w := &world{T: t, Store: s}
		w.keysApart(one, other)
	})
}

// keysApart uses two keys everywhere.
func (w *world) keysApart(one, other string) {
	alike := one == other
	kind := newID() // a type of actors that nobody else uses
	told := func(actor, key string) *store.Enqueue {
		w.Helper()
		e := message(actor)
		e.Message.Type, e.Claim = kind, claim("p")
		if key != "" {
			e.Message.IdempotencyKey, e.Message.Fingerprint = key, "f"
		}
		w.enqueue(e)
		return e
	}
	a, b := told(one, ""), told(other, "")
	want(w, "the two are one actor", a.Message.Instance == b.Message.Instance, alike)
	m := w.stored(a.Message.ID)
	want(w, "id", m.ActorID, one)
	want(w, "instance", must(w.Snapshot(w.ctx(), store.Key{Type: kind, ID: one})).Instance, a.Message.Instance)
	want(w, "instance of the other", must(w.Snapshot(w.ctx(), store.Key{Type: kind, ID: other})).Instance, b.Message.Instance)

	actor := newID()
	first := told(actor, one)
	want(w, "key", w.stored(first.Message.ID).IdempotencyKey, one)
	second := told(actor, other)
	want(w, "the two keys are one", second.Outcome == store.Duplicate, alike)

	c := finishing(&first.Activation.Turn)
	c.Effects = []store.Effect{{ID: newID(), Name: one, Arguments: json.RawMessage("1"), MaxAttempts: 1}}
	c.Reminders = []store.Reminder{
		{ID: newID(), Operation: "ring", Key: one, When: actors.In(time.Hour)}, {ID: newID(), Operation: "ring", Key: other, When: actors.In(time.Hour)},
	}
	if w.commit(c); c.Outcome != store.Done {
		w.Fatalf("commit: %s %v", c.Outcome, c.Err)
	}
	alarms := map[string]bool{}
	for _, alarm := range w.alarms(first.Activation.Fence.Instance) {
		alarms[alarm.Key] = true
	}
	want(w, "the reminders are there", alarms[one] && alarms[other], true)
	want(w, "reminders", len(alarms) == 1, alike)
	if !alike {
		want(w, "effects of the other name", len(must(w.ClaimEffects(w.ctx(), "p", []string{other}, 1, lease))), 0)
	}
	effects := must(w.ClaimEffects(w.ctx(), "p", []string{one}, 1, lease))
	if len(effects) != 1 || effects[0].Name != one {
		w.Errorf("effects named %q: %+v", one, effects)
	}
	for _, k := range []store.Key{{Type: kind, ID: one}, {Type: kind, ID: other}, {Type: kind, ID: actor}} {
		must(w.Destroy(w.ctx(), k))
	}
}
