package storetest

import (
	"fmt"
	"testing"
	"time"

	"github.com/lockstep-go/lockstep/runtime/store"
)

// UnreadableRow checks R31: a broadcast that says something nobody can read holds up no other, is handed on as one that
// covers nothing, so that whoever follows its actor renders everything, and does not hinder the actor's next commit. The
// store is an Again; prefix is how its tables begin, and exec runs a statement on a connection of the test's own.
func UnreadableRow(t *testing.T, s store.Store, prefix string, exec func(statement string) error) {
	w := &world{T: t, Store: s, again: s.(Again)}
	spoil := func(b *store.Broadcast) {
		t.Helper()
		err := exec("UPDATE " + prefix + "broadcasts SET names = '[\"items', shared = 'no' WHERE instance_id = '" + b.Instance + "'")
		if err != nil {
			t.Fatal(err)
		}
	}
	bad := w.news("bad", []string{"items"}, nil)
	spoil(bad)
	for i := range 100 {
		w.news(fmt.Sprint("good", i), []string{"items"}, nil)
	}
	w.pass(time.Hour)
	good := 0
	for _, g := range w.takeBroadcasts("q", time.Minute, 1000) {
		if g.ID == bad.ID {
			want(w, "what the bad one covers", g.Revision-g.Previous, 0)
			want(w, "its names", len(g.Names), 0)
			continue
		}
		good++
		want(w, "names", fmt.Sprint(g.Names), "[items]")
	}
	want(w, "good ones", good, 100)
	spoil(bad)
	next := w.news("bad", []string{"status"}, nil)
	want(w, "the next one does not stand for it", next.Previous, bad.Revision)
	w.pass(time.Hour)
	for _, g := range w.takeBroadcasts("q", time.Minute, 1000) {
		if g.ID == next.ID {
			want(w, "its names", fmt.Sprint(g.Names), "[status]")
			return
		}
	}
	t.Error("the actor's next broadcast is not there")
}
