package realtime_test

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/lockstep-go/lockstep/realtime"
	"github.com/lockstep-go/lockstep/realtime/wire"
)

// batches hears how many frames went out together.
type batches struct {
	figures
	mu    sync.Mutex
	sizes []int
}

func (b *batches) Count(name, _ string, n int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if name == realtime.CountFrames {
		b.sizes = append(b.sizes, n)
	}
}

func (b *batches) take() []int {
	b.mu.Lock()
	defer b.mu.Unlock()
	defer func() { b.sizes = nil }()
	return b.sizes
}

// R36: a commit that changes many parts of a page costs its connection one write.
func TestR36_OneCommitIsWrittenOnce(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		sent := &batches{}
		h := open(t, w, func(c *realtime.Config) { c.Metrics = sent })
		p := h.browse("alice")
		var lines []wire.Target
		for i := range 100 {
			lines = append(lines, wire.Target{Component: "line", Key: fmt.Sprint(i)})
		}
		p.get("s", cart("a"), lines...)
		p.subscribe("s")
		settle()
		sent.take()
		w.set(cart("a"), "n", 7)
		settle()
		if got := sent.take(); !slices.Equal(got, []int{len(lines)}) {
			t.Errorf("a commit that changed %d targets went out as writes of %v frames, want one write", len(lines), got)
		}
		p.wantFresh("s", lines...)
	})
}

// R36: what is ready does not wait for a component that takes its time.
func TestR36_SlowComponentHoldsNothingBack(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		var mu sync.Mutex
		quick, ready := 0, -1 // rendered so far, and when the slow one began
		w.parts["line"] = part{observes: []string{"n"}, render: func(_ context.Context, r realtime.RenderRequest, s state) (string, []wire.Target, error) {
			mu.Lock()
			defer mu.Unlock()
			quick++
			return fmt.Sprint(s["n"]), nil, nil
		}}
		w.parts["n"] = part{observes: []string{"n"}, render: func(_ context.Context, _ realtime.RenderRequest, s state) (string, []wire.Target, error) {
			if s["n"] == 7 {
				mu.Lock()
				ready = quick
				mu.Unlock()
				time.Sleep(time.Second)
			}
			return fmt.Sprint(s["n"]), nil, nil
		}}
		h := open(t, w)
		p := h.browse("alice")
		targets := []wire.Target{tN}
		for i := range 50 {
			targets = append(targets, wire.Target{Component: "line", Key: fmt.Sprint(i)})
		}
		p.get("s", cart("a"), targets...)
		p.subscribe("s")
		settle()
		quick = 0
		w.commit(cart("a"), change{set: state{"n": 7}, names: []string{"n"}})
		time.Sleep(50 * time.Millisecond)
		synctest.Wait()
		mu.Lock()
		want := ready
		mu.Unlock()
		if got := len(p.got("f")); want < 0 || got != want {
			t.Errorf("%d fragments arrived while a component was still rendering, want the %d that were ready before it", got, want)
		}
		time.Sleep(2 * time.Second)
		p.wantFresh("s", targets...)
	})
}
