package runtime

import (
	"context"
	"errors"
	goruntime "runtime"
	"slices"
	"sync"
	"time"

	"github.com/lockstep-go/lockstep/actors"
	"github.com/lockstep-go/lockstep/runtime/store"
)

// op is one item on its way into a flush; exactly one of its pointers is set.
type op struct {
	commit  *store.Commit
	failure *store.Failure
	release *store.Release
	renewal *store.Renewal
	enqueue *store.Enqueue
	scan    *store.Scan

	actor actors.Address // of a commit or an enqueue

	taken, withdrawn bool // out of pending; by a flush, or by its caller; guarded by the flusher's lock

	// done is called once, on a flusher's goroutine, after the flush: it must not block. The error is the flush's.
	done func(err error)
}

// flusher is the natural group commit: while one flush is in the database the next one gathers. It has no timer and,
// when there is nothing to do, no goroutine. Where the store says that it writes more in several flushes at once, and
// the ends of many turns wait behind the flush that is under way, they go out beside it. What concerns an actor is never
// in two flushes at once: the second one waits until everybody has heard of the first.
type flusher struct {
	store   store.Store
	lanes   int                // how many flushes may be under way at once; 0 is one
	prepare func(*store.Flush) // last word on a flush before it goes out
	wrote   func(ops []*op, took time.Duration, err error)
	waits   func(err error, wait time.Duration) // before another try
	lease   time.Duration

	mu        sync.Mutex
	pending   []*op
	ends      int        // of turns, among those pending
	delivered []handedOn // broadcast rows to be forgotten with whatever goes out next
	alone     bool       // they are not to wait for that any longer
	active    bool       // the goroutine that takes everything is there
	beside    int        // goroutines that take ends of turns only
	flying    map[actors.Address]bool
	under     inflight // all these goroutines
}

// handedOn is a broadcast row that nobody needs any longer.
type handedOn struct {
	id    string
	actor actors.Address
}

// maxFlush bounds the items of one transaction.
const maxFlush = 256

// worthBeside is how many ends of turns must wait for a flush of their own beside another.
const worthBeside = 48

// transientLimit is how long a flush is tried again before its items hear of it.
const transientLimit = 10 * time.Second

func (f *flusher) submit(ops ...*op) {
	f.mu.Lock()
	f.put(ops...)
	if !f.active {
		f.active = true
		f.under.add()
		go f.run(true)
	} else {
		f.widen()
	}
	f.mu.Unlock()
}

// widen starts a flush beside those under way, where enough waits for it.
func (f *flusher) widen() {
	if f.ends >= worthBeside && f.beside+1 < f.lanes {
		f.beside++
		f.under.add()
		go f.run(false)
	}
}

func (f *flusher) put(ops ...*op) {
	f.pending = append(f.pending, ops...)
	for _, o := range ops {
		if o.commit != nil {
			f.ends++
		}
	}
}

// forget has the actor's broadcast row deleted by the next flush.
func (f *flusher) forget(broadcast string, actor actors.Address) {
	f.mu.Lock()
	f.delivered = append(f.delivered, handedOn{broadcast, actor})
	f.mu.Unlock()
}

// settle flushes what forget left and nobody took along.
func (f *flusher) settle() {
	f.mu.Lock()
	left := len(f.delivered) > 0 && len(f.pending) == 0
	f.alone = left
	f.mu.Unlock()
	if left {
		f.submit()
	}
}

// run flushes until there is nothing left for it: everything (all), or ends of turns beside the goroutine that does.
func (f *flusher) run(all bool) {
	defer f.under.done()
	for {
		goruntime.Gosched() // whoever is about to submit may come along
		f.mu.Lock()
		if !all && !f.active { // what waited for this goroutine's last flush has nobody else
			all, f.active = true, true
			f.beside--
		}
		ops, news := f.take(all)
		if len(ops) == 0 && (len(news) == 0 || !f.alone) {
			f.delivered = append(f.delivered, news...)
			if all {
				f.active = false
			} else {
				f.beside--
			}
			f.mu.Unlock()
			return
		}
		if all && !lone(ops) {
			f.alone = false
		}
		about := f.fly(ops, news)
		if len(ops) == maxFlush {
			f.widen()
		}
		f.mu.Unlock()
		f.flush(ops, news)
		f.mu.Lock()
		for _, a := range about {
			delete(f.flying, a)
		}
		f.mu.Unlock()
	}
}

// take takes what may go out now out of what is pending. A commit with an action goes alone, and those behind it wait.
// Of more than one flush can hold, what running turns wait for comes before the messages of new callers, which keep a
// quarter of the room.
func (f *flusher) take(all bool) (ops []*op, news []handedOn) {
	if !all {
		if f.ends < worthBeside || f.count(f.besides) < worthBeside {
			return nil, nil
		}
		return f.pick(nil, maxFlush, f.besides), nil
	}
	if len(f.pending) > maxFlush && !acts(f.pending[0]) {
		ops = f.pick(ops, maxFlush-maxFlush/4, func(o *op) bool { return o.enqueue == nil && !acts(o) && !f.flying[o.actor] })
	}
	first, shut := len(ops) == 0, false
	ops = f.pick(ops, maxFlush, func(o *op) bool {
		if shut || f.flying[o.actor] {
			return false
		}
		shut = acts(o)
		goes := first || !shut
		first = false
		return goes
	})
	if !lone(ops) {
		here := f.delivered
		f.delivered = nil
		for _, n := range here {
			if f.flying[n.actor] {
				f.delivered = append(f.delivered, n)
			} else {
				news = append(news, n)
			}
		}
	}
	return ops, news
}

// besides says whether o may go out beside the flush that takes everything.
func (f *flusher) besides(o *op) bool { return o.commit != nil && !acts(o) && !f.flying[o.actor] }

func (f *flusher) count(may func(*op) bool) (n int) {
	for _, o := range f.pending {
		if may(o) {
			n++
		}
	}
	return n
}

// pick moves from pending to ops what may go, up to limit, and drops what was withdrawn.
func (f *flusher) pick(ops []*op, limit int, may func(*op) bool) []*op {
	f.pending = slices.DeleteFunc(f.pending, func(o *op) bool {
		if o.withdrawn {
			return true
		}
		if len(ops) == limit || !may(o) {
			return false
		}
		o.taken = true
		ops = append(ops, o)
		if o.commit != nil {
			f.ends--
		}
		return true
	})
	return ops
}

// withdraw takes back an enqueue that no flush has taken yet, and says whether that was so.
func (f *flusher) withdraw(o *op) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	o.withdrawn = !o.taken
	return o.withdrawn
}

// acts says whether o is a commit with an action.
func acts(o *op) bool { return o.commit != nil && o.commit.Action != nil }

// lone says whether ops are one of those.
func lone(ops []*op) bool { return len(ops) == 1 && acts(ops[0]) }

// fly notes whom a flush is about. No items of theirs are in another.
func (f *flusher) fly(ops []*op, news []handedOn) (about []actors.Address) {
	if f.lanes < 2 {
		return nil
	}
	if f.flying == nil {
		f.flying = map[actors.Address]bool{}
	}
	for _, o := range ops {
		if o.actor != (actors.Address{}) {
			about = append(about, o.actor)
		}
	}
	for _, n := range news {
		about = append(about, n.actor)
	}
	for _, a := range about {
		f.flying[a] = true
	}
	return about
}

func (f *flusher) flush(ops []*op, news []handedOn) {
	batch := &store.Flush{}
	for _, n := range news {
		batch.Delivered = append(batch.Delivered, n.id)
	}
	for _, o := range ops {
		switch {
		case o.commit != nil:
			batch.Commits = append(batch.Commits, o.commit)
		case o.failure != nil:
			batch.Failures = append(batch.Failures, o.failure)
		case o.release != nil:
			batch.Releases = append(batch.Releases, o.release)
		case o.renewal != nil:
			batch.Renewals = append(batch.Renewals, o.renewal)
		case o.enqueue != nil:
			batch.Enqueues = append(batch.Enqueues, o.enqueue)
		case o.scan != nil:
			batch.Claims = append(batch.Claims, o.scan)
		}
	}
	f.prepare(batch)
	begun := time.Now()
	err := f.write(batch)
	f.wrote(ops, time.Since(begun), err)
	if err != nil && len(news) > 0 {
		f.mu.Lock()
		f.delivered = append(f.delivered, news...)
		f.mu.Unlock()
	}
	// In the order in which the store worked: the end of a turn is heard of before the message that follows it.
	for _, turns := range [2]bool{true, false} {
		for _, o := range ops {
			if (o.enqueue == nil && o.scan == nil) == turns {
				f.finish(o, err)
			}
		}
	}
}

// finish reports to one item. Of an enqueue whose commit was unclear nothing is lost by trying again: its id was made
// here, so the second try finds its own row.
func (f *flusher) finish(o *op, err error) {
	if err != nil && o.enqueue != nil && errors.Is(err, store.ErrUnclear) && !o.enqueue.Message.EnqueuedAt.Equal(unclearOnce) {
		o.enqueue.Message.EnqueuedAt = unclearOnce
		f.mu.Lock()
		f.put(o)
		f.mu.Unlock()
		return
	}
	if err == nil {
		err = o.busy(f)
		if err == errAgain {
			return
		}
	}
	o.done(err)
}

var (
	unclearOnce = time.Unix(1, 0)
	errAgain    = errors.New("submitted again")
)

// outcome is the item's own, or nil for a scan.
func (o *op) outcome() *store.Outcome {
	switch {
	case o.commit != nil:
		return &o.commit.Outcome
	case o.failure != nil:
		return &o.failure.Outcome
	case o.release != nil:
		return &o.release.Outcome
	case o.renewal != nil:
		return &o.renewal.Outcome
	case o.enqueue != nil:
		return &o.enqueue.Outcome
	}
	return nil
}

// busy submits an item again whose row another session held.
func (o *op) busy(f *flusher) error {
	outcome := o.outcome()
	if outcome == nil || *outcome != store.Busy {
		return nil
	}
	*outcome = ""
	f.mu.Lock()
	f.put(o)
	f.mu.Unlock()
	return errAgain
}

// write takes the batch to the database, again after failures that may pass.
func (f *flusher) write(batch *store.Flush) error {
	begun := time.Now()
	for wait := 5 * time.Millisecond; ; wait = min(2*wait, time.Second) {
		err := f.store.Flush(context.Background(), batch)
		limit := transientLimit
		switch {
		case err == nil || errors.Is(err, store.ErrUnclear) && !errors.Is(err, store.ErrTransient) && !errors.Is(err, store.ErrNotWritable):
			return err
		case errors.Is(err, store.ErrNotWritable):
			limit = max(limit, f.lease) // nobody else can take over either: finished turns keep their attempt
		case !errors.Is(err, store.ErrTransient):
			return err
		}
		if time.Since(begun) > limit {
			return err
		}
		f.waits(err, wait)
		time.Sleep(wait)
	}
}
