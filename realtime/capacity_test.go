package realtime_test

import (
	"context"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/coder/websocket"

	"github.com/lockstep-go/lockstep/realtime"
	"github.com/lockstep-go/lockstep/realtime/wire"
)

// told is the close code and reason of a connection that is turned away.
func (h *house) told(user, session string) (code websocket.StatusCode, reason string) {
	h.t.Helper()
	ws := h.connect(user, session)
	defer ws.CloseNow()
	_, text, err := ws.Read(context.Background())
	if err == nil {
		h.t.Errorf("%s was greeted with %s", user, text)
		return 0, ""
	}
	_, reason, _ = strings.Cut(err.Error(), "reason = ")
	return websocket.CloseStatus(err), strings.Trim(reason, `"`)
}

// R47: connections beyond the cap are told to try later, spread, and a place that becomes free is given away. The others
// go on.
func TestR47_ConnectionsAreCapped(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		h := open(t, w, func(c *realtime.Config) { c.MaxConns = 20 })
		var pages []*page
		for i := range 20 {
			p := h.browse(fmt.Sprint("user", i))
			p.get("s", cart("a"), tN)
			p.subscribe("s")
			pages = append(pages, p)
		}
		synctest.Wait()
		reads, policies := w.count(&w.reads), w.count(&w.policies)
		for i := range 50 {
			code, reason := h.told(fmt.Sprint("late", i), "s")
			if ms, err := strconv.Atoi(strings.Trim(reason, `"`)); code != websocket.StatusTryAgainLater || err != nil || ms < 500 {
				t.Fatalf("closed with %d %q, want %d and milliseconds", code, reason, websocket.StatusTryAgainLater)
			}
		}
		if w.count(&w.reads) != reads || w.count(&w.policies) != policies {
			t.Error("connections that were turned away cost reads or answers of a policy")
		}
		w.set(cart("a"), "n", 2)
		settle()
		for _, p := range pages {
			p.wantFresh("s", tN)
		}
		pages[0].drop()
		settle()
		p := h.browse("late")
		p.get("s", cart("a"), tN)
		p.subscribe("s")
		settle()
		if len(p.got("ok")) != 1 {
			t.Error("a place that became free was not given away")
		}
	})
}

// R47: one user, or one session, cannot take all places; strangers are not taken for one user.
func TestR47_ConnectionsOfOneUserAreCapped(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		h := open(t, w, func(c *realtime.Config) { c.MaxConnsEach = 3 })
		open := func(user, session string) *page {
			return h.attach(&page{h: h, user: user, scopes: map[string]*scope{}}, session)
		}
		var alices []*page
		for i := range 3 {
			alices = append(alices, open("alice", fmt.Sprint("device", i)))
			open("", "basket") // a stranger with a session
			open("", "")
			open("", "")
		}
		synctest.Wait()
		for _, who := range [][2]string{{"alice", "device9"}, {"bob", "basket"}} {
			if code, _ := h.told(who[0], who[1]); code != wire.CloseTooMany {
				t.Errorf("%v: closed with %d, want %d", who, code, wire.CloseTooMany)
			}
		}
		open("bob", "device0").wantOpen()
		open("", "").wantOpen()
		alices[1].drop()
		settle()
		open("alice", "device9").wantOpen()
	})
}

func (p *page) wantOpen() {
	p.h.t.Helper()
	synctest.Wait()
	if len(p.got("hello")) != 1 || p.closeCode() != 0 {
		p.h.t.Errorf("%s has greetings %v and was closed with %d", p.user, p.got("hello"), p.closeCode())
	}
}

// R47: what is opened only to be turned away is bounded too; then HTTP says so.
func TestR47_TurningAwayIsBounded(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		h := open(t, w, func(c *realtime.Config) { c.MaxConns = 1 })
		inside := h.browse("inside")
		refused := 0
		for i := range 400 { // who read nothing and answer nothing
			ws, answer, err := dialSocket(h.dial, "http://shop.example", http.Header{"X-User": {fmt.Sprint(i)}})
			switch {
			case err == nil:
				defer ws.CloseNow()
			case answer != nil && answer.StatusCode == http.StatusServiceUnavailable && answer.Header.Get("Retry-After") != "":
				refused++
			default:
				t.Fatal(err)
			}
			synctest.Wait()
		}
		if refused < 100 {
			t.Errorf("%d of 400 were answered 503, want those beyond 256", refused)
		}
		time.Sleep(5 * time.Second)
		if code, _ := h.told("later", "s"); code != websocket.StatusTryAgainLater {
			t.Errorf("closed with %d after the flood, want %d", code, websocket.StatusTryAgainLater)
		}
		inside.wantOpen()
	})
}

// R47: the targets of all scopes of a connection are capped together, without a read; the largest allowed page works.
func TestR47_TargetsAreCapped(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		h := open(t, w, func(c *realtime.Config) { c.MaxTargets = 25 })
		p := h.browse("x")
		lines := func(n int) (all []wire.Target) {
			for i := range n {
				all = append(all, wire.Target{Component: "line", Key: fmt.Sprint(i)})
			}
			return all
		}
		p.get("a", cart("a"), lines(10)...)
		p.get("b", cart("b"), lines(10)...)
		p.get("c", cart("c"), lines(6)...)
		p.get("d", cart("d"), lines(5)...)
		p.subscribe("a", "b")
		synctest.Wait()
		reads, policies := w.count(&w.reads), w.count(&w.policies)
		p.subscribe("c")
		synctest.Wait()
		if p.reason("c") != wire.Limit || w.count(&w.reads) != reads || w.count(&w.policies) != policies {
			t.Errorf("a target too many was told %q after %d reads, want limit and none", p.reason("c"), w.count(&w.reads)-reads)
		}
		p.subscribe("d") // exactly as many
		synctest.Wait()
		if p.reason("d") != "" {
			t.Errorf("the last that fit were told %q", p.reason("d"))
		}
		p.unsubscribe("a")
		p.scopes["c"].reason = ""
		p.subscribe("c")
		synctest.Wait()
		if p.reason("c") != "" {
			t.Errorf("after an unsubscribe the scope was told %q", p.reason("c"))
		}
	})
}

// C7: the bytes that wait for one connection are bounded whatever its page shows; a scope that is larger than that is
// refused, one that gathers more is closed and comes back current.
func TestC7_WhatWaitsIsBoundedInBytes(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		big := strings.Repeat("x", 10<<10)
		w.parts["big"] = part{observes: []string{"n"}, render: func(_ context.Context, r realtime.RenderRequest, s state) (string, []wire.Target, error) {
			return fmt.Sprint(r.Target.Key, " ", s["n"], big), nil, nil
		}}
		bigs := func(n int) (all []wire.Target) {
			for i := range n {
				all = append(all, wire.Target{Component: "big", Key: fmt.Sprint(i)})
			}
			return all
		}
		h := open(t, w, func(c *realtime.Config) { c.MaxPending, c.WriteStall, c.Heartbeat = 100<<10, time.Hour, -1 })
		p := h.browse("x")
		p.get("large", cart("a"), bigs(11)...)
		p.scopes["large"].first = false
		p.subscribe("large")
		synctest.Wait()
		if p.reason("large") != wire.Limit {
			t.Errorf("a scope larger than what may wait was told %q, want limit", p.reason("large"))
		}

		slow := &page{h: h, user: "slow", scopes: map[string]*scope{}, ws: h.connect("slow", "session-slow"), done: make(chan struct{})}
		for _, name := range []string{"a", "b"} { // each fits, together they do not
			w.set(cart(name), "n", 1)
			slow.get(name, cart(name), bigs(8)...)
			slow.subscribe(name)
		}
		synctest.Wait()
		quick := h.browse("quick")
		quick.get("s", cart("a"), bigs(8)...)
		quick.subscribe("s")
		synctest.Wait() // an answer with all of it, and news on top, would be too much for this one too
		for i := range 3 {
			w.set(cart("a"), "n", 2+i)
			w.set(cart("b"), "n", 2+i)
			settle()
		}
		if !contains(h.log.String(), "too much waits") {
			t.Error("a connection for which too much waits was not closed")
		}
		quick.wantFresh("s", bigs(8)...)
		slow.ws.CloseNow()
		h.attach(slow, "session-slow")
		slow.subscribe("a", "b")
		settle()
		slow.wantFresh("a", bigs(8)...)
		slow.wantFresh("b", bigs(8)...)
	})
}
