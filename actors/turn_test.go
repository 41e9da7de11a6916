package actors_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/lockstep-go/lockstep/actors"
)

var turnStart = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// perform runs do as a turn of an actor whose stored schedule is alarms.
func perform(t *testing.T, alarms []actors.Alarm, do func(*actors.Turn[box]) error) (*actors.Execution, error) {
	t.Helper()
	typ := actors.Define("stage", func() box { return box{} })
	act := actors.Bare(typ, "act")
	// The handles under test are of the type box: a turn of another type of the same state stands in for one.
	act.Handle(func(_ *box, turn *actors.Turn[box]) error { return do(turn) })
	x := &actors.Execution{
		Context: actors.WithTurn(t.Context()), Now: turnStart, ActorID: "a", MessageID: "m", Sequence: 7, Attempt: 2, Payload: 100,
		Alarms: func(context.Context) ([]actors.Alarm, error) { return alarms, nil },
	}
	_, err := typ.Definition().Operation("act").Perform(&box{}, x, actors.None{})
	return x, err
}

func TestTurnSaysWhatItIs(t *testing.T) {
	_, err := perform(t, nil, func(turn *actors.Turn[box]) error {
		if turn.ID() != "a" || turn.MessageID() != "m" || turn.Sequence() != 7 || turn.Attempt() != 2 || !turn.Now().Equal(turnStart) {
			t.Error("the turn does not say what the engine told it")
		}
		if typ, id := turn.Self().Address(); typ != "stage" || id != "a" {
			t.Errorf("Self is %s %s", typ, id)
		}
		if !actors.InTurn(turn.Context()) {
			t.Error("its context is not marked")
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

func TestTurnStagesIntents(t *testing.T) {
	x, err := perform(t, nil, func(turn *actors.Turn[box]) error {
		put.Send(turn, boxes.Ref("b"), 1, actors.IdempotencyKey("k"))
		empty.Send(turn, boxes.Ref("b"), actors.Available(actors.In(time.Hour)))
		ship.Emit(turn, parcel{To: "Ulm"})
		put.Schedule(turn, actors.At(turnStart.Add(time.Hour)), 5, actors.Key("hourly"), actors.Every(time.Hour), actors.CatchUp(actors.All))
		empty.Cancel(turn, actors.Key("old"))
		return nil
	})
	if err != nil || x.Err() != nil || !x.Staged() {
		t.Fatalf("%v, %v, staged %v", err, x.Err(), x.Staged())
	}
	if len(x.Sends) != 2 || x.Sends[0].Operation != "put" || string(x.Sends[0].Arguments) != "1" || x.Sends[0].IdempotencyKey != "k" || x.Sends[1].When.After != time.Hour {
		t.Errorf("sends are %+v", x.Sends)
	}
	if len(x.Effects) != 1 || x.Effects[0].Done != "sent" || x.Effects[0].Failed != "lost" || string(x.Effects[0].Arguments) != `{"to":"Ulm"}` {
		t.Errorf("effects are %+v", x.Effects)
	}
	if len(x.Reminders) != 2 {
		t.Fatalf("reminders are %+v", x.Reminders)
	}
	if r := x.Reminders[0]; r.Operation != "put" || r.Key != "hourly" || r.Interval != time.Hour || r.CatchUp != actors.All || string(r.Arguments) != "5" || r.Cancel {
		t.Errorf("the schedule is %+v", r)
	}
	if r := x.Reminders[1]; r.Operation != "empty" || r.Key != "old" || !r.Cancel {
		t.Errorf("the cancel is %+v", r)
	}
}

// A mistake while staging has nobody to return to, so it fails the turn; the first one is told.
func TestStagingMistakesFailTheTurn(t *testing.T) {
	for name, stage := range map[string]func(*actors.Turn[box]){
		"send to an invalid id":       func(turn *actors.Turn[box]) { put.Send(turn, boxes.Ref(""), 1) },
		"send with an invalid key":    func(turn *actors.Turn[box]) { put.Send(turn, boxes.Ref("b"), 1, actors.IdempotencyKey("\n")) },
		"effect arguments too large":  func(turn *actors.Turn[box]) { ship.Emit(turn, parcel{strings.Repeat("x", 100)}) },
		"effect arguments not UTF-8":  func(turn *actors.Turn[box]) { ship.Emit(turn, parcel{"\xff"}) },
		"schedule with a bad key":     func(turn *actors.Turn[box]) { empty.Schedule(turn, actors.In(1), actors.Key("\x00")) },
		"schedule with a long key":    func(turn *actors.Turn[box]) { empty.Schedule(turn, actors.In(1), actors.Key(strings.Repeat("k", 192))) },
		"schedule every microsecond":  func(turn *actors.Turn[box]) { empty.Schedule(turn, actors.In(1), actors.Every(time.Microsecond)) },
		"schedule backwards":          func(turn *actors.Turn[box]) { empty.Schedule(turn, actors.In(1), actors.Every(-time.Hour)) },
		"schedule of unknown catchup": func(turn *actors.Turn[box]) { empty.Schedule(turn, actors.In(1), actors.CatchUp("some")) },
		"cancel with a bad key":       func(turn *actors.Turn[box]) { empty.Cancel(turn, actors.Key("\xff")) },
	} {
		t.Run(name, func(t *testing.T) {
			x, err := perform(t, nil, func(turn *actors.Turn[box]) error {
				stage(turn)
				ship.Emit(turn, parcel{"\x00"})
				return nil
			})
			if err != nil {
				t.Fatal(err)
			}
			if x.Err() == nil || !actors.IsPermanent(x.Err()) || !x.Staged() {
				t.Errorf("the turn's error is %v, want a permanent one", x.Err())
			}
			if invalid, ok := errors.AsType[*actors.InvalidDocument](x.Err()); ok && strings.Contains(invalid.Reason, "U+0000") {
				t.Errorf("the second mistake hides the first: %v", x.Err())
			}
			if len(x.Sends)+len(x.Effects)+len(x.Reminders) > 0 {
				t.Error("it was staged all the same")
			}
		})
	}
}

// G25: a turn reads its own staged schedule over the stored one.
func TestG25StagedScheduleOverStored(t *testing.T) {
	stored := []actors.Alarm{
		{Operation: "empty", Next: turnStart.Add(time.Minute), CatchUp: actors.Latest},
		{Operation: "empty", Key: "daily", Next: turnStart.Add(time.Hour), Interval: 24 * time.Hour, CatchUp: actors.All},
		{Operation: "put", Key: "daily", Next: turnStart.Add(2 * time.Hour), CatchUp: actors.Latest},
	}
	_, err := perform(t, stored, func(turn *actors.Turn[box]) error {
		expectAlarm(t, turn, "stored", nil, time.Minute, true)
		expectAlarm(t, turn, "stored with a key", []actors.ScheduleOption{actors.Key("daily")}, time.Hour, true)
		expectAlarm(t, turn, "unknown key", []actors.ScheduleOption{actors.Key("weekly")}, 0, false)
		empty.Schedule(turn, actors.In(5*time.Second), actors.Key("daily"))
		expectAlarm(t, turn, "replaced", []actors.ScheduleOption{actors.Key("daily")}, 5*time.Second, true)
		expectAlarm(t, turn, "another key than the replaced one", nil, time.Minute, true)
		empty.Cancel(turn, actors.Key("daily"))
		expectAlarm(t, turn, "cancelled", []actors.ScheduleOption{actors.Key("daily")}, 0, false)
		empty.Schedule(turn, actors.At(turnStart.Add(time.Second)), actors.Key("daily"))
		expectAlarm(t, turn, "scheduled after its cancel", []actors.ScheduleOption{actors.Key("daily")}, time.Second, true)
		if a, ok, _ := put.Scheduled(turn, actors.Key("daily")); !ok || !a.Next.Equal(turnStart.Add(2*time.Hour)) {
			t.Errorf("another message of the same key is %+v, %v", a, ok)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

func expectAlarm(t *testing.T, turn *actors.Turn[box], what string, opts []actors.ScheduleOption, in time.Duration, want bool) {
	t.Helper()
	a, ok, err := empty.Scheduled(turn, opts...)
	if err != nil || ok != want || ok && !a.Next.Equal(turnStart.Add(in)) {
		t.Errorf("%s: %+v, %v, %v; want one in %v: %v", what, a, ok, err, in, want)
	}
}

func TestScheduledReportsADeafDatabase(t *testing.T) {
	deaf := errors.New("no answer")
	typ := actors.Define("stage", func() box { return box{} })
	act := actors.Bare(typ, "act")
	act.Handle(func(_ *box, turn *actors.Turn[box]) error {
		_, _, err := act.Scheduled(turn)
		return err
	})
	x := &actors.Execution{Context: t.Context(), Alarms: func(context.Context) ([]actors.Alarm, error) { return nil, deaf }}
	if _, err := typ.Definition().Operation("act").Perform(&box{}, x, actors.None{}); !errors.Is(err, deaf) {
		t.Errorf("got %v, want what the database said", err)
	}
}

func TestWhen(t *testing.T) {
	at := turnStart.Add(time.Hour)
	for name, c := range map[string]struct {
		when actors.When
		want time.Time
	}{
		"zero":          {actors.When{}, turnStart},
		"in a while":    {actors.In(time.Minute), turnStart.Add(time.Minute)},
		"in the past":   {actors.In(-time.Minute), turnStart},
		"at an instant": {actors.At(at), at},
	} {
		if got := c.when.From(turnStart); !got.Equal(c.want) {
			t.Errorf("%s: %v, want %v", name, got, c.want)
		}
	}
}

func TestContextMarks(t *testing.T) {
	ctx := t.Context()
	if actors.InTurn(ctx) || actors.InTransaction(ctx) {
		t.Error("a plain context is marked")
	}
	derived, cancel := context.WithTimeout(context.WithoutCancel(actors.WithTurn(actors.WithTransaction(ctx))), time.Hour)
	defer cancel()
	if !actors.InTurn(derived) || !actors.InTransaction(derived) {
		t.Error("a derived context has lost its marks")
	}
}

func TestReject(t *testing.T) {
	rejected, ok := errors.AsType[*actors.Rejected](actors.RejectWith("sold_out", "nothing left", map[string]int{"left": 0}))
	if !ok || rejected.Code != "sold_out" || string(rejected.Details) != `{"left":0}` {
		t.Errorf("got %+v", rejected)
	}
	for name, err := range map[string]error{
		"code with a space":   actors.Reject("sold out", ""),
		"no code":             actors.Reject("", "nothing left"),
		"details not encoded": actors.RejectWith("sold_out", "", make(chan int)),
	} {
		if _, ok := errors.AsType[*actors.Rejected](err); ok || !actors.IsPermanent(err) {
			t.Errorf("%s: %v, want a permanent error that is no rejection", name, err)
		}
	}
	cause := errors.New("cause")
	if !actors.IsPermanent(actors.Permanent(cause)) || !errors.Is(actors.Permanent(cause), cause) || actors.Permanent(nil) != nil || actors.IsPermanent(cause) {
		t.Error("Permanent does not mark, or hides, its error")
	}
}

func TestPolicyDeniesByDefault(t *testing.T) {
	all := actors.InsecureAllowAll()
	if all.Message(t.Context(), actors.Request{}) != nil || all.Query(t.Context(), actors.Request{}) != nil || all.Destroy(t.Context(), actors.Request{}) != nil ||
		all.Subscribe(t.Context(), actors.Request{}) != nil || all.Administer(t.Context(), actors.AdminRequest{}) != nil {
		t.Error("InsecureAllowAll refuses something")
	}
}
