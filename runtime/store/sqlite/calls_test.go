package sqlite_test

import (
	"database/sql"
	"fmt"
	"path/filepath"
	"testing"

	"github.com/lockstep-go/lockstep/runtime/benchtest"
	"github.com/lockstep-go/lockstep/runtime/store"
	"github.com/lockstep-go/lockstep/runtime/store/sqlite"
)

// BenchmarkCalls is the set that every database runs, on a file with synchronous=FULL.
func BenchmarkCalls(b *testing.B) {
	benchtest.Run(b, benchtest.Database{
		Open: func(b *testing.B) store.Store {
			s, err := sqlite.Open(b.Context(), filepath.Join(b.TempDir(), "bench.db"))
			if err != nil {
				b.Fatal(err)
			}
			b.Cleanup(func() { s.Close() })
			return s
		},
		Bare: bare,
	})
}

// bareLoop does only the statements of a warm call, prepared and on one connection: those of all steps in one
// transaction.
type bareLoop struct {
	enqueue, turn [3]*sql.Stmt
	begin, commit *sql.Stmt
}

func bare(b *testing.B, actors int) func([]benchtest.Step) error {
	b.Helper()
	db, err := sql.Open("sqlite", "file:"+filepath.Join(b.TempDir(), "bare.db")+
		"?_pragma=journal_mode(WAL)&_pragma=synchronous(FULL)&_pragma=wal_autocheckpoint(4000)&_pragma=temp_store(MEMORY)")
	if err != nil {
		b.Fatal(err)
	}
	conn, err := db.Conn(b.Context())
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { conn.Close(); db.Close() })
	must := func(text string, args ...any) {
		if _, err := conn.ExecContext(b.Context(), text, args...); err != nil {
			b.Fatal(err)
		}
	}
	must(`CREATE TABLE instances (id TEXT PRIMARY KEY, state TEXT, revision INTEGER, next INTEGER, owner TEXT, token TEXT, generation INTEGER, lease INTEGER) STRICT`)
	must(`CREATE TABLE messages (id TEXT PRIMARY KEY, instance TEXT, sequence INTEGER, operation TEXT, arguments TEXT, result TEXT, enqueued INTEGER, finished INTEGER) STRICT, WITHOUT ROWID`)
	must(`CREATE TABLE claimed (instance TEXT PRIMARY KEY, message TEXT, owner TEXT, token TEXT, generation INTEGER) STRICT, WITHOUT ROWID`)
	for a := range actors {
		must(`INSERT INTO instances VALUES (?, '{"n":0}', 0, 1, 'me', 'token', 1, 9000000000000000)`, instanceOf(a))
	}
	prepare := func(text string) *sql.Stmt {
		s, err := conn.PrepareContext(b.Context(), text)
		if err != nil {
			b.Fatal(err)
		}
		return s
	}
	l := &bareLoop{
		begin: prepare(`BEGIN IMMEDIATE`), commit: prepare(`COMMIT`),
		enqueue: [3]*sql.Stmt{
			prepare(`UPDATE instances SET next = next + 1 WHERE id = ? AND owner = 'me' AND token = 'token' AND generation = 1 AND lease > 1`),
			prepare(`INSERT INTO messages VALUES (?, ?, ?, 'bump', '1', NULL, 1, NULL)`),
			prepare(`INSERT INTO claimed VALUES (?, ?, 'me', 'token', 1)`),
		},
		turn: [3]*sql.Stmt{
			prepare(`UPDATE instances SET state = ?, revision = revision + 1 WHERE id = ? AND owner = 'me' AND token = 'token' AND generation = 1 AND lease > 1`),
			prepare(`UPDATE messages SET result = '1', finished = 1 WHERE id = ?`),
			prepare(`DELETE FROM claimed WHERE instance = ?`),
		},
	}
	return l.write
}

func instanceOf(a int) string { return fmt.Sprintf("01890000-0000-7000-8000-%012d", a) }

func (l *bareLoop) write(steps []benchtest.Step) error {
	if _, err := l.begin.Exec(); err != nil {
		return err
	}
	for _, s := range steps {
		instance := instanceOf(s.Actor)
		message := fmt.Sprintf("01890001-%012d-%d", s.Actor, s.Sequence)
		texts, args := l.enqueue, [3][]any{{instance}, {message, instance, s.Sequence}, {instance, message}}
		if s.Turn {
			texts, args = l.turn, [3][]any{{fmt.Sprintf(`{"n":%d}`, s.Sequence), instance}, {message}, {instance}}
		}
		for i, text := range texts {
			if _, err := text.Exec(args[i]...); err != nil {
				return err
			}
		}
	}
	_, err := l.commit.Exec()
	return err
}
