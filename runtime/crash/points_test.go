//go:build unix

package crash

import (
	"context"
	"fmt"
	"os"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/lockstep-go/lockstep/runtime/store"
)

// pointNames are the named points of the transaction map. A point before a transaction, one after it, and those between
// two transactions that belong together; the ones inside a transaction are met at random.
var pointNames = []string{
	"before a flush", "after a flush",
	"before an enqueue", "after an enqueue",
	"before a claim", "after a claim",
	"in a turn", inAction,
	"before a commit", "after a commit",
	"before a failure", "after a failure",
	"before a renewal", "after a renewal",
	"before a release", "after a release",
	"before delivery", "after delivery",
	"before firing reminders", "after firing reminders",
	"after claiming effects", "between an effect and its record", "after recording effects",
	"before recovery", "after recovery",
	"after taking broadcasts",
}

// points is the store of a worker that dies or stops when it comes to a point for the n-th time. It also keeps the
// history of what the store answered.
type points struct {
	store.Store
	history *history
	point   string
	left    atomic.Int64
	stop    bool
}

// reach ends or stops this process where it was told so; it says so first.
func (p *points) reach(point string) {
	if point != p.point || p.left.Add(-1) != 0 {
		return
	}
	if p.stop {
		fmt.Println(stopping + point)
		_ = syscall.Kill(os.Getpid(), syscall.SIGSTOP)
		return
	}
	fmt.Println(dying + point)
	_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
	select {}
}

// around reaches the points before or after a flush.
func (p *points) around(when string, f *store.Flush) {
	p.reach(when + " a flush")
	for _, part := range []struct {
		name string
		n    int
	}{
		{" an enqueue", len(f.Enqueues)}, {" a claim", len(f.Claims)}, {" a commit", len(f.Commits)},
		{" a failure", len(f.Failures)}, {" a renewal", len(f.Renewals)}, {" a release", len(f.Releases)},
	} {
		if part.n > 0 {
			p.reach(when + part.name)
		}
	}
}

func (p *points) Flush(ctx context.Context, f *store.Flush) error {
	p.around("before", f)
	err := p.Store.Flush(ctx, f)
	if err == nil {
		if err := p.history.write(answers(f)...); err != nil {
			panic(err)
		}
	}
	p.around("after", f)
	return err
}

// answers are what a flush did with leases and turns.
func answers(f *store.Flush) (all []record) {
	line := func(kind string, fence store.Fence, sequence int64) {
		all = append(all, record{Kind: kind, Instance: fence.Instance, Sequence: sequence, Generation: fence.Generation})
	}
	next := func(t *store.Turn) {
		if t != nil {
			line(claimLine, t.Fence, t.Sequence)
		}
	}
	for _, c := range f.Commits {
		if c.Outcome == store.Done {
			line(commitLine, c.Fence, c.Sequence)
			next(c.Turn)
		}
	}
	for _, x := range f.Failures {
		if x.Outcome == store.Done {
			line(failureLine, x.Fence, x.Sequence)
			next(x.Turn)
		}
	}
	for _, e := range f.Enqueues {
		if e.Activation != nil {
			next(&e.Activation.Turn)
		}
	}
	for _, s := range f.Claims {
		for _, a := range s.Activations {
			next(&a.Turn)
		}
	}
	return all
}

func (p *points) Deliver(ctx context.Context, limit, mailboxCap int, backoff time.Duration) ([]store.Message, error) {
	p.reach("before delivery")
	moved, err := p.Store.Deliver(ctx, limit, mailboxCap, backoff)
	if len(moved) > 0 {
		p.reach("after delivery")
	}
	return moved, err
}

func (p *points) FireReminders(ctx context.Context, limit, mailboxCap, maxAttempts int, backoff time.Duration) ([]store.Message, error) {
	p.reach("before firing reminders")
	fired, err := p.Store.FireReminders(ctx, limit, mailboxCap, maxAttempts, backoff)
	if len(fired) > 0 {
		p.reach("after firing reminders")
	}
	return fired, err
}

func (p *points) ClaimEffects(ctx context.Context, owner string, names []string, limit int, lease time.Duration) ([]store.Effect, error) {
	claimed, err := p.Store.ClaimEffects(ctx, owner, names, limit, lease)
	if len(claimed) > 0 {
		p.reach("after claiming effects")
	}
	return claimed, err
}

func (p *points) FinishEffects(ctx context.Context, outcomes []*store.EffectOutcome) ([]store.Message, error) {
	p.reach("between an effect and its record")
	sent, err := p.Store.FinishEffects(ctx, outcomes)
	p.reach("after recording effects")
	return sent, err
}

func (p *points) Recover(ctx context.Context, self string, stale, retain time.Duration) (store.Recovered, error) {
	p.reach("before recovery")
	got, err := p.Store.Recover(ctx, self, stale, retain)
	p.reach("after recovery")
	return got, err
}

func (p *points) TakeBroadcasts(ctx context.Context, owner string, age time.Duration, limit int) ([]store.Broadcast, error) {
	taken, err := p.Store.TakeBroadcasts(ctx, owner, age, limit)
	p.reach("after taking broadcasts")
	return taken, err
}
