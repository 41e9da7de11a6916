// Package bus is how processes on one database tell each other to look: at work that waits, at a message that ended, at
// an actor that changed. What is told are hints and never state: a hint may be lost, late, repeated or untrue, and
// whoever hears it reads the database. Polling finds everything without it, only later.
//
// # Concurrency
//
// A Bus may be used by any number of runtimes and goroutines at once; each runtime listens once.
//
// # Errors
//
// Publish has none, and Listen returns none while its connection can be made again: a bus that fails costs latency.
//
// # Lifecycle
//
// Whoever opened a bus closes it, after the runtimes that use it.
package bus

import (
	"context"
	"time"

	"github.com/lockstep-go/lockstep/actors"
)

// Bus carries hints between the processes of one database.
type Bus interface {
	// Publish hands hints over to be sent soon. It never blocks and never fails: they are gathered within Window, and
	// equal ones are one. From names the publisher, which may hear its own hints.
	Publish(from string, hints ...Hint)
	// Listen calls hear with what is published, until ctx ends; then it returns nil. Whenever something may have been
	// missed, and once whenever it has connected, it calls hear with a Missed from "". It proves every few seconds
	// that it still hears, and connects anew when it does not. hear must not block.
	Listen(ctx context.Context, hear func(from string, hints []Hint)) error
}

const (
	// Window is within how long one publisher sends at most one packet.
	Window = 20 * time.Millisecond
	// MaxPacket bounds the bytes of a packet: PostgreSQL's notifications have room for 7,999.
	MaxPacket = 7_900
)

// Kind says what a hint is about, and which of its fields it has.
type Kind string

const (
	Missed    Kind = "missed"    // anything may have happened: look at everything
	Revoke    Kind = "revoke"    // rights were withdrawn: read which
	Messages  Kind = "messages"  // messages of actor type Name wait
	Effects   Kind = "effects"   // effects of that Name wait
	Reminders Kind = "reminders" // a reminder was set
	Sends     Kind = "sends"     // staged sends wait
	Ended     Kind = "ended"     // the message ID has ended; many of them if it is ""
	Gone      Kind = "gone"      // the incarnation ID was destroyed
	News      Kind = "news"      // Actor's Instance has broadcast Revision
)

// Hint is one thing to look at. Hints are comparable, and equal ones are one.
type Hint struct {
	Kind     Kind           `json:"k"`
	Name     string         `json:"n,omitempty"`
	ID       string         `json:"i,omitempty"`
	Actor    actors.Address `json:"a,omitzero"`
	Instance string         `json:"s,omitempty"`
	Revision int64          `json:"r,omitempty"`
}

// known says whether this build knows the hint's kind and the hint is bounded as that kind's are.
func (h *Hint) known() bool {
	if len(h.Name) > maxName || len(h.ID) > maxName || len(h.Instance) > maxName {
		return false
	}
	switch h.Kind {
	case Missed, Revoke, Messages, Effects, Reminders, Sends, Ended, Gone:
		return true
	case News:
		return actors.CheckID(h.Actor.ID) == nil && len(h.Actor.Type) <= maxName
	}
	return false
}

// maxName bounds a hint's texts: names and ids are shorter.
const maxName = 255
