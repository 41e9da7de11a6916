package runtime

import (
	"context"
	"errors"
	"fmt"

	"github.com/lockstep-go/lockstep/actors"
)

// allowed asks the Message or the Query policy.
func (rt *Runtime) allowed(ctx context.Context, reads bool, r actors.Request) error {
	if reads {
		return rt.ask(ctx, rt.cfg.Policy.Query, r)
	}
	return rt.ask(ctx, rt.cfg.Policy.Message, r)
}

// MaySubscribe asks the Subscribe policy.
func (rt *Runtime) MaySubscribe(ctx context.Context, r actors.Request) error {
	return rt.ask(ctx, rt.cfg.Policy.Subscribe, r)
}

// MayQuery asks the Query policy.
func (rt *Runtime) MayQuery(ctx context.Context, r actors.Request) error {
	return rt.ask(ctx, rt.cfg.Policy.Query, r)
}

// ask asks one policy: one that is missing or panics refuses. Every refusal wraps ErrUnauthorized and the policy's
// own error.
func (rt *Runtime) ask(ctx context.Context, policy func(context.Context, actors.Request) error, r actors.Request) (err error) {
	if policy == nil {
		return actors.ErrUnauthorized
	}
	defer func() {
		if p := recover(); p != nil {
			rt.observer.emit(ctx, Event{Name: PolicyPanicked, Type: r.Type, Operation: r.Operation, ErrorKind: "panic"})
			err = actors.ErrUnauthorized
		}
	}()
	if err := policy(ctx, r); err != nil {
		if errors.Is(err, actors.ErrUnauthorized) {
			return err
		}
		return fmt.Errorf("%w: %w", actors.ErrUnauthorized, err)
	}
	return nil
}
