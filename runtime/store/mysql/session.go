package mysql

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"strconv"
	"time"

	"github.com/lockstep-go/lockstep/runtime/store"
)

// querier is a connection, or an application's transaction.
type querier interface {
	ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error)
	QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error)
}

// session runs the store's statements, for one goroutine and the length of one verb, so it may keep that verb's ctx.
type session struct {
	store *Store
	q     querier
	ctx   context.Context
	bound []any
}

// limited is the ctx of one statement. The server goes on with a statement whose client has left, so that the limit is
// ours and not the caller's.
func (s *session) limited() (context.Context, context.CancelFunc) {
	return context.WithTimeoutCause(s.ctx, s.store.cfg.Limit, errLimit)
}

// late says that it was the limit which ended a statement.
func late(ctx context.Context, err error) error {
	if err != nil && ctx.Err() != nil && context.Cause(ctx) == errLimit {
		return fmt.Errorf("%w: %w", errLimit, err)
	}
	return err
}

// exec runs a statement and says how many rows the server counts.
func (s *session) exec(st statement, args ...any) (int64, error) {
	return s.execText(s.store.texts.text(st), args)
}

func (s *session) execText(text string, args []any) (int64, error) {
	s.store.statements.Add(1)
	ctx, cancel := s.limited()
	defer cancel()
	result, err := s.q.ExecContext(ctx, text, s.bind(args)...)
	if err != nil {
		return 0, late(ctx, err)
	}
	return result.RowsAffected()
}

// first returns the first row, if any.
func (s *session) first(st statement, args ...any) (found row, ok bool, err error) {
	err = s.allText(s.store.texts.text(st), func(r row) error {
		if !ok {
			found, ok = r, true
		}
		return nil
	}, args)
	return found, ok, err
}

// all hands every row to each, which must not use the session.
func (s *session) all(st statement, each func(row) error, args ...any) error {
	return s.allText(s.store.texts.text(st), each, args)
}

func (s *session) allText(text string, each func(row) error, args []any) error {
	s.store.statements.Add(1)
	ctx, cancel := s.limited()
	defer cancel()
	rows, err := s.q.QueryContext(ctx, text, s.bind(args)...)
	if err != nil {
		return late(ctx, err)
	}
	defer rows.Close()
	columns, err := rows.Columns()
	if err != nil {
		return err
	}
	into := make([]any, len(columns))
	for rows.Next() {
		r := make(row, len(columns))
		for i := range r {
			into[i] = &r[i]
		}
		if err := rows.Scan(into...); err != nil {
			return err
		}
		if err := each(r); err != nil {
			return err
		}
	}
	return late(ctx, rows.Err())
}

// many runs a statement that takes rows, in as few pieces as their number and their bytes allow.
func (s *session) many(st statement, width int, args []any) (affected int64, err error) {
	for len(args) > 0 {
		n, err := s.fitting(width, args)
		if err != nil {
			return affected, err
		}
		k, err := s.execText(s.store.texts.text(st, n/width), args[:n])
		if err != nil {
			return affected, err
		}
		affected += k
		args = args[n:]
	}
	return affected, nil
}

// fitting says how many of the arguments go into one statement.
func (s *session) fitting(width int, args []any) (int, error) {
	budget, packet := s.store.packet/4, s.store.packet-packetOverhead
	used, n := 0, 0
	for n < len(args) && n < maxRows*width {
		size := 0
		for _, a := range args[n : n+width] {
			size += length(a)
		}
		if size > packet {
			return 0, &tooLarge{size, packet}
		}
		if n > 0 && used+size > budget {
			break
		}
		used += size
		n += width
	}
	return n, nil
}

// each runs a query that takes values, in pieces.
func (s *session) each(st statement, width int, args []any, f func(row) error) error {
	for len(args) > 0 {
		n := min(len(args), maxRows*width)
		if err := s.allText(s.store.texts.text(st, n/width), f, args[:n]); err != nil {
			return err
		}
		args = args[n:]
	}
	return nil
}

// list turns texts into arguments; none becomes one that matches nothing, since a list in SQL cannot be empty.
func list[T ~string](texts []T) []any {
	if len(texts) == 0 {
		return []any{""}
	}
	args := make([]any, len(texts))
	for i, t := range texts {
		args[i] = string(t)
	}
	return args
}

// bind turns arguments into what the driver takes. Texts go as bytes: no character set of any connection touches them.
func (s *session) bind(args []any) []any {
	s.bound = s.bound[:0]
	for _, a := range args {
		s.bound = append(s.bound, value(a))
	}
	return s.bound
}

// optional is a text whose empty value is stored as NULL.
type optional string

// word is a text that goes as such and not as bytes: the value of a setting.
type word string

// moment is a time whose zero value is stored as NULL.
type moment int64

func value(a any) any {
	switch v := a.(type) {
	case nil, int64, []byte:
		return v
	case string:
		return []byte(v)
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
		return []byte(v)
	case optional:
		if v == "" {
			return nil
		}
		return []byte(v)
	case word:
		return string(v)
	case moment:
		if v == 0 {
			return nil
		}
		return int64(v)
	case time.Time:
		return micros(v)
	case store.Origin:
		return []byte(v)
	case store.Status:
		return []byte(v)
	}
	return fmt.Sprintf("unsupported argument %T", a) // strict columns and the suite find it
}

func length(a any) int {
	switch v := a.(type) {
	case string:
		return len(v)
	case []byte:
		return len(v)
	case json.RawMessage:
		return len(v)
	case optional:
		return len(v)
	}
	return 24
}

// row is one result row. Whether numbers come as such or as text depends on the protocol and the driver.
type row []any

func (r row) text(i int) string {
	switch v := r[i].(type) {
	case []byte:
		return string(v)
	case string:
		return v
	}
	return ""
}

func (r row) int(i int) int64 {
	switch v := r[i].(type) {
	case int64:
		return v
	case uint64:
		return int64(v)
	case []byte:
		n, _ := strconv.ParseInt(string(v), 10, 64)
		return n
	}
	return 0
}

func (r row) null(i int) bool { return r[i] == nil }

// doc is a document, nil where the column is NULL.
func (r row) doc(i int) json.RawMessage {
	if r[i] == nil {
		return nil
	}
	if b, ok := r[i].([]byte); ok {
		return b
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
