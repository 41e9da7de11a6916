package sqlite

import (
	"fmt"
	"time"

	"github.com/lockstep-go/lockstep/runtime/store"
)

var (
	giveBack        = declare("give_back")
	giveBackClaimed = declare("give_back_claimed")
	retryLater      = declare("retry_later")
	renew           = declare("renew")
)

func (w *work) failure(f *store.Failure) error {
	f.Outcome, f.Turn, f.Due, f.Err = "", nil, time.Time{}, nil
	if f.Final {
		return w.failForGood(f)
	}
	r, ok, err := w.first(giveBackClaimed, w.now,
		f.Fence.Instance, f.Fence.Owner, f.Fence.Token, f.Fence.Generation, w.now, f.Sequence, f.Message)
	if err != nil {
		return err
	}
	if !ok {
		f.Outcome = store.Fenced
		return nil
	}
	h := head{Message: store.Message{ID: f.Message, Instance: f.Fence.Instance, Sequence: f.Sequence, Type: r.text(0)}}
	h.paused = !r.null(1)
	h.AvailableAt = fromMicros(w.now + max(f.Backoff, 0).Microseconds())
	if _, err := w.exec(retryLater, h.AvailableAt, f.ErrorKind, f.ErrorText, f.Message); err != nil {
		return err
	}
	if _, err := w.exec(claimedDelete, f.Fence.Instance); err != nil {
		return err
	}
	f.Outcome = store.Done
	if !h.paused {
		f.Due = h.AvailableAt
	}
	return w.wait(&h)
}

func (w *work) failForGood(f *store.Failure) error {
	n, err := w.exec(commitPlain, w.now,
		f.Fence.Instance, f.Fence.Owner, f.Fence.Token, f.Fence.Generation, w.now, f.Sequence, f.Message)
	if err != nil {
		return err
	}
	if n == 0 {
		f.Outcome = store.Fenced
		return nil
	}
	if err := w.dead(f.Message, f.ErrorKind, f.ErrorText, f.Stack); err != nil {
		return fmt.Errorf("dead letter: %w", err)
	}
	f.Turn, f.Due, err = w.follow(f.Fence, f.Next, f.Yield)
	f.Outcome = store.Done
	return err
}

func (w *work) release(x *store.Release) error {
	x.Outcome = store.Done
	_, ok, err := w.first(giveBack, w.now, x.Fence.Instance, x.Fence.Owner, x.Fence.Token, x.Fence.Generation, w.now)
	if err != nil {
		return err
	}
	if !ok {
		x.Outcome = store.Fenced
		return nil
	}
	h, claimed, err := w.unclaim(x.Fence.Instance, x.Uncount)
	if err != nil || !claimed {
		return err
	}
	return w.wait(&h)
}

func (w *work) renewal(x *store.Renewal) error {
	x.Outcome, x.Until = store.Fenced, time.Time{}
	until := w.now + x.Lease.Microseconds()
	n, err := w.exec(renew, until, x.Fence.Instance, x.Fence.Owner, x.Fence.Token, x.Fence.Generation, w.now)
	if err == nil && n == 1 {
		x.Outcome, x.Until = store.Done, fromMicros(until)
	}
	return err
}
