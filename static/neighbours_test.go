package static_test

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/lockstep-go/lockstep/static"
	"github.com/lockstep-go/lockstep/static/chromiumtest"
)

// beside serves pages that load Turbo and htmx before the client, by name.
func beside(t *testing.T, st *stub, pages map[string]string) {
	files := http.StripPrefix("/npm/", http.FileServer(http.Dir(npm(t))))
	st.mux.Handle("GET /npm/", files)
	st.mux.HandleFunc("GET /with/{name}", func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		fmt.Fprintf(w, `<!doctype html><html lang="en"><head><title>%[3]s</title>
<script type="module" src="/npm/@hotwired/turbo/dist/turbo.es2017-esm.js"></script>
<script src="/npm/htmx.org/dist/htmx.js"></script>
<link rel="stylesheet" href="/lockstep/static/%[1]s/lockstep.css">
<script type="module" src="/lockstep/static/%[1]s/lockstep.js"></script></head><body>%[2]s</body></html>`,
			static.Digest(), pages[r.PathValue("name")], r.PathValue("name"))
	})
}

// subscribed is the tokens that connections are subscribed to now, sorted.
func (st *stub) subscribed() string {
	st.mu.Lock()
	defer st.mu.Unlock()
	type key struct {
		num int
		s   string
	}
	now := map[key]string{}
	for _, h := range st.log {
		switch h.T {
		case "sub":
			now[key{h.num, h.S}] = h.Token
		case "unsub":
			delete(now, key{h.num, h.S})
		}
	}
	var tokens []string
	for k, token := range now {
		if k.num == st.opened {
			tokens = append(tokens, token)
		}
	}
	slices.Sort(tokens)
	return strings.Join(tokens, " ")
}

const countUpdates = `window.updates = {}; document.addEventListener("lockstep:update",
	e => updates[e.detail.target] = (updates[e.detail.target] ?? 0) + 1)`

func TestR20TurboVisitsBackAndForth(t *testing.T) {
	st := newStub(t, "")
	beside(t, st, map[string]string{
		"a": `<a id="to-b" href="/with/b">b</a>` + scope("A", "1", `<b data-ls="ka">a1</b>`) + scope("C", "1", `<b data-ls="kc">c1</b>`),
		"b": `<a id="to-a" href="/with/a">a</a>` + scope("B", "1", `<b data-ls="kb">b1</b>`) + scope("C", "1", `<b data-ls="kc">c1</b>`),
	})
	p := chromiumtest.Open(t).Visitor(t)
	p.BeforeEveryPage(countUpdates)
	p.Goto(st.url + "/with/a")
	connected(p)
	p.Click("#to-b")
	p.WaitFor(`document.title === "b" && document.querySelector("#to-a")`)
	connected(p)
	p.Eval(`window.here = true`, nil)
	st.live("C", "2", "kc", `<b data-ls="kc">c2</b>`)
	p.WaitText("[data-ls=kc]", "c2")
	p.Click("#to-a") // shown from Turbo's snapshot at once, and then from the server
	p.WaitFor(`document.querySelector("#to-b")`)
	p.Eval(`(async () => {
		for (let i = 0; i < 20; i++) {
			i % 2 ? history.forward() : history.back()
			await new Promise(r => setTimeout(r, 100))
		}
	})()`, nil)
	p.WaitFor(`document.title === "a" && document.querySelector("#to-b") && !document.documentElement.hasAttribute("data-turbo-preview")`)
	connected(p)
	st.await("one subscription for each scope that is shown", func() bool { return st.subscribed() == "A@1 C@1" })
	p.Eval(`window.updates = {}`, nil)
	st.live("A", "7", "ka", `<b data-ls="ka">a7</b>`)
	st.live("B", "7", "kb", `<b data-ls="kb">b7</b>`)
	st.live("C", "7", "kc", `<b data-ls="kc">c7</b>`)
	p.WaitText("[data-ls=kc]", "c7")
	if got := p.String(`here + " " + JSON.stringify(updates)`); got != `true {"ka":1,"kc":1}` {
		t.Errorf("after one commit each: %s", got)
	}
	if n := st.sockets(); n != 1 {
		t.Errorf("%d sockets, want 1: the page never ended", n)
	}
	for _, r := range p.Reports() {
		// Turbo leaves the promise of a visit that another one cancels to itself.
		if r.Kind != chromiumtest.Exception || !strings.Contains(r.Text, "AbortError") || !strings.Contains(r.Text, "turbo") {
			t.Errorf("the page reported %s: %s", r.Kind, r.Text)
		}
	}
}

// Parts with scopes and forms of ours are swapped by htmx, by htmx's morph, by a Turbo frame and by a Turbo stream.
func TestHtmxAndTurboSwapPartsThatAreLive(t *testing.T) {
	part := func(r, text string) string {
		return `<section>` + scope("A", r, `<div data-ls="k"><b>`+text+`</b>
			<form data-ls-form="f1" method="post" action="/act" data-turbo="false"><input type="hidden" name="_ls_form" value="f1"><input id="say" name="say"><button>Go</button></form></div>`) + `</section>`
	}
	st := newStub(t, "")
	beside(t, st, map[string]string{"page": `
		<button id="swap" hx-get="/part" hx-target="#box" hx-swap="innerHTML">swap</button>
		<button id="morph" hx-get="/part" hx-target="#box" hx-swap="innerMorph">morph</button>
		<a id="reframe" href="/framed" data-turbo-frame="fr">frame</a>
		<div id="box">` + part("1", "first") + `</div>
		<turbo-frame id="fr">` + scope("B", "1", `<i data-ls="kb">b1</i>`) + `</turbo-frame>`})
	st.mux.HandleFunc("GET /part", func(w http.ResponseWriter, r *http.Request) { fmt.Fprint(w, part("2", "second")) })
	st.mux.HandleFunc("GET /framed", func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		fmt.Fprint(w, `<turbo-frame id="fr">`+scope("B", "2", `<i data-ls="kb">b2</i>`)+`</turbo-frame>`)
	})
	said := make(chan string, 10)
	st.mux.HandleFunc("POST /act", func(w http.ResponseWriter, r *http.Request) {
		said <- r.Header.Get("Lockstep-Action") + " " + r.PostFormValue("say")
		fmt.Fprint(w, `{"next":"/with/page"}`)
	})
	p := chromiumtest.Open(t).Visitor(t)
	p.BeforeEveryPage(countUpdates)
	p.Goto(st.url + "/with/page")
	connected(p)
	revision := 10
	follows := func(step, subscribed string) {
		t.Helper()
		connected(p)
		st.await(step+": "+subscribed, func() bool { return st.subscribed() == subscribed })
		p.Eval(`window.updates = {}`, nil)
		revision++
		fresh := fmt.Sprint(step, revision)
		st.live("A", fmt.Sprint(revision), "k", strings.Replace(strings.TrimSuffix(part("2", fresh)[strings.Index(part("2", fresh), "<div"):], "</lockstep-scope></section>"), "\n", "", 1))
		st.live("B", fmt.Sprint(revision), "kb", `<i data-ls="kb">`+fresh+`</i>`)
		p.WaitText("#box b", fresh)
		p.WaitText("i", fresh)
		if got := p.String(`JSON.stringify(updates)`); got != `{"k":1,"kb":1}` {
			t.Errorf("%s: updates = %s", step, got)
		}
		p.Type("#say", step)
		p.Click("#box form button")
		if got := <-said; got != "1 "+step {
			t.Errorf("%s: the form said %q", step, got)
		}
		p.WaitFor(`document.querySelector("#say").value === ""`)
	}
	follows("load", "A@1 B@1")
	p.Click("#swap")
	p.WaitText("#box b", "second")
	follows("swap", "A@2 B@1")
	p.Click("#swap")
	p.WaitText("#box b", "second")
	follows("again", "A@2 B@1")
	p.Click("#morph") // the scope is the same one, with the token that it had: a foreign hand may not show what is older
	p.WaitText("#box b", "second")
	revision += 10
	follows("morph", "A@2 B@1")
	p.Click("#reframe")
	p.WaitText("i", "b2")
	follows("frame", "A@2 B@2")
	p.Eval(`Turbo.renderStreamMessage('<turbo-stream action="update" target="box"><template>'+`+"`"+strings.ReplaceAll(part("3", "third"), "\n", " ")+"`"+`+'</template></turbo-stream>')`, nil)
	p.WaitText("#box b", "third")
	follows("stream", "A@3 B@2")
	if n := st.sockets(); n != 1 {
		t.Errorf("%d sockets, want 1", n)
	}
	if len(said) != 0 {
		t.Errorf("%d messages too many", len(said))
	}
	p.Quiet()
}

// Without data-turbo="false" Turbo sends a form of ours as the ordinary POST that it is: one message, and no second by us.
func TestTurboMaySendAFormOfOurs(t *testing.T) {
	st := newStub(t, "")
	form := `<form data-ls-form="f1" method="post" action="/act"><input type="hidden" name="_ls_key" value="key1"><button>Go</button></form>`
	beside(t, st, map[string]string{"page": scope("A", "1", `<b data-ls="k">1</b>`) + form, "next": scope("A", "2", `<b data-ls="k">2</b>`)})
	said := make(chan string, 10)
	st.mux.HandleFunc("POST /act", func(w http.ResponseWriter, r *http.Request) {
		said <- r.Header.Get("Lockstep-Action") + r.PostFormValue("_ls_key")
		http.Redirect(w, r, "/with/next", http.StatusSeeOther)
	})
	p := chromiumtest.Open(t).Visitor(t)
	p.Goto(st.url + "/with/page")
	connected(p)
	p.Click("button")
	p.WaitText("[data-ls=k]", "2")
	connected(p)
	st.await("the new page's subscription alone", func() bool { return st.subscribed() == "A@2" })
	if got := <-said; got != "key1" || len(said) != 0 {
		t.Errorf("the server heard %q and %d more", got, len(said))
	}
	p.Quiet()
}
