package runtime_test

import (
	"context"
	"errors"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/lockstep-go/lockstep/actors"
	"github.com/lockstep-go/lockstep/runtime"
	"github.com/lockstep-go/lockstep/runtime/store"
)

// diagnosis is a report by names.
func diagnosis(t *testing.T, rt *runtime.Runtime) map[string]runtime.Check {
	t.Helper()
	r, err := rt.Admin().Doctor(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	by := map[string]runtime.Check{}
	for _, c := range r.Checks {
		if _, twice := by[c.Name]; twice {
			t.Errorf("%s is checked twice", c.Name)
		}
		by[c.Name] = c
		if c.Verdict == runtime.Fail && !r.Failed() {
			t.Error("a report with a failed check has not failed")
		}
	}
	if len(by) != 17 {
		t.Errorf("%d checks, want 17: %+v", len(by), r.Checks)
	}
	return by
}

func expectCheck(t *testing.T, by map[string]runtime.Check, name string, v runtime.Verdict, text string) {
	t.Helper()
	if c := by[name]; c.Verdict != v || !strings.Contains(c.Text, text) {
		t.Errorf("%s: %s %q, want %s with %q", name, c.Verdict, c.Text, v, text)
	}
}

func TestDoctorOfAHealthyProcess(t *testing.T) {
	inTime(t, func(t *testing.T) {
		p := definePads(nil)
		db := openShared(t, 1)[0]
		rt := start(t, db, calm(config(p)))
		pass(time.Hour)
		by := diagnosis(t, rt.Runtime)
		for name, c := range by {
			if c.Verdict != runtime.Pass {
				t.Errorf("%s: %s %q", name, c.Verdict, c.Text)
			}
		}
		if left, err := db.Instances(t.Context(), "lockstep:doctor", "", 10); err != nil || len(left) != 0 {
			t.Errorf("its actor is left behind: %+v, %v", left, err)
		}
		if n, err := db.Sweep(t.Context(), 10); err != nil || n != 0 {
			t.Errorf("history is left behind: %d, %v", n, err)
		}
	})
}

// A Doctor that was killed in the middle leaves its actor, which the next one removes.
func TestDoctorRemovesWhatAnotherLeft(t *testing.T) {
	inTime(t, func(t *testing.T) {
		p := definePads(nil)
		db := openStore(t)
		broken := &faults{Store: db}
		killed := idle(t, broken, config(p))
		broken.set(onceFor(commits, errBefore), nil)
		expectCheck(t, diagnosis(t, killed), "round trip", runtime.Fail, "commit a turn: the disk is on fire")
		e := &store.Enqueue{Message: store.Message{
			ID: noLetter, Type: "lockstep:doctor", ActorID: "left", Operation: "probe", Arguments: []byte("{}"), MaxAttempts: 1,
		}}
		if err := db.Flush(t.Context(), &store.Flush{Enqueues: []*store.Enqueue{e}}); err != nil {
			t.Fatal(err)
		}
		left := func() int {
			list, err := db.Instances(t.Context(), "lockstep:doctor", "", 10)
			if err != nil {
				t.Fatal(err)
			}
			return len(list)
		}
		rt := idle(t, db, config(p))
		expectCheck(t, diagnosis(t, rt), "round trip", runtime.Pass, "committed")
		if left() != 1 {
			t.Error("what may be another's, at work now, was removed")
		}
		pass(2 * time.Minute)
		diagnosis(t, rt)
		if n := left(); n != 0 {
			t.Errorf("%d are left", n)
		}
	})
}

// Every check can say that something is wrong.
func TestDoctorFindsWhatIsWrong(t *testing.T) {
	inTime(t, func(t *testing.T) {
		var mended atomic.Bool
		p := mendable(&mended)
		db := openStore(t)
		cfg := config(p)
		cfg.Policy.Query, cfg.MessageRetention = nil, -1
		rt := idle(t, db, cfg)
		by := diagnosis(t, rt)
		expectCheck(t, by, "policy", runtime.Info, "Query")
		expectCheck(t, by, "retention", runtime.Info, "for ever")
		if weakness := here(t).weakness; weakness != "" {
			expectCheck(t, by, "durability", runtime.Warn, weakness)
		}
		expectCheck(t, by, "workers", runtime.Warn, "no process runs")
		expectCheck(t, diagnosis(t, idle(t, db, config())), "configuration", runtime.Warn, "no actor types")

		p.tell(t, rt, "a", "bad")
		pass(2 * time.Minute)
		by = diagnosis(t, rt)
		expectCheck(t, by, "backlog", runtime.Warn, "2m0s")
		expectCheck(t, by, "stale", runtime.Warn, "2m0s") // the other one above
		expectCheck(t, by, "process", runtime.Pass, "")   // it does not run, so nobody expects a heartbeat

		db.Offset(time.Hour)
		expectCheck(t, diagnosis(t, rt), "clock", runtime.Warn, "the database is 1h0m0")
		db.Offset(-time.Hour)
		expectCheck(t, diagnosis(t, rt), "clock", runtime.Warn, "behind this host")
		db.Offset(0)

		worker := start(t, db, config(p))
		settle()
		by = diagnosis(t, rt)
		expectCheck(t, by, "dead letters", runtime.Warn, "1 were not")
		expectCheck(t, by, "backlog", runtime.Pass, "")
		expectCheck(t, by, "workers", runtime.Pass, "1 alive")
		expectCheck(t, by, "builds", runtime.Pass, "")
		more := definePads(nil)
		actors.Shared(more.Type, "news", pad.count)
		idle(t, db, config(more))
		expectCheck(t, diagnosis(t, rt), "builds", runtime.Warn, "2 different sets of actor types")
		if err := worker.end(); err != nil {
			t.Fatal(err)
		}
	})
}

func TestDoctorWarnsOfLateOutboxes(t *testing.T) {
	inTime(t, func(t *testing.T) {
		var p *pads
		p = definePads(func(turn *actors.Turn[pad], _ *pad, line string) error {
			if line == "send" {
				p.write.Send(turn, p.Ref("b"), "sent")
				p.write.Schedule(turn, actors.In(time.Minute), "reminded")
			}
			return nil
		})
		rt := idle(t, openStore(t), config(p)) // nobody delivers
		p.ask(t, rt, "a", "send")
		expectCheck(t, diagnosis(t, rt), "outboxes", runtime.Pass, "")
		pass(5 * time.Minute)
		by := diagnosis(t, rt)
		expectCheck(t, by, "outboxes", runtime.Warn, "a reminder for 4m0s, a message between actors for 5m0s")
		expectCheck(t, by, "process", runtime.Pass, "")
	})
}

// sick is a store in which verbs fail.
type sick struct {
	store.Store
	now, due, beat atomic.Bool
}

var errSick = errors.New("connection refused")

func (s *sick) Now(ctx context.Context) (time.Time, error) {
	if s.now.Load() {
		return time.Time{}, errSick
	}
	return s.Store.Now(ctx)
}

func (s *sick) Due(ctx context.Context, types, effects []string) (store.Due, error) {
	if s.due.Load() {
		return store.Due{}, errSick
	}
	return s.Store.Due(ctx, types, effects)
}

func (s *sick) Beat(ctx context.Context, id, state string) (store.Outcome, error) {
	if s.beat.Load() {
		return "", errSick
	}
	return s.Store.Beat(ctx, id, state)
}

func TestDoctorOfASickDatabase(t *testing.T) {
	inTime(t, func(t *testing.T) {
		p := definePads(nil)
		db := &sick{Store: openStore(t)}
		rt := idle(t, db, config(p))
		by := diagnosis(t, rt)
		expectCheck(t, by, "write", runtime.Pass, "at most")
		db.beat.Store(true)
		expectCheck(t, diagnosis(t, rt), "write", runtime.Fail, "connection refused")
		db.due.Store(true)
		by = diagnosis(t, rt)
		expectCheck(t, by, "database", runtime.Pass, "answers")
		expectCheck(t, by, "schema", runtime.Fail, "connection refused")
		db.now.Store(true)
		by = diagnosis(t, rt)
		expectCheck(t, by, "database", runtime.Fail, "connection refused")
		expectCheck(t, by, "write", runtime.Skip, "could not be read")
		db.now.Store(false)
		db.due.Store(false)
		db.beat.Store(false)
		if _, err := db.Leave(t.Context(), rt.ProcessID()); err != nil {
			t.Fatal(err)
		}
		by = diagnosis(t, rt)
		expectCheck(t, by, "process", runtime.Fail, "marked stopped")
		expectCheck(t, by, "write", runtime.Skip, "no row")
	})
}

func TestAdminStatus(t *testing.T) {
	inTime(t, func(t *testing.T) {
		p := definePads(nil)
		db := openStore(t)
		rt := idle(t, db, config(p))
		p.tell(t, rt, "a", "now")
		p.tell(t, rt, "a", "next")
		p.tell(t, rt, "later", "later", actors.Available(actors.In(time.Hour)))
		pass(10 * time.Second)
		s, err := rt.Admin().Status(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if s.Database != db.Dialect() || s.Now.Sub(time.Now()) > slack(t) || s.Retention.MessageSeconds != 30*24*3600 {
			t.Errorf("%+v", s)
		}
		if age := s.Now.Sub(s.Waiting.Ready); age < 10*time.Second-slack(t) || !s.Waiting.Effects.IsZero() {
			t.Errorf("it waits for %v: %+v", age, s.Waiting)
		}
		if s.Counts.Ready != 1 || s.Counts.Queued != 1 || s.Counts.Delayed != 1 {
			t.Errorf("counts %+v", s.Counts)
		}
		if existed, err := p.Ref("a").Destroy(t.Context(), rt); !existed || err != nil {
			t.Fatal(existed, err)
		}
		s, err = rt.Admin().Status(t.Context())
		if err != nil || !s.Waiting.Ready.IsZero() {
			t.Errorf("nothing is due, and it waits since %v, %v", s.Waiting.Ready, err)
		}
	})
}

func TestAdminProcesses(t *testing.T) {
	inTime(t, func(t *testing.T) {
		p := definePads(nil)
		db := openStore(t)
		worker, sleeper, gone := start(t, db, config(p)), idle(t, db, config(p)), idle(t, db, config(p))
		if err := gone.Close(); err != nil {
			t.Fatal(err)
		}
		pass(10 * time.Minute)
		rt := idle(t, db, config(p))
		list, err := rt.Admin().Processes(t.Context())
		if err != nil || len(list) != 4 {
			t.Fatalf("%d processes, %v", len(list), err)
		}
		type state struct {
			state string
			stale bool
		}
		asleep := state{"stopped", false} // it beats no longer, and was found dead
		if here(t).locks {
			asleep = state{"running", true}
		}
		for _, p := range list {
			if p.PID == 0 || p.Types == "" || p.StartedAt.IsZero() {
				t.Errorf("incomplete: %+v", p)
			}
			if p.Types != list[0].Types {
				t.Errorf("one program has the fingerprints %s and %s", p.Types, list[0].Types)
			}
			if p.Self != (p.ID == rt.ProcessID()) {
				t.Errorf("self of %+v", p)
			}
			want := map[string]state{worker.ProcessID(): {"running", false}, sleeper.ProcessID(): asleep, gone.ProcessID(): {"stopped", false}, rt.ProcessID(): {"running", false}}[p.ID]
			if p.State != want.state || p.Stale != want.stale {
				t.Errorf("%s, stale %v; want %+v", p.State, p.Stale, want)
			}
			if (p.Beaten() > time.Minute) != (p.ID == sleeper.ProcessID() || p.ID == gone.ProcessID()) {
				t.Errorf("%s beat %v ago", p.ID, p.Beaten())
			}
		}
	})
}
