package actors_test

import (
	"context"
	"encoding/json"
	"errors"
	"reflect"
	"testing"
	"time"

	"github.com/lockstep-go/lockstep/actors"
)

// box is the actor of these tests.
type box struct {
	Total int      `json:"total"`
	Tags  []string `json:"tags,omitempty"`
}

func (b box) Sum() int { return b.Total }

var (
	boxes = actors.Define("box", func() box { return box{} })
	put   = actors.Message[int, int](boxes, "put")
	empty = actors.Bare(boxes, "empty")
	sum   = actors.Query(boxes, "sum", box.Sum)
	above = actors.QueryWith(boxes, "above", func(b box, limit int) (bool, error) {
		if limit < 0 {
			return false, actors.Reject("negative", "a limit is not negative")
		}
		return b.Total > limit, nil
	})
	total = actors.Shared(boxes, "total", box.Sum)
	tags  = actors.Observable(boxes, "tags", func(b box) []string { return b.Tags })
	ship  = actors.Effect[parcel, receipt](boxes, "ship")
	sent  = actors.Message[actors.Done[parcel, receipt], actors.None](boxes, "sent")
	lost  = actors.Message[actors.Failed[parcel], actors.None](boxes, "lost")
)

type parcel struct {
	To string `json:"to"`
}

type receipt struct {
	Number int `json:"number"`
}

func init() {
	put.Handle(func(b *box, _ *actors.Turn[box], n int) (int, error) {
		b.Total += n
		return b.Total, nil
	})
	empty.Handle(func(b *box, _ *actors.Turn[box]) error { *b = box{}; return nil })
	sent.Handle(func(*box, *actors.Turn[box], actors.Done[parcel, receipt]) (actors.None, error) {
		return actors.None{}, nil
	})
	lost.Handle(func(*box, *actors.Turn[box], actors.Failed[parcel]) (actors.None, error) { return actors.None{}, nil })
	ship.Done(sent)
	ship.Failed(lost)
}

// recorder is a client that answers what it is told to.
type recorder struct {
	calls  []actors.Call
	waited []actors.MessageRef
	answer json.RawMessage
	snap   actors.Snapshot
	err    error
}

func (r *recorder) AskCall(_ context.Context, c actors.Call) (json.RawMessage, error) {
	r.calls = append(r.calls, c)
	return r.answer, r.err
}

func (r *recorder) TellCall(_ context.Context, c actors.Call) (actors.MessageRef, error) {
	r.calls = append(r.calls, c)
	return actors.MessageRef{ID: "m", Type: c.Type, ActorID: c.ID, Operation: c.Operation}, r.err
}

func (r *recorder) TellTxCall(ctx context.Context, _ actors.Tx, c actors.Call) (actors.MessageRef, error) {
	return r.TellCall(ctx, c)
}

func (r *recorder) WaitCall(_ context.Context, m actors.MessageRef) (json.RawMessage, error) {
	r.waited = append(r.waited, m)
	return r.answer, r.err
}

func (r *recorder) ReadCall(context.Context, string, string) (actors.Snapshot, error) {
	return r.snap, r.err
}

func (r *recorder) DestroyCall(_ context.Context, typ, id string) (bool, error) {
	r.calls = append(r.calls, actors.Call{Type: typ, ID: id})
	return true, r.err
}

func TestHandlesEncodeTheirCalls(t *testing.T) {
	ctx, client := t.Context(), &recorder{answer: json.RawMessage(`7`)}
	ref := boxes.Ref("a")
	n, err := put.Ask(ctx, client, ref, 3, actors.IdempotencyKey("once"), actors.Available(actors.In(time.Minute)))
	if n != 7 || err != nil {
		t.Errorf("Ask = %d, %v; want 7", n, err)
	}
	client.answer = json.RawMessage(`true`)
	if yes, err := above.Ask(ctx, client, ref, 5); !yes || err != nil {
		t.Errorf("query = %v, %v; want true", yes, err)
	}
	client.answer = json.RawMessage(`{}`)
	if err := empty.Ask(ctx, client, ref); err != nil {
		t.Error(err)
	}
	if m, err := put.Tell(ctx, client, ref, 4); err != nil || m.Operation != "put" || m.ActorID != "a" {
		t.Errorf("Tell = %+v, %v", m, err)
	}
	want := []actors.Call{
		{Type: "box", ID: "a", Operation: "put", Arguments: json.RawMessage(`3`), Input: 3, IdempotencyKey: "once", When: actors.In(time.Minute)},
		{Type: "box", ID: "a", Operation: "above", Arguments: json.RawMessage(`5`), Input: 5},
		{Type: "box", ID: "a", Operation: "empty", Arguments: json.RawMessage(`{}`), Input: actors.None{}},
		{Type: "box", ID: "a", Operation: "put", Arguments: json.RawMessage(`4`), Input: 4},
	}
	if len(client.calls) != len(want) {
		t.Fatalf("%d calls, want %d", len(client.calls), len(want))
	}
	for i, c := range client.calls {
		w := want[i]
		if c.Type != w.Type || c.ID != w.ID || c.Operation != w.Operation || string(c.Arguments) != string(w.Arguments) ||
			c.Input != w.Input || c.IdempotencyKey != w.IdempotencyKey || c.When != w.When {
			t.Errorf("call %d is %+v, want %+v", i, c, w)
		}
	}
}

func TestHandlesPassErrorsOn(t *testing.T) {
	ctx := t.Context()
	client := &recorder{err: actors.ErrUnauthorized}
	if _, err := put.Ask(ctx, client, boxes.Ref("a"), 1); !errors.Is(err, actors.ErrUnauthorized) {
		t.Errorf("Ask: %v", err)
	}
	if _, err := put.Wait(ctx, client, actors.MessageRef{ID: "m"}); !errors.Is(err, actors.ErrUnauthorized) {
		t.Errorf("Wait: %v", err)
	}
	client = &recorder{answer: json.RawMessage(`"seven"`)}
	if _, err := put.Ask(ctx, client, boxes.Ref("a"), 1); !isInvalidDocument(err) {
		t.Errorf("a result of another type: %v, want an *InvalidDocument", err)
	}
	client = &recorder{}
	if _, err := note.Ask(ctx, client, notebooks.Ref("a"), "\xff"); !isInvalidDocument(err) || len(client.calls) > 0 {
		t.Errorf("bad arguments: %v after %d calls, want an *InvalidDocument before any", err, len(client.calls))
	}
}

func isInvalidDocument(err error) bool {
	_, ok := errors.AsType[*actors.InvalidDocument](err)
	return ok
}

func TestSnapshotIsFreshWithoutARow(t *testing.T) {
	stocked := actors.Define("stocked", func() box { return box{Total: 5} })
	state, stamp, err := stocked.Ref("a").SnapshotStamp(t.Context(), &recorder{})
	if err != nil || state.Total != 5 || stamp != (actors.Stamp{}) {
		t.Errorf("got %+v, %+v, %v; want the fresh state and no stamp", state, stamp, err)
	}
	snap := actors.Snapshot{Stamp: actors.Stamp{Instance: "i", Revision: 9, Message: "m"}, Version: 1, State: json.RawMessage(`{}`)}
	state, stamp, err = stocked.Ref("a").SnapshotStamp(t.Context(), &recorder{snap: snap})
	if err != nil || !reflect.DeepEqual(state, box{}) || stamp != snap.Stamp {
		t.Errorf("got %+v, %+v, %v; want the stored zero, not the fresh state below it", state, stamp, err)
	}
}

func TestHandlesDescribeThemselves(t *testing.T) {
	if put.Name() != "put" || put.Type() != boxes || empty.Message().Name() != "empty" || sum.Name() != "sum" || above.Name() != "above" {
		t.Error("a handle does not know its name or type")
	}
	if total.Name() != "total" || !total.Projection().Shared || tags.Projection().Shared || total.Actor() != boxes {
		t.Error("an observable does not know what it is")
	}
	state := box{Total: 3}
	if total.Of(state) != 3 {
		t.Error("an observable does not compute its value")
	}
	if typ, id := boxes.Ref("a").Address(); typ != "box" || id != "a" {
		t.Error("a reference does not know its address")
	}
}
