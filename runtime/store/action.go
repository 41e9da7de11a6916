package store

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/lockstep-go/lockstep/actors"
)

// ErrActionEnded fails a commit whose action ended the transaction, or swallowed an error that did.
var ErrActionEnded = errors.New("a commit action ended the transaction that it runs in, which is not its own")

// ErrNotAlone refuses a flush in which a commit with an action has company.
var ErrNotAlone = errors.New("a commit with an action is alone in its flush")

// WriteLimit reports an application's statements that were still running inside the store's transaction when its limit
// had passed; they were rolled back.
type WriteLimit struct{ Limit time.Duration }

func (e *WriteLimit) Error() string {
	return fmt.Sprintf("the transaction took longer than %v, and others wait for it", e.Limit)
}

// ActionFailed is how a driver tells a failed action from a failure of its own. It does not unwrap: what the
// application's code returned must not be taken for an answer to the driver's statements.
type ActionFailed struct{ Cause error }

func (e *ActionFailed) Error() string { return "a commit action failed" }

// ErrActionFenced rolls back a commit whose lease expired while its action ran.
var ErrActionFenced = errors.New("the lease expired while a commit action ran")

// Lone is the flush's commit with an action, or nil. The error is ErrNotAlone.
func (f *Flush) Lone() (*Commit, error) {
	for _, c := range f.Commits {
		if c.Action == nil {
			continue
		}
		if len(f.Commits) > 1 || len(f.Failures)+len(f.Releases)+len(f.Renewals)+len(f.Enqueues)+len(f.Claims)+len(f.Delivered) > 0 {
			return nil, ErrNotAlone
		}
		return c, nil
	}
	return nil, nil
}

// desertion is how long an action may take to notice that its ctx has ended.
const desertion = 100 * time.Millisecond

// Act runs the action in tx. The ctx has the limit, whose cause is a *WriteLimit; the action gets it with the mark of a
// transaction. An action that does not heed its end is deserted: Act returns, and returned is closed once the action
// has returned too, until when it may be using tx. The error is an *ActionFailed.
func (c *Commit) Act(ctx context.Context, tx actors.Tx) (returned <-chan struct{}, err error) {
	done := make(chan struct{})
	var failure error
	go func() {
		defer close(done)
		failure = c.Action(actors.WithTransaction(ctx), tx)
	}()
	select {
	case <-done:
	case <-ctx.Done():
		patience := time.NewTimer(desertion)
		defer patience.Stop()
		select {
		case <-done:
		case <-patience.C:
			return done, &ActionFailed{context.Cause(ctx)}
		}
	}
	if ctx.Err() != nil {
		return done, &ActionFailed{context.Cause(ctx)}
	}
	if failure != nil {
		return done, &ActionFailed{failure}
	}
	return done, nil
}

// Acted takes the error of a transaction with an action into the commit's outcome, where it is about the action, or
// where the database refused the commit for its content.
func (c *Commit) Acted(err error, refused bool) error {
	if failed, ok := errors.AsType[*ActionFailed](err); ok {
		c.Outcome, c.Err = Failed, failed.Cause
		return nil
	}
	if errors.Is(err, ErrActionFenced) {
		c.Outcome = Fenced
		return nil
	}
	if err != nil && refused {
		c.Outcome, c.Err = Refused, err
		return nil
	}
	return err
}
