package static_test

import (
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/lockstep-go/lockstep/static/chromiumtest"
)

func TestR04OlderRevisionNeverWins(t *testing.T) {
	st := newStub(t, scope("A", "1", `<b data-ls="k">one</b>`)+fenceScope)
	p := st.visit()
	for _, step := range []struct{ rev, text, want string }{
		{"3", "three", "three"},
		{"2", "two", "three"},
		{"9", "nine", "nine"},
		{"10", "ten", "ten"},
		{"9007199254740992", "even", "even"},
		{"9007199254740993", "odd", "odd"},
		{"9007199254740992", "even", "odd"},
	} {
		st.live("A", step.rev, "k", `<b data-ls="k">`+step.text+`</b>`)
		st.fence(p)
		if got := p.Text(`[data-ls="k"]`); got != step.want {
			t.Errorf("after revision %s: %q, want %q", step.rev, got, step.want)
		}
	}
	st.live("B", "9007199254740999", "k", `<b data-ls="k">foreign</b>`)
	st.fence(p)
	if got := p.Text(`[data-ls="k"]`); got != "odd" {
		t.Errorf("another instance's fragment was applied: %q", got)
	}
	p.Quiet()
}

// C1: a target that stands inside a parent and beside it too is right in both places, whichever fragment comes first.
func TestC1TargetInsideAndBesideItsParent(t *testing.T) {
	st := newStub(t, scope("A", "1", `<div data-ls="p"><b data-ls="k">one</b></div><b data-ls="k">one</b>`)+fenceScope)
	p := st.visit()
	const shown = `[...document.querySelectorAll('[data-ls="k"]')].map((b) => b.textContent).join(" ")`
	parent := func(rev string) { st.live("A", rev, "p", `<div data-ls="p"><b data-ls="k">`+rev+`</b></div>`) }
	child := func(rev string) { st.live("A", rev, "k", `<b data-ls="k">`+rev+`</b>`) }
	for i, send := range [][]func(string){{parent, child}, {child, parent}, {parent, child, parent}} {
		rev := strconv.Itoa(2 + i)
		for _, f := range send {
			f(rev)
		}
		st.fence(p)
		if got := p.String(shown); got != rev+" "+rev {
			t.Errorf("after revision %s the two places show %q", rev, got)
		}
	}
	p.Quiet()
}

func TestR04NewestAnswerWinsWhateverItsStamp(t *testing.T) {
	st := newStub(t, scope("A", "50", `<b data-ls="k">fifty</b><b data-ls="other">o</b>`)+fenceScope)
	p := st.visit()
	sub := st.all("sub")[0]
	stale := ok(sub, fragment{"k", "60", `<b data-ls="k">stale</b>`})
	stale.N = sub.N + 1000
	st.send(stale)
	st.fence(p)
	if got := p.Text(`[data-ls="k"]`); got != "fifty" {
		t.Fatalf("an answer to another subscribe was applied: %q", got)
	}
	// The database lost revisions 8 to 50: the answer goes back, and the next commit counts from there.
	back := ok(sub, fragment{"k", "7", `<b data-ls="k">seven</b>`})
	back.R = "7"
	st.send(back)
	p.WaitText(`[data-ls="k"]`, "seven")
	st.live("A", "8", "k", `<b data-ls="k">eight</b>`)
	p.WaitText(`[data-ls="k"]`, "eight")
	st.live("A", "9", "other", `<b data-ls="other">nine</b>`)
	p.WaitText(`[data-ls="other"]`, "nine")
	// A new incarnation starts at 1.
	again := ok(sub, fragment{"k", "1", `<b data-ls="k">reborn</b>`})
	again.I, again.R = "A2", "1"
	st.send(again)
	p.WaitText(`[data-ls="k"]`, "reborn")
	st.live("A2", "2", "other", `<b data-ls="other">two</b>`)
	p.WaitText(`[data-ls="other"]`, "two")
	p.Quiet()
}

func TestR05SecondDeliveryIsInvisible(t *testing.T) {
	st := newStub(t, `<div id="box">`+scope("A", "1", `<p data-ls="k"><input value="x"><b>one</b></p>`)+`</div>`+fenceScope)
	p := st.visit()
	html := `<p data-ls="k"><input value="x"><b>two</b></p>`
	st.live("A", "2", "k", html)
	p.WaitText("b", "two")
	p.Type("input", "y")
	watch(p, "#box")
	st.live("A", "2", "k", html)
	st.send(ok(st.all("sub")[0], fragment{"k", "2", html}))
	st.live("A", "3", "k", html) // another observable changed, and this HTML did not
	st.fence(p)
	if got := changes(p); got != "" {
		t.Errorf("changes = %s", got)
	}
	if !p.Bool(`document.activeElement === document.querySelector("input") && document.activeElement.value === "xy"`) {
		t.Error("the field lost its focus or text")
	}
	p.Quiet()
}

func TestR09CommandsAreNumberedAndInOrder(t *testing.T) {
	st := newStub(t, scope("A", "1", `<b data-ls="k">one</b>`)+fenceScope)
	p := st.visit()
	p.Eval(`(async () => {
		const s = document.querySelector("lockstep-scope"), next = () => new Promise(r => setTimeout(r))
		for (let i = 0; i < 20; i++) { s.remove(); await next(); document.body.append(s); await next() }
	})()`, nil)
	connected(p)
	subs := st.awaitSubs(22)
	last := 0
	for _, h := range st.log {
		if h.T == "sub" {
			if h.N <= last {
				t.Errorf("subscribe %d came after %d", h.N, last)
			}
			last = h.N
		}
	}
	if len(subs) != 22 || st.count("unsub") != 20 {
		t.Errorf("%d subscribes and %d unsubscribes, want 22 and 20", len(subs), st.count("unsub"))
	}
	if first := subs[2]; first.First {
		t.Error("a scope that had an answer was called untouched")
	}
	p.Quiet()
}

func TestR10OneSocketForAllScopes(t *testing.T) {
	a := func(id string) string {
		return `<div id="` + id + `">` + scope("A", "1", `<b data-ls="k">one</b>`) + `</div>`
	}
	st := newStub(t, a("a1")+a("a2")+scope("B", "1", `<b data-ls="kb">b</b>`)+fenceScope)
	p := st.visit()
	if n := st.sockets(); n != 1 {
		t.Errorf("%d sockets, want 1", n)
	}
	st.live("A", "2", "k", `<b data-ls="k">two</b>`)
	p.WaitText("#a1 b", "two")
	p.WaitText("#a2 b", "two")
	p.Eval(`document.querySelector("#a1").remove()`, nil)
	st.await("an unsubscribe", func() bool { return st.count("unsub") == 1 })
	st.live("A", "3", "k", `<b data-ls="k">three</b>`)
	p.WaitText("#a2 b", "three")
	tabs := []*chromiumtest.Page{p}
	for range 9 {
		tabs = append(tabs, st.visit())
	}
	st.live("A", "4", "k", `<b data-ls="k">four</b>`)
	for _, tab := range tabs {
		tab.WaitText("#a2 b", "four")
		tab.Quiet()
	}
	tabs[9].Goto("about:blank")
	st.await("the closed tab's socket to close", func() bool { return len(st.open()) == 9 })
	if !tabs[8].Bool(`fetch("/frame").then(r => r.ok)`) { // no tab's socket takes a request's place
		t.Error("a tab's request was not served")
	}
}

func TestR59EveryElementOfATargetAndNoForeignOne(t *testing.T) {
	st := newStub(t, `<p id="x">foreign</p>`+scope("A", "1", `<p id="x" data-ls="k">one</p><p data-ls="k">one</p>`)+
		scope("A", "1", `<p data-ls="k">one</p>`)+`<p id="x">foreign</p><p data-ls="k">outside</p>`)
	p := st.visit()
	st.live("A", "2", "k", `<p id="x" data-ls="k">two</p>`)
	p.WaitFor(`[...document.querySelectorAll("lockstep-scope p")].map(e => e.textContent).join() === "two,two,two"`)
	if got := p.String(`[...document.querySelectorAll("body > p")].map(e => e.textContent).join()`); got != "foreign,foreign,outside" {
		t.Errorf("what is not ours = %s", got)
	}
	p.Quiet()
}

func TestR60MissingTargetAndRemovedScope(t *testing.T) {
	st := newStub(t, scope("A", "1", `<b data-ls="k1">1</b><b data-ls="k2">1</b><b data-ls="k3">1</b>`))
	p := st.visit()
	p.Eval(`document.addEventListener("lockstep:missing", e => window.missing = (window.missing ?? "") + e.detail.target)
		document.querySelector("[data-ls=k2]").remove()`, nil)
	for _, k := range []string{"k1", "k2", "k3"} {
		st.live("A", "2", k, `<b data-ls="`+k+`">2</b>`)
	}
	p.WaitText("[data-ls=k3]", "2")
	if got := p.Text("[data-ls=k1]") + p.String("window.missing"); got != "2k2" {
		t.Errorf("k1 and what was missing = %s, want 2k2", got)
	}
	p.Eval(`window.kept = document.querySelector("lockstep-scope"); kept.remove()`, nil)
	st.await("the unsubscribe", func() bool { return st.count("unsub") == 1 })
	st.await("the socket to close", func() bool { return len(st.open()) == 0 })
	if p.Bool("document.documentElement.dataset.lsStatus") {
		t.Error("a page without scopes has a status")
	}
	st.answerWith(func(h heard) []frame { return []frame{ok(h, fragment{"k1", "3", `<b data-ls="k1">3</b>`})} })
	p.Eval(`document.body.append(kept)`, nil)
	p.WaitText("[data-ls=k1]", "3")
	if n := st.sockets(); n != 2 {
		t.Errorf("%d sockets over all, want 2: nothing reconnects for scopes that are gone", n)
	}
	p.Quiet()
}

func TestR60AMoveIsNoChurn(t *testing.T) {
	st := newStub(t, `<div id="there"></div>`+scope("A", "1", `<b data-ls="k">1</b>`)+fenceScope)
	p := st.visit()
	p.Eval(`there.append(document.querySelector("lockstep-scope"))
		const moved = document.querySelector("lockstep-scope")
		moved.remove()
		document.body.prepend(moved)
		document.body.moveBefore(document.querySelector("lockstep-scope"), null)`, nil)
	st.live("A", "2", "k", `<b data-ls="k">2</b>`)
	p.WaitText("[data-ls=k]", "2")
	if st.count("sub") != 2 || st.count("unsub") != 0 {
		t.Errorf("%d subscribes, %d unsubscribes, want 2 and 0", st.count("sub"), st.count("unsub"))
	}
}

func TestR61ChildEndsAtItsHighestRevisionInEveryOrder(t *testing.T) {
	parent := func(child string) string { return `<div data-ls="p"><u>head</u><b data-ls="c">` + child + `</b></div>` }
	for _, order := range []string{"pc", "cp"} {
		st := newStub(t, scope("A", "1", parent("one"))+fenceScope)
		p := st.visit()
		for _, who := range order {
			if who == 'p' {
				st.live("A", "5", "p", strings.Replace(parent("five"), "head", "HEAD", 1))
			} else {
				st.live("A", "6", "c", `<b data-ls="c">six</b>`)
			}
		}
		p.WaitText("u", "HEAD")
		st.fence(p)
		if got := p.Text("[data-ls=c]"); got != "six" {
			t.Errorf("order %s: child = %q, want six", order, got)
		}
		// Moving the child makes the parent's own copy of it no newer.
		st.live("A", "5", "c", `<b data-ls="c">five again</b>`)
		st.live("A", "7", "p", `<div data-ls="p"><b data-ls="d">new</b><b data-ls="c">seven</b></div>`)
		p.WaitText("[data-ls=c]", "seven")
		st.live("A", "6", "c", `<b data-ls="c">late</b>`)
		st.live("A", "8", "p", `<div data-ls="p"></div>`)
		st.live("A", "9", "c", `<b data-ls="c">orphan</b>`)
		st.fence(p)
		p.Quiet()
	}
}

func TestR61OlderParentThatMovesTheChildKeepsTheNewerChild(t *testing.T) {
	st := newStub(t, scope("A", "1", `<ul data-ls="p"><li data-ls="c">one</li></ul>`)+fenceScope)
	p := st.visit()
	st.live("A", "6", "c", `<li data-ls="c">six</li>`)
	st.live("A", "5", "p", `<ul data-ls="p"><li data-ls="n">new</li><li data-ls="c">five</li></ul>`)
	p.WaitText("[data-ls=n]", "new")
	if got := p.Text("ul"); got != "newsix" {
		t.Errorf("list = %q, want newsix", got)
	}
	if p.Bool(`document.querySelector("[id]")`) {
		t.Error("an id was left behind")
	}
}

func TestR61NestedScopeSwitchesExactlyOnce(t *testing.T) {
	inner := func(token, i, r, text string) string {
		return `<lockstep-scope token="` + token + `" instance="` + i + `" revision="` + r + `"><b data-ls="b">` + text + `</b></lockstep-scope>`
	}
	parent := func(head, nested string) string { return `<div data-ls="p"><u>` + head + `</u>` + nested + `</div>` }
	st := newStub(t, scope("A", "1", parent("1", inner("B@1", "B", "1", "b1")))+fenceScope)
	p := st.visit()
	st.live("B", "4", "b", `<b data-ls="b">b4</b>`)
	p.WaitText("[data-ls=b]", "b4")
	// The same token, then the same actor under a new token: the subscription stays, and so does what is newer.
	st.live("A", "2", "p", parent("2", inner("B@1", "B", "1", "b1")))
	st.live("A", "3", "p", parent("3", inner("B@3", "B", "3", "b3")))
	p.WaitText("u", "3")
	st.fence(p)
	if got := p.Text("[data-ls=b]"); got != "b4" || st.count("sub") != 3 || st.count("unsub") != 0 {
		t.Errorf("b = %s after %d subscribes and %d unsubscribes, want b4, 3 and 0", got, st.count("sub"), st.count("unsub"))
	}
	if got := p.String(`document.querySelector("lockstep-scope lockstep-scope").getAttribute("status")`); got != "connected" {
		t.Errorf("its status = %s", got)
	}
	// Another actor.
	st.answerWith(func(h heard) []frame { return []frame{ok(h, fragment{"b", "8", `<b data-ls="b">c8</b>`})} })
	st.live("A", "4", "p", parent("4", inner("C@7", "C", "7", "c7")))
	p.WaitText("[data-ls=b]", "c8")
	st.live("B", "99", "b", `<b data-ls="b">not mine</b>`)
	st.live("C", "9", "b", `<b data-ls="b">c9</b>`)
	p.WaitText("[data-ls=b]", "c9")
	subs := st.awaitSubs(4)
	if len(subs) != 4 || subs[3].Token != "C@7" || subs[3].S != subs[1].S || st.count("unsub") != 0 {
		t.Errorf("subscribes = %+v", subs)
	}
	// The parent drops the scope.
	st.live("A", "5", "p", parent("5", ""))
	st.await("the unsubscribe", func() bool { return st.count("unsub") == 1 })
	p.Quiet()
}

func TestFragmentTokensAreSubscribedAfterReconnect(t *testing.T) {
	st := newStub(t, scope("A", "1", `<div data-ls="p"></div><div data-ls="q"></div>`+scope("B", "1", `<div data-ls="r"></div>`)))
	p := st.visit()
	st.live("B", "2", "r", `<div data-ls="r" data-ls-token="T2"><b data-ls="c">1</b></div>`)
	st.live("A", "2", "p", `<div data-ls="p" data-ls-token="T1"><b data-ls="c">1</b></div>`)
	st.live("A", "2", "q", `<div data-ls="q" data-ls-token="T1"><b data-ls="c">1</b></div>`)
	p.WaitFor(`document.querySelectorAll("[data-ls=c]").length === 3`)
	st.closeAll(1012, "50")
	subs := st.awaitSubs(4)
	if got := strings.Join(append(subs[2].More, subs[3].More...), " "); got != "T1 T2" || subs[2].First || !subs[0].First {
		t.Errorf("more = %q first = %v, then %v", got, subs[0].First, subs[2].First)
	}
	p.Quiet()
}

func TestLoadedTwiceIsOnce(t *testing.T) {
	st := newStub(t, scope("A", "1", `<b data-ls="k">1</b>`)+
		`<script type="module" src="/lockstep/static/other/lockstep.js"></script>`)
	p := st.visit()
	st.live("A", "2", "k", `<b data-ls="k">2</b>`)
	p.WaitText("[data-ls=k]", "2")
	time.Sleep(50 * time.Millisecond) // for a second socket to show itself; there is no event for its absence
	if st.sockets() != 1 || st.count("sub") != 1 {
		t.Errorf("%d sockets, %d subscribes", st.sockets(), st.count("sub"))
	}
	p.Quiet()
}
