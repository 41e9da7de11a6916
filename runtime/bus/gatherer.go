package bus

import (
	"context"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"time"
)

const (
	// maxPending is how many hints wait to be sent; more become one Missed.
	maxPending = 4096
	// maxEnded is how many ended messages are named one by one; more become one Ended without an id.
	maxEnded = 128
	// sendLimit is how long one packet may take.
	sendLimit = 2 * time.Second
	// sendRetry is the longest pause after a packet that was not sent.
	sendRetry = 5 * time.Second
)

// Gatherer is the sending half of a Bus: it gathers hints within Window and sends them as packets. Its goroutine lives
// only as long as there is something to send.
type Gatherer struct {
	send func(ctx context.Context, packet []byte) error
	log  *slog.Logger

	mu      sync.Mutex
	pending map[string]*heap // by publisher
	active  bool
	closed  bool
	last    time.Time
	failing bool
	ended   chan struct{}
	under   sync.WaitGroup
}

// heap are the hints of one publisher that were not sent yet.
type heap struct {
	urgent map[Hint]bool // all but news
	news   map[Hint]Hint // the newest of each actor
	ended  int           // of urgent, those that name an ended message
}

// NewGatherer makes one that sends packets with send, one at a time. The logger, which may be nil, hears when that begins
// to fail and when it works again.
func NewGatherer(log *slog.Logger, send func(ctx context.Context, packet []byte) error) *Gatherer {
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	return &Gatherer{send: send, log: log, pending: map[string]*heap{}, ended: make(chan struct{})}
}

// Publish is Bus's.
func (g *Gatherer) Publish(from string, hints ...Hint) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.closed || len(hints) == 0 {
		return
	}
	g.add(from, hints)
	if !g.active {
		g.active = true
		g.under.Go(g.run)
	}
}

// add puts hints to those that wait; g.mu is held.
func (g *Gatherer) add(from string, hints []Hint) {
	p := g.pending[from]
	if p == nil {
		p = &heap{urgent: map[Hint]bool{}, news: map[Hint]Hint{}}
		g.pending[from] = p
	}
	for _, h := range hints {
		p.add(h)
	}
}

func (p *heap) add(h Hint) {
	switch {
	case p.urgent[Hint{Kind: Missed}] && h.Kind != Revoke: // which says it all
		return
	case h.Kind == News:
		key := Hint{Actor: h.Actor}
		if old, ok := p.news[key]; !ok || old.Instance != h.Instance || old.Revision < h.Revision {
			p.news[key] = h
		}
	case h.Kind == Ended && p.urgent[Hint{Kind: Ended}]:
		return
	case h.Kind == Ended && (h.ID == "" || p.ended >= maxEnded && !p.urgent[h]):
		maps.DeleteFunc(p.urgent, func(other Hint, _ bool) bool { return other.Kind == Ended })
		p.urgent[Hint{Kind: Ended}], p.ended = true, 0
	case !p.urgent[h]:
		if h.Kind == Ended {
			p.ended++
		}
		p.urgent[h] = true
	}
	if h.Kind != Missed && len(p.urgent)+len(p.news) <= maxPending {
		return
	}
	maps.DeleteFunc(p.urgent, func(other Hint, _ bool) bool { return other.Kind != Revoke })
	if len(p.urgent) > maxPending/2 {
		clear(p.urgent)
	}
	clear(p.news)
	p.ended = 0
	p.urgent[Hint{Kind: Missed}] = true
}

// take removes and returns a packet's worth, what is urgent first.
func (g *Gatherer) take() (from string, hints []Hint, encoded []byte) {
	g.mu.Lock()
	defer g.mu.Unlock()
	for from, p := range g.pending {
		all := slices.AppendSeq(slices.Collect(maps.Keys(p.urgent)), maps.Values(p.news))
		encoded, n := pack(from, all)
		for _, h := range all[:n] {
			if h.Kind == News {
				delete(p.news, Hint{Actor: h.Actor})
				continue
			}
			delete(p.urgent, h)
			if h.Kind == Ended && h.ID != "" {
				p.ended--
			}
		}
		if len(p.urgent)+len(p.news) == 0 {
			delete(g.pending, from)
		}
		return from, all[:n], encoded
	}
	return "", nil, nil
}

// run sends until nothing waits. What could not be sent waits on, with what comes.
func (g *Gatherer) run() {
	var pause time.Duration
	for {
		g.mu.Lock()
		if len(g.pending) == 0 || g.closed && pause > 0 {
			g.active = false
			g.mu.Unlock()
			return
		}
		wait := max(pause, Window-time.Since(g.last))
		g.mu.Unlock()
		g.wait(wait)
		g.mu.Lock()
		g.last = time.Now()
		g.mu.Unlock()
		from, hints, encoded := g.take()
		ctx, cancel := context.WithTimeout(context.Background(), sendLimit)
		err := g.send(ctx, encoded)
		cancel()
		g.note(err)
		if err == nil {
			pause = 0
			continue
		}
		pause = min(max(2*pause, 100*time.Millisecond), sendRetry)
		g.mu.Lock()
		g.add(from, hints)
		g.mu.Unlock()
	}
}

// wait ends early when the gatherer is closed: what is left goes out at once.
func (g *Gatherer) wait(d time.Duration) {
	if d <= 0 {
		return
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-g.ended:
	}
}

func (g *Gatherer) note(err error) {
	switch {
	case err != nil && !g.failing:
		g.log.Warn("hints are not sent: other processes find by polling what there is to do", "error", err)
	case err == nil && g.failing:
		g.log.Info("hints are sent again")
	}
	g.failing = err != nil
}

// Close sends what waits, once, and takes nothing more. A second Close does nothing.
func (g *Gatherer) Close() {
	g.mu.Lock()
	closed := g.closed
	g.closed = true
	g.mu.Unlock()
	if !closed {
		close(g.ended)
	}
	g.under.Wait()
}
