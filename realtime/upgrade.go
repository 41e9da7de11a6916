package realtime

import (
	"context"
	"net/http"
	goruntime "runtime"
	"time"

	"github.com/coder/websocket"

	"github.com/lockstep-go/lockstep/realtime/wire"
)

// ServeHTTP upgrades a page's request to its socket and returns; the socket lives on. It stands behind the
// application's middleware, in any order of it: one that limits the time of a request does not end the socket. A foreign
// or missing Origin is answered 403, a request that is no upgrade 426, HTTP/2 505, and 501 where middleware hides what a
// socket needs of the ResponseWriter, which is logged.
// Before Run and after it, the socket is told to try later. Where w has no Unwrap the answer to the upgrade is
// written together with the first frame, and not by its WriteHeader.
func (h *Hub) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	switch {
	case r.ProtoMajor != 1:
		http.Error(w, "the socket is opened over HTTP/1.1", http.StatusHTTPVersionNotSupported)
		return
	case r.Method != http.MethodGet:
		w.Header().Set("Allow", http.MethodGet)
		http.Error(w, "a socket is opened with GET", http.StatusMethodNotAllowed)
		return
	case !h.admit(w, r):
		return
	}
	if r.Header.Get("Upgrade") != "" && !hijackable(w) {
		h.cannotUpgrade(w, http.ErrNotSupported)
		return
	}
	since := h.arrive(r.Context())
	defer h.arrived()
	ctx, who := h.viewer(r)
	if h.crowded(who) {
		h.meter.Count(CountClosed, ClosedFull, 1)
		w.Header().Set("Retry-After", "30")
		http.Error(w, "too many connections", http.StatusServiceUnavailable)
		return
	}
	c := &conn{hub: h, who: who, since: since, viewer: h.cfg.Sealer.Viewer(who.Principal, who.Session), scopes: map[string]*sub{}}
	c.ctx, c.cancel = context.WithCancel(context.WithoutCancel(ctx))
	j := &hijacker{ResponseWriter: w}
	ws, err := websocket.Accept(j, r, &websocket.AcceptOptions{
		Subprotocols:       []string{wire.Subprotocol, wire.AnyVersion}, // in order of preference
		InsecureSkipVerify: true,                                        // admit has looked at the Origin
		CompressionMode:    websocket.CompressionDisabled,
		OnPingReceived:     c.pong,
	})
	if err != nil {
		c.cancel()
		if j.err != nil {
			h.cannotUpgrade(nil, j.err)
		}
		return // Accept has answered
	}
	c.line, c.link, c.ws = j.link, j.link, ws
	goruntime.SetFinalizer(ws, nil) // which closes what was forgotten: nothing here is, and collecting garbage costs more with it
	ws.SetReadLimit(wire.MaxFrameBytes)
	c.greet()
	switch {
	case ws.Subprotocol() != wire.Subprotocol:
		h.meter.Count(CountClosed, ClosedVersion, 1)
		c.turnAway(wire.CloseVersion, wire.Subprotocol)
	case h.add(c):
		h.withdrawnSince(c)
		go c.read()
		c.start()
	default:
		c.turnAway(c.over.code, c.over.reason)
	}
}

// hijackable says whether a ResponseWriter, whatever wraps it, gives its connection away. Only the call would tell what a
// wrapper without Unwrap answers, and by then the upgrade has begun.
func hijackable(w http.ResponseWriter) bool {
	for {
		_, is := w.(http.Hijacker)
		inner, wraps := w.(interface{ Unwrap() http.ResponseWriter })
		if !wraps {
			return is
		}
		w = inner.Unwrap()
	}
}

// cannotUpgrade says what is in the way of every socket; w is nil where it was answered.
func (h *Hub) cannotUpgrade(w http.ResponseWriter, err error) {
	h.log.Error("middleware hides the connection that a socket needs: give its ResponseWriter an Unwrap method, and let http.TimeoutHandler "+
		"stand only before other routes", "error", err)
	if w != nil {
		http.Error(w, "sockets cannot be served here", http.StatusNotImplemented)
	}
}

// viewer makes the ctx of a socket's viewer and asks who it is.
func (h *Hub) viewer(r *http.Request) (context.Context, Identity) {
	ctx := h.cfg.ViewerContext(r)
	if h.cfg.Detach != nil {
		ctx = h.cfg.Detach(ctx)
	}
	return ctx, h.cfg.Identify(r)
}

// turnAway closes a socket that the hub does not take, within the handler: there is nobody else to do it.
func (c *conn) turnAway(code int, reason string) {
	c.hub.turning.Add(1)
	defer c.hub.turning.Add(-1)
	defer c.cancel()
	now := time.Now()
	c.link.close(code, reason, now.Add(closeWrite))
	c.link.SetReadDeadline(now.Add(closeWait))
	for {
		if _, _, err := c.ws.Read(context.Background()); err != nil {
			break
		}
	}
	c.link.cut()
}
