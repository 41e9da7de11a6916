package runtime

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/lockstep-go/lockstep/actors"
)

// MaxPrune bounds what one Prune deletes.
const MaxPrune = 1_000_000

// Prunable is a kind of thing that retention deletes.
type Prunable string

const (
	PruneMessages  Prunable = "messages"  // finished ones
	PruneActors    Prunable = "instances" // that were not used for long
	PruneProcesses Prunable = "processes" // rows of those that stopped
)

// PruneOptions say what to delete.
type PruneOptions struct {
	What Prunable // PruneMessages if empty
	Type string   // only of this actor type; not with PruneProcesses
	// Age is how long ago a message must have finished, an actor been used, a process stopped. Zero is what Config says,
	// for each type its own.
	Age     time.Duration
	Limit   int  // 100,000 if zero, at most MaxPrune
	Execute bool // delete; otherwise only count
}

// Pruned says what was, or would be, deleted.
type Pruned struct {
	What     Prunable     `json:"what"`
	Executed bool         `json:"executed"`
	Count    int          `json:"count"`
	Types    []PrunedType `json:"types,omitempty"` // what of each type, in their order
	More     bool         `json:"more"`            // it stopped at the limit: there is more
}

// PrunedType is the part of one actor type; that of destroyed actors, whose type is forgotten, has none.
type PrunedType struct {
	Type   string    `json:"type"`
	Before time.Time `json:"before"` // finished, or last used, by then, by the database's clock
	Count  int       `json:"count"`
}

// Prune deletes what was kept long enough, in bounded batches, or without Execute only counts it. Of messages it never
// touches live work, dead letters, or what unfinished outboxes need; with a message go its result and the memory of its
// idempotency key. Of actors it takes those that Retention would: see there. Before processes are forgotten, what dead
// ones left is recovered, as Cleanup does. On an error Pruned says what was deleted before it.
func (a Admin) Prune(ctx context.Context, o PruneOptions) (Pruned, error) {
	if o.What == "" {
		o.What = PruneMessages
	}
	resources := map[Prunable]string{PruneMessages: "message", PruneActors: "instance", PruneProcesses: "process"}
	resource, known := resources[o.What]
	if !known {
		return Pruned{}, &OutOfRange{"kind", fmt.Sprintf("%.60q", string(o.What)), "messages, instances or processes"}
	}
	action := "preview"
	if o.Execute {
		action = "prune"
	}
	if err := a.may(ctx, action, resource, ""); err != nil {
		return Pruned{}, err
	}
	limit, err := bounded("limit", o.Limit, 100_000, MaxPrune)
	if err != nil {
		return Pruned{}, err
	}
	if o.Type != "" && (a.rt.types[o.Type] == nil || o.What == PruneProcesses) {
		return Pruned{}, &actors.UnknownType{Type: o.Type}
	}
	if o.Age != 0 && o.Age <= a.rt.cfg.AskTimeout {
		return Pruned{}, &OutOfRange{"age", o.Age.String(), fmt.Sprintf("longer than AskTimeout (%v), or idempotency keys would not hold", a.rt.cfg.AskTimeout)}
	}
	now, err := a.rt.store.Now(ctx)
	if err != nil {
		return Pruned{}, fmt.Errorf("prune: %w", err)
	}
	if o.What == PruneProcesses {
		return a.pruneProcesses(ctx, o, now)
	}
	pass := &prunePass{rt: a.rt, only: o.Type, limit: limit, execute: o.Execute, types: map[string]int{}}
	if o.What == PruneMessages {
		err = a.pruneMessages(ctx, o, pass)
	} else {
		err = a.pruneActors(ctx, o, pass)
	}
	p := Pruned{What: o.What, Executed: o.Execute, Count: pass.count, More: pass.more}
	for _, typ := range slices.Sorted(maps.Keys(pass.types)) {
		p.Types = append(p.Types, PrunedType{typ, now.Add(-pass.age(typ)), pass.types[typ]})
	}
	if err != nil {
		return p, fmt.Errorf("prune: %w", err)
	}
	return p, nil
}

func (a Admin) pruneMessages(ctx context.Context, o PruneOptions, pass *prunePass) error {
	if pass.age, pass.least = a.rt.cfg.messageAge, a.rt.cfg.shortest(); o.Age != 0 {
		pass.age, pass.least = func(string) time.Duration { return o.Age }, o.Age
	}
	if pass.least < 0 {
		return errors.New("no age is given, and by its configuration this program keeps messages for ever")
	}
	return pass.messages(ctx)
}

func (a Admin) pruneActors(ctx context.Context, o PruneOptions, pass *prunePass) error {
	pass.age = func(typ string) time.Duration {
		if o.Age != 0 {
			return o.Age
		}
		return a.rt.cfg.Retention[typ].Actors
	}
	if o.Age != 0 && o.Type == "" {
		return &OutOfRange{"instances of every type", "one age", "a type with an age, or what each type's Retention says"}
	}
	expires := false
	for _, typ := range a.rt.typeNames {
		if age := pass.age(typ); age > 0 && (o.Type == "" || o.Type == typ) {
			expires = true
			if err := pass.actors(ctx, typ, age); err != nil {
				return err
			}
		}
	}
	if !expires {
		return errors.New("no age is given, and by its configuration this program keeps these actors for ever")
	}
	return nil
}

func (a Admin) pruneProcesses(ctx context.Context, o PruneOptions, now time.Time) (Pruned, error) {
	age := o.Age
	if age == 0 {
		age = a.rt.cfg.ProcessRetention
	}
	p := Pruned{What: o.What, Executed: o.Execute}
	list, err := a.rt.store.Processes(ctx)
	if err != nil {
		return p, fmt.Errorf("prune: %w", err)
	}
	for i := range list {
		if list[i].State == "stopped" && now.Sub(list[i].StoppedAt) >= age {
			p.Count++
		}
	}
	if o.Execute {
		if _, err := a.cleanup(ctx, age); err != nil {
			return Pruned{What: o.What, Executed: true}, err
		}
	}
	return p, nil
}

// Cleaned says what a Cleanup gave back.
type Cleaned struct {
	Processes   []string `json:"processes"` // that were found dead
	Messages    int      `json:"messages"`
	Effects     int      `json:"effects"`
	Broadcasts  int      `json:"broadcasts"`
	DeadLetters int      `json:"dead_letters"` // messages that had no attempt left
}

// Cleanup gives back what dead processes own, as every running program does all the time, and forgets those that
// stopped longer than Config.ProcessRetention ago. It never touches what a live process owns.
func (a Admin) Cleanup(ctx context.Context) (Cleaned, error) {
	if err := a.may(ctx, "cleanup", "process", ""); err != nil {
		return Cleaned{}, err
	}
	return a.cleanup(ctx, a.rt.cfg.ProcessRetention)
}

func (a Admin) cleanup(ctx context.Context, retain time.Duration) (Cleaned, error) {
	got, err := a.rt.store.Recover(ctx, a.rt.id, a.rt.cfg.Stale, retain)
	if err != nil {
		return Cleaned{}, fmt.Errorf("clean up: %w", err)
	}
	a.rt.buried(got.Dead)
	a.rt.clock.wake(workRole, 0)
	a.rt.clock.wake(effectRole, 0)
	a.rt.tellAll()
	return Cleaned{append([]string{}, got.Processes...), got.Messages, got.Effects, got.Broadcasts, len(got.Dead)}, nil
}
