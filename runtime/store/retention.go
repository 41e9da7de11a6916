package store

import (
	"encoding/json"
	"time"
)

// Finished is a message whose processing is over, as far as retention cares.
type Finished struct {
	ID     string
	Type   string    // of its actor; "" where that was destroyed
	At     time.Time // when it finished
	Needed bool      // an effect, a send or a broadcast of it is unfinished
}

// Instance is an incarnation of an actor and what it still has.
type Instance struct {
	ID string
	Key
	CreatedAt time.Time
	UsedAt    time.Time // when a message last came, began or ended, or its lease was given back
	Revision  int64
	Version   int // of the state; 0 where none was committed
	Pending   int // unfinished messages
	Held      bool
	Paused    bool
	Scheduled bool            // it has reminders
	Outbox    bool            // it has unfinished effects, sends or a broadcast
	Letters   bool            // it has dead letters, retried or not
	State     json.RawMessage // only where it was asked for
}

// Quiet says whether nothing of the actor waits, works or is to be looked at by somebody, so that it may expire.
func (i *Instance) Quiet() bool {
	return i.Pending == 0 && !i.Held && !i.Paused && !i.Scheduled && !i.Outbox && !i.Letters
}

// Scheduled is a reminder with the actor that it is for.
type Scheduled struct {
	Key
	Operation string
	Name      string // its key, or ""
	Next      time.Time
	Due       time.Time // when it is tried; after Next where its mailbox was full
	Interval  time.Duration
	CatchUp   string
}
