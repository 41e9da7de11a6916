package runtime

import "time"

// SetWall gives a runtime that does not run yet another wall clock.
func (rt *Runtime) SetWall(wall func() time.Time) { rt.wall = wall }

// KeepHouse is cfg for a process that keeps house every so often: tests in which days pass ask a server enough as it is.
func KeepHouse(cfg Config, every time.Duration) Config {
	cfg.house = every
	return cfg
}
