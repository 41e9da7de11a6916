package views_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/a-h/templ"

	"github.com/lockstep-go/lockstep/actors"
	"github.com/lockstep-go/lockstep/realtime/wire"
	"github.com/lockstep-go/lockstep/views"
	. "github.com/lockstep-go/lockstep/views/testdata/fixture"
)

var rowsTarget = wire.Target{Component: "rows"}

// R11: a pushed list equals the page's, and so do its pieces, put together, with every key that a careless encoder would
// merge.
func TestR11ListInPieces(t *testing.T) {
	keys := map[string]int{"mug": 1, "a b": 2, "a_b": 3, "a/b": 4, "": 5, "<b>\"'": 6, "\nnew": 7, "🚀": 8,
		"é": 9, "e\u0301": 10, strings.Repeat("long ", 20000): 11, strings.Repeat("long ", 20000) + "er": 12}
	s := carts("a", Cart{Lines: keys})
	text := show(t, s, Viewer{}, wrapped(templ.Raw("<table>"), Rows, templ.Raw("</table>")))
	at := actors.Address{Type: "cart", ID: "a"}
	f, err := push(t, pusher(t, s), s, at, rowsTarget, Viewer{})
	if err != nil {
		t.Fatal(err)
	}
	name := rowsTarget.Name(at)
	if page, pushed := targets(t, text)[name], targets(t, "<table>"+f.HTML+"</table>")[name]; len(page) != 1 || !slices.Equal(page, pushed) {
		t.Errorf("pushed:\n%s\non the page:\n%s", pushed, page)
	}
	var whole strings.Builder
	whole.WriteString(`<tbody data-ls="` + rowsTarget.Name(at) + `" data-ls-token="` + f.List.Token + `" class="rows">`)
	names := map[string]bool{}
	for _, item := range f.List.Items {
		if !strings.HasPrefix(item.HTML, `<tr data-ls-item="`+item.Name+`">`) {
			t.Errorf("item %q is %s", item.Name, item.HTML)
		}
		names[item.Name] = true
		whole.WriteString(item.HTML)
	}
	if whole.String()+"</tbody>" != f.HTML || len(names) != len(keys) {
		t.Errorf("%d items in pieces:\n%s\nwhole:\n%s", len(names), whole.String(), f.HTML)
	}
	if len(f.Nested) != 1 || f.Nested[0].Component != "=count" {
		t.Errorf("nested: %+v, want the count", f.Nested)
	}
	s.bump++
	again, err := push(t, pusher(t, s), s, at, rowsTarget, Viewer{})
	if err != nil || again.List.Frame != f.List.Frame || again.List.Items[0] != f.List.Items[0] {
		t.Errorf("rendered at another revision, the frame or an item differs: %v", err)
	}
}

// wrapped is a page of one cart.
func wrapped(all ...templ.Component) templ.Component {
	return templ.ComponentFunc(func(ctx context.Context, w io.Writer) error {
		return views.Object(Carts.Ref("a")).Render(templ.WithChildren(ctx, templ.Join(all...)), w)
	})
}

// A group's list is rendered for the group and nobody in it, on the page and in a push, and is the same list to all of it.
func TestListOfAGroup(t *testing.T) {
	s := carts("a", Cart{Lines: map[string]int{"mug": 1, "pen": 2}})
	at := actors.Address{Type: "cart", ID: "a"}
	target := wire.Target{Component: "our_rows"}
	var first []wire.Item
	for _, v := range []Viewer{{Name: "Ada", Role: "clerk"}, {Name: "Bob", Role: "clerk"}, {Name: "Eve", Role: "guest"}} {
		text := show(t, s, v, wrapped(templ.Raw("<table>"), OurRows, templ.Raw("</table>")))
		f, err := push(t, pusher(t, s), s, at, target, v)
		if err != nil || len(f.List.Items) != 2 {
			t.Fatalf("pushed to %s: %+v, %v", v.Name, f.List, err)
		}
		if page, pushed := targets(t, text)[target.Name(at)], targets(t, "<table>"+f.HTML+"</table>")[target.Name(at)]; len(page) != 1 || !slices.Equal(page, pushed) {
			t.Errorf("pushed to %s:\n%s\non the page:\n%s", v.Name, pushed, page)
		}
		if !strings.Contains(f.HTML, "pen of the "+v.Role+"s,") || strings.Contains(f.HTML, v.Name) {
			t.Errorf("%s, a %s, is shown %s", v.Name, v.Role, f.HTML)
		}
		if first == nil {
			first = f.List.Items
		}
		if same := slices.Equal(first, f.List.Items); same != (v.Role == "clerk") {
			t.Errorf("the items of %s are those of the clerk's list: %v", v.Name, same)
		}
	}
}

// A list may be empty, hold 2,000 items, and be each viewer's own.
func TestListSizesAndAudiences(t *testing.T) {
	at := actors.Address{Type: "cart", ID: "a"}
	for _, n := range []int{0, 2000} {
		lines := map[string]int{}
		for i := range n {
			lines[fmt.Sprint("sku", i)] = i
		}
		s := carts("a", Cart{Lines: lines})
		text := show(t, s, Viewer{Name: "Ada"}, wrapped(Rows, MyRows))
		if got := len(regexp.MustCompile(`<tr data-ls-item="[\w-]{16}">`).FindAllString(text, -1)); got != 2*n {
			t.Errorf("%d items on the page, want %d", got, 2*n)
		}
		f, err := push(t, pusher(t, s), s, at, wire.Target{Component: "my_rows"}, Viewer{Name: "Ada"})
		if err != nil || len(f.List.Items) != n || strings.Count(f.HTML, "of Ada") != n {
			t.Errorf("pushed to Ada: %d items, %v", len(f.List.Items), err)
		}
	}
}

// What is wrong with a list is said in a sentence, and nothing of the object is written.
func TestListMistakes(t *testing.T) {
	type twin struct{ Rows []string }
	twins := actors.Define("twin", func() twin { return twin{[]string{"a", "b", "a"}} })
	of := actors.Observable(twins, "rows", func(s twin) []string { return s.Rows })
	raw := func(text string) func() templ.Component {
		return func() templ.Component {
			return templ.ComponentFunc(func(ctx context.Context, w io.Writer) error {
				before, after, _ := strings.Cut(text, "HERE")
				return templ.Join(templ.Raw(before), templ.GetChildren(ctx), templ.Raw(after)).Render(templ.ClearChildren(ctx), w)
			})
		}
	}
	key := func(s string) string { return s }
	li := func(s string) templ.Component { return templ.Raw("<li>" + s + "</li>") }
	for i, test := range []struct {
		frame string
		item  func(string) templ.Component
		want  string
	}{
		{"<ul>HERE</ul>", li, "its items 1 and 3 have one key"},
		{"<div><ul>HERE</ul></div>", li, "nothing else in it"},
		{"<ul><li>first</li>HERE</ul>", li, "nothing else in it"},
		{"HERE", li, "nothing else in it"},
		{"<table>HERE</table>", li, "make the tbody the frame"},
		{"<ul>HERE</ul>", func(string) templ.Component { return templ.NopComponent }, "item 1: it shows nothing"},
		{"<ul>HERE</ul>", func(string) templ.Component { return templ.Raw("<li>a</li><li>b</li>") }, "item 1: it has two root elements"},
	} {
		c := views.List(fmt.Sprint("mistake", i), of, key, raw(test.frame), test.item)
		text, err := inside(t, &store{}, twins.Ref("x"), c)
		if err == nil || !strings.Contains(err.Error(), test.want) || text != "" {
			t.Errorf("%s: %v, want %q; written: %q", test.frame, err, test.want, text)
		}
		if d, ok := errors.AsType[*views.DuplicateItem](err); ok != (i == 0) || ok && *d != (views.DuplicateItem{First: 1, Second: 3}) {
			t.Errorf("%s: %+v, want a *DuplicateItem for items of one key only", test.frame, d)
		}
	}
}

// R46: JSON of a hostile value stays a template's text, on the page and in a push, and says the value.
func TestR46DataStaysText(t *testing.T) {
	hostile := `</template><script>alert(1)</script>&lt;"'` + "\u2028"
	s := carts("a", Cart{Lines: map[string]int{hostile: 1}})
	text := show(t, s, Viewer{}, wrapped(Chart))
	f, err := push(t, pusher(t, s), s, actors.Address{Type: "cart", ID: "a"}, wire.Target{Component: "chart"}, Viewer{})
	if err != nil {
		t.Fatal(err)
	}
	m := regexp.MustCompile(`<template data-ls="[\w-]{22}" data-ls-data="chart">([^<&]*)</template>`).FindStringSubmatch(text)
	if m == nil || m[0] != f.HTML {
		t.Fatalf("on the page:\n%s\npushed:\n%s", text, f.HTML)
	}
	var got struct{ Points []Item }
	if err := json.Unmarshal([]byte(m[1]), &got); err != nil || got.Points[0].SKU != hostile {
		t.Errorf("%+v, %v; want %q", got, err, hostile)
	}
}

// A value that is no object or array, or too large, is a typed error that names what it may be; who may not ask gets none.
func TestDataLimitsAndAudiences(t *testing.T) {
	s := carts("a", Cart{Lines: map[string]int{"x": views.MaxDataBytes}})
	if _, err := inside(t, s, Carts.Ref("a"), Scalar); err == nil || !strings.Contains(err.Error(), "object or array") {
		t.Errorf("a number: %v", err)
	} else if _, ok := errors.AsType[*actors.InvalidDocument](err); !ok {
		t.Errorf("a number: %v, want *actors.InvalidDocument", err)
	}
	if _, err := inside(t, s, Carts.Ref("a"), Huge); err == nil || !strings.Contains(err.Error(), fmt.Sprint(views.MaxDataBytes)) {
		t.Errorf("beyond the limit: %v", err)
	}
	if text := show(t, s, Viewer{Name: "Ada"}, wrapped(MyChart)); !strings.Contains(text, `data-ls-data="my_chart">["Ada"]<`) {
		t.Errorf("Ada's: %s", text)
	}
	s.deny = "chart"
	if text := show(t, s, Viewer{}, wrapped(Chart, Greeting)); !strings.Contains(text, `"></template>`) || !strings.Contains(text, "Hello") || strings.Contains(text, "points") {
		t.Errorf("refused: %s", text)
	}
}
