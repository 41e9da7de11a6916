package actors

import (
	"reflect"
)

// Type is one kind of actor, whose state is an S.
type Type[S any] struct{ def *Definition }

// Define makes an actor type. Its name is stored with every actor and never changes: a letter followed by letters,
// digits and underscores, at most MaxNameBytes bytes. The function fresh makes the state of an actor that has none; it must be such
// that JSON preserves it. Mistakes are reported when a runtime opens with the type.
func Define[S any](name string, fresh func() S) *Type[S] {
	state := reflect.TypeFor[S]()
	d := &Definition{
		Name: name, stateType: state, aliased: aliases(state, 0),
		fresh:      func() any { s := fresh(); return &s },
		operations: map[string]*Operation{},
		effects:    map[string]*EffectDefinition{},
		actions:    map[string]*CommitActionDefinition{},
		steps:      map[int]MigrationStep{},
	}
	if err := checkName("actor type", name); err != nil {
		d.problems = append(d.problems, err)
	}
	if state.Kind() != reflect.Struct {
		d.problem("state is a %v, must be a struct", state)
	}
	return &Type[S]{d}
}

// Definition is the type without its type parameter.
func (t *Type[S]) Definition() *Definition { return t.def }

// Name is the stored name.
func (t *Type[S]) Name() string { return t.def.Name }

// Ref addresses one actor of the type. The id is checked when it is used: 1 to MaxIDBytes bytes of valid UTF-8
// without control characters, compared byte by byte.
func (t *Type[S]) Ref(id string) Ref[S] { return Ref[S]{t, id} }

// Migrate adds the step from state version from to from+1. The current version is one more than the highest from; it
// is 1 without steps. A stored state is migrated one step at a time when its actor is activated, and stored so by the
// next commit. Steps of published versions stay for ever: an actor may sleep for years.
func (t *Type[S]) Migrate(from int, step MigrationStep) {
	switch {
	case from < 1:
		t.def.problem("migration from state version %d: versions begin at 1", from)
	case t.def.steps[from] != nil:
		t.def.problem("two migrations from state version %d", from)
	default:
		t.def.steps[from] = step
	}
}

// OnActivate sets a hook that runs after a state was loaded and migrated, and again after a failed or rejected turn
// restored it. What it changes is stored with the next commit. An error keeps the actor from being activated here; the message waits and costs no attempt.
func (t *Type[S]) OnActivate(hook func(*S, *Activation) error) {
	if t.def.activate != nil {
		t.def.problem("two OnActivate hooks")
	}
	t.def.activate = func(state any, a *Activation) error { return hook(state.(*S), a) }
}

// OnDeactivate sets a hook that runs when this process lets go of an idle actor or shuts down; the actor may be active
// elsewhere before it returns. It is best effort and stores nothing; it does not run at Destroy or after a crash.
func (t *Type[S]) OnDeactivate(hook func(*S)) {
	if t.def.deactivate != nil {
		t.def.problem("two OnDeactivate hooks")
	}
	t.def.deactivate = func(state any) { hook(state.(*S)) }
}

func (d *Definition) addOperation(op *Operation) {
	if err := checkName("operation", op.Name); err != nil {
		d.problem("%w", err)
	}
	if d.operations[op.Name] != nil {
		d.problem("two operations are named %q", op.Name)
		return
	}
	d.operations[op.Name] = op
}
