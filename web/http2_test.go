package web_test

import (
	"bytes"
	"context"
	"crypto/tls"
	"io"
	"net"
	"net/http/httptest"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/security"
	"github.com/chromedp/chromedp"
	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"

	"github.com/lockstep-go/lockstep/runtime/runtimetest"
	"github.com/lockstep-go/lockstep/static/chromiumtest"
	"github.com/lockstep-go/lockstep/views/testdata/fixture"
)

// serveTLS runs the hub and a server that speaks HTTP/2 to whoever can.
func serveTLS(t *testing.T) (*httptest.Server, func(sku string)) {
	t.Helper()
	rt := runtimetest.Open(t, fixture.Carts, fixture.Stocks).Runtime
	live := newLive(t, rt)
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- live.Run(ctx) }()
	srv := httptest.NewUnstartedServer(shop(live))
	srv.EnableHTTP2 = true
	srv.StartTLS()
	t.Cleanup(func() {
		stop()
		if err := <-ended; err != nil {
			t.Errorf("hub: %v", err)
		}
		srv.CloseClientConnections()
		srv.Close()
	})
	return srv, func(sku string) {
		if _, err := fixture.Add.Ask(t.Context(), rt, fixture.Carts.Ref("shared"), fixture.AddItem{SKU: sku, Qty: 1}); err != nil {
			t.Error(err)
		}
	}
}

// A page comes over HTTP/2, and its socket over HTTP/1.1 on TLS.
func TestR23PageOverHTTP2(t *testing.T) {
	b := chromiumtest.Open(t)
	srv, add := serveTLS(t)
	p := b.Visitor(t)
	p.Do(chromedp.Func(func(ctx context.Context, target *chromedp.Target) error {
		_, err := cdp.Call(ctx, target, security.SetIgnoreCertificateErrors, security.SetIgnoreCertificateErrorsParams{Ignore: true})
		return err
	}))
	p.Goto(srv.URL + "/cart/shared")
	p.WaitFor(`document.documentElement.dataset.lsStatus === "connected"`)
	if got := p.String(`performance.getEntriesByType("navigation")[0].nextHopProtocol`); got != "h2" {
		t.Errorf("the page came over %s, want h2", got)
	}
	const targets = `[...document.querySelectorAll("[data-ls]")].map(e => e.textContent).join()`
	before := p.String(targets)
	add("mug")
	p.WaitFor(targets + ` !== ` + quoted(before))
	p.Quiet()
}

func quoted(s string) string { return "`" + strings.ReplaceAll(s, "`", "\\`") + "`" }

// A CONNECT with the WebSocket protocol on HTTP/2 is refused at once, and the server lives on: also where the process's
// environment has Go announce such sockets.
func TestR23ConnectOverHTTP2IsRefused(t *testing.T) {
	const announced = "GODEBUG=http2xconnect=1"
	srv, _ := serveTLS(t)
	if answer := connectOverHTTP2(t, srv.Listener.Addr().String()); answer == "" || answer == "200" {
		t.Errorf("answered %q", answer)
	}
	if got, err := srv.Client().Get(srv.URL + "/cart/shared"); err != nil || got.StatusCode != 200 || got.ProtoMajor != 2 {
		t.Errorf("afterwards: %v, %v", got, err)
	}
	if os.Getenv("GODEBUG") != "" {
		return
	}
	child := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^"+t.Name()+"$")
	child.Env = append(os.Environ(), announced)
	if out, err := child.CombinedOutput(); err != nil {
		t.Errorf("with %s: %v\n%s", announced, err, out)
	}
}

// connectOverHTTP2 asks for a socket on a stream of its own, and returns the status or the code of the reset.
func connectOverHTTP2(t *testing.T, addr string) string {
	t.Helper()
	conn, err := tls.Dial("tcp", addr, &tls.Config{InsecureSkipVerify: true, NextProtos: []string{"h2"}})
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	conn.SetDeadline(time.Now().Add(10 * time.Second))
	if _, err := io.WriteString(conn, http2.ClientPreface); err != nil {
		t.Fatal(err)
	}
	framer := http2.NewFramer(conn, conn)
	framer.ReadMetaHeaders = hpack.NewDecoder(4096, nil)
	var block bytes.Buffer
	e := hpack.NewEncoder(&block)
	host, _, _ := net.SplitHostPort(addr)
	for _, f := range [][2]string{{":method", "CONNECT"}, {":protocol", "websocket"}, {":scheme", "https"}, {":path", "/lockstep/socket"},
		{":authority", host}, {"origin", "https://" + host}, {"sec-websocket-version", "13"}, {"sec-websocket-protocol", "lockstep.v1"}} {
		e.WriteField(hpack.HeaderField{Name: f[0], Value: f[1]})
	}
	framer.WriteSettings()
	framer.WriteHeaders(http2.HeadersFrameParam{StreamID: 1, BlockFragment: block.Bytes(), EndHeaders: true})
	for {
		frame, err := framer.ReadFrame()
		if err != nil {
			t.Errorf("no answer: %v", err)
			return ""
		}
		switch f := frame.(type) {
		case *http2.MetaHeadersFrame:
			return f.PseudoValue("status")
		case *http2.RSTStreamFrame:
			return f.ErrCode.String()
		}
	}
}
