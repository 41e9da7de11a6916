package views

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"

	"github.com/a-h/templ"

	"github.com/lockstep-go/lockstep/actors"
	"github.com/lockstep-go/lockstep/realtime/wire"
)

// Renderer renders single targets from a snapshot, for pushes. It is safe for concurrent use.
type Renderer struct {
	definition func(typ string) *actors.Definition
	page       Page
	kept       stateCache
}

// Description is what a hub must know about a component.
type Description struct {
	Audience Audience
	Observes []string                         // names of observables
	Group    func(ctx context.Context) string // for ByGroup
	List     bool                             // its fragments have a List
	Query    string                           // that each viewer's right is asked about first, if set
}

// Request asks for one target's HTML.
type Request struct {
	Actor    actors.Address
	Target   wire.Target
	Snapshot actors.Snapshot
	Group    string // for ByGroup
	Viewer   string // for PerViewer: wire.Sealer.Viewer
}

// Fragment is a target's HTML: one root element with the target's name, or an empty template element. Where targets
// stand inside it, the root carries a token for them.
type Fragment struct {
	HTML   string
	Nested []wire.Target
	List   *wire.List // of a List: the same HTML in pieces
}

// NewRenderer makes a renderer. The function definition finds an actor type by name, or nil; page is what pushed
// fragments know of their server, its Viewer and Outcome are not used. The error is Check's.
func NewRenderer(definition func(typ string) *actors.Definition, page Page) (*Renderer, error) {
	if err := Check(); err != nil {
		return nil, err
	}
	if page.Sealer == nil || page.Reader == nil {
		return nil, errors.New("a renderer needs a reader and a sealer")
	}
	page.Viewer, page.Outcome, page.Sealed = "", nil, nil
	return &Renderer{definition: definition, page: page}, nil
}

// Describe says what a target of an actor type depends on; false where this build has no such thing.
func (r *Renderer) Describe(typ string, t wire.Target) (Description, bool) {
	def := r.definition(typ)
	if def == nil {
		return Description{}, false
	}
	if p := sharedValue(def, t); p != nil {
		return Description{Audience: Shared, Observes: []string{p.Name}}, true
	}
	c := registered.find(def, t.Component)
	if c == nil || c.keyed != (t.Params != nil) {
		return Description{}, false
	}
	d := Description{Audience: c.audience, List: c.list != nil}
	if c.data {
		d.Query = c.name
	}
	for _, p := range c.observes {
		d.Observes = append(d.Observes, p.Name)
	}
	if c.audience == ByGroup {
		d.Group = c.group
	}
	return d, true
}

// sharedValue is the observable whose value the target shows, or nil.
func sharedValue(def *actors.Definition, t wire.Target) *actors.Projection {
	name, ok := strings.CutPrefix(t.Component, valuePrefix)
	if !ok || t.Key != "" || t.Params != nil {
		return nil
	}
	for _, p := range def.Observables() {
		if p.Name == name && p.Shared {
			return p
		}
	}
	return nil
}

// Render renders a target. For a PerViewer component ctx is the viewer's; for others no value of ctx is seen. A state
// newer than the program is a *actors.StateTooNew, wrapped. The bytes equal those of the same target on a page, but
// for tokens and the keys and outcomes of forms.
func (r *Renderer) Render(ctx context.Context, q Request) (Fragment, error) {
	def := r.definition(q.Actor.Type)
	if def == nil {
		return Fragment{}, &actors.UnknownType{Type: q.Actor.Type}
	}
	state := r.kept.take(def, q.Actor, q.Snapshot)
	if state == nil {
		var err error
		if state, err = load(def, q.Snapshot); err != nil {
			return Fragment{}, err
		}
	}
	out, err := r.render(ctx, q, state)
	if err == nil {
		r.kept.put(q.Actor, state)
	}
	return out, err
}

func (r *Renderer) render(ctx context.Context, q Request, state *loaded) (Fragment, error) {
	f := frame{page: &rendering{Page: r.page, pushed: true}, scope: &scope{actor: q.Actor, def: state.def, state: state}}
	f.page.Viewer = q.Viewer
	if p := sharedValue(state.def, q.Target); p != nil {
		text, err := valueHTML(f.scope, p)
		if err == nil {
			err = state.unchanged("value")
		}
		return Fragment{HTML: text}, err
	}
	c := registered.find(state.def, q.Target.Component)
	if c == nil || c.keyed != (q.Target.Params != nil) {
		return Fragment{}, fmt.Errorf("%s has no component %q", q.Actor.Type, q.Target.Component)
	}
	out := templ.GetBuffer()
	defer templ.ReleaseBuffer(out)
	seen := len(state.values)
	el, err := c.html(ctx, f, q.Target, q.Group, out)
	if err == nil && len(state.values) > seen {
		err = state.unchanged(c.name)
	}
	if err != nil {
		return Fragment{}, err
	}
	name := q.Target.Name(q.Actor)
	nested := f.scope.shown
	token := ""
	if len(nested) > 0 {
		viewer := ""
		if c.audience == PerViewer {
			viewer = q.Viewer
		}
		token, err = r.page.Sealer.Seal(wire.Token{Actor: q.Actor, Targets: nested, Stamp: q.Snapshot.Stamp, Build: r.page.Build, Viewer: viewer})
		if err != nil {
			return Fragment{}, fmt.Errorf("%s: %w", c, err)
		}
	}
	var html strings.Builder
	var pieces *wire.List
	if el != nil && c.list != nil {
		pieces = el.pieces(token)
	}
	if el != nil {
		el.html = keepNewlines(el.html)
	}
	if err := write(&html, el, name, token); err != nil {
		return Fragment{}, err
	}
	return Fragment{html.String(), nested, pieces}, nil
}

// Bounds of a stateCache.
const (
	cachedStates = 64
	cachedBytes  = 8 << 20 // of their JSON
)

// stateCache keeps decoded states, so that the many targets of one snapshot decode it once. A state is taken out to be
// used and put back after: two goroutines never share one.
type stateCache struct {
	mu    sync.Mutex
	held  []cachedState // oldest first
	bytes int
}

type cachedState struct {
	actor actors.Address
	state *loaded
}

func (c *stateCache) take(def *actors.Definition, actor actors.Address, snap actors.Snapshot) *loaded {
	c.mu.Lock()
	defer c.mu.Unlock()
	for i, e := range c.held {
		if e.actor == actor && e.state.def == def && e.state.snap.Stamp == snap.Stamp && e.state.snap.Version == snap.Version {
			c.drop(i)
			return e.state
		}
	}
	return nil
}

func (c *stateCache) put(actor actors.Address, state *loaded) {
	size := len(state.snap.State)
	if state.snap.State == nil || size > cachedBytes/2 { // a fresh state may be another each time
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	for i := len(c.held) - 1; i >= 0; i-- {
		if c.held[i].actor == actor {
			c.drop(i)
		}
	}
	c.held = append(c.held, cachedState{actor, state})
	c.bytes += size
	for len(c.held) > cachedStates || c.bytes > cachedBytes {
		c.drop(0)
	}
}

func (c *stateCache) drop(i int) {
	c.bytes -= len(c.held[i].state.snap.State)
	c.held = append(c.held[:i], c.held[i+1:]...)
}
