package static_test

import (
	"testing"

	"github.com/lockstep-go/lockstep/static/chromiumtest"
)

const outdated = `document.documentElement.dataset.lsStatus === "outdated" &&
	[...document.querySelectorAll("lockstep-scope")].every(s => s.getAttribute("status") === "gone")`

// The server's version changes under an open page: one reload, and where that does not help, no other.
func TestR24AnotherVersionReloadsOnce(t *testing.T) {
	st := newStub(t, scope("A", "1", `<b data-ls="k">1</b>`))
	p := chromiumtest.Open(t).Visitor(t)
	p.BeforeEveryPage(`Math.random = () => 0.05`) // a quarter of a second before a reload
	p.Goto(st.url)
	connected(p)
	st.set(func(st *stub) { st.version = "lockstep.v9" })
	st.closeAll(1012, "20")
	p.WaitFor(outdated)
	st.await("a reload", func() bool { return st.visits() == 2 })
	p.WaitFor(outdated)
	p.Eval(`dispatchEvent(new Event("online")); document.dispatchEvent(new Event("visibilitychange"))
		document.body.append(document.querySelector("lockstep-scope").cloneNode(true))`, nil)
	p.WaitFor(`document.querySelectorAll("lockstep-scope").length === 2 && ` + outdated)
	p.Eval(`new Promise(r => setTimeout(r, 700))`, nil)
	if st.visits() != 2 || st.tries() != 3 {
		t.Errorf("%d loads and %d sockets, want 2 and 3", st.visits(), st.tries())
	}

	// A third version is worth a reload of its own; the two in turn are not worth a third.
	st.set(func(st *stub) { st.version = "lockstep.v1" })
	p.Goto(st.url)
	connected(p)
	st.set(func(st *stub) { st.version = "lockstep.v10" })
	st.closeAll(1012, "20")
	st.await("another reload", func() bool { return st.visits() == 4 })
	p.WaitFor(outdated)
	st.set(func(st *stub) { st.version = "lockstep.v9" })
	p.Goto(st.url)
	p.WaitFor(outdated)
	p.Eval(`new Promise(r => setTimeout(r, 700))`, nil)
	if st.visits() != 5 {
		t.Errorf("%d loads, want 5", st.visits())
	}
	p.Quiet()
}

func TestR25ReloadWaitsForUnsavedInputAndCanBePrevented(t *testing.T) {
	st := newStub(t, scope("A", "1", `<form data-ls="k"><input id="i" value="x"></form>`)+`<p id="note" contenteditable>note</p>`)
	st.version = "lockstep.v9"
	p := chromiumtest.Open(t).Visitor(t)
	p.BeforeEveryPage(`Math.random = () => 0.1; window.asked = 0; window.prevent = false
		document.addEventListener("lockstep:reload", e => { asked++; if (prevent) e.preventDefault() })`)
	p.Goto(st.url)
	p.Type("#i", "y")
	p.WaitFor(outdated)
	p.Eval(`new Promise(r => setTimeout(r, 1800))`, nil)
	p.Type("#note", "!")
	p.Eval(`i.value = "x"; new Promise(r => setTimeout(r, 1500))`, nil)
	if got := p.String("asked"); st.visits() != 1 || got != "0" {
		t.Fatalf("%d loads, asked %s times, while something is unsaved", st.visits(), got)
	}
	p.Eval(`note.remove(); window.prevent = true`, nil)
	p.WaitFor("asked === 1")
	p.Eval(`new Promise(r => setTimeout(r, 1500))`, nil)
	if st.visits() != 1 || !p.Bool("asked === 1 && "+outdated) {
		t.Errorf("%d loads after the application prevented it, asked %s times", st.visits(), p.String("asked"))
	}
	p.Goto(st.url) // nothing was tried yet
	st.await("the reload", func() bool { return st.visits() == 3 })
	p.Quiet()
}

// A page that may remember nothing cannot know that it was reloaded: it is not.
func TestR49NothingIsReloadedWithoutMemory(t *testing.T) {
	st := newStub(t, scope("A", "1", `<b data-ls="k">1</b>`))
	p := chromiumtest.Open(t).Visitor(t)
	p.BeforeEveryPage(`Math.random = () => 0.001
		Object.defineProperty(window, "sessionStorage", {get() { throw new DOMException("no storage", "SecurityError") }})`)
	p.Goto(st.url)
	connected(p)
	st.set(func(st *stub) { st.version = "lockstep.v9" })
	st.closeAll(1012, "20")
	p.WaitFor(outdated)
	p.Eval(`new Promise(r => setTimeout(r, 300))`, nil)
	if st.visits() != 1 || st.tries() != 2 {
		t.Errorf("%d loads and %d sockets, want 1 and 2", st.visits(), st.tries())
	}
	p.Quiet()
}

func TestScopesAnnounceTheirStatus(t *testing.T) {
	st := newStub(t, scope("A", "1", `<b data-ls="k">1</b>`)+scope("B", "1", `<b data-ls="kb">1</b>`)+scope("C", "1", `<b data-ls="kc">1</b>`))
	p := chromiumtest.Open(t).Visitor(t)
	p.BeforeEveryPage(`window.said = []; addEventListener("lockstep:status", e => said.push(
		(e.target.getAttribute?.("instance") ?? "page") + " " + e.detail.status), true)`)
	p.Goto(st.url)
	connected(p)
	st.set(func(st *stub) { st.shut = true })
	st.closeAll(1011, "")
	p.WaitFor(`document.documentElement.dataset.lsStatus === "reconnecting"`)
	st.answerWith(func(h heard) []frame {
		if reason := map[string]string{"B@1": "denied", "C@1": "unknown"}[h.Token]; reason != "" {
			return []frame{{T: "no", N: h.N, S: h.S, Reason: reason}}
		}
		return []frame{ok(h)}
	})
	st.set(func(st *stub) { st.shut = false })
	p.Eval(`dispatchEvent(new Event("online"))`, nil)
	p.WaitFor(`[...document.querySelectorAll("lockstep-scope")].map(s => s.getAttribute("status")).join() === "connected,denied,gone"`)
	for who, want := range map[string]string{
		"page": "connecting,connected,reconnecting,connected", "A": "connecting,connected,reconnecting,connected",
		"B": "connecting,connected,reconnecting,denied", "C": "connecting,connected,reconnecting,gone",
	} {
		if got := p.String(`said.filter(s => s.startsWith("` + who + ` ")).map(s => s.split(" ")[1]).join()`); got != want {
			t.Errorf("%s said %s, want %s", who, got, want)
		}
	}
	p.Quiet()
}
