package views

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"unicode/utf8"

	"github.com/a-h/templ"

	"github.com/lockstep-go/lockstep/actors"
	"github.com/lockstep-go/lockstep/realtime/wire"
)

// Keyed is a component of which an actor's page shows many, told apart by a key and given parameters P.
type Keyed[P any] struct{ c *Component }

// Keyed1 makes a keyed component of one observable, as Component1 does.
func Keyed1[S, A, P any](name string, a actors.Observed[S, A], show func(P, A) templ.Component) *Keyed[P] {
	return &Keyed[P]{newComponent(name, true, []observed[S]{a}, func(params json.RawMessage, v []any) (templ.Component, error) {
		p, err := decodeParams[P](params)
		if err != nil {
			return nil, err
		}
		return show(p, as[A](v[0])), nil
	})}
}

// Keyed2 is Keyed1 with two observables.
func Keyed2[S, A, B, P any](name string, a actors.Observed[S, A], b actors.Observed[S, B], show func(P, A, B) templ.Component) *Keyed[P] {
	return &Keyed[P]{newComponent(name, true, []observed[S]{a, b}, func(params json.RawMessage, v []any) (templ.Component, error) {
		p, err := decodeParams[P](params)
		if err != nil {
			return nil, err
		}
		return show(p, as[A](v[0]), as[B](v[1])), nil
	})}
}

// Keyed3 is Keyed1 with three observables.
func Keyed3[S, A, B, C, P any](name string, a actors.Observed[S, A], b actors.Observed[S, B], c actors.Observed[S, C], show func(P, A, B, C) templ.Component) *Keyed[P] {
	return &Keyed[P]{newComponent(name, true, []observed[S]{a, b, c}, func(params json.RawMessage, v []any) (templ.Component, error) {
		p, err := decodeParams[P](params)
		if err != nil {
			return nil, err
		}
		return show(p, as[A](v[0]), as[B](v[1]), as[C](v[2])), nil
	})}
}

// PerViewer is Component.PerViewer.
func (k *Keyed[P]) PerViewer() *Keyed[P] {
	k.c.PerViewer()
	return k
}

// By is Component.By.
func (k *Keyed[P]) By(group func(ctx context.Context) string) *Keyed[P] {
	k.c.By(group)
	return k
}

// Each is the component of one key. Keys are any valid UTF-8 and compared byte by byte; equal key and parameters are
// one target. The parameters travel in the page's token, signed and readable: they are no place for secrets, and the
// component sees them as JSON brings them back.
func (k *Keyed[P]) Each(key string, params P) templ.Component {
	return templ.ComponentFunc(func(ctx context.Context, w io.Writer) error {
		if !utf8.ValidString(key) {
			return fmt.Errorf("%s: its key is not valid UTF-8", k.c)
		}
		doc, err := actors.EncodeDocument("parameters", params, wire.MaxInflated)
		if err != nil {
			return fmt.Errorf("%s: %w", k.c, err)
		}
		return k.c.place(ctx, w, wire.Target{Component: k.c.name, Key: key, Params: doc})
	})
}

func decodeParams[P any](doc json.RawMessage) (P, error) {
	var p P
	return p, actors.DecodeDocument("parameters", doc, &p)
}
