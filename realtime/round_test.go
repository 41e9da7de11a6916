package realtime_test

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/lockstep-go/lockstep/realtime"
	"github.com/lockstep-go/lockstep/realtime/wire"
)

// poll is a whole answer of a stream that ends by itself: its frames, and how long it took.
func (h *house) poll(wait int, commands ...string) (frames []wire.Frame, took time.Duration) {
	h.t.Helper()
	body := strings.TrimSuffix(streamBody([]string{wire.Subprotocol}, "", commands...), "}") + fmt.Sprintf(`,"wait":%d}`, wait)
	start := time.Now()
	answer := must(h.ask("POST", body, "X-User", "alice", "X-Session", "session-alice"))
	defer answer.Body.Close()
	text := string(must(io.ReadAll(answer.Body)))
	for event := range strings.SplitSeq(strings.TrimSuffix(text, "\n\n"), "\n\n") {
		if data, frame := strings.CutPrefix(event, "data: "); frame {
			var f wire.Frame
			must(0, json.Unmarshal([]byte(data), &f))
			frames = append(frames, f)
		} else if !strings.HasPrefix(event, "event: open\n") {
			h.t.Errorf("the event %q", event)
		}
	}
	return frames, time.Since(start)
}

// kinds says what frames there were, in order.
func kinds(frames []wire.Frame) string {
	var list []string
	for _, f := range frames {
		list = append(list, f.Type)
	}
	return strings.Join(list, " ")
}

// Where an answer is held back until it ends, a stream ends by itself: at once where the page does not show what it is
// answered, at the first news, and else when its time is over.
func TestStreamThatEndsByItself(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		h := open(t, w)
		w.set(cart("a"), "n", 1)
		token := must(h.sealer.Seal(wire.Token{Actor: cart("a"), Targets: []wire.Target{tN, tGreeting}}))
		ask := func(n int, stamp string) string {
			return fmt.Sprintf(`{"t":"sub","n":%d,"s":"s%d","token":%q%s}`, n, n, token, stamp)
		}
		first, took := h.poll(20_000, ask(1, ""), ask(2, ""))
		if kinds(first) != "hello ok ok" || took > time.Second {
			t.Fatalf("the first round was %s after %v", kinds(first), took)
		}
		shows := func(f wire.Frame) string { return fmt.Sprintf(`,"i":%q,"r":%q`, *f.Instance, f.Revision) }
		known := shows(first[1])
		quiet, took := h.poll(20_000, ask(1, known), ask(2, known))
		if kinds(quiet) != "hello ok ok" || took != 20*time.Second {
			t.Errorf("a round without news was %s after %v", kinds(quiet), took)
		}
		time.AfterFunc(5*time.Second+300*time.Millisecond, func() { w.set(cart("a"), "n", 2) })
		news, took := h.poll(20_000, ask(1, known))
		if !strings.HasPrefix(kinds(news), "hello ok f") || took < 5*time.Second || took > 6*time.Second {
			t.Errorf("a round with news was %s after %v", kinds(news), took)
		}
		late, took := h.poll(20_000, ask(1, known)) // it changed between two rounds
		if kinds(late) != "hello ok" || took > time.Second || shows(late[1]) == known {
			t.Errorf("the round after news was %s after %v", kinds(late), took)
		}
		known = shows(late[1])
		if frames, took := h.poll(20_000, ask(1, known), `{"t":"sub","n":2,"s":"x","token":"none"}`); kinds(frames) != "hello ok no" || took > time.Second {
			t.Errorf("a round with a refusal was %s after %v", kinds(frames), took)
		}
		if frames, took := h.poll(0, ask(1, known)); kinds(frames) != "hello ok" || took > time.Second {
			t.Errorf("a round that was not to wait was %s after %v", kinds(frames), took)
		}
		if frames, took := h.poll(1e9, ask(1, known)); kinds(frames) != "hello ok" || took > 26*time.Second {
			t.Errorf("a round that was to wait for days was %s after %v", kinds(frames), took)
		}
	})
}

// However slow the answers are, a round ends after them, and it lasts no longer than a heartbeat.
func TestRoundEndsAfterItsAnswers(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		h := open(t, w, func(c *realtime.Config) { c.Heartbeat = 5 * time.Second })
		token := must(h.sealer.Seal(wire.Token{Actor: cart("of nobody"), Targets: []wire.Target{tN}}))
		ask := `{"t":"sub","n":1,"s":"s","token":"` + token + `","i":"","r":"0"}`
		frames, took := h.poll(1e9, ask)
		if !strings.HasPrefix(kinds(frames), "hello ok") || took != 5*time.Second {
			t.Errorf("a round of %s lasted %v, want the heartbeat", kinds(frames), took)
		}
		w.beforeGet = func() { time.Sleep(3 * time.Second) }
		frames, took = h.poll(1000, ask)
		if kinds(frames) != "hello ok" || took != 3*time.Second {
			t.Errorf("a round whose answer took 3 s was %s after %v", kinds(frames), took)
		}
	})
}
