package static_test

import (
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/lockstep-go/lockstep/static/chromiumtest"
)

// posts is a handler that keeps what was posted and answers as the test wants.
type posts struct {
	mu     sync.Mutex
	got    []posted
	answer func(w http.ResponseWriter, n int)
	gate   chan struct{} // not nil: each answer waits for one
}

type posted struct{ key, form, qty, button, kind, action string }

func (p *posts) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	kind, _, _ := strings.Cut(r.Header.Get("Content-Type"), ";")
	r.ParseMultipartForm(1 << 20)
	p.mu.Lock()
	p.got = append(p.got, posted{r.FormValue("_ls_key"), r.FormValue("_ls_form"), r.FormValue("qty"), r.FormValue("button"), kind, r.Header.Get("Lockstep-Action")})
	n := len(p.got)
	p.mu.Unlock()
	if p.gate != nil {
		<-p.gate
	}
	p.answer(w, n)
}

func (p *posts) all() []posted {
	p.mu.Lock()
	defer p.mu.Unlock()
	return append([]posted(nil), p.got...)
}

const action = `<form data-ls-form="F" method="post" action="/act"%s><input type="hidden" name="_ls_form" value="F">` +
	`<input type="hidden" name="_ls_key" value="page"><input name="qty" id="qty" value="%s"><button id="go" name="button" value="go">Go</button>%s</form>`

func formPage(t *testing.T, attributes string, answer func(w http.ResponseWriter, n int)) (*stub, *posts, *chromiumtest.Page) {
	st := newStub(t, scope("A", "1", `<div data-ls="k"><u>1</u>`+fmt.Sprintf(action, attributes, "1", "")+`</div>`)+fenceScope)
	h := &posts{answer: answer}
	st.mux.Handle("POST /act", h)
	p := st.visit()
	p.Eval(`window.here = true`, nil)
	return st, h, p
}

func next(to string) func(http.ResponseWriter, int) {
	return func(w http.ResponseWriter, n int) {
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprintf(w, `{"next":%q}`, to)
	}
}

func TestFormIsSentOnceAndReset(t *testing.T) {
	st, h, p := formPage(t, "", next("/"))
	h.gate = make(chan struct{})
	p.Type("#qty", "2")
	p.Click("#go")
	p.WaitFor(`document.querySelector("form").getAttribute("aria-busy") === "true"`)
	p.Click("#go")
	p.Eval(`document.querySelector("form").requestSubmit()`, nil)
	st.live("A", "2", "k", `<div data-ls="k"><u>2</u>`+strings.Replace(fmt.Sprintf(action, "", "1", ""), `<input type="hidden" name="_ls_key" value="page">`, "", 1)+`</div>`)
	p.WaitText("u", "2")
	if !p.Bool(`document.querySelector("form").getAttribute("aria-busy") === "true"`) {
		t.Error("a push took the mark of a pending form away")
	}
	close(h.gate)
	p.WaitFor(`!document.querySelector("form").hasAttribute("aria-busy")`)
	if got := p.String("[qty.value, window.here]"); got != "1,true" {
		t.Errorf("after the answer: %s, want 1,true", got)
	}
	p.Click("#go")
	st.await("the second message", func() bool { return len(h.all()) == 2 })
	got := h.all()
	if a := got[0]; a.form != "F" || a.qty != "12" || a.button != "go" || a.action != "1" || a.kind != "application/x-www-form-urlencoded" {
		t.Errorf("sent %+v", a)
	}
	if len(got[0].key) < 20 || got[0].key == got[1].key {
		t.Errorf("keys %q and %q", got[0].key, got[1].key)
	}
	p.Quiet()
}

func TestFormKeepsWhatWasTypedAfterSubmit(t *testing.T) {
	_, h, p := formPage(t, ` enctype="multipart/form-data"`, next("/"))
	h.gate = make(chan struct{})
	p.Type("#qty", "2")
	p.Click("#go")
	p.WaitFor(`document.querySelector("form").ariaBusy`)
	p.Type("#qty", "3")
	close(h.gate)
	p.WaitFor(`!document.querySelector("form").ariaBusy`)
	if got := p.String("qty.value"); got != "123" {
		t.Errorf("qty = %s, want 123", got)
	}
	if got := h.all()[0]; got.kind != "multipart/form-data" || got.qty != "12" {
		t.Errorf("sent %+v", got)
	}
}

func TestFormGoesToAnotherPage(t *testing.T) {
	_, _, p := formPage(t, "", next("/frame?x=1"))
	p.Click("#go")
	p.WaitFor(`location.pathname + location.search === "/frame?x=1"`)
}

func TestFormRefusalIsShownInPlaceAndKept(t *testing.T) {
	var st *stub
	st, h, p := formPage(t, "", func(w http.ResponseWriter, n int) {
		if n > 2 {
			next("/")(w, n)
			return
		}
		st.set(func(st *stub) {
			st.body = `<p id="other">another page around it</p>` + fmt.Sprintf(action, "", "12", `<p role="alert" data-ls-outcome>only 3 left</p>`)
		})
		st.writePage(w, http.StatusUnprocessableEntity)
	})
	p.Eval(`window.alerts = 0; new MutationObserver(l => l.forEach(m => m.addedNodes.forEach(n => alerts += n.role === "alert"))).observe(document.body, {subtree: true, childList: true})`, nil)
	p.Type("#qty", "2")
	p.Click("#go")
	p.WaitText("[role=alert]", "only 3 left")
	if got := p.String(`[window.here, qty.value, document.querySelectorAll("form").length, !!document.querySelector("#other")]`); got != "true,12,1,false" {
		t.Errorf("after the refusal: %s", got)
	}
	plain := `<div data-ls="k"><u>%d</u>` + strings.Replace(fmt.Sprintf(action, "", "1", ""), `<input type="hidden" name="_ls_key" value="page">`, "", 1) + `</div>`
	st.live("A", "2", "k", fmt.Sprintf(plain, 2))
	p.WaitText("u", "2")
	if got := p.String(`[document.querySelector("[role=alert]").textContent, qty.value]`); got != "only 3 left,12" {
		t.Errorf("after a push: %s", got)
	}
	watch(p, "[data-ls=k]")
	st.live("A", "3", "k", fmt.Sprintf(plain, 2))
	st.fence(p)
	if got := changes(p); got != "" {
		t.Errorf("a push that differs in key and outcome only: %s", got)
	}
	p.Click("#go")
	p.WaitFor("alerts === 2") // read out again
	p.Click("#go")
	p.WaitFor(`!document.querySelector("[role=alert]") && qty.value === "1"`)
	if got := h.all(); got[0].key == got[1].key {
		t.Error("a refused message's key was used again")
	}
	p.Quiet()
}

func TestFormForbiddenShowsTheAnswersText(t *testing.T) {
	for _, status := range []int{401, 403} {
		_, _, p := formPage(t, "", func(w http.ResponseWriter, n int) { http.Error(w, "sign in <first>", status) })
		p.Click("#go")
		p.WaitText("form [role=alert]", "sign in <first>")
		p.Quiet()
	}
}

func TestFormTriesAgainWithTheSameKey(t *testing.T) {
	st, h, p := formPage(t, "", func(w http.ResponseWriter, n int) {
		if n < 7 {
			w.WriteHeader(502 + n%3)
			return
		}
		next("/")(w, n)
	})
	p.Eval(impatient, nil)
	p.Type("#qty", "2")
	p.Click("#go")
	p.WaitFor(`document.querySelector("form [role=alert]")`)
	if n := len(h.all()); n != 4 {
		t.Errorf("tried %d times, want 4", n)
	}
	if got := p.String("qty.value"); got != "12" {
		t.Errorf("qty = %s, want 12", got)
	}
	p.Click("#go")
	p.WaitFor(`qty.value === "1" && !document.querySelector("[role=alert]")`)
	st.await("all tries", func() bool { return len(h.all()) == 7 })
	for _, m := range h.all() {
		if m.key != h.all()[0].key {
			t.Errorf("key %q, then %q", h.all()[0].key, m.key)
		}
	}
	p.Quiet()
}

func TestOtherFormsAreNotOurs(t *testing.T) {
	st := newStub(t, `<form method="get" data-ls-form="G" action="/frame"><button id="get">x</button></form>
		<form method="post" data-ls-form="P" action="/act"><button id="prevented">x</button></form>`)
	h := &posts{answer: next("/")}
	st.mux.Handle("POST /act", h)
	p := chromiumtest.Open(t).Visitor(t)
	p.Goto(st.url)
	p.Eval(`document.querySelector("[data-ls-form=P]").addEventListener("submit", e => e.preventDefault())`, nil)
	p.Click("#prevented")
	p.Click("#get")
	p.WaitFor(`location.pathname === "/frame"`)
	if len(h.all()) != 0 {
		t.Error("a prevented submit was sent")
	}
}

func TestFormWithoutScripts(t *testing.T) {
	st := newStub(t, scope("A", "1", `<div data-ls="k">`+fmt.Sprintf(action, "", "1", "")+`</div>`))
	h := &posts{answer: func(w http.ResponseWriter, n int) {
		w.Header().Set("Location", "/frame")
		w.WriteHeader(http.StatusSeeOther)
	}}
	st.mux.Handle("POST /act", h)
	p := chromiumtest.Open(t).Visitor(t)
	p.SetJavaScript(false)
	p.Goto(st.url)
	p.Click("#go")
	p.WaitFor(`location.pathname === "/frame"`)
	if got := h.all()[0]; got.key != "page" || got.action != "" || got.qty != "1" {
		t.Errorf("sent %+v", got)
	}
}

func TestFormOddAnswerLosesNothing(t *testing.T) {
	_, h, p := formPage(t, "", func(w http.ResponseWriter, n int) { fmt.Fprint(w, "<p>please accept our terms</p>") })
	p.Type("#qty", "2")
	p.Click("#go")
	p.WaitFor(`document.querySelector("form [role=alert]").textContent.startsWith("The answer was not understood")`)
	if got := p.String("qty.value"); got != "12" || len(h.all()) != 1 {
		t.Errorf("qty = %s after %d posts", got, len(h.all()))
	}
	p.Quiet()
}
