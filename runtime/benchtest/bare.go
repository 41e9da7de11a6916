package benchtest

import "sync"

// Step is half a bare call: its enqueue with a claim, or its turn. Sequence is the actor's, from 0.
type Step struct {
	Actor    int
	Sequence int64
	Turn     bool
}

// bareLoop makes calls without any runtime. Steps that arrive while a transaction is being committed share the next
// one, the turns of one batch with the enqueues of the next.
type bareLoop struct {
	write func([]Step) error

	mu      sync.Mutex
	pending []Step
	heard   []chan error
	active  bool
	next    []int64 // sequence by actor
}

// call is one warm call: its enqueue is durable before its turn is submitted, and that before it returns.
func (l *bareLoop) call(actor int) error {
	n := l.next[actor]
	l.next[actor]++
	if err := l.submit(Step{actor, n, false}); err != nil {
		return err
	}
	return l.submit(Step{actor, n, true})
}

func (l *bareLoop) submit(s Step) error {
	done := make(chan error, 1)
	l.mu.Lock()
	l.pending, l.heard = append(l.pending, s), append(l.heard, done)
	if !l.active {
		l.active = true
		go l.flush()
	}
	l.mu.Unlock()
	return <-done
}

func (l *bareLoop) flush() {
	for {
		l.mu.Lock()
		steps, heard := l.pending, l.heard
		l.pending, l.heard = nil, nil
		l.active = len(steps) > 0
		l.mu.Unlock()
		if len(steps) == 0 {
			return
		}
		err := l.write(steps)
		for _, done := range heard {
			done <- err
		}
	}
}
