package runtime_test

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/lockstep-go/lockstep/actors"
	"github.com/lockstep-go/lockstep/runtime"
	"github.com/lockstep-go/lockstep/runtime/bus"
	"github.com/lockstep-go/lockstep/runtime/store"
)

// mortal is the store of a process that dies right after a commit: it does not learn of that, and does nothing more.
type mortal struct {
	store.Store
	dead atomic.Bool
}

var errDead = errors.New("dead")

func (m *mortal) alive(do func() error) error {
	if m.dead.Load() {
		return errDead
	}
	return do()
}

func (m *mortal) Flush(ctx context.Context, f *store.Flush) error {
	return m.alive(func() error {
		err := m.Store.Flush(ctx, f)
		if err == nil && len(f.Commits) > 0 {
			m.dead.Store(true)
			return errDead
		}
		return err
	})
}

func (m *mortal) Beat(ctx context.Context, process, state string) (o store.Outcome, err error) {
	err = m.alive(func() error { o, err = m.Store.Beat(ctx, process, state); return err })
	return o, err
}

func (m *mortal) Recover(ctx context.Context, process string, stale, keep time.Duration) (r store.Recovered, err error) {
	err = m.alive(func() error { r, err = m.Store.Recover(ctx, process, stale, keep); return err })
	return r, err
}

func (m *mortal) TakeBroadcasts(ctx context.Context, process string, lag time.Duration, limit int) (list []store.Broadcast, err error) {
	err = m.alive(func() error { list, err = m.Store.TakeBroadcasts(ctx, process, lag, limit); return err })
	return list, err
}

func (m *mortal) Changes(context.Context) (int64, error) { return -1, nil }

// R33: what a process has committed and died before telling, a living one tells in its place: its own hub, and by the bus
// those of all others, within 20 seconds and once.
func TestR33_TheNewsOfADeadProcessAreToldByAnother(t *testing.T) {
	inTime(t, func(t *testing.T) {
		p := definePads(nil)
		db := openStore(t)
		b := &bus.InProcess{}
		dying := &mortal{Store: db}
		one, err := runtime.Open(t.Context(), dying, hourly(b, p))
		if err != nil {
			t.Fatal(err)
		}
		ctx, stop := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() { ended <- one.Run(ctx) }()
		defer func() {
			stop()
			<-ended
			_ = one.Close() // what the dead have to say is nobody's
		}()
		for !one.Ready() {
			pass(time.Millisecond)
		}
		heard := map[string]*record{"two": {}, "three": {}}
		for _, news := range heard {
			rt := start(t, &deaf{Store: db}, hourly(b, p))
			defer rt.Follow(func(b actors.Broadcast) { news.add(fmt.Sprint(b.Actor.ID, b.Names, b.Previous, b.Revision)) })()
		}
		pass(time.Second)
		if _, err := p.write.Tell(t.Context(), one, p.Ref("a"), "x"); err != nil {
			t.Fatal(err)
		}
		pass(5 * time.Second)
		if !dying.dead.Load() {
			t.Fatal("the turn was not committed by the process that dies")
		}
		for name, news := range heard {
			news.expect(t, name+" before the takeover")
		}
		pass(20 * time.Second)
		for name, news := range heard {
			news.expect(t, name, "a[] 1 1")
		}
	})
}
