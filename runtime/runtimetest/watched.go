package runtimetest

import (
	"context"
	"sync"
	"time"

	"github.com/lockstep-go/lockstep/runtime/store"
	"github.com/lockstep-go/lockstep/runtime/store/sqlite"
)

// watched is the database with an eye on the effects that are being performed: no count of what is due has those.
type watched struct {
	*sqlite.Store

	mu         sync.Mutex
	performing map[string]bool // by id
	claiming   int             // calls of ClaimEffects that have not returned
	claims     int             // all of them
	waiting    int             // attempts that wait for the test
	retries    map[string]time.Time
}

func newWatched(db *sqlite.Store) *watched {
	return &watched{Store: db, performing: map[string]bool{}, retries: map[string]time.Time{}}
}

func (w *watched) ClaimEffects(ctx context.Context, owner string, names []string, limit int, lease time.Duration) ([]store.Effect, error) {
	w.mu.Lock()
	w.claiming++
	w.claims++
	w.mu.Unlock()
	list, err := w.Store.ClaimEffects(ctx, owner, names, limit, lease)
	w.mu.Lock()
	defer w.mu.Unlock()
	w.claiming--
	for i := range list {
		w.performing[list[i].ID] = true
		delete(w.retries, list[i].ID)
	}
	return list, err
}

func (w *watched) FinishEffects(ctx context.Context, outcomes []*store.EffectOutcome) ([]store.Message, error) {
	sent, err := w.Store.FinishEffects(ctx, outcomes)
	if err != nil {
		return sent, err
	}
	now, err := w.Now(ctx)
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, o := range outcomes {
		delete(w.performing, o.ID)
		if o.Again && o.Outcome == store.Done {
			w.retries[o.ID] = now.Add(o.Retry)
		}
	}
	return sent, err
}

// retry is when the next attempt at any effect begins, or zero. The database's own answer counts the leases of those that
// are being performed.
func (w *watched) retry() (next time.Time) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, at := range w.retries {
		if next.IsZero() || at.Before(next) {
			next = at
		}
	}
	return next
}

// wait counts an attempt that waits for the test, or one that does no longer.
func (w *watched) wait(n int) {
	w.mu.Lock()
	w.waiting += n
	w.mu.Unlock()
}

// busy is how many effects are being performed, without those that wait for the test, and a number that differs where
// any was claimed since it was last asked for.
func (w *watched) busy() (performing, claims int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return len(w.performing) - w.waiting + w.claiming, w.claims
}
