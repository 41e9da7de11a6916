package field

import (
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/lockstep-go/lockstep/actors"
	"github.com/lockstep-go/lockstep/runtime/store"
)

// TestD33DestroyLeavesNoOrphan: an actor that owns one of everything is destroyed and its history swept. No table has a
// row of it left: what goes is deleted by name, since no foreign key is relied on (SQLite's are off, on every connection).
func TestD33DestroyLeavesNoOrphan(t *testing.T) {
	onEach(t, func(t *testing.T, b *base) {
		s := b.store(t)
		flush := func(f *store.Flush) {
			t.Helper()
			if err := s.Flush(t.Context(), f); err != nil {
				t.Fatal(err)
			}
		}
		id := func() string { return uuid.Must(uuid.NewV7()).String() }
		one := json.RawMessage("1")
		tell := func() *store.Enqueue {
			return &store.Enqueue{Message: store.Message{ID: id(), Type: "cart", ActorID: "a", Operation: "add", Arguments: one, Origin: store.FromClient, MaxAttempts: 3}}
		}
		e := tell()
		e.Message.IdempotencyKey, e.Message.Fingerprint = "key", "print"
		e.Claim = &store.Claim{Owner: "p", Token: id(), Lease: time.Hour}
		flush(&store.Flush{Enqueues: []*store.Enqueue{e}})
		a := e.Activation
		flush(&store.Flush{Enqueues: []*store.Enqueue{tell(), tell(), tell()}})
		c := &store.Commit{
			Fence: a.Fence, Message: a.ID, Sequence: a.Sequence, Status: store.Completed, Result: one, State: one, Version: 1, Next: true,
			Effects:   []store.Effect{{ID: id(), Name: "charge", Arguments: one, MaxAttempts: 3}},
			Reminders: []store.Reminder{{ID: id(), Operation: "tick", Key: "k", Arguments: one, When: actors.In(time.Hour)}},
			Sends:     []store.Send{{ID: id(), To: store.Key{Type: "cart", ID: "b"}, Message: store.Message{Operation: "add", Arguments: one, MaxAttempts: 3}}},
			Broadcast: &store.Broadcast{ID: id(), Actor: store.Key{Type: "cart", ID: "a"}, Names: []string{"n"}},
		}
		flush(&store.Flush{Commits: []*store.Commit{c}})
		if c.Turn == nil {
			t.Fatalf("the next message was not claimed: %s %v", c.Outcome, c.Err)
		}
		f := &store.Failure{Fence: a.Fence, Message: c.Turn.ID, Sequence: c.Turn.Sequence, Final: true, ErrorKind: "k", Next: true}
		flush(&store.Flush{Failures: []*store.Failure{f}}) // a dead letter; the third is claimed, the fourth waits
		tables := map[string]string{
			"instances": "id", "messages": "instance_id", "dead_letters": "instance_id", "effects": "instance_id",
			"reminders": "instance_id", "sends": "instance_id", "broadcasts": "instance_id",
		}
		rows := func(table, column string) int {
			return b.number(t, fmt.Sprintf("SELECT count(*) FROM lockstep_%s WHERE %s = '%s'", table, column, a.Fence.Instance))
		}
		for table, column := range tables {
			if rows(table, column) == 0 {
				t.Errorf("it owns nothing in %s: nothing is shown", table)
			}
		}
		if d, err := s.Destroy(t.Context(), store.Key{Type: "cart", ID: "a"}); err != nil || !d.Existed {
			t.Fatalf("%+v, %v", d, err)
		}
		for {
			n, err := s.Sweep(t.Context(), 2)
			if err != nil {
				t.Fatal(err)
			}
			if n == 0 {
				break
			}
		}
		for table, column := range tables {
			if n := rows(table, column); n != 0 {
				t.Errorf("%d rows are left in %s", n, table)
			}
		}
		left := "SELECT (SELECT count(*) FROM lockstep_ready) + (SELECT count(*) FROM lockstep_messages)"
		if n := b.number(t, left); n != 0 {
			t.Errorf("%d rows of queues and history are left", n)
		}
	})
}
