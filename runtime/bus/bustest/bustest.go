// Package bustest is what every bus.Bus is held to.
package bustest

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/lockstep-go/lockstep/actors"
	"github.com/lockstep-go/lockstep/runtime/bus"
)

// Subject opens buses of one kind for the suite.
type Subject struct {
	// Open opens the bus of a process on channel, to be closed when the test ends. Buses of other channels do not hear
	// it. Server, if not "", is the address to reach the server at instead of its own.
	Open func(t *testing.T, channel, server string) bus.Bus
	// Server is the server's address; "" where there is none, and so nothing that could be cut off.
	Server string
}

// Run runs the suite.
func Run(t *testing.T, s Subject) {
	t.Run("hints_reach_the_others", s.hints)
	t.Run("D38/packets_are_bounded_by_time", s.coalesced)
	t.Run("R33/packets_stay_small", s.small)
	t.Run("listening_ends_with_its_context", s.ends)
	if s.Server == "" {
		return
	}
	t.Run("R32/a_killed_listener_comes_back", s.killed)
	t.Run("D38/a_deaf_listener_finds_out", s.deaf)
	t.Run("D38/publishing_never_blocks", s.blocked)
	t.Run("D38/a_server_that_starts_later", s.late)
}

var channels sync.Map

// channel is the test's own.
func channel(t *testing.T) string {
	name := "lockstep_test_" + strings.ToLower(strings.NewReplacer("/", "_", " ", "_").Replace(t.Name()))
	n, _ := channels.LoadOrStore(name, time.Now().UnixNano())
	return fmt.Sprintf("%s_%d", name[max(0, len(name)-30):], n)
}

// Ear is a listener that keeps what it hears.
type Ear struct {
	mu      sync.Mutex
	hints   []bus.Hint
	packets int
	missed  int
	from    map[string]int
}

// Listen listens on a bus until the test ends, and waits until it does.
func Listen(t testing.TB, b bus.Bus) *Ear {
	t.Helper()
	e := Start(t, b)
	Eventually(t, "it has connected", func() bool { return e.Missed() == 1 })
	return e
}

// Start listens on a bus until the test ends.
func Start(t testing.TB, b bus.Bus) *Ear {
	e := &Ear{from: map[string]int{}}
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- b.Listen(ctx, e.hear) }()
	t.Cleanup(func() {
		stop()
		if err := <-ended; err != nil {
			t.Errorf("listen: %v", err)
		}
	})
	return e
}

func (e *Ear) hear(from string, hints []bus.Hint) {
	e.mu.Lock()
	defer e.mu.Unlock()
	for _, h := range hints {
		if h.Kind == bus.Missed && from == "" {
			e.missed++
			continue
		}
		e.hints = append(e.hints, h)
		e.from[from]++
	}
	if from != "" {
		e.packets++
	}
}

// Missed is how often it was told that it may have missed something by its own bus.
func (e *Ear) Missed() int {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.missed
}

// Packets is how many packets came.
func (e *Ear) Packets() int {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.packets
}

// Heard says whether a hint has come.
func (e *Ear) Heard(h bus.Hint) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	return slices.Contains(e.hints, h)
}

// Eventually waits on the real clock.
func Eventually(t testing.TB, what string, true func() bool) {
	t.Helper()
	for end := time.Now().Add(20 * time.Second); time.Now().Before(end); time.Sleep(2 * time.Millisecond) {
		if true() {
			return
		}
	}
	t.Fatalf("%s: not after 20 s", what)
}

// every is a hint of each kind.
func every() []bus.Hint {
	return []bus.Hint{
		{Kind: bus.Missed}, {Kind: bus.Revoke, Name: "session", ID: strings.Repeat("d", 43)},
		{Kind: bus.Messages, Name: "cart"}, {Kind: bus.Effects, Name: "charge_card"}, {Kind: bus.Reminders}, {Kind: bus.Sends},
		{Kind: bus.Ended, ID: "01890000-0000-7000-8000-000000000001"}, {Kind: bus.Gone, ID: "01890000-0000-7000-8000-000000000002"},
		{Kind: bus.News, Actor: actors.Address{Type: "cart", ID: `a<b>"&` + "\u2028é"}, Instance: "i", Revision: 1 << 60},
	}
}

func (s Subject) hints(t *testing.T) {
	name := channel(t)
	one, two, other := s.Open(t, name, ""), s.Open(t, name, ""), s.Open(t, name+"x", "")
	if s.Server == "" {
		two = one
	}
	first, second, foreign := Listen(t, one), Listen(t, two), Listen(t, other)
	for _, h := range every() {
		one.Publish("me", h)
		Eventually(t, fmt.Sprintf("%v is heard", h), func() bool { return first.Heard(h) && second.Heard(h) })
	}
	two.Publish("you", every()[2])
	Eventually(t, "publishers are told apart", func() bool {
		second.mu.Lock()
		defer second.mu.Unlock()
		return second.from["you"] == 1 && second.from["me"] == len(every())
	})
	if foreign.Packets() != 0 {
		t.Error("another channel hears it")
	}
}

func (s Subject) coalesced(t *testing.T) {
	b := s.Open(t, channel(t), "")
	ear := Listen(t, b)
	begun := time.Now()
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	var slowest time.Duration
	for i := range 1000 {
		<-tick.C
		at := time.Now()
		b.Publish("me", bus.Hint{Kind: bus.Messages, Name: "cart"}, bus.Hint{Kind: bus.Ended, ID: fmt.Sprint(i)})
		slowest = max(slowest, time.Since(at))
	}
	took := time.Since(begun)
	Eventually(t, "the last is heard", func() bool { return ear.Heard(bus.Hint{Kind: bus.Ended, ID: "999"}) })
	n, most := ear.Packets(), int(took/bus.Window)+2
	t.Logf("%d packets for 1,000 sends in %v; the slowest Publish took %v", n, took, slowest)
	if n > most {
		t.Errorf("%d packets for 1,000 sends in %v, want at most %d", n, took, most)
	}
}

func (s Subject) small(t *testing.T) {
	b := s.Open(t, channel(t), "")
	ear := Listen(t, b)
	var all []bus.Hint
	for i := range 500 {
		id := fmt.Sprintf("%03d", i) + strings.Repeat("\u2028", 62)
		all = append(all, bus.Hint{Kind: bus.News, Actor: actors.Address{Type: "cart", ID: id}, Instance: strings.Repeat("i", 36), Revision: int64(i + 1)})
	}
	b.Publish("me", all...)
	for _, h := range all {
		Eventually(t, "all of them are heard", func() bool { return ear.Heard(h) })
	}
}

func (s Subject) ends(t *testing.T) {
	b := s.Open(t, channel(t), "")
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	connected := make(chan struct{}, 8)
	go func() { ended <- b.Listen(ctx, func(string, []bus.Hint) { connected <- struct{}{} }) }()
	<-connected
	stop()
	select {
	case err := <-ended:
		if err != nil {
			t.Errorf("listen: %v", err)
		}
	case <-time.After(5 * time.Second):
		t.Error("Listen goes on after its context")
	}
}

// across opens a bus that reaches its server by a proxy, and one that does not.
func (s Subject) across(t *testing.T) (*Proxy, bus.Bus, bus.Bus) {
	p := NewProxy(t, s.Server)
	name := channel(t)
	return p, s.Open(t, name, p.Addr()), s.Open(t, name, "")
}

func (s Subject) killed(t *testing.T) {
	p, b, other := s.across(t)
	ear := Listen(t, b)
	for round := range 3 {
		begun := time.Now()
		p.Kill()
		Eventually(t, "it sweeps once it is back", func() bool { return ear.Missed() == round+2 })
		if took := time.Since(begun); took > 10*time.Second {
			t.Errorf("it took %v", took)
		}
		h := bus.Hint{Kind: bus.Messages, Name: fmt.Sprint("round", round)}
		other.Publish("you", h)
		Eventually(t, "it hears again", func() bool { return ear.Heard(h) })
	}
	time.Sleep(50 * time.Millisecond)
	if n := ear.Missed(); n != 4 {
		t.Errorf("it swept %d times for three connections, want once for each", n-1)
	}
}

func (s Subject) deaf(t *testing.T) {
	if testing.Short() {
		t.Skip("it takes as long as a listener needs to find out")
	}
	p, b, other := s.across(t)
	ear := Listen(t, b)
	p.Darken()
	lost := bus.Hint{Kind: bus.Messages, Name: "lost"}
	other.Publish("you", lost)
	time.Sleep(300 * time.Millisecond)
	if ear.Heard(lost) {
		t.Fatal("it is not deaf")
	}
	p.Lighten()
	begun := time.Now()
	Eventually(t, "it sweeps once it is back", func() bool { return ear.Missed() == 2 })
	if took := time.Since(begun); took > 12*time.Second {
		t.Errorf("it took %v", took)
	}
	h := bus.Hint{Kind: bus.Messages, Name: "found"}
	other.Publish("you", h)
	Eventually(t, "it hears again", func() bool { return ear.Heard(h) })
}

func (s Subject) blocked(t *testing.T) {
	p, b, other := s.across(t)
	ear := Listen(t, other)
	first := bus.Hint{Kind: bus.Messages, Name: "first"}
	b.Publish("me", first)
	Eventually(t, "the first is heard", func() bool { return ear.Heard(first) })
	p.Darken()
	begun := time.Now()
	for i := range 20_000 {
		b.Publish("me", bus.Hint{Kind: bus.News, Actor: actors.Address{Type: "cart", ID: fmt.Sprint(i)}, Instance: "i", Revision: 1})
	}
	if took := time.Since(begun); took > 2*time.Second {
		t.Errorf("20,000 hints took %v to hand over while the server is silent", took)
	}
	revoked := bus.Hint{Kind: bus.Revoke, Name: "principal", ID: "digest"}
	b.Publish("me", revoked)
	p.Lighten()
	Eventually(t, "what was withdrawn is heard once the server answers", func() bool { return ear.Heard(revoked) })
	Eventually(t, "and that much was not", func() bool { return ear.Heard(bus.Hint{Kind: bus.Missed}) })
}

func (s Subject) late(t *testing.T) {
	p, b, other := s.across(t)
	p.Darken()
	ear := Start(t, b)
	time.Sleep(200 * time.Millisecond)
	if ear.Missed() != 0 {
		t.Fatal("it has connected")
	}
	p.Lighten()
	Eventually(t, "it connects", func() bool { return ear.Missed() == 1 })
	h := bus.Hint{Kind: bus.Messages, Name: "cart"}
	other.Publish("you", h)
	Eventually(t, "it hears", func() bool { return ear.Heard(h) })
}
