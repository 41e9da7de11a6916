package actors_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/lockstep-go/lockstep/actors"
)

// notebook is a type for mistakes in wiring: each test defines it anew.
type notebook struct {
	Lines map[string]int `json:"lines"`
}

var (
	notebooks = newNotebooks()
	note      = actors.Message[string, actors.None](notebooks, "note")
)

func newNotebooks() *actors.Type[notebook] {
	return actors.Define("notebook", func() notebook { return notebook{Lines: map[string]int{}} })
}

func noteHandler(*notebook, *actors.Turn[notebook], string) (actors.None, error) {
	return actors.None{}, nil
}

// What Go cannot refuse when it compiles is refused when a runtime opens, with the culprit's name.
func TestCheckNamesEachMistake(t *testing.T) {
	for _, c := range []struct {
		name    string
		wire    func(*actors.Type[notebook])
		culprit string
	}{
		{"nothing wrong", func(n *actors.Type[notebook]) {
			actors.Message[string, actors.None](n, "note").Handle(noteHandler)
			actors.Bare(n, "wipe").Handle(func(*notebook, *actors.Turn[notebook]) error { return nil })
		}, ""},
		{"message without a handler", func(n *actors.Type[notebook]) { actors.Message[string, actors.None](n, "note") }, `message "note" has no handler`},
		{"bare message without a handler", func(n *actors.Type[notebook]) { actors.Bare(n, "wipe") }, `message "wipe" has no handler`},
		{"two handlers", func(n *actors.Type[notebook]) {
			m := actors.Message[string, actors.None](n, "note")
			m.Handle(noteHandler)
			m.Handle(noteHandler)
		}, `message "note" has two handlers`},
		{"nil handler", func(n *actors.Type[notebook]) { actors.Message[string, actors.None](n, "note").Handle(nil) }, `message "note"`},
		{"two messages of one name", func(n *actors.Type[notebook]) {
			actors.Message[string, actors.None](n, "note").Handle(noteHandler)
			actors.Message[string, actors.None](n, "note").Handle(noteHandler)
		}, `two operations are named "note"`},
		{"message and query of one name", func(n *actors.Type[notebook]) {
			actors.Message[string, actors.None](n, "note").Handle(noteHandler)
			actors.Query(n, "note", func(notebook) int { return 0 })
		}, `two operations are named "note"`},
		{"two observables of one name", func(n *actors.Type[notebook]) {
			actors.Shared(n, "size", func(notebook) int { return 0 })
			actors.Observable(n, "size", func(notebook) int { return 0 })
		}, `two observables are named "size"`},
		{"two effects of one name", func(n *actors.Type[notebook]) {
			actors.Effect[int, int](n, "print")
			actors.Effect[int, int](n, "print")
		}, `two effects are named "print"`},
		{"outcome of another actor's type value", func(n *actors.Type[notebook]) {
			other := newNotebooks()
			heard := actors.Message[actors.Done[int, int], actors.None](other, "heard")
			actors.Effect[int, int](n, "print").Done(heard)
		}, `effect "print": its outcome "heard"`},
		{"two messages for one outcome", func(n *actors.Type[notebook]) {
			heard := actors.Message[actors.Failed[int], actors.None](n, "heard")
			heard.Handle(func(*notebook, *actors.Turn[notebook], actors.Failed[int]) (actors.None, error) {
				return actors.None{}, nil
			})
			e := actors.Effect[int, int](n, "print")
			e.Failed(heard)
			e.Failed(heard)
		}, `effect "print" has two messages for one outcome`},
		{"hole in the migrations", func(n *actors.Type[notebook]) { n.Migrate(3, nil2nil); n.Migrate(1, nil2nil) }, "no migration from state version 2"},
		{"migration from version 0", func(n *actors.Type[notebook]) { n.Migrate(0, nil2nil) }, "from state version 0"},
		{"two migrations of one version", func(n *actors.Type[notebook]) { n.Migrate(1, nil2nil); n.Migrate(1, nil2nil) }, "two migrations from state version 1"},
		{"two activation hooks", func(n *actors.Type[notebook]) {
			n.OnActivate(func(*notebook, *actors.Activation) error { return nil })
			n.OnActivate(func(*notebook, *actors.Activation) error { return nil })
		}, "two OnActivate hooks"},
		{"two deactivation hooks", func(n *actors.Type[notebook]) {
			n.OnDeactivate(func(*notebook) {})
			n.OnDeactivate(func(*notebook) {})
		}, "two OnDeactivate hooks"},
	} {
		t.Run(c.name, func(t *testing.T) {
			n := newNotebooks()
			c.wire(n)
			expectProblem(t, n.Definition().Check(), c.culprit)
		})
	}
}

func expectProblem(t *testing.T, err error, culprit string) {
	t.Helper()
	switch {
	case culprit == "" && err != nil:
		t.Errorf("refused: %v", err)
	case culprit != "" && (err == nil || !strings.Contains(err.Error(), culprit)):
		t.Errorf("got %v, want it to say %q", err, culprit)
	case err != nil && !strings.Contains(err.Error(), "notebook"):
		t.Errorf("%v does not name the type", err)
	}
}

func TestCheckJoinsAllMistakes(t *testing.T) {
	n := newNotebooks()
	actors.Bare(n, "wipe")
	actors.Bare(n, "tear")
	n.Migrate(0, nil2nil)
	err := n.Definition().Check()
	for _, culprit := range []string{"wipe", "tear", "version 0"} {
		expectProblem(t, err, culprit)
	}
}

func nil2nil(state json.RawMessage) (json.RawMessage, error) { return state, nil }

// A fresh state that JSON does not preserve would be another one after its first commit.
func TestCheckFreshState(t *testing.T) {
	type hidden struct{ n int }
	type left struct {
		N int `json:"-"`
	}
	type empties struct {
		Lines map[string]int `json:"lines,omitempty"`
	}
	type moment struct {
		At time.Time `json:"at"`
	}
	type nested struct {
		Boxes []box `json:"boxes"`
	}
	for _, c := range []struct {
		name    string
		err     error
		culprit string
	}{
		{"unexported field", freshOf(hidden{1}), "not preserved"},
		{"field that JSON leaves out", freshOf(left{1}), "not preserved"},
		{"empty map under omitempty", freshOf(empties{map[string]int{}}), "not preserved"},
		{"empty slice", freshOf(nested{[]box{}}), ""},
		{"nil slice", freshOf(nested{}), ""},
		{"nested values", freshOf(nested{[]box{{Total: 1, Tags: []string{"a"}}}}), ""},
		{"zero time", freshOf(moment{}), ""},
		{"fixed time", freshOf(moment{time.Date(2026, 1, 2, 3, 4, 5, 6, time.UTC)}), ""},
		{"NUL in a string", freshOf(box{Tags: []string{"\x00"}}), "U+0000"},
		{"not a struct", actors.Define("notebook", func() map[string]int { return map[string]int{} }).Definition().Check(), "must be a struct"},
		{"fresh panics", actors.Define("notebook", func() box { panic("no paper") }).Definition().Check(), "no paper"},
		{"no fresh", actors.Define[box]("notebook", nil).Definition().Check(), "fresh state"},
	} {
		t.Run(c.name, func(t *testing.T) { expectProblem(t, c.err, c.culprit) })
	}
}

func freshOf[S any](s S) error {
	return actors.Define("notebook", func() S { return s }).Definition().Check()
}

func TestAliased(t *testing.T) {
	type flat struct {
		N    int
		Name string
		At   [3]float64
		In   struct{ Open bool }
	}
	type deep struct {
		In [2]struct{ Lines map[string]int }
	}
	if actors.Define("flat", func() flat { return flat{} }).Definition().Aliased() {
		t.Error("a flat state cannot be changed through a copy")
	}
	if !actors.Define("deep", func() deep { return deep{} }).Definition().Aliased() {
		t.Error("a map inside an array inside a struct can be changed through a copy")
	}
	if !actors.Define("moment", func() struct{ At time.Time } { return struct{ At time.Time }{} }).Definition().Aliased() {
		t.Error("a time holds a pointer to its zone; it must be taken as shared rather than missed")
	}
}
