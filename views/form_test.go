package views_test

import (
	"regexp"
	"strings"
	"testing"

	"github.com/a-h/templ"

	"github.com/lockstep-go/lockstep/views"
	. "github.com/lockstep-go/lockstep/views/testdata/fixture"
)

func TestFormShowsItsOutcome(t *testing.T) {
	s := carts("a", Cart{Status: "open"})
	text := show(t, s, Viewer{}, CartPage(Carts.Ref("a")))
	p := page(t, s)
	p.Outcome = &views.Outcome{Form: formOf(t, text, "/cart/add"), Code: "no", Text: "Not <now>",
		Values: map[string][]string{"sku": {"mug"}, "qty": {"x"}, "tags": {"red", "blue"}}}
	refused, err := try(views.WithPage(t.Context(), p), CartPage(Carts.Ref("a")))
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		`<p role="alert" data-ls-outcome>Not &lt;now&gt;</p><input name="sku" value="mug">`, `<input name="qty" value="x">`,
		`<input name="tags" value="red">`, `<input name="tags" value="blue">`,
	} {
		if !strings.Contains(refused, want) {
			t.Errorf("the refused form lacks %s: %s", want, refused)
		}
	}
	if n := strings.Count(refused, "data-ls-outcome"); n != 1 {
		t.Errorf("the outcome stands %d times, want in its own form only", n)
	}
	p.Outcome.Form = formOf(t, text, "/cart/close")
	other, err := try(views.WithPage(t.Context(), p), CartPage(Carts.Ref("a")))
	if err != nil {
		t.Fatal(err)
	}
	if strings.Contains(other, `value="mug"`) || !strings.Contains(other, "data-ls-outcome") {
		t.Error("another form's fields are filled, or a form in a shared component does not show its outcome")
	}
}

func TestFormKeysAreFreshAndIdsAreStable(t *testing.T) {
	s := carts("a", Cart{Status: "open"})
	key := regexp.MustCompile(`name="_ls_key" value="([^"]{22})"`)
	seen := map[string]bool{}
	ids := map[string]bool{}
	for range 20 {
		text := show(t, s, Viewer{}, CartPage(Carts.Ref("a")))
		for _, m := range key.FindAllStringSubmatch(text, -1) {
			if seen[m[1]] {
				t.Fatalf("key %s was written twice", m[1])
			}
			seen[m[1]] = true
		}
		ids[formOf(t, text, "/cart/add")] = true
	}
	if len(seen) != 40 || len(ids) != 1 {
		t.Errorf("20 pages of 2 forms have %d keys and %d ids of one form, want 40 and 1", len(seen), len(ids))
	}
}

func TestFormIdsDiffer(t *testing.T) {
	s := carts("a", Cart{})
	s.states = carts("b", Cart{}).states
	var all []string
	for _, ref := range []string{"a", "b"} {
		text, err := inside(t, s, Carts.Ref(ref),
			views.Form(Add, "/x"), views.Form(Add, "/y"), views.Form(Close, "/x"),
			views.Form(Add, "/x", views.FormKey("1")), views.Form(Add, "/x", views.FormKey("2")))
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range regexp.MustCompile(`data-ls-form="([^"]+)"`).FindAllStringSubmatch(text, -1) {
			all = append(all, m[1])
		}
	}
	distinct := map[string]bool{}
	for _, id := range all {
		distinct[id] = true
	}
	if len(all) != 10 || len(distinct) != 10 {
		t.Errorf("10 forms have %d ids, %d different", len(all), len(distinct))
	}
}

func TestFormAttributes(t *testing.T) {
	text, err := inside(t, carts("a", Cart{}), Carts.Ref("a"),
		views.Form(Add, `javascript:alert("1")`, views.FormAttrs(templ.Attributes{"class": `a"b`, "novalidate": true})))
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(text, ` class="a&#34;b" novalidate>`) || strings.Contains(text, "javascript:") {
		t.Errorf("the form's tag is wrong: %s", text)
	}
}
