package runtime

import (
	"context"
	"fmt"

	"github.com/lockstep-go/lockstep/actors"
	"github.com/lockstep-go/lockstep/runtime/bus"
	"github.com/lockstep-go/lockstep/runtime/store"
)

// Admin is what operators do: look, retry, pause, resume, prune, diagnose. Every method first asks the Administer policy,
// before it reads anything, so that a refusal says nothing about what there is; a policy that is nil refuses all.
//
//	Status       show    runtime
//	Doctor       diagnose runtime
//	Processes    list    process
//	DeadLetters  list    dead_letter, or inspect for error texts and arguments
//	Retry        retry   dead_letter, with its id
//	RetryAll     retry   dead_letter, without an id and then with that of each
//	Pause        pause   instance, with the id type/id
//	Resume       resume  instance, with the id type/id
//	Prune        preview message, or prune where it deletes
//
// An Admin works whether Run does or not, also from another process on the same database. It is safe for concurrent use.
type Admin struct{ rt *Runtime }

// Admin is the operators' side of the runtime.
func (rt *Runtime) Admin() Admin { return Admin{rt} }

// OutOfRange is a request beyond what an Admin does at once.
type OutOfRange struct{ What, Got, Bounds string }

func (e *OutOfRange) Error() string { return fmt.Sprintf("%s %s: must be %s", e.What, e.Got, e.Bounds) }

// may asks the Administer policy.
func (a Admin) may(ctx context.Context, action, resource, id string) error {
	if err := a.rt.check(ctx, false); err != nil {
		return err
	}
	var policy func(context.Context, actors.Request) error
	if administer := a.rt.cfg.Policy.Administer; administer != nil {
		policy = func(ctx context.Context, _ actors.Request) error {
			return administer(ctx, actors.AdminRequest{Action: action, Resource: resource, ResourceID: id})
		}
	}
	return a.rt.ask(ctx, policy, actors.Request{Type: resource, Operation: action})
}

// Pause stops claims of an actor: its turn in flight ends, then its mailbox only grows. It says whether there is such an
// actor; one that was never used, or is destroyed, cannot be paused. Pausing twice is pausing once.
func (a Admin) Pause(ctx context.Context, actor actors.Address) (found bool, err error) {
	return a.pause(ctx, "pause", actor, true)
}

// Resume lets a paused actor go on, in order. It says whether there is such an actor.
func (a Admin) Resume(ctx context.Context, actor actors.Address) (found bool, err error) {
	found, err = a.pause(ctx, "resume", actor, false)
	if found {
		a.rt.clock.wake(workRole, 0)
		a.rt.tell(bus.Hint{Kind: bus.Messages, Name: actor.Type})
	}
	return found, err
}

func (a Admin) pause(ctx context.Context, action string, actor actors.Address, paused bool) (bool, error) {
	if err := a.may(ctx, action, "instance", actor.Type+"/"+actor.ID); err != nil {
		return false, err
	}
	if a.rt.types[actor.Type] == nil {
		return false, &actors.UnknownType{Type: actor.Type}
	}
	if err := actors.CheckID(actor.ID); err != nil {
		return false, err
	}
	outcome, err := a.rt.store.Pause(ctx, actor, paused)
	if err != nil {
		return false, fmt.Errorf("%s: %w", action, err)
	}
	if outcome == store.Done {
		rt, name := a.rt, ActorPaused
		if !paused {
			name = ActorResumed
		}
		rt.administered(ctx, name, actor)
	}
	return outcome == store.Done, nil
}

// bounded is n, or otherwise where n is zero; it must not be above most.
func bounded(what string, n, otherwise, most int) (int, error) {
	if n == 0 {
		n = otherwise
	}
	if n < 1 || n > most {
		return 0, &OutOfRange{what, fmt.Sprint(n), fmt.Sprintf("1 to %d", most)}
	}
	return n, nil
}
