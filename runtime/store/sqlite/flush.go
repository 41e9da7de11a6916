package sqlite

import (
	"context"
	"fmt"

	"github.com/lockstep-go/lockstep/runtime/store"
)

var broadcastDelivered = declare("broadcast_delivered")

// Flush is the group commit: one transaction. Where the database refuses a statement for its content, the transaction
// is rolled back and run again with each item on its own, so that only the culprit is refused.
func (s *Store) Flush(ctx context.Context, f *store.Flush) error {
	idle, err := s.idle(ctx, f)
	if idle || err != nil {
		return err
	}
	if c, err := f.Lone(); c != nil || err != nil {
		return s.commitAlone(ctx, c, err)
	}
	err = s.write(ctx, "flush", func(w *work) error { return w.apply(f, plain) })
	if err == nil || !culprit(err) {
		return err
	}
	return s.write(ctx, "flush item by item", func(w *work) error { return w.apply(f, isolated) })
}

// idle says whether f is only scans that find nothing. They must not take the write lock from others.
func (s *Store) idle(ctx context.Context, f *store.Flush) (bool, error) {
	if len(f.Claims) == 0 || len(f.Commits)+len(f.Failures)+len(f.Releases)+len(f.Renewals)+len(f.Enqueues)+len(f.Delivered) > 0 {
		return false, nil
	}
	for _, scan := range f.Claims {
		if scan.Only != "" {
			return false, nil
		}
	}
	found := false
	err := s.withWriter(ctx, func(c *conn) error {
		for _, scan := range f.Claims {
			scan.Activations, scan.Dead = nil, nil
			one := *scan
			one.Limit = min(scan.Limit, 1)
			ids, err := candidates(c, &one, s.now())
			if err != nil {
				return err
			}
			found = found || len(ids) > 0
		}
		return nil
	})
	return !found, translate("look for work", err)
}

// apply runs every item, in the order of the fields but for Delivered, which comes first: a broadcast that was handed
// on is not absorbed by the actor's next one.
func (w *work) apply(f *store.Flush, each wrapper) error {
	for _, id := range f.Delivered {
		if _, err := w.exec(broadcastDelivered, id); err != nil {
			return err
		}
	}
	for _, c := range f.Commits {
		if err := each(w, func() error { return w.commit(c) }, &c.Outcome, &c.Err); err != nil {
			return fmt.Errorf("commit message %s: %w", c.Message, err)
		}
	}
	for _, x := range f.Failures {
		if err := each(w, func() error { return w.failure(x) }, &x.Outcome, &x.Err); err != nil {
			return fmt.Errorf("record failure of message %s: %w", x.Message, err)
		}
	}
	for _, x := range f.Releases {
		if err := each(w, func() error { return w.release(x) }, &x.Outcome, nil); err != nil {
			return fmt.Errorf("release instance %s: %w", x.Fence.Instance, err)
		}
	}
	for _, x := range f.Renewals {
		if err := each(w, func() error { return w.renewal(x) }, &x.Outcome, nil); err != nil {
			return fmt.Errorf("renew lease of instance %s: %w", x.Fence.Instance, err)
		}
	}
	for _, e := range f.Enqueues {
		if err := each(w, func() error { return w.enqueue(e) }, &e.Outcome, &e.Err); err != nil {
			return fmt.Errorf("enqueue message %s: %w", e.Message.ID, err)
		}
	}
	for _, s := range f.Claims {
		var o store.Outcome
		if err := each(w, func() error { return w.scan(s) }, &o, nil); err != nil {
			return fmt.Errorf("scan: %w", err)
		}
	}
	return nil
}

// wrapper runs one item of a flush.
type wrapper func(w *work, item func() error, o *store.Outcome, refused *error) error

// plain lets the item's error end the flush.
func plain(_ *work, item func() error, _ *store.Outcome, _ *error) error { return item() }

// isolated takes back only the item's own writes, where its error is not about the database as a whole.
func isolated(w *work, item func() error, o *store.Outcome, refused *error) error {
	if _, err := w.exec(savepoint); err != nil {
		return err
	}
	kept := len(w.undo)
	err := item()
	if err != nil {
		if refused == nil || !culprit(err) {
			return err
		}
		for i := len(w.undo) - 1; i >= kept; i-- {
			w.undo[i]()
		}
		w.undo = w.undo[:kept]
		if _, err := w.exec(rollbackTo); err != nil {
			return err
		}
		*o, *refused = store.Refused, err
	}
	_, err = w.exec(releasePoint)
	return err
}
