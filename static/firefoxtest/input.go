package firefoxtest

// act has the browser do things as its user does them, with one device.
func (p *Page) act(kind string, actions ...map[string]any) {
	p.t.Helper()
	device := map[string]any{"type": kind, "id": kind, "actions": actions}
	p.must("input.performActions", map[string]any{"actions": []any{device}}, nil)
}

// Click moves the mouse to the middle of the first element that matches and clicks.
func (p *Page) Click(selector string) {
	p.t.Helper()
	p.act("pointer", p.over(selector), map[string]any{"type": "pointerDown", "button": 0}, map[string]any{"type": "pointerUp", "button": 0})
}

// Press pushes the left mouse button down over the first element that matches.
func (p *Page) Press(selector string) {
	p.t.Helper()
	p.act("pointer", p.over(selector), map[string]any{"type": "pointerDown", "button": 0})
}

// Release moves over the first element that matches and lets the left mouse button go.
func (p *Page) Release(selector string) {
	p.t.Helper()
	p.act("pointer", p.over(selector), map[string]any{"type": "pointerUp", "button": 0})
}

// over is the move of the mouse to an element, which is brought into view.
func (p *Page) over(selector string) map[string]any {
	p.t.Helper()
	var at struct{ X, Y int }
	p.Eval(`(() => {
		const e = `+query(selector)+`
		let r = e.getBoundingClientRect()
		if (r.top < 0 || r.left < 0 || r.bottom > innerHeight || r.right > innerWidth) {
			e.scrollIntoView({block: "center", inline: "center", behavior: "instant"})
			r = e.getBoundingClientRect()
		}
		return {x: Math.round(r.x + r.width / 2), y: Math.round(r.y + r.height / 2)}
	})()`, &at)
	return map[string]any{"type": "pointerMove", "x": at.X, "y": at.Y}
}

// Type types text into the first element that matches, key by key: where its caret is if it has the focus, or else
// after giving it the focus at the end of its text.
func (p *Page) Type(selector, text string) {
	p.t.Helper()
	p.Eval(`(e => {
		if (document.activeElement === e) return
		e.focus()
		if (e.isContentEditable) getSelection().selectAllChildren(e), getSelection().collapseToEnd()
		else try { e.setSelectionRange(e.value.length, e.value.length) } catch {} // a number has no caret to set
	})(`+query(selector)+`)`, nil)
	p.Keys(text)
}

// special are the names that WebDriver has for keys without a letter.
var special = map[rune]string{'\b': "\uE003", '\t': "\uE004", '\r': "\uE007", '\n': "\uE007", '\x1b': "\uE00C"}

// Keys types wherever the focus is: backspace, tab, return and escape are keys too.
func (p *Page) Keys(keys string) {
	p.t.Helper()
	var actions []map[string]any
	for _, key := range keys {
		name, ok := special[key]
		if !ok {
			name = string(key)
		}
		actions = append(actions, map[string]any{"type": "keyDown", "value": name}, map[string]any{"type": "keyUp", "value": name})
	}
	p.act("key", actions...)
}
