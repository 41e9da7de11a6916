package chromiumtest

import (
	"slices"
	"strings"

	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/runtime"
)

// Report is something that a page complained about.
type Report struct {
	Kind Kind
	Text string
}

// Kind says where a Report comes from.
type Kind string

const (
	Console   Kind = "console"   // console.error, or an error of the browser about the page's own code
	Exception Kind = "exception" // nothing caught it, promises included
	Policy    Kind = "policy"    // a violation of the Content-Security-Policy, or another one of security
	Network   Kind = "network"   // a request or a socket failed
)

// Reports is everything the pages of this window complained about so far, oldest first, apart from failed requests:
// those are what a test about lost connections causes itself. See Failures.
func (p *Page) Reports() []Report {
	return slices.DeleteFunc(p.all(), func(r Report) bool { return r.Kind == Network })
}

// Failures is every failed request or socket so far, as the browser reported it.
func (p *Page) Failures() []Report {
	return slices.DeleteFunc(p.all(), func(r Report) bool { return r.Kind != Network })
}

// Quiet fails the test if there are Reports.
func (p *Page) Quiet() {
	p.t.Helper()
	for _, r := range p.Reports() {
		p.t.Errorf("the page reported %s: %s", r.Kind, r.Text)
	}
}

func (p *Page) all() []Report {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Clone(p.reports)
}

// listen is called with every event of the window, in order, on the goroutine that reads them.
func (p *Page) listen(event any) {
	var r Report
	switch e := event.(type) {
	case *runtime.EventConsoleAPICalled:
		if e.Type != runtime.ConsoleAPICalledTypeError && e.Type != runtime.ConsoleAPICalledTypeAssert {
			return
		}
		var words []string
		for _, arg := range e.Args {
			words = append(words, strings.Trim(string(arg.Value), `"`)+arg.Description)
		}
		r = Report{Console, strings.Join(words, " ")}
	case *runtime.EventExceptionThrown:
		r = Report{Exception, e.ExceptionDetails.Text}
		if e.ExceptionDetails.Exception != nil {
			r.Text += " " + e.ExceptionDetails.Exception.Description
		}
	case *log.EventEntryAdded:
		if e.Entry.Level != log.EntryLevelError && e.Entry.Source != log.EntrySourceSecurity {
			return
		}
		r = Report{logKind(e.Entry), e.Entry.Text}
		if e.Entry.URL != "" {
			r.Text += " (" + e.Entry.URL + ")"
		}
	default:
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.reports = append(p.reports, r)
}

func logKind(entry *log.Entry) Kind {
	switch {
	case entry.Source == log.EntrySourceSecurity, strings.Contains(entry.Text, "Content Security Policy"):
		return Policy
	case entry.Source == log.EntrySourceNetwork, strings.HasPrefix(entry.Text, "WebSocket connection"):
		return Network
	}
	return Console
}
