// Package runtimetest runs real actors in an application's tests: the runtime itself, on a database in memory that is new
// for each test, so that nothing needs resetting. In a testing/synctest bubble the database's clock is the bubble's, and
// half an hour passes in no time:
//
//	func TestHoldLapsesAfterHalfAnHour(t *testing.T) {
//		synctest.Test(t, func(t *testing.T) {
//			rt := runtimetest.Open(t, Stocks)
//			Hold.Ask(t.Context(), rt, Stocks.Ref("mug"), HoldItem{Cart: "alice", Qty: 2})
//			rt.Advance(t, 31*time.Minute)
//			if got := runtimetest.Snapshot(t, rt, Stocks.Ref("mug")).Held["alice"]; got != 0 {
//				t.Errorf("half an hour later Held = %d, want 0", got)
//			}
//		})
//	}
//
// A test says what happens (the messages of the application's own handles, Advance), lets it come to rest (Drain) and looks
// at what the database has (Snapshot, Alarms, DeadLetters, MailboxEmpty). What the program would do to the world outside is
// staged: effects that Config.Effects does not perform wait for the test to answer them.
//
//	call := runtimetest.Staged(rt, Charge).One(t) // the order asked for this
//	if call.In.Amount != total { … }
//	call.FailOnce(errors.New("no route to the bank"))
//	rt.Advance(t, 2*time.Second)
//	runtimetest.Staged(rt, Charge).One(t).Succeed(Receipt{ID: "r1"}) // attempt 2, with the same ID
//
// The file example_test.go beside this one is a whole example: an application and its tests.
//
// Commit actions are not staged: they write to the test's own database, DB, with the turn that asked for them.
//
// Tests that need a real socket, browser or process cannot run in a bubble. There, too, Advance moves the database's
// clock, and Drain waits.
//
// An hour of a bubble takes a quarter of a second, since a runtime polls all the while. Tests in which days pass may set
// Config.SingleOwner, which asks the database nothing while nothing is due.
//
// # Concurrency
//
// Drain and what drains are for one goroutine at a time, in a bubble one of the bubble's; the rest may be called by
// several.
//
// # Errors
//
// Everything that takes a testing.TB ends the test where the database or the runtime fails.
//
// # Lifecycle
//
// What Open starts ends with the test, before the test is over: the runtime stops, its turns in flight end, staged effects
// are given back, and the database is gone.
package runtimetest
