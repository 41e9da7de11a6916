package webtest

import (
	"encoding/json"
	"fmt"

	"golang.org/x/net/html"
)

const dataAttr = "data-ls-data"

// Data is what the page's scripts know of a views.Data component: the value of its last lockstep:data event or, where
// there was none yet, the one that the page was loaded with. It is nil where the page has no such component, or the viewer
// no right to it. Where several objects show one of that name, it is that of the first.
func (p *Page) Data(name string) json.RawMessage {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, n := range elements(p.doc, isData) {
		if attr(n, dataAttr) == name {
			return json.RawMessage(p.heard[attr(n, targetAttr)])
		}
	}
	return nil
}

func isData(n *html.Node) bool { return has(n, dataAttr) }

// datum is one of the elements of a data target.
type datum struct {
	target string
	nth    int
}

// dataIn are the texts of the data at a node and below.
func dataIn(n *html.Node) map[datum]string {
	all := elements(n, isData)
	if isData(n) {
		all = append(all, n)
	}
	texts, count := map[datum]string{}, map[string]int{}
	for _, e := range all {
		target := attr(e, targetAttr)
		texts[datum{target, count[target]}] = rawText(e)
		count[target]++
	}
	return texts
}

// hear has the page's scripts hear of data that another rendering has brought: the lockstep:data events.
func (p *Page) hear(before, now map[datum]string) {
	for d, text := range now {
		if was, known := before[d]; !known || was != text {
			p.heard[d.target] = text
		}
	}
}

// unheard says where the page's scripts know something else than a fresh page has; "" where they do not.
func (p *Page) unheard(fresh *html.Node) string {
	for d, want := range dataIn(fresh) {
		if got := p.heard[d.target]; got != want {
			return fmt.Sprintf("%s's scripts were last told %q, a fresh GET has %q", p.address, got, want)
		}
	}
	return ""
}
