package mysql

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"fmt"

	"github.com/lockstep-go/lockstep/actors"
	"github.com/lockstep-go/lockstep/runtime/store"
	"github.com/lockstep-go/lockstep/runtime/store/lend"
)

var (
	actionBegin     = declare("action_begin")
	actionEnd       = declare("action_end")
	actionSavepoint = declare("action_savepoint")
	actionRelease   = declare("action_release")
)

// Action performs a commit action with a function that gets the transaction in which the turn commits:
//
//	runtime.Config{Actions: []actors.CommitExecutor{mysql.Action(Record, record)}}
//
// What the function writes commits with the turn, or not at all; it has Config.WriteLimit for that, shared with the
// turn's other actions, and this process commits nothing else meanwhile. Its ctx ends then, and every statement with it;
// every verb of a runtime but TellTx (with Tx(tx)) refuses that ctx, and what TellTx sends needs no Announce. An error or
// a panic fails the turn's attempt, and actors.Reject refuses the message for good, with nothing of the turn kept. The
// function cannot end the transaction: Commit and Rollback of its tx fail the attempt. The words COMMIT and ROLLBACK sent
// as statements, and what commits implicitly on MySQL (CREATE, ALTER and the like), cannot be kept from the server: they
// make the message a dead letter at once, and what they committed stays. The function may run again for one message,
// where the first time was rolled back.
func Action[S, In any](action *actors.CommitActionType[S, In], do func(ctx context.Context, tx *sql.Tx, c actors.Committing[In]) error) actors.CommitExecutor {
	if do == nil {
		return action.By("mysql", nil)
	}
	return action.By("mysql", func(ctx context.Context, tx actors.Tx, c actors.Committing[In]) error {
		t, ok := tx.(transaction)
		if !ok {
			return actors.ErrForeignTransaction
		}
		return do(ctx, t.tx, c)
	})
}

// act runs the action of the flush's one commit under the lock of its instance, where the fence holds, and then reads
// everything anew: the action may have sent messages.
func (w *work) act(f *store.Flush, c *store.Commit) error {
	if i, _ := w.turn(&c.Fence, c.Message, c.Sequence); i == nil {
		return nil // commit says why
	}
	on, ok := w.session.q.(*sql.Conn)
	if !ok {
		return fmt.Errorf("a commit action on a %T", w.session.q)
	}
	w.manual = true
	if _, err := w.exec(actionBegin); err != nil {
		return err
	}
	if _, err := w.exec(actionSavepoint); err != nil {
		return err
	}
	ended, err := w.lend(on, c)
	if err != nil {
		return err
	}
	if ended {
		return &store.ActionFailed{Cause: store.ErrActionEnded}
	}
	if _, err := w.exec(actionRelease); code(err) == 1305 { // no such savepoint
		return &store.ActionFailed{Cause: actors.Permanent(store.ErrActionEnded)}
	} else if err != nil {
		return err
	}
	w.forget()
	return w.gather(f)
}

// lend gives the transaction to the action and takes it back; ended says that the action tried to end it.
func (w *work) lend(on *sql.Conn, c *store.Commit) (ended bool, err error) {
	limit := w.store.cfg.WriteLimit
	limited, cancel := context.WithTimeoutCause(w.ctx, limit, &store.WriteLimit{Limit: limit})
	defer cancel()
	lost := on.Raw(func(raw any) error {
		dc, ok := raw.(driver.Conn)
		if !ok {
			return fmt.Errorf("the MySQL driver gives a %T, not a connection", raw)
		}
		loan, failed := lend.Open(limited, dc)
		if failed != nil {
			return failed
		}
		_, err = c.Act(limited, Tx(loan.Tx()))
		ended = loan.Close()
		return nil
	})
	if err == nil {
		err = lost
	}
	return ended, err
}

// automatic has the session commit by itself again, once the transaction is over, and says whether that went well.
func (w *work) automatic() bool {
	_, err := w.exec(actionEnd)
	return err == nil
}
