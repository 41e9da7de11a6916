package admin

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"strings"
	"text/tabwriter"
	"time"
	"unicode"

	"github.com/lockstep-go/lockstep/runtime"
)

// print writes an answer for a program or for a person, and returns the exit code: a failed one if nobody got it.
func (c *call) print(answer any, human func(*table), code int) int {
	var out bytes.Buffer
	if c.json {
		enc := json.NewEncoder(&out)
		enc.SetIndent("", "  ")
		enc.SetEscapeHTML(false)
		if err := enc.Encode(answer); err != nil {
			return c.fails(err)
		}
	} else {
		t := &table{tabwriter.NewWriter(&out, 0, 0, 2, ' ', 0)}
		human(t)
		t.w.Flush() // into memory
	}
	if _, err := c.stdout.Write(out.Bytes()); err != nil {
		return c.fails(err)
	}
	return code
}

// table writes aligned columns.
type table struct{ w *tabwriter.Writer }

// row writes one row. The last cell may be empty.
func (t *table) row(cells ...any) {
	texts := make([]string, len(cells))
	for i, cell := range cells {
		texts[i] = clean(fmt.Sprint(cell))
	}
	fmt.Fprintln(t.w, strings.TrimRight(strings.Join(texts, "\t"), "\t "))
}

func (t *table) line(format string, args ...any) {
	fmt.Fprintln(t.w, clean(fmt.Sprintf(format, args...)))
}

// clean keeps what others wrote from moving the terminal's cursor, or the table's columns.
func clean(s string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsControl(r) || unicode.Is(unicode.Bidi_Control, r) || r == unicode.ReplacementChar {
			return ' '
		}
		return r
	}, s)
}

// clip shortens what may be long.
func clip(s string) string {
	const most = 120
	runes := []rune(s)
	if len(runes) <= most {
		return s
	}
	return string(runes[:most-1]) + "…"
}

// age writes a duration as people say it.
func age(d time.Duration) string {
	switch {
	case d < time.Minute:
		return d.Truncate(time.Second).String()
	case d < time.Hour:
		return fmt.Sprintf("%dm%ds", int(d.Minutes()), int(d.Seconds())%60)
	case d < 48*time.Hour:
		return fmt.Sprintf("%dh%dm", int(d.Hours()), int(d.Minutes())%60)
	}
	return fmt.Sprintf("%dd", int(d.Hours())/24)
}

func since(now, then time.Time) string {
	if then.IsZero() {
		return "-"
	}
	return age(max(now.Sub(then), 0))
}

func stamp(t time.Time) string { return t.UTC().Format("2006-01-02 15:04:05") }

func (t *table) report(r runtime.Report) {
	for _, c := range r.Checks {
		t.row(c.Verdict, c.Name, c.Text)
	}
}

func (t *table) status(s runtime.Status) {
	p := s.Processes
	t.line("%s, its clock says %s UTC", s.Database, stamp(s.Now))
	t.line("processes: %d running, %d draining, %d stale, %d stopped", p.Running, p.Draining, p.Stale, p.Stopped)
	if s.Retention.MessageSeconds == 0 {
		t.line("retention: finished messages are kept for ever")
	} else {
		t.line("retention: finished messages are kept for %s", age(time.Duration(s.Retention.MessageSeconds)*time.Second))
	}
	if since := s.Retention.OverdueSince; !since.IsZero() {
		t.line("retention: the oldest should have been deleted %s ago", age(max(s.Now.Sub(since), 0)))
	}
	if s.Retention.Failures > 0 {
		t.line("retention: %d of %d passes of this process failed", s.Retention.Failures, s.Retention.Failures+s.Retention.Passes)
	}
	t.row("", "", "")
	t.row("WHAT", "COUNT", "OLDEST", "MEANING")
	for _, r := range workRows(s) {
		count := fmt.Sprint(r.count)
		if r.count >= runtime.MaxCount {
			count = fmt.Sprintf("%d+", runtime.MaxCount)
		}
		t.row(r.name, count, since(s.Now, r.since), r.meaning)
	}
}

type workRow struct {
	name, meaning string
	count         int
	since         time.Time
}

func workRows(s runtime.Status) []workRow {
	c := s.Counts
	return []workRow{
		{"ready", "actors whose next message may run now", c.Ready, s.Waiting.Ready},
		{"delayed", "actors whose next message waits for its time or a retry", c.Delayed, time.Time{}},
		{"paused", "paused actors with messages", c.Paused, time.Time{}},
		{"claimed", "actors that run a message now", c.Claimed, time.Time{}},
		{"queued", "messages behind those", c.Queued, time.Time{}},
		{"effects due", "effects that wait for a free worker", c.EffectsDue, s.Waiting.Effects},
		{"effects pending", "all unfinished effects", c.EffectsPending, time.Time{}},
		{"effects failed", "effects that were given up", c.EffectsFailed, time.Time{}},
		{"reminders due", "reminders that should have fired", c.RemindersDue, s.Waiting.Reminders},
		{"sends due", "messages between actors that should have arrived", c.SendsDue, s.Waiting.Sends},
		{"dead letters", "given-up messages that nobody retried", c.DeadLettersOpen, time.Time{}},
	}
}

// statusView is a status with ages, so that a program need not compute them.
type statusView struct {
	runtime.Status
	Seconds struct {
		Ready     float64 `json:"ready"`
		Effects   float64 `json:"effects"`
		Reminders float64 `json:"reminders"`
		Sends     float64 `json:"sends"`
	} `json:"waiting_seconds"`
}

func viewStatus(s runtime.Status) statusView {
	v := statusView{Status: s}
	for into, then := range map[*float64]time.Time{
		&v.Seconds.Ready: s.Waiting.Ready, &v.Seconds.Effects: s.Waiting.Effects,
		&v.Seconds.Reminders: s.Waiting.Reminders, &v.Seconds.Sends: s.Waiting.Sends,
	} {
		if !then.IsZero() {
			*into = seconds(s.Now.Sub(then))
		}
	}
	return v
}

// seconds are never negative and have three decimals.
func seconds(d time.Duration) float64 { return max(d, 0).Round(time.Millisecond).Seconds() }

func (t *table) processes(list []runtime.Process, stopped int) {
	t.row("ID", "STATE", "HEARTBEAT", "STARTED", "TYPES", "BUILD AND PLACE")
	for _, p := range list {
		state := p.State
		if p.Stale {
			state += ", stale"
		}
		if p.Self {
			state += ", this one"
		}
		t.row(p.ID, state, age(p.Beaten()), age(p.Age()), cmp.Or(p.Types, "-"), fmt.Sprintf("%s on %s, pid %d", cmp.Or(p.Build, "unknown"), cmp.Or(p.Host, "unknown"), p.PID))
	}
	if stopped > 0 {
		t.line("%d that stopped are not shown: --all", stopped)
	}
}

type processView struct {
	runtime.Process
	Beaten float64 `json:"heartbeat_seconds"`
	Age    float64 `json:"age_seconds"`
}

func viewProcesses(list []runtime.Process, stopped int) any {
	views := []processView{}
	for _, p := range list {
		views = append(views, processView{p, seconds(p.Beaten()), seconds(p.Age())})
	}
	return map[string]any{"processes": views, "stopped_not_shown": stopped}
}

func (t *table) letters(list []runtime.DeadLetter, details bool) {
	if len(list) == 0 {
		t.line("no dead letters")
		return
	}
	header := []any{"ID", "ACTOR", "OPERATION", "FAILED (UTC)", "ATTEMPTS", "RETRIED", "ERROR"}
	if details {
		header = append(header, "TEXT", "ARGUMENTS")
	}
	t.row(header...)
	for _, d := range list {
		retried := "no"
		if d.Replacement != "" {
			retried = "yes"
		}
		cells := []any{d.ID, d.Type + "/" + d.ActorID, d.Operation, stamp(d.FailedAt), d.Attempts, retried, d.ErrorKind}
		if details {
			cells = append(cells, cmp.Or(clip(d.ErrorText), "-"), clip(string(d.Arguments)))
		}
		t.row(cells...)
	}
}

func (t *table) retries(list []runtime.Retry) {
	if len(list) == 0 {
		t.line("no dead letters to retry")
		return
	}
	t.row("DEAD LETTER", "OUTCOME", "ACTOR", "OPERATION", "NEW MESSAGE")
	for _, r := range list {
		actor := "-"
		if r.Type != "" {
			actor = r.Type + "/" + r.ActorID
		}
		t.row(r.ID, strings.ReplaceAll(string(r.Outcome), "_", " "), actor, cmp.Or(r.Operation, "-"), cmp.Or(r.Message, "-"))
	}
}
