package webtest

import (
	"context"
	"maps"
	"net"
	"net/http"
	"net/http/cookiejar"
	"strings"
	"sync"
	"time"
)

// Visitor is somebody with a browser: cookies of their own, and any number of pages.
type Visitor struct {
	// Header is sent with every request, the socket's included: for an application that knows its visitors by one.
	Header http.Header

	site   *Site
	client *http.Client

	mu       sync.Mutex
	received strings.Builder
}

// Visitor is a new visitor, without a cookie.
func (s *Site) Visitor() *Visitor {
	s.t.Helper()
	jar, err := cookiejar.New(nil)
	if err != nil {
		s.t.Fatal(err)
	}
	v := &Visitor{Header: http.Header{}, site: s}
	v.client = &http.Client{Jar: jar, Timeout: patience, Transport: &headed{v, &http.Transport{DialContext: v.dial, DisableKeepAlives: true}}}
	return v
}

// Received is every byte that the site has sent to the visitor so far, over requests and sockets alike, as it stood on the
// network: for a test that something secret is not in it. Over https there is nothing to read in it.
func (v *Visitor) Received() string {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.received.String()
}

// dial opens a connection that takes note of what it brings.
func (v *Visitor) dial(ctx context.Context, network, addr string) (net.Conn, error) {
	dial := v.site.dial
	if dial == nil {
		dial = (&net.Dialer{}).DialContext
	}
	c, err := dial(ctx, network, addr)
	if err != nil {
		return nil, err
	}
	return &cable{c, v}, nil
}

// Client sends requests with the visitor's cookies and headers, for what is no page.
func (v *Visitor) Client() *http.Client { return v.client }

// headed adds a visitor's headers.
type headed struct {
	visitor *Visitor
	http.RoundTripper
}

func (w *headed) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	maps.Copy(r.Header, w.visitor.Header)
	return w.RoundTripper.RoundTrip(r)
}

// tap is the client of a socket: it keeps the connection below, so that it can be cut.
func (v *Visitor) tap(cut **cable) *http.Client {
	transport := &http.Transport{DisableKeepAlives: true, DialContext: func(ctx context.Context, network, addr string) (net.Conn, error) {
		c, err := v.dial(ctx, network, addr)
		if err != nil {
			return nil, err
		}
		*cut = c.(*cable)
		return c, nil
	}}
	return &http.Client{Jar: v.client.Jar, Transport: &headed{v, transport}}
}

// cable is a connection that can be cut without a word.
type cable struct {
	net.Conn
	visitor *Visitor
}

func (c *cable) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	c.visitor.mu.Lock()
	defer c.visitor.mu.Unlock()
	c.visitor.received.Write(p[:n])
	return n, err
}

func (c *cable) cut() {
	if c == nil {
		return
	}
	if tcp, ok := c.Conn.(*net.TCPConn); ok {
		_ = tcp.SetLinger(0) // a reset, as when a machine is gone; what was under way is lost
	}
	_ = c.Conn.Close()
}

// patience is how long a page waits for what it is asked to wait for: generous, because a busy machine is no bug.
const patience = 20 * time.Second
