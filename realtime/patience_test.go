package realtime

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"
)

type ctxKey struct{}

// A ctx of the hub's patience cannot be told from one of package context, whether it is waited for early, late or never.
func TestPatienceIsADeadline(t *testing.T) {
	ends := map[string]struct {
		after time.Duration
		end   func(cancelParent func(), p *patient)
		want  error
	}{
		"not yet":      {0, func(func(), *patient) {}, nil},
		"in time":      {patience - 1, func(func(), *patient) {}, nil},
		"too late":     {patience, func(func(), *patient) {}, context.DeadlineExceeded},
		"with parent":  {time.Second, func(cancel func(), _ *patient) { cancel() }, context.Canceled},
		"by its maker": {time.Second, func(_ func(), p *patient) { p.end() }, context.Canceled},
	}
	for name, how := range ends {
		for _, early := range []bool{true, false} {
			synctest.Test(t, func(t *testing.T) {
				parent, cancel := context.WithCancel(context.WithValue(t.Context(), ctxKey{}, "v"))
				defer cancel()
				p := withPatience(parent)
				defer p.end()
				var child context.Context
				derive := func() {
					var stop context.CancelFunc
					child, stop = context.WithCancel(p)
					t.Cleanup(stop)
				}
				if early {
					derive()
				}
				if d, ok := p.Deadline(); !ok || time.Until(d) != patience {
					t.Errorf("%s: the deadline is %v, %v", name, time.Until(d), ok)
				}
				time.Sleep(how.after)
				how.end(cancel, p)
				if !early {
					if err := p.Err(); !errors.Is(err, how.want) {
						t.Errorf("%s: %v before anybody waited, want %v", name, err, how.want)
					}
					derive()
				}
				synctest.Wait()
				done := false
				select {
				case <-p.Done():
					done = true
				default:
				}
				if err := p.Err(); !errors.Is(err, how.want) || done != (err != nil) || !errors.Is(child.Err(), how.want) || (how.want == nil) != (child.Err() == nil) {
					t.Errorf("%s, waited for early %v: %v, done %v, of a child %v; want %v", name, early, err, done, child.Err(), how.want)
				}
				if p.Value(ctxKey{}) != "v" || child.Value(ctxKey{}) != "v" {
					t.Errorf("%s: the parent's values are lost", name)
				}
			})
		}
	}
}

func TestPatienceEndsNoLaterThanItsParent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		parent, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		p := withPatience(parent)
		defer p.end()
		if d, ok := p.Deadline(); !ok || time.Until(d) != time.Second {
			t.Errorf("the deadline is in %v, want that of the parent", time.Until(d))
		}
		<-p.Done()
		if time.Until(p.until) != patience-time.Second || !errors.Is(p.Err(), context.DeadlineExceeded) {
			t.Errorf("ended %v before its time with %v", time.Until(p.until), p.Err())
		}
	})
}
