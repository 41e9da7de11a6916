package static_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/lockstep-go/lockstep/static/chromiumtest"
	"github.com/lockstep-go/lockstep/static/firefoxtest"
)

// window is what a page in either family of browsers can do.
type window interface {
	Goto(url string)
	Eval(js string, into any)
	String(js string) string
	Bool(js string) bool
	Text(selector string) string
	WaitFor(js string)
	WaitText(selector, want string)
	Click(selector string)
	Press(selector string)
	Release(selector string)
	Type(selector, text string)
	Keys(keys string)
	BeforeEveryPage(js string)
	Quiet()
}

// families tells a story in a window of each family of browsers.
func families(t *testing.T, story func(t *testing.T, p window)) {
	t.Run("Chromium", func(t *testing.T) { story(t, chromiumtest.Open(t).Visitor(t)) })
	t.Run("Firefox", func(t *testing.T) { story(t, firefoxtest.Open(t).Visitor(t)) })
}

// noteFlashes notes, beyond the pages, every status that tells a user of trouble.
const noteFlashes = `new MutationObserver(list => list.forEach(({target}) => {
	const status = target.dataset.lsStatus ?? target.getAttribute("status")
	if (/reconnecting|offline|denied|gone/.test(status)) sessionStorage.seen = (sessionStorage.seen ?? "") + status + " "
})).observe(document, {subtree: true, attributes: true, attributeFilter: ["data-ls-status", "status"]})`

// What comes next is slower than the grace time, and still nobody hears of an interruption on the page that is left.
func TestR22NoFlash(t *testing.T) {
	families(t, func(t *testing.T, p window) {
		st := newStub(t, scope("A", "1", `<b data-ls="k">1</b>`)+
			`<a id="next" href="/slow?next">next</a><form method="post" action="/sign-out"><button id="out">Sign out</button></form>`)
		slow := func() { time.Sleep(1500 * time.Millisecond) }
		st.mux.HandleFunc("GET /slow", func(w http.ResponseWriter, r *http.Request) {
			slow()
			st.writePage(w, http.StatusOK)
		})
		st.mux.HandleFunc("POST /sign-out", func(w http.ResponseWriter, r *http.Request) {
			st.closeAll(4401, "revoked") // before the answer, as a server does
			slow()
			http.Redirect(w, r, "/bye", http.StatusSeeOther)
		})
		st.mux.HandleFunc("GET /bye", func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", "text/html")
			fmt.Fprint(w, `<!doctype html><title>bye</title><p id="bye">bye`)
		})
		seen := func(what string) {
			t.Helper()
			if got := p.String(`sessionStorage.seen ?? ""`); got != "" {
				t.Errorf("%s: the user saw %s", what, got)
				p.Eval(`sessionStorage.removeItem("seen")`, nil)
			}
		}
		p.BeforeEveryPage(noteFlashes)
		p.Goto(st.url + "/slow")
		connected(p)
		st.closeAll(1012, "300")
		st.await("the second socket", func() bool { return st.sockets() == 2 })
		connected(p)
		seen("a short interruption")
		p.Eval(`window.here = true; void setTimeout(() => location.reload())`, nil)
		p.WaitFor(`!window.here`)
		connected(p)
		seen("a reload")
		p.Click("#next")
		p.WaitFor(`location.search === "?next"`)
		connected(p)
		seen("a link")
		p.Click("#out")
		p.WaitFor(`document.querySelector("#bye")`)
		seen("signing out")
		p.Quiet()
	})
}

// A page that was about to be left and then was not, for a download or a question that the user answered with no, tells of
// its interruption after all.
func TestR22PageThatStaysTells(t *testing.T) {
	for status, code := range map[string]int{"reconnecting": 1011, "denied": 4401} {
		st := newStub(t, scope("A", "1", `<b data-ls="k">1</b>`))
		p := chromiumtest.Open(t).Visitor(t)
		p.BeforeEveryPage(noteFlashes + `
			const real = setTimeout
			window.setTimeout = (f, ms) => ms === 10000 ? (window.stays = f) : real(f, ms) // what waits until the page should be gone
			addEventListener("beforeunload", () => window.stays = null)`)
		p.Goto(st.url)
		connected(p)
		p.Eval(`dispatchEvent(new Event("beforeunload")); window.leaving = window.stays`, nil)
		st.set(func(st *stub) { st.shut = true })
		st.closeAll(websocketCode(code), "")
		st.await("the socket to close", func() bool { return len(st.open()) == 0 })
		p.Eval(`new Promise(r => setTimeout(r, 1500))`, nil)
		if got := p.String(`sessionStorage.seen ?? ""`); got != "" {
			t.Errorf("closed with %d while the page is left: the user saw %s", code, got)
		}
		p.Eval(`if (stays !== leaving) stays(); leaving()`, nil)
		p.WaitFor(`document.documentElement.dataset.lsStatus === "` + status + `" && document.querySelector("lockstep-scope").getAttribute("status") === "` + status + `"`)
	}
}

// A list's items change under what the user is doing, and a page that Back brings out of the browser's cache is current
// and live again.
func TestR19ListAndBackForwardCache(t *testing.T) {
	families(t, func(t *testing.T, p window) {
		row := func(key, word string) string {
			return fmt.Sprintf(`<tr data-ls-item="%s"><td>%s</td><td><input value="1"></td></tr>`, key, word)
		}
		st := newStub(t, scope("A", "1", `<table><tbody data-ls="k">`+row("a", "one")+row("b", "two")+row("c", "three")+`</tbody></table>`))
		p.Goto(st.url)
		connected(p)
		p.Eval(`window.here = true; addEventListener("pageshow", e => window.persisted = e.persisted)
			window.fields = [...document.querySelectorAll("input")]`, nil)
		p.Type("[data-ls-item=b] input", "42")
		p.Eval(`fields[1].setSelectionRange(1, 2)`, nil)
		st.patch("1", "2", []string{"c"}, change{K: "b", A: new(""), H: row("b", "TWO")}, change{K: "d", A: new("b"), H: row("d", "four")})
		p.WaitText("[data-ls-item=d] td", "four")
		const state = `[...document.querySelectorAll("tbody tr")].map(r => r.cells[0].textContent + r.querySelector("input").value).join() + " " +
			[fields[1] === document.activeElement, fields[1].selectionStart, fields[1].selectionEnd]`
		if got, want := p.String(state), "TWO142,four1,one1 true,1,2"; got != want {
			t.Errorf("after the patch: %s, want %s", got, want)
		}
		// Firefox keeps no page whose socket is open when it is left, so that here it is closed a moment earlier.
		p.Eval(`dispatchEvent(new PageTransitionEvent("pagehide", {persisted: true}))`, nil)
		st.await("the socket to close", func() bool { return len(st.open()) == 0 })
		p.Goto(strings.Replace(st.url, "127.0.0.1", "localhost", 1) + "/frame")
		st.answerWith(func(h heard) []frame {
			return []frame{{T: "ok", N: h.N, S: h.S, I: "A", R: "5", F: []fragment{{"k", "5", `<tbody data-ls="k">` + row("b", "two again") + `</tbody>`}}}}
		})
		p.Eval(`void setTimeout(() => history.back())`, nil)
		p.WaitText("tbody td", "two again")
		connected(p)
		st.patch("5", "6", nil, change{K: "e", A: new("b"), H: row("e", "five")})
		p.WaitText("[data-ls-item=e] td", "five")
		if !p.Bool("window.here && window.persisted") {
			if _, demanded := p.(*firefoxtest.Page); demanded {
				t.Error("the browser did not keep the page: something in it prevents that")
			}
			t.Log("this browser did not keep the page")
		} else if got := p.String("fields[1].value"); got != "142" {
			t.Errorf("what was typed is %s after Back", got)
		}
		p.Quiet()
	})
}

// exact is the narrowest policy that a page may have: the client needs its own files, its own server and one name.
const exact = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; form-action 'self'; base-uri 'none'; " +
	"require-trusted-types-for 'script'; trusted-types lockstep"

// Everything that parses HTML or fetches something works under it, and nothing is reported, not even once.
func TestExactPolicyIsNeverViolated(t *testing.T) {
	families(t, func(t *testing.T, p window) {
		list := `<ul data-ls="k">` + li("a", "1") + `</ul>`
		st := newStub(t, scope("A", "1", `<b data-ls="t">1</b>`+list+fmt.Sprintf(action, "", "1", ""))+scope("B", "1", `<i data-ls="other">1</i>`))
		st.policy = exact
		refresher(st, func(w http.ResponseWriter, _ []string) { fmt.Fprint(w, `{"token":"A@fresh"}`) })
		refuse := &posts{answer: func(w http.ResponseWriter, _ int) {
			st.set(func(st *stub) {
				st.body = fmt.Sprintf(action, "", "9", `<p role="alert" data-ls-outcome>only 3 left</p>`)
			})
			st.writePage(w, http.StatusUnprocessableEntity)
		}}
		st.mux.Handle("POST /act", refuse)
		p.BeforeEveryPage(`window.violations = []
			addEventListener("securitypolicyviolation", e => violations.push(e.violatedDirective + " " + e.blockedURI + " " + e.sample))`)
		p.Goto(st.url)
		connected(p)
		st.live("A", "2", "t", `<b data-ls="t">2</b>`)
		p.WaitText("[data-ls=t]", "2")
		st.patch("1", "2", nil, change{K: "b", A: new(""), H: li("b", "2")})
		p.WaitText("ul", "21")
		p.Type("#qty", "2")
		p.Click("#go")
		p.WaitText("[role=alert]", "only 3 left")

		// A token that is too old, and one of a key that is gone, whose scope is found in a fresh copy of the page.
		st.set(func(st *stub) { st.body = scope("B", "7", `<i data-ls="other">7</i>`) })
		st.answerWith(func(h heard) []frame {
			switch h.Token {
			case "A@1":
				return []frame{{T: "no", N: h.N, S: h.S, Reason: "expired"}}
			case "B@1":
				return []frame{{T: "no", N: h.N, S: h.S, Reason: "unknown_key"}}
			case "A@fresh":
				return []frame{{T: "ok", N: h.N, S: h.S, I: "A", R: "3", F: []fragment{{"t", "3", `<b data-ls="t">3</b>`}}}}
			}
			return []frame{ok(h)}
		})
		st.closeAll(1012, "20")
		p.WaitText("[data-ls=t]", "3")
		p.WaitText("[data-ls=other]", "7")
		connected(p)
		p.Eval(`new Promise(r => setTimeout(r, 50))`, nil) // reports come in a task of their own
		if got := p.String("violations.join()"); got != "" {
			t.Errorf("violations: %s", got)
		}
		p.Quiet()

		// The policy is in force: what does not go through the client's name is refused, and reported.
		if !p.Bool("window.trustedTypes") {
			t.Log("this browser knows no trusted types")
			return
		}
		if p.Bool(`(() => { try { document.createElement("p").innerHTML = "x"; return true } catch { return false } })()`) {
			t.Error("HTML was parsed outside the policy")
		}
		p.WaitFor("violations.length === 1")
	})
}
