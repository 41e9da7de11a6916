package views

import (
	"bytes"
	"encoding/json"
	"fmt"

	"github.com/lockstep-go/lockstep/actors"
)

// loaded is one snapshot, decoded, with the observables computed from it so far. It belongs to one goroutine.
type loaded struct {
	def    *actors.Definition
	snap   actors.Snapshot
	state  any             // *S
	before json.RawMessage // the state's encoding before anything read it; nil where reading cannot change it
	values map[*actors.Projection]any
}

func load(def *actors.Definition, snap actors.Snapshot) (*loaded, error) {
	state, err := def.Load(snap.Version, snap.State)
	if err != nil {
		return nil, err
	}
	return &loaded{def: def, snap: snap, state: state}, nil
}

// value is the observable's value, computed once.
func (l *loaded) value(p *actors.Projection) (any, error) {
	if v, ok := l.values[p]; ok {
		return v, nil
	}
	if l.def.Aliased() && l.before == nil {
		doc, err := l.encode(l.state)
		if err != nil {
			return nil, err
		}
		l.before = doc
	}
	v, err := p.Value(l.state)
	if err != nil {
		return nil, fmt.Errorf("observable %s.%s: %w", l.def.Name, p.Name, err)
	}
	if l.values == nil {
		l.values = map[*actors.Projection]any{}
	}
	l.values[p] = v
	return v, nil
}

func (l *loaded) encode(state any) (json.RawMessage, error) {
	doc, err := actors.EncodeDocument("state of "+l.def.Name, state, 64<<20)
	return doc, err
}

// unchanged returns a *actors.QueryChangedState where the state is not what it was before it was read, naming the
// observable that did it, or reader, which was shown what the observables returned.
func (l *loaded) unchanged(reader string) error {
	if l.before == nil {
		return nil
	}
	after, err := l.encode(l.state)
	if err == nil && bytes.Equal(after, l.before) {
		return nil
	}
	for p := range l.values {
		again, err := load(l.def, l.snap)
		if err != nil {
			return err
		}
		if _, err := again.value(p); err != nil {
			return err
		}
		if after, err := l.encode(again.state); err != nil || !bytes.Equal(after, again.before) {
			return &actors.QueryChangedState{Type: l.def.Name, Operation: p.Name}
		}
	}
	return &actors.QueryChangedState{Type: l.def.Name, Operation: reader}
}
