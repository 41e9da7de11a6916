//go:build unix

package crash

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/lockstep-go/lockstep/actors"
	"github.com/lockstep-go/lockstep/runtime"
	"github.com/lockstep-go/lockstep/runtime/store"
)

// taskVar, if set, makes the test binary a worker.
const taskVar = "LOCKSTEP_CRASH_TASK"

// What a worker says before it stops or kills itself, and when it works.
const (
	stopping = "stopping "
	dying    = "dying "
	working  = "working"
)

// task is what a worker process is to do, until it is killed.
type task struct {
	Database string // name of one of databases
	Address  string
	Folder   string
	Name     string // of this process, and of its history
	Seed     uint64
	Point    string // where it is to stop or die, or ""
	Nth      int64
	Stop     bool
	Callers  int
}

func TestMain(m *testing.M) {
	text := os.Getenv(taskVar)
	if text == "" {
		os.Exit(m.Run())
	}
	var t task
	err := json.Unmarshal([]byte(text), &t)
	if err == nil {
		err = t.work(context.Background())
	}
	fmt.Fprintln(os.Stderr, "worker", t.Name, "ended:", err)
	os.Exit(1)
}

// work runs a runtime and callers on it.
func (t *task) work(ctx context.Context) error {
	db, err := patient(func() (store.Store, error) { return find(t.Database).open(ctx, t.Address) })
	if err != nil {
		return err
	}
	h, err := openHistory(filepath.Join(t.Folder, t.Name+".history"))
	if err != nil {
		return err
	}
	p := &points{Store: db, history: h, point: t.Point, stop: t.Stop}
	p.left.Store(t.Nth)
	reached = p.reach
	rt, err := patient(func() (*runtime.Runtime, error) { return runtime.Open(ctx, p, config(find(t.Database), t.Folder)) })
	if err != nil {
		return err
	}
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin)
		os.Exit(1) // whoever drives it has gone
	}()
	fmt.Println(working)
	var all sync.WaitGroup
	for i := range t.Callers {
		c := &caller{
			rt: rt, history: h, name: fmt.Sprintf("%s.%d", t.Name, i), random: rand.New(rand.NewPCG(t.Seed, uint64(i))),
		}
		all.Go(func() {
			for ctx.Err() == nil {
				if err := c.next(ctx); err != nil {
					fmt.Fprintln(os.Stderr, "caller", c.name, "ended:", err)
					os.Exit(1)
				}
			}
		})
	}
	return rt.Run(ctx)
}

// patient tries again what may pass: on SQLite a process that is stopped inside a transaction keeps all others waiting,
// longer than the store's own patience where several are stopped one after the other.
func patient[T any](do func() (T, error)) (v T, err error) {
	for range 10 {
		if v, err = do(); !errors.Is(err, store.ErrTransient) {
			return v, err
		}
	}
	return v, err
}

// config is a runtime in a hurry: leases and heartbeats of a second, so that much can happen in ten.
func config(d *database, folder string) runtime.Config {
	return runtime.Config{
		Types:   []actors.AnyType{counters, accounts, notaries, tickers},
		Effects: []actors.Executor{stamp.By(appendTo(filepath.Join(folder, stampsFile)))},
		Actions: []actors.CommitExecutor{d.enter()},
		Policy:  actors.InsecureAllowAll(),
		Lease:   time.Second, Renew: 300 * time.Millisecond, Idle: 400 * time.Millisecond,
		Heartbeat: 250 * time.Millisecond, Stale: time.Second,
		Poll: 20 * time.Millisecond, PollIdle: 100 * time.Millisecond,
		PassMessages: 20, Shutdown: 5 * time.Second,
		Attempts: 1_000_000, Backoff: func(int) time.Duration { return 5 * time.Millisecond },
	}
}

const stampsFile = "stamps.log"

// stamped is a line of the outside world: an effect that was performed.
type stamped struct {
	Effect string `json:"effect"`
	Call   string `json:"call"`
}

// appendTo performs stamps by appending a line to a file.
func appendTo(path string) func(context.Context, actors.EffectCall[call]) (string, error) {
	return func(_ context.Context, c actors.EffectCall[call]) (string, error) {
		f, err := os.OpenFile(path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
		if err != nil {
			return "", err
		}
		defer f.Close()
		line, err := json.Marshal(stamped{Effect: c.ID, Call: c.In.Call})
		if err != nil {
			return "", err
		}
		_, err = f.Write(append(line, '\n'))
		return c.ID, err
	}
}

// caller makes one call after the other and writes down what it is told.
type caller struct {
	rt      actors.Client
	history *history
	name    string
	random  *rand.Rand
	calls   int
	alarms  map[string]string // begun, by call: on which ticker
}

const (
	counterCount = 6
	accountCount = 8
	notaryCount  = 3
	tickerCount  = 3
	quietCount   = 40 // counters that are seldom called, so that somebody always goes idle and is released
)

func (c *caller) next(ctx context.Context) error {
	c.calls++
	in := call{Call: fmt.Sprintf("%s.%d", c.name, c.calls)}
	pick := func(kind string, n int) string { return fmt.Sprintf("%s%d", kind, c.random.IntN(n)) }
	time.Sleep(time.Duration(c.random.IntN(8)) * time.Millisecond)
	switch n := c.random.IntN(200); {
	case n < 80:
		in.By = 1 + c.random.IntN(3)
		to := pick("c", counterCount)
		if n < 4 {
			to = pick("q", quietCount)
		}
		return invoke(ctx, c, add, counters.Ref(to), in, count)
	case n < 95:
		ref := counters.Ref(pick("c", counterCount))
		return c.made(value.Name(), ref, in, func() (record, error) {
			limit, cancel := context.WithTimeout(ctx, 2*time.Second)
			defer cancel()
			n, err := value.Ask(limit, c.rt, ref, in)
			return record{Value: n}, err
		})
	case n < 120:
		in.By = 1 + c.random.IntN(50)
		return invoke(ctx, c, deposit, accounts.Ref(pick("a", accountCount)), in, count)
	case n < 170:
		in.By, in.To = 1+c.random.IntN(20), pick("a", accountCount)
		return invoke(ctx, c, transfer, accounts.Ref(pick("a", accountCount)), in, count)
	case n < 194:
		return invoke(ctx, c, request, notaries.Ref(pick("n", notaryCount)), in, nothing)
	case n < 198:
		in.Every, in.All = int64(c.random.IntN(4))*50, c.random.IntN(2) == 0
		on := pick("t", tickerCount)
		if c.alarms == nil {
			c.alarms = map[string]string{}
		}
		c.alarms[in.Call] = on
		return invoke(ctx, c, begin, tickers.Ref(on), in, nothing)
	default:
		for target, on := range c.alarms {
			delete(c.alarms, target)
			in.Target = target
			return invoke(ctx, c, end, tickers.Ref(on), in, nothing)
		}
		return nil
	}
}

func count(n int) int         { return n }
func nothing(actors.None) int { return 0 }

// invoke makes a call as an Ask or a Tell, some with little patience, some repeated with a key.
func invoke[S, Out any](ctx context.Context, c *caller, m *actors.MessageType[S, call, Out], ref actors.Ref[S], in call, number func(Out) int) error {
	patience := 2 * time.Second
	if c.random.IntN(12) == 0 {
		patience = time.Duration(c.random.IntN(10)) * time.Millisecond
	}
	var options []actors.CallOption
	tries := 1
	if c.random.IntN(4) == 0 {
		options, tries = append(options, actors.IdempotencyKey(in.Call)), 1+c.random.IntN(3)
	}
	tell := c.random.IntN(4) == 0
	for range tries {
		err := c.made(m.Name(), ref, in, func() (record, error) {
			limit, cancel := context.WithTimeout(ctx, patience)
			defer cancel()
			if tell {
				ref, err := m.Tell(limit, c.rt, ref, in, options...)
				return record{Message: ref.ID, Ending: stored}, err
			}
			out, err := m.Ask(limit, c.rt, ref, in, options...)
			return record{Value: number(out)}, err
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// made writes down a call, makes it, and writes down its end.
func (c *caller) made(op string, ref interface{ Address() (string, string) }, in call, do func() (record, error)) error {
	r := record{Kind: callLine, At: moment(), Call: in.Call, Op: op, By: in.By}
	r.Type, r.Actor = ref.Address()
	if err := c.history.write(r); err != nil {
		return err
	}
	got, err := do()
	r.Kind, r.At, r.Value, r.Message = endLine, moment(), got.Value, got.Message
	timeout, timedOut := errors.AsType[*actors.AskTimeout](err)
	_, refused := errors.AsType[*actors.Rejected](err)
	switch {
	case err == nil && got.Ending == stored:
		r.Ending = stored
	case err == nil:
		r.Ending = answered
	case refused:
		r.Ending = rejected
	case errors.Is(err, actors.ErrOutcomeUnknown), !timedOut:
		r.Ending = unknown
	default:
		r.Ending, r.Message = stored, timeout.Message.ID
	}
	return c.history.write(r)
}
