package storetest

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/lockstep-go/lockstep/actors"
	"github.com/lockstep-go/lockstep/runtime/store"
)

// Host is what the store of an opener also has to be: the application that has rows of its own in the same database.
type Host interface {
	// Ledger makes an empty table of one text column, its primary key, and returns its name.
	Ledger(t *testing.T) string
	// Exec runs a statement in a commit action's transaction, under any ctx.
	Exec(ctx context.Context, tx actors.Tx, statement string) error
	// End calls the transaction's own Commit or Rollback.
	End(ctx context.Context, tx actors.Tx, commit bool) error
	// Slow is a statement that takes a minute.
	Slow() string
	// Lines reads a table that Ledger made, in order, on a connection of the application's own where it has one.
	Lines(t *testing.T, table string) []string
}

// ledger is a table of the application's.
type ledger struct {
	Host
	*world
	table string
}

func (w *world) ledger() *ledger {
	w.Helper()
	h, ok := w.Store.(Host)
	if !ok {
		w.Fatalf("%T has no tables of an application", w.Store)
	}
	return &ledger{h, w, h.Ledger(w.T)}
}

// write is an action's statement that adds a line.
func (l *ledger) write(ctx context.Context, tx actors.Tx, line string) error {
	return l.Exec(ctx, tx, "INSERT INTO "+l.table+" VALUES ('"+line+"')")
}

// writing is an action that adds one line.
func (l *ledger) writing(line string) func(context.Context, actors.Tx) error {
	return func(ctx context.Context, tx actors.Tx) error { return l.write(ctx, tx, line) }
}

func (l *ledger) expect(lines ...string) {
	l.Helper()
	if got := l.Lines(l.T, l.table); !slices.Equal(got, lines) {
		l.Errorf("the application's table holds %q, want %q", got, lines)
	}
}

// failedAction expects that nothing of a commit was written, and that its turn can go on.
func (l *ledger) failedAction(what string, a *store.Activation, c *store.Commit) {
	l.Helper()
	want(l.world, what+": outcome", l.commit(c).Outcome, store.Failed)
	want(l.world, what+": its error is told", c.Err != nil, true)
	want(l.world, what+": state", l.snapshot(a.ActorID).State == nil, true)
	want(l.world, what+": message", l.waits(a.ID), "running")
	want(l.world, what+": alarms", len(l.alarms(a.Fence.Instance)), 0)
	want(l.world, what+": effects", l.due().Effects.IsZero(), true)
	want(l.world, what+": sends", l.due().Sends.IsZero(), true)
	l.expect()
	l.neighbour(what)
}

// neighbour expects that the store serves another actor.
func (l *ledger) neighbour(what string) {
	l.Helper()
	b := l.ask("p", newID())
	want(l.world, what+": a neighbour", l.commit(finishing(&b.Turn)).Outcome, store.Done)
}

var errAction = errors.New("the action's own")

var actionTests = []test{
	{"G12/an_action_commits_with_its_turn", func(w *world) {
		l := w.ledger()
		a := w.ask("p", "a")
		c := full(&a.Turn)
		ran := 0
		c.Action = func(ctx context.Context, tx actors.Tx) error {
			ran++
			want(w, "the ctx says that it is in a transaction", actors.InTransaction(ctx), true)
			_, bounded := ctx.Deadline()
			want(w, "it has a limit", bounded, true)
			return errors.Join(l.write(ctx, tx, "one"), l.write(ctx, tx, "two"))
		}
		before := w.Stats().Commits
		want(w, "outcome", w.commit(c).Outcome, store.Done)
		want(w, "commits", w.Stats().Commits-before, 1)
		want(w, "runs", ran, 1)
		l.expect("one", "two")
		want(w, "state", string(w.snapshot("a").State), `{"n":1}`)
		want(w, "broadcast", w.snapshot("a").Broadcast, 1)
		want(w, "status", w.stored(a.ID).Status, store.Completed)
		want(w, "alarms", len(w.alarms(a.Fence.Instance)), 1)
		want(w, "effect due", w.due().Effects.IsZero(), false)
		want(w, "the lease is kept", w.renew(a.Fence, lease).Outcome, store.Done)
		l.neighbour("afterwards")
	}},
	{"G12/an_action_and_the_next_message", func(w *world) {
		l := w.ledger()
		w.tell("a")
		second := w.tell("a")
		a := w.take("p")
		c := finishing(&a.Turn)
		c.Next, c.Action = true, l.writing("first")
		want(w, "outcome", w.commit(c).Outcome, store.Done)
		if c.Turn == nil || c.Turn.ID != second.Message.ID {
			w.Fatal("the next message is not claimed")
		}
		d := finishing(c.Turn)
		d.Yield, d.Action = true, l.writing("second")
		want(w, "outcome", w.commit(d).Outcome, store.Done)
		want(w, "the lease is given back", w.renew(a.Fence, lease).Outcome, store.Fenced)
		l.expect("first", "second")
	}},
	{"G12/an_action_that_fails_leaves_nothing", func(w *world) {
		l := w.ledger()
		a := w.ask("p", "a")
		c := full(&a.Turn)
		c.Action = func(ctx context.Context, tx actors.Tx) error {
			w.must(l.write(ctx, tx, "lost"))
			return errAction
		}
		l.failedAction("error", a, c)
		want(w, "the error", errors.Is(c.Err, errAction), true)
		f := w.fail(failing(&a.Turn))
		want(w, "the attempt's failure", f.Outcome, store.Done)
		w.pass(time.Minute)
		again := w.take("p")
		c = finishing(&again.Turn)
		c.Action = l.writing("kept")
		want(w, "the second attempt", w.commit(c).Outcome, store.Done)
		l.expect("kept")
	}},
	{"G12/an_action_whose_statement_fails", func(w *world) {
		// On one database that dooms the transaction, on another not: where the action goes on regardless, all of it
		// commits or nothing does.
		l := w.ledger()
		a := w.ask("p", "a")
		c := full(&a.Turn)
		c.Action = func(ctx context.Context, tx actors.Tx) error {
			w.must(l.write(ctx, tx, "a"))
			return l.write(ctx, tx, "a")
		}
		l.failedAction("told", a, c)
		c = full(&a.Turn)
		c.Action = func(ctx context.Context, tx actors.Tx) error {
			w.must(l.write(ctx, tx, "a"))
			if err := l.write(ctx, tx, "a"); err == nil {
				w.Error("a second row with one primary key")
			}
			return nil
		}
		switch w.commit(c).Outcome {
		case store.Done:
			l.expect("a")
			want(w, "state", string(w.snapshot("a").State), `{"n":1}`)
		case store.Failed:
			l.expect()
			want(w, "state", w.snapshot("a").State == nil, true)
		default:
			w.Errorf("swallowed: %s, %v", c.Outcome, c.Err)
		}
		l.neighbour("afterwards")
	}},
	{"G12/an_action_that_ends_the_transaction", func(w *world) {
		l := w.ledger()
		a := w.ask("p", "a")
		for _, commit := range []bool{true, false} {
			for _, goesOn := range []bool{true, false} {
				c := full(&a.Turn)
				c.Action = func(ctx context.Context, tx actors.Tx) error {
					w.must(l.write(ctx, tx, "before"))
					_ = l.End(ctx, tx, commit)
					if goesOn {
						_ = l.write(ctx, tx, "after")
					}
					return nil
				}
				l.failedAction("commit or rollback", a, c)
				want(w, "the error", errors.Is(c.Err, store.ErrActionEnded), true)
			}
		}
	}},
	{"G7/a_lost_fence_runs_no_action", func(w *world) {
		l := w.ledger()
		a := w.ask("p", "a")
		c := finishing(&a.Turn)
		c.Action = l.writing("stale")
		stolen := *c
		stolen.Fence.Token = "another"
		want(w, "another token", w.commit(&stolen).Outcome, store.Fenced)
		w.pass(lease + time.Second)
		want(w, "an expired lease", w.commit(c).Outcome, store.Fenced)
		w.recover("q")
		b := w.take("q")
		want(w, "a stale owner", w.commit(c).Outcome, store.Fenced)
		d := finishing(&b.Turn)
		d.Action = l.writing("fresh")
		want(w, "the new owner", w.commit(d).Outcome, store.Done)
		want(w, "a repeated commit", w.commit(d).Outcome, store.Fenced)
		l.expect("fresh")
	}},
	{"G7/a_lease_that_expires_under_an_action", func(w *world) {
		l := w.ledger()
		a := w.ask("p", "a")
		c := full(&a.Turn)
		c.Action = func(ctx context.Context, tx actors.Tx) error {
			w.pass(lease + time.Second)
			return l.write(ctx, tx, "lost")
		}
		want(w, "outcome", w.commit(c).Outcome, store.Fenced)
		want(w, "state", w.snapshot("a").State == nil, true)
		l.expect()
	}},
	{"G12/an_action_is_taken_back_where_the_commit_is_refused", func(w *world) {
		l := w.ledger()
		a := w.ask("p", "a")
		c := full(&a.Turn)
		w.commit(c)
		b := w.ask("p", "b")
		bad := full(&b.Turn)
		bad.Effects = append(bad.Effects, store.Effect{ID: c.Effects[0].ID, Name: "charge", MaxAttempts: 1})
		bad.Action = l.writing("lost")
		want(w, "outcome", w.commit(bad).Outcome, store.Refused)
		want(w, "state", w.snapshot("b").State == nil, true)
		l.expect()
		w.done(&b.Turn)
	}},
	{"G11/an_action_has_no_company", func(w *world) {
		l := w.ledger()
		a, b := w.ask("p", "a"), w.ask("p", "b")
		c := finishing(&a.Turn)
		c.Action = l.writing("lost")
		for _, f := range []*store.Flush{
			{Commits: []*store.Commit{c, finishing(&b.Turn)}},
			{Commits: []*store.Commit{c}, Enqueues: []*store.Enqueue{message("d")}},
			{Commits: []*store.Commit{c}, Delivered: []string{newID()}},
		} {
			if err := w.Flush(w.ctx(), f); !errors.Is(err, store.ErrNotAlone) {
				w.Errorf("with company: %v", err)
			}
		}
		l.expect()
		want(w, "state of the company", w.snapshot("b").State == nil, true)
	}},
	{"G11/an_action_has_a_limit", func(w *world) {
		l := w.ledger()
		a := w.ask("p", "a")
		c := full(&a.Turn)
		c.Action = func(ctx context.Context, tx actors.Tx) error {
			w.must(l.write(ctx, tx, "late"))
			<-ctx.Done()
			return nil // as if nothing were amiss
		}
		l.failedAction("one that waits", a, c)
		if _, ok := errors.AsType[*store.WriteLimit](c.Err); !ok {
			w.Errorf("one that waits: %v", c.Err)
		}
	}},
	{"G11/an_action_that_does_not_heed_its_limit_is_deserted", func(w *world) {
		l := w.ledger()
		a := w.ask("p", "a")
		c := full(&a.Turn)
		let, written := make(chan struct{}), make(chan error, 1)
		c.Action = func(ctx context.Context, tx actors.Tx) error {
			w.must(l.write(ctx, tx, "late"))
			<-let
			written <- l.write(context.Background(), tx, "too late")
			return nil
		}
		l.failedAction("one that is deaf", a, c)
		if _, ok := errors.AsType[*store.WriteLimit](c.Err); !ok {
			w.Errorf("one that is deaf: %v", c.Err)
		}
		close(let)
		if err := <-written; err == nil {
			w.Error("it still writes")
		}
		l.expect()
		again := finishing(&a.Turn)
		again.Action = l.writing("in time")
		// A connection that was left behind may hold the row for a moment.
		for range 100 {
			if w.commit(again).Outcome != store.Busy {
				break
			}
		}
		want(w, "another try", again.Outcome, store.Done)
		l.expect("in time")
	}},
	{"G11/a_statement_under_another_ctx_ends_with_the_limit", func(w *world) {
		l := w.ledger()
		a := w.ask("p", "a")
		c := full(&a.Turn)
		c.Action = func(ctx context.Context, tx actors.Tx) error {
			w.must(l.write(ctx, tx, "late"))
			_ = l.Exec(context.Background(), tx, l.Slow())
			return nil
		}
		begun := time.Now()
		l.failedAction("a slow statement", a, c)
		if _, ok := errors.AsType[*store.WriteLimit](c.Err); !ok {
			w.Errorf("a slow statement: %v", c.Err)
		}
		if took := time.Since(begun); took > 30*time.Second {
			w.Errorf("it took %v", took)
		}
	}},
	{"G19/an_action_sends_in_its_transaction", func(w *world) {
		l := w.ledger()
		for _, fails := range []bool{true, false} {
			a := w.ask("p", map[bool]string{true: "a", false: "b"}[fails])
			own, other, fresh := message(a.ActorID), message("c"), message(newID())
			own.Claim = claim("p") // is never taken inside a transaction
			c := finishing(&a.Turn)
			c.Next = true
			c.Action = func(ctx context.Context, tx actors.Tx) error {
				for _, e := range []*store.Enqueue{own, other, fresh} {
					if err := w.EnqueueTx(ctx, tx, e); err != nil || e.Outcome != store.Done {
						w.Fatalf("enqueue: %s, %v", e.Outcome, err)
					}
				}
				if err := l.write(ctx, tx, "sent"); err != nil || !fails {
					return err
				}
				return errAction
			}
			w.commit(c)
			if fails {
				want(w, "outcome", c.Outcome, store.Failed)
				for _, e := range []*store.Enqueue{own, other, fresh} {
					w.gone(e.Message.ID)
				}
				l.expect()
				continue
			}
			want(w, "outcome", c.Outcome, store.Done)
			l.expect("sent")
			if c.Turn == nil || c.Turn.ID != own.Message.ID || c.Turn.Sequence != 2 {
				w.Fatalf("the message to itself is not next: %+v, due %v", c.Turn, c.Due)
			}
			w.done(c.Turn)
			want(w, "the others wait", len(w.scan("q", 10)), 2)
		}
	}},
}
