package views_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/a-h/templ"
	"golang.org/x/net/html"

	"github.com/lockstep-go/lockstep/actors"
	"github.com/lockstep-go/lockstep/realtime/wire"
	"github.com/lockstep-go/lockstep/views"
	. "github.com/lockstep-go/lockstep/views/testdata/fixture"
)

// R30: a panic is an error, for that viewer and that component only.
func TestR30PanicIsAnError(t *testing.T) {
	s := oddities(Odd{Boom: true})
	r := pusher(t, s)
	at := actors.Address{Type: "odd", ID: "o"}
	_, err := push(t, r, s, at, wire.Target{Component: "grumpy"}, Viewer{Name: "X"})
	p, ok := errors.AsType[*actors.Panicked](err)
	if !ok || !strings.Contains(err.Error(), "odd.grumpy") || p.Value != "I do not like X" || p.Stack == "" {
		t.Errorf("for X: %v", err)
	}
	if f, err := push(t, r, s, at, wire.Target{Component: "grumpy"}, Viewer{Name: "Y"}); err != nil || !strings.Contains(f.HTML, ">Y<") {
		t.Errorf("for Y: %s, %v", f.HTML, err)
	}
	for _, target := range []string{"explodes", "=bomb"} {
		if _, err := push(t, r, s, at, wire.Target{Component: target}, Viewer{}); err == nil {
			t.Errorf("%s: no error", target)
		}
	}
	for _, c := range []templ.Component{Explodes, views.Value(Bomb), templ.ComponentFunc(nil)} {
		if text, err := inside(t, s, Oddities.Ref("o"), templ.Raw("<p>before</p>"), c); err == nil || text != "" {
			t.Errorf("a page with a panic gives %q, %v", text, err)
		} else if _, ok := errors.AsType[*actors.Panicked](err); !ok {
			t.Errorf("a page with a panic: %v, want *actors.Panicked", err)
		}
	}
}

// R34: a page too large is refused when it is rendered, with both numbers.
func TestR34PageTooLarge(t *testing.T) {
	lines := func(n int, key string) (all []templ.Component) {
		for i := range n {
			all = append(all, Line.Each(fmt.Sprint(key, i), LineParams{}))
		}
		return all
	}
	s := carts("a", Cart{})
	if _, err := inside(t, s, Carts.Ref("a"), lines(1000, "")...); err != nil {
		t.Errorf("the largest number of targets: %v", err)
	}
	_, err := inside(t, s, Carts.Ref("a"), lines(1001, "")...)
	if tooLarge, ok := errors.AsType[*views.PageTooLarge](err); !ok || tooLarge.Targets != 1001 || tooLarge.MaxTargets != 1000 {
		t.Errorf("one target more: %v", err)
	}
	var random []templ.Component
	for i := range 900 {
		random = append(random, Line.Each(fmt.Sprintf("%x", noise(i)), LineParams{}))
	}
	_, err = inside(t, s, Carts.Ref("a"), random...)
	if tooLarge, ok := errors.AsType[*views.PageTooLarge](err); !ok || tooLarge.Bytes <= 48<<10 || tooLarge.MaxBytes != 64<<10 {
		t.Errorf("a token too large: %v", err)
	}
}

// noise is 60 bytes that do not compress.
func noise(seed int) []byte {
	out := make([]byte, 60)
	x := uint32(seed)*2654435761 + 1
	for i := range out {
		x ^= x << 13
		x ^= x >> 17
		x ^= x << 5
		out[i] = byte(x)
	}
	return out
}

var hostile = []string{
	`</span><script>alert(1)</script>`, `" onmouseover="alert(1)`, `' onerror='alert(1)`, `</template><img src=x>`,
	`javascript:alert(1)`, `<!-- open`, `</lockstep-scope>`, `</textarea></pre></li><i>`, "a\u202eb", `{"c":"=count"}`, `&lt;b&gt;`,
}

// elements counts the elements and attribute names of a page.
func elements(t *testing.T, text string) map[string]int {
	t.Helper()
	doc, err := html.Parse(strings.NewReader(settled(text)))
	if err != nil {
		t.Fatal(err)
	}
	count := map[string]int{}
	for n := range doc.Descendants() {
		if n.Type == html.CommentNode {
			continue
		}
		if n.Type == html.ElementNode {
			count[n.Data]++
		}
		for _, a := range n.Attr {
			count["@"+a.Key]++
			if a.Key == "href" && strings.HasPrefix(a.Val, "javascript:") {
				t.Errorf("a javascript: link is live: %s", a.Val)
			}
		}
	}
	return count
}

// R46: hostile text is shown as text, wherever it comes from.
func TestR46HostileText(t *testing.T) {
	build := func(evil string) string {
		s := carts(evil, Cart{Lines: map[string]int{evil: 1}, Status: evil, Note: evil})
		p := page(t, s)
		ref := Carts.Ref(evil)
		text := show(t, s, Viewer{Name: evil, Role: "clerk", Language: evil}, CartPage(ref, evil))
		id := formOf(t, text, "/cart/add")
		p.Outcome = &views.Outcome{Form: id, Code: evil, Text: evil, Values: map[string][]string{"sku": {evil}, "tags": {evil, evil}}}
		text, err := try(views.WithPage(WithViewer(t.Context(), Viewer{Name: evil, Role: "clerk", Language: evil}), p), CartPage(ref, evil))
		if err != nil {
			t.Fatal(err)
		}
		return text
	}
	want := elements(t, build("harmless"))
	for _, evil := range hostile {
		text := build(evil)
		if got := elements(t, text); fmt.Sprint(got) != fmt.Sprint(want) {
			t.Errorf("%q changes the page's elements:\n got %v\nwant %v", evil, got, want)
		}
		token := tokenOf(t, text, 0)
		if token.Actor.ID != evil {
			t.Errorf("the token names actor %q, want %q", token.Actor.ID, evil)
		}
		s := carts(evil, Cart{Lines: map[string]int{evil: 1}, Status: evil, Note: evil})
		r := pusher(t, s)
		for _, target := range token.Targets {
			f, err := push(t, r, s, token.Actor, target, Viewer{Name: evil, Role: "clerk", Language: evil})
			if err != nil {
				t.Fatal(err)
			}
			if on := targets(t, text)[target.Name(token.Actor)]; len(on) == 0 || fragment(t, f.HTML) != on[0] {
				t.Errorf("%q: %+v is pushed as %s, on the page it is %v", evil, target, f.HTML, on)
			}
		}
	}
}

// formOf is the id of the page's form with that action.
func formOf(t *testing.T, text, action string) string {
	t.Helper()
	_, rest, ok := strings.Cut(text, `action="`+action+`" data-ls-form="`)
	if !ok {
		t.Fatalf("no form for %s in %s", action, text)
	}
	id, _, _ := strings.Cut(rest, `"`)
	return id
}

// R58: parser quirks.
func TestR58OneRoot(t *testing.T) {
	for _, tc := range []struct {
		html  string
		want  string // the target, without its name
		fault string
	}{
		{html: `<p>one</p>`, want: `<p>one</p>`},
		{html: "<!-- a > b --> \n\t<p>comment first</p>\n<!-- last -->\n", want: `<p>comment first</p>`},
		{html: "\n\n <p>blank first</p>", want: `<p>blank first</p>`},
		{html: `<!--><p>short comment</p>`, want: `<p>short comment</p>`},
		{html: "", want: `<template></template>`},
		{html: " <!-- only a comment -->\n", want: `<template></template>`},
		{html: `<input name="a">`, want: `<input name="a">`},
		{html: `<input name="a > b"/>`, want: `<input name="a > b"/>`},
		{html: `<svg><path d=""/><circle/></svg>`, want: `<svg><path d=""/><circle/></svg>`},
		{html: `<ul><li>a<li>b</ul>`, want: `<ul><li>a<li>b</ul>`},
		{html: `<tr><td>1</td></tr>`, want: `<tr><td>1</td></tr>`},
		{html: `<div><textarea></div></textarea></div>`, want: `<div><textarea></div></textarea></div>`},
		{html: `<P>upper</P>`, want: `<P>upper</P>`},
		{html: `text`, fault: "begins with text"},
		{html: `text <p>first</p>`, fault: "begins with text"},
		{html: `<p>last</p> text`, fault: "text after its root element <p>"},
		{html: `<p>a</p><p>b</p>`, fault: "two root elements"},
		{html: `<br><p>b</p>`, fault: "two root elements"},
		{html: `<p>a</p></div>`, fault: "two root elements, or something else"},
		{html: `</p>`, fault: "start tag"},
		{html: `<!doctype html><p></p>`, fault: "start tag"},
		{html: `<p>open`, fault: "not closed"},
		{html: `<div/>`, fault: "not closed"},
		{html: `<!-- open <p></p>`, fault: "comment that does not end"},
	} {
		s := oddities(Odd{HTML: tc.html})
		s.states[actors.Address{Type: "odd", ID: "o"}] = Odd{HTML: tc.html, Words: []string{}, Seen: map[string]int{}}
		shape := freshShape(t)
		text, err := inside(t, s, Oddities.Ref("o"), shape)
		if tc.fault != "" {
			if err == nil || !strings.Contains(err.Error(), tc.fault) || !strings.Contains(err.Error(), "component odd.shape") {
				t.Errorf("%q: %v, want an error of the component with %q", tc.html, err, tc.fault)
			}
			continue
		}
		if err != nil {
			t.Errorf("%q: %v", tc.html, err)
			continue
		}
		_, inner, _ := strings.Cut(text, ">")
		inner = strings.TrimSuffix(inner, "</lockstep-scope>")
		name := wire.Target{Component: shapeName(shape)}.Name(actors.Address{Type: "odd", ID: "o"})
		if got := strings.Replace(inner, ` data-ls="`+name+`"`, "", 1); got != tc.want || got == inner {
			t.Errorf("%q: the target is %s, want %s with its name", tc.html, inner, tc.want)
		}
	}
}

var shapes int

// freshShape is Shape as a component that was never rendered.
func freshShape(t *testing.T) *views.Component {
	t.Helper()
	shapes++
	return views.Component1(fmt.Sprintf("shape_%d", shapes), RawHTML, func(h string) templ.Component { return templ.Raw(h) })
}

func shapeName(c *views.Component) string { return strings.TrimPrefix(c.String(), "component odd.") }

// R58: what was proven once is only looked at from its ends, which still finds text and other elements.
func TestR58LaterRendersAreLookedAt(t *testing.T) {
	shape := freshShape(t)
	for _, tc := range []struct {
		html string
		ok   bool
	}{{"<p>a</p>", true}, {"<p>a</p> text", false}, {"<p>a</p><b>c</b>", false}, {"text<p>a</p>", false}, {"", true}, {"<p>b</p>", true}} {
		if _, err := inside(t, oddities(Odd{HTML: tc.html}), Oddities.Ref("o"), shape); (err == nil) != tc.ok {
			t.Errorf("%q: %v", tc.html, err)
		}
	}
}

// R58: a value keeps its newlines in a textarea and a pre, on the page and pushed.
func TestR58LeadingNewlines(t *testing.T) {
	for _, note := range []string{"none", "\none", "\n\ntwo", "\n", ""} {
		s := carts("a", Cart{Note: note})
		text := show(t, s, Viewer{}, CartPage(Carts.Ref("a")))
		token := tokenOf(t, text, 0)
		f, err := push(t, pusher(t, s), s, token.Actor, wire.Target{Component: "notes"}, Viewer{})
		if err != nil {
			t.Fatal(err)
		}
		for where, text := range map[string]string{"page": text, "push": f.HTML} {
			doc, err := html.Parse(strings.NewReader(text))
			if err != nil {
				t.Fatal(err)
			}
			for n := range doc.Descendants() {
				if n.Data == "textarea" || n.Data == "pre" {
					got := ""
					if n.FirstChild != nil {
						got = n.FirstChild.Data
					}
					if got != note {
						t.Errorf("%s: %s shows %q, want %q", where, n.Data, got, note)
					}
				}
			}
		}
	}
}

// R59: a target may stand several times; different keys never share a name.
func TestR59Names(t *testing.T) {
	s := carts("a", Cart{Lines: map[string]int{"mug": 1}})
	text, err := inside(t, s, Carts.Ref("a"), Line.Each("k", LineParams{SKU: "mug"}), Line.Each("k", LineParams{SKU: "mug"}), views.Value(Count), views.Value(Count))
	if err != nil {
		t.Fatal(err)
	}
	token := tokenOf(t, text, 0)
	if len(token.Targets) != 2 {
		t.Errorf("the token names %d targets, want 2", len(token.Targets))
	}
	for name, on := range targets(t, text) {
		if len(on) != 2 || on[0] != on[1] {
			t.Errorf("%s stands as %q, want twice the same", name, on)
		}
	}
	keys := []string{"a b", "a_b", "A b", "a/b", "a%b", "🚀", "🚁", "", " ", "a b ", "a|b", "a||b", "é", "e\u0301", strings.Repeat("x", 300), strings.Repeat("x", 299) + "y"}
	var all []templ.Component
	for _, k := range keys {
		all = append(all, Line.Each(k, LineParams{SKU: "same"}))
	}
	all = append(all, Line.Each("", LineParams{SKU: "other"}))
	if text, err = inside(t, s, Carts.Ref("a"), all...); err != nil {
		t.Fatal(err)
	}
	if got := len(targets(t, text)); got != len(all) {
		t.Errorf("%d different targets have %d names", len(all), got)
	}
	for i, target := range tokenOf(t, text, 0).Targets[:len(keys)] {
		if target.Key != keys[i] {
			t.Errorf("key %q comes back as %q", keys[i], target.Key)
		}
	}
	if _, err := inside(t, s, Carts.Ref("a"), Line.Each("\xff", LineParams{})); err == nil || !strings.Contains(err.Error(), "cart.line: its key is not valid UTF-8") {
		t.Errorf("a key of bytes: %v", err)
	}
}

// D02, D03: every accepted id survives into the token and back, with a name of its own; a refused one is typed.
func TestD02D03Ids(t *testing.T) {
	names := map[string]string{}
	for _, id := range []string{" ", strings.Repeat("x", 191), "a\u202eb", "../../x", "http://h/p?q=1#f", "%2F", "x|y", "x||y", "x/y", "x%y", "x_y", "xzy", "b:c", strings.Repeat("f", 180)} {
		s := carts(id, Cart{})
		text, err := inside(t, s, Carts.Ref(id), Summary)
		if err != nil {
			t.Fatalf("%q: %v", id, err)
		}
		token := tokenOf(t, text, 0)
		if token.Actor.ID != id {
			t.Errorf("id %q comes back as %q", id, token.Actor.ID)
		}
		name := token.Targets[0].Name(token.Actor)
		if other, taken := names[name]; taken {
			t.Errorf("ids %q and %q share the target %s", id, other, name)
		}
		names[name] = id
	}
	for _, id := range []string{"", strings.Repeat("x", 192), strings.Repeat("🚀", 48), "a\x00b", "\xff", "a\nb"} {
		s := &store{}
		_, err := inside(t, s, Carts.Ref(id), Summary)
		if bad, ok := errors.AsType[*actors.InvalidID](err); !ok || bad.Bytes != len(id) || s.reads != 0 {
			t.Errorf("id of %d bytes: %v after %d reads, want *actors.InvalidID before any", len(id), err, s.reads)
		}
	}
}

// R61: a fragment with targets inside carries a token for just those.
func TestR61NestedTargets(t *testing.T) {
	s := carts("a", Cart{Status: "open"})
	r := pusher(t, s)
	at := actors.Address{Type: "cart", ID: "a"}
	f, err := push(t, r, s, at, wire.Target{Component: "box"}, Viewer{})
	if err != nil {
		t.Fatal(err)
	}
	_, rest, ok := strings.Cut(f.HTML, ` data-ls-token="`)
	text, _, _ := strings.Cut(rest, `"`)
	token, err := sealer(t).Open(text)
	if !ok || err != nil {
		t.Fatalf("no token of the nested targets in %s (%v)", f.HTML, err)
	}
	if len(token.Targets) != 2 || len(f.Nested) != 2 || token.Targets[0].Component != "=note_text" || token.Targets[1].Component != "line" {
		t.Errorf("the token names %+v", token.Targets)
	}
	if token.Viewer != "" || token.Actor != at || token.Stamp.Revision != 7 || token.Build != "b1" {
		t.Errorf("token = %+v", token)
	}
	if strings.Contains(f.HTML, "_ls_key") || !strings.Contains(f.HTML, "_ls_form") {
		t.Errorf("a pushed form has a key, or no id: %s", f.HTML)
	}
	if page := show(t, s, Viewer{}, CartPage(Carts.Ref("a"))); strings.Contains(page, "data-ls-token") {
		t.Error("a page has tokens for nested targets besides the scope's")
	}
	odd := oddities(Odd{})
	f, err = push(t, pusher(t, odd), odd, actors.Address{Type: "odd", ID: "o"}, wire.Target{Component: "mine_holds_shared"}, Viewer{})
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ = strings.Cut(f.HTML, ` data-ls-token="`)
	text, _, _ = strings.Cut(rest, `"`)
	if token, err := sealer(t).Open(text); err != nil || token.Viewer != "v1" {
		t.Errorf("a per-viewer fragment's token names viewer %q, want v1 (%v)", token.Viewer, err)
	}
}

// R61: an object in a per-viewer fragment has a token of its own; in a shared one it is refused.
func TestR61ObjectInComponent(t *testing.T) {
	s := oddities(Odd{})
	s.states[actors.Address{Type: "stock", ID: "mug"}] = Stock{OnHand: 3}
	_, err := inside(t, s, Oddities.Ref("o"), HoldsObject)
	if err == nil || !strings.Contains(err.Error(), "views.Object of a stock inside component odd.holds_object") {
		t.Errorf("an object in a shared component: %v", err)
	}
	at := actors.Address{Type: "odd", ID: "o"}
	f, err := push(t, pusher(t, s), s, at, wire.Target{Component: "mine_holds_object"}, Viewer{})
	if err != nil {
		t.Fatal(err)
	}
	if token := tokenOf(t, f.HTML, 0); token.Actor.ID != "mug" || len(token.Targets) != 2 || token.Viewer != "v1" {
		t.Errorf("the inner scope's token is %+v", token)
	}
	if len(f.Nested) != 0 || strings.Contains(f.HTML, "data-ls-token") {
		t.Errorf("another actor's targets count as nested: %+v", f.Nested)
	}
	s.refuse = actors.ErrUnauthorized
	if _, err := push(t, pusher(t, s), s, at, wire.Target{Component: "mine_holds_object"}, Viewer{}); !errors.Is(err, actors.ErrUnauthorized) {
		t.Errorf("a pushed object is not authorized: %v", err)
	}
}
