package postgres

import (
	"context"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/lockstep-go/lockstep/runtime/store"
)

// migrations are numbered files that are only ever added to; a published one never changes.
//
//go:embed migrations/*.sql
var migrations embed.FS

// identity tells our tables from a stranger's of the same names.
const identity = "lockstep-go/postgres"

const (
	makeMigrations = `CREATE TABLE IF NOT EXISTS lockstep.lockstep_schema_migrations (
	version      bigint NOT NULL PRIMARY KEY,
	identity     text   NOT NULL,
	database     text   NOT NULL, -- made at random when the first was installed
	installed_at bigint NOT NULL
)`
	hasSchema       = `SELECT count(*) FROM pg_catalog.pg_namespace WHERE nspname = $1::text`
	hasMigrations   = `SELECT count(*) FROM pg_catalog.pg_tables WHERE schemaname = $1::text AND tablename = $2::text`
	installLock     = `SELECT pg_advisory_xact_lock(hashtextextended($1::text, 0))`
	schemaVersion   = `SELECT coalesce(max(version), 0), coalesce(max(identity) FILTER (WHERE identity <> $1::text), '') FROM lockstep.lockstep_schema_migrations`
	recordMigration = `INSERT INTO lockstep.lockstep_schema_migrations (version, identity, database, installed_at)
VALUES ($1::bigint, $2::text, coalesce((SELECT min(database) FROM lockstep.lockstep_schema_migrations), $3::text),
	(extract(epoch FROM clock_timestamp()) * 1000000)::bigint)`
)

// migrate installs what is missing, all in one transaction under a lock that ends with it: whoever comes second waits
// and finds it done. Where nothing is to be done, nothing is written and no right to do so is needed.
func (s *Store) migrate(ctx context.Context) error {
	names, err := fs.Glob(migrations, "migrations/*.sql")
	if err != nil {
		return err
	}
	return s.with(ctx, true, func(ctx context.Context, c *pgxpool.Conn) error {
		have, err := s.installed(ctx, c, len(names))
		if err == nil && have < len(names) {
			err = pgx.BeginTxFunc(ctx, c, pgx.TxOptions{IsoLevel: pgx.ReadCommitted}, func(tx pgx.Tx) error {
				return s.install(ctx, tx, names)
			})
		}
		if err != nil {
			return err
		}
		return s.ask(ctx, c, s.text(texts[databaseRead]), nil, &s.database)
	})
}

// asker is a connection or a transaction.
type asker interface {
	Query(ctx context.Context, sql string, args ...any) (pgx.Rows, error)
}

// ask reads one row. It is not prepared: what it is about may change in the next moment.
func (s *Store) ask(ctx context.Context, q asker, text string, args []any, into ...any) error {
	rows, err := q.Query(ctx, text, append([]any{pgx.QueryExecModeExec}, args...)...)
	if err != nil {
		return err
	}
	_, err = pgx.CollectExactlyOneRow(rows, func(r pgx.CollectableRow) (struct{}, error) { return struct{}{}, r.Scan(into...) })
	return err
}

func (s *Store) text(t string) string { return placed(t, s.cfg.Schema, s.cfg.Prefix) }

// installed is the version that the database has.
func (s *Store) installed(ctx context.Context, q asker, known int) (int, error) {
	var n int
	if err := s.ask(ctx, q, hasMigrations, []any{s.cfg.Schema, s.cfg.Prefix + "schema_migrations"}, &n); err != nil || n == 0 {
		return 0, err
	}
	var version int
	var other string
	if err := s.ask(ctx, q, s.text(schemaVersion), []any{identity}, &version, &other); err != nil {
		if code(err) == "42703" { // a table of that name with other columns
			return 0, &ForeignSchema{s.cfg.Schema, s.cfg.Prefix, "something else"}
		}
		return 0, err
	}
	if other != "" {
		return 0, &ForeignSchema{s.cfg.Schema, s.cfg.Prefix, other}
	}
	if version > known {
		return 0, fmt.Errorf("%w: it has version %d, this build knows %d", store.ErrSchemaTooNew, version, known)
	}
	return version, nil
}

func (s *Store) install(ctx context.Context, tx pgx.Tx, names []string) error {
	run := func(text string, args ...any) error {
		_, err := tx.Exec(ctx, text, append([]any{pgx.QueryExecModeExec}, args...)...)
		return err
	}
	if err := run(installLock, identity+":"+s.cfg.Schema+"."+s.cfg.Prefix); err != nil {
		return err
	}
	have, err := s.installed(ctx, tx, len(names)) // somebody may have been faster
	if err != nil || have == len(names) {
		return err
	}
	var n int
	if err := s.ask(ctx, tx, hasSchema, []any{s.cfg.Schema}, &n); err != nil {
		return err
	}
	if n == 0 {
		if err := run("CREATE SCHEMA IF NOT EXISTS " + pgx.Identifier{s.cfg.Schema}.Sanitize()); err != nil {
			return err
		}
	}
	if err := run(s.text(makeMigrations)); err != nil {
		return err
	}
	id, err := newID()
	if err != nil {
		return err
	}
	for i := have; i < len(names); i++ {
		script, err := migrations.ReadFile(names[i])
		if err != nil {
			return err
		}
		// A script of many statements has no parameters and goes as it is.
		results, err := tx.Conn().PgConn().Exec(ctx, s.text(string(script))).ReadAll()
		for _, r := range results {
			err = errors.Join(err, r.Err)
		}
		if err != nil {
			return fmt.Errorf("%s: %w", strings.TrimPrefix(names[i], "migrations/"), err)
		}
		if err := run(s.text(recordMigration), i+1, identity, id); err != nil {
			return err
		}
	}
	return nil
}
