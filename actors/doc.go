// Package actors is the vocabulary of a Lockstep application: actor types and their messages, queries,
// observables and effects, references to single actors, and the turn in which a handler runs.
//
// An actor is a durable object addressed by type and id. Its state is a plain struct kept as JSON in the
// application's database; its operations are that struct's methods. The variables above them are its whole protocol:
//
//	type Counter struct {
//		N int `json:"n"`
//	}
//
//	func (c *Counter) Add(t *actors.Turn[Counter], by int) (int, error) {
//		c.N += by
//		return c.N, nil
//	}
//
//	var (
//		Counters = actors.Define("counter", func() Counter { return Counter{} })
//		Add      = actors.Message[int, int](Counters, "add")
//	)
//
//	func init() { Add.Handle((*Counter).Add) }
//
//	n, err := Add.Ask(ctx, rt, Counters.Ref("visits"), 1)
//
// This package stores nothing and starts nothing: the rt above is a [Client], which package runtime implements.
//
// # Concurrency
//
// Types and their handles are built while the program initializes and are safe for concurrent use afterwards. A
// [Turn] belongs to the goroutine that runs the handler, until the handler returns.
//
// # Errors
//
// Sentinels (ErrUnauthorized, ErrActorDestroyed, …) are for callers that only branch, types (*Rejected, *AskTimeout,
// *TooLarge, …) for those that read them. A mistake in the wiring (a message without a handler, two with one name)
// is kept in the type and returned, with all others, when a runtime opens with that type.
//
// # Lifecycle
//
// A handler may run more than once for one message (its process can die before the commit); what it did to its state
// and what it staged on its turn is committed exactly once, all or nothing. What it does to the outside world is its
// own business: stage an effect instead.
package actors
