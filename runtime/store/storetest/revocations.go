package storetest

import (
	"fmt"
	"math"
	"sync"
	"time"

	"github.com/lockstep-go/lockstep/actors"
	"github.com/lockstep-go/lockstep/runtime/store"
)

const keepRevoked = 10 * time.Minute

func (w *world) revoke(s store.Store, r actors.Revoked) {
	w.Helper()
	w.must(s.Revoke(w.ctx(), r, keepRevoked))
}

func (w *world) revocations(after int64, limit int) ([]actors.Revoked, int64) {
	w.Helper()
	list, newest, err := w.Revocations(w.ctx(), after, limit)
	w.must(err)
	return list, newest
}

var revocationTests = []test{
	{"R39/revocations_are_read_once_and_in_order", func(w *world) {
		list, newest := w.revocations(0, 10)
		want(w, "of none: rows", len(list), 0)
		want(w, "of none: newest", newest, 0)
		other := w.second()
		first := actors.Revoked{ID: newID(), Principal: "p", Session: "s", Actor: "a"}
		w.revoke(w.Store, first)
		for range 3 {
			w.revoke(other, actors.Revoked{ID: newID(), Session: "s"})
		}
		list, newest = w.revocations(0, 3)
		want(w, "a page", len(list), 3)
		want(w, "its newest", newest, 3)
		first.Position = 1
		want(w, "as written", list[0], first)
		list, newest = w.revocations(3, 3)
		want(w, "the rest", len(list), 1)
		want(w, "position", list[0].Position, 4)
		list, newest = w.revocations(4, 3)
		want(w, "no more", len(list), 0)
		want(w, "the newest", newest, 4)
		list, newest = w.revocations(math.MaxInt64-1, 3)
		want(w, "from now on", len(list), 0)
		want(w, "begins at", newest, 4)
	}},
	{"R39/a_database_that_was_taken_back_shows", func(w *world) {
		w.revoke(w.Store, actors.Revoked{ID: newID(), Session: "s"})
		list, newest := w.revocations(7, 10)
		want(w, "rows", len(list), 0)
		want(w, "newest", newest, 1)
	}},
	{"R39/old_revocations_go_and_the_gap_shows", func(w *world) {
		for range 3 {
			w.revoke(w.Store, actors.Revoked{ID: newID(), Session: "s"})
		}
		w.pass(keepRevoked + time.Second)
		w.revoke(w.Store, actors.Revoked{ID: newID(), Session: "t"})
		list, newest := w.revocations(1, 10)
		want(w, "rows", len(list), 1)
		want(w, "position", list[0].Position, 4)
		want(w, "newest", newest, 4)
		w.pass(keepRevoked + time.Second)
		w.revoke(w.Store, actors.Revoked{ID: newID(), Session: "t"})
		_, newest = w.revocations(4, 10)
		want(w, "positions go on", newest, 5)
	}},
	{"R39/revocations_of_many_processes_leave_no_gap", func(w *world) {
		const each = 10
		stores := []store.Store{w.Store, w.second(), w.second()}
		var writers sync.WaitGroup
		errs := make([]error, len(stores))
		for i, s := range stores {
			writers.Go(func() {
				for n := range each {
					if err := s.Revoke(w.ctx(), actors.Revoked{ID: newID(), Session: fmt.Sprint(i, n)}, keepRevoked); err != nil {
						errs[i] = err
						return
					}
				}
			})
		}
		done := make(chan struct{})
		go func() { writers.Wait(); close(done) }()
		var at int64
		seen := map[string]bool{}
		for last := false; ; {
			list, _ := w.revocations(at, 1000)
			for _, r := range list {
				if r.Position != at+1 {
					w.Errorf("read %d after %d", r.Position, at)
				}
				at = r.Position
				seen[r.ID] = true
			}
			if last {
				break
			}
			select {
			case <-done:
				last = true
			default:
			}
		}
		for _, err := range errs {
			w.must(err)
		}
		want(w, "read while they were written", len(seen), len(stores)*each)
	}},
}
