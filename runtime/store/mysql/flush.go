package mysql

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/lockstep-go/lockstep/runtime/store"
)

var (
	lookReady    = declare("look")
	lockPatience = declare("lock_patience")
)

// Flush is the group commit: one transaction of a fixed number of statements. Where the server refuses one for its
// content, the transaction is rolled back and run again with each item on its own, so that only the culprit is refused.
func (s *Store) Flush(ctx context.Context, f *store.Flush) error {
	if f.Empty() {
		return nil
	}
	idle, err := s.idle(ctx, f)
	if idle || err != nil {
		return err
	}
	lone, err := f.Lone()
	if err != nil {
		return err
	}
	err = s.flushPatiently(ctx, f)
	if lone != nil {
		err = lone.Acted(err, classify(err) == culprit)
	}
	return err
}

// flushPatiently is flush, again where it met nothing but rows of others.
func (s *Store) flushPatiently(ctx context.Context, f *store.Flush) error {
	for range 3 {
		stubborn := time.Now().UnixNano() < s.stubborn.Load()
		limit := patience
		if stubborn {
			limit = impatience
		}
		err := patiently(ctx, limit, func() (bool, error) {
			err := s.flush(ctx, f)
			return err == nil && onlyBusy(f), err
		})
		if err != nil || stubborn || !onlyBusy(f) || ctx.Err() != nil {
			return err
		}
		if err := s.flushWaiting(ctx, f); err != nil || !onlyBusy(f) {
			return err
		}
	}
	return nil
}

// flushWaiting is flush for items that met nothing but rows of others: it queues for them, in their order and for a
// second, so that neither of two processes starves the other. Where that is in vain an application's transaction is
// open, and the next flushes do not wait for it.
func (s *Store) flushWaiting(ctx context.Context, f *store.Flush) error {
	err := s.with(ctx, func(q *session) error {
		if _, err := q.exec(lockPatience, 1); err != nil {
			return err
		}
		w := newWork(q)
		w.waits = true
		err := s.transact(w, func(w *work) error {
			reset(f)
			return w.apply(f)
		})
		if s.own && !retiring(err) {
			_, restored := q.exec(lockPatience, s.lockWait())
			if _, failed := errors.AsType[*store.ActionFailed](err); restored != nil && !failed {
				return restored
			}
		}
		return err
	})
	if _, failed := errors.AsType[*store.ActionFailed](err); err == nil || failed || errors.Is(err, store.ErrUnclear) {
		return translate("flush", err)
	}
	if code(err) == 1205 {
		s.stubborn.Store(time.Now().Add(stubbornness).UnixNano())
	}
	reset(f)
	return s.flush(ctx, f) // which knows what to do about any other error
}

// flush does so once. One at a time is enough for a store, and gets on with itself.
func (s *Store) flush(ctx context.Context, f *store.Flush) error {
	select {
	case s.flushing <- struct{}{}:
		defer func() { <-s.flushing }()
	case <-ctx.Done():
		return fmt.Errorf("flush: wait for the one in front: %w", ctx.Err())
	}
	err := s.writeTo(ctx, "flush", cold(f), func(w *work) error {
		reset(f)
		return w.apply(f)
	})
	if lone, _ := f.Lone(); lone != nil || err == nil || classify(err) != culprit {
		return err
	}
	return s.writeTo(ctx, "flush item by item", cold(f), func(w *work) error {
		reset(f)
		return w.applyEach(f)
	})
}

// onlyBusy says whether every item met a row of another session.
func onlyBusy(f *store.Flush) bool {
	busy := len(f.Claims)+len(f.Delivered) == 0
	for _, c := range f.Commits {
		busy = busy && c.Outcome == store.Busy
	}
	for _, x := range f.Failures {
		busy = busy && x.Outcome == store.Busy
	}
	for _, x := range f.Releases {
		busy = busy && x.Outcome == store.Busy
	}
	for _, x := range f.Renewals {
		busy = busy && x.Outcome == store.Busy
	}
	for _, e := range f.Enqueues {
		busy = busy && e.Outcome == store.Busy
	}
	return busy
}

// reset clears what an earlier try put into the items.
func reset(f *store.Flush) {
	for _, c := range f.Commits {
		c.Outcome, c.Turn, c.Due, c.Err = "", nil, time.Time{}, nil
	}
	for _, x := range f.Failures {
		x.Outcome, x.Turn, x.Due, x.Err = "", nil, time.Time{}, nil
	}
	for _, x := range f.Releases {
		x.Outcome = ""
	}
	for _, x := range f.Renewals {
		x.Outcome, x.Until = "", time.Time{}
	}
	for _, e := range f.Enqueues {
		e.Outcome, e.Head, e.Depth, e.Differs, e.Activation, e.Err = "", false, 0, "", nil, nil
	}
	for _, s := range f.Claims {
		s.Activations, s.Dead = nil, nil
	}
}

// idle says whether f is only scans that find nothing.
func (s *Store) idle(ctx context.Context, f *store.Flush) (bool, error) {
	if len(f.Commits)+len(f.Failures)+len(f.Releases)+len(f.Renewals)+len(f.Enqueues)+len(f.Delivered) > 0 {
		return false, nil
	}
	for _, scan := range f.Claims {
		if scan.Only != "" {
			return false, nil
		}
	}
	return read(ctx, s, "look for work", func(q *session) (bool, error) {
		for _, scan := range f.Claims {
			scan.Activations, scan.Dead = nil, nil
			if len(scan.Types) == 0 || scan.Limit <= 0 {
				continue
			}
			types, skip := list(scan.Types), list(scan.Skip)
			args := append(append([]any{s.offset.Load()}, types...), skip...)
			found := false
			err := q.allText(s.texts.text(lookReady, len(types), len(skip)), func(row) error {
				found = true
				return nil
			}, append(args, s.offset.Load(), scan.Claim.Owner))
			if found || err != nil {
				return false, err
			}
		}
		return true, nil
	})
}

// apply runs every item, in the order of the fields but for Delivered, which comes first: a broadcast that was handed
// on is not absorbed by the actor's next one.
func (w *work) apply(f *store.Flush) error {
	w.delivered = f.Delivered
	if err := w.gather(f); err != nil {
		return err
	}
	if len(f.Commits) == 1 && f.Commits[0].Action != nil {
		if err := w.act(f, f.Commits[0]); err != nil {
			return err
		}
	}
	for _, c := range f.Commits {
		if err := w.commit(c); err != nil {
			return fmt.Errorf("commit message %s: %w", c.Message, err)
		}
		if w.manual && c.Outcome != store.Done {
			return store.ErrActionFenced
		}
	}
	for _, x := range f.Failures {
		if err := w.failure(x); err != nil {
			return fmt.Errorf("record failure of message %s: %w", x.Message, err)
		}
	}
	for _, x := range f.Releases {
		if err := w.release(x); err != nil {
			return fmt.Errorf("release instance %s: %w", x.Fence.Instance, err)
		}
	}
	for _, x := range f.Renewals {
		w.renewal(x)
	}
	for _, e := range f.Enqueues {
		if err := w.enqueue(e); err != nil {
			return fmt.Errorf("enqueue message %s: %w", e.Message.ID, err)
		}
	}
	return w.settle(f.Claims)
}

// gather takes the locks, reads the clock and then what the items will need.
func (w *work) gather(f *store.Flush) error {
	var ids, new []string
	for _, c := range f.Commits {
		ids = append(ids, c.Fence.Instance)
	}
	for _, x := range f.Failures {
		ids = append(ids, x.Fence.Instance)
	}
	for _, x := range f.Releases {
		ids = append(ids, x.Fence.Instance)
	}
	for _, x := range f.Renewals {
		ids = append(ids, x.Fence.Instance)
	}
	for _, s := range f.Claims {
		ids = append(ids, s.Only)
	}
	for _, e := range f.Enqueues {
		new = append(new, e.Message.ID)
		if e.Held != nil && e.Claim != nil {
			ids = append(ids, e.Held.Instance)
		}
	}
	found, err := w.resolve(cold(f))
	if err != nil {
		return err
	}
	take := w.lock
	if w.waits {
		take = w.lockWaiting
	}
	if err := take(append(ids, found...)); err != nil {
		return err
	}
	if err := w.misled(f.Enqueues); err != nil {
		return err
	}
	if err := w.tick(new); err != nil {
		return err
	}
	return w.foresee(f)
}

// cold are the actors of the enqueues that hold no activation.
func cold(f *store.Flush) (keys []store.Key) {
	for _, e := range f.Enqueues {
		if e.Held == nil || e.Claim == nil {
			keys = append(keys, addressOf(e))
		}
	}
	return keys
}

func addressOf(e *store.Enqueue) store.Key {
	return store.Key{Type: e.Message.Type, ID: e.Message.ActorID}
}

// misled resolves the actors of enqueues whose Held was another's, or of an incarnation that is gone.
func (w *work) misled(list []*store.Enqueue) error {
	var cold []store.Key
	for _, e := range list {
		if e.Held != nil && e.Claim != nil && w.addresses[addressOf(e)] == nil && !w.elsewhere[e.Held.Instance] {
			cold = append(cold, addressOf(e))
		}
	}
	if len(cold) == 0 {
		return nil
	}
	found, err := w.resolve(cold)
	if err != nil {
		return err
	}
	return w.lock(found)
}

// foresee reads, in one statement of each kind, what the items would otherwise read one by one.
func (w *work) foresee(f *store.Flush) error {
	var messages, keys, broadcasts []string
	var behind []place
	follow := func(x *store.Fence) {
		if i := w.instances[x.Instance]; i != nil && i.head+1 < i.next {
			behind = append(behind, place{i.id, i.head + 1})
		}
	}
	for _, c := range f.Commits {
		follow(&c.Fence)
		if c.Broadcast != nil {
			broadcasts = append(broadcasts, c.Fence.Instance)
		}
	}
	for _, x := range f.Failures {
		messages = append(messages, x.Message)
		follow(&x.Fence)
	}
	for _, x := range f.Releases {
		if i := w.instances[x.Fence.Instance]; i != nil {
			messages = append(messages, i.claimed)
		}
	}
	for _, e := range f.Enqueues {
		if i := w.addresses[addressOf(e)]; i != nil && e.Message.IdempotencyKey != "" && !i.made {
			keys = append(keys, keyOf(i.id, e.Message.IdempotencyKey))
		}
	}
	if err := w.load(messages); err != nil {
		return err
	}
	if err := w.loadKeys(keys); err != nil {
		return err
	}
	if err := w.loadQueued(behind); err != nil {
		return err
	}
	return w.loadPending(broadcasts, f.Delivered)
}

// applyEach runs each item as a flush of its own within the transaction.
func (w *work) applyEach(f *store.Flush) error {
	if err := w.isolated(&store.Flush{Delivered: f.Delivered}, nil, nil); err != nil {
		return err
	}
	for _, c := range f.Commits {
		if err := w.isolated(&store.Flush{Commits: []*store.Commit{c}}, &c.Outcome, &c.Err); err != nil {
			return err
		}
	}
	for _, x := range f.Failures {
		if err := w.isolated(&store.Flush{Failures: []*store.Failure{x}}, &x.Outcome, &x.Err); err != nil {
			return err
		}
	}
	for _, x := range f.Releases {
		if err := w.isolated(&store.Flush{Releases: []*store.Release{x}}, &x.Outcome, nil); err != nil {
			return err
		}
	}
	for _, x := range f.Renewals {
		if err := w.isolated(&store.Flush{Renewals: []*store.Renewal{x}}, &x.Outcome, nil); err != nil {
			return err
		}
	}
	for _, e := range f.Enqueues {
		if err := w.isolated(&store.Flush{Enqueues: []*store.Enqueue{e}}, &e.Outcome, &e.Err); err != nil {
			return err
		}
	}
	for _, s := range f.Claims {
		if err := w.isolated(&store.Flush{Claims: []*store.Scan{s}}, nil, nil); err != nil {
			return err
		}
	}
	return nil
}

// isolated takes back only the item's own writes, where its error is not about the database as a whole.
func (w *work) isolated(item *store.Flush, o *store.Outcome, refused *error) error {
	if item.Empty() {
		return nil
	}
	w.forget()
	if _, err := w.exec(savepoint); err != nil {
		return err
	}
	kept := len(w.undo)
	err := w.apply(item)
	if err != nil {
		if o == nil || classify(err) != culprit {
			return err
		}
		for n := len(w.undo) - 1; n >= kept; n-- {
			w.undo[n]()
		}
		w.undo = w.undo[:kept]
		if _, err := w.exec(rollbackTo); err != nil {
			return err
		}
		reset(item)
		*o = store.Refused
		if refused != nil {
			*refused = translate("refused", err)
		}
	}
	_, err = w.exec(releasePoint)
	return err
}
