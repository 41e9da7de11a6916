package runtime

import (
	"context"
	"fmt"
	"time"

	"github.com/lockstep-go/lockstep/runtime/store"
)

// NotAlone is Open where Config.SingleOwner, its own or another process's, and another live process exclude each other.
type NotAlone struct {
	Process string // id in the registry
	Host    string
	PID     int
	Owner   bool // it is the one that has the database to itself
}

func (e *NotAlone) Error() string {
	if e.Owner {
		return fmt.Sprintf("process %d on %s has the database to itself (Config.SingleOwner)", e.PID, e.Host)
	}
	return fmt.Sprintf("Config.SingleOwner, but process %d on %s uses the database", e.PID, e.Host)
}

// ownerKind is the kind of a process that has the database to itself.
const ownerKind = "owner"

// alone checks, after this process's own row is written, that it and the live ones may share the database: of two that
// start at once and may not, at least one sees the other.
func (rt *Runtime) alone(ctx context.Context) error {
	other, err := rt.rival(ctx)
	if other == nil || err != nil {
		return err
	}
	// It may be dead. Its lock tells at once, where the database has one, its heartbeat otherwise.
	if _, err := rt.store.Recover(ctx, rt.id, rt.cfg.Stale, rt.cfg.ProcessRetention); err != nil {
		return fmt.Errorf("recover the dead: %w", err)
	}
	if other, err = rt.rival(ctx); other == nil || err != nil {
		return err
	}
	return &NotAlone{Process: other.ID, Host: other.Host, PID: other.PID, Owner: other.Kind == ownerKind}
}

// rival is a process that is not known to be dead and excludes this one, or nil.
func (rt *Runtime) rival(ctx context.Context) (*store.Process, error) {
	list, err := rt.store.Processes(ctx)
	if err != nil {
		return nil, fmt.Errorf("read the registry: %w", err)
	}
	for i, p := range list {
		if p.ID != rt.id && p.State != "stopped" && (rt.cfg.SingleOwner || p.Kind == ownerKind) {
			return &list[i], nil
		}
	}
	return nil, nil
}

// SingleOwner says whether this process has the database to itself: nothing changes unless it does.
func (rt *Runtime) SingleOwner() bool { return rt.cfg.SingleOwner }

// quiet says that this process has the database to itself and has done nothing with it for longer than a lease: nothing
// can have been left to find.
func (rt *Runtime) quiet() bool {
	return rt.cfg.SingleOwner && time.Since(rt.clock.touched()) > rt.cfg.Lease
}

const (
	// maxRest is how long a process that has the database to itself goes without asking what is due.
	maxRest = 24 * time.Hour
	// watchEvery is how often it looks whether the wall clock jumped, which asks the database nothing.
	watchEvery = 10 * time.Second
	// jump is how far the wall clock may run from the monotonic one.
	jump = time.Second
	// restless is for how long it polls after a TellTx, whose transaction may commit unheard.
	restless = time.Minute
)

// rest is tick for a process that has the database to itself. It polls at the start, soon after whatever this process
// did, again and again while something is due or the database does not answer, when the wall clock jumped, and otherwise
// once in maxRest: alarms tell when anything is due.
func (c *clock) rest(ctx context.Context, idle time.Duration, wall func() time.Time, poll func(context.Context) (found bool, err error)) {
	const least = time.Millisecond
	pause, last := least, time.Time{}
	next := time.Now()
	watch := newWatch(wall)
	for {
		now := time.Now()
		if watch.jumped() {
			next = now
		}
		if c.takeStir(now) {
			if now.Sub(last) > 2*idle {
				pause = least
			}
			if at := now.Add(pause); at.Before(next) {
				next = at
			}
		}
		if !now.Before(next) {
			found, err := poll(ctx)
			now = time.Now()
			last, next = now, now.Add(maxRest)
			if found || err != nil {
				next = now.Add(pause)
			}
			pause = min(2*pause, idle)
		}
		until := now.Add(watchEvery)
		if next.Before(until) {
			until = next
		}
		if alarm := c.ring(now); !alarm.IsZero() && alarm.Before(until) {
			until = alarm
		}
		timer := time.NewTimer(until.Sub(now))
		select {
		case <-ctx.Done():
			timer.Stop()
			return
		case <-c.changed:
		case <-timer.C:
		}
		timer.Stop()
	}
}

// stir notes that this process does something, so that it polls soon.
func (c *clock) stir() {
	if !c.quiet {
		return
	}
	c.mu.Lock()
	first := !c.stirred
	c.stirred, c.touch = true, time.Now()
	c.mu.Unlock()
	if first {
		offer(c.changed)
	}
}

// unrest has it poll for a while.
func (c *clock) unrest() {
	if !c.quiet {
		return
	}
	c.mu.Lock()
	c.restless = time.Now().Add(restless)
	c.mu.Unlock()
	c.stir()
}

// takeStir says whether there is reason to poll soon.
func (c *clock) takeStir(now time.Time) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	stirred := c.stirred || now.Before(c.restless)
	c.stirred = false
	return stirred
}

// touched is when this process last did anything.
func (c *clock) touched() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.touch
}

// watch finds that the wall clock went another way than the monotonic one: it was set, or the machine slept.
type watch struct {
	wall  func() time.Time
	begun time.Time     // monotonic
	ahead time.Duration // of the wall clock
}

func newWatch(wall func() time.Time) *watch {
	w := &watch{wall: wall, begun: time.Now()}
	w.ahead = w.apart()
	return w
}

func (w *watch) apart() time.Duration {
	return w.wall().Round(0).Sub(w.begun.Round(0)) - time.Since(w.begun)
}

// jumped says whether it did since it was last asked.
func (w *watch) jumped() bool {
	apart := w.apart()
	if (apart - w.ahead).Abs() < jump {
		return false
	}
	w.ahead = apart
	return true
}
