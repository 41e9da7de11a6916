package web

import (
	"context"

	"github.com/go-chi/chi/v5"

	"github.com/lockstep-go/lockstep/realtime"
	"github.com/lockstep-go/lockstep/realtime/wire"
	"github.com/lockstep-go/lockstep/views"
)

// renderer lets the hub render with the components of package views; neither knows the other.
type renderer struct{ views *views.Renderer }

var audiences = map[views.Audience]realtime.Audience{
	views.Shared:    realtime.Shared,
	views.ByGroup:   realtime.ByGroup,
	views.PerViewer: realtime.PerViewer,
}

func (r renderer) Describe(typ string, t wire.Target) (realtime.Component, bool) {
	d, ok := r.views.Describe(typ, t)
	return realtime.Component{Audience: audiences[d.Audience], Observes: d.Observes, Group: d.Group, List: d.List, Query: d.Query}, ok
}

func (r renderer) Render(ctx context.Context, q realtime.RenderRequest) (realtime.Fragment, error) {
	f, err := r.views.Render(ctx, views.Request(q))
	return realtime.Fragment(f), err
}

// detach gives a viewer's ctx a copy of chi's parameters: chi takes the originals back when the request's handler
// returns, and fills them for the next visitor.
func detach(ctx context.Context) context.Context {
	if route := chi.RouteContext(ctx); route != nil {
		return context.WithValue(ctx, chi.RouteCtxKey, route.Clone())
	}
	return ctx
}
