package storetest

import (
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/lockstep-go/lockstep/runtime/store"
)

// news commits a turn of an actor that changed observables.
func (w *world) news(actor string, names []string, values map[string]json.RawMessage) *store.Broadcast {
	w.Helper()
	a := w.ask("p", actor)
	c := finishing(&a.Turn)
	c.Broadcast = &store.Broadcast{ID: newID(), Actor: key(actor), Names: names, Values: values}
	want(w, "commit", w.commit(c).Outcome, store.Done)
	w.release(a.Fence, false)
	return c.Broadcast
}

func (w *world) takeBroadcasts(owner string, age time.Duration, limit int) []store.Broadcast {
	w.Helper()
	got, err := w.TakeBroadcasts(w.ctx(), owner, age, limit)
	w.must(err)
	return got
}

func (w *world) deliver1(id string) { w.flush(&store.Flush{Delivered: []string{id}}) }

var broadcastTests = []test{
	{"G27/the_store_fills_in_revision_and_previous", func(w *world) {
		b := w.news("a", []string{"items"}, nil)
		want(w, "first: previous", b.Previous, 0)
		want(w, "first: revision", b.Revision, 1)
		w.deliver1(b.ID)
		a := w.ask("p", "a") // commits state without news
		w.done(&a.Turn)
		w.release(a.Fence, false)
		b = w.news("a", []string{"items"}, nil)
		want(w, "second: previous", b.Previous, 1)
		want(w, "second: revision", b.Revision, 3)
		snap := w.snapshot("a")
		want(w, "instance", b.Instance, snap.Instance)
		want(w, "message", b.Message, snap.Message)
		want(w, "snapshot", snap.Broadcast, 3)
	}},
	{"G27/the_row_is_its_committers_until_the_claim_lapses", func(w *world) {
		b := w.news("a", []string{"items", "status"}, map[string]json.RawMessage{"items": json.RawMessage(`{"n": 1}`)})
		want(w, "too early", len(w.takeBroadcasts("q", time.Minute, 10)), 0)
		w.pass(time.Minute + time.Second)
		got := w.takeBroadcasts("q", time.Minute, 10)
		if len(got) != 1 {
			w.Fatalf("%d rows", len(got))
		}
		g := got[0]
		want(w, "id", g.ID, b.ID)
		want(w, "actor", g.Actor, key("a"))
		want(w, "instance", g.Instance, b.Instance)
		want(w, "revision", g.Revision, 1)
		want(w, "message", g.Message, b.Message)
		want(w, "names", fmt.Sprint(g.Names), "[items status]")
		want(w, "value", string(g.Values["items"]), `{"n": 1}`)
		want(w, "values", len(g.Values), 1)
		want(w, "taken", len(w.takeBroadcasts("r", time.Minute, 10)), 0)
		w.deliver1(b.ID)
		w.pass(time.Hour)
		want(w, "handed on", len(w.takeBroadcasts("r", time.Minute, 10)), 0)
	}},
	{"G27/a_newer_row_absorbs_pending_ones", func(w *world) {
		w.news("a", []string{"items", "total"}, map[string]json.RawMessage{"total": json.RawMessage("1"), "old": json.RawMessage("1")})
		w.news("a", []string{"total"}, map[string]json.RawMessage{"total": json.RawMessage("2")})
		b := w.news("a", []string{"status"}, nil)
		want(w, "the committer is told: previous", b.Previous, 0)
		w.news("b", []string{"x"}, nil)
		w.pass(time.Hour)
		got := w.takeBroadcasts("q", time.Minute, 10)
		want(w, "rows", len(got), 2)
		for _, g := range got {
			if g.Actor != key("a") {
				continue
			}
			slices.Sort(g.Names)
			want(w, "id", g.ID, b.ID)
			want(w, "previous", g.Previous, 0)
			want(w, "revision", g.Revision, 3)
			want(w, "names", fmt.Sprint(g.Names), "[items status total]")
			want(w, "newest value", string(g.Values["total"]), "2")
			want(w, "older value", string(g.Values["old"]), "1")
		}
	}},
	{"G27/a_delivered_row_is_not_absorbed_by_the_next_in_its_flush", func(w *world) {
		b := w.news("a", []string{"items"}, nil)
		a := w.ask("p", "a")
		c := finishing(&a.Turn)
		c.Broadcast = &store.Broadcast{ID: newID(), Actor: key("a"), Names: []string{"status"}}
		w.flush(&store.Flush{Delivered: []string{b.ID}, Commits: []*store.Commit{c}})
		want(w, "previous", c.Broadcast.Previous, 1)
		want(w, "names", fmt.Sprint(c.Broadcast.Names), "[status]")
	}},
	{"G27/one_without_a_change_of_state", func(w *world) {
		w.deliver1(w.news("a", []string{"items"}, nil).ID)
		a := w.ask("p", "a")
		c := finishing(&a.Turn)
		c.State = nil
		c.Broadcast = &store.Broadcast{ID: newID(), Actor: key("a"), Names: []string{"items"}}
		want(w, "outcome", w.commit(c).Outcome, store.Done)
		want(w, "previous", c.Broadcast.Previous, 1)
		want(w, "revision", w.snapshot("a").Revision, 1)
	}},
	{"D47/rows_are_found_whatever_their_order", func(w *world) {
		// A row with a lower id and an older revision that appears late is taken like any other.
		late := w.news("z", []string{"x"}, nil)
		w.pass(time.Minute)
		for i := range 5 {
			w.news(fmt.Sprint("a", i), []string{"x"}, nil)
		}
		w.pass(time.Minute)
		seen := map[string]bool{}
		for range 6 {
			for _, b := range w.takeBroadcasts("q", time.Second, 1) {
				seen[b.ID] = true
			}
		}
		want(w, "all are found", len(seen), 6)
		want(w, "the late one too", seen[late.ID], true)
	}},
	{"G27/stamps", func(w *world) {
		a := w.news("a", []string{"x"}, nil)
		b := w.ask("p", "b")
		w.done(&b.Turn)
		stamps, err := w.Stamps(w.ctx(), []store.Key{key("a"), key("nobody"), key("b")})
		w.must(err)
		if len(stamps) != 3 {
			w.Fatalf("%d stamps", len(stamps))
		}
		want(w, "instance", stamps[0].Instance, a.Instance)
		want(w, "revision", stamps[0].Revision, 1)
		want(w, "message", stamps[0].Message, a.Message)
		want(w, "a missing actor", stamps[1].Instance, "")
		want(w, "its state's revision", stamps[0].Committed, 1)
		want(w, "state without a broadcast", stamps[2].Revision, 0)
		want(w, "and its revision", stamps[2].Committed, 1)
		want(w, "its instance", stamps[2].Instance, b.Fence.Instance)
	}},
}
