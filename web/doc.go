// Package web puts Lockstep into an ordinary program of net/http and chi: pages that stay current, forms that become
// messages, and a server that ends in the right order.
//
//	live, err := web.New(rt, web.Config{Keys: keys, Identify: identify})
//	r := chi.NewRouter()
//	r.Use(sessions, live.Middleware)
//	live.Mount(r)
//	r.Get("/cart", live.Page(cartPage))
//	r.Post("/cart/add", web.Action(live, Add, myCart, web.Answer{Next: "/cart", Again: cartPage}))
//	return live.Serve(ctx, addr, r)
//
// # Concurrency
//
// A [Live] and its handlers are safe for concurrent use. Run and Serve are called once.
//
// # Errors
//
// Whatever keeps a request from being served is an [Error]: a status, a stable code and a text for the visitor.
// Config.Text translates the text, Config.RenderError draws the page. What went wrong inside is logged, never shown.
// Mistakes in a [Config] come back from New together; mistakes in the routes (an Action without a target) panic while
// the program starts, as chi's do.
//
// # Lifecycle
//
// New starts nothing. [Live.Serve] runs the runtime, the hub and an HTTP server, and at the end of its ctx stops
// accepting, finishes requests while turns still run, closes the sockets with a status that means "come back", and
// drains the runtime. A program with a server of its own calls the runtime's Run and [Live.Run], and ends them in that
// order.
package web
