package views_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"

	"github.com/a-h/templ"

	"github.com/lockstep-go/lockstep/actors"
	"github.com/lockstep-go/lockstep/realtime/wire"
	"github.com/lockstep-go/lockstep/views"
	. "github.com/lockstep-go/lockstep/views/testdata/fixture"
)

// push renders a target as a hub does for this viewer.
func push(t testing.TB, r *views.Renderer, s *store, actor actors.Address, target wire.Target, v Viewer) (views.Fragment, error) {
	t.Helper()
	d, ok := r.Describe(actor.Type, target)
	if !ok {
		t.Fatalf("the renderer does not know %+v of %s", target, actor.Type)
	}
	q := views.Request{Actor: actor, Target: target, Snapshot: s.snapshot(actor.Type, actor.ID)}
	viewer := WithViewer(t.Context(), v)
	switch d.Audience {
	case views.PerViewer:
		q.Viewer = "v1"
		return r.Render(viewer, q)
	case views.ByGroup:
		q.Group = d.Group(viewer)
	}
	return r.Render(context.Background(), q)
}

// R11: what is pushed is what a GET by the same viewer shows.
func TestR11PushedEqualsPage(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	rng := rand.New(rand.NewPCG(seed, 0))
	words := []string{"", "plain", "<b>&amp;", "\n\nlines", "javascript:alert(1)", "https://shop.example/a?b=c&d", "\u202e", `"'`, "Füße 🚀"}
	viewers := []Viewer{{}, {Name: "Ada", Role: "clerk", Language: "de"}, {Name: "Bob <b>", Role: "guest", Language: "en"}}
	for range 50 {
		c := Cart{Lines: map[string]int{}, Status: words[rng.IntN(len(words))], Note: words[rng.IntN(len(words))]}
		for range rng.IntN(4) {
			c.Lines[words[rng.IntN(len(words))]] = rng.IntN(5)
		}
		id := []string{"plain", `<b>"&amp;`, "🚀 x", "../../x"}[rng.IntN(4)]
		s := carts(id, c)
		r := pusher(t, s)
		for _, v := range viewers {
			text := show(t, s, v, CartPage(Carts.Ref(id), words...))
			shown, token := targets(t, text), tokenOf(t, text, 0)
			if again := show(t, s, v, CartPage(Carts.Ref(id), words...)); settled(again) != settled(text) {
				t.Fatal("two renders of one page differ")
			}
			for _, target := range token.Targets {
				f, err := push(t, r, s, token.Actor, target, v)
				if err != nil {
					t.Fatalf("%+v: %v", target, err)
				}
				name := target.Name(token.Actor)
				for _, on := range shown[name] {
					if got := fragment(t, f.HTML); got != on {
						t.Errorf("%+v for %v:\npushed %s\npage   %s", target, v, got, on)
					}
				}
				if len(shown[name]) == 0 {
					t.Errorf("%+v is not on the page", target)
				}
			}
		}
	}
}

// What templ keeps for one page (a nonce, what was written once) is left out of components, on the page as in pushes.
func TestR11WhatBelongsToOnePageIsLeftOut(t *testing.T) {
	s := oddities(Odd{})
	ctx := templ.WithNonce(views.WithPage(t.Context(), page(t, s)), "n0nce")
	withChild := templ.ComponentFunc(func(ctx context.Context, w io.Writer) error {
		return MyStyled.Render(templ.WithChildren(ctx, templ.Raw("child")), w)
	})
	children := templ.Join(views.Script(), styled(), Styled, MyStyled, Styled, withChild)
	text, err := insideOf(ctx, Oddities.Ref("o"), children)
	if err != nil {
		t.Fatal(err)
	}
	if got := strings.Count(text, "n0nce"); got != 4 { // script, its stylesheet, and the style and text outside components
		t.Errorf("the nonce stands %d times, want outside components only: %s", got, text)
	}
	r := pusher(t, s)
	token := tokenOf(t, text, 0)
	for _, target := range token.Targets {
		f, err := push(t, r, s, token.Actor, target, Viewer{})
		if err != nil {
			t.Fatal(err)
		}
		for _, on := range targets(t, text)[target.Name(token.Actor)] {
			if got := fragment(t, f.HTML); got != on || !strings.Contains(got, "<b>once</b>") || !strings.Contains(got, ".red") {
				t.Errorf("%s:\npushed %s\npage   %s", target.Component, got, on)
			}
		}
	}
}

// Parameters come back from the token as the page rendered them, so that names and bytes agree.
func TestParametersComeBack(t *testing.T) {
	s := oddities(Odd{})
	r := pusher(t, s)
	for _, params := range []any{nil, "<&>\u2028", 9007199254740993, 1.0, []any{nil, "x"}, map[string]any{"b": 1, "a": "</i>"}, struct{ private int }{3}, json.RawMessage(` {"a" : 1} `)} {
		text, err := inside(t, s, Oddities.Ref("o"), Keys.Each("k", params))
		if err != nil {
			t.Fatalf("%#v: %v", params, err)
		}
		token := tokenOf(t, text, 0)
		f, err := push(t, r, s, token.Actor, token.Targets[0], Viewer{})
		if on := targets(t, text)[token.Targets[0].Name(token.Actor)]; err != nil || len(on) != 1 || fragment(t, f.HTML) != on[0] {
			t.Errorf("%#v is pushed as %s, %v; on the page it is %v", params, f.HTML, err, on)
		}
	}
	if _, err := inside(t, s, Oddities.Ref("o"), Keys.Each("k", "\x00")); err == nil {
		t.Error("parameters that cannot be stored are taken")
	}
}

// C5: a shared component sees no viewer, a By component its key only.
func TestSharedComponentsSeeNoViewer(t *testing.T) {
	s := carts("a", Cart{Lines: map[string]int{"mug": 1}})
	text := show(t, s, Viewer{Name: "Ada", Role: "clerk", Language: "de"}, CartPage(Carts.Ref("a")))
	for _, want := range []string{"kinds, ; sees </p>", "Clerks of all names see 1</p>", "Hallo Ada"} {
		if !strings.Contains(text, want) {
			t.Errorf("the page lacks %q: %s", want, text)
		}
	}
	odd := oddities(Odd{})
	text, err := insideOf(views.WithPage(WithViewer(t.Context(), Viewer{Name: "Ada", Role: "clerk"}), page(t, odd)), Oddities.Ref("o"), Grouped)
	if err != nil || !strings.Contains(text, "outer=clerk/<p") || !strings.Contains(text, ">inner=/</p>") {
		t.Errorf("a shared component in a By one does not render as it does alone: %s, %v", text, err)
	}
}

func TestRendererIsSafeForConcurrentUse(t *testing.T) {
	s := carts("a", Cart{Lines: map[string]int{"mug": 1}, Status: "open"})
	r := pusher(t, s)
	text := show(t, s, Viewer{}, CartPage(Carts.Ref("a"), "mug", "pen"))
	token := tokenOf(t, text, 0)
	want := map[string]string{}
	for _, target := range token.Targets {
		f, err := push(t, r, s, token.Actor, target, Viewer{})
		if err != nil {
			t.Fatal(err)
		}
		want[target.Name(token.Actor)] = settled(f.HTML)
	}
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for range 30 {
				for _, target := range token.Targets {
					f, err := push(t, r, s, token.Actor, target, Viewer{})
					if name := target.Name(token.Actor); err != nil || settled(f.HTML) != want[name] {
						t.Errorf("%+v: %q, %v; want %q", target, f.HTML, err, want[name])
						return
					}
				}
			}
		})
	}
	wg.Wait()
}

// A push renders the snapshot it is given, whatever was rendered before.
func TestRendererFollowsTheSnapshot(t *testing.T) {
	s := carts("a", Cart{Lines: map[string]int{}})
	r := pusher(t, s)
	at := actors.Address{Type: "cart", ID: "a"}
	for n := range 100 {
		s.bump = int64(n)
		s.states[at] = Cart{Lines: map[string]int{"mug": n}}
		for range 2 {
			f, err := push(t, r, s, at, wire.Target{Component: "=count"}, Viewer{})
			if want := fmt.Sprintf(">%d</span>", n); err != nil || !strings.HasSuffix(f.HTML, want) {
				t.Fatalf("%s, %v; want %s", f.HTML, err, want)
			}
		}
	}
}

func TestDescribe(t *testing.T) {
	r := pusher(t, &store{})
	for _, tc := range []struct {
		typ      string
		target   wire.Target
		known    bool
		audience views.Audience
		observes string
	}{
		{"cart", wire.Target{Component: "summary"}, true, views.Shared, "items status"},
		{"cart", wire.Target{Component: "greeting"}, true, views.PerViewer, "count"},
		{"cart", wire.Target{Component: "staff"}, true, views.ByGroup, "items"},
		{"cart", wire.Target{Component: "line", Key: "k", Params: []byte(`{}`)}, true, views.Shared, "items"},
		{"cart", wire.Target{Component: "=count"}, true, views.Shared, "count"},
		{"cart", wire.Target{Component: "=items"}, false, 0, ""}, // not shared
		{"cart", wire.Target{Component: "line"}, false, 0, ""},   // keyed
		{"cart", wire.Target{Component: "summary", Params: []byte(`1`)}, false, 0, ""},
		{"cart", wire.Target{Component: "shelf"}, false, 0, ""}, // a stock's
		{"stock", wire.Target{Component: "shelf"}, true, views.Shared, "on_hand"},
		{"nobody", wire.Target{Component: "shelf"}, false, 0, ""},
	} {
		d, ok := r.Describe(tc.typ, tc.target)
		if got := strings.Join(d.Observes, " "); ok != tc.known || d.Audience != tc.audience || got != tc.observes {
			t.Errorf("%s %+v: %v, audience %v, observes %q; want %+v", tc.typ, tc.target, ok, d.Audience, got, tc)
		}
		if (d.Group != nil) != (tc.known && tc.audience == views.ByGroup) {
			t.Errorf("%s %+v: a group function is there: %v", tc.typ, tc.target, d.Group != nil)
		}
	}
	if !Carts.Definition().PerViewer() || Stocks.Definition().PerViewer() {
		t.Error("PerViewer and By do not mark their actor type, or mark another")
	}
}
