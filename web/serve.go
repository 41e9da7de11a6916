package web

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"time"
)

// Serve listens on addr and is ServeListener then.
func (l *Live) Serve(ctx context.Context, addr string, handler http.Handler) error {
	var listen net.ListenConfig
	ln, err := listen.Listen(ctx, "tcp", addr)
	if err != nil {
		return err
	}
	return l.ServeListener(ctx, ln, handler)
}

// ServeListener runs the runtime, the hub and an HTTP server on ln, which it closes, until ctx ends or one of them
// fails. Then it stops accepting, lets requests finish while turns still run (for Config.Shutdown), closes the sockets,
// and drains the runtime. It returns nil after a clean end. It prints nothing: a caller that wants to say where it
// listens asks ln.
func (l *Live) ServeListener(ctx context.Context, ln net.Listener, handler http.Handler) error {
	lasting := context.WithoutCancel(ctx) // each part ends in its turn
	turns := start(lasting, l.rt.Run)
	sockets := start(lasting, l.Run)
	srv := &http.Server{
		Handler:           handler,
		ReadHeaderTimeout: 10 * time.Second,
		IdleTimeout:       2 * time.Minute,
		ErrorLog:          slog.NewLogLogger(l.log.Handler(), slog.LevelWarn),
	}
	serving := make(chan error, 1)
	go func() { serving <- srv.Serve(ln) }()

	var errs []error
	select {
	case <-ctx.Done():
	case err := <-serving:
		errs = append(errs, fmt.Errorf("serve: %w", err))
	case <-turns.done:
		errs = append(errs, early("runtime", turns.err))
	case <-sockets.done:
		errs = append(errs, early("hub", sockets.err))
	}
	limited, cancel := context.WithTimeout(lasting, l.cfg.Shutdown)
	defer cancel()
	if err := srv.Shutdown(limited); err != nil && !errors.Is(err, net.ErrClosed) {
		srv.Close()
		errs = append(errs, fmt.Errorf("requests were cut off after %v: %w", l.cfg.Shutdown, err))
	}
	errs = append(errs, sockets.end(), turns.end())
	return errors.Join(errs...)
}

// part is a piece of the server that runs under a ctx of its own.
type part struct {
	cancel context.CancelFunc
	done   chan struct{}
	err    error // once done
}

func start(ctx context.Context, run func(context.Context) error) *part {
	ctx, cancel := context.WithCancel(ctx)
	p := &part{cancel: cancel, done: make(chan struct{})}
	go func() {
		defer close(p.done)
		p.err = run(ctx)
	}()
	return p
}

// end ends the part and returns its error.
func (p *part) end() error {
	p.cancel()
	<-p.done
	return p.err
}

// early is the error of a part that ended before it was told to.
func early(name string, err error) error {
	if err != nil {
		return nil // end returns it
	}
	return fmt.Errorf("the %s ended by itself", name)
}
