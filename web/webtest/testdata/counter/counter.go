// Package counter is the smallest live page that webtest's own tests open.
package counter

import "github.com/lockstep-go/lockstep/actors"

// Counter counts.
type Counter struct {
	Value int `json:"value"`
}

// Step is the input of Count.
type Step struct {
	By int `json:"by"`
}

// Count adds a step.
func (c *Counter) Count(_ *actors.Turn[Counter], s Step) (int, error) {
	if s.By == 0 {
		return 0, actors.Reject("no_step", "Zero changes nothing.")
	}
	c.Value += s.By
	return c.Value, nil
}

// The protocol of counters.
var (
	Counters = actors.Define("counter", func() Counter { return Counter{} })
	Count    = actors.Message[Step, int](Counters, "count")
	Value    = actors.Shared(Counters, "value", func(c Counter) int { return c.Value })
)

func init() { Count.Handle((*Counter).Count) }
