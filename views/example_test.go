package views_test

import (
	"context"
	"fmt"
	"io"
	"strings"

	"github.com/a-h/templ"

	"github.com/lockstep-go/lockstep/actors"
	"github.com/lockstep-go/lockstep/realtime/wire"
	"github.com/lockstep-go/lockstep/views"
)

type Poll struct {
	Votes map[string]int `json:"votes"`
}

var (
	Polls = actors.Define("poll", func() Poll { return Poll{Votes: map[string]int{}} })
	Votes = actors.Observable(Polls, "votes", func(p Poll) map[string]int { return p.Votes })
	Cast  = actors.Shared(Polls, "cast", func(p Poll) int { return len(p.Votes) })
)

// Usually a template: templ choice(p Choice, votes map[string]int) { <li>{ p.Label }: { votes[p.Name] }</li> }.
func choice(p Choice, votes map[string]int) templ.Component {
	return templ.Raw(fmt.Sprintf("<li>%s: %d</li>", templ.EscapeString(p.Label), votes[p.Name]))
}

type Choice struct{ Name, Label string }

var ChoiceLine = views.Keyed1("choice", Votes, choice)

type onePoll struct{}

func (onePoll) ReadCall(context.Context, string, string) (actors.Snapshot, error) {
	return actors.Snapshot{Stamp: actors.Stamp{Instance: "i1", Revision: 2}, Version: 1, State: []byte(`{"votes":{"yes":3}}`)}, nil
}

// A page shows an actor with a value and a component; package web puts the page into the ctx.
func Example() {
	sealer, err := wire.NewSealer([][]byte{[]byte("0123456789abcdef0123456789abcdef")}, 0, 0)
	if err != nil {
		panic(err)
	}
	ctx := views.WithPage(context.Background(), views.Page{Reader: onePoll{}, Sealer: sealer})
	page := templ.ComponentFunc(func(ctx context.Context, w io.Writer) error { // @views.Object(poll) { … }
		inside := templ.Join(views.Value(Cast), ChoiceLine.Each("yes", Choice{"yes", "Yes, please"}))
		return views.Object(Polls.Ref("lunch")).Render(templ.WithChildren(ctx, inside), w)
	})
	var out strings.Builder
	if err := page.Render(ctx, &out); err != nil {
		panic(err)
	}
	_, html, _ := strings.Cut(out.String(), "instance=")
	fmt.Println(html)
	// Output: "i1" revision="2"><span data-ls="sE3DQc1_T1HKcf8BJIrXPQ">1</span><li data-ls="hb6S2PVDKFSpb6mdOlntVA">Yes, please: 3</li></lockstep-scope>
}
