package realtime

import (
	"math/rand/v2"
	"time"
)

// pace allows one thing every interval, and burst of them at once after a rest.
type pace struct{ next time.Time }

// wait is how long until the next one is allowed; zero is now.
func (p *pace) wait(now time.Time, every time.Duration, burst int) time.Duration {
	return max(0, p.next.Add(-time.Duration(burst-1)*every).Sub(now))
}

// take counts one.
func (p *pace) take(now time.Time, every time.Duration) {
	if p.next.Before(now) {
		p.next = now
	}
	p.next = p.next.Add(every)
}

// Live fragments of one actor: the first few commits after a rest are pushed at once, a steady stream ten times a
// second.
const (
	pushEvery = 100 * time.Millisecond
	pushBurst = 4
)

// Offences of one socket (frames that are no commands, subscribes beyond a limit) before it is closed, and what it is
// forgiven.
const (
	offenceEvery = 100 * time.Millisecond
	offenceBurst = 200
)

// Subscribes of one socket that are worked on; those beyond are told "later".
const (
	subscribeEvery = 10 * time.Millisecond
	subscribeBurst = 5000
)

// retries of something that failed: after 1 s, doubling to 60 s.
const (
	firstRetry = time.Second
	lastRetry  = time.Minute
)

// backoff counts the failures of one thing.
type backoff struct {
	fails int
	at    time.Time // of the next try
}

// failed counts one. A try that somebody else caused, before the next was due, leaves that one's time as it is.
func (b *backoff) failed(now time.Time) {
	if now.Before(b.at) {
		return
	}
	b.at = now.Add(min(firstRetry<<min(b.fails, 10), lastRetry))
	b.fails++
}

// spread is a random time in [low, 2·low), so that those who are told the same do not come back together.
func spread(low time.Duration) time.Duration {
	return low + rand.N(low)
}
