package web

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"errors"
	"net/http"
	"net/url"
	"reflect"
	"strings"

	"github.com/lockstep-go/lockstep/actors"
	"github.com/lockstep-go/lockstep/views"
)

// Answer says what a visitor sees after an Action.
type Answer struct {
	// Next is the address to go on to when the message was taken. Where that is the page shown, the browser client
	// stays on it.
	Next string
	// NextFor makes Next, where it depends on the request or on what the handler returned; result is nil where the turn
	// is not over yet. What it leaves empty is Next.
	NextFor func(r *http.Request, result any) string
	// Again renders the page that holds the form, for a form that was refused: usually the function that Page has. It
	// is given the POST. Nil: a refusal is an error page.
	Again PageFunc
}

// Action takes a message from a form or a JSON document, asks the actor that target names, and answers:
//
//   - the message was taken: 303 to Answer.Next; 200 {"next":…} to the browser client; 200 {"result":…} to a program;
//   - it was rejected, a field does not fit, or the form was sent before with other entries: 422 with the page of
//     Answer.Again, whose form shows the reason and what was entered; {"error":{"code","message"}} to a program;
//   - it did not finish in time: as if taken, since it is stored and will be: the page follows. To a program and the
//     browser client the status is 202, and a program gets {"pending":{"id":…}};
//   - anything else is an Error: 403 for what a policy refuses and for another site's forms, 413, 503 with Retry-After.
//
// The form's fields are named as the input's JSON, a nested struct's with dots ("address.city"), a slice's repeated; an
// input that is no struct is the field "value". Numbers, bools and times are read from their text: an empty number is a
// mistake, not 0; for a pointer it is nothing. Unknown fields are refused, but for those that begin with _ls_ and a
// button named "submit". A JSON document is the input itself.
//
// A form key makes a repeated POST the same message. The key that is stored is a digest of the visitor's identity, the
// form key and the operation. A program names its key in the header Idempotency-Key.
func Action[S, In, Out any](l *Live, message actors.AnyMessage[S, In, Out], target func(*http.Request) (actors.Ref[S], error), a Answer) http.HandlerFunc {
	if l == nil || target == nil {
		panic("web: Action needs a Live and a target")
	}
	m := message.Message()
	if a.Next == "" && a.NextFor == nil {
		panic("web: Action of " + m.Type().Name() + "." + m.Name() + ": Answer.Next is empty")
	}
	fields := schemaOf(reflect.TypeFor[In]())
	return l.traced(func(w http.ResponseWriter, r *http.Request) {
		p := &post{live: l, answer: a, w: w, r: r}
		if !p.admit() {
			return
		}
		var in In
		if err := p.read(fields, &in); err != nil {
			p.refuse(err)
			return
		}
		ref, err := target(r)
		if err != nil {
			p.refuse(err)
			return
		}
		out, err := m.Ask(r.Context(), l.rt, ref, in, p.options(m.Name())...)
		if err != nil {
			p.refuse(err)
			return
		}
		p.result = out
		p.taken()
	})
}

// post is one request to an Action.
type post struct {
	live   *Live
	answer Answer
	w      http.ResponseWriter
	r      *http.Request
	form   url.Values
	result any // of the handler, once there is one
}

// admit refuses what is no POST of our pages, and bounds what will be read.
func (p *post) admit() bool {
	switch {
	case p.r.Method != http.MethodPost:
		p.live.fail(p.w, p.r, made(http.StatusMethodNotAllowed, CodeMethod, nil))
		return false
	case !ours(p.live.origins, p.r):
		p.live.log.Warn("refused a form from a foreign origin", "origin", clip(p.r.Header.Get("Origin")), "host", clip(p.r.Host),
			"site", clip(p.r.Header.Get("Sec-Fetch-Site")), "setting", "web.Config.Origins")
		p.live.fail(p.w, p.r, made(http.StatusForbidden, CodeForeign, nil))
		return false
	}
	p.r.Body = http.MaxBytesReader(p.w, p.r.Body, p.live.cfg.MaxBody)
	return true
}

// read decodes the request's body into an input.
func (p *post) read(fields schema, into any) (err error) {
	limit := p.live.cfg.MaxBody
	if isJSON(p.r) {
		err = readDocument(p.r, into, limit)
	} else {
		if p.form, err = readForm(p.r, limit); err == nil {
			err = fields.decode(p.form, into, int(limit))
		}
	}
	if d, ok := errors.AsType[*actors.InvalidDocument](err); ok {
		e := made(http.StatusUnprocessableEntity, CodeInvalid, err)
		if isJSON(p.r) {
			e.Text = actors.CleanText(d.Reason, 200) // a program's author can use it
		}
		return e
	}
	return err
}

// options are the call's: an idempotency key where the request has one.
func (p *post) options(operation string) []actors.CallOption {
	key := cmp.Or(p.form.Get(views.FieldKey), p.r.Header.Get("Idempotency-Key"))
	if key == "" {
		return nil
	}
	who := p.live.cfg.Identify(p.r)
	return []actors.CallOption{actors.IdempotencyKey(storedKey(who, key, operation))}
}

// storedKey is the idempotency key of one visitor's form: nobody else's form, and no other operation, has it.
func storedKey(who Identity, key, operation string) string {
	h := sha256.New()
	var size [8]byte
	for _, part := range []string{who.Principal, who.Session, key, operation} {
		binary.BigEndian.PutUint64(size[:], uint64(len(part)))
		h.Write(size[:])
		h.Write([]byte(part))
	}
	return "form:" + base64.RawURLEncoding.EncodeToString(h.Sum(nil))
}

// taken answers a message that was committed.
func (p *post) taken() {
	switch audienceOf(p.r) {
	case program:
		doc, err := actors.EncodeDocument("result", p.result, 64<<20)
		if err != nil {
			p.live.fail(p.w, p.r, err)
			return
		}
		writeJSON(p.w, http.StatusOK, map[string]json.RawMessage{"result": doc})
	case client:
		writeJSON(p.w, http.StatusOK, map[string]string{"next": p.next()})
	default:
		p.seeOther()
	}
}

func (p *post) next() string {
	if p.answer.NextFor != nil {
		return cmp.Or(p.answer.NextFor(p.r, p.result), p.answer.Next)
	}
	return p.answer.Next
}

func (p *post) seeOther() {
	p.w.Header().Set("Cache-Control", "no-store")
	http.Redirect(p.w, p.r, p.next(), http.StatusSeeOther)
}

// refuse answers a message that was not taken, or not yet.
func (p *post) refuse(err error) {
	if t, ok := errors.AsType[*actors.AskTimeout](err); ok && !errors.Is(t.Cause, context.Canceled) {
		p.pending(t)
		return
	}
	e := errorOf(err)
	if e.Status != http.StatusUnprocessableEntity || audienceOf(p.r) == program || p.answer.Again == nil {
		p.live.fail(p.w, p.r, err)
		return
	}
	e = p.live.explain(p.r, e)
	p.live.show(p.w, p.r, p.answer.Again, e.Status, &views.Outcome{
		Form: p.form.Get(views.FieldForm), Code: e.Code, Text: e.Text, Field: e.Field, Details: detailsOf(e), Values: p.entries(),
	})
}

// entries are the form's fields as they are shown again.
func (p *post) entries() map[string][]string {
	all := map[string][]string{}
	for name, values := range p.form {
		if isOwn(name) {
			continue
		}
		for _, v := range values {
			v = strings.ReplaceAll(strings.ToValidUTF8(lineEnds(v), "\uFFFD"), "\x00", "\uFFFD")
			all[name] = append(all[name], v)
		}
	}
	return all
}

// pending answers a message that is stored and not yet done.
func (p *post) pending(t *actors.AskTimeout) {
	switch audienceOf(p.r) {
	case program:
		writeJSON(p.w, http.StatusAccepted, map[string]any{"pending": map[string]string{"id": t.Message.ID}})
	case client:
		writeJSON(p.w, http.StatusAccepted, map[string]string{"next": p.next()})
	default:
		p.seeOther()
	}
}
