package firefoxtest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"
)

const (
	// deadline is how long a wait lasts before it fails: generous, because a busy machine is not a bug.
	deadline = 30 * time.Second
	// interval is how often a waited-for expression is asked again.
	interval = 15 * time.Millisecond
)

// Page is one visitor's window.
type Page struct {
	t       testing.TB
	browser *Browser
	visitor string // the user context
	context string

	mu      sync.Mutex
	reports []Report
}

// Visitor opens an empty window with a cookie jar of its own. It is closed when the test ends.
func (b *Browser) Visitor(t testing.TB) *Page {
	t.Helper()
	var made struct {
		UserContext string `json:"userContext"`
	}
	ctx, cancel := context.WithTimeout(context.Background(), deadline)
	defer cancel()
	if err := b.call(ctx, "browser.createUserContext", struct{}{}, &made); err != nil {
		t.Fatalf("a new visitor: %v", err)
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), deadline)
		defer cancel()
		_ = b.call(ctx, "browser.removeUserContext", made, nil) // closes its windows; the browser may be gone
	})
	return (&Page{t: t, browser: b, visitor: made.UserContext}).Tab()
}

// Tab opens another empty window of the same visitor, with the same cookies and connections. It is closed when the test
// ends.
func (p *Page) Tab() *Page {
	p.t.Helper()
	q := &Page{t: p.t, browser: p.browser, visitor: p.visitor}
	var made struct {
		Context string `json:"context"`
	}
	// A window and not a tab: of the tabs in one window all but one are hidden.
	q.must("browsingContext.create", map[string]any{"type": "window", "userContext": q.visitor}, &made)
	q.context = made.Context
	s := q.browser.session
	s.mu.Lock()
	defer s.mu.Unlock()
	s.pages[q.context] = q
	q.t.Cleanup(func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		delete(s.pages, q.context)
	})
	return q
}

// must calls the browser about this page and fails the test where it refuses.
func (p *Page) must(method string, params map[string]any, into any) {
	p.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), deadline)
	defer cancel()
	if p.context != "" {
		params["context"] = p.context
	}
	if err := p.browser.call(ctx, method, params, into); err != nil {
		p.fatalf("%v", err)
	}
}

// Goto opens an address and returns after the page's load event.
func (p *Page) Goto(url string) {
	p.t.Helper()
	p.must("browsingContext.navigate", map[string]any{"url": url, "wait": "complete"}, nil)
}

// Reload loads the page again, as the user's button does, and returns after its load event.
func (p *Page) Reload() {
	p.t.Helper()
	p.must("browsingContext.reload", map[string]any{"wait": "complete"}, nil)
}

// Back goes back in the window's history, as the user's button does, and does not wait for the page.
func (p *Page) Back() {
	p.t.Helper()
	p.must("browsingContext.traverseHistory", map[string]any{"delta": -1}, nil)
}

// SetCookie gives the visitor a cookie for the host, which has no port.
func (p *Page) SetCookie(host, name, value string) {
	p.t.Helper()
	cookie := map[string]any{"domain": host, "name": name, "value": map[string]any{"type": "string", "value": value}}
	where := map[string]any{"type": "storageKey", "userContext": p.visitor}
	ctx, cancel := context.WithTimeout(context.Background(), deadline)
	defer cancel()
	if err := p.browser.call(ctx, "storage.setCookie", map[string]any{"cookie": cookie, "partition": where}, nil); err != nil {
		p.fatalf("%v", err)
	}
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
	ctx, cancel := context.WithTimeout(context.Background(), deadline)
	defer cancel()
	var got struct {
		Type             string
		Result           remote
		ExceptionDetails struct{ Text string }
	}
	err := p.browser.call(ctx, "script.evaluate", map[string]any{
		"expression": js, "target": map[string]any{"context": p.context}, "awaitPromise": true, "userActivation": true,
	}, &got)
	if err != nil {
		return err
	}
	if got.Type == "exception" {
		return errors.New(got.ExceptionDetails.Text)
	}
	if into == nil {
		return nil
	}
	value, err := got.Result.plain()
	if err != nil {
		return err
	}
	doc, err := json.Marshal(value)
	if err != nil {
		return err
	}
	return json.Unmarshal(doc, into)
}

// String is the value of a JavaScript expression as a string.
func (p *Page) String(js string) string {
	p.t.Helper()
	var s string
	p.Eval("String("+js+")", &s)
	return s
}

// Bool is whether a JavaScript expression is truthy.
func (p *Page) Bool(js string) bool {
	p.t.Helper()
	var b bool
	p.Eval("Boolean("+js+")", &b)
	return b
}

// Text is the text content of the first element that matches, which has to be there.
func (p *Page) Text(selector string) string {
	p.t.Helper()
	return p.String(query(selector) + ".textContent.trim()")
}

// WaitFor waits until a JavaScript expression is truthy.
func (p *Page) WaitFor(js string) {
	p.t.Helper()
	var last error
	p.wait(func() bool {
		var ok bool
		last = p.eval("(async () => Boolean(await ("+js+")))()", &ok) // it fails while the page is changing, and before what it names exists
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
	p.t.Fatalf("%s\npage: %s\nreports: %v\n%s", fmt.Sprintf(format, args...), url, p.Reports(), html)
}

// BeforeEveryPage registers JavaScript that runs in each page opened from now on, before the page's own scripts.
func (p *Page) BeforeEveryPage(js string) {
	p.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), deadline)
	defer cancel()
	err := p.browser.call(ctx, "script.addPreloadScript", map[string]any{
		"functionDeclaration": "() => {" + js + "\n}", "contexts": []string{p.context},
	}, nil)
	if err != nil {
		p.fatalf("%v", err)
	}
}

// query is the JavaScript for the first element that matches a selector.
func query(selector string) string {
	quoted, err := json.Marshal(strings.TrimSpace(selector))
	if err != nil {
		panic(err) // a string always has JSON
	}
	return "document.querySelector(" + string(quoted) + ")"
}
