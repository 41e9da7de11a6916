package realtime

import (
	"context"
	"sync"
	"time"
)

// patience bounds a call into the application or the database. Who ignores its ctx is not bounded.
const patience = 10 * time.Second

// patient is a ctx that ends with its parent, and once patience is over. What it takes to wake somebody then is made for
// those who wait for it, which policies and components hardly ever do: thousands of pages that come back at once notice.
type patient struct {
	parent context.Context
	until  time.Time

	mu     sync.Mutex
	ended  bool
	waits  context.Context // once somebody asked for Done
	cancel context.CancelFunc
}

func withPatience(parent context.Context) *patient {
	return &patient{parent: parent, until: time.Now().Add(patience)}
}

// end ends it; who made it calls that once the call has returned.
func (p *patient) end() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.ended = true
	if p.cancel != nil {
		p.cancel()
	}
}

func (p *patient) Deadline() (time.Time, bool) {
	if d, ok := p.parent.Deadline(); ok && d.Before(p.until) {
		return d, true
	}
	return p.until, true
}

func (p *patient) Done() <-chan struct{} {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.waits == nil {
		p.waits, p.cancel = context.WithDeadline(p.parent, p.until)
		if p.ended {
			p.cancel()
		}
	}
	return p.waits.Done()
}

func (p *patient) Err() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch {
	case p.waits != nil:
		return p.waits.Err()
	case p.parent.Err() != nil:
		return p.parent.Err()
	case !time.Now().Before(p.until):
		return context.DeadlineExceeded
	case p.ended:
		return context.Canceled
	}
	return nil
}

func (p *patient) Value(key any) any {
	p.mu.Lock()
	waits := p.waits
	p.mu.Unlock()
	if waits != nil { // by whose values package context knows whom to end with it
		return waits.Value(key)
	}
	return p.parent.Value(key)
}
