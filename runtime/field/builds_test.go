package field

import (
	"context"
	"encoding/json"
	"sync"

	"github.com/lockstep-go/lockstep/actors"
	"github.com/lockstep-go/lockstep/runtime"
)

// outside is the world that effects act on: what was performed, by effect id.
type outside struct {
	mu        sync.Mutex
	performed map[string]string // line by effect id
}

func (o *outside) perform(_ context.Context, c actors.EffectCall[string]) (string, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.performed == nil {
		o.performed = map[string]string{}
	}
	o.performed[c.ID] = c.In
	return c.ID, nil
}

// lines are those that effects were performed for, each with how many effects did.
func (o *outside) lines() map[string]int {
	o.mu.Lock()
	defer o.mu.Unlock()
	all := map[string]int{}
	for _, line := range o.performed {
		all[line]++
	}
	return all
}

// olderCart is a cart as the build knows it that is being replaced.
type olderCart struct {
	Lines []string `json:"lines"`
	Rung  []string `json:"rung"`
}

// ledger is of a type that the newer build has dropped.
type ledger struct {
	Lines   []string `json:"lines"`
	Printed []string `json:"printed"`
}

// older is the build that is being replaced.
type older struct {
	cfg  runtime.Config
	add  *actors.MessageType[olderCart, string, int]
	note *actors.MessageType[ledger, string, int]

	carts   *actors.Type[olderCart]
	ledgers *actors.Type[ledger]
}

func defineOlder(world *outside) *older {
	carts := actors.Define("cart", func() olderCart { return olderCart{} })
	ledgers := actors.Define("ledger", func() ledger { return ledger{} })
	o := &older{
		add: actors.Message[string, int](carts, "add"), note: actors.Message[string, int](ledgers, "note"),
		carts: carts, ledgers: ledgers,
	}
	actors.Observable(carts, "lines", func(c olderCart) []string { return c.Lines })
	ring := actors.Message[string, actors.None](carts, "ring")
	o.add.Handle(func(c *olderCart, t *actors.Turn[olderCart], line string) (int, error) {
		c.Lines = append(c.Lines, line)
		ring.Schedule(t, actors.In(0), line, actors.Key(line))
		return len(c.Lines), nil
	})
	ring.Handle(func(c *olderCart, _ *actors.Turn[olderCart], line string) (actors.None, error) {
		c.Rung = append(c.Rung, line)
		return actors.None{}, nil
	})
	printing := actors.Effect[string, string](ledgers, "print")
	printed := actors.Message[actors.Done[string, string], actors.None](ledgers, "printed")
	o.note.Handle(func(l *ledger, t *actors.Turn[ledger], line string) (int, error) {
		l.Lines = append(l.Lines, line)
		printing.Emit(t, line)
		return len(l.Lines), nil
	})
	printed.Handle(func(l *ledger, _ *actors.Turn[ledger], in actors.Done[string, string]) (actors.None, error) {
		l.Printed = append(l.Printed, in.Args)
		return actors.None{}, nil
	})
	printing.Done(printed)
	o.cfg = hurried([]actors.AnyType{carts, ledgers}, printing.By(world.perform))
	return o
}

// newerCart is a cart as the build knows it that replaces the older one: with tags.
type newerCart struct {
	Lines   []string `json:"lines"`
	Rung    []string `json:"rung"`
	Tags    []string `json:"tags"`
	Stamped []string `json:"stamped"`
	Checked []string `json:"checked"`
}

// shelf is of a type that the older build does not know.
type shelf struct {
	Lines []string `json:"lines"`
}

// newer is the build that replaces the older one.
type newer struct {
	cfg runtime.Config
	add *actors.MessageType[newerCart, string, int]
	tag *actors.MessageType[newerCart, string, int]

	carts   *actors.Type[newerCart]
	shelves *actors.Type[shelf]
}

func defineNewer(world *outside) *newer {
	carts := actors.Define("cart", func() newerCart { return newerCart{Tags: []string{}, Stamped: []string{}, Checked: []string{}} })
	shelves := actors.Define("shelf", func() shelf { return shelf{} })
	carts.Migrate(1, func(doc json.RawMessage) (json.RawMessage, error) {
		var c newerCart
		if err := json.Unmarshal(doc, &c); err != nil {
			return nil, err
		}
		c.Tags, c.Stamped, c.Checked = []string{}, []string{}, []string{}
		return json.Marshal(c)
	})
	n := &newer{
		add: actors.Message[string, int](carts, "add"), tag: actors.Message[string, int](carts, "tag"),
		carts: carts, shelves: shelves,
	}
	actors.Observable(carts, "lines", func(c newerCart) []string { return c.Lines })
	actors.Shared(carts, "tags", func(c newerCart) []string { return c.Tags })
	ring := actors.Message[string, actors.None](carts, "ring")
	n.add.Handle(func(c *newerCart, t *actors.Turn[newerCart], line string) (int, error) {
		c.Lines = append(c.Lines, line)
		ring.Schedule(t, actors.In(0), line, actors.Key(line))
		return len(c.Lines), nil
	})
	ring.Handle(func(c *newerCart, _ *actors.Turn[newerCart], line string) (actors.None, error) {
		c.Rung = append(c.Rung, line)
		return actors.None{}, nil
	})
	n.tagging(world)
	return n
}

// tagging is what only the newer build does: a message, an effect, a reminder, and messages to a type of its own.
func (n *newer) tagging(world *outside) {
	put := actors.Message[string, actors.None](n.shelves, "put")
	put.Handle(func(s *shelf, _ *actors.Turn[shelf], line string) (actors.None, error) {
		s.Lines = append(s.Lines, line)
		return actors.None{}, nil
	})
	stamp := actors.Effect[string, string](n.carts, "stamp")
	stamped := actors.Message[actors.Done[string, string], actors.None](n.carts, "stamped")
	check := actors.Message[string, actors.None](n.carts, "check")
	n.tag.Handle(func(c *newerCart, t *actors.Turn[newerCart], line string) (int, error) {
		c.Tags = append(c.Tags, line)
		stamp.Emit(t, line)
		check.Schedule(t, actors.In(0), line, actors.Key(line))
		put.Send(t, n.shelves.Ref(t.ID()), line)
		return len(c.Tags), nil
	})
	stamped.Handle(func(c *newerCart, _ *actors.Turn[newerCart], in actors.Done[string, string]) (actors.None, error) {
		c.Stamped = append(c.Stamped, in.Args)
		return actors.None{}, nil
	})
	check.Handle(func(c *newerCart, _ *actors.Turn[newerCart], line string) (actors.None, error) {
		c.Checked = append(c.Checked, line)
		return actors.None{}, nil
	})
	stamp.Done(stamped)
	n.cfg = hurried([]actors.AnyType{n.carts, n.shelves}, stamp.By(world.perform))
}
