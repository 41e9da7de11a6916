package runtime_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/lockstep-go/lockstep/actors"
	"github.com/lockstep-go/lockstep/runtime"
	"github.com/lockstep-go/lockstep/runtime/store"
	"github.com/lockstep-go/lockstep/runtime/store/sqlite"
)

// sales is a pad that has the lines written on it entered in a table of the application's, twice.
type sales struct {
	*pads
	enter, check *actors.CommitActionType[pad, string]
	ran          record
	do           func(ctx context.Context, tx hosted, c actors.Committing[string]) error // instead of checking, if not nil
}

func defineSales() *sales {
	s := &sales{}
	s.pads = definePads(func(t *actors.Turn[pad], p *pad, line string) error {
		s.enter.Stage(t, line)
		s.check.Stage(t, line)
		if strings.HasPrefix(line, "fail once") && t.Attempt() == 1 {
			return errors.New("after staging")
		}
		return nil
	})
	s.enter = actors.CommitAction[string](s.Type, "enter")
	s.check = actors.CommitAction[string](s.Type, "check")
	return s
}

func (s *sales) config(t *testing.T) runtime.Config {
	t.Helper()
	cfg := config(s)
	cfg.Actions = []actors.CommitExecutor{
		action(t, s.enter, func(ctx context.Context, tx hosted, c actors.Committing[string]) error {
			s.ran.add(fmt.Sprintf("enter %s %s/%s %d.%d", c.In, c.Type, c.ActorID, c.Sequence, c.Attempt))
			if c.MessageID == "" || c.Generation == 0 {
				return fmt.Errorf("told too little: %+v", c)
			}
			return tx.Exec(ctx, "INSERT INTO sales (line, message) VALUES (?, ?)", c.In, c.MessageID)
		}),
		action(t, s.check, func(ctx context.Context, tx hosted, c actors.Committing[string]) error {
			s.ran.add("check " + c.In)
			if s.do != nil {
				return s.do(ctx, tx, c)
			}
			lines, err := tx.Texts(ctx, "SELECT line FROM sales WHERE message = ?", c.MessageID)
			if err != nil || len(lines) != 1 {
				return fmt.Errorf("%d rows of the action before, %w", len(lines), err)
			}
			return nil
		}),
	}
	return cfg
}

// openSales opens a fresh database with the application's table.
func openSales(t *testing.T) store.Store {
	t.Helper()
	db := openStore(t)
	sell(t, db)
	return db
}

// sell makes the application's table, for as long as the test takes.
func sell(t *testing.T, db store.Store) {
	t.Helper()
	d := here(t)
	do := func(ctx context.Context, statement string) {
		if err := d.begin(ctx, db, func(ctx context.Context, tx hosted) error { return tx.Exec(ctx, statement) }); err != nil {
			t.Error(err)
		}
	}
	do(t.Context(), "CREATE TABLE sales (line VARCHAR(50) NOT NULL, message VARCHAR(50) NOT NULL)")
	if d != inSQLite { // whose database ends with the test
		t.Cleanup(func() { do(context.Background(), "DROP TABLE sales") })
	}
}

// sold expects the rows of the application's table. Ids of messages grow.
func sold(t *testing.T, db store.Store, want ...string) {
	t.Helper()
	var got []string
	err := here(t).begin(t.Context(), db, func(ctx context.Context, tx hosted) (err error) {
		got, err = tx.Texts(ctx, "SELECT line FROM sales ORDER BY message")
		return err
	})
	if err != nil || !slices.Equal(got, want) {
		t.Errorf("the application's table has %q, want %q (%v)", got, want, err)
	}
}

// G12: what a commit action writes is there with the actor's state; several run in the order of their staging.
func TestG12CommitActionsCommitWithTheirTurn(t *testing.T) {
	inTime(t, func(t *testing.T) {
		s, db := defineSales(), openSales(t)
		rt := start(t, db, s.config(t))
		s.ask(t, rt.Runtime, "a", "one")
		s.ask(t, rt.Runtime, "a", "two")
		s.ask(t, rt.Runtime, "b", "three")
		sold(t, db, "one", "two", "three")
		s.ran.expect(t, "actions", "enter one pad/a 1.1", "check one", "enter two pad/a 2.1", "check two", "enter three pad/b 1.1", "check three")
		s.expect(t, rt.Runtime, "a", "one", "two")
	})
}

// G14: what was staged before a turn failed is not done; the next attempt stages anew.
func TestG14FailureRestoresStagedCommitActions(t *testing.T) {
	inTime(t, func(t *testing.T) {
		s, db := defineSales(), openSales(t)
		rt := start(t, db, s.config(t))
		s.ask(t, rt.Runtime, "a", "fail once")
		sold(t, db, "fail once")
		s.ran.expect(t, "actions", "enter fail once pad/a 1.2", "check fail once")
	})
}

// G11: a turn with commit actions is flushed alone, however much else is waiting.
func TestG11CommitActionsAreFlushedAlone(t *testing.T) {
	inTime(t, func(t *testing.T) {
		s, inner := defineSales(), openSales(t)
		other := actors.Define("other", func() pad { return pad{} })
		otherWrite := actors.Message[string, int](other, "write")
		var together chan struct{} // ends the turns of a round
		otherWrite.Handle(func(p *pad, _ *actors.Turn[pad], line string) (int, error) {
			<-together
			p.Lines = append(p.Lines, line)
			return len(p.Lines), nil
		})
		db := &faults{Store: inner}
		cfg := s.config(t)
		cfg.Types = append(cfg.Types, other)
		rt := start(t, db, cfg)
		alone, mixed := 0, 0
		db.set(func(b *store.Flush) error {
			if c, err := b.Lone(); err != nil {
				return err
			} else if c != nil {
				alone++
			} else if len(b.Commits) > 1 {
				mixed++
			}
			return nil
		}, nil)
		var want []string
		for round := range 5 {
			var errs [2][10]error
			together = make(chan struct{})
			release := db.hold()
			for i := range 10 {
				go func() { // each waits for the flush that is held
					_, errs[0][i] = s.write.Tell(t.Context(), rt, s.Ref(fmt.Sprint(i)), fmt.Sprint(round))
				}()
				go func() {
					_, errs[1][i] = otherWrite.Tell(t.Context(), rt, other.Ref(fmt.Sprint(i)), fmt.Sprint(round))
				}()
			}
			settle()
			release()
			pass(5 * time.Second)
			release = db.hold()
			close(together)
			settle()
			release()
			pass(time.Second)
			for _, err := range append(errs[0][:], errs[1][:]...) {
				if err != nil {
					t.Fatal(err)
				}
			}
			want = append(want, fmt.Sprint(round))
		}
		if alone != 50 || mixed == 0 {
			t.Errorf("%d flushes of one commit with actions, want 50; %d of several without", alone, mixed)
		}
		for i := range 10 {
			s.expect(t, rt.Runtime, fmt.Sprint(i), want...)
			if got, err := other.Ref(fmt.Sprint(i)).Snapshot(t.Context(), rt); err != nil || !slices.Equal(got.Lines, want) {
				t.Errorf("a neighbour has %q, %v", got.Lines, err)
			}
		}
	})
}

// D37, G19: in a commit action every verb but TellTx is refused at once, and nobody waits for itself. What TellTx stores
// commits with the turn, or not at all, is asked of no policy, and runs without Announce.
func TestD37CallsFromACommitAction(t *testing.T) {
	inTime(t, func(t *testing.T) {
		s, db := defineSales(), openSales(t)
		heard := actors.Define("heard", func() pad { return pad{} })
		note := actors.Message[string, actors.None](heard, "note")
		note.Handle(func(p *pad, _ *actors.Turn[pad], line string) (actors.None, error) {
			p.Lines = append(p.Lines, line)
			return actors.None{}, nil
		})
		cfg := calm(s.config(t))
		cfg.PollIdle = time.Hour
		cfg.Types = append(cfg.Types, heard)
		cfg.Policy.Message = func(_ context.Context, r actors.Request) error {
			if r.Type == "heard" {
				return actors.ErrUnauthorized
			}
			return nil
		}
		rt := start(t, db, cfg)
		pass(time.Minute)
		s.do = func(ctx context.Context, tx hosted, c actors.Committing[string]) error {
			_, asked := s.write.Ask(ctx, rt, s.Ref("b"), "x")
			_, told := s.write.Tell(ctx, rt, s.Ref("b"), "x")
			_, read := s.Ref("b").Snapshot(ctx, rt)
			_, own := s.Ref("a").Snapshot(ctx, rt)
			_, destroyed := s.Ref("a").Destroy(ctx, rt)
			_, waited := s.write.Wait(ctx, rt, actors.MessageRef{Type: "pad", ActorID: "a", Operation: "write", ID: c.MessageID})
			refused := map[string]error{
				"Ask": asked, "Tell": told, "Snapshot": read, "Snapshot of itself": own, "Destroy": destroyed, "Wait": waited,
			}
			if writer, ok := db.(*sqlite.Store); ok {
				refused["Write"] = writer.Write(ctx, func(context.Context, *sql.Tx) error { return nil })
			}
			for what, err := range refused {
				expectIs(t, what, err, actors.ErrInsideTransaction)
			}
			if _, err := note.TellTx(ctx, rt, tx.Tx(), heard.Ref("h"), c.In); err != nil {
				return err
			}
			if c.In == "lost" {
				return actors.Reject("no", "not this one")
			}
			return nil
		}
		begun := time.Now()
		s.ask(t, rt.Runtime, "a", "kept")
		_, err := s.write.Ask(t.Context(), rt, s.Ref("a"), "lost")
		as[*actors.Rejected](t, err)
		settle()
		if took := time.Since(begun); took > time.Second {
			t.Errorf("it took %v", took)
		}
		if got, err := rt.Committed(t.Context(), actors.Address{Type: "heard", ID: "h"}); err != nil || string(got.State) != `{"lines":["kept"]}` {
			t.Errorf("the actor that was told has %s, %v", got.State, err)
		}
		sold(t, db, "kept")
	})
}

// D27: after a commit of which no answer came the database says what is true: the application's row is there once,
// whether the commit had happened or not.
func TestD27UnclearCommitWithAnAction(t *testing.T) {
	for _, committed := range []bool{true, false} {
		t.Run(fmt.Sprint("committed=", committed), func(t *testing.T) {
			inTime(t, func(t *testing.T) {
				s, inner := defineSales(), openSales(t)
				db := &faults{Store: inner}
				cfg := s.config(t)
				cfg.AskTimeout = time.Minute
				rt := start(t, db, cfg)
				cut := onceFor(commits, errUnclear)
				if committed {
					db.set(nil, cut)
				} else {
					db.set(cut, nil)
				}
				if n := s.ask(t, rt.Runtime, "a", "x"); n != 1 {
					t.Errorf("answer %d", n)
				}
				s.ask(t, rt.Runtime, "a", "y")
				pass(time.Minute)
				sold(t, inner, "x", "y")
				s.expect(t, rt.Runtime, "a", "x", "y")
			})
		})
	}
}

// G8, G12: an owner whose lease was taken over writes no rows of the application's either.
func TestG8StaleOwnersActionsAreRolledBack(t *testing.T) {
	onEach(t, testG8Actions)
}

func testG8Actions(t *testing.T) {
	s := defineSales()
	stores := openShared(t, 2)
	one, two := &faults{Store: stores[0]}, stores[1]
	sell(t, two)
	cfg := s.config(t)
	cfg.Lease, cfg.Renew, cfg.AskTimeout = 30*time.Second, 10*time.Second, time.Minute
	a := start(t, one, cfg)
	let := make(chan struct{})
	one.set(func(b *store.Flush) error { // the first owner stops, as if by SIGSTOP, with its turn's commit in hand
		if commits(b) {
			<-let
		}
		return nil
	}, nil)
	m := s.tell(t, a.Runtime, "a", "x")
	eventually(t, "the turn is claimed", func() bool { _, waiting, _, _ := two.Message(t.Context(), m.ID); return waiting == "running" })
	two.Offset(time.Minute)
	b := start(t, two, cfg)
	eventually(t, "it is taken over", func() bool {
		got, _, _, err := two.Message(t.Context(), m.ID)
		return err == nil && got.Status == store.Completed
	})
	close(let)
	s.tell(t, a.Runtime, "a", "y")
	eventually(t, "the next one", func() bool {
		got, err := s.Ref("a").Snapshot(t.Context(), b)
		return err == nil && slices.Equal(got.Lines, []string{"x", "y"})
	})
	sold(t, two, "x", "y")
}

// G13: a query that gets hold of a turn stages no commit action either.
func TestG13QueriesStageNoCommitActions(t *testing.T) {
	inTime(t, func(t *testing.T) {
		var kept *actors.Turn[pad]
		p := definePads(func(t *actors.Turn[pad], _ *pad, _ string) error { kept = t; return nil })
		enter := actors.CommitAction[string](p.Type, "enter")
		stage := actors.Query(p.Type, "stage", func(pad) int { enter.Stage(kept, "smuggled"); return 1 })
		actors.Observable(p.Type, "staging", func(q pad) int {
			if kept != nil && q.has("observed") {
				enter.Stage(kept, "smuggled")
			}
			return 1
		})
		db := openSales(t)
		ran := false
		cfg := config(p)
		cfg.Actions = []actors.CommitExecutor{action(t, enter, func(context.Context, hosted, actors.Committing[string]) error { ran = true; return nil })}
		rt := start(t, db, cfg)
		p.ask(t, rt.Runtime, "a", "one")
		if _, err := stage.Ask(t.Context(), rt, p.Ref("a")); err != nil {
			t.Fatal(err)
		}
		p.ask(t, rt.Runtime, "a", "observed")
		settle()
		if ran {
			t.Error("a commit action ran that no turn had staged")
		}
	})
}

// A mistake in what is staged fails the turn, as an effect's arguments do.
func TestG12CommitActionArgumentsAreBounded(t *testing.T) {
	inTime(t, func(t *testing.T) {
		var enter *actors.CommitActionType[pad, any]
		p := definePads(func(t *actors.Turn[pad], _ *pad, line string) error {
			enter.Stage(t, map[string]any{"large": strings.Repeat("x", 101), "endless": math.Inf(1), "fine": 1}[line])
			return nil
		})
		enter = actors.CommitAction[any](p.Type, "enter")
		cfg := config(p)
		cfg.PayloadBytes = 100
		cfg.Actions = []actors.CommitExecutor{action(t, enter, func(context.Context, hosted, actors.Committing[any]) error { return nil })}
		rt := start(t, openSales(t), cfg)
		for line, kind := range map[string]string{"large": "TooLarge", "endless": "InvalidDocument"} {
			_, err := p.write.Ask(t.Context(), rt, p.Ref("a"), line)
			if failed := as[*actors.MessageFailed](t, err); !strings.Contains(failed.Kind, kind) || failed.Attempts != 1 {
				t.Errorf("%s: %+v", line, failed)
			}
		}
		p.ask(t, rt.Runtime, "a", "fine")
		p.expect(t, rt.Runtime, "a", "fine")
	})
}

// What is wired wrongly is told when the runtime opens, by name.
func TestOpenChecksCommitActions(t *testing.T) {
	inTime(t, func(t *testing.T) {
		db := openSales(t)
		s := defineSales()
		nothing := func(context.Context, hosted, actors.Committing[string]) error { return nil }
		stranger := actors.Define("stranger", func() pad { return pad{} })
		alike := actors.CommitAction[string](stranger, "enter")
		odd := actors.CommitAction[string](stranger, "odd")
		twice := actors.Define("twice", func() pad { return pad{} })
		_, twins := actors.CommitAction[string](twice, "twin"), actors.CommitAction[string](twice, "twin")
		badly := actors.Define("badly", func() pad { return pad{} })
		_ = actors.CommitAction[string](badly, "not a name")
		for _, c := range []struct {
			name    string
			change  func(*runtime.Config)
			culprit string
		}{
			{"nothing wrong", func(*runtime.Config) {}, ""},
			{"nobody", func(c *runtime.Config) { c.Actions = c.Actions[1:] }, `commit action "enter" of pad is performed by nobody`},
			{"two", func(c *runtime.Config) { c.Actions = append(c.Actions, c.Actions[0]) }, `commit action "enter" is performed twice`},
			{"another database", func(c *runtime.Config) {
				c.Actions[0] = s.enter.By("abacus", func(context.Context, actors.Tx, actors.Committing[string]) error { return nil })
			}, `commit action "enter" is performed for a database of kind "abacus", but the store is one of kind "` + here(t).name + `"`},
			{"another type", func(c *runtime.Config) { c.Actions[0] = action(t, alike, nothing) }, `commit action "enter" is performed for another actor type`},
			{"nothing at all", func(c *runtime.Config) { c.Actions[0] = action[string](t, s.enter, nil) }, `commit action "enter" is performed by a nil function`},
			{"no type", func(c *runtime.Config) { c.Actions = append(c.Actions, action(t, odd, nothing)) }, `commit action "odd" is performed but no type has it`},
			{"one name for two", func(c *runtime.Config) { c.Types = append(c.Types, stranger) }, `two commit actions are named "enter", of pad and of stranger`},
			{"twins", func(c *runtime.Config) {
				c.Types, c.Actions = append(c.Types, twice), append(c.Actions, action(t, twins, nothing))
			}, `twice: two commit actions are named "twin"`},
			{"no name", func(c *runtime.Config) { c.Types = append(c.Types, badly) }, `"not a name"`},
		} {
			cfg := s.config(t)
			c.change(&cfg)
			rt, err := runtime.Open(t.Context(), db, cfg)
			switch {
			case c.culprit == "" && err != nil:
				t.Errorf("%s: %v", c.name, err)
			case c.culprit != "" && (err == nil || !strings.Contains(err.Error(), c.culprit)):
				t.Errorf("%s: %v, want it to say %q", c.name, err, c.culprit)
			}
			if err == nil {
				rt.Close()
			}
		}
	})
}
