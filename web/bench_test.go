package web_test

import (
	"context"
	"encoding/json"
	"fmt"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/coder/websocket"

	"github.com/lockstep-go/lockstep/actors"
	"github.com/lockstep-go/lockstep/realtime/wire"
	"github.com/lockstep-go/lockstep/runtime"
	"github.com/lockstep-go/lockstep/runtime/store/sqlite"
	"github.com/lockstep-go/lockstep/views/testdata/fixture"
)

// BenchmarkCommitToFrame is the time from a turn's commit on a file with synchronous=FULL until its first fragment has
// been read from a real socket, for 50 pages of 50 actors in turn.
func BenchmarkCommitToFrame(b *testing.B) {
	const pages = 50
	rt := fileRuntime(b)
	live := newLive(b, rt)
	srv := serve(b, live, shop(live))
	committed := make(chan time.Time, 1)
	stop := rt.Follow(func(actors.Broadcast) { committed <- time.Now() })
	defer stop()
	for i := range pages {
		add(b, rt, i)
		<-committed
	}
	frames := make(chan time.Time, 64)
	subscribeAll(b, srv.URL, socketOf(srv, "/lockstep/socket"), pages, frames)

	var waits []time.Duration
	for i := range b.N {
		add(b, rt, i%pages)
		from := <-committed
		waits = append(waits, (<-frames).Sub(from))
		for quiet := false; !quiet; { // the other targets of this commit
			select {
			case <-frames:
			case <-time.After(2 * time.Millisecond):
				quiet = true
			}
		}
	}
	slices.Sort(waits)
	b.ReportMetric(float64(waits[len(waits)/2].Microseconds()), "p50-µs")
	b.ReportMetric(float64(waits[len(waits)*99/100].Microseconds()), "p99-µs")
}

func add(b *testing.B, rt *runtime.Runtime, cart int) {
	b.Helper()
	ref := fixture.Carts.Ref(fmt.Sprintf("bench-%d", cart))
	if _, err := fixture.Add.Ask(b.Context(), rt, ref, fixture.AddItem{SKU: "mug", Qty: 1}); err != nil {
		b.Fatal(err)
	}
}

// fileRuntime is a running runtime on a file, as in production.
func fileRuntime(b *testing.B) *runtime.Runtime {
	b.Helper()
	db, err := sqlite.Open(b.Context(), filepath.Join(b.TempDir(), "bench.db"))
	if err != nil {
		b.Fatal(err)
	}
	rt, err := runtime.Open(b.Context(), db, runtime.Config{
		Types: []actors.AnyType{fixture.Carts, fixture.Stocks}, Policy: actors.InsecureAllowAll(),
	})
	if err != nil {
		b.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- rt.Run(ctx) }()
	b.Cleanup(func() {
		stop()
		if err := <-ended; err != nil {
			b.Error(err)
		}
		rt.Close()
		db.Close()
	})
	return rt
}

// subscribeAll opens one socket for all pages and sends the time at which each live fragment was read.
func subscribeAll(b *testing.B, origin, socket string, pages int, frames chan<- time.Time) {
	b.Helper()
	ws, _, err := websocket.Dial(b.Context(), socket, &websocket.DialOptions{
		Subprotocols: []string{wire.Subprotocol}, HTTPHeader: map[string][]string{"Origin": {origin}},
	})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { ws.CloseNow() })
	ws.SetReadLimit(8 << 20)
	for i := range pages {
		text := fetch(b, fmt.Sprintf("%s/cart/bench-%d", origin, i), header{"X-User": "ada"})
		m := scopeToken.FindStringSubmatch(text)
		doc, _ := json.Marshal(map[string]any{"t": "sub", "n": i + 1, "s": fmt.Sprint(i), "token": m[1], "first": true})
		if err := ws.Write(b.Context(), websocket.MessageText, doc); err != nil {
			b.Fatal(err)
		}
	}
	var answered sync.WaitGroup
	answered.Add(pages)
	go func() {
		for {
			_, doc, err := ws.Read(context.Background())
			if err != nil {
				return
			}
			var f wire.Frame
			if err := json.Unmarshal(doc, &f); err != nil {
				b.Error(err)
				return
			}
			switch f.Type {
			case "ok":
				answered.Done()
			case "no":
				b.Errorf("refused: %s", f.Reason)
				answered.Done()
			case "f":
				frames <- time.Now()
			}
		}
	}()
	answered.Wait()
}
