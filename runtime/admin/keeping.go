package admin

import (
	"errors"
	"flag"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/lockstep-go/lockstep/runtime"
)

func prune(f *flag.FlagSet) func(*call, []string) int {
	var o runtime.PruneOptions
	f.Func("older-than", "only what finished, was last used or stopped this `long` ago, like 720h or 30d; the program's own retention if not given", func(s string) (err error) {
		o.Age, err = parseAge(s)
		return err
	})
	f.StringVar(&o.Type, "type", "", "only of this actor `type`")
	f.IntVar(&o.Limit, "limit", 100_000, fmt.Sprintf("at most this `many`, up to %d", runtime.MaxPrune))
	f.BoolVar(&o.Execute, "execute", false, "delete them; without it they are only counted")
	return func(c *call, operands []string) int {
		if len(operands) > 1 {
			return c.misread("prune: one of messages, instances and processes, and got %d", len(operands))
		}
		if len(operands) == 1 {
			o.What = runtime.Prunable(operands[0])
		}
		if o.Limit < 1 {
			return c.misread("--limit %d: must be 1 to %d", o.Limit, runtime.MaxPrune)
		}
		p, err := c.admin.Prune(c.ctx, o)
		if err != nil {
			if p.Count > 0 {
				fmt.Fprintf(c.stderr, "admin: %d %s were deleted before this:\n", p.Count, p.What)
			}
			return c.fails(err)
		}
		return c.print(p, func(t *table) { t.pruned(p) }, done)
	}
}

// parseAge reads a duration, in which d is a day.
func parseAge(s string) (time.Duration, error) {
	age, err := time.ParseDuration(s)
	if days, ok := strings.CutSuffix(s, "d"); ok {
		var n int
		n, err = strconv.Atoi(days)
		if err == nil && n > 36500 {
			return 0, errors.New("must be at most 36500d")
		}
		age = time.Duration(n) * 24 * time.Hour
	}
	if err != nil {
		return 0, errors.New("write it like 12h or 30d")
	}
	if age <= 0 {
		return 0, errors.New("must be positive")
	}
	return age, nil
}

func (t *table) pruned(p runtime.Pruned) {
	verb, more := "would be deleted", ""
	if p.Executed {
		verb = "are deleted"
	}
	if p.More {
		more = ", and there are more"
	}
	t.line("%d %s %s%s", p.Count, p.What, verb, more)
	if len(p.Types) > 0 {
		t.row("TYPE", "COUNT", "FROM BEFORE (UTC)")
		for _, x := range p.Types {
			name := x.Type
			if name == "" {
				name = "(destroyed)"
			}
			t.row(name, x.Count, stamp(x.Before))
		}
	}
	if p.Count > 0 && !p.Executed {
		t.line("nothing was deleted: add --execute")
	}
}

func cleanup(*flag.FlagSet) func(*call, []string) int {
	return func(c *call, _ []string) int {
		got, err := c.admin.Cleanup(c.ctx)
		if err != nil {
			return c.fails(err)
		}
		return c.print(got, func(t *table) {
			t.line("%d dead processes; given back: %d messages, %d effects, %d broadcasts; %d messages had no attempt left",
				len(got.Processes), got.Messages, got.Effects, got.Broadcasts, got.DeadLetters)
			for _, id := range got.Processes {
				t.line("dead: %s", id)
			}
		}, done)
	}
}

func reminders(f *flag.FlagSet) func(*call, []string) int {
	var s runtime.ReminderSelection
	f.StringVar(&s.Type, "type", "", "only of this actor `type`")
	f.BoolVar(&s.Late, "late", false, "only those that should have fired")
	f.IntVar(&s.Limit, "limit", 100, fmt.Sprintf("at most this `many`, up to %d", runtime.MaxAdminList))
	return func(c *call, _ []string) int {
		if s.Limit < 1 {
			return c.misread("--limit %d: must be 1 to %d", s.Limit, runtime.MaxAdminList)
		}
		list, err := c.admin.Reminders(c.ctx, s)
		if err != nil {
			return c.fails(err)
		}
		return c.print(map[string]any{"reminders": list}, func(t *table) { t.reminders(list) }, done)
	}
}

func (t *table) reminders(list []runtime.Reminder) {
	if len(list) == 0 {
		t.line("no reminders")
		return
	}
	t.row("ACTOR", "OPERATION", "KEY", "NEXT (UTC)", "EVERY", "LATE")
	for _, r := range list {
		every, late, key := "-", "-", "-"
		if r.Every > 0 {
			every = age(time.Duration(r.Every * float64(time.Second)))
		}
		if r.Late > 0 {
			late = age(time.Duration(r.Late * float64(time.Second)))
		}
		if r.Key != "" {
			key = r.Key
		}
		t.row(r.Type+"/"+r.ActorID, r.Operation, key, stamp(r.Next), every, late)
	}
}

func walk(f *flag.FlagSet) func(*call, []string) int {
	var w runtime.Walk
	var quiet time.Duration
	active := f.Bool("active", false, "only those that are activated or have unfinished messages")
	f.Func("quiet-for", "only those that nothing will wake and that were not used for this `long`", func(s string) (err error) {
		quiet, err = parseAge(s)
		return err
	})
	f.StringVar(&w.After, "after", "", "go on after this `id`")
	f.IntVar(&w.Limit, "limit", 100, fmt.Sprintf("look at this `many`, up to %d", runtime.MaxAdminList))
	return func(c *call, operands []string) int {
		switch {
		case len(operands) != 1:
			return c.misread("actors: name one actor type")
		case *active && quiet > 0:
			return c.misread("actors: --active and --quiet-for are about different actors")
		case w.Limit < 1:
			return c.misread("--limit %d: must be 1 to %d", w.Limit, runtime.MaxAdminList)
		}
		w.Type = operands[0]
		var step runtime.Actors
		var err error
		switch {
		case *active:
			step, err = c.admin.Active(c.ctx, w)
		case quiet > 0:
			step, err = c.admin.WithoutPendingWork(c.ctx, w, quiet)
		default:
			step, err = c.admin.Actors(c.ctx, w)
		}
		if err != nil {
			return c.fails(err)
		}
		return c.print(step, func(t *table) { t.actors(step) }, done)
	}
}

func (t *table) actors(step runtime.Actors) {
	if len(step.Actors) > 0 {
		t.row("ACTOR", "USED (UTC)", "REVISION", "PENDING", "HAS")
	} else {
		t.line("no such actors here")
	}
	for _, a := range step.Actors {
		var has []string
		for _, x := range []struct {
			is   bool
			word string
		}{{a.Active, "active"}, {a.Paused, "paused"}, {a.Reminders, "reminders"}, {a.Outbox, "outbox"}, {a.DeadLetters, "dead letters"}} {
			if x.is {
				has = append(has, x.word)
			}
		}
		t.row(a.Type+"/"+a.ID, stamp(a.UsedAt), a.Revision, a.Pending, strings.Join(has, ", "))
	}
	if step.Next != "" {
		t.line("there are more: --after %s", step.Next)
	}
}
