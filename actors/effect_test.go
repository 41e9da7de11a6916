package actors_test

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/lockstep-go/lockstep/actors"
)

func TestExecutorFits(t *testing.T) {
	other := actors.Define("other", func() box { return box{} })
	same := actors.Effect[parcel, receipt](other, "ship")
	wrong := actors.Effect[parcel, string](other, "ship_by_air")
	perform := ship.By(func(context.Context, actors.EffectCall[parcel]) (receipt, error) { return receipt{}, nil })
	of := func(typ actors.AnyType, name string) *actors.EffectDefinition {
		return typ.Definition().Effects()[name]
	}
	if err := perform.Fits(of(other, "ship")); err != nil || !of(boxes, "ship").Same(of(other, "ship")) {
		t.Errorf("an effect of the same name and types on another actor: %v", err)
	}
	err := perform.Fits(of(other, "ship_by_air"))
	if err == nil || !strings.Contains(err.Error(), "receipt") || !strings.Contains(err.Error(), "string") {
		t.Errorf("other types: %v, want an error that names both", err)
	}
	if of(boxes, "ship").Same(of(other, "ship_by_air")) {
		t.Error("effects of other types are the same")
	}
	_, _ = same, wrong
}

func TestExecutorPerforms(t *testing.T) {
	var heard actors.EffectCall[parcel]
	x := ship.By(func(_ context.Context, call actors.EffectCall[parcel]) (receipt, error) {
		heard = call
		return receipt{Number: 9}, nil
	})
	out, err := x.Perform(t.Context(), actors.EffectAttempt{ID: "e", Attempt: 3, Type: "box", ActorID: "a", Arguments: json.RawMessage(`{"to":"Ulm"}`)})
	if err != nil || out != (receipt{Number: 9}) || heard != (actors.EffectCall[parcel]{ID: "e", Attempt: 3, Type: "box", ActorID: "a", In: parcel{"Ulm"}}) {
		t.Errorf("got %v, %v after %+v", out, err, heard)
	}
	if _, err := x.Perform(t.Context(), actors.EffectAttempt{Arguments: json.RawMessage(`7`)}); !isInvalidDocument(err) {
		t.Errorf("arguments of another type: %v, want an *InvalidDocument", err)
	}
}

// What an engine encodes without types is what the handlers decode with them.
func TestOutcomesFitTheirMessages(t *testing.T) {
	doc, err := actors.EffectResult("e", json.RawMessage(`{"to":"Ulm"}`), json.RawMessage(`{"number":9007199254740993}`))
	if err != nil {
		t.Fatal(err)
	}
	in, err := boxes.Definition().Operation("sent").Decode(doc)
	if want := (actors.Done[parcel, receipt]{EffectID: "e", Args: parcel{"Ulm"}, Result: receipt{9007199254740993}}); err != nil || in != want {
		t.Errorf("success arrives as %+v, %v; want %+v", in, err, want)
	}
	doc, err = actors.EffectFailure("e", json.RawMessage(`{"to":"Ulm"}`), 5, "no_road", "snow <again>")
	if err != nil {
		t.Fatal(err)
	}
	in, err = boxes.Definition().Operation("lost").Decode(doc)
	if want := (actors.Failed[parcel]{EffectID: "e", Args: parcel{"Ulm"}, Attempts: 5, Code: "no_road", Message: "snow <again>"}); err != nil || in != want {
		t.Errorf("failure arrives as %+v, %v; want %+v", in, err, want)
	}
}

// An outcome is never lost for what its parts were allowed to be.
func TestOutcomesOfTheLargestParts(t *testing.T) {
	deepest := json.RawMessage(strings.Repeat("[", actors.MaxDepth) + strings.Repeat("]", actors.MaxDepth))
	if _, err := actors.EffectResult("e", deepest, deepest); err != nil {
		t.Errorf("deepest arguments and result: %v", err)
	}
	doc, err := actors.EffectFailure("e", deepest, 1, "bad\xff", "NUL\x00 and \xff")
	if err != nil {
		t.Fatalf("text that is not UTF-8: %v", err)
	}
	if err := actors.CheckDocument("arguments", bytesOf(doc, `"args":`+string(deepest), `"args":0`), 1<<20); err != nil {
		t.Errorf("the outcome is not a document: %v", err)
	}
}

func bytesOf(doc json.RawMessage, old, replacement string) []byte {
	return []byte(strings.Replace(string(doc), old, replacement, 1))
}

func TestEmitHoldsToThePayloadLimit(t *testing.T) {
	x, err := perform(t, nil, func(turn *actors.Turn[box]) error {
		ship.Emit(turn, parcel{strings.Repeat("x", 91)}) // {"to":"…"} adds nine bytes
		return nil
	})
	if err != nil || x.Err() != nil || len(x.Effects) != 1 {
		t.Errorf("arguments of exactly the limit: %v, %v", err, x.Err())
	}
	x, _ = perform(t, nil, func(turn *actors.Turn[box]) error {
		ship.Emit(turn, parcel{strings.Repeat("x", 92)})
		return nil
	})
	if large, ok := errors.AsType[*actors.TooLarge](x.Err()); !ok || large.Bytes != 101 || large.Limit != 100 {
		t.Errorf("one byte more: %v, want a *TooLarge of 101 over 100", x.Err())
	}
}
