package sqlite

import (
	"cmp"
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"

	lib "modernc.org/sqlite/lib"

	"github.com/lockstep-go/lockstep/actors"
	"github.com/lockstep-go/lockstep/runtime/store"
)

// work is one writing transaction.
type work struct {
	session
	store *Store
	now   int64 // database time, read once the write lock was held
	undo  []func()
}

// revert takes back what the transaction put into its items, so that they can be tried again.
func (w *work) revert() {
	for i := len(w.undo) - 1; i >= 0; i-- {
		w.undo[i]()
	}
	w.undo = w.undo[:0]
}

// restore takes *p back, should the transaction not commit.
func restore[T any](w *work, p *T) {
	before := *p
	w.undo = append(w.undo, func() { *p = before })
}

// write runs do in one transaction of the only writer. The ctx bounds the wait for it; once begun, the transaction
// goes on to its end. Nothing is written where it returns an error, unless that wraps store.ErrUnclear.
func (s *Store) write(ctx context.Context, doing string, do func(w *work) error) error {
	err := s.withWriter(ctx, func(c *conn) error { return s.transact(ctx, c, do) })
	if err != nil && err == ctx.Err() {
		return fmt.Errorf("%s: wait for the writer: %w", doing, err)
	}
	return translate(doing, err)
}

func (s *Store) transact(ctx context.Context, c *conn, do func(w *work) error) error {
	if _, err := c.execContext(ctx, beginImmediate); err != nil {
		c.exec(rollbackWork) // a ctx that ends as the statement does makes the driver call it failed, though it began
		return err
	}
	w := &work{session: c, store: s, now: s.now()}
	committed := false
	defer func() {
		if !committed {
			w.revert()
			c.exec(rollbackWork) // an error says that SQLite has rolled back itself
		}
	}()
	if err := do(w); err != nil {
		return err
	}
	if _, err := c.exec(commitWork); err != nil {
		if code(err)&0xff == lib.SQLITE_IOERR {
			return fmt.Errorf("%w: %w", store.ErrUnclear, err)
		}
		return err
	}
	committed = true
	s.commits.Add(1)
	return nil
}

// withWriter runs f with the writing connection, which belongs to nobody else meanwhile. Waiters are served in the
// order in which they came.
func (s *Store) withWriter(ctx context.Context, f func(c *conn) error) error {
	if s.shared != nil {
		if s.isClosed() {
			return errClosed
		}
		return s.withShared(ctx, f)
	}
	select {
	case s.turn <- struct{}{}:
	case <-ctx.Done():
		return ctx.Err()
	}
	defer func() { <-s.turn }()
	if s.isClosed() {
		return errClosed
	}
	err := f(s.writer)
	if code(err)&0xff == lib.SQLITE_READONLY {
		s.retire()
	}
	return err
}

// retire opens the writer anew, which takes no writes: the new one sees the file as it is now. Where that is not
// possible the old one stays. The caller has the writer's turn.
func (s *Store) retire() {
	ctx, cancel := context.WithTimeout(context.Background(), s.cfg.BusyTimeout)
	defer cancel()
	c, err := s.connect(ctx, false)
	if err != nil {
		return
	}
	s.facade.Close() // closes nothing: the connection was only lent
	s.writer.close()
	s.writer.dc.Close()
	s.writer, s.facade = c, newFacade(c)
}

// newFacade is a pool of one that lends the writer's connection.
func newFacade(c *conn) *sql.DB {
	db := sql.OpenDB(lent{c.dc})
	db.SetMaxOpenConns(1)
	return db
}

// withShared takes the application's only connection to an in-memory database.
func (s *Store) withShared(ctx context.Context, f func(c *conn) error) error {
	one, err := s.shared.Conn(ctx)
	if err != nil {
		return err
	}
	defer one.Close()
	return one.Raw(func(raw any) error {
		dc, ok := raw.(driver.Conn)
		if !ok {
			return fmt.Errorf("the SQLite driver gives a %T, not a connection", raw)
		}
		if s.writer == nil || s.writer.dc != dc {
			s.writer = newConn(dc, s.texts, &s.statements)
		}
		return f(s.writer)
	})
}

var errClosed = errors.New("the store is closed")

// WriteLimit reports statements of an application, in Write or a commit action, that were still running when
// Config.WriteLimit had passed; they were rolled back.
type WriteLimit = store.WriteLimit

// Write runs the application's statements in one transaction on the store's own writer: it begins IMMEDIATE, commits
// where f returns nil and rolls back otherwise. All actors of this database wait meanwhile, so it has a limit
// (Config.WriteLimit) from when it has begun; f's ctx ends with it, and every verb of a runtime but TellTx refuses that ctx. The error is f's
// own, or *WriteLimit.
func (s *Store) Write(ctx context.Context, f func(ctx context.Context, tx *sql.Tx) error) error {
	if actors.InTransaction(ctx) {
		return actors.ErrInsideTransaction
	}
	if s.isClosed() {
		return errClosed
	}
	if s.shared != nil {
		return s.writeOn(ctx, s.shared, f)
	}
	return s.withWriter(ctx, func(*conn) error { return s.writeOn(ctx, s.facade, f) })
}

func (s *Store) writeOn(ctx context.Context, db *sql.DB, f func(ctx context.Context, tx *sql.Tx) error) error {
	// The wait is bounded like everybody's; the limit is for what holds others up.
	patience := s.cfg.WriteLimit + s.cfg.BusyTimeout
	waiting, stop := context.WithTimeoutCause(ctx, patience, &WriteLimit{Limit: patience})
	defer stop()
	// The transaction itself is not bound to a ctx: database/sql would roll it back from a goroutine of its own, while
	// the connection may already serve somebody else.
	one, err := db.Conn(waiting)
	if err != nil {
		return fmt.Errorf("wait for the writer: %w", cmp.Or(context.Cause(waiting), err))
	}
	defer one.Close()
	tx, err := one.BeginTx(beginContext{waiting}, nil)
	if err != nil {
		return translate("begin", err)
	}
	limited, cancel := context.WithTimeoutCause(ctx, s.cfg.WriteLimit, &WriteLimit{Limit: s.cfg.WriteLimit})
	defer cancel()
	defer tx.Rollback() // after a panic of f; otherwise it is over by then
	if err := f(actors.WithTransaction(limited), tx); err != nil {
		if limit, ok := errors.AsType[*WriteLimit](context.Cause(limited)); ok {
			return limit
		}
		return err
	}
	if limited.Err() != nil {
		return context.Cause(limited)
	}
	if err := tx.Commit(); err != nil {
		return translate("commit", err)
	}
	s.commits.Add(1)
	return nil
}

// beginContext bounds the wait for the file's lock without binding the transaction: database/sql watches Done only.
type beginContext struct{ context.Context }

func (beginContext) Done() <-chan struct{} { return nil }

// lent is the writer's connection as database/sql sees it: Write lends it for one transaction at a time, and nobody
// may close it.
type lent struct{ dc driver.Conn }

func (l lent) Connect(context.Context) (driver.Conn, error) { return l, nil }
func (l lent) Driver() driver.Driver                        { return nil }
func (l lent) Prepare(text string) (driver.Stmt, error)     { return l.dc.Prepare(text) }
func (l lent) Close() error                                 { return nil }

//lint:ignore SA1019 part of driver.Conn
func (l lent) Begin() (driver.Tx, error) { return l.BeginTx(context.Background(), driver.TxOptions{}) }

func (l lent) BeginTx(ctx context.Context, _ driver.TxOptions) (driver.Tx, error) {
	if b, ok := ctx.(beginContext); ok {
		ctx = b.Context
	}
	if _, err := l.ExecContext(ctx, "BEGIN IMMEDIATE", nil); err != nil {
		lentTx{l}.Rollback() // see transact
		return nil, err
	}
	return lentTx{l}, nil
}

// lentTx ends the transaction under no ctx: whether it commits has been decided by then.
type lentTx struct{ l lent }

func (t lentTx) Commit() error {
	_, err := t.l.ExecContext(context.Background(), "COMMIT", nil)
	if err != nil {
		t.Rollback() // database/sql takes the connection for clean now
	}
	return err
}

func (t lentTx) Rollback() error {
	_, err := t.l.ExecContext(context.Background(), "ROLLBACK", nil)
	return err
}

func (l lent) PrepareContext(ctx context.Context, text string) (driver.Stmt, error) {
	return l.dc.(driver.ConnPrepareContext).PrepareContext(ctx, text)
}

func (l lent) ExecContext(ctx context.Context, text string, args []driver.NamedValue) (driver.Result, error) {
	return l.dc.(driver.ExecerContext).ExecContext(ctx, text, args)
}

func (l lent) QueryContext(ctx context.Context, text string, args []driver.NamedValue) (driver.Rows, error) {
	return l.dc.(driver.QueryerContext).QueryContext(ctx, text, args)
}
