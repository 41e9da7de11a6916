package actors

import (
	"context"
	"encoding/json"
	"fmt"
)

// CommitActionType is work inside the application's own tables that actors of state S ask for: its input is an In. It
// runs inside the transaction that commits the turn, so that the application's rows and the actor's state are written
// together or not at all.
type CommitActionType[S, In any] struct {
	typ *Type[S]
	def *CommitActionDefinition
}

// CommitActionDefinition is a commit action without its type parameters.
type CommitActionDefinition struct{ Name string }

// Committing is what a commit action is told.
type Committing[In any] struct {
	In         In
	MessageID  string // of the message whose turn commits; the same for every attempt
	Type       string // of the actor
	ActorID    string
	Sequence   int64 // the message's place in the actor's mailbox
	Attempt    int   // at the message, from 1
	Generation int64 // of the activation
}

// CommitAction adds a commit action to a type. Its name is for errors and logs, and no two actions of a program share
// one. Who performs it is said when the runtime opens, with the Action of the store's package: sqlite.Action,
// postgres.Action or mysql.Action.
func CommitAction[In, S any](t *Type[S], name string) *CommitActionType[S, In] {
	def := &CommitActionDefinition{Name: name}
	if err := checkName("commit action", name); err != nil {
		t.def.problem("%w", err)
	}
	if t.def.actions[name] != nil {
		t.def.problem("two commit actions are named %q", name)
	}
	t.def.actions[name] = def
	return &CommitActionType[S, In]{t, def}
}

// Stage has the action run in the turn's commit. Several run in the order of their staging. A mistake (arguments too
// large, or not JSON) fails the turn.
func (a *CommitActionType[S, In]) Stage(t *Turn[S], in In) {
	doc, err := EncodeDocument("commit action arguments", in, t.x.payloadLimit())
	t.x.stage(err, func() { t.x.Actions = append(t.x.Actions, ActionIntent{a.def.Name, doc}) })
}

// ActionIntent is a staged commit action.
type ActionIntent struct {
	Name      string
	Arguments json.RawMessage
}

// CommitExecutor performs the commit actions of one name on one kind of database.
type CommitExecutor struct {
	Name    string
	Dialect string // of the store whose transactions it takes

	def *CommitActionDefinition
	run func(ctx context.Context, tx Tx, a CommitAttempt) error
}

// CommitAttempt is a Committing with its arguments encoded.
type CommitAttempt struct {
	MessageID  string
	Type       string
	ActorID    string
	Sequence   int64
	Attempt    int
	Generation int64
	Arguments  json.RawMessage
}

// By makes an executor of a function that takes a store's transactions; applications use the Action of the store's
// package, which knows what those are.
func (a *CommitActionType[S, In]) By(dialect string, perform func(ctx context.Context, tx Tx, c Committing[In]) error) CommitExecutor {
	x := CommitExecutor{Name: a.def.Name, Dialect: dialect, def: a.def}
	if perform != nil {
		x.run = func(ctx context.Context, tx Tx, at CommitAttempt) error {
			var in In
			if err := DecodeDocument("commit action arguments", at.Arguments, &in); err != nil {
				return err
			}
			return perform(ctx, tx, Committing[In]{in, at.MessageID, at.Type, at.ActorID, at.Sequence, at.Attempt, at.Generation})
		}
	}
	return x
}

// Perform runs the action. A panic, and a runtime.Goexit, is returned as *Panicked.
func (x CommitExecutor) Perform(ctx context.Context, tx Tx, a CommitAttempt) error {
	_, err := apart(func() (any, error) { return nil, x.run(ctx, tx, a) })
	return err
}

// Fits says whether the executor performs def, with a store of this dialect.
func (x CommitExecutor) Fits(def *CommitActionDefinition, dialect string) error {
	switch {
	case x.def != def:
		return fmt.Errorf("commit action %q is performed for another actor type than the one that has it", x.Name)
	case x.run == nil:
		return fmt.Errorf("commit action %q is performed by a nil function", x.Name)
	case x.Dialect != dialect:
		return fmt.Errorf("commit action %q is performed for a database of kind %q, but the store is one of kind %q", x.Name, x.Dialect, dialect)
	}
	return nil
}
