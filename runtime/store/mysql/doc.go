// Package mysql keeps a runtime's actors in a MySQL or MariaDB database, with one set of statements for both servers.
//
//	db, err := mysql.Open(ctx, "shop:secret@tcp(db:3306)/shop")
//	if err != nil {
//		return err
//	}
//	defer db.Close()
//
// MySQL 8.0 or later and MariaDB 10.6 or later are accepted. The suite of package storetest and every other test of
// this package have been run on MariaDB 10.11; for MySQL 8 every statement is checked against its grammar by a parser,
// and no statement has been run there.
//
// Tables are InnoDB with utf8mb4 whatever the defaults of the database are; ids, names and keys are kept and compared
// as bytes. Every instance row is taken by primary key; one that another session holds is skipped, its items are Busy
// and belong into the next flush. Only a flush that met nothing else waits for such rows, for a second, and for thirty
// seconds after that was in vain none does: an application's open transaction is to delay its own actors only.
// Transactions run at READ COMMITTED. A deadlock, a lock wait that was too long and a lost connection are retried as
// whole verbs, a bounded number of times.
//
// # Concurrency
//
// A *Store is safe for concurrent use, and so are any number of stores of any number of processes on one database.
//
// # Errors
//
// Those of package store, and *UnsupportedServer, *PacketLimit, *ForeignSchema. Errors of the driver do not come
// through unwrapped.
//
// # Lifecycle
//
// Open and New start no goroutine. There is no lock by which a process could be known to be alive: what a dead one
// held is recovered when its heartbeat is old, or its leases are over.
package mysql
