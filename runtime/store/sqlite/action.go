package sqlite

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"fmt"
	"time"

	modernc "modernc.org/sqlite"

	"github.com/lockstep-go/lockstep/actors"
	"github.com/lockstep-go/lockstep/runtime/store"
	"github.com/lockstep-go/lockstep/runtime/store/lend"
)

var (
	actionFence     = declare("action_fence")
	actionSavepoint = declare("action_savepoint")
	actionRelease   = declare("action_release")
)

// Action performs a commit action with a function that gets the transaction in which the turn commits:
//
//	runtime.Config{Actions: []actors.CommitExecutor{sqlite.Action(Record, record)}}
//
// What the function writes commits with the turn, or not at all; it has Config.WriteLimit for that, shared with the
// turn's other actions, and the turns of all actors wait meanwhile. Its ctx ends then, and every statement with it; every
// verb of a runtime but TellTx (with Tx(tx)) refuses that ctx, and what TellTx sends needs no Announce. An error or a
// panic fails the turn's attempt, and actors.Reject refuses the message for good, with nothing of the turn kept. The
// function cannot end the transaction: trying to, by whatever means, fails the attempt. It may run again for one message, where
// the first time was rolled back.
func Action[S, In any](action *actors.CommitActionType[S, In], do func(ctx context.Context, tx *sql.Tx, c actors.Committing[In]) error) actors.CommitExecutor {
	if do == nil {
		return action.By("sqlite", nil)
	}
	return action.By("sqlite", func(ctx context.Context, tx actors.Tx, c actors.Committing[In]) error {
		t, ok := tx.(transaction)
		if !ok {
			return actors.ErrForeignTransaction
		}
		return do(ctx, t.tx, c)
	})
}

// commitAlone is the flush of a commit with an action, unless that has company.
func (s *Store) commitAlone(ctx context.Context, c *store.Commit, company error) error {
	if company != nil {
		return company
	}
	err := s.write(ctx, "commit with an action", func(w *work) error {
		c.Outcome, c.Turn, c.Due, c.Err = store.Fenced, nil, time.Time{}, nil
		f := &c.Fence
		_, holds, err := w.first(actionFence, f.Instance, f.Owner, f.Token, f.Generation, w.now, c.Sequence, c.Message)
		if err != nil || !holds {
			return err
		}
		if err := w.act(ctx, c); err != nil {
			return err
		}
		w.now = s.now()
		if err := w.commit(c); err != nil || c.Outcome == store.Done {
			return err
		}
		return store.ErrActionFenced
	})
	return c.Acted(err, culprit(err))
}

// act runs the action in the transaction, which is still there afterwards.
func (w *work) act(ctx context.Context, c *store.Commit) error {
	writer, ok := w.session.(*conn)
	if !ok {
		return fmt.Errorf("a commit action on a %T", w.session)
	}
	limit := w.store.cfg.WriteLimit
	limited, cancel := context.WithTimeoutCause(context.WithoutCancel(ctx), limit, &store.WriteLimit{Limit: limit})
	defer cancel()
	if _, err := w.exec(actionSavepoint); err != nil {
		return err
	}
	loan, err := lend.Open(limited, writer.dc)
	if err != nil {
		return err
	}
	allow := forbidCommit(writer.dc)
	_, err = c.Act(limited, Tx(loan.Tx()))
	ended := loan.Close()
	allow()
	if err != nil {
		return err
	}
	if _, err := w.exec(actionRelease); err != nil || ended {
		return &store.ActionFailed{Cause: store.ErrActionEnded}
	}
	return nil
}

// forbidCommit has SQLite turn every commit on a connection into a rollback, whatever asks for it, until allow.
func forbidCommit(dc driver.Conn) (allow func()) {
	hooks, ok := dc.(modernc.HookRegisterer)
	if !ok {
		return func() {}
	}
	hooks.RegisterCommitHook(func() int32 { return 1 })
	return func() { hooks.RegisterCommitHook(nil) }
}
