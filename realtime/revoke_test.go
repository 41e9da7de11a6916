package realtime_test

import (
	"context"
	"errors"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"github.com/coder/websocket"

	"github.com/lockstep-go/lockstep/actors"
	"github.com/lockstep-go/lockstep/realtime"
	"github.com/lockstep-go/lockstep/realtime/wire"
)

// R39: what another process revokes ends the sockets here, by the bus's hint at once and without one within two seconds;
// others stay as they are.
func TestC4_R39_RevokedElsewhereEndsSocketsHere(t *testing.T) {
	for name, c := range map[string]struct{ hint, compares bool }{
		"with a hint": {true, true}, "without": {false, true}, "without, and comparisons are off": {false, false},
	} {
		hint := c.hint
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T, w *world) {
				h := open(t, w, func(cfg *realtime.Config) {
					if !c.compares {
						cfg.Compare = -1
					}
				})
				pages := map[string]*page{}
				for _, user := range []string{"alice", "bob", "carol"} {
					p := h.browse(user)
					p.get("s", cart("a"), tN, tGreeting)
					p.subscribe("s")
					pages[user] = p
				}
				time.Sleep(3 * time.Second)
				synctest.Wait()
				w.revokeElsewhere(actors.Revocation{Principal: "alice"}, hint)
				w.revokeElsewhere(actors.Revocation{Session: "session-bob"}, hint)
				within := 2 * time.Second
				if hint {
					within = 100 * time.Millisecond
				}
				time.Sleep(within)
				synctest.Wait()
				frames := len(pages["alice"].got("f", "ok"))
				w.set(cart("a"), "n", 9)
				settle()
				for _, user := range []string{"alice", "bob"} {
					if code := pages[user].closeCode(); code != wire.CloseRevoked {
						t.Errorf("%s was closed with %d, want %d", user, code, wire.CloseRevoked)
					}
				}
				if n := len(pages["alice"].got("f", "ok")) - frames; n != 0 {
					t.Errorf("alice got %d frames after it", n)
				}
				if code := pages["carol"].closeCode(); code != 0 {
					t.Errorf("carol was closed with %d", code)
				}
				pages["carol"].wantFresh("s", tN, tGreeting)
			})
		})
	}
}

// A socket that is turned away and does not answer its close frame holds no revocation of others up.
func TestC4_R39_SocketsThatAreTurnedAwayHoldNothingUp(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		h := open(t, w, func(c *realtime.Config) { c.MaxConnsEach = 1 })
		p := h.browse("alice")
		p.get("s", cart("a"), tN)
		p.subscribe("s")
		time.Sleep(3 * time.Second)
		synctest.Wait()
		away, _, err := dialSocket(h.dial, "http://shop.example", http.Header{"X-User": {"alice"}, "X-Session": {"session-alice"}})
		if err != nil {
			t.Fatal(err)
		}
		defer away.CloseNow() // which reads nothing
		time.Sleep(100 * time.Millisecond)
		w.revokeElsewhere(actors.Revocation{Principal: "alice"}, false)
		time.Sleep(2 * time.Second)
		synctest.Wait()
		if code := p.closeCode(); code != wire.CloseRevoked {
			t.Errorf("closed with %d, want %d within two seconds", code, wire.CloseRevoked)
		}
	})
}

func TestC4_R39_AnActorRevokedElsewhereIsCheckedHere(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		h := open(t, w)
		p, q := h.browse("alice"), h.browse("bob")
		for _, page := range []*page{p, q} {
			page.get("s", cart("a"), tN)
			page.subscribe("s")
		}
		synctest.Wait()
		w.with(func() { w.allow = only("bob") })
		w.revokeElsewhere(actors.Revocation{Actor: cart("a")}, false)
		w.revokeElsewhere(actors.Revocation{Actor: cart("another")}, false)
		time.Sleep(2 * time.Second)
		w.set(cart("a"), "n", 2)
		settle()
		if n := len(p.got("f")); n != 0 || p.reason("s") != wire.Denied {
			t.Errorf("%d frames and reason %q, want none and denied", n, p.reason("s"))
		}
		q.wantFresh("s", tN)
	})
}

// R39: somebody who signs in again is not held to what was revoked before: a socket that began later stays, one of which
// nobody can say whether it did is to come back, and then stays.
func TestC4_R39_SocketsAfterTheRevocationStay(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		h := open(t, w)
		w.revokeElsewhere(actors.Revocation{Principal: "alice"}, false) // nobody is connected
		time.Sleep(10 * time.Second)
		first := h.browse("alice")
		first.get("s", cart("a"), tN)
		first.subscribe("s")
		time.Sleep(3 * time.Second)
		synctest.Wait()
		if code := first.closeCode(); code != 0 {
			t.Fatalf("closed with %d for a revocation of before", code)
		}
		time.Sleep(1100 * time.Millisecond) // between two looks
		w.revokeElsewhere(actors.Revocation{Principal: "alice"}, false)
		young := h.browse("alice") // signed in again at once
		time.Sleep(2 * time.Second)
		synctest.Wait()
		if code := first.closeCode(); code != wire.CloseRevoked {
			t.Errorf("the old socket was closed with %d, want %d", code, wire.CloseRevoked)
		}
		if code := young.closeCode(); code != websocket.StatusServiceRestart {
			t.Errorf("the young one was closed with %d, want %d: it is to come back", code, websocket.StatusServiceRestart)
		}
		back := h.attach(&page{h: h, user: "alice", scopes: map[string]*scope{}}, "new session")
		back.get("s", cart("a"), tN)
		back.subscribe("s")
		time.Sleep(3 * time.Second)
		synctest.Wait()
		if code := back.closeCode(); code != 0 {
			t.Errorf("it came back and was closed with %d", code)
		}
		back.wantFresh("s", tN)
	})
}

// R39: a hub that may have missed revocations, since they were forgotten, the database was taken back, or it could not
// be read when the first socket came, has everybody come back.
func TestC4_R39_WhoMayHaveMissedOneComesBack(t *testing.T) {
	for name, miss := range map[string]func(w *world){
		"forgotten": func(w *world) {
			w.withdrawn = append([]actors.Revoked(nil), actors.Revoked{Position: 9, ID: "nine", Session: "x"})
		},
		"taken back": func(w *world) { w.withdrawn = w.withdrawn[:1] },
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T, w *world) {
				for range 3 {
					w.revokeElsewhere(actors.Revocation{Session: "long ago"}, false)
				}
				h := open(t, w)
				p := h.browse("alice")
				time.Sleep(3 * time.Second)
				w.with(func() { miss(w) })
				time.Sleep(2 * time.Second)
				synctest.Wait()
				if code := p.closeCode(); code != websocket.StatusServiceRestart {
					t.Errorf("closed with %d, want %d", code, websocket.StatusServiceRestart)
				}
				q := h.browse("alice")
				time.Sleep(5 * time.Second)
				synctest.Wait()
				if code := q.closeCode(); code != 0 {
					t.Errorf("who came back was closed with %d", code)
				}
			})
		})
	}
	t.Run("not to be read", func(t *testing.T) {
		bubble(t, func(t *testing.T, w *world) {
			h := open(t, w)
			time.Sleep(3 * time.Second) // nobody is connected
			w.with(func() { w.readErr = errors.New("down") })
			p := h.browse("alice")
			time.Sleep(3 * time.Second)
			w.with(func() { w.readErr = nil })
			time.Sleep(2 * time.Second)
			synctest.Wait()
			if code := p.closeCode(); code != websocket.StatusServiceRestart {
				t.Errorf("closed with %d, want %d", code, websocket.StatusServiceRestart)
			}
		})
	})
}

// R39: a socket whose middleware is still at work when its session is revoked does not slip through.
func TestC4_R39_RevokedWhileTheSocketIsOpened(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		slow := make(chan struct{})
		h := open(t, w, func(c *realtime.Config) {
			identify := c.Identify
			c.ViewerContext = nil
			c.Detach = func(ctx context.Context) context.Context {
				if viewerOf(ctx) == "alice" {
					<-slow
				}
				return ctx
			}
			c.Identify = identify
		})
		opened := make(chan *page)
		go func() { opened <- h.browse("alice") }()
		synctest.Wait()
		h.revoke(realtime.Revocation{Principal: "alice"})
		time.Sleep(time.Millisecond)
		close(slow)
		p := <-opened
		settle()
		if code := p.closeCode(); code != wire.CloseRevoked {
			t.Errorf("closed with %d, want %d", code, wire.CloseRevoked)
		}
	})
}

// With nobody connected nothing is read; with somebody, once a second.
func TestRevocationsAreReadWhereSomebodyIsConnected(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		h := open(t, w)
		time.Sleep(5 * time.Second)
		synctest.Wait()
		before := w.count(&w.revokedReads)
		time.Sleep(time.Minute)
		if n := w.count(&w.revokedReads) - before; n != 0 {
			t.Errorf("%d reads with nobody connected", n)
		}
		h.browse("alice")
		before = w.count(&w.revokedReads)
		time.Sleep(10 * time.Second)
		if n := w.count(&w.revokedReads) - before; n < 8 || n > 11 {
			t.Errorf("%d reads in ten seconds", n)
		}
	})
}
