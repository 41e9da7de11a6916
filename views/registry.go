package views

import (
	"errors"
	"fmt"
	"sync"

	"github.com/lockstep-go/lockstep/actors"
)

// registry holds the program's components by their actor type.
type registry struct {
	mu       sync.RWMutex
	byType   map[*actors.Definition]map[string]*Component
	problems []error
}

var registered = &registry{}

// Check returns every mistake made while components were defined, joined. NewRenderer calls it.
func Check() error {
	registered.mu.RLock()
	defer registered.mu.RUnlock()
	return errors.Join(registered.problems...)
}

func (r *registry) add(c *Component) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.byType == nil {
		r.byType = map[*actors.Definition]map[string]*Component{}
	}
	if r.byType[c.def] == nil {
		r.byType[c.def] = map[string]*Component{}
	}
	if r.byType[c.def][c.name] != nil {
		r.problems = append(r.problems, fmt.Errorf("%s: two components are named %q", c.def.Name, c.name))
		return
	}
	r.byType[c.def][c.name] = c
}

func (r *registry) problem(format string, args ...any) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.problems = append(r.problems, fmt.Errorf(format, args...))
}

func (r *registry) find(def *actors.Definition, name string) *Component {
	r.mu.RLock()
	defer r.mu.RUnlock()
	return r.byType[def][name]
}

// checkName says whether a component's name is a letter followed by letters, digits and underscores.
func checkName(name string) bool {
	if name == "" || len(name) > actors.MaxNameBytes || !isLetter(name[0]) {
		return false
	}
	for _, c := range []byte(name) {
		if !isLetter(c) && c != '_' && (c < '0' || c > '9') {
			return false
		}
	}
	return true
}
