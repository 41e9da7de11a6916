// The mistakes that a compiler finds: each line with a want comment must be refused with such an error, and no other
// line. TestMistakesDoNotCompile reads this file.
package main

import (
	"context"
	"time"

	"github.com/lockstep-go/lockstep/actors"
)

type cart struct{ N int }

type stock struct{ N int }

type paid = actors.Done[int, string]

var (
	carts  = actors.Define("cart", func() cart { return cart{} })
	stocks = actors.Define("stock", func() stock { return stock{} })

	add   = actors.Message[int, string](carts, "add")
	hold  = actors.Message[int, string](stocks, "hold")
	tick  = actors.Bare(carts, "tick")
	count = actors.Query(carts, "count", func(c cart) int { return c.N })

	charge  = actors.Effect[int, string](carts, "charge")
	success = actors.Message[paid, actors.None](carts, "success")
	failure = actors.Message[actors.Failed[int], actors.None](carts, "failure")
	foreign = actors.Message[paid, actors.None](stocks, "foreign")

	enter = actors.CommitAction[int](carts, "enter")

	_ = actors.Query(carts, "wrong", func(s stock) int { return s.N })  // want "does not match|cannot use"
	_ = actors.Shared(carts, "wrong", func(s stock) int { return s.N }) // want "does not match|cannot use"
)

func init() {
	add.Handle(func(c *cart, t *actors.Turn[cart], in int) (string, error) {
		hold.Send(t, stocks.Ref("mug"), 1)
		add.Schedule(t, actors.In(time.Second), 1)
		tick.Schedule(t, actors.In(time.Second), actors.Key("k"))
		charge.Emit(t, 5)
		enter.Stage(t, 5)

		enter.Stage(t, "five")                       // want "cannot use .five."
		hold.Send(t, carts.Ref("a"), 1)              // want "cannot use carts.Ref"
		hold.Send(t, stocks.Ref("mug"), "one")       // want "cannot use .one."
		hold.Schedule(t, actors.In(time.Second), 1)  // want "cannot use t"
		add.Schedule(t, actors.In(time.Second), "1") // want "cannot use .1."
		add.Schedule(t, time.Second, 1)              // want "cannot use time.Second"
		charge.Emit(t, "5")                          // want "cannot use .5."
		hold.Ask(t, nil, stocks.Ref("mug"), 1)       // want "cannot use t"
		return "", nil
	})
	hold.Handle(func(s *stock, t *actors.Turn[stock], in int) (string, error) {
		tick.Schedule(t, actors.In(time.Second)) // want "cannot use t"
		tick.Cancel(t)                           // want "cannot use t"
		charge.Emit(t, 5)                        // want "cannot use t"
		enter.Stage(t, 5)                        // want "cannot use t"
		return "", nil
	})
	add.Handle(func(s *stock, t *actors.Turn[stock], in int) (string, error) { return "", nil })  // want "cannot use func"
	add.Handle(func(c *cart, t *actors.Turn[cart], in string) (string, error) { return "", nil }) // want "cannot use func"
	add.Handle(func(c *cart, t *actors.Turn[cart], in int) (int, error) { return 0, nil })        // want "cannot use func"
	tick.Handle(func(c *cart, t *actors.Turn[cart], in int) (string, error) { return "", nil })   // want "cannot use func"
	charge.Done(success)
	charge.Failed(failure)
	charge.Done(failure)   // want "cannot use failure"
	charge.Failed(success) // want "cannot use success"
	charge.Done(foreign)   // want "cannot use foreign"
	charge.Done(add)       // want "cannot use add"
	charge.Failed(tick)    // want "cannot use tick"
}

func main() {
	ctx, c := context.Background(), actors.Client(nil)
	var text string
	var number int
	text, _ = add.Ask(ctx, c, carts.Ref("a"), 1)
	number, _ = count.Ask(ctx, c, carts.Ref("a"))
	state, _ := carts.Ref("a").Snapshot(ctx, c)
	_ = charge.By(func(context.Context, actors.EffectCall[int]) (string, error) { return text, nil })

	number, _ = add.Ask(ctx, c, carts.Ref("a"), 1)                                                        // want "cannot use add.Ask"
	_, _ = add.Ask(ctx, c, stocks.Ref("a"), 1)                                                            // want "cannot use stocks.Ref"
	_, _ = add.Ask(ctx, c, carts.Ref("a"), "1")                                                           // want "cannot use .1."
	_, _ = add.Ask(ctx, c, carts.Ref("a"))                                                                // want "not enough arguments"
	_, _ = add.Tell(ctx, c, carts.Ref("a"), 1, actors.Key("k"))                                           // want "cannot use actors.Key"
	_, _ = add.Tell(ctx, c, "a", 1)                                                                       // want "cannot use .a."
	_, _ = count.Ask(ctx, c, stocks.Ref("a"))                                                             // want "cannot use stocks.Ref"
	_ = charge.By(func(context.Context, actors.EffectCall[string]) (string, error) { return text, nil })  // want "cannot use func"
	_ = charge.By(func(context.Context, actors.EffectCall[int]) (int, error) { return number, nil })      // want "cannot use func"
	_ = enter.By("any", func(context.Context, actors.Tx, actors.Committing[string]) error { return nil }) // want "cannot use func"
	_ = stock(state.N)                                                                                    // want "cannot convert"
}
