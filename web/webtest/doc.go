// Package webtest tests live pages without a browser. A Site serves an application's own handler, a Visitor has cookies,
// and a Page does what the browser client does: it loads HTML over HTTP, opens the socket, subscribes its scopes, applies
// what comes under the client's rules, and comes back when it is cut off. A test asks what the page shows:
//
//	site := webtest.Serve(t, live, routes(rt, live))
//	ada, bob := site.Visitor().Get("/counter"), site.Visitor().Get("/counter")
//	ada.Submit("form", url.Values{"by": {"2"}})
//	bob.WaitText(".count", "2")
//	bob.Equal() // what it shows is what a fresh GET shows
//
// Every method of a Page fails the test by itself when something goes wrong, so that a test reads as a story. The network
// between page and server can be made a bad one: Cut, Freeze, DropNext, RepeatNext, ReorderNext, and Site.Restart for a
// deploy. With OverStream a page follows as browsers do where WebSockets do not pass; all of this works there too.
//
// Serve connects the two by pipes in memory, so all of this works inside a testing/synctest bubble, with the runtime of
// package runtimetest; there, waiting takes no time. What a page knows of a browser is the protocol and the DOM: there is
// no JavaScript, no layout and no user whose hands are on something. For those, use a real browser.
//
// # Concurrency
//
// The methods of one Page are for one goroutine at a time; different pages may be used at once.
//
// # Lifecycle
//
// Pages, sockets, the hub and the server that Serve started end with the test.
package webtest
