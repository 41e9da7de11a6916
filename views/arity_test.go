package views_test

import (
	"context"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/a-h/templ"

	"github.com/lockstep-go/lockstep/actors"
	"github.com/lockstep-go/lockstep/realtime/wire"
	"github.com/lockstep-go/lockstep/views"
	. "github.com/lockstep-go/lockstep/views/testdata/fixture"
)

// triple is an actor of its own, so that what registers on it is seen by this test alone.
type triple struct {
	A int    `json:"a"`
	B string `json:"b"`
	C bool   `json:"c"`
}

type label struct {
	Text string `json:"text"`
}

func shown(format string, args ...any) templ.Component {
	return templ.ComponentFunc(func(_ context.Context, w io.Writer) error {
		_, err := fmt.Fprintf(w, "<p>"+format+"</p>", args...)
		return err
	})
}

var (
	triples = actors.Define("triple", func() triple { return triple{} })
	partA   = actors.Observable(triples, "a", func(s triple) int { return s.A })
	partB   = actors.Observable(triples, "b", func(s triple) string { return s.B })
	partC   = actors.Shared(triples, "c", func(s triple) bool { return s.C })

	three    = views.Component3("three", partA, partB, partC, func(a int, b string, c bool) templ.Component { return shown("%d %s %t", a, b, c) })
	keyedTwo = views.Keyed2("two", partA, partB, func(p label, a int, b string) templ.Component { return shown("%s: %d %s", p.Text, a, b) })
	keyedAll = views.Keyed3("all", partA, partB, partC, func(p label, a int, b string, c bool) templ.Component { return shown("%s: %d %s %t", p.Text, a, b, c) })

	keyedOwn = views.Keyed1("own", partA, func(p label, a int) templ.Component {
		return templ.ComponentFunc(func(ctx context.Context, w io.Writer) error {
			return shown("%s has %d", ViewerOf(ctx).Name+p.Text, a).Render(ctx, w)
		})
	}).PerViewer()
	keyedGroup = views.Keyed1("group", partA, func(p label, a int) templ.Component {
		return templ.ComponentFunc(func(ctx context.Context, w io.Writer) error {
			return shown("%s%s%s sees %d", views.Group(ctx), p.Text, ViewerOf(ctx).Name, a).Render(ctx, w)
		})
	}).By(Role)
)

func TestComponentsOfThreeAndKeyedOnes(t *testing.T) {
	s := &store{states: map[actors.Address]any{{Type: "triple", ID: "x"}: triple{7, "b", true}}}
	v := Viewer{Name: "ada", Role: "clerk"}
	ctx := views.WithPage(WithViewer(t.Context(), v), page(t, s))
	text, err := insideOf(ctx, triples.Ref("x"), three, keyedTwo.Each("k", label{"two"}), keyedAll.Each("k", label{"all"}),
		keyedOwn.Each("k", label{"!"}), keyedGroup.Each("k", label{"s:"}))
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"7 b true", "two: 7 b", "all: 7 b true", "ada! has 7", "clerks: sees 7"} {
		if !strings.Contains(text, ">"+want+"</p>") {
			t.Errorf("the page does not show %q: %s", want, text)
		}
	}
	r, err := views.NewRenderer(func(string) *actors.Definition { return triples.Definition() }, page(t, s))
	if err != nil {
		t.Fatal(err)
	}
	for target, want := range map[string]views.Description{
		"three": {Audience: views.Shared, Observes: []string{"a", "b", "c"}},
		"two":   {Audience: views.Shared, Observes: []string{"a", "b"}},
		"all":   {Audience: views.Shared, Observes: []string{"a", "b", "c"}},
		"own":   {Audience: views.PerViewer, Observes: []string{"a"}},
		"group": {Audience: views.ByGroup, Observes: []string{"a"}},
	} {
		at := wire.Target{Component: target}
		if target != "three" {
			at.Key, at.Params = "k", []byte(`{"text":"x"}`)
		}
		got, ok := r.Describe("triple", at)
		if !ok || got.Audience != want.Audience || fmt.Sprint(got.Observes) != fmt.Sprint(want.Observes) {
			t.Errorf("%s is %+v, %t; want %+v", target, got, ok, want)
		}
	}
	if !triples.Definition().PerViewer() {
		t.Error("what is shown for each viewer does not have every commit broadcast")
	}
}
