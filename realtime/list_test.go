package realtime_test

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/lockstep-go/lockstep/actors"
	"github.com/lockstep-go/lockstep/realtime"
	"github.com/lockstep-go/lockstep/realtime/wire"
)

// itemsOf is a list of the world, for one viewer.
func itemsOf(viewer string, s state) []wire.Item {
	rnd := rand.New(rand.NewPCG(uint64(s["m"]), 1))
	var items []wire.Item
	for _, i := range rnd.Perm(12)[:rnd.IntN(13)] {
		text := fmt.Sprintf("<b>%d</b> %s", i, viewer)
		if i%3 == 0 {
			text += fmt.Sprint(" of ", s["n"])
		}
		items = append(items, item(fmt.Sprint("i", i), text))
	}
	return items
}

func item(name, text string) wire.Item {
	return wire.Item{Name: name, HTML: fmt.Sprintf(`<li data-ls-item="%s">%s</li>`, name, text)}
}

func listFragment(r realtime.RenderRequest, items []wire.Item) realtime.Fragment {
	var html strings.Builder
	html.WriteString(fmt.Sprintf(`<ul data-ls="%s">`, r.Target.Name(r.Actor)))
	for _, item := range items {
		html.WriteString(item.HTML)
	}
	return realtime.Fragment{HTML: html.String() + "</ul>", List: &wire.List{Frame: "<ul></ul>", Items: items}}
}

// patched is what a client makes of a list by a patch; false if it is not the list that the patch is for.
func patched(html string, f wire.Frame) (string, bool) {
	open, rest, _ := strings.Cut(strings.TrimSuffix(html, "</ul>"), ">")
	var order []string
	items := map[string]string{}
	for _, text := range strings.SplitAfter(rest, "</li>") {
		if name := strings.Split(text, `"`); len(name) > 1 {
			order = append(order, name[1])
			items[name[1]] = text
		}
	}
	for _, name := range f.Gone {
		i := slices.Index(order, name)
		if i < 0 {
			return "", false
		}
		order = slices.Delete(order, i, i+1)
		delete(items, name)
	}
	for _, c := range f.Changes {
		if c.HTML != nil {
			items[c.Item] = *c.HTML
		}
		if c.After == nil {
			continue
		}
		order = slices.DeleteFunc(order, func(name string) bool { return name == c.Item })
		at := 0
		if *c.After != "" {
			at = slices.Index(order, *c.After) + 1
		}
		order = slices.Insert(order, at, c.Item)
	}
	var now strings.Builder
	now.WriteString(open + ">")
	for _, name := range order {
		now.WriteString(items[name])
	}
	return now.String() + "</ul>", len(order) == len(items)
}

// bigList is a world with one list of n lines, of which m says one's text.
func bigList(w *world, n int) {
	w.parts["list"] = part{observes: []string{"m"}, items: func(_ context.Context, s state) []wire.Item {
		var items []wire.Item
		for i := range n {
			text := strings.Repeat("text ", 40)
			if i == n/2 {
				text = fmt.Sprint("changed ", s["m"])
			}
			items = append(items, item(fmt.Sprint("item-", i), text))
		}
		return items
	}}
}

// C7: a reader that took nothing meanwhile gets one patch from what it shows to what is, and an older client, which knows
// no patches, the list.
func TestC7_ListConflatesForASlowReader(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		bigList(w, 200)
		a := cart("a")
		w.set(a, "m", 1)
		h := open(t, w, func(c *realtime.Config) { c.WriteStall = -1 })
		old := h.attach(&page{h: h, user: "old", scopes: map[string]*scope{}, whole: true}, "session-old")
		p := &page{h: h, user: "slow", scopes: map[string]*scope{}, ws: h.connect("slow", "session-slow"), done: make(chan struct{})}
		for _, p := range []*page{p, old} {
			p.get("s", a, tList)
			p.subscribe("s")
		}
		for range 2 { // hello and the answer, and then nothing for a while
			_, text, err := p.ws.Read(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			var f wire.Frame
			json.Unmarshal(text, &f)
			p.take(f, func() {})
		}
		for m := 2; m < 30; m++ {
			w.set(a, "m", m)
			wait(settled)
		}
		go p.read(p.ws, p.done)
		t.Cleanup(p.drop)
		wait(settled)
		synctest.Wait()
		p.wantFresh("s", tList)
		old.wantFresh("s", tList)
		if n := len(p.got("l")); n > 4 || p.missed > 0 || len(p.got("f")) > 0 {
			t.Errorf("%d patches, %d missed, %d whole lists, want few patches", n, p.missed, len(p.got("f")))
		}
		if len(old.got("l")) > 0 || len(old.got("f")) < 20 {
			t.Errorf("a client that knows no patches got %d of them, and %d fragments", len(old.got("l")), len(old.got("f")))
		}
	})
}

// C3: whatever is added, removed, moved and changed between two pushes, with answers in between: pages end as a fresh GET,
// and in one scope no patch ever misses.
func TestC3_ListsOfRandomOrder(t *testing.T) {
	rounds := 30
	if testing.Short() {
		rounds = 3
	}
	for range rounds {
		s := *seed
		if s == 0 {
			s = rand.Uint64()
		}
		rnd := rand.New(rand.NewPCG(s, 7))
		bubble(t, func(t *testing.T, w *world) {
			h := open(t, w)
			a := cart("a")
			w.set(a, "m", 1)
			var pages []*page
			for i := range 3 {
				p := h.browse(fmt.Sprint("viewer", i))
				p.get("s", a, tList, tTasks, tCrew)
				p.subscribe("s")
				pages = append(pages, p)
			}
			patches := 0
			for range 80 {
				p := pages[rnd.IntN(len(pages))]
				switch rnd.IntN(10) {
				case 0:
					p.subscribe("s")
				case 1:
					patches += len(p.got("l"))
					p.drop()
					h.attach(p, "session-"+p.user)
					p.subscribe("s")
				case 2, 3, 4:
					w.set(a, "n", rnd.IntN(5))
				default:
					w.set(a, "m", rnd.IntN(500))
				}
				time.Sleep(time.Duration(rnd.IntN(120)) * time.Millisecond)
			}
			time.Sleep(2 * time.Second)
			synctest.Wait()
			for _, p := range pages {
				p.wantFresh("s", tList, tTasks, tCrew)
				patches += len(p.got("l"))
				if p.missed > 0 {
					t.Errorf("%s missed %d patches", p.user, p.missed)
				}
			}
			if patches < 40 {
				t.Errorf("%d patches in the whole schedule: lists are sent whole", patches)
			}
			if t.Failed() {
				t.Logf("the schedule's seed is %d: go test -run ListsOfRandomOrder -seed %d", s, s)
			}
		})
	}
}

// A component with a query of its own is skipped for those who may not see it: no error, no retry, and the rest of their
// page lives; others get the bytes that all share.
func TestC4_RefusedQuerySkipsOneComponent(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		a := cart("a")
		points := wire.Target{Component: "points"}
		w.parts["points"] = part{observes: []string{"n"}, query: "points", render: w.parts["n"].render}
		var both atomic.Bool
		w.allow = func(ctx context.Context, r actors.Request) error {
			if r.Operation == "points" && viewerOf(ctx) == "out" && !both.Load() {
				return errRefused
			}
			return nil
		}
		w.set(a, "n", 1)
		h := open(t, w)
		in, out := h.browse("in"), h.browse("out")
		for _, p := range []*page{in, out} {
			s := p.get("s", a, tN, points)
			s.html[points.Name(a)] = "as it was"
			s.first = false
			p.subscribe("s")
		}
		wait(settled)
		for n := 2; n < 4; n++ {
			w.set(a, "n", n)
			wait(settled)
		}
		in.wantFresh("s", tN, points)
		out.wantFresh("s", tN)
		if got := out.shows("s", points); got != "as it was" {
			t.Errorf("who may not see it got %q", got)
		}
		before := w.rendered("points")
		wait(5 * time.Second)
		if n := w.rendered("points"); n != before || n != 6 {
			t.Errorf("%d renders, %d of them in quiet; want one for each of two pages, three revisions and the comparison", n, n-before)
		}
		both.Store(true)
		w.set(a, "n", 4)
		wait(settled)
		out.wantFresh("s", tN, points)
	})
}
