package runtime

import (
	"sync"
	"time"

	"github.com/lockstep-go/lockstep/actors"
)

// setbacks are actors that this process could not activate and leaves alone for a while.
type setbacks struct {
	mu sync.Mutex
	by map[actors.Address]*setback
}

type setback struct {
	instance string
	until    time.Time
	times    int
}

// add notes a failure and returns how long the actor is left alone: 1 s doubling to a minute.
func (s *setbacks) add(a actors.Address, instance string) time.Duration {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.by == nil {
		s.by = map[actors.Address]*setback{}
	}
	it := s.by[a]
	if it == nil || it.instance != instance {
		it = &setback{instance: instance}
		s.by[a] = it
	}
	wait := min(time.Second<<min(it.times, 6), time.Minute)
	it.times++
	it.until = time.Now().Add(wait)
	return wait
}

func (s *setbacks) clear(a actors.Address) {
	s.mu.Lock()
	delete(s.by, a)
	s.mu.Unlock()
}

func (s *setbacks) has(a actors.Address) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	it := s.by[a]
	return it != nil && time.Now().Before(it.until)
}

// instances lists those to leave alone now.
func (s *setbacks) instances() (list []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := time.Now()
	for _, it := range s.by {
		if now.Before(it.until) {
			list = append(list, it.instance)
		}
	}
	return list
}

// prune forgets what has been left alone long ago.
func (s *setbacks) prune() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for a, it := range s.by {
		if time.Since(it.until) > 10*time.Minute {
			delete(s.by, a)
		}
	}
}
