package webtest

import (
	"bytes"
	"cmp"
	"iter"
	"slices"
	"strings"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"
)

// What the server writes into a page; docs/protocol.md says what each is.
const (
	scopeElement   = "lockstep-scope"
	targetAttr     = "data-ls"
	tokenAttr      = "data-ls-token"
	formAttr       = "data-ls-form"
	outcomeAttr    = "data-ls-outcome"
	keepAttr       = "data-ls-keep"
	pageStatusAttr = "data-ls-status"
	keyField       = "_ls_key"
)

// below yields the elements below a node in document order, but for what stands in templates: that is not shown. The
// caller must not change the tree meanwhile.
func below(n *html.Node) iter.Seq[*html.Node] {
	return func(yield func(*html.Node) bool) { walk(n, yield) }
}

func walk(n *html.Node, yield func(*html.Node) bool) bool {
	if n.DataAtom == atom.Template {
		return true
	}
	for c := n.FirstChild; c != nil; c = c.NextSibling {
		if c.Type == html.ElementNode && !yield(c) || !walk(c, yield) {
			return false
		}
	}
	return true
}

// elements are those below a node that fit.
func elements(n *html.Node, fits func(*html.Node) bool) (all []*html.Node) {
	for e := range below(n) {
		if fits(e) {
			all = append(all, e)
		}
	}
	return all
}

func isScope(n *html.Node) bool  { return n.Data == scopeElement }
func isTarget(n *html.Node) bool { return has(n, targetAttr) }

// ownerOf is the nearest scope around a node, up to and without top; nil where there is none.
func ownerOf(n, top *html.Node) *html.Node {
	for n = n.Parent; n != nil && n != top; n = n.Parent {
		if isScope(n) {
			return n
		}
	}
	return nil
}

func contains(outer, n *html.Node) bool {
	for ; n != nil; n = n.Parent {
		if n == outer {
			return true
		}
	}
	return false
}

func attr(n *html.Node, name string) string {
	for _, a := range n.Attr {
		if a.Key == name {
			return a.Val
		}
	}
	return ""
}

func has(n *html.Node, name string) bool {
	return slices.ContainsFunc(n.Attr, func(a html.Attribute) bool { return a.Key == name })
}

func setAttr(n *html.Node, name, value string) {
	for i := range n.Attr {
		if n.Attr[i].Key == name {
			n.Attr[i].Val = value
			return
		}
	}
	n.Attr = append(n.Attr, html.Attribute{Key: name, Val: value})
}

func removeAttr(n *html.Node, name string) {
	n.Attr = slices.DeleteFunc(n.Attr, func(a html.Attribute) bool { return a.Key == name })
}

// parseFragment is the root element of a fragment, which may be any element, rows and list items included.
func parseFragment(text string) *html.Node {
	nodes, err := html.ParseFragment(strings.NewReader(text), &html.Node{Type: html.ElementNode, Data: "template", DataAtom: atom.Template})
	if err != nil {
		return nil
	}
	for _, n := range nodes {
		if n.Type == html.ElementNode {
			return n
		}
	}
	return nil
}

// replace puts a node that stands nowhere in another's place.
func replace(old, fresh *html.Node) {
	if fresh.Parent != nil {
		fresh.Parent.RemoveChild(fresh)
	}
	old.Parent.InsertBefore(fresh, old)
	old.Parent.RemoveChild(old)
}

func clone(n *html.Node) *html.Node {
	c := &html.Node{Type: n.Type, DataAtom: n.DataAtom, Data: n.Data, Namespace: n.Namespace, Attr: slices.Clone(n.Attr)}
	for child := n.FirstChild; child != nil; child = child.NextSibling {
		c.AppendChild(clone(child))
	}
	return c
}

// isCarried says whether a node is what a form has on the page and not in a pushed rendering.
func isCarried(n *html.Node) bool {
	return has(n, outcomeAttr) || n.DataAtom == atom.Input && attr(n, "name") == keyField
}

// loose are the attributes that two equal renderings may differ in.
func loose(n *html.Node) []string {
	switch {
	case isScope(n):
		return []string{"token", "instance", "revision", "status"}
	case n.DataAtom == atom.Form && has(n, formAttr):
		return []string{"aria-busy"}
	}
	return []string{tokenAttr, "nonce"}
}

// settled is the HTML of a node, without what two equal renderings may differ in: tokens and stamps, form keys and
// outcomes, and what is inside elements that updates leave alone.
func settled(n *html.Node) string {
	c := clone(n)
	settle(c)
	return render(c)
}

func settle(n *html.Node) {
	for _, name := range loose(n) {
		removeAttr(n, name)
	}
	slices.SortFunc(n.Attr, func(a, b html.Attribute) int { return cmp.Compare(a.Namespace+a.Key, b.Namespace+b.Key) })
	for child := n.FirstChild; child != nil; {
		next := child.NextSibling
		switch {
		case child.Type != html.ElementNode:
		case isCarried(child):
			n.RemoveChild(child)
		case has(child, keepAttr):
			replace(child, &html.Node{Type: html.ElementNode, Data: child.Data, DataAtom: child.DataAtom})
		default:
			settle(child)
		}
		child = next
	}
}

func render(n *html.Node) string {
	var b bytes.Buffer
	if err := html.Render(&b, n); err != nil {
		return "cannot be written as HTML: " + err.Error()
	}
	return b.String()
}

// textOf is what a node says, with white space collapsed and what no browser shows left out.
func textOf(n *html.Node) string {
	var b strings.Builder
	collect(&b, n)
	return strings.Join(strings.Fields(b.String()), " ")
}

func collect(b *strings.Builder, n *html.Node) {
	switch {
	case n.Type == html.TextNode:
		b.WriteString(n.Data)
	case n.DataAtom == atom.Template, n.DataAtom == atom.Script, n.DataAtom == atom.Style:
		return
	}
	for c := n.FirstChild; c != nil; c = c.NextSibling {
		collect(b, c)
	}
}
