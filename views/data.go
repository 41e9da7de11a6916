package views

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"

	"github.com/a-h/templ"

	"github.com/lockstep-go/lockstep/actors"
)

// MaxDataBytes is the largest JSON that a Data component shows.
const MaxDataBytes = 1 << 20

// Data makes a component that shows nothing, but gives JavaScript on the page an observable's value as JSON, now and
// after every commit that changes it. What project returns must encode as a JSON object or array of at most
// MaxDataBytes; its ctx is a component's: without values unless PerViewer says otherwise.
//
//	var Chart = views.Data("chart", Points, func(_ context.Context, points []Point) any { return points })
//
// The page's scripts find the value, and hear of its changes, at the element that @Chart writes or anything around it:
//
//	const scope = document.querySelector("lockstep-scope")
//	draw(scope.data("chart"))
//	scope.addEventListener("lockstep:data", ({ detail: { name, value, revision } }) => name === "chart" && draw(value))
//
// The Query policy is asked about the component's name for each viewer, each time, whoever shares its bytes: where it
// refuses, the page has no value, or keeps the one it had, and nothing else is affected.
func Data[S, A any](name string, of actors.Observed[S, A], project func(ctx context.Context, value A) any) *Component {
	if project == nil {
		registered.problem("data %q needs a function", name)
	}
	c := newComponent(name, false, []observed[S]{of}, func(_ json.RawMessage, v []any) (templ.Component, error) {
		return templ.ComponentFunc(func(ctx context.Context, w io.Writer) error {
			doc, err := actors.EncodeDocument("data "+name, project(ctx, as[A](v[0])), MaxDataBytes)
			if err != nil {
				return err
			}
			if doc[0] != '{' && doc[0] != '[' {
				return &actors.InvalidDocument{What: "data " + name, Reason: "must be a JSON object or array"}
			}
			var text bytes.Buffer
			json.HTMLEscape(&text, doc) // which leaves nothing that means something in HTML
			_, err = fmt.Fprintf(w, `<template data-ls-data="%s">%s</template>`, name, &text)
			return err
		}), nil
	})
	c.data = true
	return c
}

// asker is a Reader that can be asked about more than reading a snapshot.
type asker interface {
	MayQuery(ctx context.Context, r actors.Request) error
}

// refused says whether the viewer may not see a Data component.
func (c *Component) refused(ctx context.Context, f frame) (bool, error) {
	if !c.data {
		return false, nil
	}
	a, ok := f.page.Reader.(asker)
	if !ok {
		return false, fmt.Errorf("%s: the page's reader has no MayQuery", c)
	}
	return a.MayQuery(ctx, actors.Request{Type: f.scope.actor.Type, ID: f.scope.actor.ID, Operation: c.name}) != nil, nil
}
