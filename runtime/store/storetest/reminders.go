package storetest

import (
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/lockstep-go/lockstep/actors"
	"github.com/lockstep-go/lockstep/runtime/store"
)

// remind commits a turn of an actor with changes of its schedule.
func (w *world) remind(actor string, changes ...store.Reminder) *store.Activation {
	w.Helper()
	a := w.ask("p", actor)
	c := finishing(&a.Turn)
	for _, r := range changes {
		r.ID = newID()
		c.Reminders = append(c.Reminders, r)
	}
	want(w, "remind", w.commit(c).Outcome, store.Done)
	w.release(a.Fence, false)
	return a
}

func (w *world) fire(limit, mailboxCap int) []store.Message {
	w.Helper()
	got, err := w.FireReminders(w.ctx(), limit, mailboxCap, 3, 10*time.Second)
	w.must(err)
	return got
}

var reminderTests = []test{
	{"G25/a_reminder_fires_once", func(w *world) {
		a := w.remind("a", store.Reminder{Operation: "expire", Arguments: json.RawMessage(`{"x":1}`), When: actors.In(time.Minute)})
		want(w, "too early", len(w.fire(10, 100)), 0)
		w.pass(time.Minute + time.Second)
		got := w.fire(10, 100)
		if len(got) != 1 {
			w.Fatalf("%d messages", len(got))
		}
		m := w.stored(got[0].ID)
		want(w, "operation", m.Operation, "expire")
		want(w, "arguments", string(m.Arguments), `{"x":1}`)
		want(w, "origin", m.Origin, store.FromReminder)
		want(w, "max attempts", m.MaxAttempts, 3)
		want(w, "instance", m.Instance, a.Fence.Instance)
		want(w, "once", len(w.fire(10, 100)), 0)
		want(w, "no alarm is left", len(w.alarms(a.Fence.Instance)), 0)
		want(w, "it runs", w.take("p").ID, m.ID)
	}},
	{"G25/setting_again_moves_it_and_keys_tell_apart", func(w *world) {
		at := w.now().Add(time.Hour).Truncate(time.Microsecond)
		a := w.remind("a",
			store.Reminder{Operation: "expire", When: actors.In(time.Second)},
			store.Reminder{Operation: "expire", When: actors.At(at), Interval: time.Minute, CatchUp: actors.All},
			store.Reminder{Operation: "expire", Key: "k", When: actors.In(time.Second)},
			store.Reminder{Operation: "other", Key: "k", When: actors.In(time.Second)},
			store.Reminder{Operation: "other", Key: "k", Cancel: true},
			store.Reminder{Operation: "never", Cancel: true},
		)
		alarms := w.alarms(a.Fence.Instance)
		slices.SortFunc(alarms, func(a, b actors.Alarm) int { return len(a.Key) - len(b.Key) })
		if len(alarms) != 2 {
			w.Fatalf("alarms: %v", alarms)
		}
		want(w, "operation", alarms[0].Operation, "expire")
		want(w, "next", alarms[0].Next.Equal(at), true)
		want(w, "interval", alarms[0].Interval, time.Minute)
		want(w, "catch-up", alarms[0].CatchUp, actors.All)
		want(w, "key", alarms[1].Key, "k")
		want(w, "default catch-up", alarms[1].CatchUp, actors.Latest)
	}},
	{"G25/cancel_wins_over_what_is_due_but_not_enqueued", func(w *world) {
		w.remind("a", store.Reminder{Operation: "expire", When: actors.In(time.Second)})
		w.pass(time.Minute)
		w.remind("a", store.Reminder{Operation: "expire", Cancel: true})
		want(w, "fired", len(w.fire(10, 100)), 0)
	}},
	{"D43/intervals_stay_on_their_grid", func(w *world) {
		first := w.now().Add(time.Minute).Truncate(time.Microsecond)
		a := w.remind("a", store.Reminder{Operation: "tick", When: actors.At(first), Interval: time.Minute})
		w.pass(time.Minute)
		for i := range w.sized("occurrences", 20, 1000) {
			w.pass(time.Duration(i%50) * time.Second) // never on the point
			w.fire(10, 1000)
			next := w.alarms(a.Fence.Instance)[0].Next
			want(w, "on the grid", next.Sub(first)%time.Minute, 0)
			want(w, "ahead", next.After(w.now()), true)
			w.pass(next.Sub(w.now()))
		}
	}},
	{"D44/latest_sends_one_and_goes_on_with_the_grid", func(w *world) {
		a := w.remind("a", store.Reminder{Operation: "tick", When: actors.In(time.Second), Interval: time.Second, CatchUp: actors.Latest})
		first := w.alarms(a.Fence.Instance)[0].Next
		w.pass(time.Hour)
		want(w, "fired", len(w.fire(10_000, 10_000)), 1)
		next := w.alarms(a.Fence.Instance)[0].Next
		want(w, "ahead", next.After(w.now().Add(-10*time.Second)), true)
		want(w, "on the grid", next.Sub(first)%time.Second, 0)
	}},
	{"D44/all_sends_every_one_in_bounded_passes", d44},
	{"D44/a_full_mailbox_waits_and_loses_nothing", func(w *world) {
		a := w.remind("a", store.Reminder{Operation: "tick", When: actors.In(time.Minute), Interval: time.Minute, CatchUp: actors.All})
		first := w.alarms(a.Fence.Instance)[0].Next
		w.pass(10*time.Minute + 30*time.Second)
		w.remind("b", store.Reminder{Operation: "tick", When: actors.In(0)})
		got := w.fire(100, 3)
		want(w, "up to the cap, and the other actor's", len(got), 3+1)
		want(w, "not at once again", len(w.fire(100, 3)), 0)
		for fired := 3; ; {
			for _, b := range w.scan("p", 10) {
				w.done(&b.Turn)
				w.release(b.Fence, false)
			}
			w.pass(11 * time.Second)
			fired += len(w.fire(100, 3))
			next := w.alarms(a.Fence.Instance)[0].Next
			want(w, "occurrences", time.Duration(fired)*time.Minute, next.Sub(first))
			if next.After(w.now()) || w.Failed() {
				break
			}
		}
	}},
	{"G26/a_destroyed_actor_is_not_reminded", func(w *world) {
		w.remind("a", store.Reminder{Operation: "expire", When: actors.In(time.Second)})
		w.pass(time.Minute)
		_, err := w.Destroy(w.ctx(), key("a"))
		w.must(err)
		want(w, "fired", len(w.fire(10, 100)), 0)
		want(w, "nothing was recreated", w.snapshot("a").Instance, "")
	}},
	{"G25/far_away", func(w *world) {
		at := time.Date(9999, 12, 31, 23, 59, 59, 0, time.UTC)
		a := w.remind("a", store.Reminder{Operation: "far", When: actors.At(at)})
		want(w, "next", w.alarms(a.Fence.Instance)[0].Next.Equal(at), true)
		want(w, "fired", len(w.fire(10, 100)), 0)
	}},
}

// d44: an hour of missed seconds, scaled to two minutes, beside others that are due now.
func d44(w *world) {
	missed, others := w.sized("missed occurrences", 120, 3600), w.sized("others", 50, 10_000)
	w.remind("a", store.Reminder{Operation: "tick", When: actors.In(time.Second), Interval: time.Second, CatchUp: actors.All})
	w.pass(time.Duration(missed)*time.Second + time.Second/2)
	for i := range others {
		w.remind(fmt.Sprint("other", i), store.Reminder{Operation: "once", When: actors.In(0)})
	}
	count := map[string]int{}
	passes, firstAll := 0, 0
	for {
		got := w.fire(20, 10_000)
		if len(got) == 0 {
			break
		}
		if len(got) > 20 {
			w.Fatalf("a pass of %d", len(got))
		}
		passes++
		for _, m := range got {
			count[m.ActorID]++
		}
		if len(count) == others+1 && firstAll == 0 {
			firstAll = passes
		}
		if passes > 100+missed+others {
			w.Fatal("no end")
		}
	}
	if n := count["a"]; n < missed || n > missed+10+others/10 { // a slow machine adds some
		w.Errorf("%d occurrences of %d", n, missed)
	}
	for i := range others {
		want(w, "others", count[fmt.Sprint("other", i)], 1)
	}
	if firstAll > 2+others/10 {
		w.Errorf("the others were served after %d passes of 20", firstAll)
	}
	sequences := w.tell("a").Message.Sequence
	want(w, "one message for each occurrence", sequences, int64(count["a"])+2)
}
