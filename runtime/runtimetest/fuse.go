package runtimetest

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/lockstep-go/lockstep/runtime"
)

// maxTurns is how many turns may follow from each other without time passing; this package's own tests have fewer.
var maxTurns = 5_000

// fuse stops a runtime whose actors keep each other busy, which would never come to rest otherwise. It counts the turns
// that nobody outside asked for: in a bubble those of one moment, elsewhere those of one Drain.
type fuse struct {
	stop   func()
	next   func(context.Context, runtime.Event)
	bubble bool

	mu      sync.Mutex
	at      time.Time
	turns   map[string]int // by type and operation
	total   int
	heard   int    // turns of all kinds since the beginning
	trouble string // what last went wrong
	blown   error
	told    bool
}

func newFuse(stop func(), next func(context.Context, runtime.Event)) *fuse {
	return &fuse{stop: stop, next: next, turns: map[string]int{}}
}

// hear is the runtime's Config.Events.
func (f *fuse) hear(ctx context.Context, e runtime.Event) {
	f.count(e)
	if f.next != nil {
		f.next(ctx, e)
	}
}

func (f *fuse) count(e runtime.Event) {
	f.mu.Lock()
	defer f.mu.Unlock()
	switch e.Name {
	case runtime.ActivationFailed, runtime.ActivationLost, runtime.PassFailed, runtime.FlushFailed, runtime.SupervisorRestart, runtime.EffectUnrecorded:
		f.trouble = strings.TrimSpace(fmt.Sprintf("%s %s%s %s", e.Name, e.Type, e.Part, e.ErrorKind))
		return
	case runtime.TurnCompleted, runtime.TurnRejected, runtime.TurnRetried, runtime.TurnFailed:
	default:
		return
	}
	f.heard++
	if e.Origin == "client" {
		return
	}
	if now := time.Now(); f.bubble && !now.Equal(f.at) {
		f.at = now
		f.clear()
	}
	f.turns[e.Type+"."+e.Operation]++
	if f.total++; f.total == maxTurns {
		f.blown = fmt.Errorf("%d turns followed from each other and no time passed, so the runtime was stopped: the actors keep each other busy\n\tmost turns: %s", maxTurns, f.most())
		f.stop()
	}
}

func (f *fuse) clear() {
	clear(f.turns)
	f.total = 0
}

// begin starts to count anew.
func (f *fuse) begin() {
	f.mu.Lock()
	f.clear()
	f.mu.Unlock()
}

// progress is how many turns there were so far.
func (f *fuse) progress() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.heard
}

// blew is why the runtime was stopped, or nil.
func (f *fuse) blew() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.told = f.told || f.blown != nil
	return f.blown
}

// untold is blew where nobody has asked.
func (f *fuse) untold() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.told {
		return nil
	}
	return f.blown
}

// most names the operations with the most turns.
func (f *fuse) most() string {
	names := slices.SortedFunc(maps.Keys(f.turns), func(a, b string) int {
		return cmp.Or(f.turns[b]-f.turns[a], cmp.Compare(a, b))
	})
	var text []string
	for _, name := range names[:min(len(names), 5)] {
		text = append(text, fmt.Sprintf("%s %d", name, f.turns[name]))
	}
	return strings.Join(text, ", ")
}

// clues is what was seen that may tell why something does not come to rest, a line each.
func (f *fuse) clues() (text string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.trouble != "" {
		text += "\n\tlast trouble: " + f.trouble
	}
	if len(f.turns) > 0 {
		text += "\n\tmost turns: " + f.most()
	}
	return text
}
