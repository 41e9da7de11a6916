package runtime

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/lockstep-go/lockstep/actors"
	"github.com/lockstep-go/lockstep/runtime/store"
)

// Actor is an actor as operators see it.
type Actor struct {
	Type        string    `json:"type"`
	ID          string    `json:"id"`
	CreatedAt   time.Time `json:"created_at"`
	UsedAt      time.Time `json:"used_at"` // when a message last came, began or ended, or its activation was given back
	Revision    int64     `json:"revision"`
	Version     int       `json:"version"` // of the state
	Pending     int       `json:"pending"` // unfinished messages
	Active      bool      `json:"active"`  // some process holds its lease
	Paused      bool      `json:"paused"`
	Reminders   bool      `json:"reminders"`    // it has some
	Outbox      bool      `json:"outbox"`       // it has unfinished effects, messages to others or broadcasts
	DeadLetters bool      `json:"dead_letters"` // it has some, retried or not
}

func actorOf(i *store.Instance) Actor {
	return Actor{
		Type: i.Type, ID: i.Key.ID, CreatedAt: i.CreatedAt, UsedAt: i.UsedAt, Revision: i.Revision, Version: i.Version,
		Pending: i.Pending, Active: i.Held, Paused: i.Paused, Reminders: i.Scheduled, Outbox: i.Outbox, DeadLetters: i.Letters,
	}
}

// idle says whether nothing will make the actor go on by itself.
func (a *Actor) idle() bool {
	return a.Pending == 0 && !a.Active && !a.Reminders && !a.Outbox
}

// Walk is where a walk over the actors of a type stands.
type Walk struct {
	Type  string
	After string // "" at the beginning, then Actors.Next
	Limit int    // actors to look at: MaxAdminList if zero, which is also the most
}

// Actors is one step of a walk. It may be short, or empty, and yet not the last: that has an empty Next.
type Actors struct {
	Actors []Actor `json:"actors"`
	Next   string  `json:"next,omitempty"`
}

// Actors walks over all actors of a type, in the order of the bytes of their ids.
func (a Admin) Actors(ctx context.Context, w Walk) (Actors, error) {
	return a.walk(ctx, w, func([]store.Instance, time.Time) (func(*Actor) bool, error) {
		return func(*Actor) bool { return true }, nil
	})
}

// Active walks over the actors that some process has activated or that have unfinished messages.
func (a Admin) Active(ctx context.Context, w Walk) (Actors, error) {
	return a.walk(ctx, w, func([]store.Instance, time.Time) (func(*Actor) bool, error) {
		return func(x *Actor) bool { return x.Active || x.Pending > 0 }, nil
	})
}

// WithoutPendingWork walks over the actors that nothing will wake: no message, no reminder, nothing in an outbox; that
// are not paused; and that were not used for quietFor. One that should be waking itself and is here has lost its alarm.
func (a Admin) WithoutPendingWork(ctx context.Context, w Walk, quietFor time.Duration) (Actors, error) {
	return a.walk(ctx, w, func(_ []store.Instance, now time.Time) (func(*Actor) bool, error) {
		return func(x *Actor) bool { return x.idle() && !x.Paused && now.Sub(x.UsedAt) >= quietFor }, nil
	})
}

// Orphaned walks over the actors whose owner is gone. For each step, owned is asked once which of these ids should have
// an actor, as one query of the application's own tables can tell; the others are returned.
func (a Admin) Orphaned(ctx context.Context, w Walk, owned func(ctx context.Context, ids []string) ([]string, error)) (Actors, error) {
	return a.walk(ctx, w, func(page []store.Instance, _ time.Time) (func(*Actor) bool, error) {
		if len(page) == 0 {
			return nil, nil
		}
		ids := make([]string, len(page))
		for i := range page {
			ids[i] = page[i].Key.ID
		}
		has, err := owned(ctx, ids)
		if err != nil {
			return nil, fmt.Errorf("ask for the owners: %w", err)
		}
		wanted := make(map[string]bool, len(has))
		for _, id := range has {
			wanted[id] = true
		}
		return func(x *Actor) bool { return !wanted[x.ID] }, nil
	})
}

// walk makes one step. choose is handed what was read, and says what of it is meant.
func (a Admin) walk(ctx context.Context, w Walk, choose func(page []store.Instance, now time.Time) (func(*Actor) bool, error)) (Actors, error) {
	if err := a.may(ctx, "list", "instance", ""); err != nil {
		return Actors{}, err
	}
	if a.rt.types[w.Type] == nil {
		return Actors{}, &actors.UnknownType{Type: w.Type}
	}
	limit, err := bounded("limit", w.Limit, MaxAdminList, MaxAdminList)
	if err != nil {
		return Actors{}, err
	}
	now, err := a.rt.store.Now(ctx)
	if err != nil {
		return Actors{}, fmt.Errorf("list actors: %w", err)
	}
	page, err := a.rt.store.Instances(ctx, w.Type, w.After, limit)
	if err != nil {
		return Actors{}, fmt.Errorf("list actors: %w", err)
	}
	meant, err := choose(page, now)
	if err != nil {
		return Actors{}, err
	}
	step := Actors{Actors: []Actor{}}
	for i := range page {
		if x := actorOf(&page[i]); meant(&x) {
			step.Actors = append(step.Actors, x)
		}
	}
	if len(page) == limit {
		step.Next = page[limit-1].Key.ID
	}
	return step, nil
}

// ActorState is an actor with its committed state.
type ActorState struct {
	Actor
	State json.RawMessage `json:"state,omitempty"` // as it was committed, by Version; nil where none was
}

// StatesFor reads the named actors of a type, up to MaxAdminList of them; those that do not exist are not in the answer.
func (a Admin) StatesFor(ctx context.Context, typ string, ids []string) (map[string]ActorState, error) {
	if err := a.may(ctx, "inspect", "instance", ""); err != nil {
		return nil, err
	}
	if a.rt.types[typ] == nil {
		return nil, &actors.UnknownType{Type: typ}
	}
	if len(ids) > MaxAdminList {
		return nil, &OutOfRange{"ids", fmt.Sprint(len(ids)), fmt.Sprintf("at most %d", MaxAdminList)}
	}
	for _, id := range ids {
		if err := actors.CheckID(id); err != nil {
			return nil, err
		}
	}
	found, err := a.rt.store.States(ctx, typ, ids)
	if err != nil {
		return nil, fmt.Errorf("read states: %w", err)
	}
	states := make(map[string]ActorState, len(found))
	for i := range found {
		states[found[i].Key.ID] = ActorState{actorOf(&found[i]), found[i].State}
	}
	return states, nil
}

// Reminder is an alarm that an actor has set.
type Reminder struct {
	Type      string    `json:"type"`
	ActorID   string    `json:"actor_id"`
	Operation string    `json:"operation"`
	Key       string    `json:"key,omitempty"`
	Next      time.Time `json:"next"`                   // the occurrence
	TriedAt   time.Time `json:"tried_at"`               // after Next where it was due and the actor's mailbox was full
	Every     float64   `json:"every_seconds,omitzero"` // zero where it occurs once
	CatchUp   string    `json:"catch_up"`
	Late      float64   `json:"late_seconds,omitzero"` // how long it has been due
}

// ReminderSelection says which reminders are meant.
type ReminderSelection struct {
	Type  string // only of this actor type; "" is any
	Late  bool   // only those that should have fired
	Limit int    // 100 if zero, at most MaxAdminList
}

// Reminders lists reminders in the order in which they are tried, of the first MaxAdminList.
func (a Admin) Reminders(ctx context.Context, s ReminderSelection) ([]Reminder, error) {
	if err := a.may(ctx, "list", "reminder", ""); err != nil {
		return nil, err
	}
	limit, err := bounded("limit", s.Limit, 100, MaxAdminList)
	if err != nil {
		return nil, err
	}
	now, err := a.rt.store.Now(ctx)
	if err != nil {
		return nil, fmt.Errorf("list reminders: %w", err)
	}
	stored, err := a.rt.store.Reminders(ctx, MaxAdminList)
	if err != nil {
		return nil, fmt.Errorf("list reminders: %w", err)
	}
	list := []Reminder{}
	for _, r := range stored {
		if len(list) == limit {
			break
		}
		late := now.Sub(r.Next)
		if s.Type != "" && s.Type != r.Type || s.Late && late < 0 {
			continue
		}
		list = append(list, Reminder{
			Type: r.Type, ActorID: r.ID, Operation: r.Operation, Key: r.Name, Next: r.Next, TriedAt: r.Due,
			Every: r.Interval.Seconds(), CatchUp: r.CatchUp, Late: max(late, 0).Seconds(),
		})
	}
	return list, nil
}
