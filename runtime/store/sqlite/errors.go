package sqlite

import (
	"context"
	sqldriver "database/sql/driver"
	"errors"
	"fmt"

	driver "modernc.org/sqlite"
	lib "modernc.org/sqlite/lib"

	"github.com/lockstep-go/lockstep/runtime/store"
)

// NotImmediate reports an application's transaction that cannot write at once, because it did not begin IMMEDIATE (or
// its connection does not wait for the lock). Open that pool with _txlock=immediate and a busy timeout, or use
// (*Store).Write.
type NotImmediate struct{ Cause error }

func (e *NotImmediate) Error() string {
	return "the transaction cannot write: it must begin IMMEDIATE (_txlock=immediate), or run in Write: " + e.Cause.Error()
}

func (e *NotImmediate) Unwrap() error { return e.Cause }

// MemoryPool reports a pool for an in-memory database that could open a second connection, which would be another
// database.
type MemoryPool struct{ MaxOpen int }

func (e *MemoryPool) Error() string {
	return fmt.Sprintf("an in-memory database is one connection: call SetMaxOpenConns(1), not %d (0 is no limit)", e.MaxOpen)
}

// code is the SQLite result code of err, extended, or 0.
func code(err error) int {
	if e, ok := errors.AsType[*driver.Error](err); ok {
		return e.Code()
	}
	return 0
}

// transient says whether a code is worth another try of the whole transaction.
func transient(code int) bool {
	switch code & 0xff {
	case lib.SQLITE_BUSY, lib.SQLITE_LOCKED, lib.SQLITE_PROTOCOL, lib.SQLITE_INTERRUPT, lib.SQLITE_SCHEMA, lib.SQLITE_NOMEM:
		return true
	case lib.SQLITE_CANTOPEN:
		return true // a file descriptor limit, a directory that comes back
	}
	return false
}

// translate gives an error of the driver the meaning that the contract names.
func translate(doing string, err error) error {
	if err == nil {
		return nil
	}
	c := code(err)
	switch {
	case transient(c):
		return fmt.Errorf("%s: %w: %w", doing, store.ErrTransient, err)
	case c&0xff == lib.SQLITE_READONLY, c&0xff == lib.SQLITE_FULL, c&0xff == lib.SQLITE_PERM:
		return fmt.Errorf("%s: %w: %w", doing, store.ErrNotWritable, err)
	case c&0xff == lib.SQLITE_IOERR:
		return fmt.Errorf("%s: %w: %w", doing, store.ErrTransient, err)
	}
	return fmt.Errorf("%s: %w", doing, err)
}

// culprit says whether err is about one item's content, so that the item that made it can be told apart.
func culprit(err error) bool {
	switch {
	case err == nil:
		return false
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded), errors.Is(err, sqldriver.ErrBadConn), errors.Is(err, errClosed):
		return false
	case code(err) == 0:
		return true // found by this package: a row that contradicts the item
	}
	switch code(err) & 0xff {
	case lib.SQLITE_CONSTRAINT, lib.SQLITE_TOOBIG, lib.SQLITE_MISMATCH, lib.SQLITE_RANGE, lib.SQLITE_ERROR:
		return true
	}
	return false
}
