package storetest

import (
	"encoding/json"
	"fmt"
	"time"

	"github.com/lockstep-go/lockstep/actors"
	"github.com/lockstep-go/lockstep/runtime/store"
)

func (w *world) destroy(actor string) store.Destroyed {
	w.Helper()
	d, err := w.Destroy(w.ctx(), key(actor))
	w.must(err)
	return d
}

var destroyTests = []test{
	{"G28/destroy_answers_whether_it_existed", func(w *world) {
		want(w, "nobody", w.destroy("a").Existed, false)
		e := w.tell("a")
		d := w.destroy("a")
		want(w, "somebody", d.Existed, true)
		want(w, "instance", d.Instance, e.Message.Instance)
		want(w, "again", w.destroy("a").Existed, false)
	}},
	{"D46/nothing_of_a_destroyed_actor_acts_or_is_addressed", d46},
	{"G28/a_fresh_incarnation_begins_at_sequence_1", func(w *world) {
		a := w.ask("p", "a")
		w.done(&a.Turn)
		w.tell("a")
		w.destroy("a")
		b := w.ask("q", "a")
		want(w, "sequence", b.Sequence, 1)
		want(w, "instance", b.Fence.Instance != a.Fence.Instance, true)
		want(w, "state", b.Snapshot.State == nil, true)
		want(w, "revision", b.Snapshot.Revision, 0)
		for _, v := range verbs {
			want(w, v.name+" of the old incarnation", v.run(w, &a.Turn), store.Fenced)
		}
		w.done(&b.Turn)
	}},
	{"G28/sweep_deletes_history_in_bounded_batches", func(w *world) {
		for range 25 {
			w.tell("a")
		}
		a := w.take("p")
		w.done(&a.Turn)
		w.release(a.Fence, false)
		for range 3 {
			w.tell("b")
		}
		w.destroy("a")
		w.tell("a") // a new incarnation, which stays
		swept := 0
		for range 20 {
			n, err := w.Sweep(w.ctx(), 10)
			w.must(err)
			if n > 10 {
				w.Fatalf("a batch of %d", n)
			}
			if swept += n; n == 0 {
				break
			}
		}
		want(w, "swept", swept, 25)
		want(w, "others stay", len(w.scan("p", 10)), 2)
	}},
	{"G28/sweep_finds_history_that_retention_cut_in_two", func(w *world) {
		w.bury("a")
		for range 3 {
			b := w.ask("p", "a")
			w.done(&b.Turn)
			w.release(b.Fence, false)
		}
		w.pass(2 * time.Hour)
		want(w, "pruned", w.prune(time.Hour, 100, false), 3)
		w.tell("a")
		w.destroy("a")
		n, err := w.Sweep(w.ctx(), 100)
		w.must(err)
		want(w, "the dead message and the new one", n, 2)
	}},
}

// d46: an actor that has one of everything ends.
func d46(w *world) {
	a := w.ask("p", "a")
	c := full(&a.Turn)
	c.Reminders[0].When = actors.In(time.Second)
	w.commit(c)
	w.claimEffects("p", 10)
	letter := w.bury2(a)
	running := w.enqueueHeld(a, "a")
	if running == nil {
		w.Fatal("not claimed")
	}
	behind := w.tell("a")
	future := message("a")
	future.When = actors.In(time.Hour)
	w.enqueue(future)
	want(w, "existed", w.destroy("a").Existed, true)

	for _, id := range []string{a.ID, letter, running.ID, behind.Message.ID, future.Message.ID} {
		w.gone(id)
	}
	for _, v := range verbs {
		want(w, v.name, v.run(w, &running.Turn), store.Fenced)
	}
	w.pass(48 * time.Hour)
	want(w, "alarms", len(w.alarms(a.Fence.Instance)), 0)
	d := w.due()
	want(w, "due", d.Messages.IsZero() && d.Effects.IsZero() && d.Reminders.IsZero() && d.Sends.IsZero(), true)
	want(w, "claims", len(w.scan("q", 10)), 0)
	want(w, "effects", len(w.claimEffects("q", 10)), 0)
	want(w, "sends", len(w.deliver(10, 100)), 0)
	want(w, "reminders", len(w.fire(10, 100)), 0)
	want(w, "broadcasts", len(w.takeBroadcasts("q", 0, 10)), 0)
	want(w, "dead letters", len(w.dead()), 0)
	rec := w.recover("q")
	want(w, "recovered", rec.Messages+rec.Effects+rec.Broadcasts, 0)
	want(w, "nothing was recreated", w.snapshot("a").Instance, "")
	o, err := w.Pause(w.ctx(), key("a"), true)
	w.must(err)
	want(w, "pause", o, store.Missing)
	want(w, "the next begins anew", w.tell("a").Message.Sequence, 1)
	swept := 0
	for {
		n, err := w.Sweep(w.ctx(), 2)
		w.must(err)
		if n == 0 {
			break
		}
		swept += n
	}
	want(w, "history", swept, 5)
}

// bury2 makes a dead letter within a kept activation.
func (w *world) bury2(a *store.Activation) string {
	w.Helper()
	b := w.enqueueHeld(a, a.ActorID)
	if b == nil {
		w.Fatal("not claimed")
	}
	f := failing(&b.Turn)
	f.Final = true
	want(w, "dead letter", w.fail(f).Outcome, store.Done)
	return b.ID
}

var processTests = []test{
	{"G31/the_registry", func(w *world) {
		w.must(w.Register(w.ctx(), store.Process{ID: "p", Kind: "worker", Host: "h", PID: 7, Metadata: json.RawMessage(`{"v":1}`), State: "running"}))
		w.pass(10 * time.Second)
		o, err := w.Beat(w.ctx(), "p", "draining")
		w.must(err)
		want(w, "beat", o, store.Done)
		list, err := w.Processes(w.ctx())
		w.must(err)
		if len(list) != 1 {
			w.Fatalf("%d processes", len(list))
		}
		p := list[0]
		want(w, "kind", p.Kind, "worker")
		want(w, "host", p.Host, "h")
		want(w, "pid", p.PID, 7)
		want(w, "metadata", string(p.Metadata), `{"v":1}`)
		want(w, "state", p.State, "draining")
		want(w, "beat", near(p.BeatAt, w.now()), true)
		o, err = w.Beat(w.ctx(), "nobody", "running")
		w.must(err)
		want(w, "beat of an unknown one", o, store.Missing)
	}},
	{"G31/leave_gives_everything_back", func(w *world) {
		w.register(w.Store, "p")
		idle := w.ask("p", "idle")
		c := full(&idle.Turn)
		w.commit(c)
		w.claimEffects("p", 10)
		running := w.ask("p", "running")
		rec, err := w.Leave(w.ctx(), "p")
		w.must(err)
		want(w, "messages", rec.Messages, 1)
		want(w, "effects", rec.Effects, 1)
		want(w, "broadcasts", rec.Broadcasts, 1)
		want(w, "the lease is over", w.renew(idle.Fence, lease).Outcome, store.Fenced)
		want(w, "the turn is fenced", w.commit(finishing(&running.Turn)).Outcome, store.Fenced)
		b := w.take("q")
		want(w, "message", b.ID, running.ID)
		want(w, "attempts", b.Attempts, 1)
		want(w, "effect", w.claimEffects("q", 10)[0].Attempt, 1)
		want(w, "broadcasts at once", len(w.takeBroadcasts("q", time.Hour, 10)), 1)
		list, err := w.Processes(w.ctx())
		w.must(err)
		want(w, "state", list[0].State, "stopped")
		o, err := w.Beat(w.ctx(), "p", "running")
		w.must(err)
		want(w, "it does not come back by beating", o, store.Missing)
		w.pass(8 * 24 * time.Hour)
		w.recover("q")
		list, err = w.Processes(w.ctx())
		w.must(err)
		want(w, "forgotten", len(list), 0)
	}},
	{"G31/a_dead_processes_work_is_recovered", func(w *world) {
		w.register(w.Store, "self")
		dying := w.second()
		w.register(dying, "p")
		var old []*store.Activation
		for i := range 3 {
			e := message(fmt.Sprint("a", i))
			e.Claim = &store.Claim{Owner: "p", Token: newID(), Lease: time.Hour} // longer than its life
			w.must(dying.Flush(w.ctx(), &store.Flush{Enqueues: []*store.Enqueue{e}}))
			old = append(old, e.Activation)
		}
		want(w, "commit", w.commit(full(&old[2].Turn)).Outcome, store.Done)
		effects, err := w.ClaimEffects(w.ctx(), "p", []string{"charge"}, 10, time.Hour)
		w.must(err)
		want(w, "effects", len(effects), 1)
		w.must(dying.Close()) // as its end would
		w.pass(2 * time.Minute)
		w.Beat(w.ctx(), "self", "running")
		rec := w.recover("self")
		want(w, "processes", fmt.Sprint(rec.Processes), "[p]")
		want(w, "messages", rec.Messages, 2)
		want(w, "effects", rec.Effects, 1)
		want(w, "broadcasts", rec.Broadcasts, 1)
		want(w, "dead", len(rec.Dead), 0)
		as := w.scan("self", 10)
		want(w, "claims", len(as), 2)
		for _, a := range as {
			want(w, "attempt", a.Attempts, 2)
			want(w, "generation", a.Generation, 2)
		}
		want(w, "effect", w.claimEffects("self", 10)[0].Attempt, 2)
		want(w, "an idle activation is free", w.ask("self", "a2").Generation, 2)
		rec = w.recover("self")
		want(w, "once", len(rec.Processes)+rec.Messages, 0)
	}},
	{"D12/a_live_owners_work_is_not_touched", func(w *world) {
		w.register(w.Store, "p")
		w.register(w.Store, "q")
		a := w.ask("p", "a")
		w.pass(lease / 2)
		w.renew(a.Fence, lease)
		w.pass(lease - 5*time.Second)
		rec := w.recover("q")
		want(w, "messages", rec.Messages, 0)
		want(w, "processes", len(rec.Processes), 0)
		w.done(&a.Turn)
		w.pass(time.Hour)
		w.recover("q")
		want(w, "finished stays finished", w.stored(a.ID).Status, store.Completed)
		want(w, "with its attempts", w.stored(a.ID).Attempts, 1)
		want(w, "and is not dead", len(w.dead()), 0)
	}},
	{"D12/a_second_sweep_finds_nothing", func(w *world) {
		a := w.ask("p", "a")
		w.pass(lease + time.Second)
		want(w, "first", w.recover("q").Messages, 1)
		want(w, "second", w.recover("r").Messages, 0)
		want(w, "attempts", w.stored(a.ID).Attempts, 1)
	}},
	{"D14/identity_is_the_processes_id", func(w *world) {
		w.register(w.Store, "p") // the same host and pid
		other := w.second()
		w.register(other, "q")
		a := w.ask("p", "a")
		_, err := other.Leave(w.ctx(), "q")
		w.must(err)
		w.register(other, "r")
		rec, err := other.Recover(w.ctx(), "r", time.Minute, time.Hour)
		w.must(err)
		want(w, "messages", rec.Messages, 0)
		w.done(&a.Turn)
	}},
	{"G31/many_expired_claims", func(w *world) {
		w.askMany(1200)
		w.pass(lease + time.Second)
		want(w, "messages", w.recover("q").Messages, 1200)
		want(w, "ready", len(w.scan("q", 2000)), 1200)
	}},
	{"G31/leaving_gives_back_many", func(w *world) {
		w.register(w.Store, "p")
		w.askMany(1200)
		rec, err := w.Leave(w.ctx(), "p")
		w.must(err)
		want(w, "messages", rec.Messages, 1200)
		want(w, "ready", len(w.scan("q", 2000)), 1200)
	}},
	{"G20/changes_tells_of_others", func(w *world) {
		before, err := w.Changes(w.ctx())
		w.must(err)
		if before == -1 {
			return // this database cannot say
		}
		other := w.second()
		w.must(other.Flush(w.ctx(), &store.Flush{Enqueues: []*store.Enqueue{message("a")}}))
		after, err := w.Changes(w.ctx())
		w.must(err)
		if one, ok := w.again.(interface{ OneConnection() bool }); ok && one.OneConnection() {
			return // both stores share it, so there is no other
		}
		want(w, "another's commit", after != before, true)
		w.tell("b")
		own, err := w.Changes(w.ctx())
		w.must(err)
		want(w, "one's own", own, after)
	}},
}

// askMany claims n actors for p.
func (w *world) askMany(n int) {
	w.Helper()
	f := &store.Flush{}
	for i := range n {
		e := message(fmt.Sprint("a", i))
		e.Claim = claim("p")
		f.Enqueues = append(f.Enqueues, e)
	}
	w.flush(f)
}
