package views

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"fmt"
	"io"
	"strings"

	"github.com/a-h/templ"
	templruntime "github.com/a-h/templ/runtime"

	"github.com/lockstep-go/lockstep/actors"
)

// Hidden fields of a form, which are no part of its message.
const (
	FieldForm = "_ls_form" // the form's id
	FieldKey  = "_ls_key"  // an idempotency key, in full pages only
)

// FormOption refines Form.
type FormOption func(*form)

type form struct {
	key   string
	attrs templ.Attributes
}

// FormKey tells apart forms of one actor, message and action: one for each line, say.
func FormKey(key string) FormOption { return func(f *form) { f.key = key } }

// FormAttrs adds attributes to the form element: a class, an enctype, a label.
func FormAttrs(attrs templ.Attributes) FormOption { return func(f *form) { f.attrs = attrs } }

// Form is a form that sends message to the actor of the views.Object around it, by POST to action, where package web's
// Action takes it. Its fields are named as the message's JSON. It shows why it was refused, and inside it Was returns
// what had been entered. Two forms of one actor, message, action and FormKey on a page are an error.
func Form[S, In, Out any](message actors.AnyMessage[S, In, Out], action string, opts ...FormOption) templ.Component {
	m := message.Message()
	var o form
	for _, opt := range opts {
		opt(&o)
	}
	return templ.ComponentFunc(func(ctx context.Context, w io.Writer) error {
		def := m.Type().Definition()
		f := frameOf(ctx)
		what := "form of " + def.Name + "." + m.Name()
		switch err := f.misplaced(what, def); {
		case err != nil:
			return err
		case f.form != "":
			return fmt.Errorf("%s inside another form", what)
		}
		f.form = formID(f.scope.actor, m.Name(), action, o.key)
		if !f.page.once(f.form) {
			return fmt.Errorf("%s stands on the page twice with one action: tell them apart with views.FormKey", what)
		}
		if err := o.open(ctx, f, w, action); err != nil {
			return fmt.Errorf("%s: %w", what, err)
		}
		children := templ.GetChildren(ctx)
		if err := children.Render(f.in(templ.ClearChildren(ctx)), w); err != nil {
			return err
		}
		_, err := io.WriteString(w, `</form>`)
		return err
	})
}

// open writes the form's start: its tag, hidden fields and outcome.
func (o form) open(ctx context.Context, f frame, w io.Writer, action string) error {
	for name := range o.attrs {
		switch name = strings.ToLower(name); {
		case name == "method", name == "action", strings.HasPrefix(name, "data-ls"):
			return fmt.Errorf("attribute %s is the form's own", name)
		}
	}
	var b, scripts strings.Builder // templ defines an attribute's script before the element
	b.WriteString(`<form method="post" action="` + templ.EscapeString(string(templ.URL(action))) + `" data-ls-form="` + f.form + `"`)
	if err := templruntime.RenderAttributes(ctx, &b, &scripts, "form", o.attrs); err != nil {
		return err
	}
	b.WriteString(`><input type="hidden" name="` + FieldForm + `" value="` + f.form + `">`)
	if !f.page.pushed {
		b.WriteString(`<input type="hidden" name="` + FieldKey + `" value="` + newKey() + `">`)
	}
	if out := f.page.Outcome; out != nil && out.Form == f.form {
		b.WriteString(`<p role="alert" data-ls-outcome>` + templ.EscapeString(strings.ToValidUTF8(out.Text, "\uFFFD")) + `</p>`)
	}
	_, err := io.WriteString(w, scripts.String()+b.String())
	return err
}

// formID is a digest of what makes a form the one it is.
func formID(actor actors.Address, message, action, key string) string {
	h := sha256.New()
	var size [8]byte
	for _, part := range []string{"form", actor.Type, actor.ID, message, action, key} {
		binary.BigEndian.PutUint64(size[:], uint64(len(part)))
		h.Write(size[:])
		h.Write([]byte(part))
	}
	return base64.RawURLEncoding.EncodeToString(h.Sum(nil)[:16])
}

// newKey is 128 random bits.
func newKey() string {
	var b [16]byte
	rand.Read(b[:])
	return base64.RawURLEncoding.EncodeToString(b[:])
}
