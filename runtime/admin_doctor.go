package runtime

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/lockstep-go/lockstep/runtime/store"
)

// Verdict is a check's result.
type Verdict string

const (
	Pass Verdict = "pass"
	Info Verdict = "info" // worth knowing, nothing to do
	Warn Verdict = "warn" // it works, but somebody should look
	Fail Verdict = "fail" // it does not work
	Skip Verdict = "skip" // it could not be checked
)

// Check is one thing that Doctor looked at.
type Check struct {
	Name    string  `json:"name"`
	Verdict Verdict `json:"verdict"`
	Text    string  `json:"text"`
}

// Report is what Doctor found, in a fixed order of names.
type Report struct {
	Checks []Check `json:"checks"`
}

// Failed says whether any check failed.
func (r Report) Failed() bool {
	return slices.ContainsFunc(r.Checks, func(c Check) bool { return c.Verdict == Fail })
}

func (r *Report) add(name string, v Verdict, format string, args ...any) {
	r.Checks = append(r.Checks, Check{name, v, fmt.Sprintf(format, args...)})
}

const (
	// skewWarn is how far the host's clock may be from the database's: due work of others is looked for that much later.
	skewWarn = time.Second
	// lateWarn is how long what is due may wait before Doctor warns.
	lateWarn = time.Minute
)

// Doctor checks the configuration, the database and what the processes on it do. To see that writing works it writes a
// heartbeat of its own process, and takes a message through an actor of its own, which it removes. The error is a refusal; what is wrong is in the report.
func (a Admin) Doctor(ctx context.Context) (Report, error) {
	if err := a.may(ctx, "diagnose", "runtime", ""); err != nil {
		return Report{}, err
	}
	r := &Report{}
	a.checkConfiguration(r)
	a.checkDurability(r)
	if !a.checkDatabase(ctx, r) {
		for _, name := range []string{"clock", "process", "write", "round trip", "workers", "stale", "builds", "backlog", "outboxes", "history", "dead letters"} {
			r.add(name, Skip, "the database could not be read")
		}
		return *r, nil
	}
	a.checkClock(ctx, r)
	a.checkProcesses(ctx, r)
	a.checkWork(ctx, r)
	return *r, nil
}

func (a Admin) checkConfiguration(r *Report) {
	cfg := &a.rt.cfg
	var closed []string
	for name, missing := range map[string]bool{
		"Message": cfg.Policy.Message == nil, "Query": cfg.Policy.Query == nil,
		"Destroy": cfg.Policy.Destroy == nil, "Subscribe": cfg.Policy.Subscribe == nil,
	} {
		if missing {
			closed = append(closed, name)
		}
	}
	slices.Sort(closed)
	if len(a.rt.typeNames) == 0 {
		r.add("configuration", Warn, "no actor types: this program runs nothing")
	} else {
		r.add("configuration", Pass, "%d actor types, %d effects", len(a.rt.typeNames), len(a.rt.effects))
	}
	if small := a.rt.smallPool(); small != nil {
		r.add("pool", Warn, "%v", small)
	}
	if len(closed) > 0 {
		r.add("policy", Info, "not set, so everybody is refused: %s", strings.Join(closed, ", "))
	} else {
		r.add("policy", Pass, "every policy is set")
	}
	if cfg.MessageRetention < 0 {
		r.add("retention", Info, "finished messages are kept for ever")
	} else {
		r.add("retention", Pass, "finished messages are kept for %s", cfg.MessageRetention)
	}
}

func (a Admin) checkDurability(r *Report) {
	if err := errors.Join(a.rt.store.Warnings()...); err != nil {
		r.add("durability", Warn, "%s", strings.ReplaceAll(err.Error(), "\n", "; "))
		return
	}
	r.add("durability", Pass, "acknowledged commits survive a power cut")
}

// checkDatabase also reads every table that work waits in, which an incomplete schema would not survive.
func (a Admin) checkDatabase(ctx context.Context, r *Report) bool {
	begun := time.Now()
	if _, err := a.rt.store.Now(ctx); err != nil {
		r.add("database", Fail, "%s: %v", a.rt.store.Dialect(), err)
		r.add("schema", Skip, "the database does not answer")
		return false
	}
	r.add("database", Pass, "%s answers within %s", a.rt.store.Dialect(), atMost(time.Since(begun)))
	_, err := a.rt.store.Due(ctx, a.rt.typeNames, a.rt.effects)
	if err == nil {
		_, err = a.rt.store.Count(ctx, 1)
	}
	if err != nil {
		r.add("schema", Fail, "%v", err)
		return false
	}
	r.add("schema", Pass, "it is the one that this build knows")
	return true
}

// atMost rounds up to what a reader cares about.
func atMost(d time.Duration) time.Duration {
	for _, step := range []time.Duration{10 * time.Millisecond, 100 * time.Millisecond, time.Second} {
		if d <= step {
			return step
		}
	}
	return d.Round(time.Second) + time.Second
}

func (a Admin) checkClock(ctx context.Context, r *Report) {
	before := time.Now()
	now, err := a.rt.store.Now(ctx)
	took := time.Since(before)
	if err != nil {
		r.add("clock", Skip, "%v", err)
		return
	}
	skew := now.Sub(before.Add(took / 2))
	if apart := skew.Abs() - took/2; apart >= skewWarn { // the answer was read at some moment in between
		direction := "ahead of"
		if skew < 0 {
			direction = "behind"
		}
		r.add("clock", Warn, "the database is %s %s this host: due times are the database's", skew.Abs().Round(time.Second/10), direction)
		return
	}
	r.add("clock", Pass, "the database and this host agree within %s", skewWarn)
}

func (a Admin) checkProcesses(ctx context.Context, r *Report) {
	list, err := a.processes(ctx)
	if err != nil {
		for _, name := range []string{"process", "write", "round trip", "workers", "stale", "builds"} {
			r.add(name, Skip, "%v", err)
		}
		return
	}
	self := slices.IndexFunc(list, func(p Process) bool { return p.Self })
	switch {
	case self < 0:
		r.add("process", Fail, "this process is not in the registry: others take it for dead")
	case list[self].State == "stopped":
		r.add("process", Fail, "this process is marked stopped: others took it for dead")
	case list[self].Stale && a.rt.Ready():
		r.add("process", Fail, "this process runs, but its last heartbeat is %s old", list[self].Beaten().Round(time.Second))
	default:
		r.add("process", Pass, "this process is registered, its last heartbeat is within %s", a.rt.cfg.Stale)
	}
	if self < 0 || list[self].State == "stopped" {
		r.add("write", Skip, "this process has no row to write")
		r.add("round trip", Skip, "this process has no row to claim with")
	} else {
		a.checkWrite(ctx, r, list[self].State)
		a.checkRoundTrip(ctx, r)
	}

	var alive, stale []string
	builds, types := map[string]bool{}, map[string]bool{}
	for _, p := range list {
		if p.State == "stopped" {
			continue
		}
		if p.Stale {
			if !p.Self {
				stale = append(stale, fmt.Sprintf("%s (%s)", p.ID, p.Beaten().Round(time.Second)))
			}
			continue
		}
		if !p.Self || a.rt.Ready() {
			alive = append(alive, p.ID)
		}
		if p.Build != "" {
			builds[p.Build] = true
		}
		if p.Types != "" {
			types[p.Types] = true
		}
	}
	if len(alive) == 0 {
		r.add("workers", Warn, "no process runs: messages wait until one does")
	} else {
		r.add("workers", Pass, "%d alive", len(alive))
	}
	if len(stale) > 0 {
		r.add("stale", Warn, "without a heartbeat for longer than %s: %s", a.rt.cfg.Stale, strings.Join(stale[:min(len(stale), 5)], ", "))
	} else {
		r.add("stale", Pass, "every process beats")
	}
	switch {
	case len(builds) > 1:
		r.add("builds", Warn, "%d builds are alive at once: what only one of them knows waits for it", len(builds))
	case len(types) > 1:
		r.add("builds", Warn, "processes are alive with %d different sets of actor types: what only some know waits for them", len(types))
	default:
		r.add("builds", Pass, "all processes alive are of one build")
	}
}

// checkWrite makes one durable write that leaves nothing behind: the process's own heartbeat.
func (a Admin) checkWrite(ctx context.Context, r *Report, state string) {
	begun := time.Now()
	outcome, err := a.rt.store.Beat(ctx, a.rt.id, state)
	switch {
	case err != nil:
		r.add("write", Fail, "%v", err)
	case outcome != store.Done:
		r.add("write", Fail, "the heartbeat found no row: %s", outcome)
	default:
		r.add("write", Pass, "a durable write took at most %s", atMost(time.Since(begun)))
	}
}

func (a Admin) checkWork(ctx context.Context, r *Report) {
	s, err := a.status(ctx)
	if err != nil {
		for _, name := range []string{"backlog", "outboxes", "history", "dead letters"} {
			r.add(name, Skip, "%v", err)
		}
		return
	}
	late := func(since time.Time) time.Duration {
		if since.IsZero() {
			return 0
		}
		return s.Now.Sub(since)
	}
	if age := late(s.Waiting.Ready); age > lateWarn {
		r.add("backlog", Warn, "a message that could run has waited for %s", age.Round(time.Second))
	} else {
		r.add("backlog", Pass, "no message that could run has waited for longer than %s", lateWarn)
	}
	var slow []string
	for _, o := range []struct {
		what  string
		since time.Time
	}{{"an effect", s.Waiting.Effects}, {"a reminder", s.Waiting.Reminders}, {"a message between actors", s.Waiting.Sends}} {
		if age := late(o.since); age > lateWarn {
			slow = append(slow, fmt.Sprintf("%s for %s", o.what, age.Round(time.Second)))
		}
	}
	if len(slow) > 0 {
		r.add("outboxes", Warn, "due and waiting: %s", strings.Join(slow, ", "))
	} else {
		r.add("outboxes", Pass, "effects, reminders and messages between actors are on time")
	}
	a.checkHistory(r, s)
	switch {
	case s.Counts.DeadLettersOpen > 0:
		r.add("dead letters", Warn, "%d were not retried", s.Counts.DeadLettersOpen)
	default:
		r.add("dead letters", Pass, "none waits for a retry")
	}
}

// checkHistory says whether retention is up to what it should delete.
func (a Admin) checkHistory(r *Report, s Status) {
	every := max(a.rt.cfg.RetentionEvery, time.Hour)
	late := s.Now.Sub(s.Retention.OverdueSince)
	switch {
	case a.rt.cfg.shortest() < 0:
		r.add("history", Pass, "nothing is to be deleted")
	case !s.Retention.OverdueSince.IsZero() && late > 2*every:
		r.add("history", Warn, "finished messages should have been deleted for %s: nobody runs, or retention fails", late.Round(time.Minute))
	case s.Retention.Failures > 0:
		r.add("history", Warn, "%d passes of retention failed in this process", s.Retention.Failures)
	default:
		r.add("history", Pass, "finished messages are deleted in time")
	}
}
