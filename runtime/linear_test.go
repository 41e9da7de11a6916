package runtime_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/anishathalye/porcupine"

	"github.com/lockstep-go/lockstep/actors"
	"github.com/lockstep-go/lockstep/runtime"
	"github.com/lockstep-go/lockstep/runtime/store"
)

// register keeps a number that callers put in, read, and exchange if it is what they think.
type register struct {
	N int `json:"n"`
}

// change asks a register for one of these: put To; exchange From for To; answer is what it was before.
type change struct {
	Exchange bool `json:"exchange,omitempty"`
	From     int  `json:"from,omitempty"`
	To       int  `json:"to,omitempty"`
}

type registers struct {
	*actors.Type[register]
	change *actors.MessageType[register, change, int]
	read   *actors.BareQuery[register, int]
}

func defineRegisters() *registers {
	typ := actors.Define("register", func() register { return register{} })
	r := &registers{typ, actors.Message[change, int](typ, "change"), actors.Query(typ, "read", func(r register) int { return r.N })}
	r.change.Handle(func(r *register, _ *actors.Turn[register], in change) (int, error) {
		before := r.N
		if !in.Exchange || before == in.From {
			r.N = in.To
		}
		return before, nil
	})
	return r
}

// question is what a caller asked of one register; its answer is a number.
type question struct {
	id    string
	reads bool
	change
}

// registerModel is one register: the order of calls that explains every answer.
var registerModel = porcupine.Model{
	Partition: func(history []porcupine.Operation) (parts [][]porcupine.Operation) {
		by := map[string][]porcupine.Operation{}
		for _, o := range history {
			id := o.Input.(question).id
			by[id] = append(by[id], o)
		}
		for _, part := range by {
			parts = append(parts, part)
		}
		return parts
	},
	Init: func() any { return 0 },
	Step: func(state, input, output any) (bool, any) {
		n, q := state.(int), input.(question)
		if output.(int) != n {
			return false, state
		}
		if !q.reads && (!q.Exchange || n == q.From) {
			return true, q.To
		}
		return true, n
	},
}

// asking lets callers ask registers by several clients at once, and returns what they asked and heard. Some give up
// early: what they asked takes effect all the same, at any time after they asked it, and the database knows the answer.
func asking(t *testing.T, r *registers, clients []*process, name string, callers, calls int) []porcupine.Operation {
	t.Helper()
	var mu sync.Mutex
	var history []porcupine.Operation
	var all sync.WaitGroup
	begun := time.Now()
	gaveUp := 0
	for c := range callers {
		all.Go(func() {
			random := rand.New(rand.NewPCG(1, uint64(c)))
			rt := clients[c%len(clients)].Runtime
			for i := range calls {
				q := question{id: fmt.Sprint(name, random.IntN(3)), reads: random.IntN(3) == 0}
				q.change = change{Exchange: random.IntN(2) == 0, From: random.IntN(4), To: random.IntN(4)}
				limit := 20 * time.Second
				if random.IntN(25) == 0 && i < calls-1 {
					limit = time.Duration(random.IntN(3000)) * time.Microsecond
				}
				ctx, cancel := context.WithTimeout(context.Background(), limit)
				o := porcupine.Operation{ClientId: c, Input: q, Call: time.Since(begun).Nanoseconds()}
				var n int
				var err error
				if q.reads {
					n, err = r.read.Ask(ctx, rt, r.Ref(q.id))
				} else {
					n, err = r.change.Ask(ctx, rt, r.Ref(q.id), q.change)
				}
				cancel()
				o.Return, o.Output = time.Since(begun).Nanoseconds(), n
				timeout, late := errors.AsType[*actors.AskTimeout](err)
				switch {
				case late:
					o.Return, o.Output = math.MaxInt64, r.settled(t, rt, timeout.Message)
				case errors.Is(err, context.DeadlineExceeded):
					continue // it was over before it began, and nothing was asked
				case err != nil:
					t.Errorf("ask: %v", err)
					return
				}
				mu.Lock()
				history = append(history, o)
				if late {
					gaveUp++
				}
				mu.Unlock()
			}
		})
	}
	all.Wait()
	t.Logf("%d of %d callers gave up", gaveUp, len(history))
	return history
}

// settled waits for a message whose caller gave up, and returns what it answered in the end.
func (r *registers) settled(t *testing.T, rt *runtime.Runtime, m actors.MessageRef) int {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	for {
		n, err := r.change.Wait(ctx, rt, m)
		if err == nil {
			return n
		}
		if !errors.Is(err, actors.ErrUnknownMessage) {
			t.Errorf("wait again: %v", err)
			return -1
		}
		time.Sleep(time.Millisecond) // it is still on its way
	}
}

func linearizable(t *testing.T, history []porcupine.Operation) porcupine.CheckResult {
	t.Helper()
	got := porcupine.CheckOperationsTimeout(registerModel, history, 20*time.Second)
	t.Logf("%d calls: %s", len(history), got)
	return got
}

// hurried is a runtime that gives its activations up all the time.
func hurried(r *registers) runtime.Config {
	cfg := config(r)
	cfg.Idle, cfg.PassMessages, cfg.Poll, cfg.PollIdle = -1, 5, 5*time.Millisecond, 20*time.Millisecond
	return cfg
}

// G20: whatever callers ask at the same time, in two processes on one file, some giving up, there is one order that
// explains all answers. Histories with killed processes are judged by package crash.
func TestAskIsLinearizable(t *testing.T) {
	onEach(t, func(t *testing.T) {
		r := defineRegisters()
		stores := openShared(t, 2)
		clients := []*process{start(t, stores[0], hurried(r)), start(t, stores[1], hurried(r))}
		if got := linearizable(t, asking(t, r, clients, "r", 8, here(t).scale(60))); got != porcupine.Ok {
			t.Errorf("the history is %s", got)
		}
	})
}

// forgetful is a store that answers a claim with the state before the newest one, now and then.
type forgetful struct {
	store.Store
	mu     sync.Mutex
	before map[string]actors.Snapshot
	claims int
}

func (f *forgetful) Flush(ctx context.Context, b *store.Flush) error {
	err := f.Store.Flush(ctx, b)
	f.mu.Lock()
	defer f.mu.Unlock()
	stale := func(a *store.Activation) {
		if a == nil || a.Again {
			return
		}
		f.claims++
		older, ok := f.before[a.Fence.Instance]
		f.before[a.Fence.Instance] = a.Snapshot
		if ok && f.claims%10 == 0 && string(older.State) != string(a.Snapshot.State) {
			a.Snapshot = older
		}
	}
	for _, e := range b.Enqueues {
		stale(e.Activation)
	}
	for _, s := range b.Claims {
		for _, a := range s.Activations {
			stale(a)
		}
	}
	return err
}

// A process that runs turns on a state that is not the newest is found by the answers alone.
func TestLinearizabilityFindsStaleState(t *testing.T) {
	onEach(t, func(t *testing.T) {
		r := defineRegisters()
		stores := openShared(t, 2)
		clients := []*process{
			start(t, &forgetful{Store: stores[0], before: map[string]actors.Snapshot{}}, hurried(r)),
			start(t, stores[1], hurried(r)),
		}
		for i := range 5 { // a history in which no answer shows the old state is possible, five are not
			if linearizable(t, asking(t, r, clients, fmt.Sprint("r", i, "-"), 8, here(t).scale(60))) == porcupine.Illegal {
				return
			}
		}
		t.Error("every history is linearizable, though turns ran on old state")
	})
}
