package postgres

import (
	"context"
	"fmt"
	"strconv"
	"sync/atomic"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/lockstep-go/lockstep/actors"
	"github.com/lockstep-go/lockstep/runtime/store"
)

var settingsDefault = declare("settings_default")

// Action performs a commit action with a function that gets the transaction in which the turn commits:
//
//	runtime.Config{Actions: []actors.CommitExecutor{postgres.Action(Record, record)}}
//
// What the function writes commits with the turn, or not at all; it has Config.WriteLimit for that, shared with the
// turn's other actions, and this process commits nothing else meanwhile. Its ctx ends then; every verb of a runtime but
// TellTx (with Tx(tx)) refuses that ctx, and what TellTx sends needs no Announce. An error or a panic fails the turn's
// attempt, and so does a failed statement, which PostgreSQL lets nothing follow but in a transaction within (tx.Begin);
// actors.Reject refuses the message for good, with nothing of the turn kept. The function cannot end the transaction: its
// Commit and Rollback fail the attempt. The words COMMIT and ROLLBACK sent as statements cannot be kept from the
// server: they make the message a dead letter at once, and what they committed stays. The function may run again for one
// message, where the first time was rolled back.
func Action[S, In any](action *actors.CommitActionType[S, In], do func(ctx context.Context, tx pgx.Tx, c actors.Committing[In]) error) actors.CommitExecutor {
	if do == nil {
		return action.By("postgres", nil)
	}
	return action.By("postgres", func(ctx context.Context, tx actors.Tx, c actors.Committing[In]) error {
		t, ok := tx.(transaction)
		if !ok {
			return actors.ErrForeignTransaction
		}
		return do(ctx, t.tx, c)
	})
}

// lent is the store's transaction in the hands of an action: a savepoint in it, which the action cannot end.
type lent struct {
	pgx.Tx
	ended *atomic.Bool
}

func (l lent) Commit(context.Context) error {
	l.ended.Store(true)
	return store.ErrActionEnded
}

func (l lent) Rollback(context.Context) error {
	l.ended.Store(true)
	return store.ErrActionEnded
}

// act runs the action of c under the lock of its instance, where the fence holds; c's outcome says otherwise. What is
// read of the database is read afterwards: the action may have sent messages.
func (w *work) act(c *store.Commit, how statement) error {
	conn, ok := w.to.(*pgxpool.Conn)
	if !ok {
		return fmt.Errorf("a commit action on a %T", w.to)
	}
	w.forget() // pgx begins, so that it has a transaction to lend
	outer, err := conn.BeginTx(w.ctx, pgx.TxOptions{IsoLevel: pgx.ReadCommitted, AccessMode: pgx.ReadWrite})
	if err != nil {
		return err
	}
	settle := func() { w.add(settings, nil, strconv.FormatInt(w.patience.Milliseconds(), 10)) }
	settle()
	look := newWork(w.pipe)
	look.lock(how, []string{c.Fence.Instance}, nil)
	look.query(settingsDefault, nil)
	if err := look.sync(); err != nil {
		return err
	}
	b, o := look.fenced(&c.Fence)
	if o == store.Done && (b.claimed != c.Message || b.head != c.Sequence) {
		o = store.Fenced
	}
	if c.Outcome = o; o != store.Done {
		return nil
	}
	if err := w.lend(conn, outer, c); err != nil {
		return err
	}
	settle()
	return nil
}

// lend gives the transaction to the action and takes it back.
func (w *work) lend(conn *pgxpool.Conn, outer pgx.Tx, c *store.Commit) error {
	limit := w.store.cfg.WriteLimit
	limited, cancel := context.WithTimeoutCause(w.ctx, limit, &store.WriteLimit{Limit: limit})
	defer cancel()
	inner, err := outer.Begin(w.ctx)
	if err != nil {
		return err
	}
	ended := &atomic.Bool{}
	returned, err := c.Act(limited, Tx(lent{inner, ended}))
	select {
	case <-returned:
	default:
		w.desert(conn, returned)
		return err
	}
	if err != nil {
		return err
	}
	if ended.Load() {
		return &store.ActionFailed{Cause: store.ErrActionEnded}
	}
	err = inner.Commit(w.ctx)
	switch code(err) {
	case "25P02": // in_failed_sql_transaction
		return &store.ActionFailed{Cause: fmt.Errorf("%w: a statement failed", store.ErrActionEnded)}
	case "25P01", "3B001": // no_active_sql_transaction, invalid_savepoint_specification
		return &store.ActionFailed{Cause: actors.Permanent(store.ErrActionEnded)}
	}
	return err
}

// desert leaves the connection to an action that does not return: nothing of it will be committed.
func (w *work) desert(conn *pgxpool.Conn, returned <-chan struct{}) {
	w.deserted = true
	lost := conn.Hijack()
	lost.PgConn().Conn().Close() // whatever it waits for from the server ends
	go func() {
		<-returned
		lost.Close(context.Background())
	}()
}
