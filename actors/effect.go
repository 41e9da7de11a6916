package actors

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"reflect"
)

// EffectType is work outside the database that actors of state S ask for: its input an In, its result an Out.
type EffectType[S, In, Out any] struct {
	typ *Type[S]
	def *EffectDefinition
}

// EffectDefinition is an effect without its type parameters.
type EffectDefinition struct {
	Name   string
	Done   string // operation of the actor that hears of success, or ""
	Failed string // operation of the actor that hears of the final failure, or ""

	input, output reflect.Type
}

// Done is what a success message of an effect carries.
type Done[In, Out any] struct {
	EffectID string `json:"effect_id"`
	Args     In     `json:"args"`
	Result   Out    `json:"result"`
}

// Failed is what a failure message of an effect carries, once no attempt is left or one was final.
type Failed[In any] struct {
	EffectID string `json:"effect_id"`
	Args     In     `json:"args"`
	Attempts int    `json:"attempts"`
	Code     string `json:"code"`    // of a Reject, else "failed"
	Message  string `json:"message"` // of a Reject, else empty: other errors are for operators
}

// Effect adds an effect to a type. Its name is global: every type that names it means the same work, with the same
// In and Out. Who performs it is said when the runtime opens, with By.
func Effect[In, Out, S any](t *Type[S], name string) *EffectType[S, In, Out] {
	def := &EffectDefinition{Name: name, input: reflect.TypeFor[In](), output: reflect.TypeFor[Out]()}
	if err := checkName("effect", name); err != nil {
		t.def.problem("%w", err)
	}
	if t.def.effects[name] != nil {
		t.def.problem("two effects are named %q", name)
	}
	t.def.effects[name] = def
	return &EffectType[S, In, Out]{t, def}
}

// Done names the message that tells the actor of success.
func (e *EffectType[S, In, Out]) Done(m Accepting[S, Done[In, Out]]) {
	e.outcome(&e.def.Done, m.accepts)
}

// Failed names the message that tells the actor of the final failure.
func (e *EffectType[S, In, Out]) Failed(m Accepting[S, Failed[In]]) {
	e.outcome(&e.def.Failed, m.accepts)
}

func (e *EffectType[S, In, Out]) outcome(slot *string, accepts func() (*Type[S], *Operation)) {
	typ, op := accepts()
	switch {
	case typ != e.typ:
		e.typ.def.problem("effect %q: its outcome %q is a message of %s", e.def.Name, op.Name, typ.def.Name)
	case *slot != "":
		e.typ.def.problem("effect %q has two messages for one outcome", e.def.Name)
	default:
		*slot = op.Name
	}
}

// Emit stages the effect: it is durable with the turn's commit and performed after it, at least once, with one id
// for all attempts.
func (e *EffectType[S, In, Out]) Emit(t *Turn[S], in In) {
	doc, err := EncodeDocument("effect arguments", in, t.x.payloadLimit())
	t.x.stage(err, func() {
		t.x.Effects = append(t.x.Effects, EffectIntent{e.def.Name, doc, e.def.Done, e.def.Failed})
	})
}

// EffectCall is one attempt at an effect.
type EffectCall[In any] struct {
	ID      string // the same for every attempt: the outside world's idempotency key
	Attempt int    // from 1
	Type    string // of the actor that asked for it
	ActorID string
	In      In
}

// Executor performs effects of one name.
type Executor struct {
	Name string

	input, output reflect.Type
	run           func(ctx context.Context, e EffectAttempt) (any, error)
}

// EffectAttempt is an EffectCall with its arguments encoded.
type EffectAttempt struct {
	ID        string
	Attempt   int
	Type      string
	ActorID   string
	Arguments json.RawMessage
}

// By makes an executor of a function. It may run more than once for one effect, in several processes, and at the same
// time for different effects; its ctx ends at the effect's time limit and at shutdown. Reject and Permanent errors
// are final, others are retried.
func (e *EffectType[S, In, Out]) By(perform func(ctx context.Context, call EffectCall[In]) (Out, error)) Executor {
	return Executor{e.def.Name, e.def.input, e.def.output, func(ctx context.Context, a EffectAttempt) (any, error) {
		var in In
		if err := DecodeDocument("effect arguments", a.Arguments, &in); err != nil {
			return nil, err
		}
		return perform(ctx, EffectCall[In]{a.ID, a.Attempt, a.Type, a.ActorID, in})
	}}
}

// By makes an executor of a function without type parameters, for who performs effects of every kind alike, as package
// runtimetest does. What it returns has to be the effect's result, or its JSON.
func (d *EffectDefinition) By(perform func(ctx context.Context, a EffectAttempt) (any, error)) Executor {
	return Executor{d.Name, d.input, d.output, perform}
}

// Perform runs one attempt. A panic, and a runtime.Goexit, is returned as *Panicked.
func (x Executor) Perform(ctx context.Context, a EffectAttempt) (out any, err error) {
	return apart(func() (any, error) { return x.run(ctx, a) })
}

// Fits says whether the executor performs what def asks for.
func (x Executor) Fits(def *EffectDefinition) error {
	if x.input != def.input || x.output != def.output {
		return fmt.Errorf("effect %q is performed as %v to %v but asked for as %v to %v", def.Name, x.input, x.output, def.input, def.output)
	}
	return nil
}

// Same says whether two definitions of one name mean the same work.
func (d *EffectDefinition) Same(other *EffectDefinition) bool {
	return d.input == other.input && d.output == other.output
}

// EffectResult and EffectFailure encode what outcome messages carry, for an engine that has no types. What they wrap
// was checked when it was encoded: one level deeper, or a few bytes longer, is no reason to lose an outcome.
func EffectResult(id string, args, result json.RawMessage) (json.RawMessage, error) {
	return encodeOutcome(Done[json.RawMessage, json.RawMessage]{id, args, result})
}

// EffectFailure is EffectResult for the final failure.
func EffectFailure(id string, args json.RawMessage, attempts int, code, message string) (json.RawMessage, error) {
	return encodeOutcome(Failed[json.RawMessage]{id, args, attempts, CleanText(code, MaxNameBytes), CleanText(message, 8<<10)})
}

func encodeOutcome(v any) (json.RawMessage, error) {
	var buf bytes.Buffer
	enc := json.NewEncoder(&buf)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return nil, &InvalidDocument{"effect outcome", err.Error()}
	}
	return bytes.TrimSuffix(buf.Bytes(), []byte("\n")), nil
}
