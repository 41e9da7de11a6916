// Package lockstep is the overview of a library that keeps web pages in step with durable, addressable objects
// (actors), whose state lives in the SQL database that the program already has.
//
// What the page shows is what the database committed: after a crash, a deploy, a dropped connection or a lost
// broadcast the page catches up by itself.
//
// The packages, from what application code touches every day to what it touches once:
//
//   - actors: the vocabulary of an application: types, messages, queries, observables, effects, the turn
//   - views: templ components that show observables, and stay current
//   - web: pages, actions and the socket, mounted on a chi router
//   - runtime: runs actors in this process; runtime/store/sqlite, postgres and mysql keep them
//   - realtime: subscriptions and the hub behind the socket
//
// This package holds no code: import those. The folder examples/shop is a whole application.
package lockstep
