package mysql

import (
	"context"
	"embed"
	"fmt"
	"io/fs"
	"strings"
	"time"

	"github.com/lockstep-go/lockstep/runtime/store"
)

// migrations are numbered files that are only ever added to; a published one never changes. Each of their statements
// commits by itself and can be run again.
//
//go:embed migrations/*.sql
var migrations embed.FS

// identity tells our tables from a stranger's of the same names.
const identity = "lockstep-go/mysql"

var (
	schemaRead   = declare("schema_read")
	schemaTable  = declare("schema_table")
	schemaRow    = declare("schema_row")
	schemaHold   = declare("schema_hold")
	schemaHolder = declare("schema_holder")
	schemaRecord = declare("schema_record")
	schemaLeave  = declare("schema_leave")

	// installLease is how long an installer that died holds up others.
	installLease = 10 * time.Second
)

// migrate installs what is missing. One process does so at a time, by holding a row for a while; the others wait and
// find it done. Where nothing is to be done nothing is written, and no right to change tables is needed.
func (s *Store) migrate(ctx context.Context) error {
	names, err := fs.Glob(migrations, "migrations/*.sql")
	if err != nil {
		return err
	}
	me, err := newID()
	if err != nil {
		return err
	}
	for {
		var wait bool
		err := s.attempts(ctx, func() error {
			return s.with(ctx, func(q *session) (err error) {
				wait, err = s.installOnce(q, names, me)
				return err
			})
		})
		if err != nil || !wait {
			return err
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("wait for whoever is installing the schema: %w", ctx.Err())
		case <-time.After(20 * time.Millisecond):
		}
	}
}

// installOnce installs, finds it done, or says that somebody else is at it.
func (s *Store) installOnce(q *session, names []string, me string) (wait bool, err error) {
	have, err := s.installed(q, len(names))
	if err != nil || have == len(names) {
		return false, err
	}
	if _, err := q.exec(schemaTable); err != nil {
		return false, err
	}
	if _, err := q.exec(schemaRow, identity); err != nil {
		return false, err
	}
	if mine, err := s.hold(q, me); err != nil || !mine {
		return true, err
	}
	if have, err = s.installed(q, len(names)); err != nil { // somebody may have been faster
		return false, err
	}
	for n := have; n < len(names); n++ {
		if err := s.install(q, names[n], n+1, me); err != nil {
			return false, fmt.Errorf("%s: %w", strings.TrimPrefix(names[n], "migrations/"), err)
		}
	}
	if _, err := q.exec(schemaLeave, me); err != nil {
		return false, err
	}
	_, err = s.installed(q, len(names))
	return false, err
}

// hold takes the installer's row, or prolongs holding it.
func (s *Store) hold(q *session, me string) (bool, error) {
	if _, err := q.exec(schemaHold, me, installLease.Microseconds(), me); err != nil {
		return false, err
	}
	r, ok, err := q.first(schemaHolder)
	return ok && r.text(0) == me, err
}

// installed is the version that the database has.
func (s *Store) installed(q *session, known int) (version int, err error) {
	foreign := ""
	err = q.all(schemaRead, func(r row) error {
		if r.text(1) != identity {
			foreign = r.text(1)
		}
		if n := int(r.int(0)); n > 0 {
			version = n
			if n == 1 {
				s.installation = r.text(2)
			}
		}
		return nil
	})
	switch {
	case code(err) == 1146: // no such table
		return 0, nil
	case code(err) == 1054: // no such column: a table of that name, and not ours
		return 0, &ForeignSchema{s.cfg.Prefix, "something else"}
	case err != nil:
		return 0, err
	case foreign != "":
		return 0, &ForeignSchema{s.cfg.Prefix, foreign}
	case version > known:
		return 0, fmt.Errorf("%w: it has version %d, this build knows %d", store.ErrSchemaTooNew, version, known)
	}
	return version, nil
}

// afterStep lets tests stop an installation between two steps.
var afterStep = func() error { return nil }

// install runs one migration, holding the row before each step.
func (s *Store) install(q *session, name string, version int, me string) error {
	script, err := migrations.ReadFile(name)
	if err != nil {
		return err
	}
	for _, step := range steps(string(script)) {
		if mine, err := s.hold(q, me); err != nil {
			return err
		} else if !mine {
			return fmt.Errorf("%w: another process has taken over", store.ErrTransient)
		}
		if _, err := q.execText(prefixed(step, s.cfg.Prefix), nil); err != nil {
			return err
		}
		if err := afterStep(); err != nil {
			return err
		}
	}
	id, err := newID()
	if err != nil {
		return err
	}
	_, err = q.exec(schemaRecord, version, identity, id)
	return err
}

// steps are the statements of a script.
func steps(script string) (list []string) {
	var b strings.Builder
	for line := range strings.Lines(script) {
		if text, _, ok := strings.Cut(line, "--"); ok {
			line = strings.TrimRight(text, " \t") + "\n"
		}
		b.WriteString(line)
	}
	for step := range strings.SplitSeq(b.String(), ";\n") {
		if step = strings.TrimSpace(step); step != "" {
			list = append(list, step)
		}
	}
	return list
}
