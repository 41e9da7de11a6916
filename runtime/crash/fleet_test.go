//go:build unix

package crash

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"time"
)

// fleet is the worker processes of one round and what happens to them.
type fleet struct {
	d       *database
	address string
	folder  string
	seed    uint64

	mu      sync.Mutex
	met     map[string]int // what happened, by name
	ended   error          // of a worker that nobody killed
	running sync.WaitGroup
}

// ambush is a point where a worker is to stop or to die.
type ambush struct {
	point string
	stop  bool
}

func (a ambush) String() string {
	if a.stop {
		return "stopped " + a.point
	}
	return "killed " + a.point
}

// everyAmbush is all that there are.
func everyAmbush() (all []ambush) {
	for _, stop := range []bool{false, true} {
		for _, p := range pointNames {
			all = append(all, ambush{p, stop})
		}
	}
	return all
}

// ambushFor is what the n-th worker of a round is told. Rounds that follow each other go through all there are.
func ambushFor(seed uint64, n int) ambush {
	all := everyAmbush()
	return all[(int(seed%2)*len(all)/2+n*7)%len(all)] // 7 keeps neighbours apart, and has no factor in common with their number
}

func (f *fleet) count(what string) {
	f.mu.Lock()
	f.met[what]++
	f.mu.Unlock()
}

// drive keeps n workers going until ctx ends: each lives for a while, is killed or stopped for longer than its lease,
// at a point or at a random moment, and is followed by another. In the end all are killed.
func (f *fleet) drive(ctx context.Context, n int) {
	for slot := range n {
		f.running.Go(func() {
			random := rand.New(rand.NewPCG(f.seed, uint64(slot)))
			for life := 0; ctx.Err() == nil; life++ {
				if err := f.live(ctx, random, ambushFor(f.seed, slot+n*life), 0, fmt.Sprintf("w%d-%d", slot, life)); err != nil {
					f.mu.Lock()
					f.ended = err
					f.mu.Unlock()
					return
				}
			}
		})
	}
}

// ambushEach sends workers to where somebody is still to die or to stop, until that has happened everywhere or ctx ends.
// Each is sent to at most three times. While the last are on their way the others live and die as in drive: a worker that
// is alone never meets some points.
func (f *fleet) ambushEach(ctx context.Context, n int, left *ambushes) {
	for slot := range n {
		f.running.Go(func() {
			random := rand.New(rand.NewPCG(f.seed, uint64(slot)))
			for life := 0; ctx.Err() == nil; life++ {
				a, more := left.take()
				patience := 8 * time.Second
				if !more {
					if left.all() {
						return
					}
					patience = 0
				}
				name := fmt.Sprintf("w%d-%d", slot, life)
				if err := f.live(ctx, random, a, patience, name); err != nil {
					f.mu.Lock()
					f.ended = err
					f.mu.Unlock()
					return
				}
				if !more {
					continue
				}
				f.mu.Lock()
				met := f.met[a.String()] > 0
				f.mu.Unlock()
				left.done(a, met || ctx.Err() != nil && left.back(a))
			}
		})
	}
	f.running.Wait()
}

// ambushes are those that are still to be met.
type ambushes struct {
	mu     sync.Mutex
	left   []ambush
	under  int // on their way
	tries  map[ambush]int
	missed []ambush
}

func (s *ambushes) take() (a ambush, more bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.left) == 0 {
		return a, false
	}
	a, s.left = s.left[0], s.left[1:]
	s.under++
	return a, true
}

// all says whether none is left or on its way.
func (s *ambushes) all() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.under+len(s.left) == 0
}

// back gives one back whose worker was ended with its round.
func (s *ambushes) back(a ambush) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.left = append(s.left, a)
	return true
}

// done notes how it went; what was not met is tried again behind the others.
func (s *ambushes) done(a ambush, met bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.under--
	if met {
		return
	}
	if s.tries == nil {
		s.tries = map[ambush]int{}
	}
	if s.tries[a]++; s.tries[a] < 3 {
		s.left = append(s.left, a)
	} else {
		s.missed = append(s.missed, a)
	}
}

// rare points are met only a few times in a worker's life.
var rare = map[string]bool{
	"before a release": true, "after a release": true, "before recovery": true, "after recovery": true,
	"after taking broadcasts": true, "before a failure": true, "after a failure": true,
	"before a renewal": true, "after a renewal": true,
}

// live is the life of one worker: of a random length, or until it came to its ambush, with this patience.
func (f *fleet) live(ctx context.Context, random *rand.Rand, a ambush, patience time.Duration, name string) error {
	t := task{
		Database: f.d.name, Address: f.address, Folder: f.folder, Name: name, Seed: random.Uint64(), Callers: 4,
		Point: a.point, Stop: a.stop, Nth: 1 + random.Int64N(12),
	}
	if rare[a.point] {
		t.Nth = 1 + t.Nth%2
	}
	alive := 500*time.Millisecond + time.Duration(random.IntN(3500))*time.Millisecond
	pauses := []time.Duration{pause(random), pause(random)}
	stopAtEnd := random.IntN(2) == 0
	if patience > 0 {
		alive, stopAtEnd, t.Nth = patience, false, 1+t.Nth%3
		if rare[a.point] {
			t.Nth = 1
		}
	}

	text, err := json.Marshal(t)
	if err != nil {
		return err
	}
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), taskVar+"="+string(text))
	var complaints strings.Builder
	cmd.Stderr = &complaints
	out, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	if _, err := cmd.StdinPipe(); err != nil { // it ends with this process, should it end early
		return err
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	said := make(chan string, 8)
	go func() {
		defer close(said)
		for in := bufio.NewScanner(out); in.Scan(); {
			said <- in.Text()
		}
	}()
	killed := false
	kill := func() {
		killed = true
		_ = cmd.Process.Kill()
	}
	freeze := func(d time.Duration) {
		_ = cmd.Process.Signal(syscall.SIGSTOP)
		sleep(ctx, d)
		_ = cmd.Process.Signal(syscall.SIGCONT)
	}
	begun := time.After(20 * time.Second) // to start: the machine may be busy
	for open := true; open; {
		select {
		case line, ok := <-said:
			switch {
			case !ok:
				open = false
			case line == working:
				begun = time.After(alive)
			case strings.HasPrefix(line, stopping):
				f.count("stopped " + strings.TrimPrefix(line, stopping))
				sleep(ctx, pauses[0]) // by then it has stopped
				_ = cmd.Process.Signal(syscall.SIGCONT)
				if patience > 0 {
					begun = time.After(300 * time.Millisecond)
				}
			case strings.HasPrefix(line, dying):
				f.count("killed " + strings.TrimPrefix(line, dying))
				killed = true
			}
		case <-begun:
			if stopAtEnd {
				f.count("stopped at random")
				freeze(pauses[1])
				stopAtEnd, begun = false, time.After(300*time.Millisecond)
				continue
			}
			f.count("killed at random")
			kill()
			begun = nil
		case <-ctx.Done():
			kill()
			for range said {
			}
			open = false
		}
	}
	if err := cmd.Wait(); !killed {
		return fmt.Errorf("worker %s ended by itself: %w\n%s", name, err, complaints.String())
	}
	return nil
}

// pause is how long a worker is stopped: sometimes shorter and mostly longer than its lease.
func pause(random *rand.Rand) time.Duration {
	return 700*time.Millisecond + time.Duration(random.IntN(2000))*time.Millisecond
}

func sleep(ctx context.Context, d time.Duration) {
	select {
	case <-ctx.Done():
	case <-time.After(d):
	}
}
