package runtime_test

import (
	"context"
	"database/sql"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/lockstep-go/lockstep/actors"
	"github.com/lockstep-go/lockstep/runtime"
	"github.com/lockstep-go/lockstep/runtime/bus"
	"github.com/lockstep-go/lockstep/runtime/store"
	"github.com/lockstep-go/lockstep/runtime/store/sqlite"
)

// bell is an actor with everything that can become due.
type bell struct {
	Rung []time.Time `json:"rung"`
	Done int         `json:"done"`
}

type bells struct {
	*actors.Type[bell]
	set   *actors.MessageType[bell, time.Duration, actors.None]
	ring  *actors.BareType[bell]
	strut *actors.MessageType[bell, string, actors.None]
	work  *actors.EffectType[bell, string, string]
	cfg   runtime.Config
	fails *atomic.Int64 // how often the effect fails
}

func defineBells() *bells {
	typ := actors.Define("bell", func() bell { return bell{} })
	b := &bells{Type: typ, fails: &atomic.Int64{}}
	b.set = actors.Message[time.Duration, actors.None](typ, "set")
	b.ring = actors.Bare(typ, "ring")
	b.strut = actors.Message[string, actors.None](typ, "strut")
	b.work = actors.Effect[string, string](typ, "work")
	done := actors.Message[actors.Done[string, string], actors.None](typ, "done")
	b.set.Handle(func(s *bell, t *actors.Turn[bell], in time.Duration) (actors.None, error) {
		b.ring.Schedule(t, actors.In(in))
		b.work.Emit(t, "x")
		b.strut.Send(t, b.Ref("other"), "x")
		return actors.None{}, nil
	})
	b.ring.Handle(func(s *bell, t *actors.Turn[bell]) error {
		s.Rung = append(s.Rung, t.Now())
		return nil
	})
	b.strut.Handle(func(s *bell, _ *actors.Turn[bell], _ string) (actors.None, error) { return actors.None{}, nil })
	done.Handle(func(s *bell, _ *actors.Turn[bell], _ actors.Done[string, string]) (actors.None, error) {
		s.Done++
		return actors.None{}, nil
	})
	b.work.Done(done)
	b.cfg = config(typ)
	b.cfg.SingleOwner = true
	b.cfg.Effects = []actors.Executor{b.work.By(func(context.Context, actors.EffectCall[string]) (string, error) {
		if b.fails.Add(-1) >= 0 {
			return "", fmt.Errorf("not now")
		}
		return "y", nil
	})}
	return b
}

func (b *bells) state(t *testing.T, rt *runtime.Runtime, id string) bell {
	t.Helper()
	s, err := b.Ref(id).Snapshot(t.Context(), rt)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// Inventory 267: a process that has the database to itself asks it nothing while it has nothing to do, whatever it did
// before; and what is due then is done at its time: a reminder, a retried effect, a delayed message.
func TestSingleOwnerIsSilentWhenIdle(t *testing.T) {
	inTimeOn(t, inSQLite, func(t *testing.T) {
		b := defineBells()
		db := openStore(t)
		rt := start(t, db, b.cfg)
		b.fails.Store(3)
		if _, err := b.set.Ask(t.Context(), rt, b.Ref("a"), 90*time.Minute); err != nil {
			t.Fatal(err)
		}
		begun := time.Now()
		if _, err := b.strut.Tell(t.Context(), rt, b.Ref("a"), "x", actors.Available(actors.In(80*time.Minute))); err != nil {
			t.Fatal(err)
		}
		pass(10 * time.Minute)
		if s := b.state(t, rt.Runtime, "a"); s.Done != 0 {
			t.Fatal("the outcome did not wait behind the delayed message")
		}
		before := db.Stats()
		pass(time.Hour)
		if after := db.Stats(); after != before {
			t.Errorf("an idle hour cost %d statements and %d commits, want none", after.Statements-before.Statements, after.Commits-before.Commits)
		}
		pass(25 * time.Minute)
		s := b.state(t, rt.Runtime, "a")
		if s.Done != 1 || len(s.Rung) != 1 {
			t.Fatalf("after everything was due: %+v", s)
		}
		if late := s.Rung[0].Sub(begun) - 90*time.Minute; late < 0 || late > 50*time.Millisecond {
			t.Errorf("the reminder fired %v late", late)
		}
		pass(5 * time.Minute)
		before = db.Stats()
		pass(23 * time.Hour)
		if after := db.Stats(); after != before {
			t.Errorf("an idle day cost %d statements, want none", after.Statements-before.Statements)
		}
		begun = time.Now()
		if _, err := b.strut.Ask(t.Context(), rt, b.Ref("a"), "x"); err != nil {
			t.Fatal(err)
		}
		if took := time.Since(begun); took > 100*time.Millisecond {
			t.Errorf("a call after a silent day took %v", took)
		}
	})
}

// Inventory 268: while a process has the database to itself, no other one is opened, and it is not opened beside
// another; the operating system's lock tells who lives.
func TestSingleOwnerRefusesOthers(t *testing.T) {
	stores := openShared(t, 4)
	b := defineBells()
	shared := b.cfg
	shared.SingleOwner = false
	owner, err := runtime.Open(t.Context(), stores[0], b.cfg)
	if err != nil {
		t.Fatal(err)
	}
	for name, cfg := range map[string]runtime.Config{"another owner": b.cfg, "one that shares": shared} {
		for _, at := range stores[:2] { // in the same process, and as another would
			_, err := runtime.Open(t.Context(), at, cfg)
			if e := as[*runtime.NotAlone](t, err); !e.Owner || e.Process != owner.ProcessID() || e.PID == 0 {
				t.Errorf("%s was refused with %+v", name, e)
			}
		}
	}
	if _, err := owner.AskCall(t.Context(), actors.Call{Type: "bell", ID: "a", Operation: "ring", Arguments: []byte("null")}); err != nil {
		t.Errorf("the owner after that: %v", err)
	}
	if err := stores[0].Close(); err != nil { // its process dies: nobody says goodbye
		t.Fatal(err)
	}
	one, err := runtime.Open(t.Context(), stores[2], shared)
	if err != nil {
		t.Fatalf("after the owner's death: %v", err)
	}
	_, err = runtime.Open(t.Context(), stores[3], b.cfg)
	if e := as[*runtime.NotAlone](t, err); e.Owner {
		t.Errorf("refused with %+v", e)
	}
	if err := one.Close(); err != nil {
		t.Fatal(err)
	}
	owner, err = runtime.Open(t.Context(), stores[3], b.cfg)
	if err != nil {
		t.Fatalf("after the other was closed: %v", err)
	}
	if err := owner.Close(); err != nil {
		t.Fatal(err)
	}
	b.cfg.Bus = &bus.InProcess{}
	if _, err := runtime.Open(t.Context(), stores[3], b.cfg); err == nil {
		t.Error("an owner with a bus was opened")
	}
}

// Inventory 270: after the machine slept, or its clock was set, what has become due is done within 10 s, and looking at
// the clock asks the database nothing.
func TestSingleOwnerFindsThatTheClockJumped(t *testing.T) {
	inTimeOn(t, inSQLite, func(t *testing.T) {
		b := defineBells()
		db := openStore(t)
		var slept atomic.Int64
		rt := idle(t, db, b.cfg)
		rt.SetWall(func() time.Time { return time.Now().Add(time.Duration(slept.Load())) })
		run(t, rt)
		if _, err := b.set.Ask(t.Context(), rt, b.Ref("a"), 8*time.Hour); err != nil {
			t.Fatal(err)
		}
		pass(10 * time.Minute)
		before := db.Stats()
		pass(10 * time.Minute)
		if after := db.Stats(); after != before {
			t.Errorf("watching the clock cost %d statements", after.Statements-before.Statements)
		}
		db.Offset(9 * time.Hour) // SQLite's clock is the host's
		slept.Store(int64(9 * time.Hour))
		pass(10*time.Second + 100*time.Millisecond)
		if s := b.state(t, rt, "a"); len(s.Rung) != 1 {
			t.Error("10 s after a sleep of nine hours the reminder has not fired")
		}
	})
}

// A message that an application's transaction stores is found soon after the commit, though nobody announced it.
func TestSingleOwnerFindsWhatTellTxStored(t *testing.T) {
	inTimeOn(t, inSQLite, func(t *testing.T) {
		b := defineBells()
		db := openStore(t).(*sqlite.Store)
		rt := start(t, db, b.cfg)
		pass(10 * time.Minute)
		err := db.Write(t.Context(), func(ctx context.Context, tx *sql.Tx) error {
			_, err := b.ring.TellTx(ctx, rt, sqlite.Tx(tx), b.Ref("a"))
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		pass(2 * time.Second)
		if s := b.state(t, rt.Runtime, "a"); len(s.Rung) != 1 {
			t.Error("it was not found within 2 s")
		}
		pass(5 * time.Minute)
		before := db.Stats()
		pass(time.Hour)
		if after := db.Stats(); after != before {
			t.Errorf("the hour after cost %d statements", after.Statements-before.Statements)
		}
	})
}

// stuck is a store on which something is due that cannot be taken.
type stuck struct {
	store.Store
	polls atomic.Int64
	due   atomic.Bool
}

func (s *stuck) Due(ctx context.Context, types, effects []string) (store.Due, error) {
	d, err := s.Store.Due(ctx, types, effects)
	s.polls.Add(1)
	if s.due.Load() {
		d.Messages = d.Now
	}
	return d, err
}

// Inventory 269: work that cannot be taken is tried again after 1 ms, doubling to the polling interval.
func TestSingleOwnerTriesStuckWorkAgain(t *testing.T) {
	inTimeOn(t, inSQLite, func(t *testing.T) {
		b := defineBells()
		db := &stuck{Store: openStore(t)}
		rt := start(t, db, b.cfg)
		pass(10 * time.Minute)
		db.due.Store(true)
		before := db.polls.Load()
		if _, err := b.strut.Ask(t.Context(), rt, b.Ref("a"), "x"); err != nil {
			t.Fatal(err)
		}
		pass(time.Second)
		if n := db.polls.Load() - before; n < 8 || n > 12 {
			t.Errorf("%d polls in the first second, want about ten", n)
		}
		before = db.polls.Load()
		pass(time.Minute)
		if n := db.polls.Load() - before; n < 55 || n > 70 {
			t.Errorf("%d polls in a minute, want about one a second", n)
		}
	})
}
