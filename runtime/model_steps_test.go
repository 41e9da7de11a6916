package runtime_test

import (
	"context"
	"flag"
	"fmt"
	"maps"
	"slices"
	"sync"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/lockstep-go/lockstep/actors"
	"github.com/lockstep-go/lockstep/runtime/store"
)

// steps are what callers, workers and the runtime's roles do, in any order: workers whose lease is over or whose actor
// was destroyed go on as if nothing had happened.
func (w *world) steps() map[string]func(*rapid.T) {
	return map[string]func(*rapid.T){
		"": w.compare, "tell": w.tell, "scan": w.scan, "commit": w.commit, "commit again": w.commit, "fail": w.fail,
		"release": w.release, "renew": w.renew, "recover": w.recover, "time": w.time, "destroy": w.destroy,
		"pause": w.pause, "deliver": w.deliver, "ring": w.ring, "claim effects": w.claimEffects, "finish effect": w.finishEffect,
	}
}

func (w *world) tell(t *rapid.T) {
	actor, key := draw(t, "actor", modelActors...), draw(t, "key", "", "", "k")
	args, by := draw(t, "arguments", `1`, `2`), draw(t, "claimer", append(modelOwners, "")...)
	e := &store.Enqueue{Message: store.Message{
		ID: w.id("m"), Type: "pad", ActorID: actor, Operation: "write", Arguments: []byte(args),
		Origin: store.FromClient, IdempotencyKey: key, MaxAttempts: modelLimit,
	}}
	if key != "" {
		e.Message.Fingerprint = args
	}
	a := w.actors[actor]
	warm := false
	if by != "" {
		e.Claim = &store.Claim{Owner: by, Token: w.id("t"), Lease: span(leaseSpan)}
		for _, x := range w.turns { // the newest that this owner was given
			if x.actor == actor && x.fence.Owner == by {
				e.Held = &x.fence
			}
		}
		warm = e.Held != nil && w.holds(*e.Held, a)
	}
	id := e.Message.ID
	w.flush(t, &store.Flush{Enqueues: []*store.Enqueue{e}})
	if a != nil && key != "" {
		if i := indexOf(a.box, func(m *modelMessage) bool { return m.key == key }); i >= 0 {
			want := store.Conflict
			if a.box[i].args == args {
				want = store.Duplicate
			}
			same(t, "a key that was used", e.Outcome, want)
			same(t, "the message that has the key", e.Message.ID, a.box[i].id)
			return
		}
	}
	same(t, "outcome", e.Outcome, store.Done)
	same(t, "id", e.Message.ID, id)
	w.put(t, &e.Message, modelLimit)
	a = w.actors[actor]
	claims := by != "" && a.head == len(a.box)-1 && !a.paused && (w.free(a) || warm)
	same(t, "it is claimed", e.Activation != nil, claims)
	if claims {
		same(t, "its activation is kept", e.Activation.Again, warm)
		w.given(t, actor, &e.Activation.Turn, by, warm)
		a.lease.until = w.now + leaseSpan
	}
}

func (w *world) scan(t *rapid.T) {
	by := draw(t, "owner", modelOwners...)
	s := &store.Scan{Claim: store.Claim{Owner: by, Token: w.id("t"), Lease: span(leaseSpan)}, Types: []string{"pad"}, Limit: 10}
	w.flush(t, &store.Flush{Claims: []*store.Scan{s}})
	want := map[string]bool{}
	for _, id := range modelActors {
		a := w.actors[id]
		if a == nil || a.paused || a.claimed || a.head == len(a.box) || a.box[a.head].due > w.now || !w.free(a) && a.lease.owner != by {
			continue
		}
		if w.bury(a) {
			want[id] = true
		}
	}
	for _, got := range s.Activations {
		if !want[got.ActorID] {
			t.Fatalf("%s was claimed, which the model does not allow", got.ActorID)
		}
		delete(want, got.ActorID)
		a := w.actors[got.ActorID]
		same(t, "revision of what was claimed", got.Snapshot.Revision, a.revision)
		w.given(t, got.ActorID, &got.Turn, by, a.lease.owner == by && a.lease.until > w.now)
		a.lease.until = w.now + leaseSpan
	}
	for id := range want {
		t.Fatalf("%s could have been claimed and was not", id)
	}
}

// turn draws one of the claims that somebody was given, the newest more often than others.
func (w *world) turn(t *rapid.T) modelTurn {
	if len(w.turns) == 0 {
		t.Skip("nobody was given a turn")
	}
	return w.turns[len(w.turns)-1-rapid.IntRange(0, min(len(w.turns)-1, 5)).Draw(t, "turn, from the newest")]
}

func (w *world) commit(t *rapid.T) {
	x := w.turn(t)
	a := w.actors[x.actor]
	c := &store.Commit{
		Fence: x.fence, Message: x.message.id, Sequence: x.sequence, Status: store.Completed, Result: []byte("1"),
		Next: rapid.Bool().Draw(t, "next"), Yield: rapid.Bool().Draw(t, "yield"),
	}
	writes := rapid.Bool().Draw(t, "writes state")
	var state []string
	if writes {
		if a != nil {
			state = append(slices.Clone(a.state), x.message.id)
		}
		c.State, c.Version = document(state), 1
	}
	ring, key := draw(t, "ring", "", "once", "latest", "all", "cancel"), draw(t, "key", "x", "y")
	if ring != "" {
		r := store.Reminder{ID: w.id("r"), Operation: "ring", Key: key, Arguments: document(key), When: actors.In(span(3)), Cancel: ring == "cancel"}
		if ring == "latest" || ring == "all" {
			r.Interval, r.CatchUp = span(ringSpan), actors.CatchUpPolicy(ring)
		}
		c.Reminders = append(c.Reminders, r)
	}
	if to := draw(t, "send", append(modelActors, "")...); to != "" {
		c.Sends = append(c.Sends, store.Send{ID: w.id("s"), To: store.Key{Type: "pad", ID: to}, Message: store.Message{Operation: "write", Arguments: []byte("3"), MaxAttempts: modelLimit}})
	}
	if rapid.Bool().Draw(t, "emits") {
		c.Effects = append(c.Effects, store.Effect{ID: w.id("e"), Name: "charge", Arguments: []byte("1"), Done: "write", MaxAttempts: 1000})
	}
	w.flush(t, &store.Flush{Commits: []*store.Commit{c}})
	if !w.may(x) {
		same(t, "a commit of "+x.message.id+" by "+x.fence.Token, c.Outcome, store.Fenced)
		return
	}
	same(t, "a commit of "+x.message.id+" by "+x.fence.Token, c.Outcome, store.Done)
	x.message.status = store.Completed
	if writes {
		a.state, a.revision = state, x.sequence
	}
	for _, r := range c.Reminders {
		delete(a.alarms, r.Key)
		if !r.Cancel {
			a.alarms[r.Key] = modelAlarm{next: w.now + 3, interval: int(r.Interval / halfHour), policy: r.CatchUp}
		}
	}
	for _, s := range c.Sends {
		w.sends = append(w.sends, modelSend{s.ID, s.To.ID, a})
	}
	for _, e := range c.Effects {
		w.effects = append(w.effects, &modelEffect{id: e.ID, due: w.now, of: a})
	}
	w.follow(t, x, c.Next, c.Yield, c.Turn)
}

func (w *world) fail(t *rapid.T) {
	x := w.turn(t)
	f := &store.Failure{
		Fence: x.fence, Message: x.message.id, Sequence: x.sequence, Backoff: span(backoffSpan), ErrorKind: "model",
		Final: rapid.Bool().Draw(t, "final"), Next: rapid.Bool().Draw(t, "next"),
	}
	w.flush(t, &store.Flush{Failures: []*store.Failure{f}})
	if !w.may(x) {
		same(t, "a failure", f.Outcome, store.Fenced)
		return
	}
	same(t, "a failure", f.Outcome, store.Done)
	a := w.actors[x.actor]
	if f.Final {
		x.message.status = store.Dead
		w.follow(t, x, f.Next, false, f.Turn)
		return
	}
	x.message.due, a.claimed, a.lease.owner = w.now+backoffSpan, false, ""
}

func (w *world) release(t *rapid.T) {
	x := w.turn(t)
	r := &store.Release{Fence: x.fence, Uncount: rapid.Bool().Draw(t, "uncount")}
	w.flush(t, &store.Flush{Releases: []*store.Release{r}})
	a := w.actors[x.actor]
	if !w.holds(x.fence, a) {
		same(t, "a release", r.Outcome, store.Fenced)
		return
	}
	same(t, "a release", r.Outcome, store.Done)
	if a.claimed && r.Uncount {
		a.box[a.head].attempts--
	}
	a.claimed, a.lease.owner = false, ""
}

func (w *world) renew(t *rapid.T) {
	x := w.turn(t)
	r := &store.Renewal{Fence: x.fence, Lease: span(leaseSpan)}
	w.flush(t, &store.Flush{Renewals: []*store.Renewal{r}})
	a := w.actors[x.actor]
	if !w.holds(x.fence, a) {
		same(t, "a renewal", r.Outcome, store.Fenced)
		return
	}
	same(t, "a renewal", r.Outcome, store.Done)
	a.lease.until = w.now + leaseSpan
}

func (w *world) recover(t *rapid.T) {
	got, err := w.db.Recover(context.Background(), draw(t, "owner", modelOwners...), 1000*time.Hour, 1000*time.Hour)
	if err != nil {
		t.Fatal(err)
	}
	same(t, "processes found dead", len(got.Processes), 0)
	for _, a := range w.actors {
		if a.claimed && a.lease.until <= w.now {
			a.claimed, a.lease.owner = false, ""
			w.bury(a)
		}
	}
}

func (w *world) time(t *rapid.T) {
	w.now += draw(t, "half hours", 2, 10, 22)
	w.db.Offset(span(w.now))
}

func (w *world) destroy(t *rapid.T) {
	id := draw(t, "actor", modelActors...)
	got, err := w.db.Destroy(context.Background(), store.Key{Type: "pad", ID: id})
	if err != nil {
		t.Fatal(err)
	}
	a := w.actors[id]
	same(t, "it existed", got.Existed, a != nil)
	delete(w.actors, id)
	w.sends = slices.DeleteFunc(w.sends, func(s modelSend) bool { return s.of == a })
	w.effects = slices.DeleteFunc(w.effects, func(e *modelEffect) bool { return e.of == a })
}

func (w *world) pause(t *rapid.T) {
	id, on := draw(t, "actor", modelActors...), rapid.Bool().Draw(t, "on")
	got, err := w.db.Pause(context.Background(), store.Key{Type: "pad", ID: id}, on)
	if err != nil {
		t.Fatal(err)
	}
	want := store.Done
	if a := w.actors[id]; a == nil {
		want = store.Missing
	} else {
		a.paused = on
	}
	same(t, "pause", got, want)
}

func (w *world) deliver(t *rapid.T) {
	moved, err := w.db.Deliver(context.Background(), 1000, 0, time.Second)
	if err != nil {
		t.Fatal(err)
	}
	same(t, "delivered", len(moved), len(w.sends))
	for i := range moved {
		same(t, "delivered as number so and so", moved[i].ID, w.sends[i].id)
		w.put(t, &moved[i], modelLimit)
	}
	w.sends = nil
}

func (w *world) ring(t *rapid.T) {
	fired, err := w.db.FireReminders(context.Background(), 1000, 0, modelLimit, time.Second)
	if err != nil {
		t.Fatal(err)
	}
	rang := map[string]int{}
	for i := range fired {
		w.put(t, &fired[i], modelLimit)
		rang[fired[i].ActorID+string(fired[i].Arguments)]++
	}
	for id, a := range w.actors {
		for key, alarm := range maps.Clone(a.alarms) {
			n, after, gone := alarm.rings(w.now)
			same(t, "occurrences of "+key+" of "+id, rang[id+string(document(key))], n)
			delete(rang, id+string(document(key)))
			if a.alarms[key] = after; gone {
				delete(a.alarms, key)
			}
		}
	}
	same(t, "alarms that rang and were not set", len(rang), 0)
}

func (w *world) claimEffects(t *rapid.T) {
	by := draw(t, "owner", modelOwners...)
	got, err := w.db.ClaimEffects(context.Background(), by, []string{"charge"}, 1000, span(effectSpan))
	if err != nil {
		t.Fatal(err)
	}
	due := 0
	for _, e := range w.effects {
		if e.due > w.now {
			continue
		}
		due++
		i := indexOf(got, func(x store.Effect) bool { return x.ID == e.id })
		if i < 0 {
			t.Fatalf("effect %s is due and was not claimed", e.id)
		}
		e.attempt++
		same(t, "attempt at "+e.id, got[i].Attempt, e.attempt)
		e.owner, e.due = by, w.now+effectSpan
		w.efforts, w.owners = append(w.efforts, got[i]), append(w.owners, by)
	}
	same(t, "claimed effects", len(got), due)
}

func (w *world) finishEffect(t *rapid.T) {
	if len(w.efforts) == 0 {
		t.Skip("nobody was given an effect")
	}
	n := rapid.IntRange(0, len(w.efforts)-1).Draw(t, "effort")
	x := w.efforts[n]
	o := &store.EffectOutcome{ID: x.ID, Owner: w.owners[n], Attempt: x.Attempt}
	if rapid.Bool().Draw(t, "success") {
		o.Success, o.Result = true, []byte("1")
		o.Message = &store.Message{ID: w.id("d"), Operation: "write", Arguments: []byte("4"), MaxAttempts: modelLimit}
	} else {
		o.Again, o.Retry, o.ErrorKind = true, span(backoffSpan), "model"
	}
	sent, err := w.db.FinishEffects(context.Background(), []*store.EffectOutcome{o})
	if err != nil {
		t.Fatal(err)
	}
	i := indexOf(w.effects, func(e *modelEffect) bool { return e.id == x.ID && e.owner == o.Owner && e.attempt == x.Attempt })
	if i < 0 {
		same(t, "the end of an effect that is another's", o.Outcome, store.Missing)
		same(t, "messages", len(sent), 0)
		return
	}
	same(t, "the end of an effect", o.Outcome, store.Done)
	if o.Again {
		w.effects[i].owner, w.effects[i].due = "", w.now+backoffSpan
		return
	}
	same(t, "messages", len(sent), 1)
	w.put(t, &sent[0], modelLimit)
	w.effects = slices.Delete(w.effects, i, i+1)
}

// agrees is the property that a store does what the model does, whatever happens in whatever order.
func agrees(open func() (store.Store, error), wrap func(store.Store) store.Store) func(*rapid.T) {
	return func(t *rapid.T) {
		w := newWorld(t, open, wrap)
		t.Repeat(w.steps())
	}
}

// asked are the flags of the command line.
var asked = sync.OnceValue(func() map[string]bool {
	names := map[string]bool{}
	flag.Visit(func(f *flag.Flag) { names[f.Name] = true })
	return names
})

// setFlag sets one of rapid's flags for one test, unless the command line said otherwise.
func setFlag(t *testing.T, name, value string) {
	t.Helper()
	before := flag.Lookup(name).Value.String()
	if asked()[name] {
		return
	}
	if err := flag.Set(name, value); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = flag.Set(name, before) })
}

// A store agrees with the model in any interleaving of callers, workers that pause, lapsing leases, destroys, outboxes
// and reminders. A failure is shrunk to the shortest story that rapid finds.
func TestModel(t *testing.T) {
	onEach(t, func(t *testing.T) {
		setFlag(t, "rapid.checks", fmt.Sprint(here(t).worlds(250)))
		setFlag(t, "rapid.steps", "50")
		rapid.Check(t, agrees(worlds(t), func(s store.Store) store.Store { return s }))
	})
}

// Stores with one rule removed do not.
func TestModelFinds(t *testing.T) {
	setFlag(t, "rapid.nofailfile", "true")
	setFlag(t, "rapid.shrinktime", "2s")
	setFlag(t, "rapid.checks", "400")
	setFlag(t, "rapid.steps", "50")
	for name, wrap := range map[string]func(store.Store) store.Store{
		"a commit without its fence":   func(s store.Store) store.Store { return &lost{s, map[string]store.Fence{}} },
		"a send delivered twice":       func(s store.Store) store.Store { return twice{s} },
		"an occurrence enqueued twice": func(s store.Store) store.Store { return late{s} },
	} {
		t.Run(name, func(t *testing.T) {
			onEach(t, func(t *testing.T) {
				failed, said := fails(t, agrees(worlds(t), wrap))
				if !failed {
					t.Fatal("the model finds nothing wrong")
				}
				t.Logf("found:\n%s", said)
			})
		})
	}
}
