package runtime

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/lockstep-go/lockstep/actors"
	"github.com/lockstep-go/lockstep/runtime/store"
)

// wireActions indexes the commit actions' executors and finds what does not fit.
func (rt *Runtime) wireActions() error {
	var problems []error
	asked, by := map[string]*actors.CommitActionDefinition{}, map[string]string{}
	for _, typ := range rt.typeNames {
		for name, def := range rt.types[typ].CommitActions() {
			if asked[name] != nil {
				problems = append(problems, fmt.Errorf("two commit actions are named %q, of %s and of %s", name, by[name], typ))
			}
			asked[name], by[name] = def, typ
		}
	}
	rt.actions = map[string]actors.CommitExecutor{}
	for _, x := range rt.cfg.Actions {
		if _, twice := rt.actions[x.Name]; twice {
			problems = append(problems, fmt.Errorf("commit action %q is performed twice", x.Name))
		}
		rt.actions[x.Name] = x
		if def := asked[x.Name]; def == nil {
			problems = append(problems, fmt.Errorf("commit action %q is performed but no type has it", x.Name))
		} else if err := x.Fits(def, rt.store.Dialect()); err != nil {
			problems = append(problems, err)
		}
	}
	for name := range asked {
		if _, ok := rt.actions[name]; !ok {
			problems = append(problems, fmt.Errorf("commit action %q of %s is performed by nobody", name, by[name]))
		}
	}
	return errors.Join(problems...)
}

// toldKey is where the ctx of a commit action has its *told.
type toldKey struct{}

// told are the messages that the commit actions of one turn stored, to be announced once it has committed.
type told struct {
	mu       sync.Mutex
	messages []actors.MessageRef
}

func (l *told) add(m actors.MessageRef) {
	l.mu.Lock()
	l.messages = append(l.messages, m)
	l.mu.Unlock()
}

func (l *told) all() []actors.MessageRef {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.messages
}

// action is what a commit runs inside its transaction: the actions of the turn, in the order of their staging. What
// they tell actors is in list. Their spans belong to the turn, whose ctx is given.
func (rt *Runtime) action(turn context.Context, t *store.Turn, staged []actors.ActionIntent) (run func(context.Context, actors.Tx) error, list *told) {
	list = &told{}
	return func(ctx context.Context, tx actors.Tx) error {
		ctx = rt.tracing.within(context.WithValue(ctx, toldKey{}, list), turn)
		for _, a := range staged {
			if err := rt.runAction(ctx, tx, t, a); err != nil {
				return err
			}
			if ctx.Err() != nil {
				return context.Cause(ctx)
			}
		}
		return nil
	}, list
}

// runAction runs one of them.
func (rt *Runtime) runAction(ctx context.Context, tx actors.Tx, t *store.Turn, a actors.ActionIntent) (err error) {
	seen := rt.observeAction(ctx, t, a.Name)
	err = &actors.Panicked{} // unless it returns
	defer func() { rt.actionEnded(seen, t, a.Name, err) }()
	return rt.actions[a.Name].Perform(seen.ctx, tx, actors.CommitAttempt{
		MessageID: t.Message.ID, Type: t.Type, ActorID: t.ActorID, Sequence: t.Sequence, Attempt: t.Attempts,
		Generation: t.Fence.Generation, Arguments: a.Arguments,
	})
}

// inAction says whether ctx is a commit action's: what that sends is the actor's own doing, like a Send, and no policy is
// asked.
func inAction(ctx context.Context) bool { return ctx.Value(toldKey{}) != nil }

// tellAction remembers a message that was stored under ctx, where that is a commit action's.
func tellAction(ctx context.Context, m actors.MessageRef) {
	if list, ok := ctx.Value(toldKey{}).(*told); ok {
		list.add(m)
	}
}

// actionFailed ends a turn whose commit action failed: as if its handler had returned the error. It runs apart from the
// flusher's goroutine, since the methods of that error are application code.
func (rt *Runtime) actionFailed(act *activation, t *store.Turn, cause error) {
	ended := false
	defer func() {
		if p := recover(); !ended {
			rt.failed(act, t, panicked(p))
		}
	}()
	if rejected, ok := errors.AsType[*actors.Rejected](cause); ok {
		c, after, err := rt.rejection(act, t, rejected)
		if err == nil {
			ended = true
			rt.submitCommit(act, t, c, after)
			return
		}
		cause = err
	}
	rt.failed(act, t, cause)
	ended = true
}
