package realtime

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"sync"
	"time"

	"github.com/lockstep-go/lockstep/actors"
	"github.com/lockstep-go/lockstep/realtime/wire"
)

// view is one committed snapshot of an actor and what was rendered from it for more than one viewer.
type view struct {
	snap  actors.Snapshot
	epoch int // the topic's, when it was read

	mu    sync.Mutex
	cache map[fragmentKey]*rendered
}

type fragmentKey struct {
	name  string // the target's
	group string
}

// maxCached bounds the fragments that a view keeps; groups could be as many as viewers.
const maxCached = 2048

// rendered is one target's fragment, encoded once for everybody who gets it.
type rendered struct {
	done chan struct{}
	at   time.Time // when it failed
	err  error
	frag Fragment

	name      string
	instance  string
	committed int64         // its snapshot's revision
	revision  wire.Revision // the same, as pages have it
	html      []byte        // as JSON
	piece     []byte        // of an answer

	once  sync.Once
	frame *frame

	version *version // of a list
	patches patches
}

// live is the fragment as a frame of its own.
func (r *rendered) live(t *topic) *frame {
	r.once.Do(func() {
		r.frame = framed(wire.AppendLive(room(len(r.html)+answerSize), r.instance, r.revision, r.name, r.html))
		r.frame.topic, r.frame.name, r.frame.revision, r.frame.version = t, r.name, r.committed, r.version
	})
	return r.frame
}

// shared returns a target's fragment for all viewers, or for all with an equal group key: rendered by the first who
// asks. A failure is remembered for half a second, so that a thousand viewers of a broken component do not try it a
// thousand times.
func (v *view) shared(ctx context.Context, h *Hub, a actors.Address, s *shown, group string) (*rendered, error) {
	key := fragmentKey{s.name, group}
	v.mu.Lock()
	r := v.cache[key]
	if r != nil && r.err != nil && time.Since(r.at) > firstRetry/2 {
		r = nil
	}
	if r != nil {
		v.mu.Unlock()
		select {
		case <-r.done:
			return r, r.err
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
	r = &rendered{done: make(chan struct{})}
	if v.cache == nil {
		v.cache = map[fragmentKey]*rendered{}
	}
	if len(v.cache) < maxCached {
		v.cache[key] = r
	}
	v.mu.Unlock()
	// Nothing of a viewer reaches this ctx, nor does the end of one.
	plain := withPatience(h.base)
	defer plain.end()
	err := r.render(plain, h, RenderRequest{Actor: a, Target: s.target, Snapshot: v.snap, Group: group}, s.name)
	v.mu.Lock()
	r.err, r.at = err, time.Now()
	v.mu.Unlock()
	close(r.done)
	if err != nil && h.base.Err() == nil {
		h.report(a.Type, s, err)
	}
	return r, err
}

// render fills r in.
func (r *rendered) render(ctx context.Context, h *Hub, req RenderRequest, name string) error {
	start := time.Now()
	err := guard(func() (err error) {
		r.frag, err = h.cfg.Renderer.Render(ctx, req)
		return err
	})
	h.meter.Render(req.Actor.Type, req.Target.Component, time.Since(start), err != nil && !tooNew(err))
	if err != nil {
		return err
	}
	r.name, r.instance, r.committed, r.revision = name, req.Snapshot.Instance, req.Snapshot.Revision, wire.Rev(req.Snapshot.Revision)
	r.html = wire.String(r.frag.HTML)
	r.piece = wire.AppendPiece(nil, name, r.revision, r.html)
	r.frag.HTML = "" // it is in html
	if r.frag.List != nil {
		r.version = versionOf(r.frag.List, req.Snapshot.Revision)
	}
	return nil
}

// panicked is a panic of application code. Its value is not kept: it may hold state.
type panicked struct{ kind, where string }

func (p *panicked) Error() string { return "panic of " + p.kind + " in " + p.where }

// panicSite names the function that panicked; it is called by a deferred function that recovered.
func panicSite() string {
	pcs := make([]uintptr, 16)
	frames := runtime.CallersFrames(pcs[:runtime.Callers(3, pcs)])
	for {
		f, more := frames.Next()
		if !strings.HasPrefix(f.Function, "runtime.") || !more {
			return fmt.Sprintf("%s:%d", f.Function, f.Line)
		}
	}
}

// guard calls application code and turns a panic into an error.
func guard(f func() error) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = &panicked{fmt.Sprintf("%T", p), panicSite()}
		}
	}()
	return f()
}

// kindOf names an error for the log, which must not show what the error says: the innermost type.
func kindOf(err error) string {
	if p, ok := errors.AsType[*panicked](err); ok {
		return p.Error()
	}
	for {
		inner := errors.Unwrap(err)
		if inner == nil {
			return fmt.Sprintf("%T", err)
		}
		err = inner
	}
}

// tooNew says whether a state was newer than this build.
func tooNew(err error) bool {
	_, ok := errors.AsType[*actors.StateTooNew](err)
	return ok
}
