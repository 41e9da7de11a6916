package webtest

import (
	"fmt"
	"time"

	"golang.org/x/net/html"
)

// Equal waits until every target of the page, in every scope, equals what a fresh GET by the same visitor shows, and what
// scripts were last told of each views.Data is what that has, and fails the test if it does not come to that. Tokens, form keys and outcomes, and elements that updates leave alone are not
// compared. While others commit, it may have to wait until they have finished.
func (p *Page) Equal() {
	p.t.Helper()
	deadline := time.NewTimer(patience)
	defer deadline.Stop()
	again := time.NewTicker(50 * time.Millisecond)
	defer again.Stop()
	for {
		p.mu.Lock()
		changed := p.changed
		p.mu.Unlock()
		differs := p.Differs()
		if differs == "" {
			return
		}
		select {
		case <-changed:
		case <-again.C:
		case <-deadline.C:
			p.t.Fatalf("webtest: after %v %s (page status %q)", patience, differs, p.Status())
		}
	}
}

// Differs compares the page with a fresh GET at this moment, as Equal does, and says where the first difference is; ""
// where there is none.
func (p *Page) Differs() string {
	p.t.Helper()
	p.mu.Lock()
	at := p.address.String()
	p.mu.Unlock()
	fresh, _, err := p.visitor.fetch(p.t.Context(), at)
	if err != nil {
		return fmt.Sprintf("there is no fresh page to compare with: %v", err)
	}
	want := shownBy(fresh)
	p.mu.Lock()
	defer p.mu.Unlock()
	got := shownBy(p.doc)
	for i := range max(len(got), len(want)) {
		switch {
		case i >= len(got) || i < len(want) && got[i].name != want[i].name && len(got) < len(want):
			return fmt.Sprintf("%s does not show what a fresh GET shows: %s", at, want[i].html)
		case i >= len(want) || got[i].name != want[i].name:
			return fmt.Sprintf("%s shows what a fresh GET does not: %s", at, got[i].html)
		case got[i].html != want[i].html:
			return fmt.Sprintf("%s shows\n\t%s\na fresh GET shows\n\t%s", at, got[i].html, want[i].html)
		}
	}
	return p.unheard(fresh)
}

// shown is a target with its settled HTML.
type shown struct{ name, html string }

func shownBy(doc *html.Node) (all []shown) {
	for _, n := range elements(doc, isTarget) {
		if ownerOf(n, nil) != nil {
			all = append(all, shown{attr(n, targetAttr), settled(n)})
		}
	}
	return all
}
