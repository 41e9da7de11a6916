package realtime

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/coder/websocket"

	"github.com/lockstep-go/lockstep/actors"
	"github.com/lockstep-go/lockstep/realtime/origin"
	"github.com/lockstep-go/lockstep/realtime/wire"
)

// Hub holds the sockets of open pages and pushes what changed. Its methods may be called concurrently.
type Hub struct {
	cfg     Config
	log     *slog.Logger
	meter   Metrics
	origins origin.Set
	policy  SubscribeFunc // all middleware around the policies

	base       context.Context // of reads and shared renders: nothing of any viewer; ends when the hub has ended
	cancel     context.CancelFunc
	resyncs    chan struct{} // slots for subscribes
	pushes     chan struct{} // slots for everything else that renders or asks policies
	waiting    atomic.Int64  // subscribes that wait for a slot
	revoked    atomic.Int64  // counts revocations of an actor
	turning    atomic.Int64  // sockets that are being turned away
	deliveries atomic.Int64  // counts fragments handed to their subscriptions

	hello       *frame // the first of every connection
	revocations revocations

	ran   atomic.Bool
	life  sync.RWMutex
	state state
	wg    sync.WaitGroup // every goroutine
	tasks chan func()    // to goroutines that have nothing to do
	idle  atomic.Int64   // how many these are
	over  chan struct{}  // closed when the hub has ended

	mu       sync.RWMutex
	conns    map[*conn]bool
	streams  map[string]*conn      // those of conns that are streams, by name
	servers  map[*http.Server]bool // that tell of their shutdown: whether it has begun
	topics   map[actors.Address]*topic
	capacity capacity
	empty    chan struct{} // closed when the last connection is gone; set while draining
}

type state int

const (
	waiting  state = iota // Run was not called
	running               // sockets are served
	draining              // sockets are being closed
	ended                 // no goroutine is started any more
)

func newHub(c Config, o origin.Set) *Hub {
	h := &Hub{
		cfg: c, log: c.Logger, meter: c.Metrics, origins: o,
		resyncs: make(chan struct{}, c.Resyncs), pushes: make(chan struct{}, 2*c.Resyncs),
		tasks: make(chan func()), over: make(chan struct{}),
		conns: map[*conn]bool{}, streams: map[string]*conn{}, servers: map[*http.Server]bool{}, topics: map[actors.Address]*topic{},
	}
	beat := c.Heartbeat
	if beat < 0 {
		beat = never
	}
	h.hello = encode(wire.Frame{Type: "hello", Heartbeat: beat.Milliseconds(), Build: c.Build})
	h.revocations.heard = make(chan struct{}, 1)
	h.base, h.cancel = context.WithCancel(context.Background())
	h.policy = h.innermost
	for i := len(c.Subscribe) - 1; i >= 0; i-- {
		h.policy = c.Subscribe[i](h.policy)
	}
	return h
}

// spawn starts a goroutine that Run waits for; false after the hub has ended.
func (h *Hub) spawn(f func()) bool {
	h.life.RLock()
	defer h.life.RUnlock()
	if h.state == waiting || h.state == ended {
		return false
	}
	select {
	case h.tasks <- f:
	default:
		h.wg.Go(func() { h.serve(f) })
	}
	return true
}

// maxIdle is how many goroutines stay for what comes next. Their stacks have grown, which costs more than what most of
// these tasks do.
const maxIdle = 64

// serve runs f and then what else is to be done.
func (h *Hub) serve(f func()) {
	for {
		f()
		f = nil
		if h.idle.Add(1) <= maxIdle {
			select {
			case f = <-h.tasks:
			case <-h.over:
			}
		}
		h.idle.Add(-1)
		if f == nil {
			return
		}
	}
}

func (h *Hub) to(s state) {
	h.life.Lock()
	h.state = s
	h.life.Unlock()
}

// How long the end may take: for close frames to be answered, then for application code to return.
const (
	drainSockets = closeWrite + closeWait + time.Second
	drainCode    = 2 * time.Second
)

// Run serves until ctx ends: then it closes every socket with a reason that spreads their return, and returns when
// all are gone and no goroutine is left. That takes seconds at most; the error says that something did not end in
// time. It runs once.
func (h *Hub) Run(ctx context.Context) error {
	if h.ran.Swap(true) {
		return errors.New("realtime: Run was called before")
	}
	unfollow := h.cfg.Source.Follow(h.tell) // before the first socket, so that none misses anything
	unhear := h.cfg.Source.FollowRevocations(h.hearRevoked)
	h.to(running)
	h.spawn(func() { h.revokeLoop(ctx) })
	if h.cfg.Compare > 0 {
		h.spawn(func() { h.compareLoop(ctx) })
	}
	<-ctx.Done()
	unfollow()
	unhear()
	err := h.drain()
	h.to(ended)
	close(h.over)
	h.cancel()
	done := make(chan struct{})
	go func() { h.wg.Wait(); close(done) }()
	select {
	case <-done:
		return err
	case <-time.After(drainCode):
		return errors.Join(err, errors.New("realtime: a component or policy did not return, and runs on"))
	}
}

// drain closes all sockets and waits for them.
func (h *Hub) drain() error {
	h.to(draining)
	h.mu.Lock()
	h.empty = make(chan struct{})
	if len(h.conns) == 0 {
		close(h.empty)
	}
	h.mu.Unlock()
	all := h.all()
	within := strconv.Itoa(returnWithin(len(all)))
	for _, c := range all {
		c.endFor(ClosedDrained, int(websocket.StatusServiceRestart), within)
	}
	select {
	case <-h.empty:
		return nil
	case <-time.After(drainSockets):
	}
	left := h.all()
	for _, c := range left {
		c.line.cut()
	}
	select {
	case <-h.empty:
		return nil
	case <-time.After(time.Second):
		return fmt.Errorf("realtime: %d sockets did not close", len(h.all()))
	}
}

// returnWithin is the number of ms in which n clients may come back: a thousand take two seconds.
func returnWithin(n int) int { return min(500+2*n, 30_000) }

// add takes a connection in, unless the hub does not serve or is full; then c.over says how it is to be turned away. Its
// goroutine, which the caller starts, ends with remove.
func (h *Hub) add(c *conn) bool {
	h.life.RLock()
	defer h.life.RUnlock()
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.state != running {
		c.over = &ending{code: int(websocket.StatusTryAgainLater), reason: strconv.Itoa(returnWithin(0)), why: ClosedEarly}
	} else {
		c.over = h.refusal(c.who)
	}
	if c.over != nil {
		h.meter.Count(CountClosed, c.over.why, 1)
		return false
	}
	h.conns[c] = true
	h.capacity.count(c.who, 1)
	h.meter.Gauge(GaugeConnections, 1)
	if s, ok := c.line.(*stream); ok {
		h.streams[s.id] = c
	}
	h.wg.Add(1)
	return true
}

func (h *Hub) remove(c *conn) {
	defer h.wg.Done()
	h.mu.Lock()
	defer h.mu.Unlock()
	delete(h.conns, c)
	h.capacity.count(c.who, -1)
	h.meter.Gauge(GaugeConnections, -1)
	if s, ok := c.line.(*stream); ok {
		delete(h.streams, s.id)
	}
	if h.empty != nil && len(h.conns) == 0 {
		close(h.empty)
	}
}

// tell takes a broadcast from the runtime.
func (h *Hub) tell(b actors.Broadcast) {
	h.mu.RLock()
	t := h.topics[b.Actor]
	h.mu.RUnlock()
	if t != nil {
		t.tell(b)
	}
}
