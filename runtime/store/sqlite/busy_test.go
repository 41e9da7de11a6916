//go:build unix

package sqlite_test

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/lockstep-go/lockstep/actors"
	"github.com/lockstep-go/lockstep/runtime/store"
	"github.com/lockstep-go/lockstep/runtime/store/sqlite"
)

// D32: another process holds the write lock for two seconds. Every verb that writes, on a store of its own and on one
// that was opened on an application's pool without options, waits for it and gets no error; reads go on; a deadline of
// 100 ms ends the wait of whoever has it.
func TestD32EveryVerbWaitsForTheWriteLock(t *testing.T) {
	path := filepath.Join(t.TempDir(), "shop.db")
	bare, err := sqlite.New(t.Context(), pool(t, path, ""), sqlite.Config{})
	if err != nil {
		t.Fatal(err)
	}
	defer bare.Close()
	for name, s := range map[string]*sqlite.Store{"own": openFile(t, path), "on a pool without options": bare} {
		t.Run(name, func(t *testing.T) {
			var c *child
			verbs := writingVerbs(t, s, func() {
				c = spawn(t, "hold", path)
				c.line()
			})
			var all sync.WaitGroup
			begun := time.Now()
			for verb, do := range verbs {
				all.Go(func() {
					if err := do(t.Context()); err != nil {
						t.Errorf("%s: %v", verb, err)
					}
					if took := time.Since(begun); took < 1500*time.Millisecond {
						t.Errorf("%s did not wait: it took %v", verb, took)
					}
				})
			}
			for range 4 {
				all.Go(func() {
					if _, err := s.Snapshot(t.Context(), store.Key{Type: "cart", ID: "a"}); err != nil || time.Since(begun) > time.Second {
						t.Errorf("a read took %v: %v", time.Since(begun), err)
					}
				})
			}
			time.Sleep(2 * time.Second)
			c.end()
			all.Wait()
		})
	}
	t.Run("deadline", func(t *testing.T) {
		s := openFile(t, path)
		var c *child
		for verb, do := range writingVerbs(t, s, func() {
			c = spawn(t, "hold", path)
			c.line()
		}) {
			ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
			begun := time.Now()
			err := do(ctx)
			cancel()
			if !errors.Is(err, context.DeadlineExceeded) || time.Since(begun) > time.Second {
				t.Errorf("%s with a deadline of 100 ms: %v after %v", verb, err, time.Since(begun))
			}
		}
		c.end()
	})
}

// writingVerbs are the verbs that have something to write, each its own, once held has returned.
func writingVerbs(t *testing.T, s *sqlite.Store, held func()) map[string]func(context.Context) error {
	t.Helper()
	prepared := map[string]*store.Activation{}
	for _, name := range []string{"commit", "full"} {
		e := message(newID())
		e.Claim = &store.Claim{Owner: "p", Token: newID(), Lease: time.Hour}
		flushed(t, s, &store.Flush{Enqueues: []*store.Enqueue{e}})
		prepared[name] = e.Activation
	}
	commit := func(a *store.Activation) *store.Commit {
		return &store.Commit{Fence: a.Fence, Message: a.ID, Sequence: a.Sequence, Status: store.Completed, Result: json.RawMessage("1"), State: json.RawMessage("1"), Version: 1, Yield: true}
	}
	c := commit(prepared["full"])
	c.Effects = []store.Effect{{ID: newID(), Name: "charge", Arguments: json.RawMessage("1"), MaxAttempts: 3}}
	c.Reminders = []store.Reminder{{ID: newID(), Operation: "tick", Arguments: json.RawMessage("1"), When: actors.In(0)}}
	c.Sends = []store.Send{{ID: newID(), To: store.Key{Type: "cart", ID: newID()}, Message: store.Message{Operation: "add", Arguments: json.RawMessage("1"), MaxAttempts: 3}}}
	flushed(t, s, &store.Flush{Commits: []*store.Commit{c}})
	doomed := newID()
	told(t, s, doomed)
	process := newID()
	if err := s.Register(t.Context(), store.Process{ID: process}); err != nil {
		t.Fatal(err)
	}
	held()
	return map[string]func(context.Context) error{
		"enqueue": func(ctx context.Context) error {
			return s.Flush(ctx, &store.Flush{Enqueues: []*store.Enqueue{message(newID())}})
		},
		"commit": func(ctx context.Context) error {
			return s.Flush(ctx, &store.Flush{Commits: []*store.Commit{commit(prepared["commit"])}})
		},
		"scan": func(ctx context.Context) error {
			return s.Flush(ctx, &store.Flush{Claims: []*store.Scan{{Claim: store.Claim{Owner: "q", Token: newID(), Lease: time.Minute}, Types: []string{"cart"}, Limit: 1}}})
		},
		"deliver":        func(ctx context.Context) error { _, err := s.Deliver(ctx, 10, 100, time.Second); return err },
		"fire reminders": func(ctx context.Context) error { _, err := s.FireReminders(ctx, 10, 100, 3, time.Second); return err },
		"claim effects": func(ctx context.Context) error {
			_, err := s.ClaimEffects(ctx, "p", []string{"charge"}, 10, time.Minute)
			return err
		},
		"destroy": func(ctx context.Context) error {
			_, err := s.Destroy(ctx, store.Key{Type: "cart", ID: doomed})
			return err
		},
		"beat": func(ctx context.Context) error { _, err := s.Beat(ctx, process, "running"); return err },
		"pause": func(ctx context.Context) error {
			_, err := s.Pause(ctx, store.Key{Type: "cart", ID: prepared["full"].ActorID}, false)
			return err
		},
		"write": func(ctx context.Context) error {
			return s.Write(ctx, func(ctx context.Context, tx *sql.Tx) error { _, err := tx.ExecContext(ctx, "SELECT 1"); return err })
		},
	}
}
