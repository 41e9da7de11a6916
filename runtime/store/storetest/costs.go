package storetest

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/lockstep-go/lockstep/actors"
	"github.com/lockstep-go/lockstep/runtime/store"
)

// Costs runs every verb once with one item and once with 200, and returns a table of what each took: statements,
// commits, and round trips where trips counts them. A driver compares it with the table that it promises, so that no
// verb becomes dearer unseen. The store must be alone on its database. It fails where a flush takes more round trips for
// 200 items than for one.
func Costs(t *testing.T, s store.Store, trips func() int64) string {
	t.Helper()
	w := &world{T: t, Store: s}
	var few, many []cost
	for round := range 2 { // what is prepared once, or opened, is no part of a verb's cost
		few = (&costing{world: w, n: 1, mark: fmt.Sprint("few", round), trips: trips}).run()
		many = (&costing{world: w, n: 200, mark: fmt.Sprint("many", round), trips: trips}).run()
	}
	var table strings.Builder
	line := func(cells ...any) {
		table.WriteString(strings.TrimRight(fmt.Sprintf("%-28s %10v %7v %6v    %10v %7v %6v", cells...), " ") + "\n")
	}
	if trips == nil {
		line("", "1: stmts", "commits", "", "200: stmts", "commits", "")
	} else {
		line("", "1: stmts", "commits", "trips", "200: stmts", "commits", "trips")
	}
	for i, a := range few {
		b := many[i]
		if trips == nil {
			line(a.what, a.statements, a.commits, "", b.statements, b.commits, "")
			continue
		}
		line(a.what, a.statements, a.commits, a.trips, b.statements, b.commits, b.trips)
		if strings.HasPrefix(a.what, "flush: ") && a.trips != b.trips {
			t.Errorf("%s: %d round trips for one item, %d for 200", a.what, a.trips, b.trips)
		}
	}
	return table.String()
}

type cost struct {
	what                       string
	statements, commits, trips int64
}

// costing is one pass over all verbs, with n items each, on actors of its own.
type costing struct {
	*world
	n     int
	mark  string
	trips func() int64
	costs []cost
}

// measure notes what do takes.
func (c *costing) measure(what string, do func()) {
	c.Helper()
	var before int64
	if c.trips != nil {
		before = c.trips()
	}
	from := c.Stats()
	do()
	to := c.Stats()
	x := cost{what: what, statements: to.Statements - from.Statements, commits: to.Commits - from.Commits}
	if c.trips != nil {
		x.trips = c.trips() - before
	}
	c.costs = append(c.costs, x)
}

func (c *costing) actor(group string, i int) string { return fmt.Sprint(c.mark, "-", group, "-", i) }

// tells are messages without a claim.
func (c *costing) tells(group string) []*store.Enqueue {
	list := make([]*store.Enqueue, c.n)
	for i := range list {
		list[i] = message(c.actor(group, i))
	}
	return list
}

// asks are messages with a claim, under the fences of held ones.
func (c *costing) asks(group string, held []*store.Turn) []*store.Enqueue {
	list := c.tells(group)
	for i, e := range list {
		e.Claim = claim("p")
		if held != nil {
			e.Held = &held[i].Fence
		}
	}
	return list
}

// turns are the claims that enqueues got.
func (c *costing) turns(list []*store.Enqueue) []*store.Turn {
	c.Helper()
	out := make([]*store.Turn, len(list))
	for i, e := range list {
		if e.Activation == nil {
			c.Fatalf("enqueue %d: %s, not claimed", i, e.Outcome)
		}
		out[i] = &e.Activation.Turn
	}
	return out
}

// busy are turns of new actors, claimed.
func (c *costing) busy(group string) []*store.Turn {
	c.Helper()
	list := c.asks(group, nil)
	c.flush(&store.Flush{Enqueues: list})
	return c.turns(list)
}

// commits are ends of turns with what change does to them.
func commits(turns []*store.Turn, change func(i int, c *store.Commit)) []*store.Commit {
	list := make([]*store.Commit, len(turns))
	for i, t := range turns {
		list[i] = finishing(t)
		if change != nil {
			change(i, list[i])
		}
	}
	return list
}

func (c *costing) run() []cost {
	c.flushes()
	c.outboxes()
	c.reads()
	c.lifecycle()
	return c.costs
}

func (c *costing) flushes() {
	cold := c.asks("warm", nil)
	c.measure("flush: enqueue, new actors", func() { c.flush(&store.Flush{Enqueues: cold}) })
	turns := c.turns(cold)
	c.measure("flush: commit", func() { c.flush(&store.Flush{Commits: commits(turns, nil)}) })
	warm := c.asks("warm", turns)
	c.measure("flush: enqueue, warm actors", func() { c.flush(&store.Flush{Enqueues: warm}) })
	turns = c.turns(warm)
	behind := c.tells("warm")
	c.measure("flush: enqueue behind", func() { c.flush(&store.Flush{Enqueues: behind}) })
	next := commits(turns, func(_ int, x *store.Commit) { x.Next = true })
	c.measure("flush: commit, claim next", func() { c.flush(&store.Flush{Commits: next}) })
	for i, x := range next {
		turns[i] = x.Turn
	}
	fused := &store.Flush{Commits: commits(turns, nil), Enqueues: c.tells("other")}
	c.measure("flush: commit and enqueue", func() { c.flush(fused) })
	keyed := c.asks("keyed", nil)
	for i, e := range keyed {
		e.Message.IdempotencyKey, e.Message.Fingerprint = fmt.Sprint("key", i), "f"
	}
	c.measure("flush: enqueue with a key", func() { c.flush(&store.Flush{Enqueues: keyed}) })
	failed, dead := &store.Flush{}, &store.Flush{}
	for _, t := range c.busy("fails") {
		failed.Failures = append(failed.Failures, failing(t))
	}
	c.measure("flush: failure", func() { c.flush(failed) })
	for _, t := range c.busy("dies") {
		x := failing(t)
		x.Final = true
		dead.Failures = append(dead.Failures, x)
	}
	c.measure("flush: last failure", func() { c.flush(dead) })
	renew, release := &store.Flush{}, &store.Flush{}
	for _, t := range c.busy("held") {
		renew.Renewals = append(renew.Renewals, &store.Renewal{Fence: t.Fence, Lease: lease})
		release.Releases = append(release.Releases, &store.Release{Fence: t.Fence, Uncount: true})
	}
	c.measure("flush: renew", func() { c.flush(renew) })
	c.measure("flush: release", func() { c.flush(release) })
	scan := &store.Scan{Claim: *claim("p"), Types: []string{typ}, Limit: c.n}
	c.measure("flush: scan", func() { c.flush(&store.Flush{Claims: []*store.Scan{scan}}) })
	want(c.world, "scanned", len(scan.Activations), c.n)
}

// news is a broadcast of an actor's.
func (c *costing) news(group string, i int) *store.Broadcast {
	return &store.Broadcast{ID: newID(), Actor: key(c.actor(group, i)), Names: []string{"n"}, Values: map[string]json.RawMessage{}}
}

func (c *costing) outboxes() {
	staged := commits(c.busy("staged"), func(i int, x *store.Commit) {
		x.Effects = []store.Effect{{ID: newID(), Name: c.mark, MaxAttempts: 3, Done: "paid"}}
		x.Sends = []store.Send{{ID: newID(), To: key(c.actor("target", i)), Message: store.Message{Operation: "add", MaxAttempts: 3}}}
		x.Reminders = []store.Reminder{{Operation: "expire", When: actors.In(0), Interval: time.Hour}}
		x.Broadcast = c.news("staged", i)
	})
	c.measure("flush: commit, everything", func() { c.flush(&store.Flush{Commits: staged}) })
	f := &store.Flush{}
	for _, x := range staged {
		f.Delivered = append(f.Delivered, x.Broadcast.ID)
	}
	c.measure("flush: broadcast handed on", func() { c.flush(f) })
	c.measure("deliver sends", func() { c.count(c.Deliver(c.ctx(), c.n, 100, time.Second)) })
	c.measure("fire reminders", func() { c.count(c.FireReminders(c.ctx(), c.n, 100, 3, time.Second)) })
	var effects []store.Effect
	c.measure("claim effects", func() {
		var err error
		effects, err = c.ClaimEffects(c.ctx(), "p", []string{c.mark}, c.n, lease)
		c.must(err)
	})
	want(c.world, "effects", len(effects), c.n)
	var ids []string
	var ends []*store.EffectOutcome
	for _, e := range effects {
		ids = append(ids, e.ID)
		ends = append(ends, &store.EffectOutcome{ID: e.ID, Owner: "p", Attempt: e.Attempt, Success: true, Message: &store.Message{
			ID: newID(), Operation: "paid", Arguments: json.RawMessage(`1`), Origin: store.FromEffect, MaxAttempts: 3,
		}})
	}
	c.measure("renew effects", func() { c.must(c.RenewEffects(c.ctx(), "p", ids, lease)) })
	c.measure("finish effects", func() { c.count(c.FinishEffects(c.ctx(), ends)) })
	c.flush(&store.Flush{Commits: commits(c.busy("news"), func(i int, x *store.Commit) { x.Broadcast = c.news("news", i) })})
	c.pass(time.Minute)
	c.measure("take broadcasts", func() {
		news, err := c.TakeBroadcasts(c.ctx(), "p", time.Second, c.n)
		c.must(err)
		want(c.world, "news", len(news), c.n)
	})
}

// count expects as many messages as there are items.
func (c *costing) count(list []store.Message, err error) {
	c.Helper()
	c.must(err)
	want(c.world, "messages", len(list), c.n)
}

func (c *costing) reads() {
	ctx, a := c.ctx(), c.actor("staged", 0)
	keys := make([]store.Key, c.n)
	for i := range keys {
		keys[i] = key(c.actor("staged", i))
	}
	snap := c.snapshot(a)
	c.measure("snapshot", func() { c.snapshot(a) })
	for _, read := range []struct {
		what string
		do   func() error
	}{
		{"stamps", func() error { _, err := c.Stamps(ctx, keys); return err }},
		{"message", func() error { c.stored(snap.Message); return nil }},
		{"alarms", func() error { _, err := c.Alarms(ctx, snap.Instance); return err }},
		{"changes", func() error { _, err := c.Changes(ctx); return err }},
		{"due", func() error { c.due(); return nil }},
		{"now", func() error { c.now(); return nil }},
		{"processes", func() error { _, err := c.Processes(ctx); return err }},
		{"revocations", func() error { _, _, err := c.Revocations(ctx, 0, 100); return err }},
		{"dead letters", func() error { c.dead(); return nil }},
	} {
		c.measure(read.what, func() { c.must(read.do()) })
	}
}

func (c *costing) lifecycle() {
	ctx, letter := c.ctx(), c.dead()[0].ID
	c.measure("retry", func() {
		_, o, err := c.Retry(ctx, letter, newID(), 100)
		c.must(err)
		want(c.world, "retry", o, store.Done)
	})
	c.measure("pause", func() {
		_, err := c.Pause(ctx, key(c.actor("other", 0)), true)
		c.must(err)
	})
	c.measure("revoke", func() { c.revoke(c.Store, actors.Revoked{ID: newID(), Session: "s"}) })
	c.measure("register", func() { c.register(c.Store, c.mark) })
	c.measure("beat", func() {
		_, err := c.Beat(ctx, c.mark, "running")
		c.must(err)
	})
	c.measure("recover, leases over", func() { c.recover(c.mark) })
	list := c.asks("owned", nil)
	for _, e := range list {
		e.Claim.Owner = c.mark
	}
	c.flush(&store.Flush{Enqueues: list})
	c.turns(list)
	c.measure("leave", func() {
		rec, err := c.Leave(ctx, c.mark)
		c.must(err)
		want(c.world, "given back", rec.Messages, c.n)
	})
	c.measure("destroy", func() {
		gone, err := c.Destroy(ctx, key(c.actor("warm", 0)))
		c.must(err)
		want(c.world, "existed", gone.Existed, true)
	})
	c.measure("sweep", func() {
		_, err := c.Sweep(ctx, 500)
		c.must(err)
	})
}
