package runtime

import (
	"encoding/json"
	"sync"
	"time"

	"github.com/lockstep-go/lockstep/actors"
	"github.com/lockstep-go/lockstep/runtime/store"
)

// ending is how a message ended.
type ending struct {
	result json.RawMessage
	err    error
}

// waiters are the calls of this process that wait for messages.
type waiters struct {
	mu sync.Mutex
	by map[string][]*waiter // by message id
}

type waiter struct {
	message string
	// instance is known once the message is stored; guarded by the waiters' lock.
	instance string
	dropped  bool
	done     chan ending   // of capacity 1
	news     chan struct{} // of capacity 1: another process may have ended the message
}

func (w *waiters) init() { w.by = map[string][]*waiter{} }

func (w *waiters) add(message string) *waiter {
	it := &waiter{message: message, done: make(chan ending, 1), news: make(chan struct{}, 1)}
	w.mu.Lock()
	w.by[message] = append(w.by[message], it)
	w.mu.Unlock()
	return it
}

// nudge has every waiter look at its message.
func (w *waiters) nudge() {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, list := range w.by {
		for _, it := range list {
			offer(it.news)
		}
	}
}

// look has those who wait for a message look at it.
func (w *waiters) look(message string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, it := range w.by[message] {
		offer(it.news)
	}
}

// gone has those who wait for a message of an incarnation look at it.
func (w *waiters) gone(instance string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, list := range w.by {
		for _, it := range list {
			if it.instance == instance {
				offer(it.news)
			}
		}
	}
}

// incarnation is which one the waiter's message belongs to, "" until it is stored.
func (w *waiters) incarnation(it *waiter) string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return it.instance
}

// stored says under which id and for which incarnation the waiter's message is in the database.
func (w *waiters) stored(it *waiter, message, instance string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	it.instance = instance
	if it.dropped {
		return
	}
	if message != it.message {
		w.remove(it)
		it.message = message
		w.by[message] = append(w.by[message], it)
	}
}

func (w *waiters) drop(it *waiter) {
	w.mu.Lock()
	it.dropped = true
	w.remove(it)
	w.mu.Unlock()
}

func (w *waiters) remove(it *waiter) {
	list := w.by[it.message]
	for i, other := range list {
		if other == it {
			list = append(list[:i:i], list[i+1:]...)
			break
		}
	}
	if len(list) == 0 {
		delete(w.by, it.message)
	} else {
		w.by[it.message] = list
	}
}

// end wakes those who wait for a message, and says whether there were any.
func (w *waiters) end(message string, e ending) (heard bool) {
	w.mu.Lock()
	list := w.by[message]
	delete(w.by, message)
	w.mu.Unlock()
	for _, it := range list {
		it.done <- e
	}
	return len(list) > 0
}

// destroyed wakes those who wait for a message of an incarnation.
func (w *waiters) destroyed(instance string) {
	w.mu.Lock()
	var woken []*waiter
	for id, list := range w.by {
		if len(list) > 0 && list[0].instance == instance {
			woken = append(woken, list...)
			delete(w.by, id)
		}
	}
	w.mu.Unlock()
	for _, it := range woken {
		it.done <- ending{err: actors.ErrActorDestroyed}
	}
}

// endingOf reads how a stored message ended; false while it is live.
func endingOf(m *store.Message) (ending, bool) {
	switch m.Status {
	case store.Completed:
		return ending{result: m.Result}, true
	case store.Rejected:
		r := &actors.Rejected{}
		if err := actors.DecodeDocument("rejection", m.Rejection, r); err != nil {
			return ending{err: err}, true
		}
		return ending{err: r}, true
	case store.Dead:
		return ending{err: &actors.MessageFailed{Message: refOf(m), Attempts: m.Attempts, Kind: m.ErrorKind}}, true
	}
	return ending{}, false
}

func refOf(m *store.Message) actors.MessageRef {
	return actors.MessageRef{ID: m.ID, Type: m.Type, ActorID: m.ActorID, Operation: m.Operation, Sequence: m.Sequence}
}

// share is how long a call waits before it reads its message where many wait: all of them together read about a
// thousand a second, and none of them later than most.
func (w *waiters) share(most time.Duration) time.Duration {
	w.mu.Lock()
	defer w.mu.Unlock()
	return min(time.Duration(len(w.by))*time.Millisecond, most)
}
