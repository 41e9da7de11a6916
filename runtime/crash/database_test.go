//go:build unix

package crash

import (
	"context"
	"database/sql"
	"fmt"
	"path/filepath"
	"testing"

	"github.com/lockstep-go/lockstep/actors"
	"github.com/lockstep-go/lockstep/runtime/store"
	"github.com/lockstep-go/lockstep/runtime/store/sqlite"
)

// database is one that the harness runs on.
type database struct {
	name string
	// fresh makes an empty database for one round and returns its address, or skips the test.
	fresh func(t *testing.T, folder string) (address string)
	// open opens it for a process, as an application would.
	open func(ctx context.Context, address string) (store.Store, error)
	// raw opens it for the checker, past the store; level is of a transaction that sees one committed state.
	raw   func(address string) (*sql.DB, error)
	level sql.IsolationLevel
	// enter performs the notaries' commit action.
	enter func() actors.CommitExecutor
	// alarm is how it calls a reminder's key and the time between its occurrences.
	alarm string
}

var databases = []database{
	{"sqlite", sqliteFile, openSQLite, rawSQLite, sql.LevelDefault, enterSQLite, "r.key, r.interval"},
	{"postgres", postgresDatabase, openPostgres, rawPostgres, sql.LevelRepeatableRead, enterPostgres, "r.key, r.interval"},
	{"mysql", mysqlDatabase, openMySQL, rawMySQL, sql.LevelRepeatableRead, enterMySQL, "r.reminder_key, r.period"},
}

func sqliteFile(_ *testing.T, folder string) string { return filepath.Join(folder, "crash.db") }

func openSQLite(ctx context.Context, address string) (store.Store, error) {
	return sqlite.Open(ctx, address)
}

func enterSQLite() actors.CommitExecutor {
	return sqlite.Action(enter, func(ctx context.Context, tx *sql.Tx, c actors.Committing[call]) error {
		_, err := tx.ExecContext(ctx, "INSERT INTO ledger (notary, place, call_name) VALUES (?, ?, ?)", c.ActorID, c.Sequence, c.In.Call)
		reached(inAction)
		return err
	})
}

func rawSQLite(address string) (*sql.DB, error) {
	return sql.Open("sqlite", "file:"+address+"?mode=ro&_pragma=busy_timeout(10000)")
}

// empty makes a database in which there is nothing but the application's table.
func (d *database) empty(t *testing.T, folder string) (address string) {
	t.Helper()
	address = d.fresh(t, folder)
	if err := d.found(t.Context(), address); err != nil {
		t.Fatal(err)
	}
	return address
}

// found makes the application's table, into which notaries enter requests. It has no key: what is entered twice is seen.
func (d *database) found(ctx context.Context, address string) error {
	db, err := d.raw(address)
	if d.name == "sqlite" {
		db, err = sql.Open("sqlite", address)
	}
	if err != nil {
		return err
	}
	defer db.Close()
	_, err = db.ExecContext(ctx, "CREATE TABLE ledger (notary VARCHAR(50) NOT NULL, place BIGINT NOT NULL, call_name VARCHAR(200) NOT NULL)")
	return err
}

// inAction is the point inside a commit action, after its write.
const inAction = "in a commit action"

func find(name string) *database {
	for i := range databases {
		if databases[i].name == name {
			return &databases[i]
		}
	}
	panic("no database is named " + name)
}

// view is what the database held at one moment.
type view struct {
	Instances []instance
	Messages  []message // in order, for each instance
	Sends     []send    // in order of staging
	Effects   []effect
	Reminders []reminder
	Dead      []string
	Ledger    []entered // of the application's table, for each notary in the order of its mailbox
}

// entered is a row of the application's table.
type entered struct {
	Notary string
	Place  int64
	Call   string
}

type instance struct {
	ID, Type, Actor      string
	Head, Next, Revision int64
	State                string
}

type message struct {
	ID, Instance         string
	Sequence             int64
	Operation, Arguments string
	Origin, Status       string
	Result               string
}

type send struct {
	Instance, Type, Actor, Operation, Arguments string
}

type effect struct{ ID, Instance, Arguments, State string }

type reminder struct {
	Instance, Key  string
	Next, Interval int64 // microseconds
}

// look reads everything in one transaction.
func look(ctx context.Context, d *database, address string) (v *view, err error) {
	db, err := d.raw(address)
	if err != nil {
		return nil, err
	}
	defer db.Close()
	tx, err := db.BeginTx(ctx, &sql.TxOptions{ReadOnly: true, Isolation: d.level})
	if err != nil {
		return nil, err
	}
	defer tx.Rollback()
	v = &view{}
	v.Instances, err = rows(ctx, tx, `SELECT id, actor_type, actor_id, head_sequence, next_sequence, revision, COALESCE(state, '')
		FROM lockstep_instances ORDER BY actor_type, actor_id`,
		func(i *instance) []any {
			return []any{&i.ID, &i.Type, &i.Actor, &i.Head, &i.Next, &i.Revision, &i.State}
		})
	if err != nil {
		return nil, err
	}
	v.Messages, err = rows(ctx, tx, `SELECT id, instance_id, sequence, operation, COALESCE(arguments, ''), origin, status, COALESCE(result, '')
		FROM lockstep_messages ORDER BY instance_id, sequence`,
		func(m *message) []any {
			return []any{&m.ID, &m.Instance, &m.Sequence, &m.Operation, &m.Arguments, &m.Origin, &m.Status, &m.Result}
		})
	if err != nil {
		return nil, err
	}
	v.Sends, err = rows(ctx, tx, `SELECT instance_id, target_type, target_id, operation, arguments FROM lockstep_sends ORDER BY position`,
		func(s *send) []any { return []any{&s.Instance, &s.Type, &s.Actor, &s.Operation, &s.Arguments} })
	if err != nil {
		return nil, err
	}
	v.Effects, err = rows(ctx, tx, `SELECT id, instance_id, arguments, state FROM lockstep_effects`,
		func(e *effect) []any { return []any{&e.ID, &e.Instance, &e.Arguments, &e.State} })
	if err != nil {
		return nil, err
	}
	v.Reminders, err = rows(ctx, tx, "SELECT r.instance_id, r.next_at, "+d.alarm+" FROM lockstep_reminders r",
		func(r *reminder) []any { return []any{&r.Instance, &r.Next, &r.Key, &r.Interval} })
	if err != nil {
		return nil, err
	}
	v.Dead, err = rows(ctx, tx, `SELECT id FROM lockstep_dead_letters`, func(s *string) []any { return []any{s} })
	if err != nil {
		return nil, err
	}
	v.Ledger, err = rows(ctx, tx, `SELECT notary, place, call_name FROM ledger ORDER BY notary, place`,
		func(l *entered) []any { return []any{&l.Notary, &l.Place, &l.Call} })
	return v, err
}

func rows[T any](ctx context.Context, tx *sql.Tx, query string, fields func(*T) []any) (all []T, err error) {
	found, err := tx.QueryContext(ctx, query)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", query, err)
	}
	defer found.Close()
	for found.Next() {
		var v T
		if err := found.Scan(fields(&v)...); err != nil {
			return nil, fmt.Errorf("%s: %w", query, err)
		}
		all = append(all, v)
	}
	return all, found.Err()
}

// waiting names some of what is not at rest.
func (v *view) waiting() (all []string) {
	for _, i := range v.Instances {
		if i.Head != i.Next {
			all = append(all, fmt.Sprintf("%+v", i))
		}
	}
	for _, m := range v.Messages {
		if m.Status == "live" {
			all = append(all, fmt.Sprintf("%+v", m))
		}
	}
	for _, s := range v.Sends {
		all = append(all, fmt.Sprintf("%+v", s))
	}
	for _, e := range v.Effects {
		all = append(all, fmt.Sprintf("%+v", e))
	}
	for _, r := range v.Reminders {
		all = append(all, fmt.Sprintf("%+v", r))
	}
	return all[:min(len(all), 10)]
}
