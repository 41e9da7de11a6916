package storetest

import (
	"encoding/json"
	"fmt"
	"time"

	"github.com/lockstep-go/lockstep/actors"
	"github.com/lockstep-go/lockstep/runtime/store"
)

// operatorTests are about what operators look at.
var operatorTests = []test{
	{"G30/counts_of_what_waits", func(w *world) {
		count := func(limit int) store.Counts {
			w.Helper()
			c, err := w.Count(w.ctx(), limit)
			w.must(err)
			want(w, "now", near(c.Now, w.now()), true)
			c.Now = time.Time{}
			return c
		}
		want(w, "nothing", count(100), store.Counts{})
		out := w.ask("p", "outbox")
		c := full(&out.Turn)
		c.Effects = append(c.Effects, store.Effect{ID: newID(), Name: "charge", Arguments: json.RawMessage(`{}`), MaxAttempts: 1})
		w.commit(c)
		w.release(out.Fence, false)
		taken := w.claimEffects("p", 1)
		want(w, "taken", len(taken), 1)
		w.finishEffect(&store.EffectOutcome{ID: taken[0].ID, Owner: "p", Attempt: 1, ErrorKind: "no", ErrorText: "no"})
		w.bury("dead")
		again := w.bury("retried")
		_, o, err := w.Retry(w.ctx(), again.ID, newID(), 100)
		w.must(err)
		want(w, "retry", o, store.Done)
		w.ask("p", "running")
		w.tell("running")
		for range 3 {
			w.tell("waiting")
		}
		w.tell("paused")
		o, err = w.Pause(w.ctx(), key("paused"), true)
		w.must(err)
		want(w, "pause", o, store.Done)
		later := message("later")
		later.When = actors.In(3 * time.Hour)
		w.enqueue(later)
		begun := w.now()
		w.pass(2 * time.Hour) // the reminder of an hour is due
		got := count(100)
		for what, since := range map[string]struct {
			got  time.Time
			want time.Time
		}{
			"ready":     {got.ReadySince, begun},
			"effects":   {got.EffectSince, begun},
			"reminders": {got.ReminderSince, begun.Add(time.Hour)},
			"sends":     {got.SendSince, begun},
		} {
			want(w, what+" wait since", near(since.got, since.want), true)
		}
		got.ReadySince, got.EffectSince, got.ReminderSince, got.SendSince = time.Time{}, time.Time{}, time.Time{}, time.Time{}
		want(w, "counts", got, store.Counts{
			Ready: 2, Delayed: 1, Paused: 1, Claimed: 1, Queued: 3, Effects: 1, Pending: 1, Failed: 1, Reminders: 1, Sends: 1, Dead: 1,
		})
		got = count(2)
		want(w, "ready up to a limit", got.Ready, 2)
		want(w, "queued up to a limit", got.Queued, 2)
	}},
	{"G17/paging_oldest_first", func(w *world) {
		var ids []string
		for batch := range 3 { // those of one flush may fail at one time
			f := &store.Flush{}
			for i := range 3 {
				a := w.ask("p", fmt.Sprint("a", batch, i))
				x := failing(&a.Turn)
				x.Final = true
				f.Failures = append(f.Failures, x)
				ids = append(ids, a.ID)
			}
			w.flush(f)
			w.pass(time.Minute)
		}
		seen := map[string]bool{}
		var at store.DeadLetter
		for range 10 {
			page, err := w.DeadLettersAfter(w.ctx(), at.FailedAt, at.ID, 2)
			w.must(err)
			if len(page) == 0 {
				break
			}
			want(w, "a page is bounded", len(page) <= 2, true)
			for _, d := range page {
				want(w, "seen twice", seen[d.ID], false)
				want(w, "in order", d.FailedAt.Before(at.FailedAt), false)
				seen[d.ID], at = true, d
			}
		}
		for _, id := range ids {
			want(w, "seen", seen[id], true)
		}
		want(w, "complete", string(at.Message.Arguments), `{"qty":1}`)
	}},
	{"G25/reminders_are_listed_as_they_come", func(w *world) {
		w.remind("b", store.Reminder{Operation: "tick", Key: "k", When: actors.In(time.Hour), Interval: time.Minute, CatchUp: actors.All})
		w.remind("a", store.Reminder{Operation: "expire", When: actors.In(time.Minute)})
		list, err := w.Reminders(w.ctx(), 10)
		w.must(err)
		want(w, "reminders", len(list), 2)
		want(w, "the first", list[0].Key, key("a"))
		r := list[1]
		want(w, "operation", r.Operation, "tick")
		want(w, "key", r.Name, "k")
		want(w, "interval", r.Interval, time.Minute)
		want(w, "catch-up", r.CatchUp, string(actors.All))
		want(w, "next", near(r.Next, w.now().Add(time.Hour)), true)
		want(w, "tried", r.Due.Equal(r.Next), true)
		one, err := w.Reminders(w.ctx(), 1)
		w.must(err)
		want(w, "bounded", len(one), 1)
		w.tell("a")
		w.pass(2 * time.Minute)
		w.fire(10, 1) // its mailbox is full
		list, err = w.Reminders(w.ctx(), 1)
		w.must(err)
		want(w, "it waits", list[0].Key, key("a"))
		want(w, "and is tried again", list[0].Due.After(list[0].Next), true)
	}},
}
