//go:build unix

package crash

import (
	"cmp"
	"context"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/lockstep-go/lockstep/runtime"
)

const (
	durationVar = "LOCKSTEP_CRASH_DURATION" // for each database; 10 s if empty
	seedVar     = "LOCKSTEP_CRASH_SEED"     // of the first round; random if empty
	onVar       = "LOCKSTEP_CRASH_ON"       // names of databases; all three if empty
	longest     = 20 * time.Second          // of one round
)

// TestCrash kills and stops the workers of one database for a while, round after round.
func TestCrash(t *testing.T) {
	if testing.Short() {
		t.Skip("processes are killed for seconds")
	}
	left := 10 * time.Second
	if text := os.Getenv(durationVar); text != "" {
		d, err := time.ParseDuration(text)
		if err != nil {
			t.Fatalf("%s: %v", durationVar, err)
		}
		left = d
	}
	seed := firstSeed(t)
	onEach(t, func(t *testing.T, d *database) {
		met := map[string]int{}
		for rest, seed := left, seed; rest > 0 && !t.Failed(); seed++ {
			lasts := min(rest, longest)
			rest -= lasts
			round(t, d, seed, met, func(ctx context.Context, f *fleet) {
				ctx, cancel := context.WithTimeout(ctx, lasts)
				defer cancel()
				f.drive(ctx, 3)
				for ctx.Err() == nil && !t.Failed() {
					sleep(ctx, 1500*time.Millisecond)
					f.glance(t)
				}
			})
		}
		t.Logf("never met: %q", missed(met))
	})
}

// TestCrashAtEveryPoint kills a worker, and stops one for longer than its lease, at every named point of the transaction
// map in turn, while others work on.
func TestCrashAtEveryPoint(t *testing.T) {
	if os.Getenv(durationVar) == "" {
		t.Skipf("it takes most of a minute on each database: set %s, as make crash does", durationVar)
	}
	seed := firstSeed(t)
	onEach(t, func(t *testing.T, d *database) {
		left := &ambushes{left: everyAmbush()}
		for seed := seed; len(left.left) > 0 && !t.Failed(); seed++ {
			round(t, d, seed, map[string]int{}, func(ctx context.Context, f *fleet) {
				ctx, cancel := context.WithTimeout(ctx, longest)
				defer cancel()
				f.ambushEach(ctx, 4, left)
			})
		}
		for _, a := range left.missed {
			t.Errorf("no worker was %s", a)
		}
	})
}

// firstSeed is the one asked for, or a random one.
func firstSeed(t *testing.T) uint64 {
	t.Helper()
	text := os.Getenv(seedVar)
	if text == "" {
		return rand.Uint64N(1_000_000)
	}
	n, err := strconv.ParseUint(text, 10, 64)
	if err != nil {
		t.Fatalf("%s: %v", seedVar, err)
	}
	return n
}

// onEach runs a test on each of the databases that are asked for.
func onEach(t *testing.T, test func(t *testing.T, d *database)) {
	on := strings.Fields(cmp.Or(os.Getenv(onVar), "sqlite postgres mysql"))
	for i := range databases {
		if d := &databases[i]; slices.Contains(on, d.name) {
			t.Run(d.name, func(t *testing.T) { test(t, d) })
		}
	}
}

// missed are the points where no worker died, or none stopped.
func missed(met map[string]int) (all []string) {
	for _, a := range everyAmbush() {
		if met[a.String()] == 0 {
			all = append(all, a.String())
		}
	}
	return all
}

// round is one fresh database, on which something happens to workers until ctx ends, brought to rest and judged. What
// happened is added to met.
func round(t *testing.T, d *database, seed uint64, met map[string]int, happen func(ctx context.Context, f *fleet)) {
	t.Logf("%s=%d", seedVar, seed)
	folder, err := os.MkdirTemp(t.ArtifactDir(), "round")
	if err != nil {
		t.Fatal(err)
	}
	f := &fleet{d: d, address: d.empty(t, folder), folder: folder, seed: seed, met: map[string]int{}}
	db, err := d.open(t.Context(), f.address) // installs the schema
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	happen(ctx, f)
	cancel()
	f.running.Wait()
	if f.ended != nil {
		t.Fatal(f.ended)
	}
	f.glance(t)
	rt, err := runtime.Open(t.Context(), db, config(d, folder))
	if err != nil {
		t.Fatal(err)
	}
	defer rt.Close()
	f.calm(t, rt)
	f.verdict(t)
	for what, n := range f.met {
		met[what] += n
	}
}

// glance checks what must hold at every moment.
func (f *fleet) glance(t *testing.T) {
	v, err := look(context.WithoutCancel(t.Context()), f.d, f.address)
	if err != nil {
		t.Fatalf("look at the database: %v", err)
	}
	for _, finding := range examine(v).list {
		t.Error(finding)
	}
}

// calm lets one last runtime, which nobody kills, bring everything to rest.
func (f *fleet) calm(t *testing.T, rt *runtime.Runtime) {
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- rt.Run(ctx) }()
	defer func() {
		stop()
		if err := <-ended; err != nil {
			t.Errorf("run: %v", err)
		}
	}()
	for i := range tickerCount {
		name := "t" + strconv.Itoa(i)
		if _, err := silence.Tell(ctx, rt, tickers.Ref(name), call{Call: "silence " + name}); err != nil {
			t.Fatalf("silence: %v", err)
		}
	}
	for limit := time.Now().Add(60 * time.Second); ; time.Sleep(100 * time.Millisecond) {
		v, err := look(ctx, f.d, f.address)
		if err != nil {
			t.Fatalf("look at the database: %v", err)
		}
		waiting := len(v.Sends) + len(v.Effects) + len(v.Reminders)
		for _, i := range v.Instances {
			waiting += int(i.Next - i.Head)
		}
		if waiting == 0 {
			return
		}
		if time.Now().After(limit) {
			t.Fatalf("a minute after the last crash %d things still wait: %.4000v", waiting, v.waiting())
		}
	}
}

// verdict judges the round, and says what happened in it.
func (f *fleet) verdict(t *testing.T) {
	v, err := look(t.Context(), f.d, f.address)
	if err != nil {
		t.Fatal(err)
	}
	e := evidence{view: v}
	if e.records, err = histories(f.folder); err != nil {
		t.Fatal(err)
	}
	if e.stamps, err = lines[stamped](filepath.Join(f.folder, stampsFile)); err != nil {
		t.Fatal(err)
	}
	kinds := map[string]int{}
	for _, r := range e.records {
		kinds[r.Kind]++
	}
	t.Logf("%d messages of %d actors, %d calls, %d turns ended, %d effects performed, and: %v",
		len(v.Messages), len(v.Instances), kinds[callLine], kinds[commitLine]+kinds[failureLine], len(e.stamps), f.happened())
	if kinds[commitLine] == 0 || len(e.stamps) == 0 || len(f.met) == 0 {
		t.Error("too little happened to prove anything")
	}
	for _, finding := range judge(e) {
		t.Error(finding)
	}
}

func (f *fleet) happened() []string {
	var all []string
	for _, what := range slices.Sorted(maps.Keys(f.met)) {
		all = append(all, strconv.Itoa(f.met[what])+"× "+what)
	}
	return all
}
