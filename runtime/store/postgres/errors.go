package postgres

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/lockstep-go/lockstep/runtime/store"
)

// Pooler reports a proxy between this process and the server, such as PgBouncer, together with an execution mode that
// keeps prepared statements on the connection: behind a proxy that changes the server connection between
// transactions they are not there. Set default_query_exec_mode=exec in the DSN (or
// pgx.ConnConfig.DefaultQueryExecMode), or Config.KeepsStatements where the proxy looks after them.
type Pooler struct{ Mode string }

func (e *Pooler) Error() string {
	return fmt.Sprintf("there is a proxy before the server, and execution mode %q needs the same server connection every time: "+
		"set default_query_exec_mode=exec (or simple_protocol), or Config.KeepsStatements where the proxy keeps prepared statements", e.Mode)
}

// WeakCommit is a warning: the server acknowledges commits that a power cut may lose.
type WeakCommit struct{ Setting, Value string }

func (e *WeakCommit) Error() string {
	return fmt.Sprintf("%s is %q: a commit that was acknowledged may be lost in a power cut", e.Setting, e.Value)
}

// ForeignSchema reports tables under the store's schema and prefix that something else made.
type ForeignSchema struct{ Schema, Prefix, Identity string }

func (e *ForeignSchema) Error() string {
	return fmt.Sprintf("the tables of schema %s with prefix %s belong to %q, not to %q", e.Schema, e.Prefix, e.Identity, identity)
}

// ServerTooOld reports a server of a version that is not supported.
type ServerTooOld struct{ Version int }

func (e *ServerTooOld) Error() string {
	return fmt.Sprintf("the server has version %d, and 140000 (14.0) is the oldest supported", e.Version)
}

var errClosed = errors.New("the store is closed")

// code is the SQLSTATE of err, or "".
func code(err error) string {
	if e, ok := errors.AsType[*pgconn.PgError](err); ok {
		return e.Code
	}
	return ""
}

// constraint is the name of the constraint that err is about, without the prefix, or "".
func (s *Store) constraint(err error) string {
	if e, ok := errors.AsType[*pgconn.PgError](err); ok && e.Code == "23505" {
		return strings.TrimPrefix(e.ConstraintName, s.cfg.Prefix)
	}
	return ""
}

// raced says whether err is the loss of a race that a constraint decided: the second try sees the winner.
func (s *Store) raced(err error) bool {
	switch s.constraint(err) {
	case "instances_actor", "messages_pkey", "messages_sequence", "messages_key":
		return true
	}
	return false
}

// stale says whether the connection's knowledge of a statement is out of date: a second try knows better.
func stale(err error) bool {
	e, ok := errors.AsType[*pgconn.PgError](err)
	return ok && (e.Code == "26000" || e.Code == "42P05" || e.Code == "0A000" && strings.Contains(e.Message, "cached plan"))
}

// readOnly says whether the connection leads to a server that takes no writes.
func readOnly(err error) bool { return code(err) == "25006" }

// transient says whether err is worth another try of the whole transaction.
func transient(err error) bool {
	c := code(err)
	if c == "" {
		return lost(err)
	}
	switch c[:2] {
	case "08", "53", "57", "58": // connection, resources, operator intervention, system
		return c != "57014" // query_canceled
	}
	switch c {
	case "40001", "40P01", "55P03", "55006", "XX000":
		return true
	}
	return stale(err)
}

// lost says whether err is about the connection, of which no answer came.
func lost(err error) bool {
	_, refused := errors.AsType[*pgconn.ConnectError](err)
	return refused || errors.Is(err, errBroken) || pgconn.SafeToRetry(err)
}

// errBroken marks what went wrong on a connection that is closed now.
var errBroken = errors.New("the connection broke")

// translate gives an error of the driver the meaning that the contract names.
func translate(doing string, err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded) && !errors.Is(err, errBroken):
		return fmt.Errorf("%s: %w", doing, err)
	case readOnly(err):
		return fmt.Errorf("%s: %w: %w", doing, store.ErrNotWritable, err)
	case errors.Is(err, store.ErrUnclear), errors.Is(err, store.ErrTransient):
		return fmt.Errorf("%s: %w", doing, err)
	case transient(err):
		return fmt.Errorf("%s: %w: %w", doing, store.ErrTransient, err)
	}
	return fmt.Errorf("%s: %w", doing, err)
}

// culprit says whether err is about one item's content, so that the item that made it can be told apart.
func culprit(err error) bool {
	if _, failed := errors.AsType[*store.ActionFailed](err); failed || err == nil || errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) || errors.Is(err, errClosed) ||
		errors.Is(err, store.ErrUnclear) || errors.Is(err, store.ErrTransient) {
		return false
	}
	c := code(err)
	if c == "" {
		return !lost(err) // found by this package: a row that contradicts the item
	}
	switch c[:2] {
	case "21", "22", "23", "54": // cardinality, data, constraint, program limit
		return true
	}
	return false
}
