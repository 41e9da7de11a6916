//go:build unix

package crash

import (
	"cmp"
	"encoding/json"
	"math"
	"slices"
	"time"

	"github.com/anishathalye/porcupine"
)

// told is a call with everything that its caller was told about it, of all tries with one key.
type told struct {
	record
	begin, end int64 // end is the largest number where no result came
	answered   bool
	rejected   bool
	stored     bool
}

// evidence is all that is left when a round has been brought to rest.
type evidence struct {
	view    *view
	records []record
	stamps  []stamped
}

// judge checks a database at rest, with the outboxes empty, against what callers were told and what the outside world
// saw.
func judge(e evidence) []string {
	in := examine(e.view)
	calls := map[string]*told{}
	for _, r := range e.records {
		c := calls[r.Call]
		switch {
		case r.Kind == callLine && c == nil:
			calls[r.Call] = &told{record: r, begin: r.At, end: math.MaxInt64}
		case r.Kind == callLine:
			c.begin = min(c.begin, r.At)
		case r.Kind == endLine:
			c.hear(r)
		}
	}
	in.acknowledged(calls)
	in.outside(e.stamps)
	in.fences(e.records)
	in.rest()
	in.linear(calls)
	return in.list
}

func (c *told) hear(r record) {
	c.Message = cmp.Or(c.Message, r.Message)
	if r.Ending != unknown {
		c.Ending = r.Ending
	}
	switch r.Ending {
	case answered:
		c.answered, c.Value, c.end = true, r.Value, min(c.end, r.At)
	case rejected:
		c.rejected = true
	case stored:
		c.stored = true
	}
}

// acknowledged: nothing that a caller was told is otherwise, and no call was taken twice.
func (in *inventory) acknowledged(calls map[string]*told) {
	found := map[string]message{}
	for _, a := range in.actors {
		for _, m := range a.messages {
			if m.Origin != "client" {
				continue
			}
			name := in.callOf(m.Operation, m.Arguments)
			if first, twice := found[name]; twice {
				in.add("%s: call %s was taken twice, as %d and %d", a.name, name, first.Sequence, m.Sequence)
			}
			found[name] = m
			if c := calls[name]; c != nil && (c.Type+"/"+c.Actor != a.name || c.Op != m.Operation) {
				in.add("%s: call %s was for %s/%s to %s", a.name, name, c.Type, c.Actor, c.Op)
			}
		}
	}
	for name, c := range calls {
		m, there := found[name]
		switch {
		case (c.answered || c.rejected || c.stored) && !there:
			in.add("call %s to %s/%s was acknowledged (%s) and is lost", name, c.Type, c.Actor, c.Ending)
		case c.Message != "" && there && c.Message != m.ID:
			in.add("call %s is message %s, its caller was told %s", name, m.ID, c.Message)
		case c.answered && m.Status != "completed", c.rejected && m.Status != "rejected":
			in.add("call %s was answered (rejected: %v) and is %s", name, c.rejected, m.Status)
		case c.answered && result(m) != c.Value:
			in.add("call %s was answered %d, the result is %s", name, c.Value, m.Result)
		}
	}
}

func result(m message) (n int) {
	_ = json.Unmarshal([]byte(m.Result), &n) // those without a number are answered 0
	return n
}

// outside: each effect was performed, again only with its own id, and none that no committed turn asked for.
func (in *inventory) outside(all []stamped) {
	performed := map[string]string{}
	for _, s := range all {
		if id, again := performed[s.Call]; again && id != s.Effect {
			in.add("the effect of %s was performed as %s and as %s", s.Call, id, s.Effect)
		}
		performed[s.Call] = s.Effect
	}
	for _, a := range in.actors {
		for _, c := range a.notary.Asked {
			switch id, ok := performed[c]; {
			case !ok:
				in.add("%s: the effect of %s was never performed", a.name, c)
			case a.notary.Stamps[c] != id:
				in.add("%s: the effect of %s is told as %q, and was performed as %s", a.name, c, a.notary.Stamps[c], id)
			}
			delete(performed, c)
		}
	}
	for c := range performed {
		in.add("an effect of %s was performed, which no committed turn asked for", c)
	}
}

// fences: whoever ends a turn holds the newest lease that its message, or an earlier one, was ever claimed under; and
// a turn ends once.
func (in *inventory) fences(all []record) {
	type place struct {
		instance string
		sequence int64
	}
	newest := map[place]int64{}
	commits := map[place]record{}
	for _, r := range all {
		at := place{r.Instance, r.Sequence}
		switch r.Kind {
		case claimLine:
			newest[at] = max(newest[at], r.Generation)
		case commitLine:
			if first, twice := commits[at]; twice {
				in.add("%s: message %d was committed twice, by generations %d and %d", in.nameOf(at.instance), at.sequence, first.Generation, r.Generation)
			}
			commits[at] = r
		}
	}
	for _, r := range all {
		if r.Kind != commitLine && r.Kind != failureLine {
			continue
		}
		from := r.Sequence
		if r.Kind == failureLine {
			from-- // the message itself is claimed again, by whoever comes next
		}
		for sequence := from; sequence > 0 && sequence > from-50; sequence-- {
			if g := newest[place{r.Instance, sequence}]; g > r.Generation {
				in.add("%s: a stale %s of message %d by generation %d, when message %d had been claimed by generation %d",
					in.nameOf(r.Instance), r.Kind, r.Sequence, r.Generation, sequence, g)
				break
			}
		}
	}
}

func (in *inventory) nameOf(instance string) string {
	if a := in.byID[instance]; a != nil {
		return a.name
	}
	return instance
}

// rest: nothing is left to do.
func (in *inventory) rest() {
	if n := len(in.view.Sends) + len(in.view.Effects) + len(in.view.Reminders); n > 0 {
		in.add("at rest there are %d rows in outboxes", n)
	}
	for _, a := range in.actors {
		if a.Head != a.Next {
			in.add("%s: at rest %d messages wait", a.name, a.Next-a.Head)
		}
	}
}

// operation is a call to a counter, as the model sees it: what was asked, and what came of it.
type operation struct {
	counter string
	by      int // 0 reads
}

// counting is what a counter may answer: the sum so far.
var counting = porcupine.Model{
	Partition: func(history []porcupine.Operation) (parts [][]porcupine.Operation) {
		by := map[string][]porcupine.Operation{}
		for _, o := range history {
			name := o.Input.(operation).counter
			by[name] = append(by[name], o)
		}
		for _, part := range by {
			parts = append(parts, part)
		}
		return parts
	},
	Init: func() any { return 0 },
	Step: func(state, input, output any) (bool, any) {
		n := state.(int) + input.(operation).by
		return output.(int) == n, n
	},
}

// linear: there is an order of all calls to a counter that explains every answer, in which a call that ended before
// another began comes first. Of calls whose end nobody heard the database knows the result, and they may have taken
// effect at any time after they began.
func (in *inventory) linear(calls map[string]*told) {
	var history []porcupine.Operation
	for _, a := range in.actors {
		if a.Type != "counter" {
			continue
		}
		for _, m := range a.messages {
			c := calls[in.callOf(m.Operation, m.Arguments)]
			if c == nil || m.Status != "completed" {
				continue
			}
			out := result(m)
			if c.answered {
				out = c.Value
			}
			history = append(history, porcupine.Operation{Input: operation{a.name, c.By}, Call: c.begin, Output: out, Return: c.end})
		}
	}
	slices.SortFunc(history, func(a, b porcupine.Operation) int { return cmp.Compare(a.Call, b.Call) })
	if got := porcupine.CheckOperationsTimeout(counting, history, time.Minute); got != porcupine.Ok {
		in.add("the history of %d calls to counters is not linearizable: %s", len(history), got)
	}
}
