// Package board is an application of everything that a page can show: values, shared, by-group and per-viewer components
// and lists, components inside components, data for scripts, and objects that come and go.
package board

import (
	"context"
	"slices"
	"strconv"

	"github.com/lockstep-go/lockstep/actors"
	"github.com/lockstep-go/lockstep/views"
)

// Shelf is a thing with numbers, and with things in an order.
type Shelf struct {
	N     int     `json:"n"`
	M     int     `json:"m"`
	Rows  int     `json:"rows"`
	Note  string  `json:"note"`
	Goods []Thing `json:"goods"`
}

// Thing stands on a shelf.
type Thing struct {
	Name string `json:"name"`
	Size int    `json:"size"`
}

// Key tells things apart.
func (g Thing) Key() string { return g.Name }

// Change sets one of a shelf's numbers, or puts, moves or takes the thing of that name.
type Change struct {
	What string `json:"what"`
	To   int    `json:"to"`
	Name string `json:"name,omitempty"`
}

// Apply makes a change.
func (s *Shelf) Apply(_ *actors.Turn[Shelf], c Change) (actors.None, error) {
	switch c.What {
	case "n":
		s.N = c.To
	case "m":
		s.M = c.To
	case "rows":
		s.Rows = c.To
	case "quiet":
		s.Note = strconv.Itoa(c.To) // that nothing shows
	case "put", "move", "take":
		s.arrange(c)
	default:
		return actors.None{}, actors.Reject("unknown", "There is no such number.")
	}
	return actors.None{}, nil
}

// arrange adds a thing in front or changes its size, moves it to a place, or takes it away.
func (s *Shelf) arrange(c Change) {
	at := slices.IndexFunc(s.Goods, func(g Thing) bool { return g.Name == c.Name })
	switch {
	case c.What == "put" && at < 0:
		s.Goods = slices.Insert(s.Goods, 0, Thing{c.Name, c.To})
	case at < 0:
	case c.What == "put":
		s.Goods[at].Size = c.To
	default:
		g := s.Goods[at]
		s.Goods = slices.Delete(s.Goods, at, at+1)
		if c.What == "move" {
			s.Goods = slices.Insert(s.Goods, min(c.To, len(s.Goods)), g)
		}
	}
}

// Board says which shelves are shown beside the first.
type Board struct {
	Shows []string `json:"shows"`
}

// Show shows other shelves.
func (b *Board) Show(_ *actors.Turn[Board], ids []string) (actors.None, error) {
	b.Shows = ids
	return actors.None{}, nil
}

// The protocol of shelves and boards.
var (
	Shelves = actors.Define("shelf", func() Shelf { return Shelf{} })
	Set     = actors.Message[Change, actors.None](Shelves, "set")
	N       = actors.Shared(Shelves, "n", func(s Shelf) int { return s.N })
	M       = actors.Observable(Shelves, "m", func(s Shelf) int { return s.M })
	Rows    = actors.Observable(Shelves, "rows", func(s Shelf) int { return s.Rows })
	Goods   = actors.Observable(Shelves, "goods", func(s Shelf) []Thing { return s.Goods })

	Boards = actors.Define("board", func() Board { return Board{} })
	Show   = actors.Message[[]string, actors.None](Boards, "show")
	Shows  = actors.Observable(Boards, "shows", func(b Board) []string { return b.Shows })
)

func init() {
	Set.Handle((*Shelf).Apply)
	Show.Handle((*Board).Show)
}

// The components.
var (
	Sum   = views.Component1("sum", M, sum)
	Mine  = views.Component2("mine", N, M, mine).PerViewer()
	Team  = views.Component1("team", M, team).By(Role)
	Table = views.Component1("table", Rows, table)
	Row   = views.Keyed1("row", N, row)
	Desk  = views.Component1("desk", Shows, desk).PerViewer()

	All   = views.List("all", Goods, Thing.Key, goods, good)
	Ours  = views.List("ours", Goods, Thing.Key, goodsRows, ourGood).By(Role)
	Own   = views.List("own", Goods, Thing.Key, goods, ownGood).PerViewer()
	Sizes = views.Data("sizes", Goods, func(_ context.Context, all []Thing) any { return append([]Thing{}, all...) })
)

type viewerKey struct{}

// Viewer is who looks. Secret is what only they may see.
type Viewer struct{ Name, Role, Secret string }

// WithViewer puts who looks into ctx.
func WithViewer(ctx context.Context, v Viewer) context.Context {
	return context.WithValue(ctx, viewerKey{}, v)
}

// ViewerOf is who looks.
func ViewerOf(ctx context.Context) Viewer {
	v, _ := ctx.Value(viewerKey{}).(Viewer)
	return v
}

// Role is the key of Team.
func Role(ctx context.Context) string { return ViewerOf(ctx).Role }
