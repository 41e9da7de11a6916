package firefoxtest

import (
	"slices"
	"strings"
)

// Report is something that a page complained about.
type Report struct {
	Kind Kind
	Text string
}

// Kind says where a Report comes from.
type Kind string

const (
	Console   Kind = "console"   // console.error
	Exception Kind = "exception" // nothing caught it, promises included
	Network   Kind = "network"   // a socket failed
)

// Reports is everything the pages of this window complained about so far, oldest first, apart from failed sockets: those are
// what a test about lost connections causes itself. Violations of a policy are exceptions. Of failed requests Firefox does not
// tell.
func (p *Page) Reports() []Report {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.DeleteFunc(slices.Clone(p.reports), func(r Report) bool { return r.Kind == Network })
}

// Quiet fails the test if there are Reports.
func (p *Page) Quiet() {
	p.t.Helper()
	for _, r := range p.Reports() {
		p.t.Errorf("the page reported %s: %s", r.Kind, r.Text)
	}
}

// hear is called with every entry of the page's log, in order, on the goroutine that reads them.
func (p *Page) hear(e entry) {
	if e.Level != "error" {
		return
	}
	kind := Console
	switch {
	case strings.Contains(e.Text, " ws://"), strings.Contains(e.Text, " wss://"):
		kind = Network
	case e.Type == "javascript":
		kind = Exception
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.reports = append(p.reports, Report{kind, e.Text})
}
