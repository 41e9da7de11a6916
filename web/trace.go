package web

import (
	"net/http"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/trace"
)

// instrumentation is the name under which our spans are recorded.
const instrumentation = "github.com/lockstep-go/lockstep/web"

// traced gives requests a span, METHOD ROUTE, unless the application's middleware has begun one. It says method, route
// and status: never an address, a header or an entry. Strangers do not decide about our traces: a traceparent header
// counts only where the application's middleware has read it.
func (l *Live) traced(h http.HandlerFunc) http.HandlerFunc {
	if l.cfg.Tracer == nil {
		return h
	}
	tracer := l.cfg.Tracer.Tracer(instrumentation)
	return func(w http.ResponseWriter, r *http.Request) {
		if trace.SpanContextFromContext(r.Context()).IsValid() {
			h(w, r)
			return
		}
		method := r.Method
		switch method {
		case http.MethodGet, http.MethodHead, http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete, http.MethodOptions:
		default:
			method = "_OTHER"
		}
		ctx, span := tracer.Start(r.Context(), method+" "+routeOf(r), trace.WithSpanKind(trace.SpanKindServer),
			trace.WithAttributes(attribute.String("http.request.method", method), attribute.String("http.route", routeOf(r))))
		defer span.End()
		out := &statusWriter{ResponseWriter: w, status: http.StatusOK}
		h(out, r.WithContext(ctx))
		span.SetAttributes(attribute.Int("http.response.status_code", out.status))
		if out.status >= 500 {
			span.SetStatus(codes.Error, "")
		}
	}
}

// statusWriter remembers a response's status.
type statusWriter struct {
	http.ResponseWriter
	status int
	begun  bool
}

func (w *statusWriter) WriteHeader(status int) {
	if !w.begun && status >= 200 {
		w.status, w.begun = status, true
	}
	w.ResponseWriter.WriteHeader(status)
}

func (w *statusWriter) Write(b []byte) (int, error) {
	w.begun = true
	return w.ResponseWriter.Write(b)
}

// Unwrap is for http.ResponseController.
func (w *statusWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }
