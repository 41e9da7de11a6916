package storetest

import (
	"testing"
	"time"

	"github.com/lockstep-go/lockstep/runtime/store"
)

// LateRows checks D47 on a server: rows of outboxes whose transaction is still open, with ids and positions below those of
// rows that others have committed meanwhile, are found by every reader once it has committed, and hold nobody up until then.
// The store is an Again; prefix is how its tables begin, and exec runs a statement on a connection of the test's own.
func LateRows(t *testing.T, s store.Store, prefix string, exec func(statement string) error) {
	w := &world{T: t, Store: s, again: s.(Again)}
	stage := func(id string) *store.Commit {
		a := w.ask("p", id)
		c := full(&a.Turn)
		want(w, "staged", w.commit(c).Outcome, store.Done)
		w.release(a.Fence, false)
		return c
	}
	do := func(statement string) {
		t.Helper()
		if err := exec(statement); err != nil {
			t.Fatalf("%s: %v", statement, err)
		}
	}
	tables := []string{"sends", "effects", "reminders", "broadcasts"}
	late := stage("late")
	for _, table := range tables {
		of := " FROM " + prefix + table + " WHERE instance_id = '" + late.Fence.Instance + "'"
		do("CREATE TEMPORARY TABLE late_" + table + " AS SELECT *" + of)
		do("DELETE" + of)
	}
	do("BEGIN")
	for _, table := range tables {
		do("INSERT INTO " + prefix + table + " SELECT * FROM late_" + table)
	}
	early := stage("early")
	w.pass(2 * time.Hour)
	read := func(what string, c *store.Commit) {
		t.Helper()
		sent, err := w.Deliver(w.ctx(), 10, 0, time.Second)
		w.must(err)
		effects, err := w.ClaimEffects(w.ctx(), "p", []string{"charge"}, 10, lease)
		w.must(err)
		fired, err := w.FireReminders(w.ctx(), 10, 0, 5, time.Second)
		w.must(err)
		news := w.takeBroadcasts("q", time.Second, 10)
		if len(sent) != 1 || len(effects) != 1 || len(fired) != 1 || len(news) != 1 {
			t.Fatalf("%s: %d sends, %d effects, %d reminders, %d broadcasts, want one of each", what, len(sent), len(effects), len(fired), len(news))
		}
		want(w, what+": send", sent[0].ID, c.Sends[0].ID)
		want(w, what+": effect", effects[0].ID, c.Effects[0].ID)
		want(w, what+": reminder", fired[0].ActorID, c.Broadcast.Actor.ID)
		want(w, what+": broadcast", news[0].ID, c.Broadcast.ID)
	}
	read("while the transaction is open", early)
	do("COMMIT")
	read("once it has committed", late)
}
