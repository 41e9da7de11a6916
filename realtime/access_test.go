package realtime_test

import (
	"bytes"
	"context"
	"errors"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/lockstep-go/lockstep/actors"
	"github.com/lockstep-go/lockstep/realtime"
	"github.com/lockstep-go/lockstep/realtime/wire"
)

// only allows the listed viewers.
func only(names ...string) func(context.Context, actors.Request) error {
	return func(ctx context.Context, _ actors.Request) error {
		for _, name := range names {
			if viewerOf(ctx) == name {
				return nil
			}
		}
		return errRefused
	}
}

// R48: the policy comes before any lookup, and refused looks like missing.
func TestC4_R48_RefusedGetsNotAByte(t *testing.T) {
	onBothLinks(t, func(t *testing.T, w *world) {
		w.allow = func(_ context.Context, r actors.Request) error {
			if r.ID == "allowed" {
				return nil
			}
			return errRefused
		}
		h := open(t, w)
		p := h.browse("alice")
		p.get("there", cart("a"), tN, tGreeting)
		p.get("missing", cart("nobody"), tN, tGreeting)
		p.get("empty", cart("allowed"), tN, tGreeting)
		p.scopes["empty"].first = false
		p.subscribe("there", "missing")
		synctest.Wait()
		if n := w.count(&w.reads); n != 0 {
			t.Errorf("%d snapshots read for refused subscribes", n)
		}
		no := p.got("no")
		if len(no) != 2 || no[0].Reason != wire.Denied || no[0].Retry {
			t.Fatalf("answers %+v, want two that deny for good", no)
		}
		if no[0].Number, no[0].Scope = no[1].Number, no[1].Scope; !bytes.Equal(wire.Encode(no[0]), wire.Encode(no[1])) {
			t.Errorf("a forbidden actor answers %+v, a missing one %+v", no[0], no[1])
		}
		p.subscribe("empty")
		p.send(wire.Command{Type: "unsub", Scope: "there"})
		synctest.Wait()
		if oks := p.got("ok"); len(oks) != 1 || *oks[0].Instance != "" || oks[0].Revision != "0" || len(oks[0].Fragments) != 2 {
			t.Errorf("an actor without a row answered %+v, want revision 0 of no instance with both targets", oks)
		}
		for i := range 5 {
			w.set(cart("a"), "n", i)
		}
		time.Sleep(3 * time.Second)
		if fs := p.got("f"); len(fs) != 0 {
			t.Errorf("a refused viewer got %+v", fs)
		}
	})
}

func TestC4_R40_WithdrawnRightEndsWithTheRecheck(t *testing.T) {
	onBothLinks(t, func(t *testing.T, w *world) {
		w.set(cart("b"), "n", 1)
		h := open(t, w)
		p := h.browse("alice")
		p.get("a", cart("a"), tN)
		p.get("b", cart("b"), tN)
		p.subscribe("a", "b")
		synctest.Wait()
		w.with(func() {
			w.allow = func(_ context.Context, r actors.Request) error {
				if r.ID == "a" {
					return errRefused
				}
				return nil
			}
		})
		time.Sleep(30*time.Second + settled)
		synctest.Wait()
		if p.reason("a") != wire.Denied || p.reason("b") != "" {
			t.Errorf("reasons a %q, b %q; want denied for a alone", p.reason("a"), p.reason("b"))
		}
		before := len(p.got("f"))
		w.set(cart("a"), "n", 2)
		w.set(cart("b"), "n", 2)
		settle()
		if n := len(p.got("f")) - before; n != 1 {
			t.Errorf("%d frames, want one of b", n)
		}
		p.wantFresh("b", tN)
	})
}

// A per-viewer fragment and a group's are asked about each time, a policy that fails or panics refuses.
func TestC4_R40_PersonalFragmentsAreAuthorizedAtEveryRender(t *testing.T) {
	for name, refuse := range map[string]func(context.Context, actors.Request) error{
		"refuses":   func(context.Context, actors.Request) error { return errRefused },
		"fails":     func(context.Context, actors.Request) error { return errors.New("database is down") },
		"panics":    func(context.Context, actors.Request) error { panic("policy") },
		"times out": func(ctx context.Context, _ actors.Request) error { <-ctx.Done(); return ctx.Err() },
	} {
		for _, target := range []wire.Target{tGreeting, tStaff} {
			bubble(t, func(t *testing.T, w *world) {
				h := open(t, w)
				p, q := h.browse("alice"), h.browse("bob")
				for _, page := range []*page{p, q} {
					page.get("s", cart("a"), target)
					page.subscribe("s")
				}
				synctest.Wait()
				w.with(func() {
					w.allow = func(ctx context.Context, r actors.Request) error {
						if viewerOf(ctx) == "alice" {
							return refuse(ctx, r)
						}
						return nil
					}
				})
				w.set(cart("a"), "n", 2)
				time.Sleep(11 * time.Second)
				synctest.Wait()
				if n := len(p.got("f")); n != 0 || p.reason("s") != wire.Denied {
					t.Errorf("%s, %s: %d frames and reason %q, want none and denied", name, target.Component, n, p.reason("s"))
				}
				q.wantFresh("s", target)
			})
		}
	}
}

func TestC4_R40_RevokeOfAnActorWorksAtOnce(t *testing.T) {
	onBothLinks(t, func(t *testing.T, w *world) {
		h := open(t, w)
		p, q := h.browse("alice"), h.browse("bob")
		for _, page := range []*page{p, q} {
			page.get("s", cart("a"), tN)
			page.subscribe("s")
		}
		synctest.Wait()
		w.with(func() {
			w.allow = func(ctx context.Context, r actors.Request) error {
				time.Sleep(500 * time.Millisecond) // a policy that takes its time must not let a frame through meanwhile
				return only("bob")(ctx, r)
			}
		})
		h.revoke(realtime.Revocation{Actor: cart("a")})
		w.set(cart("a"), "n", 2)
		time.Sleep(2 * time.Second)
		synctest.Wait()
		if n := len(p.got("f")); n != 0 || p.reason("s") != wire.Denied {
			t.Errorf("%d frames and reason %q after Revoke, want none and denied", n, p.reason("s"))
		}
		q.wantFresh("s", tN)
	})
}

// A subscribe whose policy was asked before the revocation must not slip through.
func TestC4_RevokeDuringASubscribe(t *testing.T) {
	onBothLinks(t, func(t *testing.T, w *world) {
		h := open(t, w)
		var denied atomic.Bool
		w.allow = func(context.Context, actors.Request) error {
			if denied.Load() {
				return errRefused
			}
			return nil
		}
		w.beforeGet = func() { time.Sleep(time.Second) }
		p := h.browse("alice")
		p.get("s", cart("a"), tN)
		p.scopes["s"].first = false
		p.subscribe("s")
		time.Sleep(500 * time.Millisecond) // the snapshot is being read
		denied.Store(true)
		h.revoke(realtime.Revocation{Actor: cart("a")})
		time.Sleep(5 * time.Second)
		synctest.Wait()
		if n := len(p.got("ok", "f")); n != 0 || p.reason("s") != wire.Denied {
			t.Errorf("%d answers and reason %q, want none and denied", n, p.reason("s"))
		}
	})
}

func TestC4_R39_RevokeOfASessionClosesItsSockets(t *testing.T) {
	onBothLinks(t, func(t *testing.T, w *world) {
		h := open(t, w)
		sessions := map[string]*page{}
		for _, name := range []string{"phone", "desk"} {
			p := h.attach(&page{h: h, user: "alice", scopes: map[string]*scope{}}, name)
			p.get("s", cart("a"), tN, tGreeting)
			p.subscribe("s")
			sessions[name] = p
		}
		q := h.browse("bob")
		q.get("s", cart("a"), tN)
		q.subscribe("s")
		synctest.Wait()
		h.revoke(realtime.Revocation{})
		h.revoke(realtime.Revocation{Principal: "bob", Session: "phone"})
		synctest.Wait()
		h.revoke(realtime.Revocation{Session: "phone"})
		frames := len(sessions["phone"].got("f", "ok"))
		w.set(cart("a"), "n", 2)
		sessions["phone"].send(wire.Command{Type: "sub", Number: 9, Scope: "t", Token: sessions["phone"].scopes["s"].token})
		settle()
		if code := sessions["phone"].closeCode(); code != wire.CloseRevoked {
			t.Errorf("the revoked session was closed with %d, want %d", code, wire.CloseRevoked)
		}
		if n := len(sessions["phone"].got("f", "ok")) - frames; n != 0 {
			t.Errorf("the revoked session got %d frames more", n)
		}
		if code := sessions["desk"].closeCode(); code != 0 {
			t.Errorf("the other device was closed with %d", code)
		}
		sessions["desk"].wantFresh("s", tN, tGreeting)
		h.revoke(realtime.Revocation{Principal: "alice"})
		settle()
		if sessions["desk"].closeCode() != wire.CloseRevoked || q.closeCode() != 0 {
			t.Errorf("closed with %d and %d, want the principal's alone", sessions["desk"].closeCode(), q.closeCode())
		}
	})
}

// C5: what was rendered under a viewer's ctx goes to that viewer, group bytes to the group, and shared renders see none.
func TestC5_BytesStayWithTheirViewers(t *testing.T) {
	onBothLinks(t, func(t *testing.T, w *world) {
		w.parts["spy"] = part{observes: []string{"n"}, render: func(ctx context.Context, r realtime.RenderRequest, s state) (string, []wire.Target, error) {
			if v := viewerOf(ctx); v != "" || r.Viewer != "" {
				t.Errorf("a shared render saw the viewer %q %q", v, r.Viewer)
			}
			return "spied", nil, nil
		}}
		h := open(t, w)
		users := []string{"red1", "red2", "blue1", "blue2"}
		var pages []*page
		for _, user := range users {
			p := h.browse(user)
			p.get("s", cart("a"), tN, tGreeting, tStaff, wire.Target{Component: "spy"})
			p.subscribe("s")
			pages = append(pages, p)
		}
		synctest.Wait()
		groups, personal := w.rendered("staff"), w.rendered("greeting")
		w.set(cart("a"), "n", 2)
		settle()
		if n := w.rendered("staff") - groups; n != 2 {
			t.Errorf("staff was rendered %d times for 2 groups", n)
		}
		if n := w.rendered("greeting") - personal; n != 4 {
			t.Errorf("greeting was rendered %d times for 4 viewers", n)
		}
		for i, p := range pages {
			p.wantFresh("s", tN, tGreeting, tStaff)
			for _, f := range p.got("f", "ok") {
				text := string(wire.Encode(f))
				for j, other := range users {
					if i != j && strings.Contains(text, other) {
						t.Errorf("%s got a frame of %s: %s", users[i], other, text)
					}
				}
			}
		}
	})
}

// The middleware wraps the policies, outermost first, also at the re-check, and its ctx reaches them.
func TestSubscribeMiddleware(t *testing.T) {
	onBothLinks(t, func(t *testing.T, w *world) {
		var mu sync.Mutex
		var asked []string
		note := func(what string) {
			mu.Lock()
			defer mu.Unlock()
			asked = append(asked, what)
		}
		order := func() string { // since the last look
			mu.Lock()
			defer mu.Unlock()
			all := strings.Join(asked, " ")
			asked = nil
			return all
		}
		type tenant struct{}
		layer := func(name string) realtime.Middleware {
			return func(next realtime.SubscribeFunc) realtime.SubscribeFunc {
				return func(ctx context.Context, r actors.Request) error {
					note(name)
					return next(context.WithValue(ctx, tenant{}, name), r)
				}
			}
		}
		w.allow = func(ctx context.Context, r actors.Request) error {
			note("policy " + r.Operation)
			if ctx.Value(tenant{}) != "inner" {
				return errRefused
			}
			return nil
		}
		h := open(t, w, func(c *realtime.Config) { c.Subscribe = []realtime.Middleware{layer("outer"), layer("inner")} })
		p := h.browse("alice")
		p.get("s", cart("a"), tN)
		p.subscribe("s")
		synctest.Wait()
		want := "outer inner policy  policy " + actors.SnapshotOp
		if got := order(); got != want || p.reason("s") != "" {
			t.Errorf("asked %q (reason %q), want %q", got, p.reason("s"), want)
		}
		time.Sleep(31 * time.Second)
		synctest.Wait()
		if got := order(); got != want {
			t.Errorf("the re-check asked %q, want %q", got, want)
		}
	})
}

func TestR38_Origins(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld()
		for _, c := range []struct {
			host, origin string
			listed       []string
			want         int
		}{
			{"shop.example", "https://shop.example", nil, 101},
			{"shop.example:443", "https://shop.example", nil, 101},
			{"shop.example:8080", "http://shop.example:8080", nil, 101},
			{"SHOP.example", "https://shop.EXAMPLE", nil, 101},
			{"shop.example", "", nil, 403},
			{"shop.example", "null", nil, 403},
			{"shop.example", "https://evil.example", nil, 403},
			{"shop.example", "https://shop.example.evil.example", nil, 403},
			{"shop.example", "https://shop.example@evil.example", nil, 403},
			{"shop.example", "https://shop.example:444", nil, 403},
			{"upstream:9000", "https://shop.example", nil, 403},
			{"upstream:9000", "https://shop.example", []string{"https://shop.example"}, 101},
			{"upstream:9000", "https://shop.example", []string{"https://shop.example/"}, 101},
			{"upstream:9000", "https://shop.example", []string{"HTTPS://Shop.Example"}, 101},
			{"upstream:9000", "https://shop.example", []string{"https://shop.example:443"}, 101},
			{"upstream:9000", "https://shop.example", []string{"https://shop.example:443/"}, 101},
			{"upstream:9000", "https://shop.example", []string{"shop.example"}, 101},
			{"upstream:9000", "http://shop.example", []string{"https://shop.example"}, 403},
			{"upstream:9000", "http://shop.example:8080", []string{"http://shop.example:8080/"}, 101},
		} {
			h := open(t, w, func(cfg *realtime.Config) { cfg.Origins = c.listed })
			r, _ := http.NewRequest("GET", "http://"+c.host+"/socket", nil)
			for k, v := range map[string]string{"Connection": "Upgrade", "Upgrade": "websocket", "Sec-WebSocket-Version": "13",
				"Sec-WebSocket-Key": "AAAAAAAAAAAAAAAAAAAAAA==", "Sec-WebSocket-Protocol": wire.Subprotocol} {
				r.Header.Set(k, v)
			}
			if c.origin != "" {
				r.Header.Set("Origin", c.origin)
			}
			answer, err := (&http.Transport{DialContext: h.dial, DisableKeepAlives: true}).RoundTrip(r)
			if err != nil {
				t.Fatal(err)
			}
			answer.Body.Close()
			if answer.StatusCode != c.want {
				t.Errorf("host %s, origin %s, listed %q: %d, want %d", c.host, c.origin, c.listed, answer.StatusCode, c.want)
			}
			log := h.log.String()
			refused := strings.Contains(log, "foreign origin") && strings.Contains(log, c.origin) && strings.Contains(log, c.host) && strings.Contains(log, "Origins")
			if refused != (c.want == 403) {
				t.Errorf("host %s, origin %s: the log says %q", c.host, c.origin, log)
			}
		}
	})
}

func TestConfigMistakesComeBackJoined(t *testing.T) {
	_, err := realtime.New(realtime.Config{
		Origins:   []string{"https://*.example", "https://shop.example/path", "ftp://shop.example", "https://fine.example"},
		Subscribe: []realtime.Middleware{nil}, MaxScopes: -1, Resyncs: -1,
	})
	if err == nil {
		t.Fatal("an empty configuration was accepted")
	}
	for _, part := range []string{"Source", "Renderer", "Sealer", "Subscribe[0]", "MaxScopes", "Resyncs", "*.example", "/path", "ftp://"} {
		if !strings.Contains(err.Error(), part) {
			t.Errorf("the error does not name %s:\n%v", part, err)
		}
	}
	if strings.Contains(err.Error(), "fine.example") {
		t.Errorf("the error blames a good origin:\n%v", err)
	}
}
