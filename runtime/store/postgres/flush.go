package postgres

import (
	"context"
	"fmt"
	"maps"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/lockstep-go/lockstep/runtime/store"
)

var (
	scanReady          = declare("scan")
	broadcastDelivered = declare("broadcast_delivered")
)

const (
	// indexPatience bounds what a transaction waits for a row of a unique index that another is about to make.
	indexPatience = 5 * time.Second
	// busyPatience is how long a flush waits for instances that others have, where it has nothing else to do.
	busyPatience = 200 * time.Millisecond
	// crowdPatience is how long it does so while this store has other flushes under way: then its wait holds nobody up.
	crowdPatience = 5 * time.Second
	// busyPause is how long it waits otherwise, so that whoever tries again at once does not spin.
	busyPause = 5 * time.Millisecond
	// busyGrudge is for how long it does not wait for them again after a wait was in vain.
	busyGrudge = 5 * time.Second
)

// Flush is the group commit: one transaction of two round trips whatever its size, one where all that it is about is known
// and unchanged, three where it has scans beside other items. Where the database refuses an item for its content, the
// flush is split, within the transaction, until that item stands alone.
func (s *Store) Flush(ctx context.Context, f *store.Flush) (err error) {
	if f.Empty() {
		return nil
	}
	lone, err := f.Lone()
	if err != nil {
		return err
	}
	s.flushes.Add(1)
	defer s.flushes.Add(-1)
	defer func() {
		if err == nil {
			s.memory.delivered(f.Delivered)
		}
	}()
	if done, err := s.flushKnown(ctx, f); done {
		return err
	}
	err = s.transact(ctx, "flush", indexPatience, func(w *work) error { return w.flush(f, lockSkip) })
	if err != nil && lone == nil && culprit(err) {
		err = s.transact(ctx, "flush in parts", indexPatience, func(w *work) error { return w.split(f) })
	}
	if err == nil && len(f.Delivered)+len(f.Claims) == 0 && all(f, store.Busy) {
		err = s.flushBusy(ctx, f)
	}
	if lone != nil {
		err = lone.Acted(err, culprit(err))
	}
	return err
}

// Flushes is how many flushes at once are worth it: the server works at one while the next is written down here. Half of
// the connections are left to others.
func (s *Store) Flushes() int { return max(1, min(3, int(s.pool.Config().MaxConns)/2)) }

// flushBusy is for a flush of which others hold every instance: usually another process is about to commit.
func (s *Store) flushBusy(ctx context.Context, f *store.Flush) error {
	if time.Now().UnixNano() < s.grudge.Load() && s.flushes.Load() == 1 {
		sleep(ctx, busyPause)
		return nil
	}
	for end := time.Now().Add(crowdPatience); ; {
		err := s.transact(ctx, "flush", busyPatience, func(w *work) error { return w.flush(f, lockWait) })
		if culprit(err) && (len(f.Commits) == 0 || f.Commits[0].Action == nil) {
			return s.transact(ctx, "flush in parts", indexPatience, func(w *work) error { return w.split(f) })
		}
		if code(err) != "55P03" { // lock_not_available
			return err
		}
		if s.flushes.Load() == 1 || time.Now().After(end) {
			break
		}
	}
	s.grudge.Store(time.Now().Add(busyGrudge).UnixNano())
	each(f, func(_ *store.Flush, o *store.Outcome, _ *error) {
		if o != nil {
			*o = store.Busy
		}
	})
	return nil
}

func sleep(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
	case <-timer.C:
	}
}

// each visits the items of a flush, in the order in which they are worked at, as flushes of their own. Scans and
// deliveries have no outcome.
func each(f *store.Flush, visit func(one *store.Flush, o *store.Outcome, refused *error)) {
	if len(f.Delivered) > 0 {
		visit(&store.Flush{Delivered: f.Delivered}, nil, nil)
	}
	for _, c := range f.Commits {
		visit(&store.Flush{Commits: []*store.Commit{c}}, &c.Outcome, &c.Err)
	}
	for _, x := range f.Failures {
		visit(&store.Flush{Failures: []*store.Failure{x}}, &x.Outcome, &x.Err)
	}
	for _, x := range f.Releases {
		visit(&store.Flush{Releases: []*store.Release{x}}, &x.Outcome, nil)
	}
	for _, x := range f.Renewals {
		visit(&store.Flush{Renewals: []*store.Renewal{x}}, &x.Outcome, nil)
	}
	for _, e := range f.Enqueues {
		visit(&store.Flush{Enqueues: []*store.Enqueue{e}}, &e.Outcome, &e.Err)
	}
	for _, s := range f.Claims {
		visit(&store.Flush{Claims: []*store.Scan{s}}, nil, nil)
	}
}

// all says whether every item of f that has an outcome has o.
func all(f *store.Flush, o store.Outcome) bool {
	same := true
	for i := 0; same && i < len(f.Commits); i++ {
		same = f.Commits[i].Outcome == o
	}
	for i := 0; same && i < len(f.Failures); i++ {
		same = f.Failures[i].Outcome == o
	}
	for i := 0; same && i < len(f.Releases); i++ {
		same = f.Releases[i].Outcome == o
	}
	for i := 0; same && i < len(f.Renewals); i++ {
		same = f.Renewals[i].Outcome == o
	}
	for i := 0; same && i < len(f.Enqueues); i++ {
		same = f.Enqueues[i].Outcome == o
	}
	return same
}

// flush works at all items.
func (w *work) flush(f *store.Flush, how statement) error {
	lone := len(f.Commits) == 1 && f.Commits[0].Action != nil
	if lone {
		if err := w.act(f.Commits[0], how); err != nil || f.Commits[0].Outcome != store.Done {
			return err
		}
	}
	var ids, heads, news []string
	var keys []store.Key
	var behind []int64
	of := func(fence *store.Fence, message int64) {
		ids = append(ids, fence.Instance)
		if message >= 0 {
			heads, behind = append(heads, fence.Instance), append(behind, message)
		}
	}
	for _, c := range f.Commits {
		of(&c.Fence, 1)
		if c.Broadcast != nil {
			news = append(news, c.Fence.Instance)
		}
	}
	for _, x := range f.Failures {
		of(&x.Fence, map[bool]int64{true: 1, false: 0}[x.Final])
	}
	for _, x := range f.Releases {
		of(&x.Fence, 0)
	}
	for _, x := range f.Renewals {
		of(&x.Fence, -1)
	}
	for _, e := range f.Enqueues {
		keys = append(keys, store.Key{Type: e.Message.Type, ID: e.Message.ActorID})
	}
	if len(f.Delivered) > 0 {
		w.exec(broadcastDelivered, f.Delivered)
	}
	if len(ids)+len(keys) > 0 {
		w.lock(how, ids, keys)
		w.heads(heads, behind)
		w.known(f.Enqueues)
		if len(news) > 0 {
			w.broadcasts(news, f.Delivered)
		}
		if err := w.sync(); err != nil {
			return err
		}
		if err := w.turns(f); err != nil {
			return err
		}
		if lone && f.Commits[0].Outcome != store.Done {
			return store.ErrActionFenced
		}
		if err := w.save(); err != nil {
			return err
		}
	}
	return w.scans(f.Claims)
}

// turns works at all items but scans.
func (w *work) turns(f *store.Flush) error {
	for _, c := range f.Commits {
		if err := w.commit(c); err != nil {
			return fmt.Errorf("commit message %s: %w", c.Message, err)
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
		if err := w.renewal(x); err != nil {
			return fmt.Errorf("renew lease of instance %s: %w", x.Fence.Instance, err)
		}
	}
	for _, e := range f.Enqueues {
		if err := w.enqueue(e); err != nil {
			return fmt.Errorf("enqueue message %s: %w", e.Message.ID, err)
		}
	}
	return nil
}

// split works at the items in halves, each in a savepoint, until those that the database refuses stand alone.
func (w *work) split(f *store.Flush) error {
	type item struct {
		flush   *store.Flush
		o       *store.Outcome
		refused *error
	}
	var items []item
	each(f, func(one *store.Flush, o *store.Outcome, refused *error) { items = append(items, item{one, o, refused}) })
	var halve func(items []item) error
	halve = func(items []item) error {
		part := &store.Flush{}
		for _, i := range items {
			part.Delivered = append(part.Delivered, i.flush.Delivered...)
			part.Commits = append(part.Commits, i.flush.Commits...)
			part.Failures = append(part.Failures, i.flush.Failures...)
			part.Releases = append(part.Releases, i.flush.Releases...)
			part.Renewals = append(part.Renewals, i.flush.Renewals...)
			part.Enqueues = append(part.Enqueues, i.flush.Enqueues...)
			part.Claims = append(part.Claims, i.flush.Claims...)
		}
		err := w.part(part)
		for try := 1; len(items) == 1 && w.store.raced(err) && try < 4; try++ {
			err = w.part(part) // the winner is seen now
		}
		if err == nil || !culprit(err) {
			return err
		}
		if len(items) > 1 {
			if err := halve(items[:len(items)/2]); err != nil {
				return err
			}
			return halve(items[len(items)/2:])
		}
		if items[0].refused == nil {
			return err
		}
		*items[0].o, *items[0].refused = store.Refused, err
		return nil
	}
	return halve(items)
}

// part works at some items as a transaction within the transaction.
func (w *work) part(f *store.Flush) error {
	inner := newWork(w.pipe)
	inner.add(savepoint, nil)
	err := inner.flush(f, lockSkip)
	if err == nil {
		err = inner.save()
	}
	if err == nil {
		inner.add(savepointDone, nil)
		err = inner.sync()
	}
	if err == nil {
		w.undo = append(w.undo, inner.undo...)
		maps.Copy(w.boxes, inner.boxes)
		return nil
	}
	inner.revert()
	inner.forget()
	if !culprit(err) {
		return err
	}
	inner.add(savepointUndo, nil) // alone: a transaction that failed lets nothing else even be prepared
	if err := inner.sync(); err != nil {
		return err
	}
	inner.add(savepointDone, nil) // goes with whatever is next
	return err
}

// scans claims heads, behind everything that was gathered before.
func (w *work) scans(scans []*store.Scan) error {
	if len(scans) == 0 {
		return nil
	}
	s := newWork(w.pipe) // what was known of instances is written now
	var only []string
	var offsets []int64
	found := make([][]string, len(scans))
	for _, scan := range scans {
		scan.Activations, scan.Dead = nil, nil
		if scan.Only != "" {
			only, offsets = append(only, scan.Only), append(offsets, 0)
		}
	}
	if len(only) > 0 {
		s.lock(lockSkip, only, nil)
		s.heads(only, offsets)
	}
	states := map[string][]byte{}
	for i, scan := range scans {
		if scan.Only != "" {
			found[i] = []string{scan.Only}
			continue
		}
		if len(scan.Types) == 0 || scan.Limit <= 0 {
			continue
		}
		skip := scan.Skip
		if skip == nil {
			skip = []string{}
		}
		s.query(scanReady, func(rows pgx.Rows) error {
			id, err := s.candidate(rows, states)
			found[i] = append(found[i], id)
			return err
		}, s.store.offset.Load(), scan.Types, skip, scan.Claim.Owner, scan.Limit)
	}
	s.clock(&s.now)
	if err := s.sync(); err != nil {
		return err
	}
	for i, scan := range scans {
		for _, id := range found[i] {
			if err := s.take(scan, s.boxes[id], states); err != nil {
				return fmt.Errorf("claim instance %s: %w", id, err)
			}
		}
	}
	w.undo = append(w.undo, s.undo...)
	if err := s.save(); err != nil {
		return err
	}
	maps.Copy(w.boxes, s.boxes)
	return nil
}

// candidate takes in a ready mailbox that a scan has locked.
func (w *work) candidate(rows pgx.Rows, states map[string][]byte) (string, error) {
	b, m := &box{}, &message{}
	var state []byte
	var due int64
	var times [3]int64
	if err := rows.Scan(b.scan(readMessage(&m.Message, &times, &state, &due)...)...); err != nil {
		return "", err
	}
	setTimes(&m.Message, &times)
	b.ready, b.due = true, due
	if w.boxes[b.id] == nil {
		w.keep(b)
		b.messages[m.Sequence] = m
	}
	states[b.id] = state
	return b.id, nil
}

// take claims the head of one mailbox for a scan, where it is due and nobody else holds it. Heads that have no attempt
// left are buried on the way, and the next of their actor is looked at.
func (w *work) take(s *store.Scan, b *box, states map[string][]byte) error {
	if b == nil { // locked by somebody else, or not there
		return nil
	}
	if b.claimed != "" && b.lease <= w.now {
		var rec store.Recovered
		if err := w.takeBack(b, false, &rec); err != nil {
			return err
		}
		s.Dead = append(s.Dead, rec.Dead...)
	}
	if !b.ready || b.due > w.now || !b.free(w.now) && b.owner != s.Claim.Owner {
		return nil
	}
	m, err := w.at(b, b.head)
	if err != nil {
		return err
	}
	m, dead, err := w.bury(b, m)
	s.Dead = append(s.Dead, dead...)
	if err != nil || m == nil {
		return err
	}
	if !w.isDue(b, m) {
		w.wait(b, m)
		return nil
	}
	a := w.claim(b, m, &s.Claim, fmt.Sprintf("%s-%d", s.Claim.Token, len(s.Activations)))
	if state, ok := states[b.id]; ok {
		a.Snapshot.State, b.wanted = state, nil
	}
	s.Activations = append(s.Activations, a)
	return nil
}
