package field

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/lockstep-go/lockstep/actors"
	"github.com/lockstep-go/lockstep/runtime"
	"github.com/lockstep-go/lockstep/runtime/store"
)

// retries retries every dead letter that it finds, again and again, until it is killed.
func retries(d *database, address string) error {
	ctx := context.Background()
	s, err := d.open(ctx, address)
	if err != nil {
		return err
	}
	fmt.Println("here")
	for {
		if err := retryAll(ctx, s); err != nil {
			return err
		}
	}
}

func retryAll(ctx context.Context, s store.Store) error {
	letters, err := s.DeadLetters(ctx, 1000)
	for _, l := range letters {
		if err == nil && l.Replacement == "" {
			_, _, err = s.Retry(ctx, l.ID, uuid.Must(uuid.NewV7()).String(), 10_000)
		}
	}
	if errors.Is(err, store.ErrTransient) {
		return nil
	}
	return err
}

// TestD24KilledWhileRetrying: processes that retry the same dead letters are killed at any moment. Each dead letter has
// one replacement in the end, which is one message.
func TestD24KilledWhileRetrying(t *testing.T) {
	onEach(t, func(t *testing.T, b *base) {
		kills, letters := size(t, "processes killed", 6, 60), size(t, "dead letters", 60, 600)
		w := &writer{t: t, Store: b.store(t)}
		for i := range letters {
			w.bury(fmt.Sprint("a", i%7), fmt.Sprint("line ", i))
		}
		for range kills / 2 {
			one, two := b.process(t, "retry"), b.process(t, "retry")
			for _, p := range []*child{one, two} {
				if got := p.says(); got != "here" {
					t.Fatal(got)
				}
			}
			time.Sleep(time.Duration(rand.IntN(40)) * time.Millisecond)
			for _, p := range []*child{one, two} {
				if err := p.Process.Kill(); err != nil {
					t.Fatal(err)
				}
			}
		}
		eventually(t, "the rest is retried", 30*time.Second, func() bool {
			if err := retryAll(t.Context(), w); err != nil {
				t.Fatal(err)
			}
			return b.number(t, "SELECT count(*) FROM lockstep_dead_letters WHERE replacement = ''") == 0
		})
		for what, query := range map[string]string{
			"dead letters":   "SELECT count(*) FROM lockstep_dead_letters",
			"replacements":   "SELECT count(DISTINCT replacement) FROM lockstep_dead_letters",
			"new messages":   "SELECT count(*) FROM lockstep_messages WHERE status = 'live'",
			"of the letters": "SELECT count(*) FROM lockstep_messages m JOIN lockstep_dead_letters d ON d.replacement = m.id AND d.arguments = m.arguments",
			"old messages":   "SELECT count(*) FROM lockstep_messages WHERE status = 'dead'",
		} {
			if n := b.number(t, query); n != letters {
				t.Errorf("%s: %d, want %d", what, n, letters)
			}
		}
	})
}

// defineFragile makes an actor with a message that ends its process.
func defineFragile(executed func()) (*actors.Type[order], *actors.MessageType[order, string, int]) {
	typ := actors.Define("fragile", func() order { return order{} })
	do := actors.Message[string, int](typ, "do")
	do.Handle(func(o *order, _ *actors.Turn[order], line string) (int, error) {
		if line == "fatal" {
			executed()
			os.Exit(3)
		}
		o.Lines = append(o.Lines, line)
		return len(o.Lines), nil
	})
	return typ, do
}

// dies runs a runtime that a message ends.
func dies(d *database, address string) error {
	ctx := context.Background()
	s, err := d.open(ctx, address)
	if err != nil {
		return err
	}
	typ, _ := defineFragile(func() { fmt.Println("executed") })
	rt, err := runtime.Open(ctx, s, brief(typ))
	if err != nil {
		return err
	}
	go func() { // where there is nothing to die of
		time.Sleep(1500 * time.Millisecond)
		fmt.Println("lived")
		os.Exit(0)
	}()
	return rt.Run(ctx)
}

// brief is a configuration whose leases and processes are given up soon.
func brief(typ actors.AnyType) runtime.Config {
	cfg := hurried([]actors.AnyType{typ})
	cfg.Lease, cfg.Renew, cfg.Heartbeat, cfg.Stale = 600*time.Millisecond, 100*time.Millisecond, 100*time.Millisecond, 400*time.Millisecond
	return cfg
}

// TestD19MessageThatEndsItsProcess: a message ends each process that runs it, and a supervisor starts the next one. It
// is executed as often as there are attempts, then it is a dead letter by recovery, and the next message runs.
func TestD19MessageThatEndsItsProcess(t *testing.T) {
	onEach(t, func(t *testing.T, b *base) {
		t.Parallel() // it mostly waits
		db := b.store(t)
		typ, do := defineFragile(func() {})
		rt, err := runtime.Open(t.Context(), db, brief(typ))
		if err != nil {
			t.Fatal(err)
		}
		defer rt.Close()
		fatal := must(do.Tell(t.Context(), rt, typ.Ref("a"), "fatal"))
		must(do.Tell(t.Context(), rt, typ.Ref("a"), "next"))
		executed := 0
		for starts := range 20 {
			said := b.process(t, "die").says()
			if said == "executed" {
				executed++
			} else if said != "lived" {
				t.Fatalf("start %d: %s", starts, said)
			}
			if m, _, _, err := db.Message(t.Context(), fatal.ID); err == nil && m.Status == store.Dead && said == "lived" {
				break
			}
		}
		if executed != 5 {
			t.Errorf("it was executed %d times, want 5", executed)
		}
		letters, err := db.DeadLetters(t.Context(), 10)
		if err != nil || len(letters) != 1 || letters[0].ErrorKind != store.OwnerLost || letters[0].Message.Attempts != 5 {
			t.Errorf("dead letters: %+v, %v", letters, err)
		}
		if snap, err := typ.Ref("a").Snapshot(t.Context(), rt); err != nil || strings.Join(snap.Lines, " ") != "next" {
			t.Errorf("the actor has the lines %q, %v; want the next one", snap.Lines, err)
		}
	})
}
