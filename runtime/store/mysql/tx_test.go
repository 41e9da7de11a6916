package mysql_test

import (
	"database/sql"
	"errors"
	"fmt"
	"testing"

	"github.com/lockstep-go/lockstep/actors"
	"github.com/lockstep-go/lockstep/runtime/store"
	"github.com/lockstep-go/lockstep/runtime/store/mysql"
)

func joined(tx *sql.Tx) actors.Tx { return mysql.Tx(tx) }

func keyed(actor, key string) *store.Enqueue {
	e := message(actor)
	e.Message.IdempotencyKey, e.Message.Fingerprint = key, "f"
	return e
}

// G1: a message stored inside an application's transaction is there if and when that commits.
func TestEnqueueTxJoins(t *testing.T) {
	s := fresh(t, here.utf8)
	for _, commit := range []bool{false, true} {
		tx := begin(t, "")
		e, second := message("a"), message("a")
		for _, x := range []*store.Enqueue{e, second} {
			if err := s.EnqueueTx(t.Context(), mysql.Tx(tx), x); err != nil || x.Outcome != store.Done {
				t.Fatalf("%s, %v", x.Outcome, err)
			}
		}
		if e.Message.Sequence != 1 || second.Message.Sequence != 2 || !e.Head || second.Head {
			t.Errorf("sequences %d, %d, heads %v, %v", e.Message.Sequence, second.Message.Sequence, e.Head, second.Head)
		}
		if _, _, o, err := s.Message(t.Context(), e.Message.ID); err != nil || o != store.Missing {
			t.Errorf("before the commit: %s, %v", o, err)
		}
		want := store.Missing
		if commit {
			want = store.Done
			tx.Commit()
		} else {
			tx.Rollback()
		}
		if _, _, o, err := s.Message(t.Context(), e.Message.ID); err != nil || o != want {
			t.Errorf("committed %v: %s, %v", commit, o, err)
		}
	}
}

type stranger struct{}

func (stranger) Dialect() string { return "abacus" }

func TestEnqueueTxRefusesForeignTransactions(t *testing.T) {
	s := fresh(t, here.utf8)
	elsewhere := pool(t, here.latin1, nil) // without these tables
	tx, err := elsewhere.Begin()
	if err != nil {
		t.Fatal(err)
	}
	defer tx.Rollback()
	twin := open(t, here.latin1.FormatDSN(), s.cfg) // the same tables in another database
	clean(t, here.latin1, s.cfg.Prefix)
	for what, given := range map[string]actors.Tx{"another driver's": stranger{}, "none": mysql.Tx(nil), "of another installation": mysql.Tx(tx)} {
		if err := s.EnqueueTx(t.Context(), given, message("a")); !errors.Is(err, actors.ErrForeignTransaction) {
			t.Errorf("%s: %v", what, err)
		}
	}
	if err := twin.EnqueueTx(t.Context(), mysql.Tx(tx), message("a")); err != nil {
		t.Errorf("its own: %v", err)
	}
	bare := here.utf8.Clone()
	bare.DBName = ""
	nowhere, err := pool(t, bare, nil).Begin()
	if err != nil {
		t.Fatal(err)
	}
	defer nowhere.Rollback()
	if err := s.EnqueueTx(t.Context(), mysql.Tx(nowhere), message("a")); !errors.Is(err, actors.ErrForeignTransaction) {
		t.Errorf("without a database: %v", err)
	}
}

// D30: a transaction at repeatable read that has read before others wrote still takes the next sequence, and finds the
// message that has its key.
func TestEnqueueTxSeesWhatWasCommittedAfterItsSnapshot(t *testing.T) {
	for _, level := range []string{"REPEATABLE READ", "READ COMMITTED", "SERIALIZABLE"} {
		t.Run(level, func(t *testing.T) {
			s := fresh(t, here.utf8)
			flushed(t, s, &store.Flush{Enqueues: []*store.Enqueue{message("a")}})
			tx := begin(t, level)
			execute(t, tx, "SELECT 1")
			if level != "SERIALIZABLE" { // which would lock what it reads
				execute(t, tx, "SELECT * FROM "+s.cfg.Prefix+"instances")
			}
			first := keyed("a", "k")
			flushed(t, s, &store.Flush{Enqueues: []*store.Enqueue{first, message("a"), message("new")}})
			again, e, fresh := keyed("a", "k"), message("a"), message("new")
			for _, x := range []*store.Enqueue{again, e, fresh} {
				if err := s.EnqueueTx(t.Context(), mysql.Tx(tx), x); err != nil {
					t.Fatal(err)
				}
			}
			if again.Outcome != store.Duplicate || again.Message.ID != first.Message.ID {
				t.Errorf("the key: %s, message %s, want %s", again.Outcome, again.Message.ID, first.Message.ID)
			}
			if e.Outcome != store.Done || e.Message.Sequence != 4 {
				t.Errorf("%s with sequence %d, want 4", e.Outcome, e.Message.Sequence)
			}
			if fresh.Outcome != store.Done || fresh.Message.Sequence != 2 {
				t.Errorf("%s with sequence %d, want 2", fresh.Outcome, fresh.Message.Sequence)
			}
			if err := tx.Commit(); err != nil {
				t.Fatal(err)
			}
			next := message("a")
			flushed(t, s, &store.Flush{Enqueues: []*store.Enqueue{next}})
			if next.Message.Sequence != 5 {
				t.Errorf("then sequence %d, want 5", next.Message.Sequence)
			}
		})
	}
}

// D30: with innodb_snapshot_isolation the server refuses such a transaction (error 1020): it is to be tried again as a
// whole, and nothing of it is left.
func TestEnqueueTxUnderSnapshotIsolation(t *testing.T) {
	s := fresh(t, here.utf8)
	if !hasSnapshotIsolation(t) {
		t.Skip("this server has no innodb_snapshot_isolation")
	}
	flushed(t, s, &store.Flush{Enqueues: []*store.Enqueue{message("a")}})
	tx := begin(t, "REPEATABLE READ")
	execute(t, tx, "SET SESSION innodb_snapshot_isolation = ON")
	execute(t, tx, "SELECT * FROM "+s.cfg.Prefix+"instances")
	flushed(t, s, &store.Flush{Enqueues: []*store.Enqueue{message("a")}})
	e := message("a")
	if err := s.EnqueueTx(t.Context(), mysql.Tx(tx), e); !errors.Is(err, store.ErrTransient) {
		t.Fatalf("%s, %v", e.Outcome, err)
	}
	tx.Rollback()
	next := message("a")
	flushed(t, s, &store.Flush{Enqueues: []*store.Enqueue{next}})
	if next.Message.Sequence != 3 {
		t.Errorf("sequence %d, want 3", next.Message.Sequence)
	}
}

// D01: within an application's transaction whose session speaks latin1 and cuts what is too long, texts are ours.
func TestEnqueueTxOnAHostileSession(t *testing.T) {
	s := fresh(t, here.utf8)
	params := hostile(t)
	db := pool(t, here.utf8, params)
	tx, err := db.Begin()
	if err != nil {
		t.Fatal(err)
	}
	defer tx.Rollback()
	e := message("é😀")
	e.Message.Arguments = []byte(`"é😀\\ '"`)
	if err := s.EnqueueTx(t.Context(), mysql.Tx(tx), e); err != nil || e.Outcome != store.Done {
		t.Fatalf("%s, %v", e.Outcome, err)
	}
	long := message("b")
	long.Message.Operation = fmt.Sprintf("%0200d", 1)
	if err := s.EnqueueTx(t.Context(), mysql.Tx(tx), long); err == nil {
		t.Errorf("an operation that does not fit: %s", long.Outcome)
	}
	if got := ask(t, tx, "SELECT @@SESSION.character_set_client"); got != "latin1" {
		t.Errorf("the session's character set is %s", got)
	}
	if err := tx.Commit(); err != nil {
		t.Fatal(err)
	}
	m, _, _, err := s.Message(t.Context(), e.Message.ID)
	if err != nil || m.ActorID != "é😀" || string(m.Arguments) != string(e.Message.Arguments) {
		t.Errorf("%q, %s, %v", m.ActorID, m.Arguments, err)
	}
}
