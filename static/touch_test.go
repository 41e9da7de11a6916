package static_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/chromedp"
)

func TestR55ScrollSelectionFrameAndMediaSurvive(t *testing.T) {
	html := func(word string, rows string) string {
		return `<div data-ls="k"><u>` + word + `</u><div id="list"><pre>` + rows +
			`</pre></div><iframe src="/frame"></iframe><details><summary>s</summary>d</details><dialog id="d"><p id="sentence">to be selected</p></dialog></div>`
	}
	rows := strings.Repeat("row\n", 100)
	st := newStub(t, scope("A", "1", html("one", rows))+fenceScope)
	p := st.visit()
	p.Eval(`(() => {
		const list = document.querySelector("#list")
		list.style.height = "100px"; list.style.overflow = "auto"; list.scrollTop = 77
		list.toggleAttribute("data-ls-keep", true)
		document.querySelector("iframe").contentWindow.counter = 5
		document.querySelector("details").open = true
		d.showModal()
		getSelection().selectAllChildren(sentence)
	})()`, nil)
	state := `document.querySelector("#list").scrollTop + " " + getSelection() + " " +
		document.querySelector("iframe").contentWindow.counter + document.querySelector("details").open + d.matches(":modal")`
	const want = "77 to be selected 5truetrue"
	if got := p.String(state); got != want {
		t.Fatalf("before: %s", got)
	}
	watch(p, "[data-ls=k]")
	next := `<div data-ls="k"><u>two</u><div id="list" data-ls-keep></div><iframe src="/frame"></iframe><details><summary>s</summary>d</details><dialog id="d"><p id="sentence">to be selected</p></dialog></div>`
	st.live("A", "2", "k", next)
	p.WaitText("u", "two")
	if got := p.String(state); got != want {
		t.Errorf("after one word: %s, want %s", got, want)
	}
	if got := changes(p); got != "before-update, update, characterData #text" {
		t.Errorf("changes = %s", got)
	}
	st.live("A", "3", "k", next)
	st.fence(p)
	if got := p.String(state) + changes(p); got != want {
		t.Errorf("after the same HTML: %s, want %s and no changes", got, want)
	}
	p.Quiet()
}

func TestR56ClickIsNotLost(t *testing.T) {
	html := func(n int) string {
		return fmt.Sprintf(`<div data-ls="k" id="r%d"><button id="b%[1]d">press</button><u>%[1]d</u></div>`, n) // its id changes: the button is another one
	}
	st := newStub(t, scope("A", "1", html(1))+`<p id="out">out</p>`+fenceScope)
	p := st.visit()
	p.Eval(`window.clicks = 0; addEventListener("click", e => e.target.localName === "button" && clicks++)`, nil)
	const rounds = 12
	for n := 2; n < 2+rounds; n++ {
		p.Press("button")
		st.live("A", fmt.Sprint(n), "k", html(n))
		st.fence(p)
		if got := p.Text("u"); got == fmt.Sprint(n) {
			t.Fatalf("round %d: updated in the middle of a press", n)
		}
		p.Release("button")
		p.WaitText("u", fmt.Sprint(n))
	}
	if got := p.String("clicks"); got != fmt.Sprint(rounds) {
		t.Errorf("%s clicks of %d arrived", got, rounds)
	}
	// A press that becomes no click: the button is let go elsewhere, or is never seen to be let go.
	p.Press("button")
	st.live("A", "50", "k", html(50))
	p.Release("#out")
	p.WaitText("u", "50")
	p.Press("button")
	st.live("A", "51", "k", html(51))
	p.Eval(`dispatchEvent(new PointerEvent("pointercancel"))`, nil)
	p.WaitText("u", "51")
	p.Quiet()
}

func TestR56TapIsNotLost(t *testing.T) {
	html := func(n int) string {
		return fmt.Sprintf(`<div data-ls="k" id="r%d"><button>press</button><u>%[1]d</u></div>`, n)
	}
	st := newStub(t, scope("A", "1", html(1))+fenceScope)
	p := st.visit()
	p.Do(chromedp.EmulateViewport(400, 600, chromedp.EmulateTouch))
	p.Eval(`window.clicks = 0; addEventListener("click", e => clicks++)`, nil)
	for n := 2; n < 6; n++ {
		var at struct{ X, Y float64 }
		p.Eval(`(r => ({x: r.x + r.width / 2, y: r.y + r.height / 2}))(document.querySelector("button").getBoundingClientRect())`, &at)
		touch := func(kind input.DispatchTouchEventType, points ...*input.TouchPoint) {
			p.Do(step(input.DispatchTouchEvent, input.DispatchTouchEventParams{Type: kind, TouchPoints: points}))
		}
		touch(input.DispatchTouchEventTypeTouchStart, &input.TouchPoint{X: at.X, Y: at.Y})
		st.live("A", fmt.Sprint(n), "k", html(n))
		st.fence(p)
		touch(input.DispatchTouchEventTypeTouchEnd)
		p.WaitText("u", fmt.Sprint(n))
	}
	if got := p.String("clicks"); got != "4" {
		t.Errorf("%s taps of 4 arrived", got)
	}
	// Where a second tap could follow, a browser waits before it calls the first one a click.
	p.Eval(`window.touch = type => document.querySelector("button").dispatchEvent(new PointerEvent(type, {bubbles: true, pointerType: "touch"}))
		touch("pointerdown")`, nil)
	st.live("A", "6", "k", html(6))
	st.fence(p)
	p.Eval(`touch("pointerup"); new Promise(r => setTimeout(r, 100))`, nil)
	if got := p.Text("u"); got != "5" {
		t.Errorf("shows %s before the click", got)
	}
	p.Eval(`document.querySelector("button").click(); new Promise(r => setTimeout(r, 30))`, nil)
	if got := p.Text("u"); got != "6" {
		t.Errorf("shows %s after the click", got)
	}
}

func TestR58RootsOfEveryKindAndNewlines(t *testing.T) {
	st := newStub(t, `<table><tbody>`+scopeless+`</tbody></table>`+scope("A", "1",
		`<table><tbody><tr data-ls="row"><td data-ls="cell">1</td></tr></tbody></table><ul><li data-ls="item">1</li></ul>`+
			`<textarea data-ls="area">`+"\n\none"+`</textarea><pre data-ls="pre">`+"\n\none"+`</pre><template data-ls="hidden"></template>`)+fenceScope)
	p := st.visit()
	for n := 2; n < 5; n++ {
		r := fmt.Sprint(n)
		st.live("A", r, "row", `<!-- row -->
		<tr data-ls="row"><td data-ls="cell">`+r+`</td></tr>
		`)
		st.live("A", r, "item", `<li data-ls="item">`+r+`</li>`)
		st.live("A", r, "area", `<textarea data-ls="area">`+"\n\n"+r+`</textarea>`)
		st.live("A", r, "pre", `<pre data-ls="pre">`+"\n\n"+r+`</pre>`)
		p.WaitText("[data-ls=pre]", r)
		got := p.String(`JSON.stringify([document.querySelector("tr[data-ls=row] > td").textContent, document.querySelector("ul > li").textContent,
			document.querySelector("textarea").value, document.querySelector("pre").textContent])`)
		if want := fmt.Sprintf(`["%[1]s","%[1]s","\n%[1]s","\n%[1]s"]`, r); got != want {
			t.Errorf("revision %d: %s, want %s", n, got, want)
		}
	}
	st.live("A", "5", "cell", `<td data-ls="cell">five</td>`)
	p.WaitText("tr > td[data-ls=cell]", "five")
	// Nothing, something, nothing.
	st.live("A", "5", "hidden", `<section data-ls="hidden"><b>shown</b></section>`)
	p.WaitText("section[data-ls=hidden]", "shown")
	st.live("A", "6", "hidden", `<template data-ls="hidden"></template>`)
	p.WaitFor(`document.querySelector("template[data-ls=hidden]") && !document.querySelector("section")`)
	st.live("A", "7", "hidden", `<section data-ls="hidden"><b>again</b></section>`)
	p.WaitText("section[data-ls=hidden]", "again")
	p.Quiet()
}

const scopeless = `<tr><td>a table of the page's own</td></tr>`

func TestR62WidgetsAndCustomElements(t *testing.T) {
	html := func(n int, before string) string {
		return fmt.Sprintf(`<div data-ls="k"><u>%d</u>%s<div data-ls-keep class="picker"><input></div><x-count><i>light</i></x-count></div>`, n, before)
	}
	st := newStub(t, scope("A", "1", html(1, ""))+fenceScope)
	p := st.visit()
	p.Eval(`(() => {
		window.connects = 0; window.disconnects = 0
		customElements.define("x-count", class extends HTMLElement {
			connectedCallback() { connects++ }
			disconnectedCallback() { disconnects++ }
			connectedMoveCallback() {}
		})
		window.picker = document.querySelector(".picker")
		picker.className += " open"
		picker.append(document.createElement("x-count"))
		picker.querySelector("input").value = "picked"
	})()`, nil)
	for n := 2; n < 12; n++ {
		before := ""
		if n%2 == 0 {
			before = `<div>another of the same kind in front</div>`
		}
		st.live("A", fmt.Sprint(n), "k", html(n, before))
		p.WaitText("u", fmt.Sprint(n))
	}
	if got := p.String(`connects + " " + disconnects + " " + (picker === document.querySelector("[data-ls-keep]")) + picker.className + picker.children.length + picker.querySelector("input").value + picker.id`); got != "2 0 truepicker open2picked" {
		t.Errorf("callbacks and widget = %s, want 2 0 truepicker open2picked", got)
	}
	// The application can cancel an update.
	p.Eval(`document.addEventListener("lockstep:before-update", e => e.detail.target === "k" && e.preventDefault())`, nil)
	st.live("A", "20", "k", html(20, ""))
	st.fence(p)
	if got := p.Text("u"); got != "11" {
		t.Errorf("a cancelled update was applied: %s", got)
	}
	p.Quiet()
}

func TestR63LiveRegionChangesOnceAndKeepsItsNode(t *testing.T) {
	html := func(text string) string {
		return `<div data-ls="k"><p aria-live="polite">` + text + `</p><a href="#here" id="link">link</a></div>`
	}
	st := newStub(t, scope("A", "1", html("one"))+fenceScope)
	st.answerWith(func(h heard) []frame {
		if h.First {
			return []frame{ok(h)}
		}
		if h.Token[0] == 'A' {
			return []frame{ok(h, fragment{"k", "2", html("two")})}
		}
		return []frame{ok(h)}
	})
	p := st.visit()
	p.Eval(`link.focus(); window.region = document.querySelector("[aria-live]")`, nil)
	watch(p, "[data-ls=k]")
	st.live("A", "2", "k", html("two"))
	p.WaitText("[aria-live]", "two")
	if got := changes(p); got != "before-update, update, characterData #text" {
		t.Errorf("one change of the text = %s", got)
	}
	st.closeAll(1012, "20")
	st.awaitSubs(4)
	connected(p)
	st.fence(p)
	if got := changes(p); got != "" {
		t.Errorf("an unchanged answer = %s", got)
	}
	if !p.Bool(`region === document.querySelector("[aria-live]") && document.activeElement === link`) {
		t.Error("the region's node or the focus was lost")
	}
	p.Quiet()
}

func TestR46HostileTextStaysText(t *testing.T) {
	const hostile = `&lt;/b&gt;&lt;script&gt;window.owned = 1&lt;/script&gt;&lt;img src=x onerror=owned=1&gt;`
	st := newStub(t, scope("A", "1", `<b data-ls="k" title="1">1</b>`)+fenceScope)
	p := st.visit()
	st.live("A", "2", "k", `<b data-ls="k" title="&#34; onclick=&#34;owned=1">`+hostile+`</b>`)
	p.WaitFor(`document.querySelector("[data-ls=k]").textContent.startsWith("</b><script>")`)
	if got := p.String(`document.querySelector("[data-ls=k]").childElementCount + document.querySelector("[data-ls=k]").getAttributeNames().join()`); got != "0data-ls,title" {
		t.Errorf("elements and attributes = %s", got)
	}
	// Even a fragment with a script in it, which no component renders, runs nothing.
	st.live("A", "3", "k", `<b data-ls="k"><script>window.owned = 1</script><script id="s" src="/owned.js"></script>3</b>`)
	p.WaitFor(`document.querySelector("[data-ls=k]").textContent.endsWith("3")`)
	st.fence(p)
	if p.Bool("window.owned") {
		t.Error("a fragment's script ran")
	}
	p.Quiet()
}
