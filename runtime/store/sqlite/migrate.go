package sqlite

import (
	"context"
	"embed"
	"fmt"
	"io/fs"
	"strings"

	"github.com/lockstep-go/lockstep/runtime/store"
)

// migrations are numbered files that are only ever added to; a published one never changes.
//
//go:embed migrations/*.sql
var migrations embed.FS

// identity tells our tables from a stranger's of the same names.
const identity = "lockstep-go/sqlite"

// ForeignSchema reports tables under the store's prefix that something else made.
type ForeignSchema struct{ Prefix, Identity string }

func (e *ForeignSchema) Error() string {
	return fmt.Sprintf("the tables with prefix %s belong to %q, not to %q", e.Prefix, e.Identity, identity)
}

const (
	makeMigrations = `CREATE TABLE IF NOT EXISTS lockstep_schema_migrations (
	version      INTEGER NOT NULL PRIMARY KEY,
	identity     TEXT    NOT NULL,
	database     TEXT    NOT NULL, -- made at random when the first was installed
	installed_at INTEGER NOT NULL
) STRICT`
	hasMigrations   = `SELECT count(*) FROM sqlite_schema WHERE type = 'table' AND name = 'lockstep_schema_migrations'`
	schemaVersion   = `SELECT coalesce(max(version), 0) FROM lockstep_schema_migrations`
	foreignIdentity = `SELECT identity FROM lockstep_schema_migrations WHERE identity <> ? LIMIT 1`
	recordMigration = `INSERT INTO lockstep_schema_migrations (version, identity, database, installed_at) VALUES (?, ?, ?, ?)`
	databaseOf      = `SELECT database FROM lockstep_schema_migrations WHERE version = 1`
)

// migrate installs what is missing, all in one transaction: whoever comes second waits for it and finds it done.
// Where nothing is to be done, nothing is written.
func (s *Store) migrate(ctx context.Context) error {
	names, err := fs.Glob(migrations, "migrations/*.sql")
	if err != nil {
		return err
	}
	err = s.withWriter(ctx, func(c *conn) error {
		have, err := s.installed(ctx, c, len(names))
		if err == nil && have < len(names) {
			err = s.transact(ctx, c, func(*work) error {
				have, err := s.installed(ctx, c, len(names)) // somebody may have been faster
				if err != nil || have == len(names) {
					return err
				}
				return s.install(ctx, c, names, have)
			})
		}
		if err != nil {
			return err
		}
		id, err := c.ask(ctx, s.text(databaseOf))
		s.database, _ = id.(string)
		return err
	})
	return translate("install the schema", err)
}

func (s *Store) text(t string) string { return prefixed(t, s.cfg.Prefix) }

// installed is the version that the database has.
func (s *Store) installed(ctx context.Context, c *conn, known int) (int, error) {
	n, err := c.ask(ctx, s.text(hasMigrations))
	if err != nil || n == int64(0) {
		return 0, err
	}
	other, err := c.ask(ctx, s.text(foreignIdentity), identity)
	if err != nil {
		return 0, err
	}
	if other, ok := other.(string); ok {
		return 0, &ForeignSchema{s.cfg.Prefix, other}
	}
	v, err := c.ask(ctx, s.text(schemaVersion))
	if err != nil {
		return 0, err
	}
	version := int(v.(int64))
	if version > known {
		return 0, fmt.Errorf("%w: it has version %d, this build knows %d", store.ErrSchemaTooNew, version, known)
	}
	return version, nil
}

func (s *Store) install(ctx context.Context, c *conn, names []string, have int) error {
	if err := c.run(ctx, s.text(makeMigrations)); err != nil {
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
		if err := c.run(ctx, s.text(string(script))); err != nil {
			return fmt.Errorf("%s: %w", strings.TrimPrefix(names[i], "migrations/"), err)
		}
		if err := c.run(ctx, s.text(recordMigration), i+1, identity, id, s.now()); err != nil {
			return err
		}
	}
	return nil
}
