package runtime

import (
	"context"
	"encoding/json"
	"fmt"
	"time"
)

// MaxCount is where the counts of a Status stop, so that they stay cheap.
const MaxCount = 10_000

// Status is the database at a glance. Times are the database's.
type Status struct {
	Database  string          `json:"database"` // "sqlite", "postgres", "mysql"
	Now       time.Time       `json:"now"`
	Processes ProcessCounts   `json:"processes"`
	Counts    WorkCounts      `json:"counts"`
	Waiting   WaitingSince    `json:"waiting_since"`
	Retention RetentionStatus `json:"retention"`
	Log       *LogStatus      `json:"log,omitempty"` // nil where the database has no log that readers hold
}

// ProcessCounts are the registry's rows by state. A stale one has no heartbeat, whatever its state says.
type ProcessCounts struct {
	Running  int `json:"running"`
	Draining int `json:"draining"`
	Stale    int `json:"stale"`
	Stopped  int `json:"stopped"`
}

// WorkCounts say what waits in the whole database, each number up to MaxCount.
type WorkCounts struct {
	Ready           int `json:"ready"`             // actors whose next message may run now
	Delayed         int `json:"delayed"`           // actors whose next message waits for its time or for another attempt
	Paused          int `json:"paused"`            // paused actors with messages
	Claimed         int `json:"claimed"`           // actors that run a message now
	Queued          int `json:"queued"`            // messages behind those
	EffectsDue      int `json:"effects_due"`       // effects that wait for a free worker, or were abandoned by one
	EffectsPending  int `json:"effects_pending"`   // all unfinished effects
	EffectsFailed   int `json:"effects_failed"`    // effects that were given up, until retention takes them
	RemindersDue    int `json:"reminders_due"`     // reminders that should have fired
	SendsDue        int `json:"sends_due"`         // messages between actors that should have arrived
	DeadLettersOpen int `json:"dead_letters_open"` // dead letters that nobody retried
}

// WaitingSince says since when the first of what is due waits; zero where nothing is due.
type WaitingSince struct {
	Ready     time.Time `json:"ready,omitzero"`
	Effects   time.Time `json:"effects,omitzero"`
	Reminders time.Time `json:"reminders,omitzero"`
	Sends     time.Time `json:"sends,omitzero"`
}

// RetentionStatus is how long this program keeps what is finished, where a zero is for ever, and whether it is up to it.
type RetentionStatus struct {
	MessageSeconds int64 `json:"message_seconds"`
	ProcessSeconds int64 `json:"process_seconds"`
	// OverdueSince is since when the oldest message that may go should be gone; up to RetentionEvery ago is usual. It is
	// zero where there is none among the oldest hundred.
	OverdueSince time.Time `json:"overdue_since,omitzero"`
	// What this process has done since it started: passes, those of them that failed, and what they deleted.
	Passes   int64     `json:"passes"`
	Failures int64     `json:"failures"`
	Messages int64     `json:"messages"`
	Actors   int64     `json:"actors"`
	LastPass time.Time `json:"last_pass,omitzero"` // that did not fail, by this host's clock
}

func (r *retained) status(cfg *Config) RetentionStatus {
	r.mu.Lock()
	defer r.mu.Unlock()
	return RetentionStatus{
		MessageSeconds: int64(max(cfg.MessageRetention, 0).Seconds()), ProcessSeconds: int64(cfg.ProcessRetention.Seconds()),
		Passes: r.passes, Failures: r.failures, Messages: r.messages, Actors: r.actors, LastPass: r.last,
	}
}

// Status reads counts and ages by a handful of index ranges, never a whole history.
func (a Admin) Status(ctx context.Context) (Status, error) {
	if err := a.may(ctx, "show", "runtime", ""); err != nil {
		return Status{}, err
	}
	s, err := a.status(ctx)
	if err != nil {
		return s, fmt.Errorf("status: %w", err)
	}
	return s, nil
}

func (a Admin) status(ctx context.Context) (Status, error) {
	s := Status{Database: a.rt.store.Dialect(), Retention: a.rt.retained.status(&a.rt.cfg)}
	list, err := a.processes(ctx)
	if err != nil {
		return s, err
	}
	if s.Log, err = a.log(ctx); err != nil {
		return s, err
	}
	for _, p := range list {
		switch {
		case p.Stale:
			s.Processes.Stale++
		case p.State == "draining":
			s.Processes.Draining++
		case p.State == "stopped":
			s.Processes.Stopped++
		default:
			s.Processes.Running++
		}
	}
	c, err := a.rt.store.Count(ctx, MaxCount)
	if err != nil {
		return s, err
	}
	s.Now = c.Now
	s.Waiting = WaitingSince{c.ReadySince, c.EffectSince, c.ReminderSince, c.SendSince}
	s.Counts = WorkCounts{
		Ready: c.Ready, Delayed: c.Delayed, Paused: c.Paused, Claimed: c.Claimed, Queued: c.Queued,
		EffectsDue: c.Effects, EffectsPending: c.Pending, EffectsFailed: c.Failed,
		RemindersDue: c.Reminders, SendsDue: c.Sends, DeadLettersOpen: c.Dead,
	}
	s.Retention.OverdueSince, err = a.rt.overdue(ctx, c.Now)
	return s, err
}

// Process is a row of the process registry.
type Process struct {
	ID        string    `json:"id"`
	Kind      string    `json:"kind"`
	Host      string    `json:"host,omitempty"`
	PID       int       `json:"pid,omitempty"`
	State     string    `json:"state"` // running, draining, stopped
	StartedAt time.Time `json:"started_at"`
	BeatAt    time.Time `json:"beat_at"`
	Stale     bool      `json:"stale"` // not stopped, and without a heartbeat for longer than Config.Stale
	Self      bool      `json:"self"`  // this process
	Build     string    `json:"build,omitempty"`
	Types     string    `json:"types,omitempty"` // fingerprint of its actor types: equal where they fit together

	now time.Time
}

// Beaten is how long ago its heart last beat, by the database's clock.
func (p *Process) Beaten() time.Duration { return max(p.now.Sub(p.BeatAt), 0) }

// Age is how long ago it started, by the database's clock.
func (p *Process) Age() time.Duration { return max(p.now.Sub(p.StartedAt), 0) }

// Processes lists the registry, also processes that stopped within Config.ProcessRetention.
func (a Admin) Processes(ctx context.Context) ([]Process, error) {
	if err := a.may(ctx, "list", "process", ""); err != nil {
		return nil, err
	}
	return a.processes(ctx)
}

func (a Admin) processes(ctx context.Context) ([]Process, error) {
	stored, err := a.rt.store.Processes(ctx)
	if err != nil {
		return nil, fmt.Errorf("list processes: %w", err)
	}
	now, err := a.rt.store.Now(ctx)
	if err != nil {
		return nil, fmt.Errorf("read the database's clock: %w", err)
	}
	list := []Process{}
	for _, s := range stored {
		p := Process{
			ID: s.ID, Kind: s.Kind, Host: s.Host, PID: s.PID, State: s.State, StartedAt: s.StartedAt, BeatAt: s.BeatAt,
			Self: s.ID == a.rt.id, now: now,
		}
		p.Stale = p.State != "stopped" && p.Beaten() > a.rt.cfg.Stale
		var b build
		if json.Unmarshal(s.Metadata, &b) == nil { // what others registered may be anything
			p.Build, p.Types = b.Version, b.Types
		}
		list = append(list, p)
	}
	return list, nil
}
