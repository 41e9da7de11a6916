package realtime_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/lockstep-go/lockstep/realtime"
	"github.com/lockstep-go/lockstep/realtime/wire"
)

// audiences are who may share a list's bytes.
var audiences = map[string]realtime.Audience{"shared": realtime.Shared, "by group": realtime.ByGroup, "per viewer": realtime.PerViewer}

// bigListFor is bigList for one audience, with the viewer's name in every item where there is one.
func bigListFor(w *world, n int, audience realtime.Audience) {
	bigList(w, n)
	shared := w.parts["list"].items
	w.parts["list"] = part{audience: audience, observes: []string{"m"}, group: roleOf, items: func(ctx context.Context, s state) []wire.Item {
		items := shared(ctx, s)
		for i := range items {
			items[i].HTML = strings.Replace(items[i].HTML, "</li>", viewerOf(ctx)+"</li>", 1)
		}
		return items
	}}
}

// wantPatches says that a page got n patches of one item each and nothing whole.
func wantPatches(t *testing.T, p *page, n int) {
	t.Helper()
	patches := p.got("l")
	if len(patches) != n || len(p.got("f")) != 0 || p.missed != 0 {
		t.Fatalf("%s got %d patches and %d whole lists, missed %d; want %d patches", p.user, len(patches), len(p.got("f")), p.missed, n)
	}
	for _, f := range patches {
		if size := len(wire.Encode(f)); len(f.Changes) != 1 || size > 400 {
			t.Errorf("a patch has %d items in %d bytes, want the one that changed", len(f.Changes), size)
		}
	}
}

// C1: where one item of 200 changed, that item is all that is sent, whoever shares the list, and whether the page came
// current, was put right, or lost its connection in between.
func TestC1_ListSendsWhatChanged(t *testing.T) {
	for name, audience := range audiences {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T, w *world) {
				bigListFor(w, 200, audience)
				a := cart("a")
				w.set(a, "m", 1)
				h := open(t, w)
				current, late := h.browse("viewer1"), h.browse("viewer2")
				late.get("s", a, tList)
				w.set(a, "m", 2)
				late.subscribe("s")
				current.get("s", a, tList)
				current.subscribe("s")
				wait(settled)
				if n := len(current.got("ok")[0].Fragments); n != 0 {
					t.Errorf("the current page was sent %d fragments", n)
				}
				before := w.rendered("list")
				for m := 3; m < 6; m++ {
					w.set(a, "m", m)
					wait(settled)
				}
				want := 3
				if audience == realtime.PerViewer {
					want *= 2
				}
				if n := w.rendered("list") - before; n != want {
					t.Errorf("%d renders for three commits, want %d", n, want)
				}
				for _, p := range []*page{current, late} {
					p.wantFresh("s", tList)
					wantPatches(t, p, 3)
					p.drop()
				}
				w.set(a, "m", 6)
				for _, p := range []*page{current, late} {
					h.attach(p, "session-"+p.user)
					p.subscribe("s")
				}
				wait(settled)
				w.set(a, "m", 7)
				wait(settled)
				for _, p := range []*page{current, late} {
					p.wantFresh("s", tList)
					wantPatches(t, p, 1)
				}
			})
		})
	}
}

// A page that shows one list in two scopes gets each change once, for both; also where one of them was put right by an
// answer and the other came current.
func TestC1_ListInTwoScopes(t *testing.T) {
	for name, audience := range audiences {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T, w *world) {
				bigListFor(w, 200, audience)
				a := cart("a")
				w.set(a, "m", 1)
				h := open(t, w)
				p, q := h.browse("viewer1"), h.browse("viewer2")
				q.get("old", a, tList)
				w.set(a, "m", 2)
				for _, name := range []string{"one", "two"} {
					p.get(name, a, tList)
				}
				q.get("new", a, tList)
				p.subscribe("one", "two")
				q.subscribe("old", "new")
				wait(settled)
				for m := 3; m < 6; m++ {
					w.set(a, "m", m)
					wait(settled)
				}
				for p, names := range map[*page][]string{p: {"one", "two"}, q: {"old", "new"}} {
					wantPatches(t, p, 3)
					for _, name := range names {
						p.wantFresh(name, tList)
					}
				}
				p.unsubscribe("one")
				w.set(a, "m", 6)
				wait(settled)
				p.wantFresh("two", tList)
				wantPatches(t, p, 4)
			})
		})
	}
}

// C7: what the hub knows of a viewer's own lists is bounded. A list beyond that is sent whole, others go on, and one that
// has become shorter is known again; what a page no longer shows counts no more.
func TestC7_WhatIsKnownOfOwnListsIsBounded(t *testing.T) {
	for _, audience := range []realtime.Audience{realtime.ByGroup, realtime.PerViewer} {
		t.Run(fmt.Sprint(audience), func(t *testing.T) {
			bubble(t, func(t *testing.T, w *world) {
				tShort := wire.Target{Component: "short"}
				bigListFor(w, 200, audience)
				w.parts["short"] = w.parts["list"]
				w.parts["list"] = part{audience: audience, observes: []string{"n"}, group: roleOf, items: func(_ context.Context, s state) []wire.Item {
					var items []wire.Item
					for i := range 2000 * s["n"] {
						items = append(items, item(fmt.Sprint("i", i), "one"))
					}
					return items
				}}
				a := cart("a")
				w.set(a, "m", 1)
				w.set(a, "n", 2)
				h := open(t, w)
				p := h.browse("viewer1")
				p.get("s", a, tShort, tList)
				for range 5 { // the same scope again, which leaves nothing of the one before
					p.subscribe("s")
					wait(settled)
				}
				for i, test := range []struct {
					name          string
					value         int
					patches, full int
				}{
					{"m", 2, 1, 0},
					{"n", 3, 2, 0},
					{"n", 4, 3, 0}, // which makes 8200 items, more than are known from then on
					{"n", 5, 3, 1},
					{"m", 3, 4, 1},
					{"n", 3, 4, 2},
					{"n", 2, 5, 2},
				} {
					w.set(a, test.name, test.value)
					wait(settled)
					p.wantFresh("s", tShort, tList)
					if patches, full := len(p.got("l")), len(p.got("f")); patches != test.patches || full != test.full || p.missed != 0 {
						t.Errorf("step %d: %d patches, %d whole, %d missed; want %d and %d", i+1, patches, full, p.missed, test.patches, test.full)
					}
				}
			})
		})
	}
}
