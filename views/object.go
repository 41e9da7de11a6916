package views

import (
	"context"
	"fmt"
	"io"

	"github.com/a-h/templ"

	"github.com/lockstep-go/lockstep/actors"
	"github.com/lockstep-go/lockstep/realtime/wire"
)

// scopeElement is the element that an Object writes.
const scopeElement = "lockstep-scope"

// Object shows one actor. The read is authorized as a query named actors.SnapshotOp under the page's ctx; what stands
// inside is rendered from that one committed snapshot, and written only when all of it succeeded. An actor that has no
// state yet is shown with its fresh one. Objects may stand in each other, but not in a shared component.
func Object[S any](ref actors.Ref[S]) templ.Component {
	def := ref.Type().Definition()
	return templ.ComponentFunc(func(ctx context.Context, w io.Writer) error {
		f := frameOf(ctx)
		switch {
		case f.page == nil:
			return fmt.Errorf("views.Object of a %s on a page without the middleware: put live.Middleware of package web before its handler", def.Name)
		case f.shared:
			return fmt.Errorf("views.Object of a %s inside %s: viewers share that component's bytes, and may not all see the object", def.Name, f.within)
		}
		if err := actors.CheckID(ref.ID()); err != nil {
			return err
		}
		actor := actors.Address{Type: def.Name, ID: ref.ID()}
		snap, err := f.page.Reader.ReadCall(ctx, actor.Type, actor.ID)
		if err != nil {
			return fmt.Errorf("views.Object of a %s: %w", def.Name, err)
		}
		state, err := load(def, snap)
		if err != nil {
			return fmt.Errorf("views.Object of a %s: %w", def.Name, err)
		}
		f.scope = &scope{actor: actor, def: def, state: state}
		inside := templ.GetBuffer()
		defer templ.ReleaseBuffer(inside)
		if err := render(templ.GetChildren(ctx), f.in(templ.ClearChildren(ctx)), inside); err != nil {
			return err
		}
		if err := state.unchanged("views.Object"); err != nil {
			return err
		}
		return f.scope.write(w, f.page, keepNewlines(inside.Bytes()))
	})
}

// render renders a component; its panic is an error.
func render(c templ.Component, ctx context.Context, w io.Writer) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = panicked(p)
		}
	}()
	return c.Render(ctx, w)
}

// write writes the scope's element around what was rendered inside it.
func (s *scope) write(w io.Writer, page *rendering, inside []byte) error {
	stamp := s.state.snap.Stamp
	token, err := page.Sealer.Seal(wire.Token{Actor: s.actor, Targets: s.shown, Stamp: stamp, Build: page.Build, Viewer: page.Viewer})
	if err != nil {
		return fmt.Errorf("views.Object of a %s: %w", s.def.Name, err)
	}
	if page.Sealed != nil {
		if err := page.Sealed(); err != nil {
			return fmt.Errorf("views.Object of a %s: %w", s.def.Name, err)
		}
	}
	_, err = fmt.Fprintf(w, `<%s token="%s" instance="%s" revision="%d">%s</%s>`, scopeElement,
		templ.EscapeString(token), templ.EscapeString(stamp.Instance), stamp.Revision, inside, scopeElement)
	return err
}
