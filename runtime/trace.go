package runtime

import (
	"context"
	"encoding/json"
	"errors"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/trace"

	"github.com/lockstep-go/lockstep/actors"
	"github.com/lockstep-go/lockstep/runtime/store"
)

// Instrumentation is the name under which the runtime's spans are recorded.
const Instrumentation = "github.com/lockstep-go/lockstep/runtime"

// tracing makes the runtime's spans; without a provider it makes none and costs nothing. A span says type, operation,
// ids of messages, numbers and classes of errors: never an actor's id, an argument, a state, a result or a text.
//
//	ask|tell TYPE.OPERATION    the call, until it is answered or stored; child of the caller's span
//	turn TYPE.OPERATION        one attempt, from its start to its commit; child of what sent the message, in whichever
//	                           process it runs; a reminder's and an operator's begin a trace
//	send TYPE.OPERATION        a message that a turn staged; child of the turn, parent of the target's turn
//	action NAME                a commit action within the turn's transaction; child of the turn
//	effect NAME                one attempt at an effect, its record included; child of the turn that emitted it, parent
//	                           of the turn that hears the outcome
type tracing struct{ tracer trace.Tracer }

func newTracing(p trace.TracerProvider) tracing {
	if p == nil {
		return tracing{}
	}
	return tracing{p.Tracer(Instrumentation)}
}

// span is a started span, or nothing.
type span struct{ trace.Span }

// meta is what a stored message or effect carries besides itself. What others wrote there is left alone.
type meta struct {
	TraceParent string `json:"traceparent,omitempty"`
	TraceState  string `json:"tracestate,omitempty"`
}

var propagator propagation.TraceContext

// metaOf is the meta of what is stored under ctx, or nil.
func (t tracing) metaOf(ctx context.Context) json.RawMessage {
	if t.tracer == nil || !trace.SpanContextFromContext(ctx).IsValid() {
		return nil
	}
	carrier := propagation.MapCarrier{}
	propagator.Inject(ctx, carrier)
	doc, err := json.Marshal(meta{carrier["traceparent"], carrier["tracestate"]})
	if err != nil {
		return nil
	}
	return doc
}

// under is ctx within the trace that a stored row belongs to.
func (t tracing) under(ctx context.Context, stored json.RawMessage) context.Context {
	var m meta
	if len(stored) == 0 || json.Unmarshal(stored, &m) != nil || m.TraceParent == "" {
		return ctx
	}
	return propagator.Extract(ctx, propagation.MapCarrier{"traceparent": m.TraceParent, "tracestate": m.TraceState})
}

// call begins the span of an Ask or a Tell, to which the message's turns will belong.
func (t tracing) call(ctx context.Context, verb string, e *store.Enqueue) (context.Context, span) {
	if t.tracer == nil {
		return ctx, span{}
	}
	kind := trace.SpanKindProducer
	if verb == "ask" {
		kind = trace.SpanKindClient
	}
	ctx, s := t.tracer.Start(ctx, verb+" "+e.Message.Type+"."+e.Message.Operation, trace.WithSpanKind(kind),
		trace.WithAttributes(attribute.String("lockstep.type", e.Message.Type), attribute.String("lockstep.operation", e.Message.Operation)))
	e.Message.Meta = t.metaOf(ctx)
	return ctx, span{s}
}

// called ends the span of a call.
func (s span) called(e *store.Enqueue, err error) {
	if s.Span == nil {
		return
	}
	s.SetAttributes(attribute.String("lockstep.message", e.Message.ID), attribute.Int64("lockstep.sequence", e.Message.Sequence))
	switch _, rejected := errors.AsType[*actors.Rejected](err); {
	case err == nil:
		s.end("done", "")
	case rejected:
		s.end("rejected", "")
	default:
		s.end("failed", errorKind(err))
	}
}

// turn begins the span of one attempt and returns the ctx that its handler sees.
func (t tracing) turn(ctx context.Context, turn *store.Turn) (context.Context, span) {
	if t.tracer == nil {
		return ctx, span{}
	}
	ctx, s := t.tracer.Start(t.under(ctx, turn.Meta), "turn "+turn.Type+"."+turn.Operation, trace.WithSpanKind(trace.SpanKindConsumer),
		trace.WithAttributes(
			attribute.String("lockstep.type", turn.Type), attribute.String("lockstep.operation", turn.Operation),
			attribute.String("lockstep.message", turn.Message.ID), attribute.Int64("lockstep.sequence", turn.Sequence),
			attribute.Int("lockstep.attempt", turn.Attempts), attribute.String("lockstep.origin", string(turn.Origin)),
		))
	return ctx, span{s}
}

// send records that the turn whose ctx this is staged a message, and returns the message's meta.
func (t tracing) send(ctx context.Context, to actors.Call, id string) json.RawMessage {
	if t.tracer == nil {
		return nil
	}
	ctx, s := t.tracer.Start(ctx, "send "+to.Type+"."+to.Operation, trace.WithSpanKind(trace.SpanKindProducer),
		trace.WithAttributes(
			attribute.String("lockstep.type", to.Type), attribute.String("lockstep.operation", to.Operation),
			attribute.String("lockstep.message", id),
		))
	s.End()
	return t.metaOf(ctx)
}

// effect begins the span of one attempt at an effect and returns the ctx that its executor sees.
func (t tracing) effect(ctx context.Context, e store.Effect) (context.Context, span) {
	if t.tracer == nil {
		return ctx, span{}
	}
	ctx, s := t.tracer.Start(t.under(ctx, e.Meta), "effect "+e.Name, trace.WithSpanKind(trace.SpanKindClient),
		trace.WithAttributes(
			attribute.String("lockstep.effect", e.Name), attribute.String("lockstep.type", e.Type),
			attribute.Int("lockstep.attempt", e.Attempt),
		))
	return ctx, span{s}
}

// within is ctx with the span of another.
func (t tracing) within(ctx, other context.Context) context.Context {
	if t.tracer == nil {
		return ctx
	}
	return trace.ContextWithSpan(ctx, trace.SpanFromContext(other))
}

// action begins the span of a commit action and returns the ctx that its executor sees.
func (t tracing) action(ctx context.Context, turn *store.Turn, name string) (context.Context, span) {
	if t.tracer == nil {
		return ctx, span{}
	}
	ctx, s := t.tracer.Start(ctx, "action "+name, trace.WithAttributes(
		attribute.String("lockstep.action", name), attribute.String("lockstep.type", turn.Type),
		attribute.String("lockstep.message", turn.Message.ID), attribute.Int("lockstep.attempt", turn.Attempts),
	))
	return ctx, span{s}
}

// end ends the span with an outcome and, of what failed, the class of the error.
func (s span) end(outcome, kind string) {
	if s.Span == nil {
		return
	}
	s.SetAttributes(attribute.String("lockstep.outcome", outcome))
	if kind != "" {
		s.SetAttributes(attribute.String("lockstep.error_kind", kind))
		s.SetStatus(codes.Error, kind)
	}
	s.End()
}
