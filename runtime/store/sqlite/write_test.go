package sqlite_test

import (
	"context"
	"database/sql"
	"errors"
	"path/filepath"
	"testing"
	"time"

	"github.com/lockstep-go/lockstep/actors"
	"github.com/lockstep-go/lockstep/runtime/store"
	"github.com/lockstep-go/lockstep/runtime/store/sqlite"
)

// shops are stores of each kind, with an application's table beside ours.
func shops(t *testing.T, cfg sqlite.Config) map[string]*sqlite.Store {
	t.Helper()
	stores := map[string]*sqlite.Store{}
	for name, path := range map[string]string{"file": filepath.Join(t.TempDir(), "shop.db"), "memory": ":memory:"} {
		s, err := sqlite.Open(t.Context(), path, cfg)
		if err != nil {
			t.Fatal(err)
		}
		stores[name] = s
	}
	shared, err := sqlite.New(t.Context(), openMemory(t), cfg)
	if err != nil {
		t.Fatal(err)
	}
	stores["shared"] = shared
	for _, s := range stores {
		t.Cleanup(func() { s.Close() })
		err := s.Write(t.Context(), func(ctx context.Context, tx *sql.Tx) error {
			_, err := tx.ExecContext(ctx, "CREATE TABLE orders (id INTEGER PRIMARY KEY)")
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	return stores
}

func orders(t *testing.T, s *sqlite.Store) (n int) {
	t.Helper()
	err := s.Write(t.Context(), func(ctx context.Context, tx *sql.Tx) error {
		return tx.QueryRowContext(ctx, "SELECT count(*) FROM orders").Scan(&n)
	})
	if err != nil {
		t.Fatal(err)
	}
	return n
}

func insertOrder(ctx context.Context, tx *sql.Tx) error {
	_, err := tx.ExecContext(ctx, "INSERT INTO orders DEFAULT VALUES")
	return err
}

func TestWriteCommitsOrRollsBack(t *testing.T) {
	for name, s := range shops(t, sqlite.Config{}) {
		t.Run(name, func(t *testing.T) {
			if err := s.Write(t.Context(), insertOrder); err != nil {
				t.Fatal(err)
			}
			err := s.Write(t.Context(), func(ctx context.Context, tx *sql.Tx) error {
				if err := insertOrder(ctx, tx); err != nil {
					return err
				}
				return errOwn
			})
			if !errors.Is(err, errOwn) {
				t.Errorf("got %v", err)
			}
			func() {
				defer func() {
					if recover() == nil {
						t.Error("the panic was swallowed")
					}
				}()
				s.Write(t.Context(), func(ctx context.Context, tx *sql.Tx) error {
					insertOrder(ctx, tx)
					panic("x")
				})
			}()
			if n := orders(t, s); n != 1 {
				t.Errorf("%d orders", n)
			}
			told(t, s, "a") // the writer goes on
		})
	}
}

func TestWriteMarksItsContext(t *testing.T) {
	for name, s := range shops(t, sqlite.Config{}) {
		t.Run(name, func(t *testing.T) {
			err := s.Write(t.Context(), func(ctx context.Context, tx *sql.Tx) error {
				if !actors.InTransaction(ctx) {
					t.Error("a runtime cannot know that it is called inside")
				}
				return s.Write(ctx, insertOrder)
			})
			if !errors.Is(err, actors.ErrInsideTransaction) {
				t.Errorf("Write inside Write: %v", err)
			}
		})
	}
}

func TestWriteLimit(t *testing.T) {
	for name, s := range shops(t, sqlite.Config{WriteLimit: 50 * time.Millisecond}) {
		t.Run(name, func(t *testing.T) {
			err := s.Write(t.Context(), func(ctx context.Context, tx *sql.Tx) error {
				if err := insertOrder(ctx, tx); err != nil {
					return err
				}
				var n int // counts for far longer than the limit
				return tx.QueryRowContext(ctx, `WITH RECURSIVE c(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM c WHERE n < 1e12)
					SELECT count(*) FROM c`).Scan(&n)
			})
			if e, ok := errors.AsType[*sqlite.WriteLimit](err); !ok || e.Limit != 50*time.Millisecond {
				t.Errorf("a long statement: %v", err)
			}
			err = s.Write(t.Context(), func(ctx context.Context, tx *sql.Tx) error {
				if err := insertOrder(ctx, tx); err != nil {
					return err
				}
				<-ctx.Done()
				return nil
			})
			if _, ok := errors.AsType[*sqlite.WriteLimit](err); !ok {
				t.Errorf("one that is silent about it: %v", err)
			}
			told(t, s, "a")
		})
	}
}

// TellTx inside Write: the message is there exactly where the application's rows are.
func TestEnqueueInsideWrite(t *testing.T) {
	for name, s := range shops(t, sqlite.Config{}) {
		t.Run(name, func(t *testing.T) {
			e := message("a")
			e.Claim = &store.Claim{Owner: "p", Token: "t", Lease: time.Minute} // is never taken inside a transaction
			err := s.Write(t.Context(), func(ctx context.Context, tx *sql.Tx) error {
				if err := insertOrder(ctx, tx); err != nil {
					return err
				}
				return s.EnqueueTx(ctx, sqlite.Tx(tx), e)
			})
			if err != nil || e.Outcome != store.Done || e.Message.Sequence != 1 || e.Activation != nil || !e.Head {
				t.Fatalf("%+v %v", e, err)
			}
			lost := message("a")
			s.Write(t.Context(), func(ctx context.Context, tx *sql.Tx) error {
				if err := s.EnqueueTx(ctx, sqlite.Tx(tx), lost); err != nil {
					t.Error(err)
				}
				return errOwn
			})
			if _, _, o, err := s.Message(t.Context(), lost.Message.ID); err != nil || o != store.Missing {
				t.Errorf("rolled back: %v %v", o, err)
			}
			if n := told(t, s, "a"); n != 2 {
				t.Errorf("sequence %d", n)
			}
		})
	}
}

func TestEnqueueInsideTheApplicationsTransaction(t *testing.T) {
	path := filepath.Join(t.TempDir(), "shop.db")
	s := openFile(t, path)
	db := pool(t, path, immediate)
	before, err := s.Changes(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	tx, err := db.BeginTx(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	e := message("a")
	if err := s.EnqueueTx(t.Context(), sqlite.Tx(tx), e); err != nil || e.Outcome != store.Done {
		t.Fatalf("%s %v", e.Outcome, err)
	}
	if _, _, o, _ := s.Message(t.Context(), e.Message.ID); o != store.Missing {
		t.Error("seen before its commit")
	}
	if err := tx.Commit(); err != nil {
		t.Fatal(err)
	}
	if after, err := s.Changes(t.Context()); err != nil || after == before {
		t.Errorf("nobody notices: %d and %d, %v", before, after, err)
	}
	scan := &store.Scan{Claim: store.Claim{Owner: "p", Token: "t", Lease: time.Minute}, Types: []string{"cart"}, Limit: 5}
	flushed(t, s, &store.Flush{Claims: []*store.Scan{scan}})
	if len(scan.Activations) != 1 {
		t.Errorf("%d activations", len(scan.Activations))
	}
}

func TestEnqueueNeedsAnImmediateTransaction(t *testing.T) {
	path := filepath.Join(t.TempDir(), "shop.db")
	s := openFile(t, path)
	told(t, s, "a")
	tx, err := pool(t, path, "_pragma=busy_timeout(5000)").BeginTx(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer tx.Rollback()
	var n int
	if err := tx.QueryRow("SELECT count(*) FROM lockstep_messages").Scan(&n); err != nil {
		t.Fatal(err)
	}
	told(t, s, "a") // what it has read is old now
	err = s.EnqueueTx(t.Context(), sqlite.Tx(tx), message("a"))
	if _, ok := errors.AsType[*sqlite.NotImmediate](err); !ok {
		t.Errorf("got %v", err)
	}
}

// The wait for a pool of one is bounded like any other.
func TestWaitsForTheApplicationAreBounded(t *testing.T) {
	db := openMemory(t)
	s := newOn(t, db)
	held, err := db.Conn(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer held.Close()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	if err := s.Write(ctx, insertOrder); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("Write: %v", err)
	}
	if err := s.Flush(ctx, &store.Flush{Enqueues: []*store.Enqueue{message("a")}}); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("Flush: %v", err)
	}
	if _, err := s.Snapshot(ctx, store.Key{}); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("Snapshot: %v", err)
	}
}

// A ctx that ends just as a transaction begins leaves none open behind it.
func TestContextEndsAsATransactionBegins(t *testing.T) {
	s, err := sqlite.Open(t.Context(), ":memory:")
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	for range 5000 {
		ctx, cancel := context.WithCancel(t.Context())
		go cancel()
		_, _ = s.Destroy(ctx, actors.Address{Type: "a", ID: "a"}) // it may have ended in time or not
		_ = s.Write(ctx, func(context.Context, *sql.Tx) error { return nil })
		if _, err := s.Destroy(t.Context(), actors.Address{Type: "a", ID: "a"}); err != nil {
			t.Fatal(err)
		}
		if err := s.Write(t.Context(), func(context.Context, *sql.Tx) error { return nil }); err != nil {
			t.Fatal(err)
		}
	}
}
