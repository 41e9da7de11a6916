package web_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-chi/chi/v5"
	"go.opentelemetry.io/otel/codes"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"go.opentelemetry.io/otel/trace"

	"github.com/lockstep-go/lockstep/actors"
	"github.com/lockstep-go/lockstep/runtime"
	"github.com/lockstep-go/lockstep/runtime/runtimetest"
	"github.com/lockstep-go/lockstep/web"
)

// parcel is an actor that does everything which a trace can show.
type parcel struct {
	Note string `json:"note"`
	Paid bool   `json:"paid"`
}

type placing struct {
	Note string `json:"note"`
}

type bill struct {
	Card string `json:"card"`
}

type shelf struct {
	Held []string `json:"held"`
}

// canary is in everything that must not be seen: ids, keys, arguments, state, results, texts of errors.
const canary = "canary"

var (
	parcels = actors.Define("parcel", func() parcel { return parcel{} })
	place   = actors.Message[placing, string](parcels, "place")
	refuse  = actors.Message[placing, string](parcels, "refuse")
	stumble = actors.Message[placing, string](parcels, "stumble")
	booked  = actors.Message[actors.Done[bill, string], actors.None](parcels, "booked")
	charge  = actors.Effect[bill, string](parcels, "charge")

	shelves = actors.Define("shelf", func() shelf { return shelf{} })
	hold    = actors.Message[placing, actors.None](shelves, "hold")
)

func init() {
	place.Handle(func(p *parcel, t *actors.Turn[parcel], in placing) (string, error) {
		p.Note = in.Note + "-" + canary + "-state"
		hold.Send(t, shelves.Ref(canary+"-shelf"), in, actors.IdempotencyKey(canary+"-key"))
		charge.Emit(t, bill{Card: canary + "-card"})
		return canary + "-result", nil
	})
	refuse.Handle(func(*parcel, *actors.Turn[parcel], placing) (string, error) {
		return "", actors.Reject("no", canary+" rejection")
	})
	stumble.Handle(func(_ *parcel, t *actors.Turn[parcel], _ placing) (string, error) {
		if t.Attempt() == 1 {
			return "", errors.New(canary + " error")
		}
		panic(canary + " panic")
	})
	booked.Handle(func(p *parcel, _ *actors.Turn[parcel], _ actors.Done[bill, string]) (actors.None, error) {
		p.Paid = true
		return actors.None{}, nil
	})
	hold.Handle(func(s *shelf, _ *actors.Turn[shelf], in placing) (actors.None, error) {
		s.Held = append(s.Held, in.Note)
		return actors.None{}, nil
	})
	charge.Done(booked)
}

// watched is a parcel's site with everything that can be observed of it.
type watched struct {
	rt    *runtimetest.Runtime
	h     http.Handler
	spans *tracetest.InMemoryExporter
	log   *lines

	mu     sync.Mutex
	events []runtime.Event
	charge sync.Once
}

// lines is a log that may be read while it is written.
type lines struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (l *lines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.buf.Write(p)
}

func (l *lines) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.buf.String()
}

func watch(t *testing.T, level slog.Level) *watched {
	t.Helper()
	w := &watched{spans: tracetest.NewInMemoryExporter(), log: &lines{}}
	provider := sdktrace.NewTracerProvider(sdktrace.WithSyncer(w.spans))
	log := slog.New(slog.NewTextHandler(w.log, &slog.HandlerOptions{Level: level}))
	w.rt = runtimetest.OpenConfig(t, runtime.Config{
		Types: []actors.AnyType{parcels, shelves}, Policy: actors.InsecureAllowAll(),
		Effects: []actors.Executor{charge.By(func(ctx context.Context, _ actors.EffectCall[bill]) (string, error) {
			if !trace.SpanFromContext(ctx).IsRecording() {
				t.Error("an executor's ctx has no span")
			}
			fails := false
			w.charge.Do(func() { fails = true })
			if fails {
				return "", errors.New(canary + " refused the card")
			}
			return canary + "-receipt", nil
		})},
		Attempts: 2, Backoff: func(int) time.Duration { return time.Millisecond },
		Tracer: provider, Logger: log,
		Events: func(_ context.Context, e runtime.Event) {
			w.mu.Lock()
			w.events = append(w.events, e)
			w.mu.Unlock()
		},
	})
	live := newLive(t, w.rt.Runtime, func(c *web.Config) { c.Tracer, c.Logger = provider, log })
	r := chi.NewRouter()
	parcelOf := func(*http.Request) (actors.Ref[parcel], error) { return parcels.Ref(canary + "-parcel"), nil }
	r.Post("/place/{id}", web.Action(live, place, parcelOf, web.Answer{Next: "/"}))
	r.Post("/refuse", web.Action(live, refuse, parcelOf, web.Answer{Next: "/"}))
	r.Post("/stumble", web.Action(live, stumble, parcelOf, web.Answer{Next: "/"}))
	w.h = r
	return w
}

// tree lists the spans of the trace with that root as "child < parent", sorted.
func (w *watched) tree(root string) (list []string) {
	stubs := w.spans.GetSpans()
	names := map[trace.SpanID]string{}
	var id trace.TraceID
	for _, s := range stubs {
		names[s.SpanContext.SpanID()] = s.Name
		if s.Name == root && !s.Parent.IsValid() {
			id = s.SpanContext.TraceID()
		}
	}
	for _, s := range stubs {
		if s.SpanContext.TraceID() != id || !id.IsValid() {
			continue
		}
		line := s.Name + attributes(s) + " < " + names[s.Parent.SpanID()]
		list = append(list, line)
	}
	slices.Sort(list)
	return list
}

// attributes are those of a span's outcome.
func attributes(s tracetest.SpanStub) (text string) {
	for _, a := range s.Attributes {
		switch a.Key {
		case "lockstep.attempt", "lockstep.outcome", "lockstep.error_kind", "http.response.status_code":
			text += " " + a.Value.Emit()
		}
	}
	if s.Status.Code == codes.Error {
		text += "!"
	}
	return text
}

func (w *watched) eventually(t *testing.T, root string, want ...string) {
	t.Helper()
	var got []string
	for end := time.Now().Add(20 * time.Second); time.Now().Before(end); time.Sleep(5 * time.Millisecond) {
		if got = w.tree(root); slices.Equal(got, want) {
			return
		}
	}
	t.Errorf("the trace of %q is\n%s\nwant\n%s", root, strings.Join(got, "\n"), strings.Join(want, "\n"))
}

// A request, the call it makes, the turn, the message and the effect that the turn staged, both of the effect's
// attempts and the turn that hears of its outcome are one trace.
func TestTraceOfARequest(t *testing.T) {
	w := watch(t, slog.LevelDebug)
	if got := post(t, w.h, "/place/"+canary+"?q="+canary, "note="+canary, with(ada, "Idempotency-Key", canary)); got.Code != 303 {
		t.Fatalf("status %d", got.Code)
	}
	w.eventually(t, "POST /place/{id}",
		"POST /place/{id} 303 < ",
		"ask parcel.place done < POST /place/{id}",
		"effect charge 1 retried *errors.errorString! < turn parcel.place",
		"effect charge 2 completed < turn parcel.place",
		"send shelf.hold < turn parcel.place",
		"turn parcel.booked 1 completed < effect charge",
		"turn parcel.place 1 completed < ask parcel.place",
		"turn shelf.hold 1 completed < send shelf.hold",
	)
	w.silent(t)
}

// Refusals and failures: attempts belong to the call, an error is a class and never a text.
func TestTraceOfFailures(t *testing.T) {
	w := watch(t, slog.LevelDebug)
	post(t, w.h, "/refuse", "note="+canary, ada)
	post(t, w.h, "/stumble", "note="+canary, ada)
	w.eventually(t, "POST /refuse",
		"POST /refuse 422 < ",
		"ask parcel.refuse rejected < POST /refuse",
		"turn parcel.refuse 1 rejected < ask parcel.refuse",
	)
	w.eventually(t, "POST /stumble",
		"POST /stumble 500! < ",
		"ask parcel.stumble failed *actors.MessageFailed! < POST /stumble",
		"turn parcel.stumble 1 retried *errors.errorString! < ask parcel.stumble",
		"turn parcel.stumble 2 failed panic! < ask parcel.stumble",
	)
	w.silent(t)
}

// The application's own span is used where its middleware began one.
func TestTraceUnderTheApplicationsSpan(t *testing.T) {
	w := watch(t, slog.LevelDebug)
	tracer := sdktrace.NewTracerProvider(sdktrace.WithSyncer(w.spans)).Tracer("application")
	h := http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		ctx, span := tracer.Start(r.Context(), "application")
		defer span.End()
		w.h.ServeHTTP(rw, r.WithContext(ctx))
	})
	post(t, h, "/refuse", "note=x", ada)
	w.eventually(t, "application",
		"application < ",
		"ask parcel.refuse rejected < application",
		"turn parcel.refuse 1 rejected < ask parcel.refuse",
	)
}

// A healthy run says nothing at Info.
func TestHealthyRunIsQuiet(t *testing.T) {
	w := watch(t, slog.LevelInfo)
	w.charge.Do(func() {}) // the card is taken at once
	post(t, w.h, "/place/1", "note=x", ada)
	post(t, w.h, "/refuse", "note=x", ada)
	for end := time.Now().Add(20 * time.Second); time.Now().Before(end); time.Sleep(5 * time.Millisecond) {
		if p, err := parcels.Ref(canary+"-parcel").Snapshot(t.Context(), w.rt); err == nil && p.Paid {
			break
		}
	}
	if said := w.log.String(); said != "" {
		t.Errorf("logged at Info or above:\n%s", said)
	}
}

// silent fails if anything observed has the canary in it; an Event may have it as the actor's id alone.
func (w *watched) silent(t *testing.T) {
	t.Helper()
	for _, s := range w.spans.GetSpans() {
		if text := fmt.Sprintf("%+v", s); strings.Contains(text, canary) {
			t.Errorf("a span sings: %s", text)
		}
	}
	for line := range strings.Lines(w.log.String()) {
		if strings.Contains(line, canary) {
			t.Errorf("the log sings: %s", line)
		}
	}
	if !strings.Contains(w.log.String(), "event=turn.") {
		t.Error("the log says nothing of turns at Debug")
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.events) == 0 {
		t.Error("no events")
	}
	for _, e := range w.events {
		e.ActorID = ""
		if text := fmt.Sprintf("%+v", e); strings.Contains(text, canary) {
			t.Errorf("an event sings: %s", text)
		}
	}
}
