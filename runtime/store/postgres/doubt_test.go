package postgres_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/lockstep-go/lockstep/runtime/store"
	"github.com/lockstep-go/lockstep/runtime/store/postgres"
)

// G12, G34: of a flush in one round trip whose answer is lost the next try finds out what became of it: it is done once,
// and what it had decided is known, whether the server had it or not.
func TestAFlushInDoubtIsSettled(t *testing.T) {
	for name, reached := range map[string]bool{"the answer is lost": true, "the request is lost": false} {
		for _, touched := range []bool{false, true} {
			if touched {
				name += ", and somebody else was there"
			}
			t.Run(name, func(t *testing.T) {
				h := newBlackhole(t)
				o := open(t, h.dsn(t), postgres.Config{Schema: newSchema(), NoNotify: true, Limit: time.Second, WriteLimit: time.Second / 2})
				t.Cleanup(h.end) // before the store is closed, which would wait for the silent connections
				list := warmActors(t, o, 3)
				flusher(t, o)(commits(list[:2]))
				f := commits(list[2:]) // ends a turn
				for _, a := range list[:2] {
					f.Enqueues = append(f.Enqueues, a.enqueue()) // claims one
				}
				cut := func(answer []byte) bool { return strings.Contains(string(answer), "COMMIT\x00") }
				if h.cut.Store(&cut); !reached {
					h.dark.Store(true)
				}
				for range 2 { // the second asks what became of the first, with the same success
					if err := o.Flush(t.Context(), f); !errors.Is(err, store.ErrUnclear) || !errors.Is(err, store.ErrTransient) {
						t.Fatalf("got %v, want unclear and transient", err)
					}
					h.cut.Store(nil)
					h.dark.Store(true)
				}
				h.dark.Store(false)
				if touched {
					flush(t, open(t, dsn(t), o.cfg), &store.Flush{Enqueues: []*store.Enqueue{tell(list[0].key.ID)}})
					if err := o.Flush(t.Context(), f); reached && (!errors.Is(err, store.ErrUnclear) || errors.Is(err, store.ErrTransient)) {
						t.Errorf("got %v, want unclear", err)
					}
					return
				}
				flush(t, o, f)
				if c := f.Commits[0]; c.Outcome != store.Done {
					t.Errorf("the commit is %s", c.Outcome)
				}
				for i, e := range f.Enqueues {
					if e.Outcome != store.Done || e.Message.Sequence != 2 || e.Activation == nil || e.Activation.Sequence != 2 {
						t.Fatalf("enqueue %d is %s at %d, claimed: %t", i, e.Outcome, e.Message.Sequence, e.Activation != nil)
					}
					list[i].turn = e.Activation.Turn
				}
				flusher(t, o)(commits(list[:2]))
				enqueues(t, list, &store.Flush{}, flusher(t, o))
				for i, a := range list {
					if want := []int64{3, 3, 2}[i]; a.turn.Sequence != want {
						t.Errorf("actor %d is at message %d, want %d", i, a.turn.Sequence, want)
					}
				}
			})
		}
	}
}
