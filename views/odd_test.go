package views_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/a-h/templ"

	"github.com/lockstep-go/lockstep/actors"
	"github.com/lockstep-go/lockstep/views"
	"github.com/lockstep-go/lockstep/views/testdata/fixture"
)

// Odd is an actor whose observables and components do what they should not.
type Odd struct {
	HTML  string         `json:"html"`
	Words []string       `json:"words"`
	Seen  map[string]int `json:"seen"`
	Boom  bool           `json:"boom"`
}

var (
	Oddities = actors.Define("odd", func() Odd { return Odd{Words: []string{}, Seen: map[string]int{}} })

	RawHTML = actors.Observable(Oddities, "raw_html", func(o Odd) string { return o.HTML })
	Words   = actors.Observable(Oddities, "words", func(o Odd) []string { return o.Words })
	Sorted  = actors.Observable(Oddities, "sorted", func(o Odd) []string { slices.Sort(o.Words); return o.Words })
	Counted = actors.Shared(Oddities, "counted", func(o Odd) int { o.Seen["reads"]++; return o.Seen["reads"] })
	Booming = actors.Observable(Oddities, "booming", func(o Odd) bool { return o.Boom })
	Bomb    = actors.Shared(Oddities, "bomb", func(o Odd) int { panic("no value") })
	Text    = actors.Shared(Oddities, "text", func(o Odd) string { return o.HTML })
	List    = actors.Shared(Oddities, "list", func(o Odd) []string { return o.Words })

	Rewrite = actors.Message[string, actors.None](Oddities, "rewrite")
)

var (
	Shape     = views.Component1("shape", RawHTML, func(h string) templ.Component { return templ.Raw(h) })
	Fine      = views.Component1("fine", Words, func(w []string) templ.Component { return templ.Raw("<p>" + strings.Join(w, ",") + "</p>") })
	SortsRead = views.Component1("sorts_read", Sorted, func([]string) templ.Component { return templ.Raw("<p></p>") })
	SortsSeen = views.Component1("sorts_seen", Words, func(w []string) templ.Component { slices.Sort(w); return templ.Raw("<p></p>") })
	Grumpy    = views.Component1("grumpy", Booming, grumpy).PerViewer()
	Explodes  = views.Component1("explodes", Booming, func(b bool) templ.Component {
		return templ.ComponentFunc(func(context.Context, io.Writer) error {
			if b {
				panic("a component panics")
			}
			return errors.New("a component's own error")
		})
	})
	Wrapped   = views.Component1("wrapped", Booming, func(bool) templ.Component { return Fine })
	HoldsMine = views.Component1("holds_mine", Booming, func(bool) templ.Component {
		return templ.Join(templ.Raw("<div>"), Grumpy, templ.Raw("</div>"))
	})
	HoldsObject = views.Component1("holds_object", Booming, func(bool) templ.Component {
		return templ.Join(templ.Raw("<div>"), views.Object(fixture.Stocks.Ref("mug")), templ.Raw("</div>"))
	})
	MineHoldsObject = views.Component1("mine_holds_object", Booming, func(bool) templ.Component {
		return templ.Join(templ.Raw("<div>"), fixture.StockPage(fixture.Stocks.Ref("mug")), templ.Raw("</div>"))
	}).PerViewer()
	MineHoldsShared = views.Component1("mine_holds_shared", Booming, func(bool) templ.Component {
		return templ.Join(templ.Raw("<div>"), Fine, templ.Raw("</div>"))
	}).PerViewer()
	Styled      = views.Component1("styled", Words, func([]string) templ.Component { return styled() })
	MyStyled    = views.Component1("my_styled", Words, func([]string) templ.Component { return styled() }).PerViewer()
	Grouped     = views.Component1("grouped", Words, func([]string) templ.Component { return group("outer", GroupInside) }).By(fixture.Role)
	GroupInside = views.Component1("group_inside", Words, func([]string) templ.Component { return group("inner", nil) })
	Keys        = views.Keyed1("keys", Words, func(p any, _ []string) templ.Component {
		return templ.Raw("<i>" + templ.EscapeString(fmt.Sprintf("%T %v", p, p)) + "</i>")
	})
	Itself *views.Component
)

func init() {
	Itself = views.Component1("itself", Words, func([]string) templ.Component {
		return templ.Join(templ.Raw("<b>"), Itself, templ.Raw("</b>"))
	})
	Rewrite.Handle(func(o *Odd, _ *actors.Turn[Odd], h string) (actors.None, error) {
		o.HTML = h
		return actors.None{}, nil
	})
}

var once = templ.NewOnceHandle()

// styled uses what templ remembers in a page's ctx: a nonce, classes and blocks that are written once, children.
func styled() templ.Component {
	return templ.ComponentFunc(func(ctx context.Context, w io.Writer) error {
		io.WriteString(w, "<div>")
		class := templ.ComponentCSSClass{ID: "red", Class: ".red{color:red}"}
		err := templ.RenderCSSItems(ctx, w, class)
		if err == nil {
			err = once.Once().Render(templ.WithChildren(ctx, templ.Raw("<b>once</b>")), w)
		}
		if err == nil {
			err = templ.GetChildren(ctx).Render(ctx, w)
		}
		io.WriteString(w, templ.GetNonce(ctx)+"</div>")
		return err
	})
}

// grumpy panics for one viewer only.
func grumpy(bool) templ.Component {
	return templ.ComponentFunc(func(ctx context.Context, w io.Writer) error {
		name := fixture.ViewerOf(ctx).Name
		if name == "X" {
			panic("I do not like X")
		}
		_, err := io.WriteString(w, "<p>"+templ.EscapeString(name)+"</p>")
		return err
	})
}

func group(place string, inside templ.Component) templ.Component {
	return templ.ComponentFunc(func(ctx context.Context, w io.Writer) error {
		_, err := io.WriteString(w, "<p>"+place+"="+views.Group(ctx)+"/"+fixture.ViewerOf(ctx).Name)
		if err == nil && inside != nil {
			err = inside.Render(ctx, w)
		}
		io.WriteString(w, "</p>")
		return err
	})
}

func oddities(o Odd) *store {
	if o.Words == nil {
		o.Words = []string{}
	}
	if o.Seen == nil {
		o.Seen = map[string]int{}
	}
	return &store{states: map[actors.Address]any{{Type: "odd", ID: "o"}: o}}
}
