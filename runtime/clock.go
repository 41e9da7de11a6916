package runtime

import (
	"context"
	"sync"
	"time"
)

// role is one kind of background work.
type role int

const (
	workRole role = iota
	effectRole
	reminderRole
	sendRole
	sweepRole
	roles
)

var roleNames = [roles]string{"work", "effects", "reminders", "sends", "sweep"}

// clock wakes roles: at once when told of work, later when told when it is due. What nobody tells of is found by
// polling. A signal that comes while a role is at work is kept.
type clock struct {
	signals [roles]chan struct{} // of capacity 1
	changed chan struct{}        // of capacity 1: an alarm was set earlier

	quiet bool // for a process that has the database to itself, see rest

	mu       sync.Mutex
	alarms   [roles]time.Time
	rung     [roles]bool // an alarm has rung that rang has not told of
	stirred  bool        // something was done since the last poll
	touch    time.Time   // when
	restless time.Time   // until when it polls whatever is done
}

func newClock(quiet bool) *clock {
	c := &clock{changed: make(chan struct{}, 1), quiet: quiet, touch: time.Now()}
	for i := range c.signals {
		c.signals[i] = make(chan struct{}, 1)
	}
	return c
}

// wake has the role look for work in a while, or at once, because of something that this process did.
func (c *clock) wake(r role, in time.Duration) {
	c.set(r, in)
	c.stir()
}

// set has the role look for work in a while, or at once.
func (c *clock) set(r role, in time.Duration) {
	if in <= 0 {
		offer(c.signals[r])
		return
	}
	at := time.Now().Add(in)
	c.mu.Lock()
	earlier := c.alarms[r].IsZero() || at.Before(c.alarms[r])
	if earlier {
		c.alarms[r] = at
	}
	c.mu.Unlock()
	if earlier {
		offer(c.changed)
	}
}

func offer(signal chan<- struct{}) {
	select {
	case signal <- struct{}{}:
	default:
	}
}

// ring wakes the roles whose alarm has passed and returns when the next one is set for, or zero.
func (c *clock) ring(now time.Time) (next time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for r, at := range c.alarms {
		switch {
		case at.IsZero():
		case !at.After(now):
			c.alarms[r], c.rung[r] = time.Time{}, true
			offer(c.signals[r])
			if c.quiet {
				c.stirred, c.touch = true, now
				offer(c.changed)
			}
		case next.IsZero() || at.Before(next):
			next = at
		}
	}
	return next
}

// rang says whether an alarm of the role has rung since it was last asked.
func (c *clock) rang(r role) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	rung := c.rung[r]
	c.rung[r] = false
	return rung
}

// tick rings alarms and polls until ctx ends. Every busy it looks whether anything changed, which is cheap; poll, which
// asks the database what is due and says whether it found anything, is called when it has, and otherwise ever less
// often, down to every idle, while it finds nothing.
func (c *clock) tick(ctx context.Context, busy, idle time.Duration, look func(context.Context) (changed bool), poll func(context.Context) (found bool, err error)) {
	pause := busy
	now := time.Now()
	nextLook, nextPoll := now, now
	for {
		now = time.Now()
		if !now.Before(nextLook) {
			if look(ctx) {
				nextPoll, pause = now, busy
			}
			nextLook = now.Add(busy)
		}
		if !now.Before(nextPoll) {
			if found, _ := poll(ctx); found {
				pause = busy
			} else {
				pause = min(2*pause, idle)
			}
			now = time.Now()
			nextPoll = now.Add(pause)
		}
		until := nextPoll
		if nextLook.Before(until) {
			until = nextLook
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
