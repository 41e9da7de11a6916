// Package realtime keeps open pages current: the hub holds their sockets, or streams of Server-Sent Events where sockets
// do not pass, and pushes fragments after each commit. What pages and hub say to each other stands in docs/protocol.md;
// package wire below encodes it.
//
// A page subscribes its scopes, each one actor's. The hub asks the policies, joins the actor's topic and only then
// reads a snapshot, so that no commit falls between; the answer holds everything current. From then on each broadcast
// makes the topic read the newest snapshot once, render what depends on what changed, once for all who may share it,
// and hand it to their connections, each of which keeps the newest fragment of every target until its reader takes it.
// Rows that were lost are found by comparing with the database, revisions that the database lost by reading behind
// what was read before; either ends with every page equal to a fresh GET. Two histories that overtake each other
// within one comparison are told apart only by their news.
//
// # Concurrency
//
// All methods of a Hub may be called at once. Policies, group functions and renderers are called concurrently, one at
// a time for each connection and for each actor; they get a ctx that ends after ten seconds, and should honour it. The
// function given to Source.Follow never blocks. A connection costs one goroutine while it is idle: its reader, or the
// server's own for a stream. Locks are taken in the order hub, topic, connection, and none is held while application code
// or the database is called, except for Renderer.Describe.
//
// # Errors
//
// A refusal is a wire.Reason for the page, never a Go error. A policy that fails or panics refuses. A component that
// fails or panics leaves its target as it was, is logged by its name and the error's type, and is tried again after a
// second, doubling to a minute, until it succeeds. State newer than the code ends a subscription as retryable. A
// database that cannot be read is asked again every second.
//
// # Lifecycle
//
// New starts nothing. Run follows the source, serves until its ctx ends, and then closes every socket with a time
// within which to come back; when it returns, no goroutine of the hub is left, unless its error says that application
// code did not return. Before Run and after it sockets are told to try later. At shutdown, end requests first, then
// Run, then the runtime.
package realtime
