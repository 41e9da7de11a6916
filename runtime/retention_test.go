package runtime_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/lockstep-go/lockstep/actors"
	"github.com/lockstep-go/lockstep/runtime"
	"github.com/lockstep-go/lockstep/runtime/store"
)

// ledgers is a second actor type, beside pads.
type ledger struct {
	N int `json:"n"`
}

type ledgers struct {
	*actors.Type[ledger]
	add *actors.MessageType[ledger, int, int]
}

func defineLedgers() *ledgers {
	typ := actors.Define("ledger", func() ledger { return ledger{} })
	l := &ledgers{typ, actors.Message[int, int](typ, "add")}
	l.add.Handle(func(s *ledger, _ *actors.Turn[ledger], n int) (int, error) {
		s.N += n
		return s.N, nil
	})
	return l
}

func (l *ledgers) tell(t *testing.T, rt *runtime.Runtime, id string) actors.MessageRef {
	t.Helper()
	m, err := l.add.Tell(t.Context(), rt, l.Ref(id), 1)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func there(t *testing.T, db store.Store, id string) bool {
	t.Helper()
	_, _, o, err := db.Message(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	return o == store.Done
}

// G34: what Retention says of a type holds for it alone: longer, shorter and for ever.
func TestG34MessagesAreKeptByType(t *testing.T) {
	inTime(t, func(t *testing.T) {
		for _, c := range []struct {
			name               string
			others, ledgers    time.Duration
			pad, ledger, later bool // there after 5 min; the ledger's after 100
		}{
			{"shorter", 50 * time.Minute, 2 * time.Minute, true, false, false},
			{"longer", 2 * time.Minute, 50 * time.Minute, false, true, false},
			{"for ever", 2 * time.Minute, runtime.Forever, false, true, true},
			{"only this", runtime.Forever, 2 * time.Minute, true, false, false},
			{"as the others", 2 * time.Minute, 0, false, false, false},
		} {
			p, l := definePads(nil), defineLedgers()
			db := openStore(t)
			cfg := calm(config(p, l))
			cfg.MessageRetention = c.others
			cfg.Retention = map[string]runtime.Retention{"ledger": {Messages: c.ledgers}}
			cfg.RetentionBatch, cfg.RetentionEvery = 3, time.Minute
			rt := start(t, db, cfg)
			pads, kept := p.tell(t, rt.Runtime, "a", "x"), l.tell(t, rt.Runtime, "a")
			for i := range 10 { // a page of what stays does not end the pass
				l.tell(t, rt.Runtime, fmt.Sprint(i))
			}
			last := p.tell(t, rt.Runtime, "b", "y")
			pass(5 * time.Minute)
			if got := there(t, db, pads.ID); got != c.pad || there(t, db, last.ID) != c.pad {
				t.Errorf("%s: the pad's message is there: %v", c.name, got)
			}
			if got := there(t, db, kept.ID); got != c.ledger {
				t.Errorf("%s: the ledger's message is there: %v", c.name, got)
			}
			pass(100 * time.Minute)
			if got := there(t, db, kept.ID); got != c.later {
				t.Errorf("%s: later the ledger's message is there: %v", c.name, got)
			}
			if err := rt.end(); err != nil {
				t.Error(err)
			}
		}
	})
}

// G34: actors expire only where that is asked for, and only those that nothing keeps; the next use begins afresh.
func TestG34ActorsExpireWhereAskedFor(t *testing.T) {
	inTime(t, func(t *testing.T) {
		p, l := definePads(nil), defineLedgers()
		db := openStore(t)
		cfg := calm(config(p, l))
		cfg.Retention = map[string]runtime.Retention{"ledger": {Actors: 24 * time.Hour}}
		var expired []string
		cfg.Events = func(_ context.Context, e runtime.Event) {
			if e.Name == runtime.ActorExpired {
				expired = append(expired, e.Type+"/"+e.ActorID)
			}
		}
		rt := start(t, db, cfg)
		p.ask(t, rt.Runtime, "a", "stays")
		for i := range 250 {
			l.tell(t, rt.Runtime, fmt.Sprintf("%03d", i))
		}
		l.tell(t, rt.Runtime, "paused")
		l.tell(t, rt.Runtime, "used")
		settle()
		pause(t, db, "ledger", "paused", true)
		waiting, err := l.add.Tell(t.Context(), rt, l.Ref("waiting"), 1, actors.Available(actors.In(1000*time.Hour)))
		if err != nil {
			t.Fatal(err)
		}
		pass(12 * time.Hour)
		l.tell(t, rt.Runtime, "used")
		pass(14 * time.Hour)
		slices.Sort(expired)
		if len(expired) != 250 || expired[0] != "ledger/000" || expired[249] != "ledger/249" {
			t.Errorf("%d expired: %q…", len(expired), expired[:min(len(expired), 3)])
		}
		p.expect(t, rt.Runtime, "a", "stays")
		if s, err := rt.Admin().Status(t.Context()); err != nil || s.Retention.Actors != 250 || s.Retention.Failures != 0 || s.Retention.Passes < 24 {
			t.Errorf("%+v, %v", s.Retention, err)
		}
		if got, err := l.add.Ask(t.Context(), rt, l.Ref("used"), 1); got != 3 || err != nil {
			t.Errorf("the one in use has %d, %v", got, err)
		}
		if got, err := l.add.Ask(t.Context(), rt, l.Ref("000"), 1); got != 1 || err != nil {
			t.Errorf("an expired one goes on with %d, %v", got, err)
		}
		if !there(t, db, waiting.ID) {
			t.Error("an actor with a message that waits expired")
		}
	})
}

// slowStore fails batches above a size, as a statement timeout does.
type slowStore struct {
	store.Store
	most   atomic.Int64 // 0: none
	refuse atomic.Bool
	asked  atomic.Int64
}

func (s *slowStore) Forget(ctx context.Context, ids []string) (int, error) {
	s.asked.Add(1)
	if most := s.most.Load(); s.refuse.Load() || most > 0 && int64(len(ids)) > most {
		return 0, fmt.Errorf("forget history: %w: canceling statement due to statement timeout", store.ErrTransient)
	}
	return s.Store.Forget(ctx, ids)
}

// D56, G34: a batch that runs into a timeout is taken again smaller, so that a pass always gets on.
func TestD56BatchesShrinkAfterATimeout(t *testing.T) {
	inTime(t, func(t *testing.T) {
		l := defineLedgers()
		db := &slowStore{Store: openStore(t)}
		db.most.Store(90)
		cfg := calm(config(l))
		cfg.MessageRetention = 2 * time.Hour
		rt := start(t, db, cfg)
		var last actors.MessageRef
		for i := range 1500 {
			last = l.tell(t, rt.Runtime, fmt.Sprint(i%10))
		}
		settle()
		pass(4 * time.Hour)
		if there(t, db, last.ID) {
			t.Error("it did not come to the last one")
		}
		if s, err := rt.Admin().Status(t.Context()); err != nil || s.Retention.Messages != 1500 || s.Retention.Failures != 0 {
			t.Errorf("%+v, %v", s.Retention, err)
		}
	})
}

// D56, G34: passes that fail are counted, come later and later, and are made up for; what is overdue shows from every
// process.
func TestD56FailuresOfRetentionShow(t *testing.T) {
	inTime(t, func(t *testing.T) {
		l := defineLedgers()
		db := &slowStore{Store: openStore(t)}
		db.refuse.Store(true)
		cfg := calm(config(l))
		cfg.MessageRetention = 2 * time.Hour
		rt := start(t, db, cfg)
		m := l.tell(t, rt.Runtime, "a")
		pass(8 * time.Hour)
		s, err := rt.Admin().Status(t.Context())
		if err != nil || s.Retention.Failures < 10 || s.Retention.Failures > 30 {
			t.Errorf("%+v, %v", s.Retention, err)
		}
		if late := s.Now.Sub(s.Retention.OverdueSince); late < 5*time.Hour || late > 7*time.Hour {
			t.Errorf("overdue for %v", late)
		}
		expectCheck(t, diagnosis(t, idle(t, db.Store, cfg)), "history", runtime.Warn, "should have been deleted for 6h")
		if asked := db.asked.Load(); asked > 200 {
			t.Errorf("it tried %d times", asked)
		}
		db.refuse.Store(false)
		pass(2 * time.Hour)
		if there(t, db, m.ID) {
			t.Error("it is still there")
		}
		if s, err = rt.Admin().Status(t.Context()); err != nil || !s.Retention.OverdueSince.IsZero() || s.Retention.Passes == 0 {
			t.Errorf("%+v, %v", s.Retention, err)
		}
	})
}

// G34, D56: a preview deletes nothing and says what an execution deletes, by type and in batches; live work and dead
// letters stay.
func TestD56AdminPrune(t *testing.T) {
	inTime(t, func(t *testing.T) {
		var mended atomic.Bool
		p, l := mendable(&mended), defineLedgers()
		db := openStore(t)
		cfg := calm(config(p, l))
		cfg.RetentionEvery = runtime.Forever
		rt := start(t, db, cfg)
		for i := range 2500 {
			p.tell(t, rt.Runtime, fmt.Sprint(i%5), "x")
		}
		for range 100 {
			l.tell(t, rt.Runtime, "a")
		}
		letter := p.tell(t, rt.Runtime, "dead", "bad")
		pass(time.Second)
		waiting := p.tell(t, rt.Runtime, "later", "y", actors.Available(actors.In(100*time.Hour)))
		pass(3 * time.Hour)
		young := p.tell(t, rt.Runtime, "young", "z")
		pass(time.Second)
		admin := rt.Admin()
		prune := func(o runtime.PruneOptions, n int, more bool, types ...string) {
			t.Helper()
			got, err := admin.Prune(t.Context(), o)
			if err != nil || got.Count != n || got.More != more || got.Executed != o.Execute || got.What != runtime.PruneMessages {
				t.Errorf("%+v: %+v, %v; want %d, more %v", o, got, err, n, more)
			}
			var names []string
			for _, x := range got.Types {
				names = append(names, fmt.Sprint(x.Type, " ", x.Count))
				if age := time.Since(x.Before); age < o.Age-slack(t) || age > o.Age+time.Minute {
					t.Errorf("%+v: before an age of %v", o, age)
				}
			}
			if !slices.Equal(names, types) {
				t.Errorf("%+v: of the types %q, want %q", o, names, types)
			}
		}
		hour := 2 * time.Hour
		prune(runtime.PruneOptions{}, 0, false) // nothing is 30 days old
		for range 2 {
			prune(runtime.PruneOptions{Age: hour}, 2600, false, "ledger 100", "pad 2500")
		}
		prune(runtime.PruneOptions{Age: hour, Limit: 100}, 100, true, "pad 100")
		prune(runtime.PruneOptions{Age: hour, Type: "ledger"}, 100, false, "ledger 100")
		prune(runtime.PruneOptions{Age: hour, Limit: 1200, Execute: true}, 1200, true, "pad 1200")
		prune(runtime.PruneOptions{Age: hour, Type: "ledger", Execute: true}, 100, false, "ledger 100")
		prune(runtime.PruneOptions{Age: hour, Execute: true}, 1300, false, "pad 1300")
		prune(runtime.PruneOptions{Age: hour, Execute: true}, 0, false)
		for what, id := range map[string]string{"dead": letter.ID, "waiting": waiting.ID, "young": young.ID} {
			if !there(t, db, id) {
				t.Errorf("the %s message is gone", what)
			}
		}
		for _, o := range []runtime.PruneOptions{
			{Age: 5 * time.Second}, {Age: -hour}, {Limit: -1}, {Limit: runtime.MaxPrune + 1}, {What: "everything"},
			{What: runtime.PruneActors, Age: hour},
		} {
			_, err := admin.Prune(t.Context(), o)
			as[*runtime.OutOfRange](t, err)
		}
		_, err := admin.Prune(t.Context(), runtime.PruneOptions{Type: "pat"})
		as[*actors.UnknownType](t, err)
		cfg.MessageRetention = runtime.Forever
		for _, what := range []runtime.Prunable{runtime.PruneMessages, runtime.PruneActors} {
			if _, err := idle(t, db, cfg).Admin().Prune(t.Context(), runtime.PruneOptions{What: what, Execute: true}); err == nil {
				t.Errorf("a program that keeps %s for ever pruned them unasked", what)
			}
		}
	})
}

// G34: by hand, too, a preview comes first; actors of a type go by an age that is given, processes by when they stopped.
func TestG34AdminPruneActorsAndProcesses(t *testing.T) {
	inTime(t, func(t *testing.T) {
		p, l := definePads(nil), defineLedgers()
		db := openStore(t)
		rt := start(t, db, calm(config(p, l)))
		for i := range 30 {
			l.tell(t, rt.Runtime, fmt.Sprint(i))
			p.tell(t, rt.Runtime, fmt.Sprint(i), "x")
		}
		stopped := idle(t, db, config(p, l))
		if err := stopped.Close(); err != nil {
			t.Fatal(err)
		}
		pass(30 * time.Hour)
		prune := func(o runtime.PruneOptions, n int) {
			t.Helper()
			got, err := rt.Admin().Prune(t.Context(), o)
			if err != nil || got.Count != n || got.What != o.What {
				t.Errorf("%+v: %+v, %v; want %d", o, got, err, n)
			}
		}
		day := 24 * time.Hour
		for _, execute := range []bool{false, true} {
			prune(runtime.PruneOptions{What: runtime.PruneActors, Type: "ledger", Age: 2 * day, Execute: execute}, 0)
			prune(runtime.PruneOptions{What: runtime.PruneActors, Type: "ledger", Age: day, Execute: execute}, 30)
			prune(runtime.PruneOptions{What: runtime.PruneProcesses, Execute: execute}, 0)
			prune(runtime.PruneOptions{What: runtime.PruneProcesses, Age: day, Execute: execute}, 1)
		}
		prune(runtime.PruneOptions{What: runtime.PruneActors, Type: "ledger", Age: day}, 0)
		prune(runtime.PruneOptions{What: runtime.PruneProcesses, Age: day}, 0)
		prune(runtime.PruneOptions{What: runtime.PruneActors, Type: "pad", Age: day}, 30)
	})
}

// Every mistake of Retention is said when the program starts.
func TestRetentionIsChecked(t *testing.T) {
	onEach(t, func(t *testing.T) {
		p := definePads(nil)
		for _, r := range []map[string]runtime.Retention{
			{"pat": {}}, {"pad": {Messages: time.Second}}, {"pad": {Actors: time.Second}},
		} {
			cfg := config(p)
			cfg.Retention = r
			if _, err := runtime.Open(t.Context(), openStore(t), cfg); err == nil {
				t.Errorf("%v is accepted", r)
			}
		}
		cfg := config(p)
		cfg.Retention = map[string]runtime.Retention{"pad": {Messages: runtime.Forever, Actors: runtime.Forever}}
		idle(t, openStore(t), cfg)
	})
}

// Reconciliation: a sweep finds actors that lost their alarm, that have no owner, and owners that have no actor.
func TestAdminWalksOverActors(t *testing.T) {
	inTime(t, func(t *testing.T) {
		p := definePads(func(u *actors.Turn[pad], _ *pad, line string) error { return nil })
		db := openStore(t)
		cfg := calm(config(p))
		cfg.Idle = -1
		rt := start(t, db, cfg)
		for i := range 25 {
			p.tell(t, rt.Runtime, fmt.Sprintf("%02d", i), "x")
		}
		pass(2 * time.Hour)
		p.tell(t, rt.Runtime, "03", "later", actors.Available(actors.In(time.Hour)))
		p.tell(t, rt.Runtime, "04", "now")
		pause(t, db, "pad", "05", true)
		settle()
		admin := rt.Admin()
		walk := func(step func(runtime.Walk) (runtime.Actors, error)) (ids []string) {
			t.Helper()
			w := runtime.Walk{Type: "pad", Limit: 10}
			for {
				s, err := step(w)
				if err != nil {
					t.Fatal(err)
				}
				for _, a := range s.Actors {
					ids = append(ids, a.ID)
				}
				if w.After = s.Next; w.After == "" {
					return ids
				}
			}
		}
		if got := walk(func(w runtime.Walk) (runtime.Actors, error) { return admin.Actors(t.Context(), w) }); len(got) != 25 || !slices.IsSorted(got) {
			t.Errorf("all: %q", got)
		}
		if got := walk(func(w runtime.Walk) (runtime.Actors, error) { return admin.Active(t.Context(), w) }); !slices.Equal(got, []string{"03"}) {
			t.Errorf("active: %q", got)
		}
		quiet := walk(func(w runtime.Walk) (runtime.Actors, error) {
			return admin.WithoutPendingWork(t.Context(), w, time.Hour)
		})
		if len(quiet) != 22 || slices.Contains(quiet, "03") || slices.Contains(quiet, "04") || slices.Contains(quiet, "05") {
			t.Errorf("quiet: %q", quiet)
		}
		asked := 0
		orphans := walk(func(w runtime.Walk) (runtime.Actors, error) {
			return admin.Orphaned(t.Context(), w, func(_ context.Context, ids []string) ([]string, error) {
				asked++
				return slices.DeleteFunc(slices.Clone(ids), func(id string) bool { return id == "07" || id == "24" }), nil
			})
		})
		if !slices.Equal(orphans, []string{"07", "24"}) || asked != 3 {
			t.Errorf("orphans: %q, after %d questions", orphans, asked)
		}
		broken := errors.New("no table")
		_, err := admin.Orphaned(t.Context(), runtime.Walk{Type: "pad"}, func(context.Context, []string) ([]string, error) { return nil, broken })
		expectIs(t, "the application's error", err, broken)
		states, err := admin.StatesFor(t.Context(), "pad", []string{"00", "nobody", "05"})
		if err != nil || len(states) != 2 || string(states["00"].State) != `{"lines":["x"]}` || !states["05"].Paused || states["00"].Revision != 1 {
			t.Errorf("states: %+v, %v", states, err)
		}
		_, err = admin.StatesFor(t.Context(), "pad", make([]string, runtime.MaxAdminList+1))
		as[*runtime.OutOfRange](t, err)
		_, err = admin.Actors(t.Context(), runtime.Walk{Type: "pad", Limit: runtime.MaxAdminList + 1})
		as[*runtime.OutOfRange](t, err)
		_, err = admin.Actors(t.Context(), runtime.Walk{Type: "pat"})
		as[*actors.UnknownType](t, err)
	})
}
