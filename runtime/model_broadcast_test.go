package runtime_test

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/lockstep-go/lockstep/runtime/store"
)

// shelf is the state of the actor that is followed: two observables, and a number that is none.
type shelf struct {
	A      int `json:"a"`
	B      int `json:"b"`
	Hidden int `json:"hidden"`
}

func (s shelf) values() map[string]string {
	return map[string]string{"a": fmt.Sprint(s.A), "b": fmt.Sprint(s.B)}
}

// flaw is what a follower of broadcasts may have forgotten.
type flaw string

const (
	none       flaw = ""
	skipsRows  flaw = "takes some rows as heard and does not apply them"
	ignoresGap flaw = "applies a row though it does not follow what it has"
	goesBack   flaw = "applies an older row over a newer one"
	neverLooks flaw = "never compares with the database"
)

// follower shows an actor's shared values by broadcasts, as a hub does.
type follower struct {
	flaw  flaw
	db    store.Store
	mark  int64 // the broadcast revision that is shown
	shown map[string]string
	heard int
}

var followed = store.Key{Type: "shelf", ID: "a"}

func (f *follower) hear(t *rapid.T, b store.Broadcast) {
	f.heard++
	if b.Revision <= f.mark && f.flaw != goesBack {
		return
	}
	if b.Previous > f.mark && f.flaw != ignoresGap {
		f.read(t)
		return
	}
	if f.flaw != skipsRows || f.heard%3 != 0 {
		for name, v := range b.Values {
			f.shown[name] = string(v)
		}
	}
	f.mark = b.Revision
}

func (f *follower) read(t *rapid.T) {
	snap, err := f.db.Snapshot(context.Background(), followed)
	if err != nil {
		t.Fatal(err)
	}
	var s shelf
	if snap.State != nil {
		if err := json.Unmarshal(snap.State, &s); err != nil {
			t.Fatal(err)
		}
	}
	f.mark, f.shown = snap.Broadcast, s.values()
}

// look compares with the database, as happens at the next contact.
func (f *follower) look(t *rapid.T) {
	stamps, err := f.db.Stamps(context.Background(), []store.Key{followed})
	if err != nil {
		t.Fatal(err)
	}
	if f.flaw != neverLooks && len(stamps) == 1 && stamps[0].Revision > f.mark {
		f.read(t)
	}
}

// following is the property that a follower shows, at every moment, what was committed at its mark, and after the next
// contact what is committed: whichever rows it hears, misses, hears late or twice.
func following(open func() (store.Store, error), flaw flaw) func(*rapid.T) {
	return func(t *rapid.T) {
		w := newWorld(t, open, func(s store.Store) store.Store { return s })
		f := &follower{flaw: flaw, db: w.db, shown: shelf{}.values()}
		var state shelf
		committed := map[int64]map[string]string{0: state.values()}
		var rows []store.Broadcast
		var fence *store.Fence
		handOn := func(b store.Broadcast) { w.flush(t, &store.Flush{Delivered: []string{b.ID}}) }
		t.Repeat(map[string]func(*rapid.T){
			"": func(t *rapid.T) {
				if !maps.Equal(f.shown, committed[f.mark]) {
					t.Fatalf("%v is shown at %d, where %v was committed", f.shown, f.mark, committed[f.mark])
				}
			},
			"commit": func(t *rapid.T) {
				c := commitShelf(t, w, &fence, &state)
				if c.Broadcast == nil {
					return
				}
				committed[c.Broadcast.Revision] = state.values()
				rows = append(rows, *c.Broadcast)
				switch draw(t, "its process", "hands it on", "hands it on elsewhere", "dies") {
				case "hands it on":
					f.hear(t, *c.Broadcast)
					handOn(*c.Broadcast)
				case "hands it on elsewhere":
					handOn(*c.Broadcast)
				}
			},
			"take over": func(t *rapid.T) {
				w.time(t)
				fence = nil
				taken, err := w.db.TakeBroadcasts(context.Background(), "q", span(1), 10)
				if err != nil {
					t.Fatal(err)
				}
				for _, b := range taken {
					f.hear(t, b)
					handOn(b)
				}
			},
			"hear again": func(t *rapid.T) {
				if len(rows) == 0 {
					t.Skip("nothing was said")
				}
				f.hear(t, rows[rapid.IntRange(0, len(rows)-1).Draw(t, "row")])
			},
			"look": func(t *rapid.T) {
				f.look(t)
				if !maps.Equal(f.shown, state.values()) {
					t.Fatalf("after a look %v is shown and %v committed", f.shown, state.values())
				}
			},
		})
	}
}

// commitShelf runs one turn that changes something, with the broadcast that a runtime would write.
func commitShelf(t *rapid.T, w *world, held **store.Fence, state *shelf) *store.Commit {
	e := &store.Enqueue{
		Message: store.Message{ID: w.id("m"), Type: followed.Type, ActorID: followed.ID, Operation: "put", Arguments: []byte("1"), Origin: store.FromClient, MaxAttempts: 1},
		Claim:   &store.Claim{Owner: "p", Token: w.id("t"), Lease: span(1)},
		Held:    *held,
	}
	w.flush(t, &store.Flush{Enqueues: []*store.Enqueue{e}})
	if e.Activation == nil {
		t.Fatalf("the turn was not claimed: %s", e.Outcome)
	}
	*held = &e.Activation.Fence
	names := draw(t, "changed", []string{"a"}, []string{"b"}, []string{"a", "b"}, nil)
	b := &store.Broadcast{ID: w.id("b"), Actor: followed, Names: names, Values: map[string]json.RawMessage{}}
	state.Hidden++
	if slices.Contains(names, "a") {
		state.A++
	}
	if slices.Contains(names, "b") {
		state.B++
	}
	for _, name := range names {
		b.Values[name] = json.RawMessage(state.values()[name])
	}
	c := &store.Commit{
		Fence: e.Activation.Fence, Message: e.Message.ID, Sequence: e.Message.Sequence, Status: store.Completed,
		Result: []byte("1"), State: document(state), Version: 1,
	}
	if len(names) > 0 {
		c.Broadcast = b
	}
	w.flush(t, &store.Flush{Commits: []*store.Commit{c}})
	same(t, "commit", c.Outcome, store.Done)
	return c
}

func TestBroadcastsCanBeFollowed(t *testing.T) {
	onEach(t, func(t *testing.T) {
		setFlag(t, "rapid.checks", fmt.Sprint(here(t).worlds(50)))
		rapid.Check(t, following(worlds(t), none))
	})
}

func TestFollowerThatForgetsARuleIsFound(t *testing.T) {
	setFlag(t, "rapid.nofailfile", "true")
	setFlag(t, "rapid.shrinktime", "500ms")
	for _, flaw := range []flaw{skipsRows, ignoresGap, goesBack, neverLooks} {
		t.Run(string(flaw), func(t *testing.T) {
			onEach(t, func(t *testing.T) {
				failed, said := fails(t, following(worlds(t), flaw))
				if !failed {
					t.Fatal("it shows what was never committed, and nobody notices")
				}
				t.Logf("found:\n%s", said)
			})
		})
	}
}
