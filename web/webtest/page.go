package webtest

import (
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/andybalholm/cascadia"
	"golang.org/x/net/html"
)

// Page is one open page. Its methods are for one goroutine at a time.
type Page struct {
	t       testing.TB
	visitor *Visitor
	rnd     *rand.Rand // of backoffs: the same in every run

	overStream bool // its connections are streams

	mu      sync.Mutex
	changed chan struct{} // closed, and another one made, whenever something has changed
	address *url.URL
	client  *url.URL // BASE, where the page loads our client; nil where it does not
	doc     *html.Node
	scopes  []*scope // in document order
	names   int
	count   int64 // of subscribes
	updates int
	heard   map[string]string // what scripts were last told of each data target
	keys    map[string]string // of each form's message that has had no answer yet
	life    *life
	conn    *conn
	faults  faults
}

// life is from loading a document to leaving it.
type life struct {
	ctx     context.Context
	leave   context.CancelFunc
	work    sync.WaitGroup
	wake    chan struct{} // that something is wanted of a connection
	attempt int
	revoked bool
}

// Option is a way in which a page differs from most.
type Option func(*Page)

// OverStream has a page's connections be streams of Server-Sent Events, as a browser's are where WebSockets do not pass.
func OverStream() Option { return func(p *Page) { p.overStream = true } }

// Get opens a page and returns it when it is connected: each of its scopes was answered, or refused. Any status but 200
// fails the test.
func (v *Visitor) Get(path string, options ...Option) *Page {
	v.site.t.Helper()
	p := v.Load(path, options...)
	p.Connect()
	return p
}

// Load opens a page as a browser without our client does: it stays as it was rendered, until Connect.
func (v *Visitor) Load(path string, options ...Option) *Page {
	v.site.t.Helper()
	p := &Page{t: v.site.t, visitor: v, changed: make(chan struct{}), keys: map[string]string{}, rnd: rand.New(rand.NewPCG(5, v.site.pages.Add(1)))}
	for _, o := range options {
		o(p)
	}
	p.load(v.site.URL(path))
	p.t.Cleanup(p.Close)
	return p
}

// load takes a document from the site.
func (p *Page) load(address string) {
	p.t.Helper()
	doc, at, err := p.visitor.fetch(p.t.Context(), address)
	if err != nil {
		p.t.Fatalf("webtest: %v", err)
	}
	p.open(doc, at)
}

// fetch is a GET of a page.
func (v *Visitor) fetch(ctx context.Context, address string) (*html.Node, *url.URL, error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return nil, nil, err
	}
	r.Header.Set("Accept", "text/html")
	resp, err := v.client.Do(r)
	if err != nil {
		return nil, nil, err
	}
	return document(resp)
}

// document reads a page out of an answer.
func document(resp *http.Response) (*html.Node, *url.URL, error) {
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	switch {
	case err != nil:
		return nil, nil, err
	case resp.StatusCode != http.StatusOK:
		return nil, nil, fmt.Errorf("%s %s: %s: %s", resp.Request.Method, resp.Request.URL.Path, resp.Status, excerpt(string(text)))
	}
	doc, err := html.Parse(strings.NewReader(string(text)))
	return doc, resp.Request.URL, err
}

func excerpt(text string) string {
	if len(text) > 300 {
		text = strings.ToValidUTF8(text[:300], "") + "…"
	}
	return strings.TrimSpace(text)
}

// open shows a document in place of the one before.
func (p *Page) open(doc *html.Node, at *url.URL) {
	p.Close()
	p.mu.Lock()
	defer p.mu.Unlock()
	p.doc, p.address, p.client, p.scopes, p.heard = doc, at, nil, nil, map[string]string{}
	p.hear(nil, dataIn(doc))
	for _, n := range elements(doc, func(n *html.Node) bool { return n.Data == "script" && attr(n, "type") == "module" }) {
		if src := attr(n, "src"); strings.HasSuffix(src, "/lockstep.js") {
			if module, err := at.Parse(src); err == nil {
				p.client, _ = module.Parse("../../")
			}
		}
	}
	p.note()
}

// Connect does what the page's script does: it opens a connection and subscribes the scopes. It returns when each of them
// was answered, or refused.
func (p *Page) Connect() {
	p.t.Helper()
	p.mu.Lock()
	if p.client == nil || p.life != nil {
		p.mu.Unlock()
		return
	}
	l := &life{wake: make(chan struct{}, 1)}
	l.ctx, l.leave = context.WithCancel(context.WithoutCancel(p.t.Context()))
	p.life = l
	p.join()
	p.mu.Unlock()
	l.work.Go(func() { p.keepConnected(l) })
	p.waitUntil(func() string {
		for _, s := range p.scopes {
			if !s.answered && !s.ended {
				return "a scope has status " + attr(s.node, "status")
			}
		}
		return ""
	})
}

// Close leaves the page. What it showed last can still be asked for.
func (p *Page) Close() {
	p.mu.Lock()
	l := p.life
	p.life = nil
	if l != nil {
		l.leave()
		p.conn.lose()
		p.conn = nil
	}
	p.mu.Unlock()
	if l != nil {
		l.work.Wait()
	}
}

// Reload loads the page anew, as it does in a browser.
func (p *Page) Reload() {
	p.t.Helper()
	p.Goto(p.URL())
}

// Goto leaves the page for another of the site, and returns when that is connected.
func (p *Page) Goto(path string) {
	p.t.Helper()
	p.load(p.visitor.site.URL(path))
	p.Connect()
}

// URL is the path and query of the page shown.
func (p *Page) URL() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.address.RequestURI()
}

// Status is the page's own: connecting, connected, reconnecting, denied; "" for a page without our client or scopes. That
// of each scope is its attribute status: Find("lockstep-scope[status=denied]").
func (p *Page) Status() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.status()
}

func (p *Page) status() string {
	if root := p.root(); root != nil {
		return attr(root, pageStatusAttr)
	}
	return ""
}

func (p *Page) root() *html.Node {
	for n := p.doc.FirstChild; n != nil; n = n.NextSibling {
		if n.Type == html.ElementNode {
			return n
		}
	}
	return nil
}

func (p *Page) show(status string) {
	if root := p.root(); root != nil {
		setAttr(root, pageStatusAttr, status)
	}
}

// note wakes who waits for a change.
func (p *Page) note() {
	close(p.changed)
	p.changed = make(chan struct{})
}

// Element is an element of a page as it was when it was asked for.
type Element struct{ node *html.Node }

// Text is what the element says, with white space collapsed.
func (e Element) Text() string { return textOf(e.node) }

// Attr is an attribute's value, "" where it has none.
func (e Element) Attr(name string) string { return attr(e.node, name) }

// HTML is the element as it is.
func (e Element) HTML() string { return render(e.node) }

// Find are the elements that a CSS selector matches, in document order.
func (p *Page) Find(css string) (found []Element) {
	p.t.Helper()
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, n := range p.find(css) {
		found = append(found, Element{clone(n)})
	}
	return found
}

func (p *Page) find(css string) []*html.Node {
	p.t.Helper()
	selector, err := cascadia.ParseGroup(css)
	if err != nil {
		p.t.Fatalf("webtest: the selector %q: %v", css, err)
	}
	return elements(p.doc, selector.Match)
}

// Text is what the first element says that a selector matches; the test fails if there is none.
func (p *Page) Text(css string) string {
	p.t.Helper()
	found := p.Find(css)
	if len(found) == 0 {
		p.t.Fatalf("webtest: nothing on %s matches %s", p.URL(), css)
	}
	return found[0].Text()
}

// WaitText waits until the first element that a selector matches says want.
func (p *Page) WaitText(css, want string) {
	p.t.Helper()
	p.waitUntil(func() string {
		found := p.find(css)
		if len(found) == 0 {
			return "nothing matches " + css
		}
		if got := textOf(found[0]); got != want {
			return fmt.Sprintf("%s says %q, want %q", css, got, want)
		}
		return ""
	})
}

// Wait waits until a selector matches something.
func (p *Page) Wait(css string) {
	p.t.Helper()
	p.waitUntil(func() string {
		if len(p.find(css)) == 0 {
			return "nothing matches " + css
		}
		return ""
	})
}

// WaitNone waits until a selector matches nothing any more.
func (p *Page) WaitNone(css string) {
	p.t.Helper()
	p.waitUntil(func() string {
		if n := len(p.find(css)); n > 0 {
			return fmt.Sprintf("%d elements match %s", n, css)
		}
		return ""
	})
}

// Updates counts how often something in the page was changed by the server. A fragment equal to what is shown changes
// nothing.
func (p *Page) Updates() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.updates
}

// waitUntil waits until lacks, asked under the lock after every change, returns "".
func (p *Page) waitUntil(lacks func() string) {
	p.t.Helper()
	deadline := time.NewTimer(patience)
	defer deadline.Stop()
	for {
		p.mu.Lock()
		what, changed := lacks(), p.changed
		if what != "" && p.client == nil {
			what += "; the page does not load the client (views.Script), so nothing in it will change"
		}
		status := p.status()
		p.mu.Unlock()
		if what == "" {
			return
		}
		select {
		case <-changed:
		case <-deadline.C:
			p.t.Fatalf("webtest: on %s after %v: %s (page status %q)", p.URL(), patience, what, status)
		}
	}
}
