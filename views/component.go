package views

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"runtime/debug"
	"sync/atomic"
	"unicode/utf8"

	"github.com/a-h/templ"

	"github.com/lockstep-go/lockstep/actors"
	"github.com/lockstep-go/lockstep/realtime/wire"
)

// attribute is what a target's name is written with.
const attribute = ` data-ls="`

// Audience says who may share a component's bytes.
type Audience int

// The audiences of a component.
const (
	Shared    Audience = iota // everybody who may see the actor
	ByGroup                   // those with an equal group key
	PerViewer                 // nobody
)

// Component is a part of an actor's page that stays current. It is a templ.Component: write @Summary inside the
// views.Object of an actor of its type. It may stand there several times.
type Component struct {
	def      *actors.Definition
	name     string
	observes []*actors.Projection
	keyed    bool
	show     func(params json.RawMessage, values []any) (templ.Component, error)
	list     *list // instead of show
	data     bool  // it is for scripts, and has a query of its own

	audience Audience
	group    func(ctx context.Context) string

	proven atomic.Bool // its HTML was found to be one element
	pure   atomic.Bool // it was found to leave what it is shown as it was
}

// Component1 makes a component of one observable and adds it to the observable's actor type. Its name is part of the
// page's tokens: renaming it ends its part of open pages of an older build. The function show is usually a templ
// template; it must not change what it is given.
func Component1[S, A any](name string, a actors.Observed[S, A], show func(A) templ.Component) *Component {
	return newComponent(name, false, []observed[S]{a}, func(_ json.RawMessage, v []any) (templ.Component, error) {
		return show(as[A](v[0])), nil
	})
}

// Component2 is Component1 with two observables.
func Component2[S, A, B any](name string, a actors.Observed[S, A], b actors.Observed[S, B], show func(A, B) templ.Component) *Component {
	return newComponent(name, false, []observed[S]{a, b}, func(_ json.RawMessage, v []any) (templ.Component, error) {
		return show(as[A](v[0]), as[B](v[1])), nil
	})
}

// Component3 is Component1 with three observables. Where that is not enough, observe one struct.
func Component3[S, A, B, C any](name string, a actors.Observed[S, A], b actors.Observed[S, B], c actors.Observed[S, C], show func(A, B, C) templ.Component) *Component {
	return newComponent(name, false, []observed[S]{a, b, c}, func(_ json.RawMessage, v []any) (templ.Component, error) {
		return show(as[A](v[0]), as[B](v[1]), as[C](v[2])), nil
	})
}

// observed is an observable of S, whatever its value.
type observed[S any] interface {
	Actor() *actors.Type[S]
	Projection() *actors.Projection
}

// as is v as a T; an interface's nil is T's.
func as[T any](v any) T {
	t, _ := v.(T)
	return t
}

func newComponent[S any](name string, keyed bool, of []observed[S], show func(json.RawMessage, []any) (templ.Component, error)) *Component {
	c := &Component{name: name, keyed: keyed, show: show}
	for i, o := range of {
		if o == nil {
			registered.problem("component %q: its observable %d is nil", name, i+1)
			return &Component{name: name}
		}
		def := o.Actor().Definition()
		if c.def != nil && c.def != def {
			registered.problem("component %q observes a %s and a %s, must be of one actor type", name, c.def.Name, def.Name)
		}
		if c.def == nil {
			c.def = def
		}
		c.observes = append(c.observes, o.Projection())
	}
	if !checkName(name) {
		registered.problem("%s: component %q: its name must be a letter followed by letters, digits and underscores, at most %d bytes", c.def.Name, name, actors.MaxNameBytes)
	}
	registered.add(c)
	return c
}

// PerViewer makes the component's bytes each viewer's own: it is rendered under the viewer's ctx, on the page and in
// pushes, after every commit that changes state, and the read is authorized anew each time. Call it where the
// component is defined.
func (c *Component) PerViewer() *Component { return c.forAudience(PerViewer, nil) }

// By makes viewers with an equal key share the component's bytes: group tells the key from a viewer's ctx, and the
// render sees no more of the viewer than Group. Call it where the component is defined.
func (c *Component) By(group func(ctx context.Context) string) *Component {
	if group == nil {
		registered.problem("component %q: By needs a function", c.name)
	}
	return c.forAudience(ByGroup, group)
}

func (c *Component) forAudience(a Audience, group func(context.Context) string) *Component {
	if c.audience != Shared {
		registered.problem("component %q: PerViewer or By is said twice", c.name)
	}
	c.audience, c.group = a, group
	if c.def != nil {
		c.def.MarkPerViewer()
	}
	return c
}

// Group is the key that a By component is rendered for; outside one, and in other components inside it, it is "".
func Group(ctx context.Context) string { return frameOf(ctx).group }

// Render renders the component as a target of the views.Object around it.
func (c *Component) Render(ctx context.Context, w io.Writer) error {
	return c.place(ctx, w, wire.Target{Component: c.name})
}

func (c *Component) String() string {
	if c.def == nil {
		return "component " + c.name
	}
	return "component " + c.def.Name + "." + c.name
}

// place renders a target where it stands, on a page or inside another target.
func (c *Component) place(ctx context.Context, w io.Writer, t wire.Target) error {
	f := frameOf(ctx)
	if err := f.misplaced(c.String(), c.def); err != nil {
		return err
	}
	if (c.audience != Shared || c.data) && f.shared {
		return fmt.Errorf("%s depends on who looks, but stands in %s, whose bytes viewers share", c, f.within)
	}
	name := f.scope.show(t)
	if refused, err := c.refused(ctx, f); refused || err != nil {
		if err == nil {
			err = write(w, nil, name, "")
		}
		return err
	}
	group := "" // a shared component in a By one is the same in all of them
	if c.audience == ByGroup {
		var err error
		if group, err = c.groupOf(ctx); err != nil {
			return fmt.Errorf("%s: group: %w", c, err)
		}
	}
	out := templ.GetBuffer()
	defer templ.ReleaseBuffer(out)
	el, err := c.html(ctx, f, t, group, out)
	if err != nil {
		return err
	}
	return write(w, el, name, "")
}

// html renders a target's inside; its bytes are out's. A nil element is a component that shows nothing.
func (c *Component) html(ctx context.Context, f frame, t wire.Target, group string, out *bytes.Buffer) (el *element, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = panicked(p)
		}
		if err != nil {
			err = fmt.Errorf("%s: %w", c, err)
		}
	}()
	if f.depth++; f.depth > maxDepth {
		return nil, fmt.Errorf("components stand in each other more than %d deep: does one show itself?", maxDepth)
	}
	inner := f
	inner.within = c
	inner.shared = f.shared || c.audience != PerViewer
	inner.group = group
	values := make([]any, len(c.observes))
	for i, p := range c.observes {
		if values[i], err = f.scope.state.value(p); err != nil {
			return nil, err
		}
	}
	if c.list != nil {
		el, err = c.list.html(isolated(ctx, inner), t.Name(f.scope.actor), values[0], c.proven.Load(), out)
	} else {
		err = c.showIn(isolated(ctx, inner), t.Params, values, out)
	}
	if err != nil {
		return nil, err
	}
	if out.Len() > 0 && !c.pure.Load() { // one that shows nothing is looked at with the whole object
		if err := f.scope.state.unchanged(c.name); err != nil {
			return nil, err
		}
	}
	if el != nil { // a list's items were looked at one by one
		if len(el.items) > 0 {
			c.proven.Store(true)
			c.pure.Store(true)
		}
		return el, nil
	}
	text := out.Bytes()
	if !utf8.Valid(text) {
		text = bytes.ToValidUTF8(text, []byte("\uFFFD"))
	}
	el, err = rootOf(text, c.proven.Load())
	if err == nil && el != nil {
		c.proven.Store(true)
		c.pure.Store(true)
	}
	return el, err
}

// showIn renders what show returns.
func (c *Component) showIn(ctx context.Context, params json.RawMessage, values []any, out *bytes.Buffer) error {
	shown, err := c.show(params, values)
	if shown == nil || err != nil {
		return err
	}
	return shown.Render(ctx, out)
}

// write writes a target with its name, and with a token for what is nested in it if there is one.
func write(w io.Writer, el *element, name, token string) error {
	if el == nil {
		_, err := w.Write(empty(name))
		return err
	}
	attrs := attribute + name + `"`
	if token != "" {
		attrs += ` data-ls-token="` + token + `"`
	}
	_, err := w.Write(el.html[:el.name])
	if err == nil {
		_, err = io.WriteString(w, attrs)
	}
	if err == nil {
		_, err = w.Write(el.html[el.name:])
	}
	return err
}

func (c *Component) groupOf(ctx context.Context) (key string, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = panicked(p)
		}
	}()
	if c.group == nil {
		return "", errors.New("By was given no function")
	}
	return c.group(ctx), nil
}

func panicked(p any) *actors.Panicked {
	return &actors.Panicked{Value: actors.CleanText(fmt.Sprint(p), 8<<10), Stack: actors.CleanText(string(debug.Stack()), 8<<10)}
}
