package storetest

import (
	"encoding/json"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/lockstep-go/lockstep/actors"
	"github.com/lockstep-go/lockstep/runtime/store"
)

var retentionTests = []test{
	{"G34/prune_previews_and_deletes_finished_history", func(w *world) {
		for i := range 7 {
			a := w.ask("p", "a")
			c := finishing(&a.Turn)
			if i == 0 {
				c.Status, c.State, c.Result, c.Rejection = store.Rejected, nil, nil, json.RawMessage(`{}`)
			}
			w.commit(c)
			w.release(a.Fence, false)
		}
		w.pass(time.Hour)
		young := w.ask("p", "a")
		w.done(&young.Turn)
		prune := func(limit int, preview bool) int { return w.prune(30*time.Minute, limit, preview) }
		want(w, "preview", prune(100, true), 7)
		want(w, "preview with a limit", prune(3, true), 3)
		want(w, "preview deletes nothing", prune(100, true), 7)
		want(w, "bounded", prune(5, false), 5)
		want(w, "the rest", prune(5, false), 2)
		want(w, "the end", prune(5, false), 0)
		want(w, "the young one stays", w.stored(young.ID).Status, store.Completed)
		want(w, "revision", w.snapshot("a").Revision, 8)
		want(w, "sequence goes on", w.tell("a").Message.Sequence, 9)
	}},
	{"D56/retention_touches_nothing_that_is_needed", func(w *world) {
		waiting := w.tell("waiting")
		running := w.ask("p", "running")
		letter := w.bury("dead")
		a := w.ask("p", "outbox")
		c := full(&a.Turn)
		w.commit(c)
		free := w.ask("p", "free")
		w.done(&free.Turn)
		w.pass(1000 * time.Hour)
		n := w.prune(time.Hour, 1000, false)
		want(w, "pruned", n, 1)
		w.gone(free.ID)
		for _, id := range []string{waiting.Message.ID, running.ID, letter.ID, a.ID} {
			w.stored(id)
		}
		want(w, "dead letter", len(w.dead()), 1)
		w.claimEffects("p", 1)
		w.finishEffect(&store.EffectOutcome{ID: c.Effects[0].ID, Owner: "p", Attempt: 1, Success: true})
		w.deliver(10, 10)
		w.deliver1(c.Broadcast.ID)
		n = w.prune(time.Hour, 1000, false)
		want(w, "once the outboxes are empty", n, 1)
		w.gone(a.ID)
	}},
	{"G34/each_outbox_keeps_its_message", func(w *world) {
		parts := map[string]func(*store.Commit){
			"effect":    func(c *store.Commit) { c.Sends, c.Broadcast = nil, nil },
			"send":      func(c *store.Commit) { c.Effects, c.Broadcast = nil, nil },
			"broadcast": func(c *store.Commit) { c.Effects, c.Sends = nil, nil },
		}
		for name, keep := range parts {
			a := w.ask("p", name)
			c := full(&a.Turn)
			keep(c)
			w.commit(c)
		}
		w.pass(1000 * time.Hour)
		for _, preview := range []bool{true, false} {
			want(w, "pruned", w.prune(time.Hour, 1000, preview), 0)
		}
	}},
	{"D56/batches_always_progress", func(w *world) {
		const n = 2000
		for i := 0; i < n; i += 200 {
			f, c := &store.Flush{}, &store.Flush{}
			for j := range 200 {
				e := message(fmt.Sprint("a", i+j))
				e.Claim = claim("p")
				f.Enqueues = append(f.Enqueues, e)
			}
			w.flush(f)
			for _, e := range f.Enqueues {
				c.Commits = append(c.Commits, finishing(&e.Activation.Turn))
			}
			w.flush(c)
		}
		w.pass(2 * time.Hour)
		live := w.tell("live")
		for left := n; left > 0; left -= 500 {
			got := w.prune(time.Hour, 500, false)
			want(w, "batch", got, 500)
			if got == 0 {
				break
			}
		}
		want(w, "live", w.waits(live.Message.ID), "ready")
	}},
	{"G34/history_is_read_in_pages_with_its_types", func(w *world) {
		w.askMany(7)
		f := &store.Flush{}
		for _, a := range w.scanAll("p") {
			f.Commits = append(f.Commits, finishing(&a.Turn)) // all at one time
		}
		w.flush(f)
		gone := w.ask("p", "gone")
		w.done(&gone.Turn)
		w.release(gone.Fence, false)
		w.destroy("gone")
		w.pass(time.Hour)
		types, seen := map[string]int{}, map[string]bool{}
		var after store.Finished
		for range 10 {
			page, err := w.Finished(w.ctx(), time.Minute, after, 3)
			w.must(err)
			for _, m := range page {
				want(w, "seen twice", seen[m.ID], false)
				want(w, "in order", m.At.Before(after.At), false)
				seen[m.ID], after = true, m
				types[m.Type]++
			}
			if len(page) < 3 {
				break
			}
		}
		want(w, "of the type", types[typ], 7)
		want(w, "of a destroyed actor", types[""], 1)
		none, err := w.Finished(w.ctx(), 2*time.Hour, store.Finished{}, 3)
		w.must(err)
		want(w, "too young", len(none), 0)
	}},
	{"G34/only_what_is_finished_can_be_forgotten", func(w *world) {
		waiting, running, letter := w.tell("waiting"), w.ask("p", "running"), w.bury("dead")
		a := w.ask("p", "outbox")
		w.commit(full(&a.Turn))
		n, err := w.Forget(w.ctx(), []string{waiting.Message.ID, running.ID, letter.ID, a.ID, newID()})
		w.must(err)
		want(w, "forgotten", n, 0)
		for _, id := range []string{waiting.Message.ID, running.ID, letter.ID, a.ID} {
			w.stored(id)
		}
		n, err = w.Forget(w.ctx(), nil)
		w.must(err)
		want(w, "nothing", n, 0)
	}},
	{"D12/two_prunes_from_one_read", func(w *world) {
		other := w.second()
		var ids []string
		for i := range 200 {
			a := w.ask("p", fmt.Sprint("a", i))
			w.done(&a.Turn)
			ids = append(ids, a.ID)
		}
		var counts [2]int
		var errs [2]error
		var wg sync.WaitGroup
		for i, s := range []store.Store{w.Store, other} {
			wg.Go(func() {
				errs[i] = retrying(func() (err error) {
					counts[i], err = s.Forget(w.ctx(), ids)
					return err
				})
			})
		}
		wg.Wait()
		w.must(errs[0])
		w.must(errs[1])
		rest, err := w.Forget(w.ctx(), ids) // what each left to the other
		w.must(err)
		want(w, "each once", counts[0]+counts[1]+rest, 200)
		for _, id := range ids {
			w.gone(id)
		}
	}},
	{"D12/two_sweeps_from_one_read", func(w *world) {
		other := w.second()
		w.register(w.Store, "p")
		w.askMany(50)
		w.pass(lease + 2*time.Minute)
		var got [2]store.Recovered
		var errs [2]error
		var wg sync.WaitGroup
		for i, s := range []store.Store{w.Store, other} {
			wg.Go(func() {
				errs[i] = retrying(func() (err error) {
					got[i], err = s.Recover(w.ctx(), fmt.Sprint("q", i), time.Minute, time.Hour)
					return err
				})
			})
		}
		wg.Wait()
		w.must(errs[0])
		w.must(errs[1])
		last := w.recover("r")
		want(w, "messages", got[0].Messages+got[1].Messages+last.Messages, 50)
		want(w, "dead letters", len(w.dead()), 0)
		for _, a := range w.scanAll("q") {
			want(w, "attempts", a.Attempts, 2)
			w.done(&a.Turn)
		}
	}},
	{"D12/a_process_is_pruned_at_its_last_commit", func(w *world) {
		for i := range 20 {
			p := fmt.Sprint("p", i)
			w.register(w.Store, p)
			a := w.ask(p, fmt.Sprint("a", i))
			w.pass(2 * time.Minute) // its heartbeat is old
			a = w.again1(p, a)
			other := w.Store
			c := finishing(&a.Turn)
			var rec store.Recovered
			var flushed, recovered error
			var wg sync.WaitGroup
			wg.Go(func() {
				flushed = retrying(func() error { return w.Flush(w.ctx(), &store.Flush{Commits: []*store.Commit{c}}) })
			})
			wg.Go(func() {
				recovered = retrying(func() (err error) {
					rec, err = other.Recover(w.ctx(), "q", time.Minute, 0)
					return err
				})
			})
			wg.Wait()
			w.must(flushed)
			w.must(recovered)
			m := w.stored(a.ID)
			if c.Outcome == store.Done {
				want(w, "committed stays", m.Status, store.Completed)
			} else {
				want(w, "the commit lost", c.Outcome, store.Fenced)
				want(w, "and is given back", m.Status, store.Live)
				want(w, "state", w.snapshot(a.ActorID).Revision, 0)
				for _, b := range w.scan("q", 10) {
					w.done(&b.Turn)
				}
			}
			want(w, "not dead too", len(rec.Dead), 0)
			want(w, "attempts", w.stored(a.ID).Attempts <= 2, true)
		}
	}},
	{"G34/actors_are_listed_with_what_they_have", instancesListed},
	{"G34/actors_expire_once_they_are_quiet", instancesExpire},
	{"G34/expiry_asks_again_under_the_lock", func(w *world) {
		other := w.second()
		var ids []string
		for i := range 40 {
			a := w.ask("p", fmt.Sprint("a", i))
			w.done(&a.Turn)
			w.release(a.Fence, false)
			ids = append(ids, a.Fence.Instance)
		}
		w.pass(time.Hour)
		told := make([]*store.Enqueue, 40)
		f := &store.Flush{}
		for i := range told {
			told[i] = message(fmt.Sprint("a", i))
			f.Enqueues = append(f.Enqueues, told[i])
		}
		var expired []store.Instance
		var errs [2]error
		var wg sync.WaitGroup
		wg.Go(func() {
			errs[0] = retrying(func() (err error) {
				expired, err = w.Expire(w.ctx(), ids, time.Minute)
				return err
			})
		})
		wg.Go(func() { errs[1] = retrying(func() error { return other.Flush(w.ctx(), f) }) })
		wg.Wait()
		w.must(errs[0])
		w.must(errs[1])
		gone := map[string]bool{}
		for _, i := range expired {
			gone[i.ID] = true
		}
		for _, e := range told {
			for e.Outcome == store.Busy {
				w.enqueue(e)
			}
			want(w, "outcome", e.Outcome, store.Done)
			want(w, "into an expired incarnation", gone[e.Message.Instance], false)
			w.stored(e.Message.ID)
		}
		want(w, "all run", len(w.scan("q", 100)), 40)
	}},
}

// again1 renews a claim after time has passed.
func (w *world) again1(owner string, a *store.Activation) *store.Activation {
	w.Helper()
	w.recover("nobody")
	for _, b := range w.scan(owner, 100) {
		if b.ID == a.ID {
			return b
		}
	}
	w.Fatalf("%s has no claim any more", a.ActorID)
	return nil
}

// scanAll claims everything that is due, for whoever has it or takes it.
func (w *world) scanAll(owner string) (all []*store.Activation) {
	w.Helper()
	w.pass(lease + time.Second)
	w.recover("nobody")
	return w.scan(owner, 10_000)
}

// zoo makes an actor of each kind that does not expire, and two that do, and says what each is kept for.
func (w *world) zoo() map[string]func(*store.Instance) bool {
	for _, id := range []string{"idle", "idle2"} {
		a := w.ask("p", id)
		w.done(&a.Turn)
		w.release(a.Fence, false)
	}
	w.tell("pending")
	a := w.ask("p", "paused")
	w.done(&a.Turn)
	w.release(a.Fence, false)
	_, err := w.Pause(w.ctx(), key("paused"), true)
	w.must(err)
	r := w.remind("scheduled", store.Reminder{Operation: "expire", Key: "k", When: actors.In(10_000 * time.Hour)})
	w.release(r.Fence, false)
	parts := map[string]func(*store.Commit){
		"effect":    func(c *store.Commit) { c.Sends, c.Broadcast, c.Reminders = nil, nil, nil },
		"send":      func(c *store.Commit) { c.Effects, c.Broadcast, c.Reminders = nil, nil, nil },
		"broadcast": func(c *store.Commit) { c.Effects, c.Sends, c.Reminders = nil, nil, nil },
	}
	for name, keep := range parts {
		a := w.ask("p", name)
		c := full(&a.Turn)
		keep(c)
		w.commit(c)
		w.release(a.Fence, false)
	}
	w.bury("letter")
	outbox := func(i *store.Instance) bool { return i.Outbox }
	return map[string]func(*store.Instance) bool{
		"pending": func(i *store.Instance) bool { return i.Pending == 1 }, "paused": func(i *store.Instance) bool { return i.Paused },
		"scheduled": func(i *store.Instance) bool { return i.Scheduled }, "letter": func(i *store.Instance) bool { return i.Letters },
		"effect": outbox, "send": outbox, "broadcast": outbox, "held": func(i *store.Instance) bool { return i.Held },
	}
}

// list reads all actors in pages.
func (w *world) list(page int) (all []store.Instance) {
	w.Helper()
	after := ""
	for range 100 {
		list, err := w.Instances(w.ctx(), typ, after, page)
		w.must(err)
		all = append(all, list...)
		if len(list) < page {
			return all
		}
		after = list[len(list)-1].Key.ID
	}
	w.Fatal("the pages have no end")
	return nil
}

func instancesListed(w *world) {
	kept := w.zoo()
	w.pass(time.Hour)
	w.ask("p", "held")
	var ids []string
	for _, i := range w.list(3) {
		ids = append(ids, i.Key.ID)
		want(w, "type", i.Type, typ)
		if has := kept[i.Key.ID]; has != nil {
			want(w, i.Key.ID+" has what it was made with", has(&i), true)
			want(w, i.Key.ID+" is quiet", i.Quiet(), false)
			continue
		}
		want(w, i.Key.ID+" is quiet", i.Quiet(), true)
		want(w, "used", near(i.UsedAt, w.now().Add(-time.Hour)), true)
		want(w, "revision", i.Revision, 1)
		want(w, "version", i.Version, 1)
		want(w, "no state unasked", i.State == nil, true)
	}
	want(w, "in the order of their ids", slices.IsSorted(ids), true)
	want(w, "all of them", len(ids), len(kept)+2)
	other, err := w.Instances(w.ctx(), "other", "", 10)
	w.must(err)
	want(w, "of another type", len(other), 0)
	states, err := w.States(w.ctx(), typ, []string{"idle", "nobody", "pending"})
	w.must(err)
	want(w, "states", len(states), 2)
	for _, i := range states {
		switch i.Key.ID {
		case "idle":
			want(w, "state", string(i.State), `{"n":1}`)
			want(w, "revision", i.Revision, 1)
		default:
			want(w, "state of one that committed none", string(i.State), "")
			want(w, "pending", i.Pending, 1)
		}
	}
}

func instancesExpire(w *world) {
	kept := w.zoo()
	w.pass(1000 * time.Hour)
	held := w.ask("p", "held")
	w.done(&held.Turn)
	var ids []string
	for _, i := range w.list(100) {
		ids = append(ids, i.ID)
	}
	young, err := w.Expire(w.ctx(), ids, 2000*time.Hour)
	w.must(err)
	want(w, "that young", len(young), 0)
	gone, err := w.Expire(w.ctx(), ids, 24*time.Hour)
	w.must(err)
	want(w, "expired", len(gone), 2)
	for _, i := range gone {
		want(w, "which", i.Key.ID == "idle" || i.Key.ID == "idle2", true)
		want(w, "its state is gone", w.snapshot(i.Key.ID).Instance, "")
	}
	want(w, "left", len(w.list(100)), len(kept))
	again, err := w.Expire(w.ctx(), ids, 24*time.Hour)
	w.must(err)
	want(w, "twice", len(again), 0)
	swept, err := w.Sweep(w.ctx(), 100)
	w.must(err)
	want(w, "their history is swept", swept, 2)
	fresh := w.ask("p", "idle")
	want(w, "a fresh incarnation begins with", fresh.Sequence, 1)
}
