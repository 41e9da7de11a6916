package runtime_test

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"github.com/lockstep-go/lockstep/runtime/store"
)

var (
	errBefore  = errors.New("the disk is on fire")
	errUnclear = errors.Join(store.ErrUnclear, errors.New("connection reset"))
)

// faults is a store between a runtime and its database that can fail. One process has it; others may use the store
// below it, whose Close and clock are shared.
type faults struct {
	store.Store

	mu     sync.Mutex
	before func(*store.Flush) error // instead of the flush
	after  func(*store.Flush) error // of the answer, after the flush
	gate   chan struct{}            // flushes wait until it is closed

	finish  atomic.Pointer[error] // instead of FinishEffects' answer; the write is lost
	deliver atomic.Pointer[func()]
	fences  []store.Fence // of every activation that a flush returned
}

func (f *faults) set(before, after func(*store.Flush) error) {
	f.mu.Lock()
	f.before, f.after = before, after
	f.mu.Unlock()
}

// hold lets flushes wait until release is called.
func (f *faults) hold() (release func()) {
	gate := make(chan struct{})
	f.mu.Lock()
	f.gate = gate
	f.mu.Unlock()
	return func() {
		f.mu.Lock()
		f.gate = nil
		f.mu.Unlock()
		close(gate)
	}
}

func (f *faults) Flush(ctx context.Context, b *store.Flush) error {
	f.mu.Lock()
	before, after, gate := f.before, f.after, f.gate
	f.mu.Unlock()
	if gate != nil {
		<-gate
	}
	if before != nil {
		if err := before(b); err != nil {
			return err
		}
	}
	err := f.Store.Flush(ctx, b)
	f.mu.Lock()
	for _, e := range b.Enqueues {
		if e.Activation != nil && !e.Activation.Again {
			f.fences = append(f.fences, e.Activation.Fence)
		}
	}
	for _, s := range b.Claims {
		for _, a := range s.Activations {
			f.fences = append(f.fences, a.Fence)
		}
	}
	f.mu.Unlock()
	if err == nil && after != nil {
		err = after(b)
	}
	return err
}

func (f *faults) FinishEffects(ctx context.Context, o []*store.EffectOutcome) ([]store.Message, error) {
	if err := f.finish.Swap(nil); err != nil {
		return nil, *err
	}
	return f.Store.FinishEffects(ctx, o)
}

func (f *faults) Deliver(ctx context.Context, limit, mailboxCap int, backoff time.Duration) ([]store.Message, error) {
	if do := f.deliver.Swap(nil); do != nil {
		(*do)()
	}
	return f.Store.Deliver(ctx, limit, mailboxCap, backoff)
}

// commits says whether a flush ends a turn.
func commits(b *store.Flush) bool { return len(b.Commits) > 0 }

// onceFor fails the first flush that is of the kind.
func onceFor(kind func(*store.Flush) bool, err error) func(*store.Flush) error {
	var done atomic.Bool
	return func(b *store.Flush) error {
		if kind(b) && done.CompareAndSwap(false, true) {
			return err
		}
		return nil
	}
}
