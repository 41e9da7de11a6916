package views_test

import (
	"context"
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/a-h/templ"
	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"

	"github.com/lockstep-go/lockstep/actors"
	"github.com/lockstep-go/lockstep/realtime/wire"
	"github.com/lockstep-go/lockstep/views"
	. "github.com/lockstep-go/lockstep/views/testdata/fixture"
)

var update = flag.Bool("update", false, "write the golden files anew")

// store is committed state by address, with what a policy says.
type store struct {
	states map[actors.Address]any
	refuse error
	reads  int
	bump   int64  // added to the revision
	deny   string // the operation that MayQuery refuses
}

func (s *store) ReadCall(_ context.Context, typ, id string) (actors.Snapshot, error) {
	s.reads++
	if s.refuse != nil {
		return actors.Snapshot{}, s.refuse
	}
	return s.snapshot(typ, id), nil
}

func (s *store) MayQuery(_ context.Context, r actors.Request) error {
	if r.Operation == s.deny {
		return actors.ErrUnauthorized
	}
	return nil
}

func (s *store) snapshot(typ, id string) actors.Snapshot {
	state, ok := s.states[actors.Address{Type: typ, ID: id}]
	if !ok {
		return actors.Snapshot{}
	}
	doc, err := json.Marshal(state)
	if err != nil {
		panic(err)
	}
	return actors.Snapshot{Stamp: actors.Stamp{Instance: "inst-" + id, Revision: 7 + s.bump, Message: "m7"}, Version: 1, State: doc}
}

// carts is a store of one cart.
func carts(id string, c Cart) *store {
	if c.Lines == nil {
		c.Lines = map[string]int{}
	}
	return &store{states: map[actors.Address]any{{Type: "cart", ID: id}: c}}
}

var testKeys = [][]byte{[]byte("0123456789abcdef0123456789abcdef")}

func sealer(t testing.TB) *wire.Sealer {
	t.Helper()
	s, err := wire.NewSealer(testKeys, 0, 0)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func page(t testing.TB, s *store) views.Page {
	return views.Page{Reader: s, Sealer: sealer(t), Build: "b1", Viewer: "v1", Static: "/team/lockstep/static/d1"}
}

func pusher(t testing.TB, s *store) *views.Renderer {
	t.Helper()
	r, err := views.NewRenderer(func(typ string) *actors.Definition {
		for _, known := range []actors.AnyType{Carts, Stocks, Oddities} {
			if known.Definition().Name == typ {
				return known.Definition()
			}
		}
		return nil
	}, page(t, s))
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// show renders a page for a viewer.
func show(t testing.TB, s *store, v Viewer, c templ.Component) string {
	t.Helper()
	text, err := try(views.WithPage(WithViewer(t.Context(), v), page(t, s)), c)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

func try(ctx context.Context, c templ.Component) (string, error) {
	var b strings.Builder
	err := c.Render(ctx, &b)
	return b.String(), err
}

// inside renders children in the Object of an actor.
func inside[S any](t testing.TB, s *store, ref actors.Ref[S], children ...templ.Component) (string, error) {
	t.Helper()
	return insideOf(views.WithPage(t.Context(), page(t, s)), ref, children...)
}

func insideOf[S any](ctx context.Context, ref actors.Ref[S], children ...templ.Component) (string, error) {
	return try(templ.WithChildren(ctx, templ.Join(children...)), views.Object(ref))
}

// tokenOf opens the token of the n-th scope of a page.
func tokenOf(t testing.TB, text string, n int) wire.Token {
	t.Helper()
	all := regexp.MustCompile(`<lockstep-scope token="([^"]*)"`).FindAllStringSubmatch(text, -1)
	if len(all) <= n {
		t.Fatalf("the page has %d scopes, want more than %d: %s", len(all), n, text)
	}
	token, err := sealer(t).Open(all[n][1])
	if err != nil {
		t.Fatal(err)
	}
	return token
}

// Marks that differ between two renderings of the same thing.
var (
	tokens   = regexp.MustCompile(` (token|data-ls-token)="[^"]*"`)
	formKeys = regexp.MustCompile(`<input type="hidden" name="_ls_key"[^>]*>`)
	outcomes = regexp.MustCompile(`<p role="alert" data-ls-outcome>.*?</p>`)
)

// settled is HTML without what is left out of equality.
func settled(text string) string {
	return outcomes.ReplaceAllString(formKeys.ReplaceAllString(tokens.ReplaceAllString(text, ""), ""), "")
}

// targets are the page's elements with a target's name, as HTML, by name.
func targets(t testing.TB, text string) map[string][]string {
	t.Helper()
	doc, err := html.Parse(strings.NewReader(settled(text)))
	if err != nil {
		t.Fatal(err)
	}
	found := map[string][]string{}
	for n := range doc.Descendants() {
		for _, a := range n.Attr {
			if a.Key == "data-ls" {
				found[a.Val] = append(found[a.Val], outer(t, n))
			}
		}
	}
	return found
}

func outer(t testing.TB, n *html.Node) string {
	t.Helper()
	var b strings.Builder
	if err := html.Render(&b, n); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// fragment parses a pushed fragment as a browser's template element does.
func fragment(t testing.TB, text string) string {
	t.Helper()
	nodes, err := html.ParseFragment(strings.NewReader(settled(text)), &html.Node{Type: html.ElementNode, Data: "template", DataAtom: atom.Template})
	if err != nil || len(nodes) != 1 {
		t.Fatalf("a fragment has %d nodes (%v), want one: %s", len(nodes), err, text)
	}
	return outer(t, nodes[0])
}

func golden(t *testing.T, name, got string) {
	t.Helper()
	got = strings.ReplaceAll(settled(got), "><", ">\n<") + "\n"
	path := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		t.Errorf("%s differs (run with -update after looking at it):\n%s", path, got)
	}
}

func TestPageGolden(t *testing.T) {
	s := carts("a", Cart{Lines: map[string]int{"mug": 2}, Status: "open", Note: "Fish & <chips>"})
	golden(t, "cart_page.html", show(t, s, Viewer{Name: "Ada", Role: "clerk", Language: "de"}, CartPage(Carts.Ref("a"), "mug", "pen")))
	if s.reads != 1 {
		t.Errorf("the page read %d snapshots, want one", s.reads)
	}
}

func TestTokenNamesWhatIsShown(t *testing.T) {
	s := carts("a", Cart{Status: "open"})
	text := show(t, s, Viewer{}, CartPage(Carts.Ref("a"), "mug"))
	token := tokenOf(t, text, 0)
	if want := (actors.Address{Type: "cart", ID: "a"}); token.Actor != want {
		t.Errorf("actor = %v, want %v", token.Actor, want)
	}
	if want := (actors.Stamp{Instance: "inst-a", Revision: 7, Message: "m7"}); token.Stamp != want || token.Build != "b1" || token.Viewer != "v1" {
		t.Errorf("token = %+v, want stamp %v, build b1 and viewer v1", token, want)
	}
	shown := targets(t, text)
	for _, target := range token.Targets {
		if len(shown[target.Name(token.Actor)]) == 0 {
			t.Errorf("the token names %+v, which the page does not show", target)
		}
	}
	if len(shown) != len(token.Targets) {
		t.Errorf("the page shows %d targets, its token names %d", len(shown), len(token.Targets))
	}
	if !strings.Contains(text, `instance="inst-a" revision="7"`) {
		t.Error("the scope's plain stamp is missing")
	}
	if fresh := show(t, &store{}, Viewer{}, CartPage(Carts.Ref("new"))); !strings.Contains(fresh, `instance="" revision="0"`) {
		t.Error("an actor without a row is not at instance \"\" and revision 0")
	}
}

func TestReadIsAuthorized(t *testing.T) {
	s := carts("a", Cart{Note: "secret"})
	s.refuse = actors.ErrUnauthorized
	text, err := try(views.WithPage(t.Context(), page(t, s)), views.Object(Carts.Ref("a")))
	if err == nil || text != "" || !strings.Contains(err.Error(), "not allowed") {
		t.Errorf("a refused read gives %q, %v", text, err)
	}
}
