package realtime_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/lockstep-go/lockstep/realtime"
	"github.com/lockstep-go/lockstep/realtime/wire"
)

// C7: a frame of which the socket takes only the beginning is finished before anything else follows, once the reader goes
// on; and so that it can, news of the same target waits and conflates.
func TestC7_AFrameThatFitsInPartIsFinished(t *testing.T) {
	w := newWorld()
	w.commit(cart("a"), change{set: state{"n": 0}, names: []string{"n"}})
	text := strings.Repeat("<b>item</b>", 400_000) // 4.4 MB: more than loopback takes from a server whose client does not read
	w.parts["n"] = part{observes: []string{"n"}, render: func(_ context.Context, _ realtime.RenderRequest, s state) (string, []wire.Target, error) {
		return fmt.Sprint(s["n"], text), nil, nil
	}}
	h := open(t, w, func(c *realtime.Config) { c.Logger = nil })
	h.dial = loopback(t, signedIn(h.hub))
	c := must(h.dial(t.Context(), "", ""))
	defer c.Close()
	in, err := subscribeRaw(c, must(h.sealer.Seal(wire.Token{Actor: cart("a"), Targets: []wire.Target{tN}, Stamp: w.snapshot(cart("a")).Stamp, Build: "build-1"})))
	if err != nil {
		t.Fatal(err)
	}
	const last = 3
	for i := range last {
		w.set(cart("a"), "n", i+1)
		time.Sleep(150 * time.Millisecond) // the socket's buffer is full by then, in the middle of a frame
	}
	c.SetReadDeadline(time.Now().Add(20 * time.Second))
	for n := 1; ; n++ {
		text, err := readRaw(in)
		if err != nil {
			t.Fatal(err)
		}
		var f wire.Frame
		if err := json.Unmarshal(text, &f); err != nil {
			t.Fatalf("frame %d of %d bytes is torn: %v", n, len(text), err)
		}
		if bytes.Contains(text[:200], fmt.Appendf(nil, ">%d", last)) {
			break
		}
		if n > last {
			t.Fatal("the newest fragment did not come")
		}
	}
}
