package views

import (
	"context"
	"encoding/json"
	"errors"
	"io"

	"github.com/a-h/templ"

	"github.com/lockstep-go/lockstep/actors"
	"github.com/lockstep-go/lockstep/realtime/wire"
)

// Reader reads an actor's committed state after asking the Query policy about actors.SnapshotOp under ctx; an
// actors.Client is one.
type Reader interface {
	ReadCall(ctx context.Context, typ, id string) (actors.Snapshot, error)
}

// Page is what a page must know of its server; the middleware of package web makes one for each request.
type Page struct {
	Reader  Reader
	Sealer  *wire.Sealer
	Build   string // digest of the program
	Viewer  string // wire.Sealer.Viewer of who asks
	Static  string // address of the browser client's files: BASE/static/DIGEST
	Outcome *Outcome

	// Sealed, if set, is called before a token is written. Its error fails the render: the server's chance to keep a
	// response with a token out of shared caches.
	Sealed func() error
}

// Outcome is why a submitted form was refused: the form whose id it names shows it.
type Outcome struct {
	Form    string // its id; "" is a form that was not made by Form
	Code    string
	Text    string
	Field   string              // that it is about, if it is about one
	Details json.RawMessage     // of an actors.RejectWith
	Values  map[string][]string // as submitted
}

// PageTooLarge is an Object that shows more than one token can carry.
type PageTooLarge = wire.PageTooLarge

// WithPage puts a page into ctx, for one render: forms of one id are counted from here.
func WithPage(ctx context.Context, p Page) context.Context {
	return frame{page: &rendering{Page: p}}.in(ctx)
}

// OutcomeOf is why the form around ctx was refused, if it was: for what the form's own alert cannot say, such as which
// field is wrong. It is never there in pushed renders, so it may only add to a form.
func OutcomeOf(ctx context.Context) (Outcome, bool) {
	f := frameOf(ctx)
	if f.page == nil || f.page.Outcome == nil || f.form != f.page.Outcome.Form {
		return Outcome{}, false
	}
	return *f.page.Outcome, true
}

// Was is what the viewer had entered into a field of the form that was refused, or "". Inside another form, and in
// pushed renders, it is "".
func Was(ctx context.Context, field string) string {
	if all := WasAll(ctx, field); len(all) > 0 {
		return all[0]
	}
	return ""
}

// WasAll is Was for a field that stands in the form several times.
func WasAll(ctx context.Context, field string) []string {
	o, _ := OutcomeOf(ctx)
	return o.Values[field]
}

// Script loads the browser client; it belongs into the page's head. It writes a module script, with the nonce of
// templ.WithNonce if there is one, and a stylesheet of one rule, both from the server's own address.
func Script() templ.Component {
	return templ.ComponentFunc(func(ctx context.Context, w io.Writer) error {
		f := frameOf(ctx)
		if f.page == nil {
			return errors.New("views.Script on a page without the middleware: put live.Middleware of package web before its handler")
		}
		base := templ.EscapeString(f.page.Static)
		nonce := ""
		if n := templ.GetNonce(ctx); n != "" {
			nonce = ` nonce="` + templ.EscapeString(n) + `"`
		}
		_, err := io.WriteString(w, `<link rel="stylesheet" href="`+base+`/lockstep.css"`+nonce+`>`+
			`<script type="module" src="`+base+`/lockstep.js"`+nonce+`></script>`)
		return err
	})
}
