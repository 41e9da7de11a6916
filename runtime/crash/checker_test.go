//go:build unix

package crash

import (
	"encoding/json"
	"fmt"
	"slices"

	"github.com/lockstep-go/lockstep/actors"
)

// findings are broken promises, in words. Only the first of each kind are kept whole.
type findings struct{ list []string }

func (f *findings) add(format string, args ...any) {
	if len(f.list) < 200 {
		f.list = append(f.list, fmt.Sprintf(format, args...))
	}
}

// actor is an instance with its history and its state.
type actor struct {
	instance
	name     string
	messages []message
	journal  journal
	account  account
	notary   notary
	ticker   ticker
}

// inventory is a view, decoded.
type inventory struct {
	findings
	view   *view
	actors []*actor
	byID   map[string]*actor
	byName map[string]*actor
}

// examine checks what must hold at every moment, whoever was killed: order, journals, and outboxes that hold exactly
// what the states imply.
func examine(v *view) *inventory {
	in := &inventory{view: v, byID: map[string]*actor{}, byName: map[string]*actor{}}
	for _, i := range v.Instances {
		a := &actor{instance: i, name: i.Type + "/" + i.Actor}
		if in.byName[a.name] != nil {
			in.add("%s has two instances", a.name)
		}
		in.actors = append(in.actors, a)
		in.byID[i.ID], in.byName[a.name] = a, a
		in.decode(a)
	}
	for _, m := range v.Messages {
		if a := in.byID[m.Instance]; a != nil {
			a.messages = append(a.messages, m)
		} else {
			in.add("message %s is of no instance", m.ID)
		}
	}
	for _, id := range v.Dead {
		in.add("message %s was given up, though there is no limit of attempts", id)
	}
	for _, a := range in.actors {
		in.order(a)
		in.applied(a)
	}
	in.transfers()
	in.stamps()
	in.ledger()
	in.alarms()
	return in
}

func (in *inventory) decode(a *actor) {
	if a.State == "" {
		return
	}
	into := map[string]any{"account": &a.account, "notary": &a.notary, "ticker": &a.ticker}[a.Type]
	err := json.Unmarshal([]byte(a.State), &a.journal)
	if into != nil && err == nil {
		err = json.Unmarshal([]byte(a.State), into)
	}
	if err != nil {
		in.add("%s: its state cannot be read: %v", a.name, err)
	}
}

// order: sequences without gap, finished before the head and live from there on.
func (in *inventory) order(a *actor) {
	if int64(len(a.messages)) != a.Next-1 {
		in.add("%s has %d messages, the next sequence is %d", a.name, len(a.messages), a.Next)
	}
	for i, m := range a.messages {
		if m.Sequence != int64(i)+1 {
			in.add("%s: message %d of its mailbox has the sequence %d", a.name, i+1, m.Sequence)
			return
		}
		if live := m.Status == "live"; live != (m.Sequence >= a.Head) {
			in.add("%s: message %d is %s, the head is %d", a.name, m.Sequence, m.Status, a.Head)
		}
	}
}

// applied: the state has every completed message, once, in order, and nothing else.
func (in *inventory) applied(a *actor) {
	var want []entry
	for _, m := range a.messages {
		if m.Status == "completed" && m.Operation != value.Name() {
			want = append(want, entry{Sequence: m.Sequence, Message: m.ID, Call: in.callOf(m.Operation, m.Arguments)})
		}
	}
	got := a.journal.Applied
	for i := range max(len(want), len(got)) {
		switch {
		case i >= len(got):
			in.add("%s: message %d is completed and its state does not have it", a.name, want[i].Sequence)
		case i >= len(want):
			in.add("%s: its state has message %d, which is not completed", a.name, got[i].Sequence)
		case want[i] != got[i]:
			in.add("%s: applied as %d-th is %+v, completed %+v", a.name, i+1, got[i], want[i])
		default:
			continue
		}
		break
	}
	if n := len(want); n > 0 && a.Revision != want[n-1].Sequence {
		in.add("%s has the revision %d, the last that changed its state is %d", a.name, a.Revision, want[n-1].Sequence)
	}
}

// callOf reads the call's name from a message's arguments.
func (in *inventory) callOf(operation, arguments string) string {
	var args call
	var done actors.Done[call, string]
	var err error
	if operation == sealed.Name() {
		err = json.Unmarshal([]byte(arguments), &done)
		args = done.Args
	} else {
		err = json.Unmarshal([]byte(arguments), &args)
	}
	if err != nil {
		in.add("arguments %q: %v", arguments, err)
	}
	return args.Call
}

// transfers: what was sent is on its way, or in the mailbox where it was sent to, once and in order.
func (in *inventory) transfers() {
	arrived := map[string][]string{} // by sender and target, in order of arrival
	senders := map[string]*actor{}
	for _, a := range in.actors {
		for _, s := range a.account.Sent {
			senders[s.Call] = a
		}
	}
	put := func(call, target string) {
		from := senders[call]
		if from == nil {
			in.add("a transfer %s to %s, which nobody sent", call, target)
			return
		}
		pair := from.name + " → " + target
		arrived[pair] = append(arrived[pair], call)
	}
	for _, a := range in.actors {
		for _, m := range a.messages {
			if m.Operation == receive.Name() {
				put(in.callOf(m.Operation, m.Arguments), a.name)
			}
		}
	}
	for _, s := range in.view.Sends {
		put(in.callOf(s.Operation, s.Arguments), s.Type+"/"+s.Actor)
	}
	total, owned := 0, 0
	for _, a := range in.actors {
		staged := map[string][]string{}
		for _, s := range a.account.Sent {
			pair := a.name + " → account/" + s.To
			staged[pair] = append(staged[pair], s.Call)
		}
		for pair, want := range staged {
			if got := arrived[pair]; !slices.Equal(got, want) {
				in.add("%s: %d transfers were sent and %d are on their way or there, or in another order: %s", pair, len(want), len(got), differ(got, want))
			}
			delete(arrived, pair)
		}
		owned += a.account.Balance
		for _, m := range a.messages {
			var args call
			_ = json.Unmarshal([]byte(m.Arguments), &args)
			switch {
			case m.Operation == deposit.Name() && m.Status == "completed":
				total += args.By
			case m.Operation == receive.Name() && m.Status == "live":
				owned += args.By
			}
		}
	}
	for _, s := range in.view.Sends {
		var args call
		_ = json.Unmarshal([]byte(s.Arguments), &args)
		owned += args.By
	}
	for pair := range arrived {
		in.add("%s: transfers that its state did not send", pair)
	}
	if total != owned {
		in.add("%d were paid in, and there are %d", total, owned)
	}
}

// differ names the first difference.
func differ(got, want []string) string {
	for i := range max(len(got), len(want)) {
		switch {
		case i >= len(got):
			return want[i] + " is missing"
		case i >= len(want):
			return got[i] + " is too much"
		case got[i] != want[i]:
			return got[i] + " instead of " + want[i]
		}
	}
	return "equal"
}

// stamps: for each effect that a state asked for there is its row in the outbox, or its one outcome message.
func (in *inventory) stamps() {
	found := map[string]int{}
	for _, e := range in.view.Effects {
		found[in.callOf("", e.Arguments)]++
		if e.State != "pending" {
			in.add("effect %s is %s", e.ID, e.State)
		}
	}
	for _, a := range in.actors {
		for _, m := range a.messages {
			if m.Operation == sealed.Name() {
				found[in.callOf(m.Operation, m.Arguments)]++
			}
		}
	}
	for _, a := range in.actors {
		for _, c := range a.notary.Asked {
			if found[c] != 1 {
				in.add("%s asked for %s, and there are %d effects and outcomes of it", a.name, c, found[c])
			}
			delete(found, c)
		}
	}
	for c := range found {
		in.add("an effect or outcome of %s, which no state asked for", c)
	}
}

// ledger: the application's table has what the states asked to be entered, once, in order, and nothing else (G12).
func (in *inventory) ledger() {
	found := map[string][]string{}
	for _, l := range in.view.Ledger {
		found["notary/"+l.Notary] = append(found["notary/"+l.Notary], l.Call)
	}
	for _, a := range in.actors {
		if got, want := found[a.name], a.notary.Asked; !slices.Equal(got, want) {
			in.add("%s asked for %d entries and %d are in the application's table, or in another order: %s", a.name, len(want), len(got), differ(got, want))
		}
		delete(found, a.name)
	}
	for name := range found {
		in.add("entries of %s, which has no state", name)
	}
}

// alarms: a reminder stands on its grid at the place that the occurrences enqueued so far have brought it to.
func (in *inventory) alarms() {
	rows := map[string]reminder{}
	for _, r := range in.view.Reminders {
		rows[r.Key] = r
	}
	for _, a := range in.actors {
		ticks := map[string]int64{}
		for _, m := range a.messages {
			if m.Operation == tick.Name() {
				ticks[in.callOf(m.Operation, m.Arguments)]++
			}
		}
		for key, alarm := range a.ticker.Alarms {
			r, waits := rows[key]
			delete(rows, key)
			switch n := ticks[key]; {
			case alarm.Ended && waits:
				in.add("%s: alarm %s was ended and is still there", a.name, key)
			case alarm.Ended:
			case alarm.Every == 0:
				if n > 1 || waits == (n == 1) {
					in.add("%s: alarm %s rings once, rang %d times, waits: %v", a.name, key, n, waits)
				}
			case !waits:
				in.add("%s: alarm %s is gone", a.name, key)
			default:
				passed := (r.Next - alarm.First) / alarm.Every
				if r.Next != alarm.First+passed*alarm.Every || r.Interval != alarm.Every || n > passed || alarm.All && n != passed {
					in.add("%s: alarm %s (all: %v) rang %d times in %d occurrences (next %d, first %d, every %d)",
						a.name, key, alarm.All, n, passed, r.Next, alarm.First, alarm.Every)
				}
			}
		}
		for key := range ticks {
			if _, ok := a.ticker.Alarms[key]; !ok && a.Type == "ticker" {
				in.add("%s: alarm %s rang and was never set", a.name, key)
			}
		}
	}
	for key := range rows {
		in.add("a reminder %s, which no state set", key)
	}
}
