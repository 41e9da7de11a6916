package sqlite_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/lockstep-go/lockstep/runtime/store"
	"github.com/lockstep-go/lockstep/runtime/store/sqlite"
)

// In memory the store works inside a bubble: its clock is the bubble's, and waiting for the writer lets time pass.
func TestBubble(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, err := sqlite.Open(t.Context(), ":memory:")
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close()
		e := message("a")
		e.Claim = &store.Claim{Owner: "p", Token: "t", Lease: time.Minute}
		flushed(t, s, &store.Flush{Enqueues: []*store.Enqueue{e}})
		time.Sleep(59 * time.Second)
		r := &store.Renewal{Fence: e.Activation.Fence, Lease: time.Minute}
		flushed(t, s, &store.Flush{Renewals: []*store.Renewal{r}})
		if r.Outcome != store.Done {
			t.Errorf("within the lease: %s", r.Outcome)
		}
		time.Sleep(time.Minute)
		flushed(t, s, &store.Flush{Renewals: []*store.Renewal{r}})
		if r.Outcome != store.Fenced {
			t.Errorf("after the lease: %s", r.Outcome)
		}
		for range 20 {
			go s.Flush(t.Context(), &store.Flush{Enqueues: []*store.Enqueue{message("b")}})
		}
		synctest.Wait()
		if n := told(t, s, "b"); n != 21 {
			t.Errorf("sequence %d", n)
		}
	})
}
