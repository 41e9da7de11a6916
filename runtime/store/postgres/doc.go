// Package postgres keeps a runtime's actors in PostgreSQL 14 or newer, natively on pgx: any number of processes on any
// number of hosts may share a database.
//
//	db, err := postgres.Open(ctx, "postgres://shop@db.internal/shop")
//	if err != nil {
//		return err
//	}
//	defer db.Close()
//
// An application that has a *pgxpool.Pool of its own passes it to New, and enqueues inside its own transactions:
//
//	bump.TellTx(ctx, rt, postgres.Tx(tx), ref, in)
//
// A flush of any size is two round trips, three where it also scans: the first locks and reads what the items are
// about, as arrays; what becomes of each is decided here, under the locks; the last writes the difference and commits.
// Where everything that it is about was left by an earlier transaction of this store, with nothing waiting, it is one:
// what was decided here is sent together with what it was decided from, and the server, which compares that under the
// locks, fails the transaction where it has changed. The flush is then made as any other. The server's log has an error
// that says so, now and then where several processes, or messages from actor to actor, keep at the same actors.
// The texts of the statements never vary. It works in every execution mode of pgx and behind a proxy that changes the
// server connection between transactions, since nothing is left on a session.
//
// # Concurrency
//
// A *Store is safe for concurrent use. Instances are locked without waiting: an item whose instance somebody else has
// locked, such as a transaction of the application that enqueued to it and is still open, is Busy, and nobody else
// waits for it. Only where a flush has nothing else to do does it wait a little.
//
// # Errors
//
// Those of package store, and *Pooler, *ServerTooOld, *ForeignSchema; Warnings are *WeakCommit. Errors of pgx come
// wrapped in one of package store's where they have a meaning there.
//
// # Lifecycle
//
// Open and New start no goroutine. Notifications go out on one that lives for the moment; Listen runs on its caller's,
// with a connection of its own beside the pool. Close waits for both but Listen, which ends with its ctx.
package postgres
