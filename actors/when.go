package actors

import "time"

// When is a point in time: now, in a while by the database's clock, or at a given instant. The zero value is now.
type When struct {
	After time.Duration // from the database's now; used where At is zero
	At    time.Time
}

// In is d after the database's now, read when it is written; a negative d is now.
func In(d time.Duration) When { return When{After: max(d, 0)} }

// At is the instant t; one that has passed is now.
func At(t time.Time) When { return When{At: t} }

// From resolves w against now.
func (w When) From(now time.Time) time.Time {
	if w.At.IsZero() {
		return now.Add(w.After)
	}
	return w.At
}

// CatchUpPolicy says what happens to occurrences of a recurring reminder that came due while nothing ran.
type CatchUpPolicy string

const (
	// Latest sends one message for all missed occurrences and goes on with the grid. It is the default.
	Latest CatchUpPolicy = "latest"
	// All sends one message for each missed occurrence, a bounded number at a time.
	All CatchUpPolicy = "all"
)

// ScheduleOption refines Schedule, Cancel and Scheduled.
type ScheduleOption func(*ReminderIntent)

// Key tells several reminders of one message apart; without it there is one.
func Key(key string) ScheduleOption { return func(r *ReminderIntent) { r.Key = key } }

// Every repeats the reminder on the grid of its first due time; d is at least a millisecond.
func Every(d time.Duration) ScheduleOption { return func(r *ReminderIntent) { r.Interval = d } }

// CatchUp sets what happens to missed occurrences.
func CatchUp(p CatchUpPolicy) ScheduleOption { return func(r *ReminderIntent) { r.CatchUp = p } }

// CallOption refines Ask, Tell, TellTx and Send.
type CallOption func(*Call)

// IdempotencyKey makes a repeated call the same message: the same key with the same operation and arguments
// returns the first message and its result, with others it is an *IdempotencyConflict. A key is unique for each
// actor and kept as long as the message's history (30 days by default).
func IdempotencyKey(key string) CallOption {
	return func(c *Call) { c.IdempotencyKey, c.keyed = key, true }
}

// Available delays the message. Order is strict: it also holds back every later message of its actor. What should
// not hold others back is a reminder.
func Available(w When) CallOption { return func(c *Call) { c.When = w } }
