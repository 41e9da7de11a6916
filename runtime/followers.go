package runtime

import (
	"sync"

	"github.com/lockstep-go/lockstep/actors"
)

// followers hear of something until they stop: of every broadcast that this process delivers, of every revocation.
type followers[T any] struct {
	mu   sync.RWMutex
	next int
	by   map[int]func(T)
}

// Follow calls news for every broadcast that this process learns of until stop is called: those that it delivers itself,
// in order for each actor, and those that a Bus hints at or that it took over, with nothing but actor, instance, Revision
// and perhaps the message, and Previous equal to Revision: they cover nothing, and may be late, repeated or untrue.
// It must return quickly and may not call back into the runtime's verbs that write.
func (rt *Runtime) Follow(news func(actors.Broadcast)) (stop func()) {
	return rt.followers.follow(news)
}

func (f *followers[T]) follow(hear func(T)) (stop func()) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.by == nil {
		f.by = map[int]func(T){}
	}
	f.next++
	id := f.next
	f.by[id] = hear
	return func() {
		f.mu.Lock()
		delete(f.by, id)
		f.mu.Unlock()
	}
}

func (f *followers[T]) publish(what T) {
	f.mu.RLock()
	defer f.mu.RUnlock()
	for _, hear := range f.by {
		hear(what)
	}
}
