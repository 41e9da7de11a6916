package runtime_test

import (
	"context"
	"errors"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"go.opentelemetry.io/otel/trace"

	"github.com/lockstep-go/lockstep/actors"
	"github.com/lockstep-go/lockstep/runtime"
)

// traced gives a configuration a tracer whose spans can be read.
func traced(cfg runtime.Config) (runtime.Config, *tracetest.InMemoryExporter) {
	spans := tracetest.NewInMemoryExporter()
	cfg.Tracer = sdktrace.NewTracerProvider(sdktrace.WithSyncer(spans))
	return cfg, spans
}

// span finds the n-th ended span of that name.
func spanOf(t *testing.T, spans *tracetest.InMemoryExporter, name string, n int) (found tracetest.SpanStub) {
	t.Helper()
	eventually(t, "span "+name, func() bool {
		left := n
		for _, s := range spans.GetSpans() {
			if s.Name == name {
				if left == 0 {
					found = s
					return true
				}
				left--
			}
		}
		return false
	})
	return found
}

func expectChild(t *testing.T, of, child tracetest.SpanStub) {
	t.Helper()
	if child.Parent.SpanID() != of.SpanContext.SpanID() || child.SpanContext.TraceID() != of.SpanContext.TraceID() {
		t.Errorf("%s of trace %s has the parent %s; want %s of trace %s", child.Name, child.SpanContext.TraceID(), child.Parent.SpanID(), of.SpanContext.SpanID(), of.SpanContext.TraceID())
	}
}

// A message that one process stores and another runs, at its second attempt, with its effect and its outcome, is one
// trace: the database carries it. What an operator retries belongs to it too.
func TestTraceGoesThroughTheDatabase(t *testing.T) {
	onEach(t, func(t *testing.T) {
		stores := openShared(t, 2)
		o := defineOrders()
		var fail = true
		cfg := o.config(func(ctx context.Context, c actors.EffectCall[order]) (order, error) {
			if fail {
				fail = false
				return order{}, errors.New("no")
			}
			return c.In, nil
		})
		cfg.Backoff = func(int) time.Duration { return time.Millisecond }
		here, told := traced(cfg)
		there, done := traced(cfg)
		front := idle(t, stores[0], here)
		root, end := here.Tracer.Tracer("test").Start(t.Context(), "application")
		if _, err := o.place.Tell(root, front, o.Ref("a"), order{1}); err != nil {
			t.Fatal(err)
		}
		end.End()
		start(t, stores[1], there)
		tell := spanOf(t, told, "tell order.place", 0)
		expectChild(t, spanOf(t, told, "application", 0), tell)
		turn := spanOf(t, done, "turn order.place", 0)
		expectChild(t, tell, turn)
		if !turn.Parent.IsRemote() {
			t.Error("the turn's parent is not of another process")
		}
		expectChild(t, turn, spanOf(t, done, "effect perform", 0))
		second := spanOf(t, done, "effect perform", 1)
		expectChild(t, turn, second)
		expectChild(t, second, spanOf(t, done, "turn order.done", 0))
	})
}

// A turn's ctx carries its span, so that what a handler does with it belongs to the turn; a reminder's occurrence
// begins a trace of its own, and says where it comes from.
func TestTraceInATurn(t *testing.T) {
	onEach(t, func(t *testing.T) {
		var cfg runtime.Config
		var chime *actors.BareType[pad]
		p := definePads(func(tn *actors.Turn[pad], _ *pad, line string) error {
			_, own := cfg.Tracer.Tracer("test").Start(tn.Context(), "own work")
			own.End()
			chime.Schedule(tn, actors.In(time.Millisecond))
			return nil
		})
		chime = actors.Bare(p.Type, "chime")
		chime.Handle(func(*pad, *actors.Turn[pad]) error { return nil })
		cfg, spans := traced(config(p))
		rt := start(t, openStore(t), cfg)
		p.ask(t, rt.Runtime, "a", "x")
		turn := spanOf(t, spans, "turn pad.write", 0)
		expectChild(t, turn, spanOf(t, spans, "own work", 0))
		rung := spanOf(t, spans, "turn pad.chime", 0)
		if rung.Parent.IsValid() || rung.SpanContext.TraceID() == turn.SpanContext.TraceID() {
			t.Error("a reminder's turn does not begin a trace")
		}
		var origin string
		for _, a := range rung.Attributes {
			if a.Key == "lockstep.origin" {
				origin = a.Value.Emit()
			}
		}
		if origin != "reminder" {
			t.Errorf("origin %q", origin)
		}
	})
}

// A commit action belongs to its turn, and so does what it tells: one that fails is the turn's failed attempt.
func TestTraceOfCommitActions(t *testing.T) {
	s, db := defineSales(), openSales(t)
	failed := false
	s.do = func(context.Context, hosted, actors.Committing[string]) error {
		if !failed {
			failed = true
			return errors.New("canary")
		}
		return nil
	}
	cfg, spans := traced(s.config(t))
	w := &witness{}
	cfg.Events, cfg.Backoff = w.hear, func(int) time.Duration { return time.Millisecond }
	rt := start(t, db, cfg)
	s.ask(t, rt.Runtime, "a", "one")
	for attempt := range 2 {
		turn := spanOf(t, spans, "turn pad.write", attempt)
		expectChild(t, turn, spanOf(t, spans, "action enter", attempt))
		expectChild(t, turn, spanOf(t, spans, "action check", attempt))
	}
	if check := spanOf(t, spans, "action check", 0); check.Status.Description != "*errors.errorString" || len(check.Events) > 0 {
		t.Errorf("the failed action's span says %+v", check.Status)
	}
	var ran []string
	for _, line := range w.story() {
		if strings.HasPrefix(line, "commit_action.") {
			ran = append(ran, line)
		}
	}
	if want := []string{"commit_action.completed", "commit_action.completed", "commit_action.completed", "commit_action.failed"}; !slices.Equal(ran, want) {
		t.Errorf("events %q, want %q", ran, want)
	}
}

// Without a tracer nothing is traced, whatever the caller's ctx has, and nothing is stored for it.
func TestTraceOff(t *testing.T) {
	onEach(t, func(t *testing.T) {
		p := definePads(func(tn *actors.Turn[pad], _ *pad, _ string) error {
			if trace.SpanContextFromContext(tn.Context()).IsValid() {
				return errors.New("a span without a tracer")
			}
			return nil
		})
		db := openStore(t)
		rt := start(t, db, config(p))
		ctx, end := sdktrace.NewTracerProvider().Tracer("test").Start(t.Context(), "application")
		defer end.End()
		m, err := p.write.Tell(ctx, rt, p.Ref("a"), "x")
		if err != nil {
			t.Fatal(err)
		}
		if _, err := p.write.Wait(t.Context(), rt, m); err != nil {
			t.Fatal(err)
		}
		stored, _, _, err := db.Message(t.Context(), m.ID)
		if err != nil || stored.Meta != nil {
			t.Errorf("meta %s, %v", stored.Meta, err)
		}
	})
}

// operationsPage is what operators read.
func operationsPage(t *testing.T) string {
	t.Helper()
	page, err := os.ReadFile("../docs/operations.md")
	if err != nil {
		t.Fatal(err)
	}
	return strings.ReplaceAll(string(page), "\r", "")
}
