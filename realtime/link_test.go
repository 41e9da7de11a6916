package realtime_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
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

// masked is a client's frame under a mask.
func masked(first byte, payload []byte, mask uint32) []byte {
	b := clientFrame(first, payload)
	at := len(b) - len(payload)
	binary.BigEndian.PutUint32(b[at-4:at], mask)
	for i := range payload {
		b[at+i] ^= b[at-4+i%4]
	}
	return b
}

// However a client's frames are cut into messages and packets, and whatever control frames stand between them, each
// subscribe is answered once and in its turn.
func TestC7_MessagesArriveHoweverTheyAreCut(t *testing.T) {
	w := newWorld()
	w.commit(cart("a"), change{set: state{"n": 0}, names: []string{"n"}})
	h := open(t, w)
	h.dial = loopback(t, signedIn(h.hub))
	token := must(h.sealer.Seal(wire.Token{Actor: cart("a"), Targets: []wire.Target{tN}}))
	for seed := range uint64(30) {
		rnd := rand.New(rand.NewPCG(seed, 1))
		c := must(h.dial(t.Context(), "", ""))
		in, err := subscribeRaw(c, token)
		if err != nil {
			t.Fatal(err)
		}
		var sent []byte
		const last = 40
		for n := 2; n <= last; n++ {
			size := []int{0, 1, 20, 100, 3_600, 4_090, 4_100, 65_000, 66_000}[rnd.IntN(9)]
			cmd := fmt.Appendf(nil, `{"t":"sub","n":%d,"s":"s","token":%q,"pad":%q}`, n, token, strings.Repeat("x", size))
			switch rnd.IntN(4) {
			case 0: // in two frames, with a ping between them
				at := rnd.IntN(len(cmd))
				sent = append(sent, masked(0x01, cmd[:at], rnd.Uint32())...)
				sent = append(sent, masked(0x89, []byte("ping"), rnd.Uint32())...)
				sent = append(sent, masked(0x80, cmd[at:], rnd.Uint32())...)
			case 1:
				sent = append(sent, masked(0x8a, nil, rnd.Uint32())...)
				fallthrough
			default:
				sent = append(sent, masked(0x81, cmd, rnd.Uint32())...)
			}
		}
		go func() {
			for len(sent) > 0 {
				n := min(1+rnd.IntN(1<<rnd.IntN(17)), len(sent))
				c.Write(sent[:n])
				sent = sent[n:]
			}
		}()
		c.SetReadDeadline(time.Now().Add(20 * time.Second))
		var answers []int64
		for !slices.Contains(answers, last) {
			text, err := readRaw(in)
			if err != nil {
				t.Fatalf("seed %d, after answers to %v: %v", seed, answers, err)
			}
			var f wire.Frame
			if json.Unmarshal(text, &f) == nil && f.Type == "ok" {
				answers = append(answers, f.Number)
			}
		}
		if len(answers) != last-1 || !slices.IsSorted(answers) {
			t.Errorf("seed %d: answers to %v, want one each from 2 to %d", seed, answers, last)
		}
		c.Close()
	}
}
