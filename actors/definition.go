package actors

import (
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"runtime/debug"
	"strings"
)

// Definition is an actor type without its type parameter: what an engine and the views need of it. Applications use
// Type. It is read-only once a runtime has opened with it.
type Definition struct {
	Name string

	stateType   reflect.Type
	aliased     bool // state holds maps, slices or pointers, so a reader could change it
	fresh       func() any
	operations  map[string]*Operation
	observables []*Projection
	effects     map[string]*EffectDefinition
	actions     map[string]*CommitActionDefinition
	steps       map[int]MigrationStep
	activate    func(any, *Activation) error
	deactivate  func(any)
	perViewer   bool
	problems    []error
}

// Operation is a message or a query without its type parameters.
type Operation struct {
	Name     string
	ReadOnly bool

	input   reflect.Type
	decode  func(json.RawMessage) (any, error)
	perform func(state any, x *Execution, in any) (any, error)
}

// Projection is an observable without its type parameters.
type Projection struct {
	Name   string
	Shared bool // its value may be stored and sent to every subscriber

	value func(state any) any
}

// MigrationStep turns a state of one version into one of the next.
type MigrationStep func(state json.RawMessage) (json.RawMessage, error)

// AnyType is what Type is for every state.
type AnyType interface{ Definition() *Definition }

// errorf is fmt.Errorf behind the type's name, which is not checked yet and may hold a percent sign.
func (d *Definition) errorf(format string, args ...any) error {
	return fmt.Errorf("%s: "+format, append([]any{d.Name}, args...)...)
}

func (d *Definition) problem(format string, args ...any) {
	d.problems = append(d.problems, d.errorf(format, args...))
}

// Check returns every mistake made while the type was defined, joined; an engine calls it when it opens.
func (d *Definition) Check() error {
	problems := append([]error(nil), d.problems...)
	report := func(format string, args ...any) { problems = append(problems, d.errorf(format, args...)) }
	for _, op := range d.operations {
		if op.perform == nil {
			report("message %q has no handler: call Handle in init", op.Name)
		}
	}
	for v := 1; v < d.StateVersion(); v++ {
		if d.steps[v] == nil {
			report("no migration from state version %d, though one from %d exists", v, d.StateVersion()-1)
		}
	}
	if err := d.checkFresh(); err != nil {
		problems = append(problems, err)
	}
	return errors.Join(problems...)
}

// checkFresh says whether a fresh state survives being stored.
func (d *Definition) checkFresh() (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("%s: making or storing a fresh state panicked: %v", d.Name, p)
		}
	}()
	fresh := d.fresh()
	doc, err := EncodeDocument("fresh state", fresh, 5<<20)
	if err != nil {
		return fmt.Errorf("%s: %w", d.Name, err)
	}
	again := reflect.New(d.stateType).Interface()
	if err := DecodeDocument("fresh state", doc, again); err != nil {
		return fmt.Errorf("%s: %w", d.Name, err)
	}
	if !reflect.DeepEqual(fresh, again) {
		return fmt.Errorf("%s: a fresh state is not preserved by JSON: %s comes back as another value (unexported fields, json:\"-\", omitempty on a non-nil empty map, or a nil slice or map that JSON cannot tell?)", d.Name, doc)
	}
	return nil
}

// StateVersion is one more than the number of migration steps.
func (d *Definition) StateVersion() int {
	v := 1
	for from := range d.steps {
		v = max(v, from+1)
	}
	return v
}

// Operation finds a message or query by name, or nil.
func (d *Definition) Operation(name string) *Operation { return d.operations[name] }

// Observables are the type's observables in the order of their definition.
func (d *Definition) Observables() []*Projection { return d.observables }

// Effects are the effects that the type can emit.
func (d *Definition) Effects() map[string]*EffectDefinition { return d.effects }

// CommitActions are the commit actions that the type can stage.
func (d *Definition) CommitActions() map[string]*CommitActionDefinition { return d.actions }

// MarkPerViewer says that something shown of this type depends on who looks, so that every commit which changes
// state is broadcast. Package views calls it while the program initializes.
func (d *Definition) MarkPerViewer() { d.perViewer = true }

// PerViewer says whether MarkPerViewer was called.
func (d *Definition) PerViewer() bool { return d.perViewer }

// Aliased says whether state holds maps, slices or pointers, so that a reader could change what it was given.
func (d *Definition) Aliased() bool { return d.aliased }

// Load turns a stored state into a value (*S): migrated to this build's version, decoded into zero; nil is the fresh
// state. State of a newer version is refused with *StateTooNew.
func (d *Definition) Load(version int, stored json.RawMessage) (state any, err error) {
	defer catch(&err)
	if stored == nil {
		return d.fresh(), nil
	}
	known := d.StateVersion()
	if version > known {
		return nil, &StateTooNew{d.Name, version, known}
	}
	for v := version; v < known; v++ {
		step := d.steps[v]
		if step == nil {
			return nil, fmt.Errorf("%s: no migration from state version %d", d.Name, v)
		}
		if stored, err = step(stored); err != nil {
			return nil, fmt.Errorf("%s: migrate state from version %d: %w", d.Name, v, err)
		}
		if err := CheckDocument("migrated state", stored, 64<<20); err != nil {
			return nil, fmt.Errorf("%s: migrate state from version %d: %w", d.Name, v, err)
		}
	}
	state = reflect.New(d.stateType).Interface()
	if err := DecodeDocument("state", stored, state); err != nil {
		return nil, fmt.Errorf("%s: %w", d.Name, err)
	}
	return state, nil
}

// Activation is what an OnActivate hook is told.
type Activation struct {
	ID       string
	Revision int64
}

// Activate runs the activation hook, if any.
func (d *Definition) Activate(state any, a *Activation) (err error) {
	if d.activate == nil {
		return nil
	}
	defer catch(&err)
	return d.activate(state, a)
}

// Deactivates says whether there is a deactivation hook.
func (d *Definition) Deactivates() bool { return d.deactivate != nil }

// Deactivate runs the deactivation hook, if any; its panics are returned.
func (d *Definition) Deactivate(state any) (err error) {
	if d.deactivate == nil {
		return nil
	}
	defer catch(&err)
	d.deactivate(state)
	return nil
}

// Decode reads an operation's stored arguments.
func (o *Operation) Decode(arguments json.RawMessage) (in any, err error) {
	defer catch(&err)
	return o.decode(arguments)
}

// Perform runs the operation's handler. A panic, and a runtime.Goexit, is returned as *Panicked.
func (o *Operation) Perform(state any, x *Execution, in any) (out any, err error) {
	return apart(func() (any, error) { return o.perform(state, x, in) })
}

// apart calls work on a goroutine of its own, which a runtime.Goexit may end without ending a worker.
func apart(work func() (any, error)) (out any, err error) {
	done := make(chan struct{})
	finished := false
	go func() {
		defer close(done)
		defer func() {
			if p := recover(); p != nil {
				err = newPanicked(p)
			} else if !finished {
				err = newPanicked("runtime.Goexit")
			}
		}()
		out, err = work()
		finished = true
	}()
	<-done
	return out, err
}

// Value computes the observable for a state (*S).
func (p *Projection) Value(state any) (v any, err error) {
	defer catch(&err)
	return p.value(state), nil
}

// catch turns a panic into an error.
func catch(err *error) {
	if p := recover(); p != nil {
		*err = newPanicked(p)
	}
}

func newPanicked(p any) *Panicked {
	return &Panicked{CleanText(panicText(p), 8<<10), CleanText(string(debug.Stack()), 8<<10)}
}

func panicText(p any) (text string) {
	defer func() {
		if recover() != nil {
			text = fmt.Sprintf("a %T whose text panics", p)
		}
	}()
	return fmt.Sprint(p)
}

// CleanText makes any text storable everywhere: valid UTF-8, no control characters but newline and tab, at most limit
// bytes.
func CleanText(s string, limit int) string {
	s = strings.ToValidUTF8(s, "\uFFFD")
	s = strings.Map(func(r rune) rune {
		if r < ' ' && r != '\n' && r != '\t' || r == 0x7f {
			return '\uFFFD'
		}
		return r
	}, s)
	if len(s) > limit {
		s = strings.ToValidUTF8(s[:limit], "")
	}
	return s
}

// aliases says whether values of t can share memory with a copy of themselves.
func aliases(t reflect.Type, depth int) bool {
	switch t.Kind() {
	case reflect.Map, reflect.Slice, reflect.Pointer, reflect.Interface, reflect.Chan, reflect.Func, reflect.UnsafePointer:
		return true
	case reflect.Array:
		return aliases(t.Elem(), depth+1)
	case reflect.Struct:
		for field := range t.Fields() {
			if aliases(field.Type, depth+1) {
				return true
			}
		}
	}
	return false
}
