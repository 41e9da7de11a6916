package runtime

import (
	"sync"
	"time"
)

// inflight counts what is under way. Unlike a WaitGroup's, its wait may overlap with new arrivals and has a limit.
type inflight struct {
	mu   sync.Mutex
	n    int
	zero chan struct{} // closed when n returns to zero; nil while nobody waits
}

func (f *inflight) add() {
	f.mu.Lock()
	f.n++
	f.mu.Unlock()
}

func (f *inflight) done() {
	f.mu.Lock()
	f.n--
	if f.n == 0 && f.zero != nil {
		close(f.zero)
		f.zero = nil
	}
	f.mu.Unlock()
}

// wait returns true once nothing is under way, false after limit.
func (f *inflight) wait(limit time.Duration) bool {
	f.mu.Lock()
	if f.n == 0 {
		f.mu.Unlock()
		return true
	}
	if f.zero == nil {
		f.zero = make(chan struct{})
	}
	zero := f.zero
	f.mu.Unlock()
	timer := time.NewTimer(limit)
	defer timer.Stop()
	select {
	case <-zero:
		return true
	case <-timer.C:
		return false
	}
}
