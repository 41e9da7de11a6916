package runtime

import (
	"errors"
	"fmt"

	"github.com/lockstep-go/lockstep/runtime/store"
)

// DocumentLimit is Open where the database could not take documents as large as the Config allows (D08).
type DocumentLimit struct {
	Field   string // of Config: "PayloadBytes", "ResultBytes" or "StateBytes"
	Bytes   int    // its value
	Largest int    // what the database takes
	Setting string // of the database, that bounds it
}

func (e *DocumentLimit) Error() string {
	return fmt.Sprintf("%s is %d, but the database takes documents of at most %d bytes (%s): raise the one or lower the other", e.Field, e.Bytes, e.Largest, e.Setting)
}

// SmallPool is a warning: the store works on the application's pool, and the turns and effects that may run at once could
// hold every connection of it (D15). Where they do for longer than a lease, on a database on which the store has no
// connection beside that pool, their leases end.
type SmallPool struct {
	Connections int // of the pool
	Handlers    int // Config.Workers and Config.EffectWorkers
}

func (e *SmallPool) Error() string {
	return fmt.Sprintf("the application's pool has %d connections, and %d turns and effects (Workers, EffectWorkers) may hold them at once while leases wait: give it more than that, lower those, or open the store with connections of its own",
		e.Connections, e.Handlers)
}

// fits refuses limits that the database could not keep.
func (rt *Runtime) fits() error {
	db, ok := rt.store.(store.Bounded)
	if !ok {
		return nil
	}
	var problems []error
	largest, setting := db.Largest()
	for _, limit := range []struct {
		field string
		bytes int
	}{{"PayloadBytes", rt.cfg.PayloadBytes}, {"ResultBytes", rt.cfg.ResultBytes}, {"StateBytes", rt.cfg.StateBytes}} {
		if limit.bytes > largest {
			problems = append(problems, &DocumentLimit{limit.field, limit.bytes, largest, setting})
		}
	}
	return errors.Join(problems...)
}

// smallPool is what is to be said of the pool that the store works on, or nil.
func (rt *Runtime) smallPool() *SmallPool {
	db, ok := rt.store.(store.Sharing)
	if !ok {
		return nil
	}
	handlers := rt.cfg.Workers + rt.cfg.EffectWorkers
	if n := db.SharedPool(); n > 0 && n <= handlers {
		return &SmallPool{n, handlers}
	}
	return nil
}
