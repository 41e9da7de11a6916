package realtime_test

import (
	"bufio"
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"runtime"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/lockstep-go/lockstep/realtime"
	"github.com/lockstep-go/lockstep/realtime/wire"
)

// full asks for every case at the size it states.
var full = os.Getenv("LOCKSTEP_TEST_FULL") == "1"

// crowd is a process of its own with n subscribed sockets that say nothing more, so that what this process uses is the
// server's alone. It ends with the test.
func crowd(t testing.TB, addr, token string, n int, kind string) {
	t.Helper()
	cmd := exec.Command(os.Args[0], "-test.run=^TestCrowdProcess$")
	cmd.Env = append(os.Environ(), "LOCKSTEP_CROWD="+fmt.Sprint(n), "LOCKSTEP_CROWD_ADDR="+addr, "LOCKSTEP_CROWD_TOKEN="+token, "LOCKSTEP_CROWD_KIND="+kind)
	cmd.Stderr = os.Stderr
	hold := must(cmd.StdinPipe())
	out := bufio.NewReader(must(cmd.StdoutPipe()))
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { hold.Close(); cmd.Wait() })
	for {
		line, err := out.ReadString('\n')
		if err != nil {
			t.Fatalf("the crowd did not come together: %v", err)
		}
		if strings.HasPrefix(line, "all are here") {
			return
		}
	}
}

// TestCrowdProcess is the crowd's process; in a run of the tests it does nothing.
func TestCrowdProcess(t *testing.T) {
	n, err := strconv.Atoi(os.Getenv("LOCKSTEP_CROWD"))
	if err != nil {
		t.Skip("only started by other tests")
	}
	for range n {
		c, err := net.Dial("tcp", os.Getenv("LOCKSTEP_CROWD_ADDR"))
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		begin := map[string]func(net.Conn, string) (*bufio.Reader, error){"socket": subscribeRaw, "stream": streamRaw}[os.Getenv("LOCKSTEP_CROWD_KIND")]
		if _, err := begin(c, os.Getenv("LOCKSTEP_CROWD_TOKEN")); err != nil {
			t.Fatal(err)
		}
	}
	fmt.Println("all are here")
	io.Copy(io.Discard, os.Stdin)
}

// subscribeRaw opens a socket on a connection, subscribes one scope and waits for its answer. What follows is to be
// read from the result.
func subscribeRaw(c net.Conn, token string) (*bufio.Reader, error) {
	fmt.Fprintf(c, "GET /socket HTTP/1.1\r\nHost: shop.example\r\nOrigin: http://shop.example\r\nUpgrade: websocket\r\n"+
		"Connection: Upgrade\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n"+
		"Sec-WebSocket-Protocol: %s\r\nX-User: somebody\r\n\r\n", wire.Subprotocol)
	in := bufio.NewReader(c)
	answer, err := http.ReadResponse(in, nil)
	if err != nil || answer.StatusCode != http.StatusSwitchingProtocols {
		return nil, fmt.Errorf("upgrade: %v %w", answer, err)
	}
	cmd := fmt.Appendf(nil, `{"t":"sub","n":1,"s":"s","token":%q,"first":true}`, token)
	frame := binary.BigEndian.AppendUint16([]byte{0x81, 0x80 | 126}, uint16(len(cmd)))
	frame = append(frame, 0, 0, 0, 0) // a mask that changes nothing
	if _, err := c.Write(append(frame, cmd...)); err != nil {
		return nil, err
	}
	for {
		text, err := readRaw(in)
		if err != nil {
			return nil, err
		}
		switch {
		case strings.HasPrefix(string(text), `{"t":"ok"`):
			return in, nil
		case strings.HasPrefix(string(text), `{"t":"no"`):
			return nil, fmt.Errorf("refused: %s", text)
		}
	}
}

// streamRaw is subscribeRaw with a stream.
func streamRaw(c net.Conn, token string) (*bufio.Reader, error) {
	body := streamBody([]string{wire.Subprotocol}, "", fmt.Sprintf(`{"t":"sub","n":1,"s":"s","token":%q,"first":true}`, token))
	fmt.Fprintf(c, "POST /stream HTTP/1.1\r\nHost: shop.example\r\nOrigin: http://shop.example\r\nContent-Type: application/json\r\n"+
		"Content-Length: %d\r\nX-User: somebody\r\n\r\n%s", len(body), body)
	in := bufio.NewReader(c)
	for {
		line, err := in.ReadString('\n')
		switch {
		case err != nil:
			return nil, err
		case strings.HasPrefix(line, `data: {"t":"ok"`):
			return in, nil
		case strings.HasPrefix(line, `data: {"t":"no"`):
			return nil, fmt.Errorf("refused: %s", line)
		}
	}
}

// readRaw reads one whole frame of a server.
func readRaw(in *bufio.Reader) ([]byte, error) {
	size, err := sizeRaw(in)
	if err != nil {
		return nil, err
	}
	text := make([]byte, size)
	_, err = io.ReadFull(in, text)
	return text, err
}

// skipRaw reads one and throws it away.
func skipRaw(t *testing.T, in *bufio.Reader, buf []byte) {
	t.Helper()
	size, err := sizeRaw(in)
	if err == nil {
		_, err = io.ReadFull(in, buf[:size])
	}
	if err != nil {
		t.Fatal(err)
	}
}

// sizeRaw reads the header of a frame.
func sizeRaw(in *bufio.Reader) (uint64, error) {
	var head [2]byte
	if _, err := io.ReadFull(in, head[:]); err != nil {
		return 0, err
	}
	size, more := uint64(head[1]), 0
	switch size {
	case 126:
		more = 2
	case 127:
		more = 8
	}
	var long [8]byte
	if more > 0 {
		if _, err := io.ReadFull(in, long[8-more:]); err != nil {
			return 0, err
		}
		size = binary.BigEndian.Uint64(long[:])
	}
	return size, nil
}

// usage is what this process uses.
type usage struct{ heap, stack, rss, goroutines float64 }

func used() usage {
	debug.FreeOSMemory()
	debug.FreeOSMemory()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	u := usage{heap: float64(m.HeapAlloc), stack: float64(m.StackInuse), goroutines: float64(runtime.NumGoroutine())}
	status, _ := os.ReadFile("/proc/self/statm")
	if fields := strings.Fields(string(status)); len(fields) > 1 {
		pages, _ := strconv.Atoi(fields[1])
		u.rss = float64(pages * os.Getpagesize())
	}
	return u
}

// idle is what each of n idle subscribed sockets, or streams, costs this process.
func idle(t testing.TB, n int, kind string, set ...func(*realtime.Config)) usage {
	t.Helper()
	w := newWorld()
	w.commit(cart("a"), change{set: state{"n": 1}, names: []string{"n"}})
	h := open(t, w, append(set, func(c *realtime.Config) { c.Logger, c.MaxConnsEach = nil, n+100 })...)
	mux := http.NewServeMux()
	mux.Handle("/socket", h.hub)
	mux.Handle("/stream", h.hub.StreamHandler())
	srv := httptest.NewServer(signedIn(mux))
	t.Cleanup(func() {
		srv.CloseClientConnections()
		srv.Close()
	})
	token := must(h.sealer.Seal(wire.Token{
		Actor: cart("a"), Targets: []wire.Target{tN, tGreeting}, Stamp: w.snapshot(cart("a")).Stamp, Build: "build-1",
	}))
	crowd(t, srv.Listener.Addr().String(), token, 10, kind) // what is made once is made
	time.Sleep(50 * time.Millisecond)
	before := used()
	crowd(t, srv.Listener.Addr().String(), token, n, kind)
	time.Sleep(200 * time.Millisecond) // the workers and writers are done
	after := used()
	each := func(a, b float64) float64 { return (b - a) / float64(n) }
	return usage{each(before.heap, after.heap), each(before.stack, after.stack), each(before.rss, after.rss), each(before.goroutines, after.goroutines)}
}

// BenchmarkIdle is the memory of the server's end of an idle subscribed socket.
func BenchmarkIdle(b *testing.B) {
	for _, c := range []struct {
		kind string
		n    int
	}{{"socket", 1000}, {"socket", 5000}, {"stream", 1000}} {
		b.Run(fmt.Sprintf("%s/%d", c.kind, c.n), func(b *testing.B) {
			var u usage
			for b.Loop() {
				u = idle(b, c.n, c.kind)
			}
			b.ReportMetric((u.heap+u.stack)/1024, "KiB/conn")
			b.ReportMetric(u.heap/1024, "heap-KiB/conn")
			b.ReportMetric(u.stack/1024, "stack-KiB/conn")
			b.ReportMetric(u.rss/1024, "RSS-KiB/conn")
			b.ReportMetric(u.goroutines, "goroutines/conn")
		})
	}
}

// budget is what an idle subscribed socket may cost the server, in KiB of heap and stacks.
const budget = 14

// R36: an idle socket stays within its budget, nothing is compressed, and a broadcast is encoded once for all.
func TestR36_IdleSocketsAreSmall(t *testing.T) {
	if raced() {
		t.Skip("the race detector's memory is not ours")
	}
	n := 500
	if full {
		n = 5000
	}
	u := idle(t, n, "socket")
	t.Logf("%d idle sockets: %.1f KiB of heap and stacks each, %.1f resident, %.2f goroutines", n, (u.heap+u.stack)/1024, u.rss/1024, u.goroutines)
	if kib := (u.heap + u.stack) / 1024; kib > budget {
		t.Errorf("an idle socket costs %.1f KiB, want at most %d", kib, budget)
	}
	if u.goroutines > 1.02 {
		t.Errorf("%.2f goroutines for each idle socket, want one", u.goroutines)
	}
}

func TestR36_OneBroadcastIsEncodedOnce(t *testing.T) {
	w := newWorld()
	text := strings.Repeat("<b>item</b>", 6000) // 66 KB
	w.parts["n"] = part{observes: []string{"n"}, render: func(_ context.Context, _ realtime.RenderRequest, s state) (string, []wire.Target, error) {
		return fmt.Sprint(s["n"], text), nil, nil
	}}
	h := open(t, w, func(c *realtime.Config) { c.Logger = nil })
	h.dial = loopback(t, signedIn(h.hub))
	token := must(h.sealer.Seal(wire.Token{Actor: cart("a"), Targets: []wire.Target{tN}}))
	n := 100
	var readers []*bufio.Reader
	for range n {
		c := must(h.dial(t.Context(), "", ""))
		defer c.Close()
		in, err := subscribeRaw(c, token)
		if err != nil {
			t.Fatal(err)
		}
		readers = append(readers, in)
	}
	buf := make([]byte, 128<<10)
	broadcast := func(i int) {
		w.set(cart("a"), "n", i)
		for _, in := range readers { // every byte of it, into one buffer
			skipRaw(t, in, buf)
		}
	}
	broadcast(1) // what is made once is made
	time.Sleep(settled)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	broadcast(2)
	runtime.ReadMemStats(&after)
	if grown := after.TotalAlloc - before.TotalAlloc; grown > uint64(20*len(text)+n<<10) { // a dozen copies on its way to a frame
		t.Errorf("a broadcast of %d bytes allocated %d for %d sockets: it is not shared", len(text), grown, n)
	}
}

// R36: a browser offers compression, which is not taken: it would double the CPU, and with a context cost a megabyte a
// socket.
func TestR36_CompressionIsOff(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		h := open(t, w)
		ws, answer, err := dialSocket(h.dial, "http://shop.example", http.Header{"Sec-WebSocket-Extensions": {"permessage-deflate; client_max_window_bits"}})
		if err != nil {
			t.Fatal(err)
		}
		defer ws.CloseNow()
		if taken := answer.Header.Get("Sec-WebSocket-Extensions"); taken != "" {
			t.Errorf("the extensions %q were taken, want none", taken)
		}
	})
}

// raced says whether the race detector is on.
func raced() bool {
	info, _ := debug.ReadBuildInfo()
	return info != nil && slices.Contains(info.Settings, debug.BuildSetting{Key: "-race", Value: "true"})
}
