package mysql_test

import (
	"context"
	"database/sql"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/lockstep-go/lockstep/runtime/benchtest"
)

// bareLoop does only the statements of a warm call, on tables like the store's: those of all steps in one transaction.
type bareLoop struct {
	conn   *sql.Conn
	prefix string
}

func bare(b *testing.B, actors int) func([]benchtest.Step) error {
	b.Helper()
	need(b)
	l := &bareLoop{prefix: prefix()}
	c := here.utf8.Clone()
	c.InterpolateParams = true
	conn, err := pool(b, c, nil).Conn(b.Context())
	if err != nil {
		b.Fatal(err)
	}
	l.conn = conn
	b.Cleanup(func() { conn.Close() })
	clean(b, here.utf8, l.prefix)
	const table = ` ENGINE = InnoDB`
	for _, text := range []string{
		`CREATE TABLE ` + l.prefix + `instances (id VARBINARY(191) PRIMARY KEY, head BIGINT, next BIGINT, owner VARBINARY(191),
			token VARBINARY(191), generation BIGINT, lease BIGINT, claimed VARBINARY(191), state LONGTEXT)` + table,
		`CREATE TABLE ` + l.prefix + `messages (id VARBINARY(191) PRIMARY KEY, instance VARBINARY(191), sequence BIGINT,
			operation VARBINARY(191), arguments LONGTEXT, result LONGTEXT, enqueued BIGINT, finished BIGINT, KEY (finished))` + table,
		`SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED`,
	} {
		if err := l.exec(text); err != nil {
			b.Fatal(err)
		}
	}
	for a := range actors {
		if err := l.exec(`INSERT INTO `+l.prefix+`instances VALUES (?, 1, 1, 'me', 'token', 1, 9000000000000000, NULL, '{"n":0}')`, instanceOf(a)); err != nil {
			b.Fatal(err)
		}
	}
	return l.write
}

func (l *bareLoop) exec(text string, args ...any) error {
	_, err := l.conn.ExecContext(context.Background(), text, args...)
	return err
}

func instanceOf(a int) []byte { return fmt.Appendf(nil, "01890000-0000-7000-8000-%012d", a) }

// write locks the instances, and then changes them and the messages with one statement each.
func (l *bareLoop) write(steps []benchtest.Step) error {
	if err := l.exec(`START TRANSACTION`); err != nil {
		return err
	}
	var ids, instances, inserted, finished []any
	for _, s := range steps {
		id, state := instanceOf(s.Actor), fmt.Appendf(nil, `{"n":%d}`, s.Sequence)
		message := fmt.Appendf(nil, "01890001-%012d-%d", s.Sequence, s.Actor)
		ids = append(ids, id)
		if s.Turn {
			finished = append(finished, message, []byte("1"))
			instances = append(instances, id, s.Sequence+1, s.Sequence+1, nil, state)
		} else {
			inserted = append(inserted, message, id, s.Sequence, []byte("bump"), []byte("1"))
			instances = append(instances, id, s.Sequence, s.Sequence+1, message, state)
		}
	}
	rows, err := l.conn.QueryContext(context.Background(), `SELECT id, head, next, owner, token, generation, lease, claimed FROM `+l.prefix+
		`instances WHERE id IN (`+repeat("?", len(ids))+`) FOR UPDATE SKIP LOCKED`, ids...)
	if err != nil {
		return err
	}
	locked := 0
	for rows.Next() {
		locked++
	}
	if err := rows.Close(); err != nil || locked != len(ids) {
		return fmt.Errorf("locked %d of %d: %w", locked, len(ids), err)
	}
	for _, step := range []struct {
		head, row, tail string
		width           int
		args            []any
	}{
		{`messages (id, instance, sequence, operation, arguments, enqueued)`, `(?, ?, ?, ?, ?, 1)`, ``, 5, inserted},
		{`messages (id, result, finished)`, `(?, ?, 1)`, ` ON DUPLICATE KEY UPDATE result = VALUES(result), finished = VALUES(finished)`, 2, finished},
		{`instances (id, head, next, claimed, state)`, `(?, ?, ?, ?, ?)`,
			` ON DUPLICATE KEY UPDATE head = VALUES(head), next = VALUES(next), claimed = VALUES(claimed), state = VALUES(state)`, 5, instances},
	} {
		if len(step.args) == 0 {
			continue
		}
		if err := l.exec(`INSERT INTO `+l.prefix+step.head+` VALUES `+repeat(step.row, len(step.args)/step.width)+step.tail, step.args...); err != nil {
			return err
		}
	}
	return l.exec(`COMMIT`)
}

func repeat(part string, n int) string { return strings.Join(slices.Repeat([]string{part}, n), ", ") }
