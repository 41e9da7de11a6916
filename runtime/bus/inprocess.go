package bus

import (
	"context"
	"sync"
)

// InProcess is a Bus between runtimes of one process. Its zero value is ready.
type InProcess struct {
	once     sync.Once
	gatherer *Gatherer

	mu   sync.Mutex
	next int
	by   map[int]func(from string, hints []Hint)
}

var _ Bus = (*InProcess)(nil)

// Publish is Bus's.
func (b *InProcess) Publish(from string, hints ...Hint) {
	b.once.Do(func() { b.gatherer = NewGatherer(nil, b.send) })
	b.gatherer.Publish(from, hints...)
}

func (b *InProcess) send(_ context.Context, packet []byte) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, hear := range b.by {
		Deliver(packet, hear)
	}
	return nil
}

// Listen is Bus's.
func (b *InProcess) Listen(ctx context.Context, hear func(from string, hints []Hint)) error {
	b.mu.Lock()
	if b.by == nil {
		b.by = map[int]func(string, []Hint){}
	}
	b.next++
	id := b.next
	b.by[id] = hear
	b.mu.Unlock()
	defer func() {
		b.mu.Lock()
		delete(b.by, id)
		b.mu.Unlock()
	}()
	DeliverMissed(hear)
	<-ctx.Done()
	return nil
}
