package store

import "time"

// Counts says how much of each kind there is in the whole database, whichever types a program knows; no number is
// above the limit that was asked for. A time is since when the first of what is due waits, zero where nothing is due.
type Counts struct {
	Now time.Time

	Ready     int // mailboxes whose head may be claimed
	Delayed   int // mailboxes whose head is not due yet: it waits for its time or for another attempt
	Paused    int // mailboxes of paused actors, with a head that waits
	Claimed   int // mailboxes whose head is being processed
	Queued    int // messages behind the heads; those of destroyed actors count until they are swept
	Effects   int // due and not taken, or taken by somebody who did not finish in time
	Pending   int // all unfinished effects
	Failed    int // effects that were given up
	Reminders int // due
	Sends     int // messages between actors that are due for delivery
	Dead      int // dead letters that were not retried, among the newest limit

	ReadySince    time.Time
	EffectSince   time.Time
	ReminderSince time.Time
	SendSince     time.Time
}
