package web_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/a-h/templ"
	"github.com/go-chi/chi/v5"

	"github.com/lockstep-go/lockstep/actors"
	"github.com/lockstep-go/lockstep/realtime/wire"
	"github.com/lockstep-go/lockstep/runtime/runtimetest"
	"github.com/lockstep-go/lockstep/static/chromiumtest"
	"github.com/lockstep-go/lockstep/views"
	"github.com/lockstep-go/lockstep/views/testdata/fixture"
)

// Agenda is points in an order, and what is ticked of them.
type Agenda struct {
	Points []Point        `json:"points"`
	Ticks  map[string]int `json:"ticks"`
}

// Point is one of an Agenda.
type Point struct {
	Key  string `json:"key"`
	Text string `json:"text"`
}

// Tick is a tick at one point.
type Tick struct {
	Key string `json:"key"`
}

var (
	Agendas = actors.Define("agenda", func() Agenda { return Agenda{Ticks: map[string]int{}} })
	Arrange = actors.Message[[]Point, actors.None](Agendas, "arrange")
	TickOff = actors.Message[Tick, actors.None](Agendas, "tick_off")
	Points  = actors.Observable(Agendas, "points", func(a Agenda) []Point { return a.Points })
	Ticks   = actors.Observable(Agendas, "ticks", func(a Agenda) map[string]int { return a.Ticks })

	ForAll   = views.List("for_all", Points, Point.key, agendaList, pointItem)
	ForRoles = views.List("for_roles", Points, Point.key, agendaList, roleItem).By(fixture.Role)
	ForOne   = views.List("for_one", Points, Point.key, agendaBody, viewerRow).PerViewer()
	Ticked   = views.Keyed1("ticked", Ticks, tickedText)
	Tally    = views.Data("tally", Ticks, func(_ context.Context, ticks map[string]int) any { return ticks })
	MyTally  = views.Data("my_tally", Ticks, func(ctx context.Context, ticks map[string]int) any {
		return map[string]int{fixture.ViewerOf(ctx).Name: len(ticks)}
	}).PerViewer()
)

func init() {
	Arrange.Handle((*Agenda).Arrange)
	TickOff.Handle((*Agenda).Tick)
}

func (a *Agenda) Arrange(_ *actors.Turn[Agenda], in []Point) (actors.None, error) {
	a.Points = in
	return actors.None{}, nil
}

func (a *Agenda) Tick(_ *actors.Turn[Agenda], in Tick) (actors.None, error) {
	a.Ticks[in.Key]++
	return actors.None{}, nil
}

func (p Point) key() string { return p.Key }

// markup writes strings as they are, escaped where they are an escape's, and components.
func markup(parts ...any) templ.Component {
	return templ.ComponentFunc(func(ctx context.Context, w io.Writer) error {
		for _, part := range parts {
			var err error
			switch part := part.(type) {
			case templ.Component:
				err = part.Render(ctx, w)
			case escaped:
				_, err = io.WriteString(w, templ.EscapeString(string(part)))
			default:
				_, err = fmt.Fprint(w, part)
			}
			if err != nil {
				return err
			}
		}
		return nil
	})
}

type escaped string

func agendaList() templ.Component {
	return templ.ComponentFunc(func(ctx context.Context, w io.Writer) error {
		return markup("<ul>", templ.GetChildren(ctx), "</ul>").Render(templ.ClearChildren(ctx), w)
	})
}

func agendaBody() templ.Component {
	return templ.ComponentFunc(func(ctx context.Context, w io.Writer) error {
		return markup("<tbody>", templ.GetChildren(ctx), "</tbody>").Render(templ.ClearChildren(ctx), w)
	})
}

func pointItem(p Point) templ.Component {
	return markup("<li><b>", escaped(p.Text), `</b> <input aria-label="Note"> `, Ticked.Each(p.Key, Tick{p.Key}), "</li>")
}

func roleItem(p Point) templ.Component {
	return templ.ComponentFunc(func(ctx context.Context, w io.Writer) error {
		return markup("<li>", escaped(p.Text), " for ", escaped(views.Group(ctx)), "</li>").Render(ctx, w)
	})
}

func viewerRow(p Point) templ.Component {
	return templ.ComponentFunc(func(ctx context.Context, w io.Writer) error {
		return markup("<tr><td>", escaped(p.Text), "</td><td>", escaped(fixture.ViewerOf(ctx).Name), "</td></tr>").Render(ctx, w)
	})
}

func tickedText(p Tick, ticks map[string]int) templ.Component {
	return markup("<i>", ticks[p.Key], "</i>")
}

// agendaPage shows one agenda in two scopes, and one of its lists three times.
func agendaPage(*http.Request) (templ.Component, error) {
	ref := Agendas.Ref("a")
	within := func(parts ...any) templ.Component {
		return templ.ComponentFunc(func(ctx context.Context, w io.Writer) error {
			return views.Object(ref).Render(templ.WithChildren(ctx, markup(parts...)), w)
		})
	}
	return markup(`<!DOCTYPE html><html lang="en"><head><title>Agenda</title>`, views.Script(), `<script type="module" src="/widget.js"></script></head><body><main>`,
		within(`<div id="one">`, ForAll, "</div>", ForRoles, "<table>", ForOne, "</table>", Tally, MyTally, "<the-tally></the-tally>"),
		within(`<div id="two">`, ForAll, "</div><hr>", ForAll, "<table>", ForOne, "</table>"), "</main></body></html>"), nil
}

// widget notes what it is given at first, and then hears.
const widget = `customElements.define("the-tally", class extends HTMLElement {
	connectedCallback() {
		const scope = this.closest("lockstep-scope")
		this.heard = []
		this.take("tally", scope.data("tally"))
		this.take("my_tally", scope.data("my_tally"))
		scope.addEventListener("lockstep:data", ({ detail: { name, value } }) => this.take(name, value))
	}
	take(name, value) {
		this.heard.push(name + " " + JSON.stringify(value))
		this.textContent = this.heard.at(-1)
	}
})`

// openAgenda serves the page under the strictest policy, to whoever the cookie says.
func openAgenda(t *testing.T) (*runtimetest.Runtime, *httptest.Server) {
	t.Helper()
	rt := runtimetest.Open(t, Agendas)
	live := newLive(t, rt.Runtime)
	r := chi.NewRouter()
	r.Use(func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Security-Policy", "default-src 'self'; require-trusted-types-for 'script'; trusted-types lockstep test")
			if c, err := r.Cookie("who"); err == nil {
				r.Header.Set("X-User", c.Value)
				r.Header.Set("X-Role", "role-of-"+c.Value)
			}
			next.ServeHTTP(w, r)
		})
	}, identify, live.Middleware)
	live.Mount(r)
	r.Get("/", live.Page(agendaPage))
	r.Get("/as/{name}", func(w http.ResponseWriter, r *http.Request) {
		http.SetCookie(w, &http.Cookie{Name: "who", Value: chi.URLParam(r, "name"), Path: "/"})
		http.Redirect(w, r, "/", http.StatusSeeOther)
	})
	r.Get("/favicon.ico", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNoContent) })
	r.Get("/widget.js", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/javascript")
		_, _ = io.WriteString(w, widget)
	})
	return rt, serve(t, live, r)
}

// enter opens the page as somebody, with an ear at its sockets.
func enter(t *testing.T, b *chromiumtest.Browser, srv *httptest.Server, name string) *chromiumtest.Page {
	t.Helper()
	p := b.Visitor(t)
	p.BeforeEveryPage(`window.trusted = trustedTypes.createPolicy("test", { createHTML: text => text }); window.came = []; window.sockets = []; window.WebSocket = class extends WebSocket {
		constructor(...args) {
			super(...args)
			sockets.push(this)
			this.addEventListener("message", e => came.push(e.data))
		}
	}`)
	p.Goto(srv.URL + "/as/" + name)
	p.WaitFor(allConnected)
	return p
}

const allConnected = `document.documentElement.dataset.lsStatus === "connected" &&
	[...document.querySelectorAll("lockstep-scope")].every(s => s.getAttribute("status") === "connected")`

// fresh waits until every target is what a fresh GET by this visitor shows, but for tokens.
func fresh(p *chromiumtest.Page) {
	p.WaitFor(`fetch(location.href).then(r => r.text()).then(text => {
		const shows = root => [...root.querySelectorAll("[data-ls]")].map(e => {
			const copy = e.cloneNode(true)
			for (const part of [copy, ...copy.querySelectorAll("*")]) part.removeAttribute("data-ls-token")
			return copy.outerHTML
		}).join("\n")
		return shows(document) === shows(new DOMParser().parseFromString(trusted.createHTML(text), "text/html"))
	})`)
}

// frames are those of a type that came since the last look, and their bytes.
func frames(p *chromiumtest.Page, typ string) (texts []string) {
	p.Eval(`came.filter(text => JSON.parse(text).t === `+quoted(typ)+`)`, &texts)
	return texts
}

func arrange(t *testing.T, rt *runtimetest.Runtime, points ...Point) {
	t.Helper()
	if _, err := Arrange.Ask(t.Context(), rt, Agendas.Ref("a"), points); err != nil {
		t.Fatal(err)
	}
}

func tick(t *testing.T, rt *runtimetest.Runtime, key string) {
	t.Helper()
	if _, err := TickOff.Ask(t.Context(), rt, Agendas.Ref("a"), Tick{key}); err != nil {
		t.Fatal(err)
	}
}

// C3: lists for everybody, for a role and for one viewer, in two scopes of a page and on it twice, with targets in their
// items: from nothing to many to nothing, in every order, with keys of every kind, and with a connection that breaks.
func TestC3_ListsInChromium(t *testing.T) {
	b := chromiumtest.Open(t)
	rt, srv := openAgenda(t)
	p := enter(t, b, srv, "ada")
	keys := []string{"plain", `"quoted" 'twice'`, "<b>&amp;", "with space\nand line", "é", "e\u0301", "🚀🛰️", "", strings.Repeat("long ", 100)}
	var points []Point
	for i, key := range keys {
		points = append(points, Point{key, fmt.Sprint(i, " ", key)})
	}
	arrange(t, rt, points[:2]...)
	fresh(p)
	arrange(t, rt, points...)
	fresh(p)
	p.Eval(`came.length = 0`, nil)
	for i, key := range keys { // targets that patches brought
		tick(t, rt, key)
		p.WaitFor(fmt.Sprintf(`[...document.querySelectorAll("ul")].filter(u => u.querySelector("i")).every(u => u.children[%d].querySelector("i").textContent === "1")`, i))
	}
	if n := len(frames(p, "l")); n != 0 {
		t.Errorf("%d patches of lists while only what stands in their items changed", n)
	}
	slices.Reverse(points)
	arrange(t, rt, points...)
	fresh(p)
	p.Eval(`sockets.at(-1).close()`, nil)
	points = append(points[3:], Point{"new", "new"})
	points[1].Text = "changed while the connection was gone"
	arrange(t, rt, points...)
	tick(t, rt, "new")
	fresh(p)
	p.WaitFor(allConnected)
	arrange(t, rt)
	fresh(p)
	if n := p.String(`document.querySelectorAll("li, tr").length`); n != "0" {
		t.Errorf("%s items of an empty list", n)
	}
	arrange(t, rt, points...)
	fresh(p)
	p.Quiet()
}

// C1: of three lists with 200 items, a commit that changes one item sends one item for each list and not a list, from the
// first on; the answers of a page that came current hold nothing.
func TestC1_OneItemOfEachListInChromium(t *testing.T) {
	b := chromiumtest.Open(t)
	rt, srv := openAgenda(t)
	points := make([]Point, 200)
	for i := range points {
		points[i] = Point{fmt.Sprint("p", i), strings.Repeat("text ", 20)}
	}
	arrange(t, rt, points...)
	p := enter(t, b, srv, "ada")
	for i := range 3 {
		points[100].Text = fmt.Sprint("changed ", i)
		arrange(t, rt, points...)
		fresh(p)
		patches, whole := frames(p, "l"), frames(p, "f")
		if len(patches) != 3*(i+1) || len(whole) != 0 {
			t.Fatalf("after commit %d: %d patches and %d whole lists, want three each time", i+1, len(patches), len(whole))
		}
		for _, text := range patches[3*i:] {
			var f wire.Frame
			if err := json.Unmarshal([]byte(text), &f); err != nil {
				t.Fatal(err)
			}
			if size := len(text) - len(f.Token); len(f.Changes) != 1 || len(f.Gone) != 0 || size > 600 {
				t.Errorf("after commit %d: a patch of %d items in %d bytes besides its token", i+1, len(f.Changes), size)
			}
		}
	}
	var asked int
	p.Eval(`came.filter(text => JSON.parse(text).t === "ok").length`, &asked)
	if asked != 2 {
		t.Errorf("%d answers, want one for each scope", asked)
	}
	p.Quiet()
}

// What is typed into an item, the focus and the caret stay where they are while the item moves, while its neighbours come,
// change and go, and while its own text changes.
func TestR51_ListItemMovesUnderTheCaret(t *testing.T) {
	b := chromiumtest.Open(t)
	rt, srv := openAgenda(t)
	at := map[string]Point{}
	for _, key := range []string{"a", "b", "c", "d"} {
		at[key] = Point{key, key}
	}
	arrange(t, rt, at["a"], at["b"], at["c"], at["d"])
	p := enter(t, b, srv, "ada")
	p.Type("#one li:nth-child(3) input", "draft")
	p.Eval(`window.field = document.activeElement; field.setSelectionRange(2, 4)`, nil)
	for _, order := range [][]Point{
		{at["c"], at["a"], at["b"], at["d"]},
		{at["d"], at["b"], at["a"], at["c"]},
		{{"c", "other text"}, {"e", "new"}, at["d"]},
		{{"e", "new"}, {"c", "once more"}},
	} {
		arrange(t, rt, order...)
		fresh(p)
		if got := p.String(`[field === document.activeElement, field.value, field.selectionStart, field.selectionEnd, field.closest("li").querySelector("b").textContent.length > 0]`); got != "true,draft,2,4,true" {
			t.Errorf("with %d items: %s", len(order), got)
		}
	}
	p.Quiet()
}

// C5: a widget hears the values of its page after each commit, and what it missed after a break; what is a viewer's own
// reaches that viewer's browser only.
func TestC5_DataInChromium(t *testing.T) {
	b := chromiumtest.Open(t)
	rt, srv := openAgenda(t)
	tick(t, rt, "a")
	pages := map[string]*chromiumtest.Page{"ada": enter(t, b, srv, "ada"), "bob": enter(t, b, srv, "bob")}
	wants := func(name string, want ...string) {
		t.Helper()
		slices.Sort(want)
		doc, _ := json.Marshal(want)
		pages[name].WaitFor(`JSON.stringify([...document.querySelector("the-tally").heard].sort()) === JSON.stringify(` + string(doc) + `)`)
	}
	first := func(name string) []string { return []string{`tally {"a":1}`, `my_tally {"` + name + `":1}`} }
	for name := range pages {
		wants(name, first(name)...)
	}
	tick(t, rt, "b")
	second := func(name string) []string {
		return append(first(name), `tally {"a":1,"b":1}`, `my_tally {"`+name+`":2}`)
	}
	for name := range pages {
		wants(name, second(name)...)
	}
	tick(t, rt, "b") // which is another value for everybody, and the same for each
	for name := range pages {
		wants(name, append(second(name), `tally {"a":1,"b":2}`)...)
	}
	for _, p := range pages {
		p.Offline(true)
		p.Eval(`sockets.at(-1).close()`, nil)
	}
	tick(t, rt, "c")
	for name, p := range pages {
		p.Offline(false)
		wants(name, append(second(name), `tally {"a":1,"b":2}`, `tally {"a":1,"b":2,"c":1}`, `my_tally {"`+name+`":3}`)...)
		p.WaitFor(allConnected)
	}
	for name, other := range map[string]string{"ada": "bob", "bob": "ada"} {
		p := pages[name]
		if p.Bool(`came.some(text => text.includes(` + quoted(other) + `))`) {
			t.Errorf("%s's browser was sent what is %s's", name, other)
		}
		if !p.Bool(`came.some(text => text.includes(` + quoted(name) + `))`) {
			t.Errorf("%s's browser was sent nothing of its own", name)
		}
	}
	pages["ada"].Quiet()
}
