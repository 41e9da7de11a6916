package realtime

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"io"
	"mime"
	"net"
	"net/http"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/coder/websocket"

	"github.com/lockstep-go/lockstep/realtime/wire"
)

// stream is the answer to a request, which carries a connection's frames as Server-Sent Events, and ends with the
// connection.
type stream struct {
	id     string
	server *http.Server // that serves it, if known
	w      http.ResponseWriter
	ctl    *http.ResponseController

	writing sync.Mutex // guards what follows
	named   bool       // the client knows id
	shut    bool       // nothing is written any more

	timing sync.Mutex // of deadlines, which may be set while somebody writes
	left   bool       // the handler returned; guarded by timing

	heard chan struct{} // closed when the commands that came with the request were taken: others follow them
	once  sync.Once
	done  chan struct{} // closed when the handler may return
}

// A request to the stream: all subscribes of a page, or the commands that follow them.
const (
	maxStreamBytes = 4 << 20
	streamBodyTime = 10 * time.Second // for its body to arrive
)

// streamRequest is the body of a request to the stream.
type streamRequest struct {
	Protocol []string          `json:"protocol"` // those that the client speaks, as for a socket
	Stream   string            `json:"stream"`   // for which the commands are; "" opens one
	Commands []json.RawMessage `json:"commands"` // frames as on a socket
	Wait     *int64            `json:"wait"`     // ms; the stream ends by itself, for who hears nothing of it earlier
}

// StreamHandler serves the stream, which stands in for the socket where that does not pass: a POST opens one, whose
// answer is its frames as Server-Sent Events, or brings commands for one. It stands behind the application's
// middleware. HEAD says whether the hub serves. Only a page of ours may post to it.
//
// A stream is a request, for which the shutdown of an http.Server waits: the hub asks the server to be told of it, and
// ends that server's streams then.
func (h *Hub) StreamHandler() http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Cache-Control", "private, no-store, no-transform")
		switch {
		case r.Method == http.MethodHead && h.serves():
			w.WriteHeader(http.StatusNoContent)
		case r.Method == http.MethodHead:
			w.Header().Set("Retry-After", "1")
			w.WriteHeader(http.StatusServiceUnavailable)
		case r.Method != http.MethodPost:
			w.Header().Set("Allow", "HEAD, POST")
			http.Error(w, "a stream is opened with POST", http.StatusMethodNotAllowed)
		case h.admit(w, r):
			if body, ok := h.readStream(w, r); !ok {
				return
			} else if body.Stream != "" {
				h.command(w, r, body)
			} else {
				h.openStream(w, r, body)
			}
		}
	})
}

// serves says whether connections are taken.
func (h *Hub) serves() bool {
	h.life.RLock()
	defer h.life.RUnlock()
	return h.state == running
}

// readStream reads a request to the stream, and answers what is none.
func (h *Hub) readStream(w http.ResponseWriter, r *http.Request) (body streamRequest, ok bool) {
	refuse := func(status int, why string) (streamRequest, bool) {
		http.Error(w, why, status)
		return streamRequest{}, false
	}
	if kind, _, err := mime.ParseMediaType(r.Header.Get("Content-Type")); err != nil || kind != "application/json" {
		return refuse(http.StatusUnsupportedMediaType, "a request to the stream is application/json")
	}
	ctl := http.NewResponseController(w)
	if err := ctl.SetReadDeadline(time.Now().Add(streamBodyTime)); err != nil {
		return h.cannotStream(w, err)
	}
	text, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxStreamBytes))
	if _, large := errors.AsType[*http.MaxBytesError](err); large {
		return refuse(http.StatusRequestEntityTooLarge, "a request to the stream is at most "+strconv.Itoa(maxStreamBytes)+" bytes")
	}
	if err != nil {
		return refuse(http.StatusBadRequest, "the request could not be read")
	}
	if err := ctl.SetReadDeadline(time.Time{}); err != nil {
		return h.cannotStream(w, err)
	}
	if json.Unmarshal(text, &body) != nil {
		return refuse(http.StatusBadRequest, "this is no request to the stream")
	}
	return body, true
}

// cannotStream answers where what is between the server and the hub hides what streams need.
func (h *Hub) cannotStream(w http.ResponseWriter, err error) (streamRequest, bool) {
	h.log.Error("middleware hides what a stream needs of the ResponseWriter: give its own an Unwrap method", "error", err)
	http.Error(w, "streams cannot be served here", http.StatusNotImplemented)
	return streamRequest{}, false
}

// openStream serves a stream until it ends.
func (h *Hub) openStream(w http.ResponseWriter, r *http.Request, body streamRequest) {
	s := &stream{id: rand.Text(), w: w, ctl: http.NewResponseController(w), heard: make(chan struct{}), done: make(chan struct{})}
	header := w.Header()
	header.Set("Content-Type", "text/event-stream")
	header.Set("X-Accel-Buffering", "no") // nginx would gather it
	if err := s.begin(); errors.Is(err, http.ErrNotSupported) {
		header.Del("Content-Type")
		h.cannotStream(w, err)
		return
	} else if err != nil {
		return // the client has gone
	}
	arrived := sync.OnceFunc(h.arrived)
	defer arrived()
	since := h.arrive(r.Context())
	ctx, who := h.viewer(r)
	c := &conn{hub: h, line: s, who: who, since: since, viewer: h.cfg.Sealer.Viewer(who.Principal, who.Session), scopes: map[string]*sub{}}
	c.ctx, c.cancel = context.WithCancel(context.WithoutCancel(ctx))
	defer c.cancel()
	c.greet()
	restart := strconv.Itoa(returnWithin(0))
	switch {
	case !slices.Contains(body.Protocol, wire.Subprotocol):
		h.meter.Count(CountClosed, ClosedVersion, 1)
		s.close(wire.CloseVersion, wire.Subprotocol, time.Now().Add(closeWrite))
		return
	case !h.tellsOfShutdown(r, s):
		s.close(int(websocket.StatusServiceRestart), restart, time.Now().Add(closeWrite))
		return
	case !h.add(c):
		s.close(c.over.code, c.over.reason, time.Now().Add(closeWrite))
		return
	}
	defer h.remove(c)
	arrived()
	h.withdrawnSince(c)
	defer context.AfterFunc(r.Context(), c.vanished)()
	if body.Wait != nil {
		c.round = &round{asked: map[int64]seen{}}
	}
	c.start()
	for _, text := range body.Commands {
		c.hear(text)
	}
	close(s.heard)
	if body.Wait != nil {
		c.begin(h.waits(*body.Wait))
	}
	body = streamRequest{}
	<-s.done
	s.leave()
}

// hear takes one of the client's frames.
func (c *conn) hear(text []byte) {
	if len(text) > wire.MaxFrameBytes {
		c.end(int(websocket.StatusMessageTooBig), "a frame is at most "+strconv.Itoa(wire.MaxFrameBytes)+" bytes")
	}
	if !c.alive() {
		return
	}
	if cmd := parse(text); cmd.garbage || cmd.Type != "pong" {
		c.take(cmd)
	}
}

// vanished ends a connection whose client has gone.
func (c *conn) vanished() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.endLocked(&ending{silent: true})
}

// command brings commands to the stream that they are for. One of another process, of another viewer, or that has
// ended is answered 404: the client opens a new one.
func (h *Hub) command(w http.ResponseWriter, r *http.Request, body streamRequest) {
	who := h.cfg.Identify(r)
	h.mu.RLock()
	c := h.streams[body.Stream]
	h.mu.RUnlock()
	if c == nil || c.viewer != h.cfg.Sealer.Viewer(who.Principal, who.Session) || !c.alive() {
		http.Error(w, "no such stream here", http.StatusNotFound)
		return
	}
	select {
	case <-c.line.(*stream).heard:
	case <-c.ctx.Done():
	}
	for _, text := range body.Commands {
		c.hear(text)
	}
	w.WriteHeader(http.StatusNoContent)
}

// tellsOfShutdown sees to it that the server of a request tells of its shutdown, and says whether that is still ahead.
func (h *Hub) tellsOfShutdown(r *http.Request, s *stream) bool {
	s.server, _ = r.Context().Value(http.ServerContextKey).(*http.Server)
	if s.server == nil {
		return true
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	down, known := h.servers[s.server]
	if !known {
		h.servers[s.server] = false
		s.server.RegisterOnShutdown(func() { h.endStreams(s.server) })
	}
	return !down
}

// endStreams ends the streams of a server that shuts down.
func (h *Hub) endStreams(of *http.Server) {
	h.mu.Lock()
	h.servers[of] = true
	var all []*conn
	for _, c := range h.streams {
		if c.line.(*stream).server == of {
			all = append(all, c)
		}
	}
	h.mu.Unlock()
	within := strconv.Itoa(returnWithin(len(all)))
	for _, c := range all {
		c.end(int(websocket.StatusServiceRestart), within)
	}
}

// begin sends the answer's header.
func (s *stream) begin() error {
	if err := s.ctl.SetWriteDeadline(time.Now().Add(streamBodyTime)); err != nil {
		return err
	}
	s.w.WriteHeader(http.StatusOK) // compressors decide here, and not at a flush
	return s.ctl.Flush()
}

func (s *stream) try(frames []*frame, _ *gathered) []*frame { return frames } // HTTP has no way to

func (s *stream) send(frames []*frame, deadline func() error) (clean bool, err error) {
	s.writing.Lock()
	defer s.writing.Unlock()
	if s.shut {
		return false, net.ErrClosed
	}
	pooled := chunks.Get().(*[]byte)
	defer chunks.Put(pooled)
	buf := (*pooled)[:0]
	flush := func() error {
		if err := deadline(); err != nil {
			return err
		}
		if _, err := s.w.Write(buf); err != nil {
			return err
		}
		buf = buf[:0]
		return s.ctl.Flush()
	}
	if !s.named { // by now commands for it are taken
		buf = append(append(append(buf, "event: open\ndata: {\"stream\":\""...), s.id...), "\"}\n\n"...)
		s.named = true
	}
	for _, f := range frames {
		buf = append(buf, "data: "...)
		rest := f.payload()
		for len(buf)+len(rest)+2 > writeChunk {
			n := min(len(rest), writeChunk-len(buf))
			buf, rest = append(buf, rest[:n]...), rest[n:]
			if err := flush(); err != nil {
				return false, err
			}
		}
		buf = append(append(buf, rest...), "\n\n"...)
	}
	err = flush()
	return err == nil, err
}

func (s *stream) close(code int, reason string, deadline time.Time) {
	s.writing.Lock()
	defer s.writing.Unlock()
	if code == 0 { // what has been written is all, and the server ends it
		s.SetWriteDeadline(time.Now().Add(streamBodyTime))
	} else if !s.shut && s.SetWriteDeadline(deadline) == nil {
		text := append([]byte(`event: close`+"\n"+`data: {"code":`), strconv.Itoa(code)...)
		text = append(append(text, `,"reason":`...), wire.String(reason)...)
		if _, err := s.w.Write(append(text, "}\n\n"...)); err == nil {
			s.ctl.Flush()
		}
	}
	s.shut = true
	s.once.Do(func() { close(s.done) })
}

func (s *stream) cut() {
	s.SetWriteDeadline(time.Unix(1, 0))
	s.once.Do(func() { close(s.done) })
}

func (s *stream) SetWriteDeadline(t time.Time) error {
	s.timing.Lock()
	defer s.timing.Unlock()
	if s.left {
		return net.ErrClosed
	}
	return s.ctl.SetWriteDeadline(t)
}

// SetReadDeadline has no effect: a stream is not read.
func (s *stream) SetReadDeadline(time.Time) error { return nil }

// leave waits for whoever writes, and keeps everybody from the answer, since its handler is about to return.
func (s *stream) leave() {
	s.writing.Lock()
	s.shut = true
	s.writing.Unlock()
	s.timing.Lock()
	s.left = true
	s.timing.Unlock()
}
