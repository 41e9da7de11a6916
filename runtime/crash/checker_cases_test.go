//go:build unix

package crash

import (
	"encoding/json"
	"math"
	"slices"
	"strings"
	"testing"
)

// sound is a small round in which nothing is wrong: a counter, two accounts with one transfer between them, a notary
// with one stamp, a ticker with one alarm that rang twice and was ended.
func sound() evidence {
	doc := func(v any) string {
		text, err := json.Marshal(v)
		if err != nil {
			panic(err)
		}
		return string(text)
	}
	line := func(id, in string, sequence int64, op string, args call, origin, result string) message {
		return message{ID: id, Instance: in, Sequence: sequence, Operation: op, Arguments: doc(args), Origin: origin, Status: "completed", Result: result}
	}
	v := &view{Messages: []message{
		line("m1", "C", 1, "add", call{Call: "add1", By: 2}, "client", "2"),
		line("m2", "C", 2, "value", call{Call: "read1"}, "client", "2"),
		line("m3", "C", 3, "add", call{Call: "add2", By: 3}, "client", "5"),
		line("m4", "A", 1, "deposit", call{Call: "pay", By: 10}, "client", "10"),
		line("m5", "A", 2, "transfer", call{Call: "move", By: 4, To: "b"}, "client", "6"),
		line("m6", "A", 3, "transfer", call{Call: "more", By: 1, To: "b"}, "client", "5"),
		line("m7", "B", 1, "receive", call{Call: "move", By: 4, To: "b"}, "actor", "{}"),
		line("m8", "B", 2, "receive", call{Call: "more", By: 1, To: "b"}, "actor", "{}"),
		line("m9", "N", 1, "request", call{Call: "stamp1"}, "client", "{}"),
		{ID: "m10", Instance: "N", Sequence: 2, Operation: "sealed", Arguments: `{"effect_id":"e1","args":{"call":"stamp1"},"result":"e1"}`, Origin: "effect", Status: "completed", Result: "{}"},
		line("m11", "T", 1, "begin", call{Call: "ring", Every: 50, All: true}, "client", "{}"),
		line("m12", "T", 2, "tick", call{Call: "ring"}, "reminder", "{}"),
		line("m13", "T", 3, "tick", call{Call: "ring"}, "reminder", "{}"),
		line("m14", "T", 4, "end", call{Call: "hush", Target: "ring"}, "client", "{}"),
	}}
	notes := map[string]journal{}
	for _, m := range v.Messages {
		if m.Operation != "value" {
			j := notes[m.Instance]
			j.Applied = append(j.Applied, entry{m.Sequence, m.ID, (&inventory{}).callOf(m.Operation, m.Arguments)})
			notes[m.Instance] = j
		}
	}
	v.Instances = []instance{
		{"A", "account", "a", 4, 4, 3, doc(account{notes["A"], 5, []call{{Call: "move", By: 4, To: "b"}, {Call: "more", By: 1, To: "b"}}})},
		{"B", "account", "b", 3, 3, 2, doc(account{notes["B"], 5, nil})},
		{"C", "counter", "c", 4, 4, 3, doc(counter{notes["C"], 5})},
		{"N", "notary", "n", 3, 3, 2, doc(notary{notes["N"], []string{"stamp1"}, map[string]string{"stamp1": "e1"}})},
		{"T", "ticker", "t", 5, 5, 4, doc(ticker{notes["T"], map[string]alarm{"ring": {First: 1000, Every: 50_000, All: true, Ended: true}}})},
	}
	v.Ledger = []entered{{"n", 1, "stamp1"}}
	e := evidence{view: v, stamps: []stamped{{"e1", "stamp1"}, {"e1", "stamp1"}}}
	at := int64(0)
	said := func(name, typ, id, op string, by, value int, how ending) {
		e.records = append(e.records,
			record{Kind: callLine, At: at + 1, Call: name, Type: typ, Actor: id, Op: op, By: by},
			record{Kind: endLine, At: at + 2, Call: name, Type: typ, Actor: id, Op: op, By: by, Value: value, Ending: how})
		at += 2
	}
	said("add1", "counter", "c", "add", 2, 2, answered)
	said("read1", "counter", "c", "value", 0, 2, answered)
	said("add2", "counter", "c", "add", 3, 5, answered)
	said("pay", "account", "a", "deposit", 10, 0, stored)
	said("move", "account", "a", "transfer", 4, 6, answered)
	e.records = append(e.records,
		record{Kind: claimLine, Instance: "C", Sequence: 1, Generation: 1}, record{Kind: failureLine, Instance: "C", Sequence: 1, Generation: 1},
		record{Kind: claimLine, Instance: "C", Sequence: 1, Generation: 2}, record{Kind: commitLine, Instance: "C", Sequence: 1, Generation: 2},
		record{Kind: claimLine, Instance: "C", Sequence: 3, Generation: 2}, record{Kind: commitLine, Instance: "C", Sequence: 3, Generation: 2})
	return e
}

// edit changes a state in the evidence.
func edit[S any](e *evidence, id string, change func(*S)) {
	for i := range e.view.Instances {
		in := &e.view.Instances[i]
		if in.ID != id {
			continue
		}
		var s S
		if err := json.Unmarshal([]byte(in.State), &s); err != nil {
			panic(err)
		}
		change(&s)
		text, err := json.Marshal(s)
		if err != nil {
			panic(err)
		}
		in.State = string(text)
	}
}

// Each way in which a promise can be broken is found, and named.
func TestCheckerFinds(t *testing.T) {
	if found := judge(sound()); len(found) > 0 {
		t.Fatalf("a sound round is found wrong: %q", found)
	}
	for name, c := range map[string]struct {
		spoil func(*evidence)
		want  string
	}{
		"an acknowledged call that is lost": {func(e *evidence) {
			e.view.Messages = e.view.Messages[:len(e.view.Messages)-1]
			e.view.Instances[4].Next, e.view.Instances[4].Head, e.view.Instances[4].Revision = 4, 4, 3
			edit(e, "T", func(s *ticker) { s.Applied = s.Applied[:3] })
			e.records = append(e.records, record{Kind: callLine, Call: "hush", Type: "ticker", Actor: "t", Op: "end", Ending: stored},
				record{Kind: endLine, Call: "hush", Type: "ticker", Actor: "t", Op: "end", Ending: stored})
		}, "is lost"},
		"a call taken twice": {func(e *evidence) { e.view.Messages[2].Arguments = e.view.Messages[0].Arguments }, "taken twice"},
		"another answer":     {func(e *evidence) { e.view.Messages[4].Result = "7" }, "was answered"},
		"a lost update": {func(e *evidence) {
			edit(e, "C", func(s *counter) { s.Applied = s.Applied[1:] })
		}, "applied as 1-th"},
		"an update that is not completed": {func(e *evidence) {
			edit(e, "C", func(s *counter) { s.Applied = append(s.Applied, entry{9, "m99", "x"}) })
		}, "is not completed"},
		"a completed message without its update": {func(e *evidence) {
			edit(e, "C", func(s *counter) { s.Applied = s.Applied[:1] })
		}, "does not have it"},
		"a revision that stayed behind": {func(e *evidence) { e.view.Instances[2].Revision = 1 }, "has the revision 1"},
		"a gap in a mailbox":            {func(e *evidence) { e.view.Messages[1].Sequence = 7 }, "has the sequence 7"},
		"finished beyond the head":      {func(e *evidence) { e.view.Instances[2].Head = 3 }, "the head is 3"},
		"live before the head":          {func(e *evidence) { e.view.Messages[2].Status = "live" }, "is live, the head is 4"},
		"a transfer that vanished": {func(e *evidence) {
			e.view.Messages = slices.Delete(e.view.Messages, 7, 8)
		}, "more is missing"},
		"a transfer twice": {func(e *evidence) {
			e.view.Sends = append(e.view.Sends, send{"A", "account", "b", "receive", e.view.Messages[7].Arguments})
		}, "more is too much"},
		"transfers in another order": {func(e *evidence) {
			m := e.view.Messages
			m[6].Arguments, m[7].Arguments = m[7].Arguments, m[6].Arguments
		}, "another order"},
		"a transfer that nobody sent": {func(e *evidence) {
			e.view.Sends = append(e.view.Sends, send{"A", "account", "b", "receive", `{"call":"theft","by":9}`})
		}, "nobody sent"},
		"money from nowhere":                {func(e *evidence) { edit(e, "B", func(s *account) { s.Balance++ }) }, "were paid in"},
		"an outcome twice":                  {func(e *evidence) { e.view.Effects = []effect{{"e1", "N", `{"call":"stamp1"}`, "pending"}} }, "there are 2 effects"},
		"an effect nobody asked for":        {func(e *evidence) { e.view.Effects = []effect{{"e2", "N", `{"call":"x"}`, "pending"}} }, "no state asked for"},
		"an effect that was given up":       {func(e *evidence) { e.view.Effects = []effect{{"e1", "N", `{"call":"stamp1"}`, "failed"}} }, "is failed"},
		"an effect under a second id":       {func(e *evidence) { e.stamps[1].Effect = "e2" }, "as e1 and as e2"},
		"an effect that nobody performed":   {func(e *evidence) { e.stamps = nil }, "never performed"},
		"an effect of no committed turn":    {func(e *evidence) { e.stamps = append(e.stamps, stamped{"e3", "ghost"}) }, "no committed turn asked for"},
		"a row of the application's twice":  {func(e *evidence) { e.view.Ledger = append(e.view.Ledger, e.view.Ledger[0]) }, "stamp1 is too much"},
		"a row of the application's lost":   {func(e *evidence) { e.view.Ledger = nil }, "stamp1 is missing"},
		"a row of an attempt that was lost": {func(e *evidence) { e.view.Ledger[0].Call = "ghost" }, "ghost instead of stamp1"},
		"a row of nobody": {func(e *evidence) {
			e.view.Ledger = append(e.view.Ledger, entered{"z", 1, "x"})
		}, "entries of notary/z"},
		"an occurrence twice": {func(e *evidence) {
			edit(e, "T", func(s *ticker) { s.Alarms["ring"] = alarm{First: 1000, Every: 50_000} })
			e.view.Reminders = []reminder{{"T", "ring", 51_000, 50_000}}
		}, "rang 2 times in 1 occurrences"},
		"an occurrence lost": {func(e *evidence) {
			edit(e, "T", func(s *ticker) { s.Alarms["ring"] = alarm{First: 1000, Every: 50_000, All: true} })
			e.view.Reminders = []reminder{{"T", "ring", 151_000, 50_000}}
		}, "rang 2 times in 3 occurrences"},
		"an alarm that rang twice": {func(e *evidence) {
			edit(e, "T", func(s *ticker) { s.Alarms["ring"] = alarm{First: 1000} })
		}, "rings once, rang 2 times"},
		"an alarm that is gone": {func(e *evidence) {
			edit(e, "T", func(s *ticker) { s.Alarms["ring"] = alarm{First: 1000, Every: 50_000} })
		}, "is gone"},
		"an alarm that outlived its end": {func(e *evidence) { e.view.Reminders = []reminder{{"T", "ring", 151_000, 50_000}} }, "still there"},
		"an alarm that nobody set":       {func(e *evidence) { e.view.Reminders = []reminder{{"T", "x", 151_000, 50_000}} }, "no state set"},
		"a dead letter":                  {func(e *evidence) { e.view.Dead = []string{"m1"} }, "was given up"},
		"two instances of one actor":     {func(e *evidence) { e.view.Instances[1].Actor = "a" }, "two instances"},
		"a stale commit": {func(e *evidence) {
			e.records = append(e.records, record{Kind: claimLine, Instance: "C", Sequence: 3, Generation: 3})
		}, "a stale commit of message 3 by generation 2"},
		"a stale failure": {func(e *evidence) {
			e.records = append(e.records, record{Kind: failureLine, Instance: "C", Sequence: 3, Generation: 1})
		}, "a stale failure of message 3 by generation 1"},
		"a commit twice": {func(e *evidence) {
			e.records = append(e.records, record{Kind: commitLine, Instance: "C", Sequence: 3, Generation: 2})
		}, "committed twice"},
		"a stale read": {func(e *evidence) { e.records[3].Value, e.view.Messages[1].Result = 0, "0" }, "not linearizable"},
		"an answer before its time": {func(e *evidence) {
			e.records[4].At, e.records[5].At = -4, -3 // the second addition ended before the first began
		}, "not linearizable"},
		"work left over": {func(e *evidence) {
			e.view.Instances[2].Next = 5
			e.view.Messages = slices.Insert(e.view.Messages, 3, message{ID: "m15", Instance: "C", Sequence: 4, Operation: "add", Arguments: `{"call":"late"}`, Origin: "client", Status: "live"})
		}, "1 messages wait"},
	} {
		t.Run(name, func(t *testing.T) {
			e := sound()
			c.spoil(&e)
			found := judge(e)
			if !slices.ContainsFunc(found, func(f string) bool { return strings.Contains(f, c.want) }) {
				t.Errorf("found %q, want one that says %q", found, c.want)
			}
		})
	}
}

// A call whose end nobody heard may have taken effect at any time after it began, and no earlier.
func TestCheckerAllowsUnheardEnds(t *testing.T) {
	for _, c := range []struct {
		name  string
		begin int64
		sound bool
	}{{"begun before what it precedes", -1, true}, {"begun after what it precedes", math.MaxInt64 - 1, false}} {
		e := sound()
		e.records[0].At = c.begin
		e.records = slices.Delete(e.records, 1, 2)
		if found := judge(e); (len(found) == 0) != c.sound {
			t.Errorf("%s: found %q", c.name, found)
		}
	}
}

// Two rounds that follow each other lay every ambush.
func TestAmbushesMeetEveryPoint(t *testing.T) {
	laid := map[ambush]bool{}
	for seed := range uint64(2) {
		for n := range len(pointNames) {
			laid[ambushFor(seed, n)] = true
		}
	}
	if want := 2 * len(pointNames); len(laid) != want {
		t.Errorf("%d of %d ambushes are laid", len(laid), want)
	}
}
