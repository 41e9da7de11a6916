package web

import (
	"bytes"
	"errors"
	"fmt"
	"net/http"
	"runtime/debug"
	"strconv"
	"strings"

	"github.com/a-h/templ"

	"github.com/lockstep-go/lockstep/actors"
	"github.com/lockstep-go/lockstep/views"
)

// PageFunc makes the page that a request is answered with.
type PageFunc func(*http.Request) (templ.Component, error)

// Page serves a page. It is rendered into memory before anything is sent, so that an error is an error page with its
// status: an *Error as it says, a read that a policy refused 403, an id that no actor can have 404, state newer than
// this process's code 503 with Retry-After, anything else 500. A page with live objects is never kept by caches.
func (l *Live) Page(show PageFunc) http.HandlerFunc {
	if show == nil {
		panic("web: Page needs a function")
	}
	return l.traced(func(w http.ResponseWriter, r *http.Request) { l.show(w, r, show, http.StatusOK, nil) })
}

// show renders a page with a status, and with a form's outcome if there is one.
func (l *Live) show(w http.ResponseWriter, r *http.Request, show PageFunc, status int, outcome *views.Outcome) {
	page := l.page(l.cfg.Identify(r))
	page.Outcome = outcome
	sealed := false
	page.Sealed = func() error { sealed = true; return nil }
	r = r.WithContext(views.WithPage(r.Context(), page))
	body := templ.GetBuffer()
	defer templ.ReleaseBuffer(body)
	if err := draw(r, show, body); err != nil {
		l.fail(w, r, err)
		return
	}
	h := w.Header()
	if sealed || outcome != nil {
		l.forbidCaching(h, r)
	}
	h.Set("Content-Type", "text/html; charset=utf-8")
	h.Set("Content-Length", strconv.Itoa(body.Len()))
	w.WriteHeader(status)
	if r.Method != http.MethodHead {
		w.Write(body.Bytes())
	}
}

// draw makes a page and renders it; a panic is an error.
func draw(r *http.Request, show PageFunc, body *bytes.Buffer) (err error) {
	defer func() {
		switch p := recover(); p {
		case nil:
		case http.ErrAbortHandler:
			panic(p)
		default:
			err = &actors.Panicked{Value: actors.CleanText(fmt.Sprint(p), 8<<10), Stack: actors.CleanText(string(debug.Stack()), 8<<10)}
		}
	}()
	component, err := show(r)
	switch {
	case err != nil:
		return err
	case component == nil:
		return errors.New("a page's function returned neither a component nor an error")
	}
	return component.Render(r.Context(), body)
}

// forbidCaching keeps a response with a token out of every cache, the browser's back and forward included: the page
// there would have a used form key.
func (l *Live) forbidCaching(h http.Header, r *http.Request) {
	set := strings.Join(h.Values("Cache-Control"), ",")
	if strings.Contains(strings.ToLower(set), "no-store") {
		return
	}
	if lower := strings.ToLower(set); strings.Contains(lower, "public") || strings.Contains(lower, "max-age") {
		l.log.Error("a page with live objects must not be cached: its Cache-Control was replaced", "route", routeOf(r), "was", set)
	}
	h.Set("Cache-Control", "private, no-store")
}

// Middleware puts into a request's ctx what templ components need, for handlers that render pages themselves; it
// belongs behind the middleware that finds out who is asking. A response with a live object is kept out of caches: an
// object that is rendered after the response has begun is an error unless the handler has set no-store, so render into
// a buffer, as Page does.
func (l *Live) Middleware(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Upgrade") != "" { // a socket renders under ctx of its own, and needs the bare connection
			next.ServeHTTP(w, r)
			return
		}
		out := &responder{ResponseWriter: w, live: l, request: r}
		page := l.page(l.cfg.Identify(r))
		page.Sealed = out.seal
		next.ServeHTTP(out, r.WithContext(views.WithPage(r.Context(), page)))
	})
}

// responder sets Cache-Control on a response that turned out to hold a token.
type responder struct {
	http.ResponseWriter
	live    *Live
	request *http.Request
	sealed  bool
	begun   bool
}

// seal hears that a token is about to be rendered.
func (w *responder) seal() error {
	if w.begun && !strings.Contains(strings.ToLower(strings.Join(w.Header().Values("Cache-Control"), ",")), "no-store") {
		return errors.New("the response has begun, and caches may keep it: render the page into a buffer, or set Cache-Control: no-store first")
	}
	w.sealed = true
	return nil
}

func (w *responder) WriteHeader(status int) {
	if !w.begun && status >= 200 {
		w.begun = true
		if w.sealed {
			w.live.forbidCaching(w.Header(), w.request)
		}
	}
	w.ResponseWriter.WriteHeader(status)
}

func (w *responder) Write(b []byte) (int, error) {
	if !w.begun {
		w.WriteHeader(http.StatusOK)
	}
	return w.ResponseWriter.Write(b)
}

// Flush is for handlers that stream.
func (w *responder) Flush() {
	if !w.begun {
		w.WriteHeader(http.StatusOK)
	}
	http.NewResponseController(w.ResponseWriter).Flush()
}

// Unwrap is for http.ResponseController.
func (w *responder) Unwrap() http.ResponseWriter { return w.ResponseWriter }
