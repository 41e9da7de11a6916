package realtime_test

import (
	"context"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/coder/websocket"

	"github.com/lockstep-go/lockstep/realtime"
	"github.com/lockstep-go/lockstep/realtime/wire"
)

// What waits for a slow reader when the database loses revisions lies ahead of what follows: it must not be sent.
func TestC2_LostRevisionsBehindASlowReader(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		h := open(t, w, func(c *realtime.Config) { c.WriteStall = time.Hour; c.Heartbeat = -1; c.Recheck = -1 })
		p := &page{h: h, user: "slow", scopes: map[string]*scope{}, ws: h.connect("slow", "session-slow"), done: make(chan struct{})}
		p.get("s", cart("a"), tN, tM)
		p.subscribe("s")
		synctest.Wait()
		restore := w.backup(cart("a"))
		for i := range 5 {
			w.set(cart("a"), "n", 10+i)
			time.Sleep(time.Second)
		}
		restore()
		time.Sleep(2 * time.Second)
		go p.read(p.ws, p.done)
		settle()
		p.wantFresh("s", tN, tM)
		w.set(cart("a"), "n", 3)
		settle()
		p.wantFresh("s", tN, tM)
		p.drop()
	})
}

// A render that was under way when the database lost its revision must not reach the page after the new answer.
func TestC2_RenderOfALostRevision(t *testing.T) {
	onBothLinks(t, func(t *testing.T, w *world) {
		w.parts["slow"] = part{observes: []string{"n"}, render: func(ctx context.Context, r realtime.RenderRequest, s state) (string, []wire.Target, error) {
			if _, ok := ctx.Deadline(); ok && s["n"] == 99 { // in the hub
				time.Sleep(3 * time.Second)
			}
			return w.parts["n"].render(ctx, r, s)
		}}
		target := wire.Target{Component: "slow"}
		h := open(t, w)
		p, q := h.browse("alice"), h.browse("bob")
		p.get("s", cart("a"), target)
		q.get("s", cart("a"), tN)
		p.subscribe("s")
		synctest.Wait()
		restore := w.backup(cart("a"))
		w.set(cart("a"), "n", 98)
		settle()
		w.set(cart("a"), "n", 99)
		time.Sleep(time.Second)
		restore()
		q.subscribe("s") // its read finds out
		time.Sleep(5 * time.Second)
		synctest.Wait()
		p.wantFresh("s", target)
		q.wantFresh("s", tN)
	})
}

// A read that takes long must not pass for the newest after a quicker one.
func TestC2_ReadsKeepTheirOrder(t *testing.T) {
	onBothLinks(t, func(t *testing.T, w *world) {
		h := open(t, w, noCompare)
		p, q := h.browse("alice"), h.browse("bob")
		for _, page := range []*page{p, q} {
			page.get("s", cart("a"), tN)
		}
		var reads atomic.Int64
		w.with(func() {
			w.afterGet = func() {
				if reads.Add(1) == 1 {
					time.Sleep(time.Second)
				}
			}
		})
		p.subscribe("s")
		time.Sleep(100 * time.Millisecond)
		w.set(cart("a"), "n", 2)
		q.subscribe("s")
		time.Sleep(3 * time.Second)
		synctest.Wait()
		for _, page := range []*page{p, q} {
			page.wantFresh("s", tN)
			if n := len(page.got("ok")); n != 1 {
				t.Errorf("%s was answered %d times", page.user, n)
			}
		}
	})
}

// A commit that names no observable may still change what viewers see each for himself.
func TestC1_CommitWithoutNames(t *testing.T) {
	onBothLinks(t, func(t *testing.T, w *world) {
		h := open(t, w)
		p := h.browse("red1")
		p.get("s", cart("a"), tN, tGreeting, tStaff)
		p.subscribe("s")
		synctest.Wait()
		before := w.rendered("n")
		w.commit(cart("a"), change{set: state{"n": 1}})
		settle()
		if n := len(p.got("f")); n != 2 || w.rendered("n") != before {
			t.Errorf("%d frames, want the viewer's and the group's", n)
		}
		p.wantFresh("s", tN, tGreeting, tStaff)
	})
}

// R34 over a real connection, on which closing too early would lose the close frame.
func TestR34_CloseFrameSurvivesWhatTheClientGoesOnSending(t *testing.T) {
	w := newWorld()
	h := open(t, w)
	h.dial = loopback(t, signedIn(h.hub))
	for range 5 {
		ws := h.connect("x", "s")
		if err := ws.Write(context.Background(), websocket.MessageText, []byte(strings.Repeat("x", 8<<20))); err != nil {
			t.Errorf("cut off while sending: %v", err)
		}
		var err error
		for err == nil {
			_, _, err = ws.Read(context.Background())
		}
		if code := websocket.CloseStatus(err); code != websocket.StatusMessageTooBig {
			t.Errorf("closed with %v, want %d", err, websocket.StatusMessageTooBig)
		}
		ws.CloseNow()
	}
}
