package sqlite

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"encoding/json"
	"fmt"
	"io"
	"sync/atomic"
	"time"

	"github.com/lockstep-go/lockstep/runtime/store"
)

// session runs statements: on a connection of the store, or inside an application's transaction.
type session interface {
	// exec runs a statement and says how many rows it changed.
	exec(st statement, args ...any) (int64, error)
	// first returns the first row, if any. The row is valid until the session's next call.
	first(st statement, args ...any) (row, bool, error)
	// all hands every row to each, which must not use the session.
	all(st statement, each func(row) error, args ...any) error
}

// conn is one connection, below database/sql: that costs two allocations and a lock for each statement that a flush
// of hundreds would pay for nothing. It is for one goroutine at a time.
type conn struct {
	dc    driver.Conn
	texts []string
	stmts []driver.Stmt
	count *atomic.Int64

	args []driver.NamedValue
	row  []driver.Value
}

func newConn(dc driver.Conn, texts []string, count *atomic.Int64) *conn {
	return &conn{dc: dc, texts: texts, stmts: make([]driver.Stmt, len(texts)), count: count}
}

// close finalizes the statements; the connection itself is the opener's.
func (c *conn) close() {
	for i, st := range c.stmts {
		if st != nil {
			st.Close()
			c.stmts[i] = nil
		}
	}
}

// run executes a text that is not worth keeping prepared.
func (c *conn) run(ctx context.Context, text string, args ...any) error {
	ex, ok := c.dc.(driver.ExecerContext)
	if !ok {
		return fmt.Errorf("the SQLite driver %T cannot execute directly", c.dc)
	}
	_, err := ex.ExecContext(ctx, text, c.bind(args))
	return err
}

// ask returns the first column of the first row of a text, or nil.
func (c *conn) ask(ctx context.Context, text string, args ...any) (driver.Value, error) {
	q, ok := c.dc.(driver.QueryerContext)
	if !ok {
		return nil, fmt.Errorf("the SQLite driver %T cannot query directly", c.dc)
	}
	rows, err := q.QueryContext(ctx, text, c.bind(args))
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	values := make([]driver.Value, len(rows.Columns()))
	if err := rows.Next(values); err != nil || len(values) == 0 {
		if err == io.EOF {
			err = nil
		}
		return nil, err
	}
	return values[0], nil
}

func (c *conn) prepared(st statement) (driver.Stmt, error) {
	if s := c.stmts[st]; s != nil {
		return s, nil
	}
	s, err := c.dc.Prepare(c.texts[st])
	if err != nil {
		return nil, fmt.Errorf("prepare %q: %w", c.texts[st], err)
	}
	c.stmts[st] = s
	return s, nil
}

// bind turns arguments into what the driver takes, in a buffer that the next call reuses.
func (c *conn) bind(args []any) []driver.NamedValue {
	c.args = c.args[:0]
	for i, a := range args {
		c.args = append(c.args, driver.NamedValue{Ordinal: i + 1, Value: value(a)})
	}
	return c.args
}

// optional is a text whose empty value is stored as NULL.
type optional string

func value(a any) driver.Value {
	switch v := a.(type) {
	case nil, string, int64:
		return v
	case int:
		return int64(v)
	case bool:
		if v {
			return int64(1)
		}
		return int64(0)
	case json.RawMessage:
		if v == nil {
			return nil
		}
		return string(v)
	case optional:
		if v == "" {
			return nil
		}
		return string(v)
	case time.Time:
		return micros(v)
	case time.Duration:
		return int64(v / time.Microsecond)
	case store.Origin:
		return string(v)
	case store.Status:
		return string(v)
	}
	return fmt.Sprintf("unsupported argument %T", a) // STRICT tables and the suite find it
}

func (c *conn) exec(st statement, args ...any) (int64, error) {
	return c.execContext(context.Background(), st, args...)
}

// execContext is exec with a wait for the file's lock that ctx ends.
func (c *conn) execContext(ctx context.Context, st statement, args ...any) (int64, error) {
	s, err := c.prepared(st)
	if err != nil {
		return 0, err
	}
	c.count.Add(1)
	res, err := s.(driver.StmtExecContext).ExecContext(ctx, c.bind(args))
	if err != nil {
		return 0, err
	}
	return res.RowsAffected()
}

func (c *conn) open(st statement, args []any) (driver.Rows, error) {
	s, err := c.prepared(st)
	if err != nil {
		return nil, err
	}
	c.count.Add(1)
	rows, err := s.(driver.StmtQueryContext).QueryContext(context.Background(), c.bind(args))
	if err != nil {
		return nil, err
	}
	if n := len(rows.Columns()); cap(c.row) < n {
		c.row = make([]driver.Value, n)
	} else {
		c.row = c.row[:n]
	}
	return rows, nil
}

func (c *conn) first(st statement, args ...any) (row, bool, error) {
	rows, err := c.open(st, args)
	if err != nil {
		return nil, false, err
	}
	err = rows.Next(c.row)
	closed := rows.Close()
	switch {
	case err == io.EOF:
		return nil, false, closed
	case err != nil:
		return nil, false, err
	}
	return row(c.row), true, closed
}

func (c *conn) all(st statement, each func(row) error, args ...any) error {
	rows, err := c.open(st, args)
	if err != nil {
		return err
	}
	defer rows.Close()
	for {
		if err := rows.Next(c.row); err == io.EOF {
			return nil
		} else if err != nil {
			return err
		}
		if err := each(row(c.row)); err != nil {
			return err
		}
	}
}

// row is one result row.
type row []driver.Value

func (r row) text(i int) string {
	s, _ := r[i].(string)
	return s
}

func (r row) int(i int) int64 {
	n, _ := r[i].(int64)
	return n
}

func (r row) null(i int) bool { return r[i] == nil }

// doc is a document, nil where the column is NULL.
func (r row) doc(i int) json.RawMessage {
	if r[i] == nil {
		return nil
	}
	return json.RawMessage(r.text(i))
}

// time is the zero time where the column is NULL.
func (r row) time(i int) time.Time {
	if r[i] == nil {
		return time.Time{}
	}
	return fromMicros(r.int(i))
}

func micros(t time.Time) int64 { return t.UnixMicro() }

func fromMicros(us int64) time.Time { return time.UnixMicro(us).UTC() }

// within is an application's transaction as a session. It lives for one call, so it may keep that call's ctx.
type within struct {
	ctx   context.Context
	tx    *sql.Tx
	texts []string
	count *atomic.Int64
	bound []any
}

func (w *within) values(args []any) []any {
	w.bound = w.bound[:0]
	for _, a := range args {
		w.bound = append(w.bound, value(a))
	}
	return w.bound
}

func (w *within) exec(st statement, args ...any) (int64, error) {
	w.count.Add(1)
	res, err := w.tx.ExecContext(w.ctx, w.texts[st], w.values(args)...)
	if err != nil {
		return 0, err
	}
	return res.RowsAffected()
}

func (w *within) first(st statement, args ...any) (row, bool, error) {
	var found row
	err := w.all(st, func(r row) error {
		if found == nil {
			found = r
		}
		return nil
	}, args...)
	return found, found != nil, err
}

func (w *within) all(st statement, each func(row) error, args ...any) error {
	w.count.Add(1)
	rows, err := w.tx.QueryContext(w.ctx, w.texts[st], w.values(args)...)
	if err != nil {
		return err
	}
	defer rows.Close()
	columns, err := rows.Columns()
	if err != nil {
		return err
	}
	for rows.Next() {
		values, into := make([]any, len(columns)), make([]any, len(columns))
		for i := range values {
			into[i] = &values[i]
		}
		if err := rows.Scan(into...); err != nil {
			return err
		}
		r := make(row, len(columns))
		for i, v := range values {
			r[i] = v
		}
		if err := each(r); err != nil {
			return err
		}
	}
	return rows.Err()
}
