//go:build unix

package crash

import (
	"testing"
	"time"

	"github.com/lockstep-go/lockstep/actors"
	"github.com/lockstep-go/lockstep/runtime/store"
)

// A scheduler that cannot have the actor's row moves its reminder on to a later try; a turn that cancels the reminder
// meanwhile waits for that, and wins.
func TestCancelBesideABusyScheduler(t *testing.T) {
	d := find("postgres")
	address := d.empty(t, "")
	s, err := d.open(t.Context(), address)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	flush := func(f *store.Flush) {
		if err := s.Flush(t.Context(), f); err != nil {
			t.Error(err)
		}
	}
	turn := func(id string, r store.Reminder) *store.Commit {
		e := &store.Enqueue{Message: store.Message{ID: id, Type: "t", ActorID: "a", Operation: "o", Arguments: []byte("1"), Origin: store.FromClient, MaxAttempts: 1},
			Claim: &store.Claim{Owner: "p", Token: id, Lease: time.Minute}}
		flush(&store.Flush{Enqueues: []*store.Enqueue{e}})
		c := &store.Commit{Fence: e.Activation.Fence, Message: id, Sequence: e.Message.Sequence, Status: store.Completed, Result: []byte("1"), Yield: true, Reminders: []store.Reminder{r}}
		return c
	}
	c := turn("m1", store.Reminder{ID: "r1", Operation: "ring", Key: "k", When: actors.In(0), Interval: time.Second})
	flush(&store.Flush{Commits: []*store.Commit{c}})
	c = turn("m2", store.Reminder{Operation: "ring", Key: "k", Cancel: true})
	db, err := d.raw(address)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	tx, err := db.Begin()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := tx.Exec("UPDATE lockstep_reminders SET due_at = due_at + 1000"); err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	go func() { flush(&store.Flush{Commits: []*store.Commit{c}}); close(done) }()
	time.Sleep(500 * time.Millisecond)
	if err := tx.Commit(); err != nil {
		t.Fatal(err)
	}
	<-done
	left, err := s.Alarms(t.Context(), c.Fence.Instance)
	if err != nil || c.Outcome != store.Done {
		t.Fatal(c.Outcome, c.Err, err)
	}
	if len(left) != 0 {
		t.Errorf("the commit is %s, and the cancelled reminder is still there: %+v", c.Outcome, left)
	}
}
