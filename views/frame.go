package views

import (
	"context"
	"fmt"
	"sync"

	"github.com/a-h/templ"

	"github.com/lockstep-go/lockstep/actors"
	"github.com/lockstep-go/lockstep/realtime/wire"
)

// maxDepth bounds how deep components may stand in each other, so that one which shows itself is an error and not the
// end of the process.
const maxDepth = 64

// frame is where in a page something is rendered.
type frame struct {
	page   *rendering
	scope  *scope     // nil outside any Object
	within *Component // the innermost component, or nil
	shared bool       // the bytes may be seen by several viewers
	group  string     // of the innermost By component
	form   string     // id of the innermost form
	depth  int
}

type frameKey struct{}

func frameOf(ctx context.Context) frame {
	f, _ := ctx.Value(frameKey{}).(frame)
	return f
}

func (f frame) in(ctx context.Context) context.Context {
	return context.WithValue(ctx, frameKey{}, f)
}

// rendering is one run of a page, or of one pushed fragment.
type rendering struct {
	Page
	pushed bool

	mu    sync.Mutex
	forms map[string]bool
}

// once says whether id was not used by an earlier form of this rendering.
func (r *rendering) once(id string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.forms[id] {
		return false
	}
	if r.forms == nil {
		r.forms = map[string]bool{}
	}
	r.forms[id] = true
	return true
}

// scope is what an Object's inside shows.
type scope struct {
	actor actors.Address
	def   *actors.Definition
	state *loaded
	shown []wire.Target // in the order of their first appearance
	names map[string]bool
}

// show records a target once and returns its name.
func (s *scope) show(t wire.Target) string {
	name := t.Name(s.actor)
	if s.names == nil {
		s.names = map[string]bool{}
	}
	if !s.names[name] {
		s.names[name] = true
		s.shown = append(s.shown, t)
	}
	return name
}

// misplaced says in a sentence why what, which shows an actor of type def, cannot stand here.
func (f frame) misplaced(what string, def *actors.Definition) error {
	switch {
	case f.page == nil:
		return fmt.Errorf("%s on a page without the middleware: put live.Middleware of package web before its handler", what)
	case f.scope == nil:
		return fmt.Errorf("%s outside any views.Object: it shows a %s, so put it inside the views.Object of one", what, def.Name)
	case f.scope.def == def:
		return nil
	case f.scope.def.Name == def.Name:
		return fmt.Errorf("%s inside a views.Object of another actor type named %s: the program defines two", what, def.Name)
	}
	return fmt.Errorf("%s inside the views.Object of a %s: it shows a %s", what, f.scope.def.Name, def.Name)
}

// bare is a ctx that ends with its parent and carries none of its values.
type bare struct{ context.Context }

func (bare) Value(any) any { return nil }

// isolated is ctx for a component's inside: without values where viewers share the bytes, and always without what
// templ remembers of the rest of the page (styles and scripts already written, children, a nonce), since a pushed
// render has none of it and its bytes must be the same.
func isolated(ctx context.Context, f frame) context.Context {
	if f.shared {
		return f.in(templ.InitializeContext(bare{ctx}))
	}
	return f.in(templ.WithNonce(templ.InitializeDocumentContext(templ.ClearChildren(ctx)), ""))
}
