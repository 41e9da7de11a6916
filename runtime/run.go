package runtime

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"sync"
	"time"

	"github.com/lockstep-go/lockstep/actors"
	"github.com/lockstep-go/lockstep/runtime/store"
)

// ErrRunning is Run called while it runs.
var ErrRunning = errors.New("the runtime is running already")

// Run works until ctx ends: it claims and runs turns, delivers outboxes, fires reminders, performs effects, keeps
// leases and recovers what dead processes left. Then it stops claiming, finishes its turns within Config.Shutdown,
// gives back the rest, and returns nil; turns that ignored their ended context, or whose end the database did not take,
// are named in the error and left to their lease. A part that fails or panics is started again.
func (rt *Runtime) Run(ctx context.Context) error {
	if rt.closed.Load() {
		return actors.ErrClosed
	}
	if !rt.running.CompareAndSwap(false, true) {
		return ErrRunning
	}
	rt.recoverDead()
	for r := range roles {
		rt.clock.wake(r, 0)
	}
	var parts sync.WaitGroup
	part := func(name string, work func(context.Context) error) {
		parts.Go(func() { rt.supervise(ctx, name, work) })
	}
	part(roleNames[workRole], rt.each(workRole, rt.scan))
	part(roleNames[sendRole], rt.each(sendRole, rt.deliver))
	part(roleNames[reminderRole], rt.each(reminderRole, rt.remind))
	part(roleNames[sweepRole], rt.each(sweepRole, rt.sweep))
	part(roleNames[effectRole], rt.performEffects)
	part("polling", func(ctx context.Context) error {
		if rt.cfg.SingleOwner {
			rt.clock.rest(ctx, rt.cfg.PollIdle, rt.wall, rt.poll)
		} else {
			rt.clock.tick(ctx, rt.cfg.Poll, rt.cfg.PollIdle, rt.look, rt.poll)
		}
		return nil
	})
	part("housekeeping", rt.keepHouse)
	part("retention", rt.keepTidy)
	if rt.bus != nil {
		part("hints", rt.listen)
	}
	held, letGo := context.WithCancel(context.WithoutCancel(ctx)) // turns that are being finished need their leases
	defer letGo()
	var leases sync.WaitGroup
	leases.Go(func() { rt.supervise(held, "leases", rt.keepLeases) })
	<-ctx.Done()
	rt.running.Store(false)
	beat, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Second)
	_, _ = rt.store.Beat(beat, rt.id, "draining")
	cancel()
	parts.Wait()
	err := rt.finishTurns()
	letGo()
	leases.Wait()
	rt.giveBackAll()
	return err
}

// finishTurns waits for what is in flight, within the shutdown limit.
func (rt *Runtime) finishTurns() error {
	var err error
	if !rt.turns.wait(rt.cfg.Shutdown) {
		err = rt.interrupt()
	}
	if n := rt.deaf.Load(); n > 0 {
		err = errors.Join(cmp.Or(err, actors.ErrShutdown), fmt.Errorf("effects that ignored their context and are left to their lease: %d", n))
	}
	return err
}

// giveBackAll gives back what is idle, and waits until that is written and deactivation hooks have run.
func (rt *Runtime) giveBackAll() {
	rt.releaseAll()
	rt.flusher.settle()
	rt.flusher.under.wait(rt.cfg.Shutdown)
	rt.turns.wait(rt.cfg.Shutdown)
}

// interrupt tells the turns in flight to stop and names those that do not.
func (rt *Runtime) interrupt() error {
	for _, act := range rt.cache.busy() {
		act.cancel(actors.ErrShutdown)
	}
	if rt.turns.wait(min(time.Second, rt.cfg.Shutdown)) {
		return nil
	}
	var late []error
	for _, act := range rt.cache.busy() {
		late = append(late, fmt.Errorf("a turn of a %s was not recorded within the limit and is left to its lease", act.address.Type))
	}
	return errors.Join(append([]error{actors.ErrShutdown}, late...)...)
}

// supervise runs a part until ctx ends, again after a failure or panic, with growing pauses.
func (rt *Runtime) supervise(ctx context.Context, name string, work func(context.Context) error) {
	pause := 100 * time.Millisecond
	for ctx.Err() == nil {
		begun := time.Now()
		err := guard(ctx, work)
		if ctx.Err() != nil {
			return
		}
		if time.Since(begun) > time.Minute {
			pause = 100 * time.Millisecond
		}
		rt.restarting(ctx, name, err, pause)
		sleep(ctx, pause)
		pause = min(2*pause, 10*time.Second)
	}
}

func guard(ctx context.Context, work func(context.Context) error) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("panic: %v\n%s", p, debug.Stack())
		}
	}()
	return work(ctx)
}

func sleep(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
	case <-timer.C:
	}
}

// each is a role that makes passes whenever it is woken, until one finds nothing left to do at once. Passes that fail
// are tried again, later and later.
func (rt *Runtime) each(r role, pass func(context.Context) (more bool, err error)) func(context.Context) error {
	return func(ctx context.Context) error {
		failures := 0
		for {
			select {
			case <-ctx.Done():
				return nil
			case <-rt.clock.signals[r]:
			}
			for more := true; more && ctx.Err() == nil; {
				var err error
				if more, err = pass(ctx); err != nil && ctx.Err() == nil {
					failures++
					again := min(rt.cfg.Poll<<min(failures, 10), 10*time.Second)
					rt.failing(ctx, roleNames[r], err, again)
					rt.clock.wake(r, again)
					break
				}
				failures = 0
			}
		}
	}
}

// look says whether another process has committed since the last look, where the database can tell cheaply, and has
// the waiting calls read their messages then.
func (rt *Runtime) look(ctx context.Context) (changed bool) {
	n, err := rt.store.Changes(ctx)
	if err != nil || n == -1 || rt.seen.Swap(n) == n {
		return false
	}
	rt.waiters.nudge()
	return true
}

// poll asks what is due and wakes the roles for it; found says that something is due now.
func (rt *Runtime) poll(ctx context.Context) (found bool, err error) {
	due, err := rt.store.Due(ctx, rt.typeNames, rt.effects)
	if err != nil {
		if ctx.Err() == nil {
			rt.failing(ctx, "polling", err, 0)
		}
		return false, err
	}
	for _, r := range []role{workRole, effectRole, reminderRole, sendRole} {
		found = rt.alarm(&due, r) || found
	}
	return found, nil
}

// maxScan bounds what one scan claims.
const maxScan = 128

// scan claims actors whose head is due, as many as there are slots.
func (rt *Runtime) scan(ctx context.Context) (more bool, err error) {
	free := int64(rt.cfg.Workers) - rt.slots.Load()
	if free <= 0 {
		rt.crowded.Store(true)
		return false, nil // the slot that becomes free wakes the role
	}
	limit := min(free, maxScan)
	rang := rt.clock.rang(workRole)
	rt.slots.Add(limit)
	s := &store.Scan{
		Claim: store.Claim{Owner: rt.id, Token: newID(), Lease: rt.cfg.Lease},
		Types: rt.typeNames, Skip: rt.setbacks.instances(), Limit: int(limit),
	}
	result := make(chan error, 1)
	rt.flusher.submit(&op{scan: s, done: func(err error) {
		if err == nil {
			rt.took(s, nil)
		}
		result <- err
	}})
	err = <-result
	full := len(s.Activations) == int(limit)
	if err != nil {
		full = false
		s.Activations = nil
	}
	rt.slots.Add(int64(len(s.Activations)) - limit)
	rt.crowded.Store(full)
	if rang && err == nil && len(s.Activations) == 0 {
		rt.alarmAt(ctx, workRole) // it rang early by the database's clock, or somebody else was quicker
	}
	return full, err
}

// deliver moves staged sends into mailboxes.
func (rt *Runtime) deliver(ctx context.Context) (more bool, err error) {
	const batch = 200
	delivered, err := rt.store.Deliver(ctx, batch, rt.cfg.Mailbox, rt.cfg.backoff(1))
	rt.arrived(SendDelivered, delivered)
	if len(delivered) > 0 {
		rt.clock.wake(workRole, 0)
		rt.tellMessages(delivered)
	}
	return len(delivered) == batch, err
}

// remind enqueues due reminders.
func (rt *Runtime) remind(ctx context.Context) (more bool, err error) {
	const batch = 100
	fired, err := rt.store.FireReminders(ctx, batch, rt.cfg.Mailbox, rt.cfg.Attempts, rt.cfg.backoff(1))
	rt.arrived(ReminderFired, fired)
	if len(fired) > 0 {
		rt.clock.wake(workRole, 0)
		rt.tellMessages(fired)
	}
	if err == nil {
		rt.alarmAt(ctx, reminderRole)
	}
	return len(fired) > 0, err
}

// alarmAt sets a role's alarm for when the database says that its work is due, so that it does not wait for a poll.
func (rt *Runtime) alarmAt(ctx context.Context, r role) {
	if due, err := rt.store.Due(ctx, rt.typeNames, rt.effects); err == nil {
		rt.alarm(&due, r)
	}
}

// alarm sets a role's alarm and says whether its work is due now.
func (rt *Runtime) alarm(due *store.Due, r role) bool {
	at := map[role]time.Time{workRole: due.Messages, effectRole: due.Effects, reminderRole: due.Reminders, sendRole: due.Sends}[r]
	if at.IsZero() {
		return false
	}
	wait := at.Sub(due.Now)
	rt.clock.set(r, wait)
	return wait <= 0
}

// sweep deletes the history of destroyed actors.
func (rt *Runtime) sweep(ctx context.Context) (more bool, err error) {
	n, err := rt.store.Sweep(ctx, 500)
	rt.counted(ctx, SweepDone, n)
	return n > 0, err
}
