package runtimetest_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/lockstep-go/lockstep/actors"
	"github.com/lockstep-go/lockstep/runtime"
	"github.com/lockstep-go/lockstep/runtime/runtimetest"
	"github.com/lockstep-go/lockstep/runtime/store/sqlite"
)

// lamp is lit for a while, paid for by an effect, and tells the switchboard.
type lamp struct {
	Lit  bool   `json:"lit"`
	Paid string `json:"paid"`
}

type tariff struct {
	Cents int `json:"cents"`
}

var (
	lamps  = actors.Define("lamp", func() lamp { return lamp{} })
	light  = actors.Message[time.Duration, actors.None](lamps, "light")
	dim    = actors.Bare(lamps, "dim")
	spoil  = actors.Bare(lamps, "spoil")
	flick  = actors.Message[string, actors.None](lamps, "flick")
	paid   = actors.Message[actors.Done[tariff, string], actors.None](lamps, "paid")
	unpaid = actors.Message[actors.Failed[tariff], actors.None](lamps, "unpaid")
	bill   = actors.Effect[tariff, string](lamps, "bill")
	note   = actors.CommitAction[string](lamps, "note")
)

func init() {
	light.Handle(func(l *lamp, t *actors.Turn[lamp], last time.Duration) (actors.None, error) {
		l.Lit = true
		dim.Schedule(t, actors.In(last))
		bill.Emit(t, tariff{int(last.Minutes())})
		note.Stage(t, t.ID())
		return actors.None{}, nil
	})
	dim.Handle(func(l *lamp, _ *actors.Turn[lamp]) error { l.Lit = false; return nil })
	spoil.Handle(func(*lamp, *actors.Turn[lamp]) error { return errors.New("the bulb burst") })
	flick.Handle(func(l *lamp, t *actors.Turn[lamp], other string) (actors.None, error) {
		flick.Send(t, lamps.Ref(other), t.ID())
		return actors.None{}, nil
	})
	paid.Handle(func(l *lamp, _ *actors.Turn[lamp], in actors.Done[tariff, string]) (actors.None, error) {
		l.Paid = in.Result
		return actors.None{}, nil
	})
	unpaid.Handle(func(l *lamp, _ *actors.Turn[lamp], in actors.Failed[tariff]) (actors.None, error) {
		l.Paid = fmt.Sprintf("not, %s after %d", in.Code, in.Attempts)
		return actors.None{}, nil
	})
	bill.Done(paid)
	bill.Failed(unpaid)
}

var hall = lamps.Ref("hall")

// open opens a runtime with lamps whose notes are rows of a table.
func open(t testing.TB) *runtimetest.Runtime {
	t.Helper()
	rt := runtimetest.OpenConfig(t, config())
	err := rt.DB.Write(t.Context(), func(ctx context.Context, tx *sql.Tx) error {
		_, err := tx.ExecContext(ctx, "CREATE TABLE notes (lamp TEXT)")
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return rt
}

func config() runtime.Config {
	return runtime.Config{
		Types: []actors.AnyType{lamps}, Policy: actors.InsecureAllowAll(),
		Actions: []actors.CommitExecutor{sqlite.Action(note, func(ctx context.Context, tx *sql.Tx, c actors.Committing[string]) error {
			_, err := tx.ExecContext(ctx, "INSERT INTO notes VALUES (?)", c.In)
			return err
		})},
	}
}

func lightUp(t testing.TB, rt *runtimetest.Runtime, last time.Duration) {
	t.Helper()
	if _, err := light.Ask(t.Context(), rt, hall, last); err != nil {
		t.Fatal(err)
	}
}

// everywhere runs a test in a bubble and on the real clock.
func everywhere(t *testing.T, test func(t *testing.T)) {
	t.Run("bubble", func(t *testing.T) { synctest.Test(t, test) })
	t.Run("real clock", test)
}

// A reminder rings on time, on either clock, and the lease of an actor that was used before outlives the time between.
func TestTimePasses(t *testing.T) {
	everywhere(t, func(t *testing.T) {
		rt := open(t)
		lightUp(t, rt, 30*time.Minute)
		for _, step := range []struct {
			pass time.Duration
			lit  bool
		}{{29 * time.Minute, true}, {2 * time.Minute, false}} {
			rt.Advance(t, step.pass)
			if l := runtimetest.Snapshot(t, rt, hall); l.Lit != step.lit {
				t.Errorf("%v later: %+v; want lit: %v", step.pass, l, step.lit)
			}
		}
		rt.MailboxEmpty(t, hall)
		rt.NoDeadLetters(t)
	})
}

// What is due within a time happens one after the other, when it is due.
func TestAdvanceStopsAtEveryDueTime(t *testing.T) {
	everywhere(t, func(t *testing.T) {
		type chime struct {
			Rung []time.Time `json:"rung"`
		}
		chimes := actors.Define("chime", func() chime { return chime{} })
		ring, wind := actors.Bare(chimes, "ring"), actors.Bare(chimes, "wind")
		ring.Handle(func(c *chime, t *actors.Turn[chime]) error { c.Rung = append(c.Rung, t.Now()); return nil })
		wind.Handle(func(_ *chime, t *actors.Turn[chime]) error {
			ring.Schedule(t, actors.In(10*time.Minute), actors.Every(10*time.Minute))
			return nil
		})
		rt := runtimetest.Open(t, chimes)
		if err := wind.Ask(t.Context(), rt, chimes.Ref("a")); err != nil {
			t.Fatal(err)
		}
		rt.Advance(t, time.Hour)
		rung := runtimetest.Snapshot(t, rt, chimes.Ref("a")).Rung
		if len(rung) != 6 {
			t.Fatalf("within an hour it rang at %v, want six times", rung)
		}
		for i, at := range rung[1:] {
			if apart := at.Sub(rung[i]); apart < 9*time.Minute || apart > 11*time.Minute {
				t.Errorf("it rang %v after the time before, want ten minutes", apart)
			}
		}
	})
}

func TestAdvanceToNext(t *testing.T) {
	everywhere(t, func(t *testing.T) {
		rt := open(t)
		lightUp(t, rt, 30*time.Minute)
		if alarms := rt.Alarms(t, hall); len(alarms) != 1 || alarms[0].Operation != "dim" {
			t.Fatalf("alarms = %+v, want one to dim", alarms)
		}
		if d := rt.AdvanceToNext(t); d < 29*time.Minute || d > 30*time.Minute || runtimetest.Snapshot(t, rt, hall).Lit {
			t.Errorf("after %v: %+v; want it dark after half an hour", d, runtimetest.Snapshot(t, rt, hall))
		}
		if alarms := rt.Alarms(t, hall); len(alarms) != 0 {
			t.Errorf("alarms = %+v, want none any more", alarms)
		}
		fails(t, "there is no reminder", func(t testing.TB) { rt.AdvanceToNext(t) })
	})
}

// An effect waits for the test as long as that likes, keeps its id over its attempts, and is answered once.
func TestStagedEffects(t *testing.T) {
	everywhere(t, func(t *testing.T) {
		rt := open(t)
		bills := runtimetest.Staged(rt, bill)
		bills.None(t)
		lightUp(t, rt, 30*time.Minute)
		first := bills.One(t)
		if first.In.Cents != 30 || first.Attempt != 1 || first.Type != "lamp" || first.ActorID != "hall" {
			t.Fatalf("the call is %+v", first.EffectCall)
		}
		rt.Advance(t, time.Hour)
		if again := bills.One(t); again.Attempt != 1 {
			t.Fatalf("an hour later it is attempt %d, want the first one still", again.Attempt)
		}
		first.FailOnce(errors.New("no current"))
		bills.None(t)
		rt.Advance(t, 2*time.Second)
		second := bills.One(t)
		if second.ID != first.ID || second.Attempt != 2 {
			t.Fatalf("the second attempt is %d with id %q, want 2 with %q", second.Attempt, second.ID, first.ID)
		}
		fails(t, "answered already", func(t testing.TB) {
			call := bills.One(t)
			call.Succeed("receipt")
			call.Succeed("again")
		})
		if l := runtimetest.Snapshot(t, rt, hall); l.Paid != "receipt" {
			t.Errorf("the lamp heard %q, want the receipt", l.Paid)
		}
		rt.Advance(t, time.Hour)
		bills.None(t)
	})
}

func TestStagedEffectFails(t *testing.T) {
	for _, c := range []struct {
		name, heard string
		err         error
	}{
		{"rejected", "not, no_funds after 1", actors.Reject("no_funds", "not enough money")},
		{"broken", "not, failed after 1", errors.New("no current")},
	} {
		t.Run(c.name, func(t *testing.T) {
			everywhere(t, func(t *testing.T) {
				rt := open(t)
				lightUp(t, rt, time.Hour)
				runtimetest.Staged(rt, bill).One(t).Fail(c.err)
				if l := runtimetest.Snapshot(t, rt, hall); l.Paid != c.heard {
					t.Errorf("the lamp heard %q, want %q", l.Paid, c.heard)
				}
			})
		})
	}
}

func TestStagedEffectsThatAreNotThoseExpected(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		rt := open(t)
		lightUp(t, rt, time.Minute)
		lightUp(t, rt, time.Hour)
		bills := runtimetest.Staged(rt, bill)
		fails(t, `2 calls of effect "bill" wait for their answer, want one`, func(t testing.TB) { bills.One(t) })
		fails(t, `lamp/hall {"cents":60}`, func(t testing.TB) { bills.None(t) })
		fails(t, "is final", func(t testing.TB) { bills.All(t)[0].FailOnce(actors.Reject("no_funds", "")) })
		calls := bills.All(t)
		for i, want := range []int{1, 60} {
			if calls[i].In.Cents != want {
				t.Errorf("call %d is for %d, want %d: they come in order", i, calls[i].In.Cents, want)
			}
		}
	})
}

// What Config.Effects performs is not staged; Drain waits for it on either clock.
func TestEffectsThatArePerformed(t *testing.T) {
	everywhere(t, func(t *testing.T) {
		cfg := config()
		cfg.Actions = []actors.CommitExecutor{sqlite.Action(note, func(context.Context, *sql.Tx, actors.Committing[string]) error { return nil })}
		cfg.Effects = []actors.Executor{bill.By(func(context.Context, actors.EffectCall[tariff]) (string, error) {
			time.Sleep(30 * time.Millisecond)
			return "paid", nil
		})}
		rt := runtimetest.OpenConfig(t, cfg)
		lightUp(t, rt, time.Hour)
		rt.Drain(t)
		if l := runtimetest.Snapshot(t, rt, hall); l.Paid != "paid" {
			t.Errorf("after Drain the lamp has heard %q, want paid", l.Paid)
		}
		fails(t, `effect "bill" is not staged`, func(t testing.TB) { runtimetest.Staged(rt, bill).One(t) })
	})
}

func TestCommitActionsWriteToTheTestsDatabase(t *testing.T) {
	rt := open(t)
	lightUp(t, rt, time.Hour)
	var noted string
	err := rt.DB.Write(t.Context(), func(ctx context.Context, tx *sql.Tx) error {
		return tx.QueryRowContext(ctx, "SELECT lamp FROM notes").Scan(&noted)
	})
	if err != nil || noted != "hall" {
		t.Errorf("noted %q, %v; want hall", noted, err)
	}
}

// Messages of a transaction that nobody announced are drained too.
func TestDrainFindsWhatNobodyAnnounced(t *testing.T) {
	everywhere(t, func(t *testing.T) {
		rt := open(t)
		err := rt.DB.Write(t.Context(), func(ctx context.Context, tx *sql.Tx) error {
			_, err := light.TellTx(ctx, rt, sqlite.Tx(tx), hall, time.Hour)
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		rt.Drain(t)
		if l := runtimetest.Snapshot(t, rt, hall); !l.Lit {
			t.Error("after Drain the lamp is dark")
		}
	})
}

// Retries wait for their time, and a message that is given up is told with its error.
func TestDeadLetters(t *testing.T) {
	everywhere(t, func(t *testing.T) {
		rt := open(t)
		if _, err := spoil.Tell(t.Context(), rt, hall); err != nil {
			t.Fatal(err)
		}
		rt.NoDeadLetters(t)
		if n := rt.Pending(t, hall); n != 1 {
			t.Errorf("%d messages pending, want the one that is tried again", n)
		}
		fails(t, "lamp/hall has 1 unfinished messages", func(t testing.TB) { rt.MailboxEmpty(t, hall) })
		rt.Advance(t, 5*time.Minute)
		if d := rt.DeadLetters(t); len(d) != 1 || d[0].Attempts != 5 || d[0].Operation != "spoil" || d[0].ErrorText != "the bulb burst" {
			t.Errorf("dead letters = %+v", d)
		}
		fails(t, "lamp/hall spoil, after 5 attempts: the bulb burst", rt.NoDeadLetters)
	})
}

// Actors that keep each other busy are stopped and named, where a test would never end otherwise.
func TestDrainEndsWhereNothingComesToRest(t *testing.T) {
	everywhere(t, func(t *testing.T) {
		rt := open(t)
		if _, err := flick.Tell(t.Context(), rt, hall, "stairs"); err != nil {
			t.Fatal(err)
		}
		fails(t, "most turns: lamp.flick 200", rt.Drain)
	})
}

// A test that waits without Drain ends too, and hears of it then.
func TestActorsThatKeepEachOtherBusyWithoutDrain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		fails(t, "the actors keep each other busy", func(t testing.TB) {
			if _, err := flick.Tell(t.Context(), open(t), hall, "stairs"); err != nil {
				t.Fatal(err)
			}
			synctest.Wait()
		})
	})
}

// What cannot go on is named with its actor.
func TestDrainNamesWhatIsStuck(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		let := make(chan bool)
		defer close(let)
		stuck := actors.Define("stuck", func() lamp { return lamp{} })
		hang := actors.Bare(stuck, "hang")
		hang.Handle(func(*lamp, *actors.Turn[lamp]) error { <-let; return nil })
		rt := runtimetest.Open(t, stuck)
		if _, err := hang.Tell(t.Context(), rt, stuck.Ref("a")); err != nil {
			t.Fatal(err)
		}
		fails(t, "1 × running turn\n\tstuck/a: 1 unfinished messages", rt.Drain)
	})
}

func TestOpenConfigTakesThePolicy(t *testing.T) {
	cfg := config()
	cfg.Policy = actors.Policy{}
	rt := runtimetest.OpenConfig(t, cfg)
	if _, err := hall.Snapshot(t.Context(), rt); !errors.Is(err, actors.ErrUnauthorized) {
		t.Errorf("without a policy a read answers %v", err)
	}
	if l := runtimetest.Snapshot(t, rt, hall); l.Lit {
		t.Errorf("what the database has is %+v, want the fresh state", l)
	}
}
