// Package sqlite keeps a runtime's actors in a SQLite database: a file that any number of processes of one host may
// open, or memory.
//
//	db, err := sqlite.Open(ctx, "shop.db")
//	if err != nil {
//		return err
//	}
//	defer db.Close()
//
// One connection writes, with prepared statements and one transaction at a time, so it never contends with itself;
// a few others read. In memory one connection does both. Every commit is on the disk before it is acknowledged, unless
// Config.Synchronous says UnsafeNormal.
//
// # Concurrency
//
// A *Store is safe for concurrent use. Transactions of the application on the same file and ours exclude each other:
// while either is open, the other waits, up to the busy timeout.
//
// # Errors
//
// Those of package store, and *NotImmediate, *MemoryPool, *WriteLimit, *ForeignSchema. Errors of the driver do not come through
// unwrapped.
//
// # Lifecycle
//
// Open and New start no goroutine. Close gives up the locks by which other processes know that this one lives.
package sqlite
