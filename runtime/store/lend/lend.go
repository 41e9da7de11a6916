// Package lend hands application code the open transaction of a database/sql driver's connection: as a *sql.Tx that
// runs statements in it and cannot end it.
//
// # Concurrency
//
// A Loan belongs to one transaction. Its Tx may still be in other hands when Close is called: from then on it answers
// sql.ErrTxDone.
package lend

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
)

// Loan is a transaction that was lent. Whoever made it closes it, before using the connection again.
type Loan struct {
	db  *sql.DB
	one *sql.Conn
	tx  *sql.Tx
}

// Open lends the transaction that dc is in. Every statement ends with ctx, whichever other ctx it is given.
func Open(ctx context.Context, dc driver.Conn) (*Loan, error) {
	l := &Loan{db: sql.OpenDB(conn{dc, ctx})}
	l.db.SetMaxOpenConns(1)
	var err error
	if l.one, err = l.db.Conn(ctx); err == nil {
		// Not bound to a ctx: database/sql would end it from a goroutine of its own.
		l.tx, err = l.one.BeginTx(context.WithoutCancel(ctx), nil)
	}
	if err != nil {
		l.db.Close()
		return nil, fmt.Errorf("lend the transaction: %w", err)
	}
	return l, nil
}

// Tx is the transaction. Its Commit and Rollback do nothing but end the Tx.
func (l *Loan) Tx() *sql.Tx { return l.tx }

// Close takes the transaction back. It waits for a statement under way, and closes what is left of statements and
// rows. It answers whether the borrower called Commit or Rollback.
func (l *Loan) Close() (ended bool) {
	ended = errors.Is(l.tx.Rollback(), sql.ErrTxDone)
	l.one.Close()
	l.db.Close() // closes nothing: the connection was only lent
	return ended
}

// conn is the lender's connection as database/sql sees it. It lives as long as the loan, so it may keep its ctx.
type conn struct {
	dc  driver.Conn
	ctx context.Context
}

func (c conn) Connect(context.Context) (driver.Conn, error) { return c, nil }
func (c conn) Driver() driver.Driver                        { return nil }
func (c conn) Close() error                                 { return nil }

//lint:ignore SA1019 part of driver.Conn
func (c conn) Begin() (driver.Tx, error) { return nothing{}, nil }

func (c conn) BeginTx(context.Context, driver.TxOptions) (driver.Tx, error) { return nothing{}, nil }

// nothing is the end of a transaction that is the lender's.
type nothing struct{}

func (nothing) Commit() error   { return nil }
func (nothing) Rollback() error { return nil }

// within is ctx, ended with the loan's at the latest. It is not released before the loan is: rows may need it.
func (c conn) within(ctx context.Context) context.Context {
	both, cancel := context.WithCancelCause(ctx)
	context.AfterFunc(c.ctx, func() { cancel(context.Cause(c.ctx)) })
	return both
}

func (c conn) Prepare(text string) (driver.Stmt, error) {
	return c.PrepareContext(context.Background(), text)
}

func (c conn) PrepareContext(ctx context.Context, text string) (driver.Stmt, error) {
	var st driver.Stmt
	var err error
	if p, ok := c.dc.(driver.ConnPrepareContext); ok {
		st, err = p.PrepareContext(c.within(ctx), text)
	} else {
		st, err = c.dc.Prepare(text)
	}
	if err != nil {
		return nil, err
	}
	return stmt{st, c}, nil
}

func (c conn) ExecContext(ctx context.Context, text string, args []driver.NamedValue) (driver.Result, error) {
	if x, ok := c.dc.(driver.ExecerContext); ok {
		return x.ExecContext(c.within(ctx), text, args)
	}
	return nil, driver.ErrSkip
}

func (c conn) QueryContext(ctx context.Context, text string, args []driver.NamedValue) (driver.Rows, error) {
	if q, ok := c.dc.(driver.QueryerContext); ok {
		return q.QueryContext(c.within(ctx), text, args)
	}
	return nil, driver.ErrSkip
}

func (c conn) CheckNamedValue(v *driver.NamedValue) error {
	if n, ok := c.dc.(driver.NamedValueChecker); ok {
		return n.CheckNamedValue(v)
	}
	return driver.ErrSkip
}

// stmt is a prepared statement of the borrower.
type stmt struct {
	driver.Stmt
	c conn
}

func (s stmt) ExecContext(ctx context.Context, args []driver.NamedValue) (driver.Result, error) {
	if x, ok := s.Stmt.(driver.StmtExecContext); ok {
		return x.ExecContext(s.c.within(ctx), args)
	}
	return nil, fmt.Errorf("the driver's statement %T takes no context", s.Stmt)
}

func (s stmt) QueryContext(ctx context.Context, args []driver.NamedValue) (driver.Rows, error) {
	if q, ok := s.Stmt.(driver.StmtQueryContext); ok {
		return q.QueryContext(s.c.within(ctx), args)
	}
	return nil, fmt.Errorf("the driver's statement %T takes no context", s.Stmt)
}

func (s stmt) CheckNamedValue(v *driver.NamedValue) error {
	if n, ok := s.Stmt.(driver.NamedValueChecker); ok {
		return n.CheckNamedValue(v)
	}
	return s.c.CheckNamedValue(v)
}
