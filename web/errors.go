package web

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"html"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/lockstep-go/lockstep/actors"
)

// Error is why a request was not served. A page's or a target's function may return one, made by hand or by Fail.
type Error struct {
	Status     int
	Code       string        // stable, for programs and translations
	Text       string        // for the visitor
	Field      string        // the field of the form that it is about, if it is about one
	RetryAfter time.Duration // with a 503
	Cause      error         // for the log; never shown
}

func (e *Error) Error() string {
	if e.Cause != nil {
		return e.Code + ": " + e.Cause.Error()
	}
	return e.Code + ": " + e.Text
}

func (e *Error) Unwrap() error { return e.Cause }

// Fail makes an Error of a status: what a page's function returns for a visitor who must sign in (401) or a thing that
// does not exist (404). An empty text is the status's own.
func Fail(status int, code, text string) *Error {
	return &Error{Status: status, Code: code, Text: cmp.Or(text, http.StatusText(status))}
}

// Codes of the errors that this package makes itself. Config.Text may translate each.
const (
	CodeForbidden     = "forbidden"
	CodeForeign       = "foreign_origin"   // the request came from another site's page
	CodeNotFound      = "not_found"        // no such address, or an id that none can have
	CodeMethod        = "method"           // an Action takes POST only
	CodeMalformed     = "malformed"        // no form and no JSON document
	CodeInvalid       = "invalid"          // a field that does not fit the message
	CodeTooLarge      = "too_large"        // a form or document beyond the limit
	CodeKeyUsed       = "key_used"         // the form was sent before, with other entries
	CodeBusy          = "busy"             // the actor's mailbox is full
	CodeUnavailable   = "unavailable"      // starting, stopping, or the database did not answer
	CodeNewer         = "newer"            // the state is newer than this process's code
	CodeGone          = "gone"             // the actor was destroyed meanwhile
	CodeInternal      = "internal"         // anything else; the log says what
	CodeFailed        = "failed"           // the message was tried and is now a dead letter
	CodeUnsupportedMT = "unsupported_type" // a body that is neither a form nor JSON
)

var texts = map[string]string{
	CodeForbidden:     "You are not allowed to do this.",
	CodeForeign:       "This request did not come from one of our pages.",
	CodeNotFound:      "There is nothing here.",
	CodeMethod:        "This address takes forms only.",
	CodeMalformed:     "The form could not be read.",
	CodeInvalid:       "Please check your entries.",
	CodeTooLarge:      "That is too much at once.",
	CodeKeyUsed:       "This form was sent before, with other entries. Please look at them and send it again.",
	CodeBusy:          "Too many others are at it right now. Please try again in a moment.",
	CodeUnavailable:   "We cannot answer right now. Please try again in a moment.",
	CodeNewer:         "We are updating. Please try again in a moment.",
	CodeGone:          "This does not exist any more.",
	CodeInternal:      "Something went wrong on our side.",
	CodeFailed:        "Something went wrong on our side. We know of it.",
	CodeUnsupportedMT: "This address takes forms and JSON only.",
}

func made(status int, code string, cause error) *Error {
	return &Error{Status: status, Code: code, Text: texts[code], Cause: cause}
}

func soon(code string, cause error) *Error {
	e := made(http.StatusServiceUnavailable, code, cause)
	e.RetryAfter = 2 * time.Second
	return e
}

// errorOf says how any error is answered.
func errorOf(err error) *Error {
	if e, ok := errors.AsType[*Error](err); ok {
		return e
	}
	if r, ok := errors.AsType[*actors.Rejected](err); ok {
		return &Error{Status: http.StatusUnprocessableEntity, Code: r.Code, Text: cmp.Or(r.Message, texts[CodeInvalid]), Cause: err}
	}
	for _, known := range []struct {
		is   bool
		make func() *Error
	}{
		{errors.Is(err, actors.ErrUnauthorized), func() *Error { return made(http.StatusForbidden, CodeForbidden, err) }},
		{errors.Is(err, actors.ErrActorDestroyed), func() *Error { return made(http.StatusGone, CodeGone, err) }},
		{is[*actors.StateTooNew](err), func() *Error { return soon(CodeNewer, err) }},
		{is[*actors.SetupFailed](err), func() *Error { return soon(CodeUnavailable, err) }},
		{is[*actors.MailboxFull](err), func() *Error { return soon(CodeBusy, err) }},
		{is[*actors.MessageFailed](err), func() *Error { return made(http.StatusInternalServerError, CodeFailed, err) }},
		{is[*actors.TooLarge](err), func() *Error { return made(http.StatusRequestEntityTooLarge, CodeTooLarge, err) }},
		{is[*http.MaxBytesError](err), func() *Error { return made(http.StatusRequestEntityTooLarge, CodeTooLarge, err) }},
		{is[*actors.InvalidID](err), func() *Error { return made(http.StatusNotFound, CodeNotFound, err) }},
		{is[*actors.IdempotencyConflict](err), func() *Error { return made(http.StatusUnprocessableEntity, CodeKeyUsed, err) }},
		{is[*actors.AskTimeout](err), func() *Error { return soon(CodeUnavailable, err) }},
		{errors.Is(err, actors.ErrClosed), func() *Error { return soon(CodeUnavailable, err) }},
		{errors.Is(err, actors.ErrOutcomeUnknown), func() *Error { return soon(CodeUnavailable, err) }},
		{errors.Is(err, context.Canceled), func() *Error { return soon(CodeUnavailable, err) }},
		{errors.Is(err, context.DeadlineExceeded), func() *Error { return soon(CodeUnavailable, err) }},
	} {
		if known.is {
			return known.make()
		}
	}
	return made(http.StatusInternalServerError, CodeInternal, err)
}

func is[E error](err error) bool {
	_, ok := errors.AsType[E](err)
	return ok
}

// explain is e with the text that this visitor reads. Whoever returned e may do so again: it is left as it is.
func (l *Live) explain(r *http.Request, e *Error) *Error {
	out := *e
	if out.Status < 400 || out.Status > 599 {
		out.Status = http.StatusInternalServerError
	}
	if l.cfg.Text != nil {
		out.Text = cmp.Or(l.cfg.Text(r, &out), out.Text)
	}
	return &out
}

// fail answers a request that cannot be served, in the form that whoever asked understands.
func (l *Live) fail(w http.ResponseWriter, r *http.Request, err error) {
	e := l.explain(r, errorOf(err))
	if e.Status >= 500 && !errors.Is(err, context.Canceled) {
		attrs := []any{"method", r.Method, "route", routeOf(r), "status", e.Status, "code", e.Code, "error", err}
		if p, ok := errors.AsType[*actors.Panicked](err); ok {
			attrs = append(attrs, "stack", p.Stack)
		}
		l.log.Error("a request failed", attrs...)
	}
	h := w.Header()
	h.Set("Cache-Control", "no-store")
	if e.RetryAfter > 0 {
		h.Set("Retry-After", strconv.Itoa(max(1, int(e.RetryAfter.Seconds()))))
	}
	if e.Status == http.StatusMethodNotAllowed {
		h.Set("Allow", http.MethodPost)
	}
	switch audienceOf(r) {
	case program:
		writeJSON(w, e.Status, errorBody(e))
	case client:
		h.Set("Content-Type", "text/plain; charset=utf-8")
		h.Set("X-Content-Type-Options", "nosniff")
		w.WriteHeader(e.Status)
		fmt.Fprintln(w, e.Text)
	default:
		h.Set("Content-Type", "text/html; charset=utf-8")
		if l.cfg.RenderError != nil {
			l.cfg.RenderError(w, r, e)
			return
		}
		w.WriteHeader(e.Status)
		text := html.EscapeString(e.Text)
		fmt.Fprintf(w, "<!doctype html><html><head><meta charset=\"utf-8\"><title>%d</title></head><body><h1>%s</h1></body></html>\n", e.Status, text)
	}
}

// errorBody is an error as programs read it.
func errorBody(e *Error) any {
	type inner struct {
		Code    string          `json:"code"`
		Message string          `json:"message"`
		Field   string          `json:"field,omitempty"`
		Details json.RawMessage `json:"details,omitempty"`
	}
	return map[string]inner{"error": {e.Code, e.Text, e.Field, detailsOf(e)}}
}

// detailsOf are a rejection's.
func detailsOf(e *Error) json.RawMessage {
	if r, ok := errors.AsType[*actors.Rejected](e.Cause); ok {
		return r.Details
	}
	return nil
}

// audience is who reads an answer.
type audience int

const (
	browser audience = iota // a browser that shows what it gets
	client                  // our client in a browser, for a form
	program                 // whoever sent or asked for JSON
)

func audienceOf(r *http.Request) audience {
	accept := r.Header.Get("Accept")
	switch {
	case r.Header.Get("Lockstep-Action") == "1":
		return client
	case isJSON(r), strings.Contains(accept, "application/json") && !strings.Contains(accept, "text/html"):
		return program
	}
	return browser
}

func writeJSON(w http.ResponseWriter, status int, v any) {
	h := w.Header()
	h.Set("Content-Type", "application/json")
	h.Set("Cache-Control", "no-store")
	w.WriteHeader(status)
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	enc.Encode(v)
}
