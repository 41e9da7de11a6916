package webtest

import (
	"context"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/lockstep-go/lockstep/web"
)

// Site is an application under test.
type Site struct {
	t       testing.TB
	base    url.URL
	dial    func(ctx context.Context, network, addr string) (net.Conn, error) // nil is the network
	handler atomic.Pointer[http.Handler]                                      // of a site that Serve opened
	stop    func()                                                            // ends the hub
	pages   atomic.Uint64
}

// Serve runs live's hub and serves handler to the site's visitors, over pipes in memory, until the test ends. The runtime
// below live has to run already, as that of package runtimetest does.
func Serve(t testing.TB, live *web.Live, handler http.Handler) *Site {
	t.Helper()
	l := &pipes{conns: make(chan net.Conn), done: make(chan struct{})}
	s := &Site{t: t, base: url.URL{Scheme: "http", Host: "site.example"}, dial: l.dial}
	srv := &http.Server{
		Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			(*s.handler.Load()).ServeHTTP(w, r)
		}),
		ErrorLog: slog.NewLogLogger(slog.DiscardHandler, slog.LevelError),
	}
	go srv.Serve(l)
	s.start(live, handler)
	t.Cleanup(func() {
		s.stop()
		srv.Close()
	})
	return s
}

// At is a site that serves by itself, at an address like http://127.0.0.1:8080.
func At(t testing.TB, address string) *Site {
	t.Helper()
	base, err := url.Parse(address)
	if err != nil || base.Host == "" {
		t.Fatalf("webtest: %q is no address of a site", address)
	}
	return &Site{t: t, base: url.URL{Scheme: base.Scheme, Host: base.Host}}
}

// Restart is a deploy: it ends the hub, whose sockets are told to come back, and serves another Live and handler from
// then on. It is for a Site that Serve opened.
func (s *Site) Restart(live *web.Live, handler http.Handler) {
	s.t.Helper()
	if s.handler.Load() == nil {
		s.t.Fatal("webtest: Restart is for a site that Serve opened")
	}
	s.stop()
	s.start(live, handler)
}

func (s *Site) start(live *web.Live, handler http.Handler) {
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- live.Run(ctx) }()
	s.stop = sync.OnceFunc(func() {
		cancel()
		if err := <-ended; err != nil {
			s.t.Errorf("webtest: the hub ended with %v", err)
		}
	})
	s.handler.Store(&handler)
}

// URL is the address of a path.
func (s *Site) URL(path string) string {
	at, err := s.base.Parse(path)
	if err != nil {
		s.t.Fatalf("webtest: %q is no path: %v", path, err)
	}
	return at.String()
}

// pipes is a listener in memory.
type pipes struct {
	conns chan net.Conn
	done  chan struct{}
	once  sync.Once
}

func (l *pipes) Accept() (net.Conn, error) {
	select {
	case c := <-l.conns:
		return c, nil
	case <-l.done:
		return nil, net.ErrClosed
	}
}

func (l *pipes) Close() error   { l.once.Do(func() { close(l.done) }); return nil }
func (l *pipes) Addr() net.Addr { return &net.UnixAddr{Name: "pipe"} }

func (l *pipes) dial(ctx context.Context, _, _ string) (net.Conn, error) {
	here, there := net.Pipe()
	select {
	case l.conns <- there:
		return here, nil
	case <-l.done:
		return nil, net.ErrClosed
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}
