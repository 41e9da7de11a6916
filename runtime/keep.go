package runtime

import (
	"context"
	"sync/atomic"
	"time"

	"github.com/lockstep-go/lockstep/actors"
	"github.com/lockstep-go/lockstep/runtime/store"
)

// keepLeases renews the leases of all activations, gives back those that were idle for long, and tells turns whose
// lease is over that it is.
func (rt *Runtime) keepLeases(ctx context.Context) error {
	every := min(rt.cfg.Renew, time.Second)
	if rt.cfg.Idle > 0 {
		every = min(every, rt.cfg.Idle)
	}
	tick := time.NewTicker(every)
	defer tick.Stop()
	renewed := time.Now()
	var unanswered atomic.Int64 // renewals on their way
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
		now := time.Now()
		for _, act := range rt.cache.takeIdle(now.Add(-max(rt.cfg.Idle, 0))) {
			rt.release(act)
		}
		rt.flusher.settle()
		rt.dropOverdue(now)
		if now.Sub(renewed) >= rt.cfg.Renew && unanswered.Load() == 0 {
			renewed = now
			rt.renew(&unanswered)
		}
	}
}

// dropOverdue ends activations whose lease is certainly over, by this process's own clocks.
func (rt *Runtime) dropOverdue(now time.Time) {
	for _, act := range rt.cache.all() {
		if rt.cache.overdue(act, now) {
			act.cancel(actors.ErrLostActivation)
			rt.cache.drop(act)
		}
	}
}

// renew has every lease extended. It does not wait: while the database is silent, leases that are over must be found
// all the same. Rounds do not pile up, since the next one waits until nothing is unanswered.
func (rt *Runtime) renew(unanswered *atomic.Int64) {
	acts := rt.cache.all()
	if len(acts) == 0 {
		return
	}
	unanswered.Add(int64(len(acts)))
	ops := make([]*op, 0, len(acts))
	for _, act := range acts {
		r := &store.Renewal{Fence: act.fence, Lease: rt.cfg.Lease}
		asked := time.Now()
		ops = append(ops, &op{renewal: r, done: func(err error) {
			switch {
			case err != nil: // a single failure ends nothing while time remains
			case r.Outcome == store.Done:
				rt.cache.leased(act, leaseClock{asked, rt.cfg.Lease})
			default:
				act.cancel(actors.ErrLostActivation)
				rt.cache.drop(act)
			}
			unanswered.Add(-1)
		}})
	}
	rt.flusher.submit(ops...)
}

// overdue says whether an activation's lease is over here.
func (c *cache) overdue(act *activation, now time.Time) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return !act.gone && act.lease.lasts > 0 && act.lease.over(now)
}

// keepHouse beats the heart, recovers what dead processes left and takes over broadcasts that nobody delivered.
func (rt *Runtime) keepHouse(ctx context.Context) error {
	every := min(rt.cfg.Heartbeat, rt.cfg.house)
	tick := time.NewTicker(every)
	defer tick.Stop()
	for {
		rt.setbacks.prune()
		if !rt.quiet() {
			if rt.beatIfDue() {
				rt.warnAlone(ctx)
			}
			rt.recoverDead()
			rt.takeBroadcasts(ctx)
		}
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
	}
}

// beatIfDue renews the process's row. A process that was pruned as dead while it slept registers again. It
// says whether it did.
func (rt *Runtime) beatIfDue() (beat bool) {
	last := rt.beaten.Load()
	if time.Since(time.Unix(0, last)) < rt.cfg.Heartbeat || !rt.beaten.CompareAndSwap(last, time.Now().UnixNano()) {
		return false
	}
	ctx, cancel := context.WithTimeout(context.Background(), rt.cfg.Heartbeat)
	defer cancel()
	outcome, err := rt.store.Beat(ctx, rt.id, "running")
	if err == nil && outcome == store.Missing {
		err = rt.store.Register(ctx, rt.process())
	}
	if err != nil {
		rt.beaten.Store(last)
		rt.observer.emit(ctx, Event{Name: HeartbeatFailed, ErrorKind: errorKind(err), cause: err})
	}
	return err == nil
}

// recoverDead gives back what dead processes own.
func (rt *Runtime) recoverDead() {
	ctx, cancel := context.WithTimeout(context.Background(), rt.cfg.Heartbeat)
	defer cancel()
	got, err := rt.store.Recover(ctx, rt.id, rt.cfg.Stale, rt.cfg.ProcessRetention)
	if err != nil {
		rt.failing(context.Background(), "recovery", err, 0)
		return
	}
	rt.buried(got.Dead)
	if len(got.Processes)+got.Messages+got.Effects+got.Broadcasts+len(got.Dead) > 0 {
		rt.observer.emit(ctx, Event{Name: ProcessRecovered, Count: len(got.Processes), Messages: got.Messages, Effects: got.Effects})
		rt.clock.wake(workRole, 0)
		rt.clock.wake(effectRole, 0)
		rt.clock.wake(sweepRole, 0) // they may have been deleting the history of a destroyed actor
		if !rt.running.Load() {
			rt.tellAll()
		}
	}
}

// takeBroadcasts hands on what other processes committed but did not deliver in time.
func (rt *Runtime) takeBroadcasts(ctx context.Context) {
	taken, err := rt.store.TakeBroadcasts(ctx, rt.id, 10*time.Second, 100)
	if err != nil {
		if ctx.Err() == nil {
			rt.failing(ctx, "broadcasts", err, 0)
		}
		return
	}
	for _, b := range taken {
		rt.adopt(b)
		rt.broadcasted(ctx, BroadcastAdopted, &b)
		rt.flusher.forget(b.ID, b.Actor)
	}
}
