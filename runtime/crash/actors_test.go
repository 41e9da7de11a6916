//go:build unix

package crash

import (
	"errors"
	"hash/crc32"
	"time"

	"github.com/lockstep-go/lockstep/actors"
)

// entry is one message as the state remembers it: what a journal holds is what was applied, in order.
type entry struct {
	Sequence int64  `json:"s"`
	Message  string `json:"m"`
	Call     string `json:"c"`
}

// journal is part of every state here.
type journal struct {
	Applied []entry `json:"applied"`
}

// turn is what a journal needs of an actors.Turn of any state.
type turn interface {
	Sequence() int64
	MessageID() string
	Attempt() int
}

var (
	// reached is told of the named points inside handlers, effects and commit actions.
	reached  = func(string) {}
	errFlaky = errors.New("the first attempt fails")
)

// note writes a message down. Some messages fail at their first attempt, after that: the note must not survive.
func (j *journal) note(t turn, call string) error {
	j.Applied = append(j.Applied, entry{t.Sequence(), t.MessageID(), call})
	reached("in a turn")
	if t.Attempt() == 1 && crc32.ChecksumIEEE([]byte(t.MessageID()))%23 == 0 {
		return errFlaky
	}
	return nil
}

// call names a caller's call; every operation's arguments have it.
type call struct {
	Call   string `json:"call"`
	By     int    `json:"by,omitempty"`
	To     string `json:"to,omitempty"`
	Every  int64  `json:"every,omitempty"` // milliseconds
	All    bool   `json:"all,omitempty"`
	Target string `json:"target,omitempty"` // the alarm that a stop means
}

// counter counts; its value is an observable.
type counter struct {
	journal
	N int `json:"n"`
}

var (
	counters = actors.Define("counter", func() counter { return counter{} })
	add      = actors.Message[call, int](counters, "add")
	value    = actors.QueryWith(counters, "value", func(c counter, _ call) (int, error) { return c.N, nil })
	_        = actors.Shared(counters, "n", func(c counter) int { return c.N })
)

func (c *counter) add(t *actors.Turn[counter], in call) (int, error) {
	c.N += in.By
	return c.N, c.note(t, in.Call)
}

// account holds money, and remembers what it sent.
type account struct {
	journal
	Balance int    `json:"balance"`
	Sent    []call `json:"sent"`
}

var (
	accounts = actors.Define("account", func() account { return account{} })
	deposit  = actors.Message[call, int](accounts, "deposit")
	transfer = actors.Message[call, int](accounts, "transfer")
	receive  = actors.Message[call, actors.None](accounts, "receive")
)

func (a *account) deposit(t *actors.Turn[account], in call) (int, error) {
	a.Balance += in.By
	return a.Balance, a.note(t, in.Call)
}

func (a *account) transfer(t *actors.Turn[account], in call) (int, error) {
	if a.Balance < in.By {
		return 0, actors.Reject("too_little", "there is not so much money")
	}
	a.Balance -= in.By
	a.Sent = append(a.Sent, in)
	receive.Send(t, accounts.Ref(in.To), in)
	return a.Balance, a.note(t, in.Call)
}

func (a *account) receive(t *actors.Turn[account], in call) (actors.None, error) {
	a.Balance += in.By
	return actors.None{}, a.note(t, in.Call)
}

// notary enters each request in a table of the application's, has it stamped outside and remembers which stamp it got.
type notary struct {
	journal
	Asked  []string          `json:"asked"`
	Stamps map[string]string `json:"stamps"` // effect id by call
}

var (
	notaries = actors.Define("notary", func() notary { return notary{Stamps: map[string]string{}} })
	request  = actors.Message[call, actors.None](notaries, "request")
	sealed   = actors.Message[actors.Done[call, string], actors.None](notaries, "sealed")
	stamp    = actors.Effect[call, string](notaries, "stamp")
	enter    = actors.CommitAction[call](notaries, "enter")
)

func (n *notary) request(t *actors.Turn[notary], in call) (actors.None, error) {
	n.Asked = append(n.Asked, in.Call)
	stamp.Emit(t, in)
	enter.Stage(t, in)
	return actors.None{}, n.note(t, in.Call)
}

func (n *notary) sealed(t *actors.Turn[notary], in actors.Done[call, string]) (actors.None, error) {
	n.Stamps[in.Args.Call] = in.EffectID
	return actors.None{}, n.note(t, in.Args.Call)
}

// alarm is a reminder as the state that set it knows it.
type alarm struct {
	First int64 `json:"first"` // microseconds
	Every int64 `json:"every"` // microseconds; 0 for one occurrence
	All   bool  `json:"all"`
	Ended bool  `json:"ended"`
}

// ticker sets a few alarms.
type ticker struct {
	journal
	Alarms map[string]alarm `json:"alarms"` // by the call that set it
}

const maxAlarms = 4

var (
	tickers = actors.Define("ticker", func() ticker { return ticker{Alarms: map[string]alarm{}} })
	begin   = actors.Message[call, actors.None](tickers, "begin")
	tick    = actors.Message[call, actors.None](tickers, "tick")
	end     = actors.Message[call, actors.None](tickers, "end")
	silence = actors.Message[call, actors.None](tickers, "silence")
)

func (k *ticker) begin(t *actors.Turn[ticker], in call) (actors.None, error) {
	running := 0
	for _, a := range k.Alarms {
		if !a.Ended && a.Every > 0 {
			running++
		}
	}
	if running >= maxAlarms {
		return actors.None{}, actors.Reject("enough", "there are enough alarms")
	}
	every := time.Duration(in.Every) * time.Millisecond
	first := t.Now().Add(50 * time.Millisecond)
	k.Alarms[in.Call] = alarm{First: first.UnixMicro(), Every: every.Microseconds(), All: in.All}
	options := []actors.ScheduleOption{actors.Key(in.Call)}
	if every > 0 {
		options = append(options, actors.Every(every))
	}
	if in.All {
		options = append(options, actors.CatchUp(actors.All))
	}
	tick.Schedule(t, actors.At(first), call{Call: in.Call}, options...)
	return actors.None{}, k.note(t, in.Call)
}

func (k *ticker) tick(t *actors.Turn[ticker], in call) (actors.None, error) {
	return actors.None{}, k.note(t, in.Call)
}

func (k *ticker) end(t *actors.Turn[ticker], in call) (actors.None, error) {
	k.stop(t, in.Target)
	return actors.None{}, k.note(t, in.Call)
}

func (k *ticker) silence(t *actors.Turn[ticker], in call) (actors.None, error) {
	for key := range k.Alarms {
		k.stop(t, key)
	}
	return actors.None{}, k.note(t, in.Call)
}

func (k *ticker) stop(t *actors.Turn[ticker], key string) {
	a, ok := k.Alarms[key]
	if !ok || a.Ended {
		return
	}
	a.Ended = true
	k.Alarms[key] = a
	tick.Cancel(t, actors.Key(key))
}

func init() {
	add.Handle((*counter).add)
	deposit.Handle((*account).deposit)
	transfer.Handle((*account).transfer)
	receive.Handle((*account).receive)
	request.Handle((*notary).request)
	sealed.Handle((*notary).sealed)
	stamp.Done(sealed)
	begin.Handle((*ticker).begin)
	tick.Handle((*ticker).tick)
	end.Handle((*ticker).end)
	silence.Handle((*ticker).silence)
}
