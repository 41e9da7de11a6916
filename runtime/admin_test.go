package runtime_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/lockstep-go/lockstep/actors"
	"github.com/lockstep-go/lockstep/runtime"
)

// adminVerbs are everything that an Admin does, with what the policy is asked about each.
var adminVerbs = []struct {
	asked actors.AdminRequest
	do    func(ctx context.Context, a runtime.Admin) error
}{
	{actors.AdminRequest{Action: "show", Resource: "runtime"}, func(ctx context.Context, a runtime.Admin) error {
		_, err := a.Status(ctx)
		return err
	}},
	{actors.AdminRequest{Action: "diagnose", Resource: "runtime"}, func(ctx context.Context, a runtime.Admin) error {
		_, err := a.Doctor(ctx)
		return err
	}},
	{actors.AdminRequest{Action: "list", Resource: "process"}, func(ctx context.Context, a runtime.Admin) error {
		_, err := a.Processes(ctx)
		return err
	}},
	{actors.AdminRequest{Action: "list", Resource: "dead_letter"}, func(ctx context.Context, a runtime.Admin) error {
		_, err := a.DeadLetters(ctx, runtime.Selection{})
		return err
	}},
	{actors.AdminRequest{Action: "inspect", Resource: "dead_letter"}, func(ctx context.Context, a runtime.Admin) error {
		_, err := a.DeadLetters(ctx, runtime.Selection{Details: true})
		return err
	}},
	{actors.AdminRequest{Action: "retry", Resource: "dead_letter", ResourceID: noLetter}, func(ctx context.Context, a runtime.Admin) error {
		_, err := a.Retry(ctx, noLetter)
		return err
	}},
	{actors.AdminRequest{Action: "retry", Resource: "dead_letter"}, func(ctx context.Context, a runtime.Admin) error {
		_, err := a.RetryAll(ctx, runtime.Selection{})
		return err
	}},
	{actors.AdminRequest{Action: "pause", Resource: "instance", ResourceID: "pad/a"}, func(ctx context.Context, a runtime.Admin) error {
		_, err := a.Pause(ctx, actors.Address{Type: "pad", ID: "a"})
		return err
	}},
	{actors.AdminRequest{Action: "resume", Resource: "instance", ResourceID: "pad/a"}, func(ctx context.Context, a runtime.Admin) error {
		_, err := a.Resume(ctx, actors.Address{Type: "pad", ID: "a"})
		return err
	}},
	{actors.AdminRequest{Action: "preview", Resource: "message"}, func(ctx context.Context, a runtime.Admin) error {
		_, err := a.Prune(ctx, runtime.PruneOptions{})
		return err
	}},
	{actors.AdminRequest{Action: "prune", Resource: "message"}, func(ctx context.Context, a runtime.Admin) error {
		_, err := a.Prune(ctx, runtime.PruneOptions{Execute: true})
		return err
	}},
	{actors.AdminRequest{Action: "prune", Resource: "instance"}, func(ctx context.Context, a runtime.Admin) error {
		_, err := a.Prune(ctx, runtime.PruneOptions{What: runtime.PruneActors, Type: "pad", Age: time.Hour, Execute: true})
		return err
	}},
	{actors.AdminRequest{Action: "preview", Resource: "process"}, func(ctx context.Context, a runtime.Admin) error {
		_, err := a.Prune(ctx, runtime.PruneOptions{What: runtime.PruneProcesses})
		return err
	}},
	{actors.AdminRequest{Action: "cleanup", Resource: "process"}, func(ctx context.Context, a runtime.Admin) error {
		_, err := a.Cleanup(ctx)
		return err
	}},
	{actors.AdminRequest{Action: "list", Resource: "reminder"}, func(ctx context.Context, a runtime.Admin) error {
		_, err := a.Reminders(ctx, runtime.ReminderSelection{})
		return err
	}},
	{actors.AdminRequest{Action: "list", Resource: "instance"}, func(ctx context.Context, a runtime.Admin) error {
		_, err := a.WithoutPendingWork(ctx, runtime.Walk{Type: "pad"}, time.Hour)
		return err
	}},
	{actors.AdminRequest{Action: "inspect", Resource: "instance"}, func(ctx context.Context, a runtime.Admin) error {
		_, err := a.StatesFor(ctx, "pad", []string{"a"})
		return err
	}},
}

const noLetter = "01a00000-0000-7000-8000-0000000000ff"

// Every verb of an operator is refused by a policy that is nil, refuses or panics, before a single statement; each asks
// about itself.
func TestAdminAsksThePolicyFirst(t *testing.T) {
	inTime(t, func(t *testing.T) {
		p := definePads(nil)
		db := openStore(t)
		cfg := config(p)
		cfg.Policy.Administer = nil
		closed := idle(t, db, cfg)
		var asked []actors.AdminRequest
		cfg.Policy.Administer = func(_ context.Context, r actors.AdminRequest) error {
			asked = append(asked, r)
			return errors.New("not you")
		}
		refusing := idle(t, db, cfg)
		cfg.Policy.Administer = func(context.Context, actors.AdminRequest) error { panic("oops") }
		panicking := idle(t, db, cfg)
		open := idle(t, db, config(p))
		for _, v := range adminVerbs {
			before := db.Stats().Statements
			for what, rt := range map[string]*runtime.Runtime{"nil": closed, "refusing": refusing, "panicking": panicking} {
				expectIs(t, v.asked.Action+", "+what+" policy", v.do(t.Context(), rt.Admin()), actors.ErrUnauthorized)
			}
			if n := db.Stats().Statements - before; n != 0 {
				t.Errorf("%s: %d statements for those who were refused", v.asked.Action, n)
			}
			if len(asked) != 1 || asked[0] != v.asked {
				t.Errorf("the policy was asked %+v, want %+v", asked, v.asked)
			}
			asked = nil
			if err := v.do(t.Context(), open.Admin()); err != nil {
				t.Errorf("%s, allowed: %v", v.asked.Action, err)
			}
			if db.Stats().Statements == before && v.asked.ResourceID == "" {
				t.Errorf("%s, allowed, asks the database nothing", v.asked.Action)
			}
		}
		rt := idle(t, db, config(p))
		if err := rt.Close(); err != nil {
			t.Fatal(err)
		}
		for _, v := range adminVerbs {
			expectIs(t, v.asked.Action+" after Close", v.do(t.Context(), rt.Admin()), actors.ErrClosed)
		}
	})
}

// G30: an operator's pause holds, also of an actor that is active elsewhere, and a resume drains in order.
func TestG30AdminPauseAndResume(t *testing.T) {
	inTime(t, func(t *testing.T) {
		p := definePads(nil)
		db := openStore(t)
		rt, admin := start(t, db, config(p)), idle(t, db, config(p)).Admin()
		address := actors.Address{Type: "pad", ID: "a"}
		for what, do := range map[string]func(context.Context, actors.Address) (bool, error){"pause": admin.Pause, "resume": admin.Resume} {
			if found, err := do(t.Context(), address); found || err != nil {
				t.Errorf("%s of nobody: %v, %v", what, found, err)
			}
			_, err := do(t.Context(), actors.Address{Type: "pat", ID: "a"})
			as[*actors.UnknownType](t, err)
			if _, err := do(t.Context(), actors.Address{Type: "pad", ID: ""}); err == nil {
				t.Errorf("%s of an actor without an id", what)
			}
		}
		p.ask(t, rt.Runtime, "a", "0")
		for range 2 {
			if found, err := admin.Pause(t.Context(), address); !found || err != nil {
				t.Fatalf("pause: %v, %v", found, err)
			}
		}
		p.tell(t, rt.Runtime, "a", "1")
		p.tell(t, rt.Runtime, "a", "2")
		pass(10 * time.Minute)
		p.expect(t, rt.Runtime, "a", "0")
		s, err := admin.Status(t.Context())
		if err != nil || s.Counts.Paused != 1 || s.Counts.Queued != 1 || s.Counts.Ready != 0 {
			t.Errorf("while it is paused: %+v, %v", s.Counts, err)
		}
		for range 2 {
			if found, err := admin.Resume(t.Context(), address); !found || err != nil {
				t.Fatalf("resume: %v, %v", found, err)
			}
		}
		pass(5 * time.Second)
		p.expect(t, rt.Runtime, "a", "0", "1", "2")
	})
}

// mendable is a pad whose lines that begin with "bad" fail for good until it is mended.
func mendable(mended *atomic.Bool) *pads {
	return definePads(func(_ *actors.Turn[pad], _ *pad, line string) error {
		if strings.HasPrefix(line, "bad") && !mended.Load() {
			return actors.Permanent(errors.New("the reason"))
		}
		return nil
	})
}

func TestAdminDeadLettersAndRetry(t *testing.T) {
	inTime(t, func(t *testing.T) {
		var mended atomic.Bool
		p := mendable(&mended)
		rt := start(t, openStore(t), config(p))
		admin := rt.Admin()
		first := p.tell(t, rt.Runtime, "a", "bad 1")
		pass(time.Second)
		second := p.tell(t, rt.Runtime, "b", "bad 2")
		settle()
		ids := func(s runtime.Selection) (ids []string) {
			t.Helper()
			list, err := admin.DeadLetters(t.Context(), s)
			if err != nil {
				t.Fatal(err)
			}
			for _, d := range list {
				ids = append(ids, d.ID)
				if (d.Arguments != nil || d.ErrorText != "") != s.Details {
					t.Errorf("details %v: it shows %s and %q", s.Details, d.Arguments, d.ErrorText)
				}
			}
			return ids
		}
		for _, c := range []struct {
			s    runtime.Selection
			want []string
		}{
			{runtime.Selection{}, []string{second.ID, first.ID}},
			{runtime.Selection{Details: true, Type: "pad", Operation: "write"}, []string{second.ID, first.ID}},
			{runtime.Selection{Limit: 1}, []string{second.ID}},
			{runtime.Selection{Type: "pod"}, nil},
			{runtime.Selection{Operation: "count"}, nil},
		} {
			if got := ids(c.s); !slices.Equal(got, c.want) {
				t.Errorf("%+v lists %q, want %q", c.s, got, c.want)
			}
		}
		for _, n := range []int{-1, runtime.MaxAdminList + 1} {
			_, err := admin.DeadLetters(t.Context(), runtime.Selection{Limit: n})
			as[*runtime.OutOfRange](t, err)
			_, err = admin.RetryAll(t.Context(), runtime.Selection{Limit: n})
			as[*runtime.OutOfRange](t, err)
		}
		_, err := admin.Retry(t.Context(), "first")
		as[*runtime.OutOfRange](t, err)
		if r, err := admin.Retry(t.Context(), noLetter); r.Outcome != runtime.RetryGone || err != nil {
			t.Errorf("nobody's letter: %+v, %v", r, err)
		}
		mended.Store(true)
		var message string
		for i, want := range []runtime.RetryOutcome{runtime.Retried, runtime.WasRetried, runtime.WasRetried} {
			r, err := admin.Retry(t.Context(), first.ID)
			if err != nil || r.Outcome != want || r.Type != "pad" || r.ActorID != "a" || r.Operation != "write" {
				t.Errorf("press %d: %+v, %v; want %s", i+1, r, err, want)
			}
			if i > 0 && r.Message != message {
				t.Errorf("press %d answers with another message", i+1)
			}
			message = r.Message
		}
		pass(time.Second)
		p.expect(t, rt.Runtime, "a", "bad 1")
		p.expect(t, rt.Runtime, "b")
		if got := ids(runtime.Selection{}); !slices.Equal(got, []string{second.ID}) {
			t.Errorf("left to retry: %q", got)
		}
		if got := ids(runtime.Selection{Retried: true}); !slices.Equal(got, []string{second.ID, first.ID}) {
			t.Errorf("all: %q", got)
		}
	})
}

// D24: a bulk retry takes the oldest first, so that what one actor missed is done in its order; it is bounded, answers
// for each, and does not pass over a full mailbox.
func TestD24BulkRetryKeepsTheOrder(t *testing.T) {
	inTime(t, func(t *testing.T) {
		var mended atomic.Bool
		p := mendable(&mended)
		rt := start(t, openStore(t), config(p))
		var want []string
		for i := range 250 {
			line := fmt.Sprint("bad ", i)
			p.tell(t, rt.Runtime, "a", line)
			settle()
			pass(time.Millisecond)
			want = append(want, line)
		}
		mended.Store(true)
		all, rounds := runtime.Selection{Type: "pad", Operation: "write"}, []int{100, 100, 50, 0}
		for i, n := range rounds {
			answers, err := rt.Admin().RetryAll(t.Context(), all)
			if err != nil || len(answers) != n {
				t.Fatalf("round %d: %d answers, %v; want %d", i+1, len(answers), err, n)
			}
			for _, a := range answers {
				if a.Outcome != runtime.Retried || a.Message == "" || a.ActorID != "a" {
					t.Errorf("round %d: %+v", i+1, a)
				}
			}
		}
		pass(time.Minute)
		p.expect(t, rt.Runtime, "a", want...)
	})
}

func TestD24BulkRetryOfWhatIsFullDeniedOrOther(t *testing.T) {
	inTime(t, func(t *testing.T) {
		var mended atomic.Bool
		p := mendable(&mended)
		db := openStore(t)
		rt := start(t, db, config(p))
		var letters []string
		for _, id := range []string{"full", "full", "full", "free", "secret", "secret"} {
			letters = append(letters, p.tell(t, rt.Runtime, id, "bad").ID)
			pass(time.Millisecond)
		}
		pause(t, db, "pad", "full", true)
		cfg := config(p)
		cfg.Mailbox = 1
		cfg.Policy.Administer = func(_ context.Context, r actors.AdminRequest) error {
			if r.ResourceID == letters[4] {
				return errors.New("not that one")
			}
			return nil
		}
		admin := idle(t, db, cfg).Admin()
		if got, err := admin.RetryAll(t.Context(), runtime.Selection{Type: "pod"}); len(got) != 0 || err != nil {
			t.Errorf("another type: %+v, %v", got, err)
		}
		got, err := admin.RetryAll(t.Context(), runtime.Selection{})
		if err != nil {
			t.Fatal(err)
		}
		var outcomes []runtime.RetryOutcome
		for i, r := range got {
			outcomes = append(outcomes, r.Outcome)
			if r.ID != letters[i] {
				t.Errorf("answer %d is about %s, want %s", i, r.ID, letters[i])
			}
		}
		if want := []runtime.RetryOutcome{
			runtime.Retried, runtime.RetryFull, runtime.RetryFull, runtime.Retried, runtime.RetryDenied, runtime.RetryDenied,
		}; !slices.Equal(outcomes, want) {
			t.Errorf("outcomes %q, want %q", outcomes, want)
		}
		if r, err := admin.Retry(t.Context(), letters[1]); r.Outcome != runtime.RetryFull || err != nil {
			t.Errorf("one by id into a full mailbox: %+v, %v", r, err)
		}
	})
}
