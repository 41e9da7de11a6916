package chromiumtest

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
)

const (
	// deadline is how long a wait lasts before it fails: generous, because a busy machine is not a bug.
	deadline = 20 * time.Second
	// interval is how often a waited-for expression is asked again.
	interval = 15 * time.Millisecond
)

// Page is one visitor's window.
type Page struct {
	t    testing.TB
	ctx  context.Context
	noJS bool

	mu      sync.Mutex
	reports []Report
}

// Visitor opens an empty window with a cookie jar of its own. It is closed when the test ends.
func (b *Browser) Visitor(t testing.TB) *Page {
	t.Helper()
	p := &Page{t: t}
	ctx, cancel := chromedp.NewContext(b.ctx, chromedp.WithNewBrowserContext(), chromedp.WithListener(p.listen))
	t.Cleanup(cancel)
	p.ctx = ctx
	if err := chromedp.Do(ctx); err != nil {
		t.Fatalf("open a window: %v", err)
	}
	return p
}

// Tab opens another empty window of the same visitor, with the same cookies and connections. It is closed when the test
// ends.
func (p *Page) Tab() *Page {
	p.t.Helper()
	q := &Page{t: p.t}
	ctx, cancel := chromedp.NewContext(p.ctx, chromedp.WithListener(q.listen))
	p.t.Cleanup(cancel)
	q.ctx = ctx
	if err := chromedp.Do(ctx); err != nil {
		p.t.Fatalf("open a window: %v", err)
	}
	return q
}

// Do runs steps of chromedp, for what has no method here.
func (p *Page) Do(steps ...chromedp.Action[chromedp.Void]) {
	p.t.Helper()
	ctx, cancel := context.WithTimeout(p.ctx, deadline)
	defer cancel()
	if err := chromedp.Do(ctx, steps...); err != nil {
		p.fatalf("%v", err)
	}
}

// Goto opens an address and returns after the page's load event.
func (p *Page) Goto(url string) {
	p.t.Helper()
	p.Do(chromedp.Navigate(url))
}

// Eval evaluates JavaScript in the page, awaits it if it is a promise, and decodes its value as JSON into `into`,
// which may be nil. An exception fails the test.
func (p *Page) Eval(js string, into any) {
	p.t.Helper()
	if err := p.eval(js, into); err != nil {
		p.fatalf("evaluate %s: %v", js, err)
	}
}

func (p *Page) eval(js string, into any) error {
	ctx, cancel := context.WithTimeout(p.ctx, deadline)
	defer cancel()
	value, err := chromedp.Run(ctx, func(ctx context.Context, t *chromedp.Target) ([]byte, error) {
		yes, await := true, !p.noJS // a page without scripts never settles a promise
		r, err := cdp.Call(ctx, t, runtime.Evaluate, runtime.EvaluateParams{
			Expression: js, ReturnByValue: &yes, AwaitPromise: &await, UserGesture: &yes,
		})
		if err != nil {
			return nil, err
		}
		if d := r.ExceptionDetails; d != nil {
			if d.Exception != nil && d.Exception.Description != "" {
				return nil, fmt.Errorf("%s", d.Exception.Description)
			}
			return nil, fmt.Errorf("%s", d.Text)
		}
		return []byte(r.Result.Value), nil
	})
	if err != nil || into == nil {
		return err
	}
	if len(value) == 0 { // undefined
		value = []byte("null")
	}
	return json.Unmarshal(value, into)
}

// String is the value of a JavaScript expression as a string.
func (p *Page) String(js string) string {
	p.t.Helper()
	var s string
	p.Eval("String("+js+")", &s)
	return s
}

// Bool is whether a JavaScript expression, or what it promises, is truthy.
func (p *Page) Bool(js string) bool {
	p.t.Helper()
	var b bool
	p.Eval(p.truth(js), &b)
	return b
}

// truth is an expression for whether another is truthy. A promise by itself always is.
func (p *Page) truth(js string) string {
	if p.noJS { // where a promise never settles
		return "Boolean(" + js + ")"
	}
	return "Promise.resolve(" + js + ").then(Boolean)"
}

// Text is the text content of the first element that matches, which has to be there.
func (p *Page) Text(selector string) string {
	p.t.Helper()
	return p.String(query(selector) + ".textContent.trim()")
}

// WaitFor waits until a JavaScript expression, or what it promises, is truthy.
func (p *Page) WaitFor(js string) {
	p.t.Helper()
	var last error
	p.wait(func() bool {
		var ok bool
		last = p.eval(p.truth(js), &ok) // it fails while the page is changing, and before what it names exists
		return last == nil && ok
	}, func() string { return fmt.Sprintf("never true: %s (last error: %v)", js, last) })
}

// WaitText waits until the first element that matches has this text.
func (p *Page) WaitText(selector, want string) {
	p.t.Helper()
	got := "no such element"
	p.wait(func() bool {
		return p.eval(query(selector)+"?.textContent.trim() ?? 'no such element'", &got) == nil && got == want
	}, func() string { return fmt.Sprintf("text of %s = %q, want %q", selector, got, want) })
}

// wait asks until done says yes, and fails with what complaint says when the time is over.
func (p *Page) wait(done func() bool, complaint func() string) {
	p.t.Helper()
	for end := time.Now().Add(deadline); !done(); time.Sleep(interval) {
		if time.Now().After(end) {
			p.fatalf("after %s: %s", deadline, complaint())
		}
	}
}

// fatalf fails the test with what the page looks like and what it complained about.
func (p *Page) fatalf(format string, args ...any) {
	p.t.Helper()
	var url, html string
	_ = p.eval("location.href", &url)
	_ = p.eval("document.documentElement.outerHTML", &html)
	if len(html) > 8000 {
		html = html[:8000] + "…"
	}
	p.t.Fatalf("%s\npage: %s\nreports: %v\n%s", fmt.Sprintf(format, args...), url, p.all(), html)
}

// Click moves the mouse to the middle of the first element that matches and clicks.
func (p *Page) Click(selector string) {
	p.t.Helper()
	p.Press(selector)
	p.Release(selector)
}

// Press pushes the left mouse button down over the first element that matches.
func (p *Page) Press(selector string) {
	p.t.Helper()
	p.mouse(selector, 0, input.DispatchMouseEventTypeMousePressed)
}

// Release moves over the first element that matches and lets the left mouse button go.
func (p *Page) Release(selector string) {
	p.t.Helper()
	p.mouse(selector, 1, input.DispatchMouseEventTypeMouseReleased)
}

// mouse moves there, with the left button down or not, and then does something with it.
func (p *Page) mouse(selector string, down int64, event input.DispatchMouseEventType) {
	p.t.Helper()
	var at struct{ X, Y float64 }
	p.Eval(`(() => {
		const e = `+query(selector)+`
		let r = e.getBoundingClientRect()
		if (r.top < 0 || r.left < 0 || r.bottom > innerHeight || r.right > innerWidth) {
			e.scrollIntoView({block: "center", inline: "center", behavior: "instant"})
			r = e.getBoundingClientRect()
		}
		return {x: r.x + r.width / 2, y: r.y + r.height / 2}
	})()`, &at)
	button := input.MouseButtonNone
	if down == 1 {
		button = input.MouseButtonLeft
	}
	p.Do(
		command(input.DispatchMouseEvent, input.DispatchMouseEventParams{
			Type: input.DispatchMouseEventTypeMouseMoved, X: at.X, Y: at.Y, Button: button, Buttons: down,
		}),
		chromedp.MouseEvent(event, at.X, at.Y, chromedp.ButtonLeft, chromedp.ClickCount(1)),
	)
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

// Keys types wherever the focus is. The names of special keys are those of chromedp's kb package.
func (p *Page) Keys(keys string) {
	p.t.Helper()
	p.Do(chromedp.KeyEvent(keys))
}

// Screenshot writes what the window shows as a PNG file.
func (p *Page) Screenshot(path string) {
	p.t.Helper()
	ctx, cancel := context.WithTimeout(p.ctx, deadline)
	defer cancel()
	png, err := chromedp.Run(ctx, chromedp.CaptureScreenshot())
	if err == nil {
		err = os.MkdirAll(filepath.Dir(path), 0o755)
	}
	if err == nil {
		err = os.WriteFile(path, png, 0o644)
	}
	if err != nil {
		p.fatalf("screenshot: %v", err)
	}
}

// BeforeEveryPage registers JavaScript that runs in each page opened from now on, before the page's own scripts.
func (p *Page) BeforeEveryPage(js string) {
	p.t.Helper()
	p.Do(chromedp.Func(func(ctx context.Context, t *chromedp.Target) error {
		_, err := cdp.Call(ctx, t, page.AddScriptToEvaluateOnNewDocument,
			page.AddScriptToEvaluateOnNewDocumentParams{Source: js})
		return err
	}))
}

// query is the JavaScript for the first element that matches a selector.
func query(selector string) string {
	quoted, err := json.Marshal(strings.TrimSpace(selector))
	if err != nil {
		panic(err) // a string always has JSON
	}
	return "document.querySelector(" + string(quoted) + ")"
}
