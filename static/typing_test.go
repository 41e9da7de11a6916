package static_test

import (
	"fmt"
	"testing"

	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/chromedp"
)

func TestR50FocusAndTypingSurvive(t *testing.T) {
	html := func(n int) string {
		return fmt.Sprintf(`<div data-ls="k"><u>%d</u><input id="i" value="a"><textarea id="t">b</textarea><div id="e" contenteditable>c</div><input id="last"></div>`, n)
	}
	st := newStub(t, scope("A", "1", html(1))+fenceScope)
	p := st.visit()
	rev := 1
	push := func() {
		rev++
		st.live("A", fmt.Sprint(rev), "k", html(rev))
		p.WaitText("u", fmt.Sprint(rev))
	}
	for _, id := range []string{"i", "t", "e"} {
		p.Type("#"+id, "1")
		for _, key := range "2345" {
			push()
			p.Keys(string(key))
		}
		push()
		if !p.Bool(`document.activeElement.id === "` + id + `"`) {
			t.Errorf("%s lost the focus", id)
		}
	}
	if got := p.String(`i.value + " " + t.value + " " + e.textContent`); got != "a12345 b12345 c12345" {
		t.Errorf("typed = %s", got)
	}
	// Caret and selection within the field.
	p.Eval(`i.focus(); i.setSelectionRange(1, 3, "backward")`, nil)
	push()
	p.Keys("\t")
	push()
	if got := p.String(`document.activeElement.id + i.selectionStart + i.selectionEnd + i.selectionDirection`); got != "t13backward" {
		t.Errorf("focus and selection = %s, want t13backward", got)
	}
	p.Quiet()
}

func TestR50AutofocusInAFragmentDoesNotMoveTheFocus(t *testing.T) {
	st := newStub(t, scope("A", "1", `<div data-ls="k"><b>1</b></div>`)+`<button id="own">own</button>`)
	p := st.visit()
	st.live("A", "2", "k", `<div data-ls="k"><b>2</b><p><input autofocus></p></div>`)
	p.WaitText("b", "2")
	p.Eval(`new Promise(r => requestAnimationFrame(() => requestAnimationFrame(r)))`, nil) // when a browser would do it
	if got := p.String(`document.activeElement.localName + document.querySelector("input").hasAttribute("autofocus")`); got != "bodytrue" {
		t.Errorf("focus and attribute = %s, want bodytrue", got)
	}
	p.Eval(`own.focus()`, nil)
	st.live("A", "3", "k", `<section data-ls="k"><b>3</b><p><input autofocus></p></section>`)
	p.WaitText("b", "3")
	p.Eval(`new Promise(r => requestAnimationFrame(() => requestAnimationFrame(r)))`, nil)
	if got := p.String(`document.activeElement.id`); got != "own" {
		t.Errorf("the focus went to %q", got)
	}
	p.Quiet()
}

func TestR50FocusGoesToADefinedPlaceWhenItsFieldIsGone(t *testing.T) {
	st := newStub(t, scope("A", "1", `<div data-ls="k"><section><input id="x"></section><b>1</b></div>`)+fenceScope)
	p := st.visit()
	p.Type("#x", "text")
	st.live("A", "2", "k", `<div data-ls="k"><section><div id="x">x</div></section><b>2</b></div>`)
	p.WaitText("b", "2")
	if got := p.String(`document.activeElement.localName`); got != "section" {
		t.Errorf("the focus is on %s, want section, the nearest that is left", got)
	}
	st.live("A", "3", "k", `<div data-ls="k"><section><div id="x">x</div></section><b>3</b></div>`)
	p.WaitText("b", "3")
	if got := p.String(`document.activeElement.localName`); got != "section" {
		t.Errorf("the focus moved on to %s", got)
	}
	st.live("A", "4", "k", `<template data-ls="k"></template>`)
	p.WaitFor(`document.querySelector("template[data-ls=k]")`)
	st.live("A", "5", "k", `<div data-ls="k"><b>5</b></div>`)
	p.WaitText("b", "5")
	if p.Bool(`document.querySelector("[tabindex],[data-ls-focus]")`) && !p.Bool(`document.activeElement.hasAttribute("data-ls-focus")`) {
		t.Error("a borrowed tabindex was left behind")
	}
	p.Quiet()
}

const draftForm = `<form data-ls="k"><u>%d</u><input id="text" value="%s"><textarea id="area">%[2]s</textarea>` +
	`<input id="box" type="checkbox"%[3]s><input type="radio" name="r" value="1" checked><input type="radio" name="r" value="2" id="two">` +
	`<select id="sel"><option>a</option><option>b</option><option%[4]s>c</option></select><input id="num" type="number" value="1"></form>`

func TestR51UnsentInputSurvives(t *testing.T) {
	st := newStub(t, scope("A", "1", fmt.Sprintf(draftForm, 1, "old", "", ""))+`<button id="else">else</button>`+fenceScope)
	p := st.visit()
	p.Type("#text", " mine")
	p.Type("#area", " mine")
	p.Click("#box")
	p.Click("#two")
	p.Type("#sel", "b")
	p.Type("#num", "2")
	p.Click("#else")
	state := `text.value + "|" + area.value + "|" + box.checked + two.checked + "|" + sel.value + "|" + num.value`
	const mine = "old mine|old mine|truetrue|b|21"
	if got := p.String(state); got != mine {
		t.Fatalf("before any update: %s", got)
	}
	watch(p, "form")
	for n := 2; n < 5; n++ {
		st.live("A", fmt.Sprint(n), "k", fmt.Sprintf(draftForm, n, "old", "", ""))
		p.WaitText("u", fmt.Sprint(n))
	}
	if got := p.String(state); got != mine {
		t.Errorf("same defaults: %s, want %s", got, mine)
	}
	if got := changes(p); got != "before-update, update, characterData #text, before-update, update, characterData #text, before-update, update, characterData #text" &&
		got != "before-update, update, before-update, update, before-update, update, characterData #text, characterData #text, characterData #text" {
		// Observers run after the events of the same task; only their grouping may differ.
		t.Errorf("changes = %s", got)
	}
	p.Eval(`document.addEventListener("lockstep:conflict", e => (window.conflicts ??= []).push(e.target.id + "=" + e.detail.value))`, nil)
	st.live("A", "5", "k", fmt.Sprintf(draftForm, 5, "new", "", " selected"))
	p.WaitText("u", "5")
	if got := p.String(state); got != mine {
		t.Errorf("other defaults: %s, want %s", got, mine)
	}
	if got := p.String(`window.conflicts`); got != "text=new,area=new,sel=c" {
		t.Errorf("conflicts = %s, want text=new,area=new,sel=c", got)
	}
	if got := p.String(`text.defaultValue + area.defaultValue + sel.options[2].defaultSelected`); got != "newnewtrue" {
		t.Errorf("defaults = %s", got)
	}
	p.Eval(`document.querySelector("form").reset()`, nil)
	if got := p.String(state); got != "new|new|falsefalse|c|1" {
		t.Errorf("after the user's own reset: %s", got)
	}
	st.live("A", "6", "k", fmt.Sprintf(draftForm, 6, "newest", " checked", ""))
	p.WaitText("u", "6")
	if got := p.String(state); got != "newest|newest|truefalse|a|1" {
		t.Errorf("untouched fields did not follow: %s", got)
	}
	p.Quiet()
}

func TestR51FocusedFieldWithoutAnEditFollowsWhenItIsLeft(t *testing.T) {
	html := `<div data-ls="k"><u>%d</u><input id="i" value="%s"><textarea id="t">%[2]s</textarea></div>`
	st := newStub(t, scope("A", "1", fmt.Sprintf(html, 1, "one"))+`<button id="else">else</button>`)
	p := st.visit()
	for n, id := range []string{"i", "t"} {
		p.Click("#" + id)
		text := fmt.Sprint("v", n)
		was := p.String(id + ".value")
		st.live("A", fmt.Sprint(n+2), "k", fmt.Sprintf(html, n+2, text))
		p.WaitText("u", fmt.Sprint(n+2))
		if got := p.String(id + ".value"); got != was {
			t.Errorf("focused %s = %q, want %q", id, got, was)
		}
		p.Click("#else")
		p.WaitFor(id + `.value === "` + text + `"`)
	}
	p.Quiet()
}

func TestR51TypedTextStaysInItsRow(t *testing.T) {
	row := func(k string) string {
		return `<li data-ls="` + k + `">` + k + ` <input name="qty" id="in-` + k + `"></li>`
	}
	plain := func(k string) string { return `<li data-ls="` + k + `">` + k + ` <input name="qty"></li>` }
	for name, row := range map[string]func(string) string{"with ids": row, "without": plain} {
		st := newStub(t, scope("A", "1", `<ul data-ls="list">`+row("a")+row("b")+row("c")+`</ul>`))
		p := st.visit()
		p.Type("[data-ls=b] input", "mine")
		st.live("A", "2", "list", `<ul data-ls="list">`+row("new")+row("c")+row("b")+`</ul>`)
		p.WaitFor(`document.querySelector("[data-ls=new]")`)
		got := p.String(`[...document.querySelectorAll("li")].map(e => e.dataset.ls + e.querySelector("input").value)`)
		if got != "new,c,bmine" {
			t.Errorf("%s: rows = %s, want new,c,bmine", name, got)
		}
		if !p.Bool(`document.activeElement === document.querySelector("[data-ls=b] input")`) {
			t.Errorf("%s: the focus did not move with its row", name)
		}
		p.Quiet()
	}
}

func compose(text string) chromedp.Action[chromedp.Void] {
	n := int64(len([]rune(text)))
	return step(input.ImeSetComposition, input.ImeSetCompositionParams{Text: text, SelectionStart: n, SelectionEnd: n})
}

func commit(text string) chromedp.Action[chromedp.Void] {
	return step(input.InsertText, input.InsertTextParams{Text: text})
}

func TestR52CompositionIsNotTouched(t *testing.T) {
	st := newStub(t, scope("A", "1", `<div data-ls="k"><u>1</u><input id="i"></div><b data-ls="other">1</b>`)+fenceScope)
	p := st.visit()
	p.Type("#i", "a")
	watch(p, "[data-ls=k]")
	p.Do(compose("か"))
	for _, n := range []string{"2", "3", "4"} {
		st.live("A", n, "k", `<div data-ls="k"><u>`+n+`</u><input id="i"></div>`)
		st.live("A", n, "other", `<b data-ls="other">`+n+`</b>`)
		p.WaitText("[data-ls=other]", n) // what is not an ancestor goes on
	}
	if got := changes(p); got != "" {
		t.Errorf("during composition: %s", got)
	}
	p.Do(compose("かん"), commit("漢"))
	p.WaitText("u", "4")
	if got := p.String("i.value"); got != "a漢" {
		t.Errorf("value = %q, want a漢", got)
	}
	if got := changes(p); got != "before-update, update, characterData #text" {
		t.Errorf("after composition: %s, want one update", got)
	}
	p.Quiet()
}
