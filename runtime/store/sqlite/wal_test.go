package sqlite

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/lockstep-go/lockstep/runtime/store"
)

// walLimit is what the log may grow to beside reads that end: three times what a checkpoint is made at.
const walLimit = 3 * 4000 * 4096

// D34: while clients stall over what they have read (a list of dead letters, a retention preview, snapshots), tens of
// thousands of messages are committed: no read outlives its query, so the log stays bounded. A read that does not end
// shows by its age, and the log by its size.
func TestD34StalledReadersDoNotHoldTheLog(t *testing.T) {
	messages := 10_000
	if os.Getenv("LOCKSTEP_TEST_FULL") == "1" {
		messages = 50_000
	}
	t.Logf("%d messages of 50,000", messages)
	s, err := Open(t.Context(), filepath.Join(t.TempDir(), "shop.db"), Config{Synchronous: UnsafeNormal})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	commit := func(n int) {
		for n > 0 {
			f := &store.Flush{}
			for i := range min(n, 200) {
				f.Enqueues = append(f.Enqueues, &store.Enqueue{Message: store.Message{
					ID: uuid.Must(uuid.NewV7()).String(), Type: "cart", ActorID: fmt.Sprint(i), Operation: "add", Arguments: json.RawMessage("1"),
					Origin: store.FromClient, MaxAttempts: 3,
				}})
			}
			if err := s.Flush(t.Context(), f); err != nil {
				t.Fatal(err)
			}
			n -= len(f.Enqueues)
		}
	}
	log := func() store.WriteAheadLog {
		l, err := s.WriteAheadLog(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		return l
	}
	commit(200)
	stall := make(chan struct{})
	read := make(chan error, 3)
	for _, do := range []func() error{
		func() error { _, err := s.DeadLetters(t.Context(), 100); return err },
		func() error { _, err := s.Finished(t.Context(), time.Hour, store.Finished{}, 100); return err },
		func() error { _, err := s.Snapshot(t.Context(), store.Key{Type: "cart", ID: "1"}); return err },
	} {
		go func() {
			read <- do()
			<-stall // the client takes its time to write what it has read
		}()
	}
	for range 3 {
		if err := <-read; err != nil {
			t.Fatal(err)
		}
	}
	commit(messages)
	close(stall)
	if l := log(); l.Bytes == 0 || l.Bytes > walLimit || l.OldestReader != 0 {
		t.Errorf("the log has %d bytes, at most %d are right; the oldest reader is %v old", l.Bytes, walLimit, l.OldestReader)
	} else {
		t.Logf("the log has %d KiB", l.Bytes>>10)
	}
	err = s.read(t.Context(), "take long", func(q session) error {
		time.Sleep(10 * time.Millisecond)
		if l := log(); l.OldestReader < 10*time.Millisecond {
			t.Errorf("a read of 10 ms is shown as one of %v", l.OldestReader)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if l := log(); l.OldestReader != 0 {
		t.Errorf("a read that has ended is shown as one of %v", l.OldestReader)
	}
}

// D33: every connection that there is or will be has the store's settings, with eight readers held at once.
func TestD33PragmasOnEveryConnection(t *testing.T) {
	s, err := Open(t.Context(), filepath.Join(t.TempDir(), "shop.db"), Config{Readers: 8})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	check := func(name string, c *conn, queryOnly int64) {
		for pragma, want := range map[string]any{
			"busy_timeout": int64(5000), "synchronous": int64(2), "journal_mode": "wal", "wal_autocheckpoint": int64(4000),
			"journal_size_limit": int64(67108864), "temp_store": int64(2), "recursive_triggers": int64(0), "query_only": queryOnly,
		} {
			if got, err := c.ask(t.Context(), "PRAGMA "+pragma); err != nil || got != want {
				t.Errorf("%s: %s is %v, want %v (%v)", name, pragma, got, want, err)
			}
		}
	}
	var held func(n int)
	held = func(n int) {
		err := s.read(t.Context(), "hold", func(q session) error {
			check(fmt.Sprint("reader ", n), q.(*conn), 1)
			if n > 1 {
				held(n - 1) // all are held at once
			}
			return nil
		})
		if err != nil {
			t.Error(err)
		}
	}
	held(8)
	check("writer", s.writer, 0)
}
