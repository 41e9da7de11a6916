package realtime_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/coder/websocket"

	"github.com/lockstep-go/lockstep/realtime"
	"github.com/lockstep-go/lockstep/realtime/wire"
)

// listeners opens n subscribed sockets on loopback and calls got for each live frame. kib is the memory of one, both
// ends together.
func listeners(b *testing.B, n int, got func()) (w *world, kib float64) {
	w = newWorld()
	w.commit(cart("a"), change{set: state{"n": 1}, names: []string{"n"}})
	filler := strings.Repeat("<b>item</b>", 27) // about 300 bytes
	w.parts["n"] = part{observes: []string{"n"}, render: func(_ context.Context, _ realtime.RenderRequest, s state) (string, []wire.Target, error) {
		return fmt.Sprint(s["n"], filler), nil, nil
	}}
	h := open(b, w, func(c *realtime.Config) { c.Logger = nil })
	srv := httptest.NewServer(signedIn(h.hub))
	b.Cleanup(srv.Close)
	token := must(h.sealer.Seal(wire.Token{Actor: cart("a"), Targets: []wire.Target{tN}}))
	var answered sync.WaitGroup
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	for range n {
		ws, _, err := websocket.Dial(context.Background(), "ws"+srv.URL[4:], &websocket.DialOptions{
			Subprotocols: []string{wire.Subprotocol}, HTTPHeader: http.Header{"Origin": {srv.URL}},
		})
		if err != nil {
			b.Fatal(err)
		}
		b.Cleanup(func() { ws.CloseNow() })
		answered.Add(1)
		go func() {
			for i := 0; ; i++ {
				_, text, err := ws.Read(context.Background())
				if err != nil {
					return
				}
				switch {
				case len(text) > 6 && text[5] == '"' && text[6] == 'f':
					got()
				case len(text) > 7 && string(text[6:8]) == "ok":
					answered.Done()
				}
			}
		}()
		if err := ws.Write(context.Background(), websocket.MessageText, fmt.Appendf(nil, `{"t":"sub","n":1,"s":"s","token":%q}`, token)); err != nil {
			b.Fatal(err)
		}
	}
	answered.Wait()
	runtime.GC()
	runtime.ReadMemStats(&after)
	return w, float64(after.HeapAlloc+after.StackInuse-before.HeapAlloc-before.StackInuse) / float64(n) / 1024
}

// BenchmarkCommitToFrame is the time from a commit to its frame in the client, over loopback, with pauses between
// the commits as people make them.
func BenchmarkCommitToFrame(b *testing.B) {
	arrived := make(chan time.Time, 16)
	w, _ := listeners(b, 1, func() { arrived <- time.Now() })
	var took []time.Duration
	for i := 0; b.Loop(); i++ {
		time.Sleep(105 * time.Millisecond)
		start := time.Now()
		w.set(cart("a"), "n", i+2)
		took = append(took, (<-arrived).Sub(start))
	}
	slices.Sort(took)
	b.ReportMetric(float64(took[len(took)/2].Microseconds()), "p50-µs")
	b.ReportMetric(float64(took[len(took)*99/100].Microseconds()), "p99-µs")
}

// BenchmarkFanOut is the time from a commit until all of 1,000 clients have its frame.
func BenchmarkFanOut(b *testing.B) {
	const clients = 1000
	var count atomic.Int64
	all := make(chan time.Time, 16)
	w, kib := listeners(b, clients, func() {
		if count.Add(1)%clients == 0 {
			all <- time.Now()
		}
	})
	var took time.Duration
	n := 0
	for i := 0; b.Loop(); i++ {
		time.Sleep(105 * time.Millisecond)
		start := time.Now()
		w.set(cart("a"), "n", i+2)
		took += (<-all).Sub(start)
		n++
	}
	b.ReportMetric(float64(took.Microseconds())/float64(n), "µs/commit")
	b.ReportMetric(kib, "KiB/pair")
	b.ReportMetric(float64(clients*n)/took.Seconds(), "frames/s")
}
