package static_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/lockstep-go/lockstep/static/chromiumtest"
)

// patch sends a patch of the list "k" from revision b to r.
func (st *stub) patch(b, r string, gone []string, changes ...change) {
	if gone == nil {
		gone = []string{}
	}
	if changes == nil {
		changes = []change{}
	}
	st.send(frame{T: "l", I: "A", R: r, B: b, K: "k", X: gone, D: changes})
}

func li(key, inner string) string {
	return fmt.Sprintf(`<li data-ls-item="%s">%s</li>`, key, inner)
}

// A list changes item by item: what the user has in hand in an item that moves, changes or stays is left alone, and only
// the named items are touched.
func TestListKeepsFocusAndFormsOfItems(t *testing.T) {
	row := func(key, word string) string {
		return fmt.Sprintf(`<tr data-ls-item="%s"><td>%s</td><td><form action="/x"><input name="qty" value="1"><button>Go</button></form></td></tr>`, key, word)
	}
	st := newStub(t, scope("A", "1", `<table><tbody data-ls="k">`+row("a", "one")+row("b", "two")+row("c", "three")+`</tbody></table>`)+fenceScope)
	p := st.visit()
	p.Eval(`window.nodes = [...document.querySelectorAll("tr")]`, nil)
	p.Type("[data-ls-item=b] input", "42")
	p.Eval(`nodes[1].querySelector("input").setSelectionRange(1, 2); nodes[0].querySelector("input").value = "draft"`, nil)
	st.patch("1", "2", []string{"c"},
		change{K: "b", A: new(""), H: row("b", "TWO")},
		change{K: "d", A: new("b"), H: row("d", "four")})
	p.WaitText(`[data-ls-item=d] td`, "four") // the first patch has list.js loaded
	state := `[...document.querySelectorAll("tbody tr")].map(r => r.cells[0].textContent + r.querySelector("input").value).join() + " " +
		[nodes[1].querySelector("input") === document.activeElement, document.activeElement.selectionStart, nodes[0].isConnected, nodes[1].isConnected, nodes[2].isConnected]`
	if got, want := p.String(state), "TWO142,four1,onedraft true,1,true,true,false"; got != want {
		t.Errorf("after the patch: %s, want %s", got, want)
	}
	watch(p, "tbody")
	st.patch("2", "3", nil, change{K: "d", H: row("d", "FOUR")})
	p.WaitText(`[data-ls-item=d] td`, "FOUR")
	if got := changes(p); got != "before-update, update, characterData #text" {
		t.Errorf("changes = %s", got)
	}
	st.patch("3", "4", nil) // nothing in it changed
	st.patch("3", "4", nil, change{K: "d", H: row("d", "late")})
	st.fence(p)
	if got := changes(p); got != "" {
		t.Errorf("after an empty patch and a copy: %s", got)
	}
	p.Eval(`nodes[1].querySelector("input").focus()`, nil)
	st.patch("4", "5", []string{"b"})
	st.fence(p)
	if got := p.String(`document.activeElement.localName`); got != "tbody" {
		t.Errorf("the focus of a removed item is on %s, want the list", got)
	}
	if n := st.count("sub"); n != 2 {
		t.Errorf("%d subscribes, want the two scopes': every patch fitted", n)
	}
	p.Quiet()
}

// A patch for another list than the page shows, or one whose items somebody took away, is not applied: the page asks
// for everything, once, and is right.
func TestListAsksAnewWhereAPatchDoesNotFit(t *testing.T) {
	list := func(items ...string) string { return `<ul data-ls="k">` + strings.Join(items, "") + `</ul>` }
	for name, spoil := range map[string]func(*stub, *chromiumtest.Page){
		"base": func(st *stub, p *chromiumtest.Page) { st.patch("2", "3", nil, change{K: "a", H: li("a", "wrong")}) },
		"gone": func(st *stub, p *chromiumtest.Page) {
			st.patch("1", "3", []string{"z"}, change{K: "a", H: li("a", "wrong")})
		},
		"unknown": func(st *stub, p *chromiumtest.Page) {
			st.patch("1", "3", nil, change{K: "z", A: new("y"), H: li("z", "wrong")})
		},
		"removed": func(st *stub, p *chromiumtest.Page) {
			p.Eval(`document.querySelector("[data-ls-item=b]").remove()`, nil)
			st.patch("1", "3", nil, change{K: "b", H: li("b", "wrong")})
		},
	} {
		t.Run(name, func(t *testing.T) {
			st := newStub(t, scope("A", "1", list(li("a", "1"), li("b", "1")))+fenceScope)
			st.answerWith(func(h heard) []frame {
				if h.I == "" && strings.HasPrefix(h.Token, "A") && !h.First {
					return []frame{{T: "ok", N: h.N, S: h.S, I: "A", R: "3", F: []fragment{{"k", "3", list(li("b", "3"), li("a", "3"))}}}}
				}
				return []frame{ok(h)}
			})
			p := st.visit()
			if sub := st.all("sub")[0]; !sub.Lists {
				t.Errorf("%+v does not say that patches can be had", sub.frame)
			}
			spoil(st, p)
			p.WaitText("ul", "33")
			st.patch("3", "4", nil, change{K: "a", H: li("a", "4")})
			p.WaitText("ul", "34")
			if n := st.count("sub"); n != 3 {
				t.Errorf("%d subscribes, want one more than the two scopes'", n)
			}
			p.Quiet()
		})
	}
}

// R56: a patch waits for a press, and those that follow meanwhile end as everything anew.
func TestR56ListWaitsForAPress(t *testing.T) {
	button := func(word string) string { return li("a", `<button>press</button><u>`+word+`</u>`) }
	st := newStub(t, scope("A", "1", `<ul data-ls="k">`+button("1")+`</ul>`)+fenceScope)
	st.answerWith(func(h heard) []frame {
		if strings.HasPrefix(h.Token, "A") && !h.First {
			return []frame{{T: "ok", N: h.N, S: h.S, I: "A", R: "4", F: []fragment{{"k", "4", `<ul data-ls="k">` + button("4") + `</ul>`}}}}
		}
		return []frame{ok(h)}
	})
	p := st.visit()
	p.Eval(`window.clicks = 0; addEventListener("click", () => clicks++)`, nil)
	for _, rounds := range [][]string{{"2"}, {"3", "4"}} {
		before := p.Text("u")
		p.Press("button")
		for _, r := range rounds {
			b := fmt.Sprint(r[0] - '1')
			st.patch(b, r, nil, change{K: "a", H: button(r)})
		}
		st.fence(p)
		if got := p.Text("u"); got != before {
			t.Fatalf("updated to %s in the middle of a press", got)
		}
		p.Release("button")
		p.WaitText("u", rounds[len(rounds)-1])
	}
	if got := p.String("clicks"); got != "2" {
		t.Errorf("%s clicks of 2 arrived", got)
	}
	p.Quiet()
}

// Random patches end as the list that they were made for, with every item that stays the same element, and as few moves
// as patches name.
func TestListRandomPatches(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	rnd := rand.New(rand.NewPCG(seed, 1))
	text := func(key string, r int) string { return li(key, fmt.Sprint(key, " at ", r)) }
	var order []string
	shown := map[string]string{}
	st := newStub(t, scope("A", "1", `<ul data-ls="k"></ul>`)+fenceScope)
	p := st.visit()
	order, shown["i0"] = []string{"i0"}, text("i0", 2)
	st.patch("1", "2", nil, change{K: "i0", A: new(""), H: shown["i0"]})
	p.WaitText("ul", "i0 at 2") // what applies patches has been loaded
	for r := 3; r < 80; r++ {
		var gone []string
		var d []change
		for i := len(order) - 1; i >= 0; i-- {
			if rnd.IntN(6) == 0 {
				gone = append(gone, order[i])
				delete(shown, order[i])
				order = append(order[:i:i], order[i+1:]...)
			}
		}
		for range rnd.IntN(4) {
			key, after := fmt.Sprint("i", rnd.IntN(12)), ""
			rest := order[:0:0]
			for _, other := range order {
				if other != key {
					rest = append(rest, other)
				}
			}
			at := rnd.IntN(len(rest) + 1)
			if at > 0 {
				after = rest[at-1]
			}
			c := change{K: key, A: new(after)}
			if shown[key] == "" || rnd.IntN(2) == 0 {
				shown[key] = text(key, r)
				c.H = shown[key]
			}
			order = append(rest[:at:at], append([]string{key}, rest[at:]...)...)
			d = append(d, c)
		}
		gone = keepGone(gone, d)
		st.patch(fmt.Sprint(r-1), fmt.Sprint(r), gone, d...)
	}
	st.fence(p)
	var want strings.Builder
	for _, key := range order {
		want.WriteString(shown[key])
	}
	if got := p.String(`document.querySelector("ul").innerHTML`); got != want.String() {
		t.Errorf("the list is\n%s\nwant\n%s", got, want.String())
	}
	if n := st.count("sub"); n != 2 {
		t.Errorf("%d subscribes, want 2", n)
	}
	p.Quiet()
}

// keepGone leaves out what comes back in the same patch, which a server never sends.
func keepGone(gone []string, d []change) []string {
	kept := []string{}
	for _, key := range gone {
		back := false
		for _, c := range d {
			back = back || c.K == key
		}
		if !back {
			kept = append(kept, key)
		}
	}
	return kept
}

// Data of a page can be read at any time, and each new value is told once, also where a parent brings it.
func TestDataIsToldOnce(t *testing.T) {
	data := func(doc string) string { return `<template data-ls="k" data-ls-data="chart">` + doc + `</template>` }
	st := newStub(t, scope("A", "1", data(`{"n":1,"text":"\u003cb\u003e"}`)+`<div data-ls="p"><template data-ls="q" data-ls-data="inner">[1]</template></div>`)+fenceScope)
	p := st.visit()
	p.Eval(`window.heard = []; window.scope = document.querySelector("lockstep-scope")
		scope.addEventListener("lockstep:data", e => heard.push([e.detail.name, JSON.stringify(e.detail.value), e.detail.revision].join(" ")))`, nil)
	read := `JSON.stringify([scope.data("chart"), scope.data("inner"), scope.data("none")])`
	if got := p.String(read); got != `[{"n":1,"text":"<b>"},[1],null]` {
		t.Errorf("at first: %s", got)
	}
	st.live("A", "2", "k", data(`{"n":2}`))
	st.live("A", "2", "k", data(`{"n":2}`)) // a copy
	st.live("A", "3", "k", data(`{"n":2}`)) // the same value
	st.live("A", "1", "k", data(`{"n":1}`)) // late
	st.live("A", "4", "p", `<div data-ls="p"><template data-ls="q" data-ls-data="inner">[2]</template></div>`)
	st.live("A", "5", "k", `<template data-ls="k"></template>`)
	st.live("A", "6", "k", data(`{"n":6}`))
	st.fence(p)
	if got, want := p.String(`heard.join("; ")`), `chart {"n":2} 2; inner [2] 4; chart {"n":6} 6`; got != want {
		t.Errorf("heard %s, want %s", got, want)
	}
	if got := p.String(read); got != `[{"n":6},[2],null]` {
		t.Errorf("in the end: %s", got)
	}
	p.Quiet()
}
