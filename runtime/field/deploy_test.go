package field

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/lockstep-go/lockstep/actors"
	"github.com/lockstep-go/lockstep/runtime"
	"github.com/lockstep-go/lockstep/runtime/store"
)

// deployment is a fleet of processes of two builds that changes while callers call it.
type deployment struct {
	b     *base
	old   *older
	new   *newer
	world *outside

	mu     sync.RWMutex // held for reading during a call, so that nobody calls a process that ends
	olders []*process
	newers []*process

	told  sync.Mutex
	lines map[string][]string // acknowledged, by kind and actor
}

// fleet changes which processes run: how many of each build.
func (d *deployment) fleet(t *testing.T, olders, newers int) {
	t.Helper()
	d.mu.Lock()
	var ending []*process
	for len(d.olders) > olders {
		ending, d.olders = append(ending, d.olders[0]), d.olders[1:]
	}
	for len(d.newers) > newers {
		ending, d.newers = append(ending, d.newers[0]), d.newers[1:]
	}
	for len(d.olders) < olders {
		d.olders = append(d.olders, start(t, d.b, d.old.cfg))
	}
	for len(d.newers) < newers {
		d.newers = append(d.newers, start(t, d.b, d.new.cfg))
	}
	d.mu.Unlock()
	for _, p := range ending {
		p.end(t)
	}
}

const deployedCarts = 6

// call makes one call to a process that is there, and notes its line if it was acknowledged.
func (d *deployment) call(ctx context.Context, random *rand.Rand, line string) error {
	d.mu.RLock()
	defer d.mu.RUnlock()
	id := fmt.Sprint("a", random.IntN(deployedCarts))
	kind, err := "add", error(nil)
	n := random.IntN(len(d.olders) + len(d.newers))
	switch which := random.IntN(4); {
	case n < len(d.olders) && which == 0:
		kind = "note"
		_, err = d.old.note.Tell(ctx, d.olders[n], d.old.ledgers.Ref(id), line)
	case n < len(d.olders):
		_, err = d.old.add.Tell(ctx, d.olders[n], d.old.carts.Ref(id), line)
	case which < 2:
		kind = "tag"
		_, err = d.new.tag.Tell(ctx, d.newers[n-len(d.olders)], d.new.carts.Ref(id), line)
	default:
		limit, cancel := context.WithTimeout(ctx, 100*time.Millisecond)
		defer cancel()
		_, err = d.new.add.Ask(limit, d.newers[n-len(d.olders)], d.new.carts.Ref(id), line)
		if late, ok := errors.AsType[*actors.AskTimeout](err); ok {
			err = stored(ctx, d.newers[n-len(d.olders)].db, late.Message.ID)
		} else if _, taken := errors.AsType[*actors.Withdrawn](err); taken {
			return nil // back before the database was given it: the line is nowhere
		}
	}
	if err != nil {
		return fmt.Errorf("%s %s to %s: %w", kind, line, id, err)
	}
	d.told.Lock()
	d.lines[kind+" "+id] = append(d.lines[kind+" "+id], line)
	d.told.Unlock()
	return nil
}

// stored waits for a message whose caller gave up, perhaps before it was durable: what that caller sends next comes
// behind it only then.
func stored(ctx context.Context, db store.Store, id string) error {
	for end := time.Now().Add(time.Minute); ; time.Sleep(5 * time.Millisecond) {
		_, _, outcome, err := db.Message(ctx, id)
		switch {
		case err != nil || outcome == store.Done:
			return err
		case time.Now().After(end):
			return fmt.Errorf("message %s: %s", id, outcome)
		}
	}
}

// stored waits until a message whose caller gave up is in the database: only then what is called next comes after it.
func (d *deployment) stored(ctx context.Context, rt *runtime.Runtime, m actors.MessageRef) error {
	for {
		limit, cancel := context.WithTimeout(ctx, 10*time.Millisecond)
		_, err := d.new.add.Wait(limit, rt, m)
		cancel()
		if late, ok := errors.AsType[*actors.AskTimeout](err); ok && late.For != "unknown" {
			return nil
		}
		if err == nil || !errors.Is(err, actors.ErrUnknownMessage) && !errors.Is(err, context.DeadlineExceeded) {
			return err
		}
		time.Sleep(5 * time.Millisecond)
	}
}

// load calls the fleet until ctx ends.
func (d *deployment) load(t *testing.T, ctx context.Context, callers int) *sync.WaitGroup {
	var all sync.WaitGroup
	for c := range callers {
		random := rand.New(rand.NewPCG(uint64(c), 7))
		all.Go(func() {
			for i := 0; ctx.Err() == nil; i++ {
				if err := d.call(context.WithoutCancel(ctx), random, fmt.Sprintf("c%d-%05d", c, i)); err != nil {
					t.Error(err)
					return
				}
				time.Sleep(time.Duration(random.IntN(20)) * time.Millisecond)
			}
		})
	}
	return &all
}

// versions watches every actor's state version, which never goes back.
func (d *deployment) versions(t *testing.T, ctx context.Context) *sync.WaitGroup {
	var all sync.WaitGroup
	all.Go(func() {
		highest := map[string]string{}
		for ctx.Err() == nil {
			for line := range strings.Lines(d.b.text(t, `SELECT concat(actor_type, '/', actor_id, ' ', state_version) FROM lockstep_instances`)) {
				name, version, _ := strings.Cut(strings.TrimSpace(line), " ")
				if version < highest[name] {
					t.Errorf("%s was taken back from state version %s to %s", name, highest[name], version)
				}
				highest[name] = max(highest[name], version)
			}
			time.Sleep(50 * time.Millisecond)
		}
	})
	return &all
}

// G10, G29, deploys: two builds on one database at once, under load, in every mixture of a deployment and its roll-back.
// They differ in a state's version, in messages, types, effects, reminders and observables. Nothing is lost, doubled,
// given up, taken back to an older version or charged an attempt.
func TestG29TwoBuildsShareADatabaseUnderLoad(t *testing.T) {
	onEach(t, func(t *testing.T, b *base) {
		lasts := size(t, "each mixture lasts", 700*time.Millisecond, 20*time.Second)
		world := &outside{}
		d := &deployment{b: b, old: defineOlder(world), new: defineNewer(world), world: world, lines: map[string][]string{}}
		d.fleet(t, 2, 0)
		ctx, stop := context.WithCancel(t.Context())
		watching, watched := context.WithCancel(t.Context())
		defer watched()
		versions := d.versions(t, watching)
		calls := d.load(t, ctx, 6)
		for _, mixture := range [][2]int{{2, 0}, {1, 1}, {0, 2}, {1, 1}, {2, 0}, {1, 1}, {0, 2}} {
			d.fleet(t, mixture[0], mixture[1])
			time.Sleep(lasts)
		}
		stop()
		calls.Wait()
		d.fleet(t, 1, 1) // what only the older build knows waits for it
		b.atRest(t, time.Minute)
		watched()
		versions.Wait()
		d.verdict(t)
	})
}

// verdict reads from the database what became of every acknowledged call.
func (d *deployment) verdict(t *testing.T) {
	t.Helper()
	if n := d.b.number(t, "SELECT count(*) FROM lockstep_dead_letters"); n > 0 {
		t.Errorf("%d dead letters", n)
	}
	if bad := d.b.text(t, `SELECT concat(operation, ' ', status, ' ', attempts) FROM lockstep_messages WHERE status <> 'completed' OR attempts <> 1`); bad != "" {
		t.Errorf("messages that did not complete at their first attempt:\n%s", bad)
	}
	performed := d.world.lines()
	total := 0
	for i := range deployedCarts {
		id := fmt.Sprint("a", i)
		cart, err := d.new.carts.Ref(id).Snapshot(t.Context(), d.newers[0])
		if err != nil {
			t.Fatal(err)
		}
		ledger, err := d.old.ledgers.Ref(id).Snapshot(t.Context(), d.olders[0])
		if err != nil {
			t.Fatal(err)
		}
		shelf, err := d.new.shelves.Ref(id).Snapshot(t.Context(), d.newers[0])
		if err != nil {
			t.Fatal(err)
		}
		adds, tags, notes := d.lines["add "+id], d.lines["tag "+id], d.lines["note "+id]
		total += len(adds) + len(tags) + len(notes)
		inOrder(t, id+": lines", cart.Lines, adds)
		inOrder(t, id+": tags", cart.Tags, tags)
		inOrder(t, id+": notes", ledger.Lines, notes)
		inOrder(t, id+": messages to the new type", shelf.Lines, tags)
		same(t, id+": reminders", cart.Rung, adds)
		same(t, id+": reminders of the newer build", cart.Checked, tags)
		same(t, id+": effects of the newer build", cart.Stamped, tags)
		same(t, id+": effects of the older build", ledger.Printed, notes)
		for _, line := range slices.Concat(tags, notes) {
			if performed[line] != 1 {
				t.Errorf("%s: %d effects were performed for %s", id, performed[line], line)
			}
		}
	}
	t.Logf("%d calls", total)
	if total < 100 {
		t.Errorf("only %d calls: too little happened to prove anything", total)
	}
}

// same compares what an actor has with what was acknowledged, in any order.
func same(t *testing.T, what string, got, want []string) {
	t.Helper()
	got, want = slices.Sorted(slices.Values(got)), slices.Sorted(slices.Values(want))
	if !slices.Equal(got, want) {
		t.Errorf("%s: it has %d, want %d: %q, want %q", what, len(got), len(want), got, want)
	}
}

// inOrder is same, and each caller's lines are in the order of its calls.
func inOrder(t *testing.T, what string, got, want []string) {
	t.Helper()
	same(t, what, got, want)
	last := map[string]string{}
	for _, line := range got {
		caller, _, _ := strings.Cut(line, "-")
		if line <= last[caller] {
			t.Errorf("%s: %s came after %s", what, line, last[caller])
		}
		last[caller] = line
	}
}
