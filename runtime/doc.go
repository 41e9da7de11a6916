// Package runtime runs actors inside the application's own process: durable mailboxes, activations under leases and
// fences, outboxes for effects and messages between actors, reminders, broadcasts, and the recovery of what a dead
// process left behind. Everything it knows is in the database; it holds nothing worth keeping.
//
//	db, err := sqlite.Open(ctx, "shop.db")
//	rt, err := runtime.Open(ctx, db, runtime.Config{Types: []actors.AnyType{Carts}, Policy: policy})
//	go rt.Run(ctx)
//	n, err := Add.Ask(ctx, rt, Carts.Ref("alice"), AddItem{SKU: "mug", Qty: 1})
//
// The contract: messages for one actor are durably enqueued and processed one at a time, in sequence order, at least
// once, by at most one valid activation at a time; a stale owner can never commit.
//
// Actor code runs outside any transaction. What has to be written to the application's own tables together with a
// turn is a commit action (actors.CommitAction, Config.Actions): it runs inside the transaction that commits the turn,
// after which its rows and the actor's state are there, or neither. An effect is for everything outside the database.
//
// # Concurrency
//
// A Runtime is safe for concurrent use. Several may share a process, a database or both. While Run runs, turns of
// different actors run at the same time, up to Config.Workers.
//
// # Errors
//
// Calls return the errors of package actors. What happens in the background is logged to Config.Logger, never with
// arguments, state, results or ids of callers.
//
// # Lifecycle
//
// Open registers the process and starts nothing. Run works until its ctx ends, then finishes or gives back its turns
// and returns. Before and after Run, Ask runs the actor inside the call. Close comes after Run has returned and
// before the database is closed; it is harmless twice.
package runtime
