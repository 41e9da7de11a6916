package webtest

import (
	"bytes"
	"cmp"
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"mime/multipart"
	"net/http"
	"net/url"
	"strings"
	"time"
	"unicode/utf16"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"
)

// Answer is what a form was answered.
type Answer struct {
	Status int
	Next   string // where the page goes on to: that of a message that was taken
	Text   string // the body as it came
}

// What the browser client says, in static/forms.js.
const (
	unreachable   = "The server could not be reached. Your entries are still here: try again."
	notUnderstood = "The answer was not understood. Please check whether your entries arrived."
	maxTold       = 500 // characters of an answer that fit beside a form
)

// Submit sends the first form that a selector matches, with its fields as they stand in the page but for those given: nil
// takes one out. It does what the browser client does: the idempotency key is kept until an answer came, a refusal (422)
// puts its form into the page, another one an alert, and an answer that names another page goes there. A form that is not
// of views.Form is sent as a browser does, and the page is what comes back.
//
// A field of type file is sent as one in which nothing was chosen; a value for it fails the test. A message is JSON in the
// database, so web.Action refuses files: an upload is a handler of the application's own, which is tested with
// Visitor.Client.
func (p *Page) Submit(css string, fields url.Values) Answer {
	p.t.Helper()
	p.mu.Lock()
	found := p.find(css)
	if len(found) == 0 || found[0].DataAtom != atom.Form {
		p.mu.Unlock()
		p.t.Fatalf("webtest: no form on %s matches %s", p.URL(), css)
	}
	form := clone(found[0])
	live := p.life != nil && has(form, formAttr)
	at, err := p.address.Parse(attr(form, "action"))
	page := *p.address
	values := valuesOf(form)
	id := attr(form, formAttr)
	if live {
		if p.keys[id] == "" {
			p.keys[id] = rand.Text()
		}
		values.Set(keyField, p.keys[id])
	}
	p.mu.Unlock()
	if err != nil {
		p.t.Fatalf("webtest: the form's action: %v", err)
	}
	for _, n := range elements(form, isFile) {
		if name := attr(n, "name"); strings.Join(fields[name], "") != "" {
			p.t.Fatalf("webtest: the field %q of %s takes a file, which Submit does not send: web.Action refuses files, since a message is JSON. "+
				"Upload to a handler of your own, with Visitor.Client", name, css)
		}
	}
	maps.Copy(values, fields)
	for name, given := range fields {
		if given == nil {
			delete(values, name)
		}
	}
	if !live {
		return p.plain(form, at, &page, values)
	}
	p.removeOutcome(id)
	a, body, err := p.post(form, at, &page, values, true)
	switch {
	case err != nil:
		p.tell(id, unreachable)
	default:
		p.answered(id, &a, body)
	}
	return a
}

// valuesOf are the values that a form has as it was rendered.
func valuesOf(form *html.Node) url.Values {
	values := url.Values{}
	for n := range below(form) {
		name := attr(n, "name")
		if name == "" || has(n, "disabled") {
			continue
		}
		switch n.DataAtom {
		case atom.Input:
			switch kind := strings.ToLower(attr(n, "type")); kind {
			case "submit", "button", "image", "reset":
			case "file":
				values.Add(name, "") // as of one in which nothing was chosen
			case "checkbox", "radio":
				if has(n, "checked") {
					value := "on"
					if has(n, "value") {
						value = attr(n, "value")
					}
					values.Add(name, value)
				}
			default:
				values.Add(name, attr(n, "value"))
			}
		case atom.Textarea:
			values.Add(name, rawText(n))
		case atom.Select:
			for _, chosen := range chosenOf(n) {
				values.Add(name, chosen)
			}
		}
	}
	return values
}

func rawText(n *html.Node) string {
	var b strings.Builder
	for c := n.FirstChild; c != nil; c = c.NextSibling {
		b.WriteString(c.Data)
	}
	return b.String()
}

// chosenOf are the values of a select: of one that takes a single value the first option, where none is selected.
func chosenOf(n *html.Node) (values []string) {
	options := elements(n, func(o *html.Node) bool { return o.DataAtom == atom.Option && !has(o, "disabled") })
	value := func(o *html.Node) string {
		if has(o, "value") {
			return attr(o, "value")
		}
		return textOf(o)
	}
	for _, o := range options {
		if has(o, "selected") {
			values = append(values, value(o))
		}
	}
	switch {
	case has(n, "multiple"):
	case len(values) > 1:
		values = values[len(values)-1:]
	case len(values) == 0 && len(options) > 0:
		values = []string{value(options[0])}
	}
	return values
}

// post sends a form; one of ours again, with the same key, where nobody answered.
func (p *Page) post(form *html.Node, at, page *url.URL, values url.Values, live bool) (Answer, *http.Response, error) {
	const tries = 3
	for try := 0; ; try++ {
		resp, text, err := p.request(form, at, page, values, live)
		if err == nil && !(live && resp.StatusCode >= 502 && resp.StatusCode <= 504) {
			return Answer{Status: resp.StatusCode, Text: text}, resp, nil
		}
		if err == nil {
			err = fmt.Errorf("%s", resp.Status)
		}
		if !live || try == tries {
			return Answer{}, nil, err
		}
		p.mu.Lock()
		wait := p.backoff(try)
		p.mu.Unlock()
		time.Sleep(wait)
	}
}

func (p *Page) request(form *html.Node, at, page *url.URL, values url.Values, live bool) (*http.Response, string, error) {
	body, kind := strings.NewReader(values.Encode()), "application/x-www-form-urlencoded"
	if strings.EqualFold(attr(form, "enctype"), "multipart/form-data") {
		var b bytes.Buffer
		w := multipart.NewWriter(&b)
		for name, all := range values {
			for _, value := range all {
				if err := w.WriteField(name, value); err != nil {
					return nil, "", err
				}
			}
		}
		if err := w.Close(); err != nil {
			return nil, "", err
		}
		body, kind = strings.NewReader(b.String()), w.FormDataContentType()
	}
	ctx, cancel := context.WithTimeout(p.t.Context(), patience)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, at.String(), body)
	if err != nil {
		return nil, "", err
	}
	r.Header.Set("Content-Type", kind)
	r.Header.Set("Origin", page.Scheme+"://"+page.Host)
	r.Header.Set("Referer", page.String())
	r.Header.Set("Accept", "text/html")
	if live {
		r.Header.Set("Lockstep-Action", "1")
		r.Header.Set("Accept", "application/json, text/html")
	}
	resp, err := p.visitor.client.Do(r)
	if err != nil {
		return nil, "", err
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	return resp, string(text), err
}

// answered does what the client does with an answer.
func (p *Page) answered(id string, a *Answer, resp *http.Response) {
	p.t.Helper()
	p.mu.Lock()
	if a.Status < 500 {
		delete(p.keys, id)
	}
	here := *p.address
	p.mu.Unlock()
	if resp.Request.Method != http.MethodPost { // redirected: somebody before us had other plans, a sign-in for one
		a.Next = resp.Request.URL.RequestURI()
		p.Goto(a.Next)
		return
	}
	switch {
	case a.Status < 300:
		var to struct {
			Next string `json:"next"`
		}
		next, err := &url.URL{}, json.Unmarshal([]byte(a.Text), &to)
		if err == nil {
			next, err = here.Parse(to.Next)
		}
		if err != nil || to.Next == "" {
			p.tell(id, notUnderstood)
			return
		}
		a.Next = to.Next
		if next.Host == here.Host && next.RequestURI() != here.RequestURI() {
			p.Goto(next.RequestURI())
		}
	default:
		var doc *html.Node
		if strings.Contains(resp.Header.Get("Content-Type"), "html") {
			doc, _ = html.Parse(strings.NewReader(a.Text))
		}
		if doc == nil || a.Status != http.StatusUnprocessableEntity || !p.takeForm(id, doc) {
			p.tell(id, cmp.Or(said(doc, a.Text), http.StatusText(a.Status)))
		}
	}
}

// said is what an answer says: of a page its outcome, or else all of it.
func said(doc *html.Node, text string) string {
	if doc == nil {
		return text
	}
	for n := range below(doc) {
		if has(n, outcomeAttr) {
			return allText(n)
		}
	}
	for n := range below(doc) {
		if n.DataAtom == atom.Body {
			return allText(n)
		}
	}
	return ""
}

// allText is the DOM's textContent.
func allText(n *html.Node) string {
	var b strings.Builder
	for d := range n.Descendants() {
		if d.Type == html.TextNode {
			b.WriteString(d.Data)
		}
	}
	return b.String()
}

func isFile(n *html.Node) bool {
	return n.DataAtom == atom.Input && strings.EqualFold(attr(n, "type"), "file")
}

// takeForm puts a form's new rendering into the page.
func (p *Page) takeForm(id string, from *html.Node) bool {
	fresh := formOf(from, id)
	if fresh == nil {
		return false
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if shown := formOf(p.doc, id); shown != nil {
		replace(shown, clone(fresh))
		p.updates++
		p.note()
	}
	return true
}

func formOf(doc *html.Node, id string) *html.Node {
	for n := range below(doc) {
		if n.DataAtom == atom.Form && attr(n, formAttr) == id {
			return n
		}
	}
	return nil
}

func (p *Page) removeOutcome(id string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if form := formOf(p.doc, id); form != nil {
		for _, n := range elements(form, func(n *html.Node) bool { return has(n, outcomeAttr) }) {
			n.Parent.RemoveChild(n)
		}
		p.note()
	}
}

// tell shows a sentence in a form.
func (p *Page) tell(id, text string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	form := formOf(p.doc, id)
	if form == nil {
		return
	}
	alert := &html.Node{Type: html.ElementNode, Data: "p", DataAtom: atom.P, Attr: []html.Attribute{{Key: "role", Val: "alert"}, {Key: outcomeAttr}}}
	told := utf16.Encode([]rune(strings.Join(strings.Fields(text), " ")))
	alert.AppendChild(&html.Node{Type: html.TextNode, Data: string(utf16.Decode(told[:min(len(told), maxTold)]))})
	form.InsertBefore(alert, form.FirstChild)
	p.note()
}

// plain sends a form as a browser does without our client: the page is what comes back.
func (p *Page) plain(form *html.Node, at, page *url.URL, values url.Values) Answer {
	p.t.Helper()
	var a Answer
	var resp *http.Response
	var err error
	if strings.EqualFold(attr(form, "method"), "post") {
		a, resp, err = p.post(form, at, page, values, false)
	} else {
		at.RawQuery = values.Encode()
		p.Goto(at.RequestURI())
		return Answer{Status: http.StatusOK, Next: at.RequestURI()}
	}
	if err != nil {
		p.t.Fatalf("webtest: %v", err)
	}
	p.mu.Lock()
	was := p.life != nil
	p.mu.Unlock()
	if resp.Request.Method != http.MethodPost {
		a.Next = resp.Request.URL.RequestURI()
	}
	doc, err := html.Parse(strings.NewReader(a.Text))
	if err != nil {
		p.t.Fatalf("webtest: %v", err)
	}
	p.open(doc, resp.Request.URL)
	if was {
		p.Connect()
	}
	return a
}
