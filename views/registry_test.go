package views

import (
	"context"
	"io"
	"strings"
	"testing"

	"github.com/a-h/templ"

	"github.com/lockstep-go/lockstep/actors"
)

type thing struct {
	N int `json:"n"`
}

func nothing(int) templ.Component {
	return templ.ComponentFunc(func(context.Context, io.Writer) error { return nil })
}

// Mistakes of the program's components come back together, with their names, when a renderer is made.
func TestMistakesAreReportedAtStart(t *testing.T) {
	before := registered
	registered = &registry{}
	t.Cleanup(func() { registered = before })
	one := actors.Define("one", func() thing { return thing{} })
	two := actors.Define("two", func() thing { return thing{} })
	n := actors.Shared(one, "n", func(s thing) int { return s.N })
	m := actors.Shared(two, "m", func(s thing) int { return s.N })

	Component1("fine", n, nothing)
	if err := Check(); err != nil {
		t.Fatalf("nothing is wrong yet: %v", err)
	}
	Component1("twice", n, nothing)
	Component1("twice", n, nothing)
	Component1("twice", m, nothing) // of another type: fine
	Component2("mixed", n, m, func(int, int) templ.Component { return nil })
	Component1("no good", n, nothing)
	Component1("both", n, nothing).PerViewer().By(func(context.Context) string { return "" })
	Component1("no_function", n, nothing).By(nil)
	Component1("no_observable", actors.Observed[thing, int](nil), nothing)
	_, err := NewRenderer(nil, Page{})
	if err == nil {
		t.Fatal("no mistake was found")
	}
	for _, want := range []string{
		`one: two components are named "twice"`, `component "mixed" observes a one and a two`,
		`one: component "no good": its name must be a letter`, `component "both": PerViewer or By is said twice`,
		`component "no_function": By needs a function`, `component "no_observable": its observable 1 is nil`,
	} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("the report lacks %q:\n%v", want, err)
		}
	}
	if got := len(strings.Split(err.Error(), "\n")); got != 6 {
		t.Errorf("%d mistakes are reported, want 6:\n%v", got, err)
	}
}

// FuzzRoot looks for HTML that rootOf takes for one element though a parser disagrees on its bounds, or that it cannot
// take again; and for bytes that keepNewlines loses.
func FuzzRoot(f *testing.F) {
	for _, seed := range []string{
		"", "<p>a</p>", "<!-- c --><p>a</p>", "<p>a</p><p>b</p>", "<svg><path/></svg>", "<ul><li>a<li>b</ul>", "<p", "<a b='>'>x</a>",
		"<textarea>\n</textarea>", "<pre>\n\nx</pre>", "<div><textarea></div></textarea></div>", "<script><!--<script></script>", "<p>\x00</p>",
		"<!--><p></p>", "<input>", "<p a=\"1\" a=\"2\"/>", "<template><p></p></template>", "<lockstep-scope></lockstep-scope>",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		el, err := rootOf([]byte(text), false)
		if err == nil && el != nil {
			if el.html[0] != '<' || el.name < 2 || el.name > len(el.html) || !strings.Contains(text, string(el.html)) {
				t.Fatalf("%q: root %q with its name ending at %d", text, el.html, el.name)
			}
			again, err := rootOf(el.html, false)
			if err != nil || string(again.html) != string(el.html) {
				t.Fatalf("%q: root %q is not its own root: %v", text, el.html, err)
			}
			if _, err := rootOf(el.html, true); err != nil {
				t.Fatalf("%q: proven, %v", text, err)
			}
		}
		kept := string(keepNewlines([]byte(text)))
		if len(kept) < len(text) || strings.ReplaceAll(kept, "\n", "") != strings.ReplaceAll(text, "\n", "") {
			t.Fatalf("%q became %q", text, kept)
		}
	})
}
