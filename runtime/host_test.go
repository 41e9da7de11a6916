package runtime_test

import (
	"context"
	"database/sql"
	"strconv"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/lockstep-go/lockstep/actors"
	"github.com/lockstep-go/lockstep/runtime/store/mysql"
	"github.com/lockstep-go/lockstep/runtime/store/postgres"
	"github.com/lockstep-go/lockstep/runtime/store/sqlite"
)

// hosted is an application's transaction on any of the databases; the places of arguments are question marks.
type hosted interface {
	Exec(ctx context.Context, statement string, args ...any) error
	Texts(ctx context.Context, query string, args ...any) ([]string, error)
	Leave(ctx context.Context, query string) error // with its rows open
	Commit(context.Context) error
	Rollback(context.Context) error
	Tx() actors.Tx
}

// action is the executor of a commit action on a test's database.
func action[In any](t *testing.T, a *actors.CommitActionType[pad, In], do func(ctx context.Context, tx hosted, c actors.Committing[In]) error) actors.CommitExecutor {
	t.Helper()
	inSQL := func(as func(*sql.Tx) actors.Tx) func(context.Context, *sql.Tx, actors.Committing[In]) error {
		if do == nil {
			return nil
		}
		return func(ctx context.Context, tx *sql.Tx, c actors.Committing[In]) error {
			return do(ctx, sqlHosted{tx, as}, c)
		}
	}
	switch here(t) {
	case inMySQL:
		return mysql.Action(a, inSQL(mysql.Tx))
	case inPostgres:
		if do == nil {
			return postgres.Action[pad, In](a, nil)
		}
		return postgres.Action(a, func(ctx context.Context, tx pgx.Tx, c actors.Committing[In]) error { return do(ctx, pgxHosted{tx}, c) })
	default:
		return sqlite.Action(a, inSQL(sqlite.Tx))
	}
}

type sqlHosted struct {
	tx *sql.Tx
	as func(*sql.Tx) actors.Tx
}

func (h sqlHosted) Exec(ctx context.Context, statement string, args ...any) error {
	_, err := h.tx.ExecContext(ctx, statement, args...)
	return err
}

func (h sqlHosted) Texts(ctx context.Context, query string, args ...any) (list []string, err error) {
	rows, err := h.tx.QueryContext(ctx, query, args...)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	for rows.Next() {
		var text string
		if err := rows.Scan(&text); err != nil {
			return nil, err
		}
		list = append(list, text)
	}
	return list, rows.Err()
}

func (h sqlHosted) Leave(ctx context.Context, query string) error {
	_, err := h.tx.QueryContext(ctx, query)
	return err
}

func (h sqlHosted) Commit(context.Context) error   { return h.tx.Commit() }
func (h sqlHosted) Rollback(context.Context) error { return h.tx.Rollback() }
func (h sqlHosted) Tx() actors.Tx                  { return h.as(h.tx) }

type pgxHosted struct{ tx pgx.Tx }

// numbered is a statement in the way of PostgreSQL.
func numbered(statement string) string {
	var b strings.Builder
	for i, part := range strings.Split(statement, "?") {
		if i > 0 {
			b.WriteString("$" + strconv.Itoa(i))
		}
		b.WriteString(part)
	}
	return b.String()
}

func (h pgxHosted) Exec(ctx context.Context, statement string, args ...any) error {
	_, err := h.tx.Exec(ctx, numbered(statement), args...)
	return err
}

func (h pgxHosted) Texts(ctx context.Context, query string, args ...any) ([]string, error) {
	rows, err := h.tx.Query(ctx, numbered(query), args...)
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, pgx.RowTo[string])
}

func (h pgxHosted) Leave(ctx context.Context, query string) error {
	_, err := h.tx.Query(ctx, query)
	return err
}

func (h pgxHosted) Commit(ctx context.Context) error   { return h.tx.Commit(ctx) }
func (h pgxHosted) Rollback(ctx context.Context) error { return h.tx.Rollback(ctx) }
func (h pgxHosted) Tx() actors.Tx                      { return postgres.Tx(h.tx) }
