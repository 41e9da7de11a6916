package realtime_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/coder/websocket"

	"github.com/lockstep-go/lockstep/actors"
	"github.com/lockstep-go/lockstep/realtime"
	"github.com/lockstep-go/lockstep/realtime/wire"
)

// C8, R14, R41, R42: each kind of bad token has its reason, and the socket lives on.
func TestC8_R14_TokensAreRefusedWithAReason(t *testing.T) {
	onBothLinks(t, func(t *testing.T, w *world) {
		h := open(t, w)
		p := h.browse("alice")
		good := p.get("good", cart("a"), tN).token
		seal := func(s *wire.Sealer, tok wire.Token) string { return must(s.Seal(tok)) }
		foreign := must(wire.NewSealer([][]byte{[]byte("another key, another key, another")}, 0, 0))
		of := func(id string, ts ...wire.Target) wire.Token { return wire.Token{Actor: cart(id), Targets: ts} }
		old := of("a", tN)
		old.Issued = time.Now().Add(-25 * time.Hour)
		ancient := of("a", tN)
		ancient.Issued = time.Now().Add(-31 * 24 * time.Hour)
		flipped := []byte(good)
		flipped[len(flipped)/2] ^= 1
		for name, c := range map[string]struct {
			token string
			more  []string
			want  wire.Reason
		}{
			"empty":             {"", nil, wire.BadToken},
			"tampered":          {string(flipped), nil, wire.BadToken},
			"truncated":         {good[:len(good)-5], nil, wire.BadToken},
			"foreign key":       {seal(foreign, of("a", tN)), nil, wire.UnknownKey},
			"expired":           {seal(h.sealer, old), nil, wire.Expired},
			"beyond grace":      {seal(h.sealer, ancient), nil, wire.BadToken},
			"another actor":     {good, []string{seal(h.sealer, of("b", tN))}, wire.BadToken},
			"bad more":          {good, []string{"x"}, wire.BadToken},
			"expired more":      {good, []string{seal(h.sealer, old)}, wire.Expired},
			"unknown component": {seal(h.sealer, of("a", wire.Target{Component: "renamed"})), nil, wire.Unknown},
			"unknown type":      {seal(h.sealer, wire.Token{Actor: actors.Address{Type: "gone", ID: "a"}, Targets: []wire.Target{tN}}), nil, wire.Unknown},
		} {
			before := len(p.got("no"))
			p.send(wire.Command{Type: "sub", Number: 77, Scope: "x", Token: c.token, More: c.more})
			synctest.Wait()
			if no := p.got("no")[before:]; len(no) != 1 || no[0].Reason != c.want || no[0].Number != 77 || no[0].Scope != "x" || no[0].Retry {
				t.Errorf("%s: answered %+v, want one %q", name, no, c.want)
			}
		}
		if n := w.count(&w.reads); n != 0 {
			t.Errorf("%d reads for refused tokens", n)
		}
		p.subscribe("good")
		w.set(cart("a"), "n", 3)
		settle()
		p.wantFresh("good", tN)
	})
}

func TestR14_GarbageIsAnsweredAndTheSocketLives(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		h := open(t, w)
		p := h.browse("alice")
		p.get("s", cart("a"), tN)
		for _, text := range []string{"", "x", "null", "[]", "7", `{"t":"sub"}`, `{"t":"sub","s":"` + strings.Repeat("x", 33) + `"}`, `{"t":"sub","n":"1","s":"s"}`} {
			before := len(p.got("no"))
			p.sendText(text)
			synctest.Wait()
			if no := p.got("no")[before:]; len(no) != 1 || no[0].Reason != wire.BadRequest {
				t.Errorf("%q was answered with %+v, want one bad_request", text, no)
			}
		}
		before := len(p.got("no"))
		for _, text := range []string{`{"t":"later","n":{"x":1}}`, `{"t":"pong","extra":true}`, `{"t":"unsub","s":"nothing"}`} {
			p.sendText(text)
		}
		p.ws.Write(context.Background(), websocket.MessageBinary, []byte("{}"))
		p.subscribe("s")
		settle()
		if no := p.got("no")[before:]; len(no) != 1 {
			t.Errorf("answers %+v, want one, to the binary frame", no)
		}
		w.set(cart("a"), "n", 4)
		settle()
		p.wantFresh("s", tN)
	})
}

// R41 (a): a token's age counts at the subscribe alone.
func TestR41_TokenExpiresWhileThePageIsOpen(t *testing.T) {
	onBothLinks(t, func(t *testing.T, w *world) {
		h := open(t, w, func(c *realtime.Config) { c.Sealer = must(wire.NewSealer([][]byte{testKey}, 2*time.Second, 0)) })
		p := h.browse("alice")
		p.get("s", cart("a"), tN)
		p.subscribe("s")
		time.Sleep(5 * time.Second)
		w.set(cart("a"), "n", 2)
		settle()
		p.wantFresh("s", tN)
		p.subscribe("s")
		synctest.Wait()
		if p.reason("s") != wire.Expired {
			t.Fatalf("a late subscribe was answered %q, want expired", p.reason("s"))
		}
		code, body := h.refresh("http://shop.example", "alice", p.scopes["s"].token)
		if code != 200 || body["token"] == "" {
			t.Fatalf("refresh answered %d %v", code, body)
		}
		p.scopes["s"].token = body["token"]
		w.set(cart("a"), "n", 3)
		p.subscribe("s")
		settle()
		p.wantFresh("s", tN)
	})
}

// refresh posts tokens as a page does.
func (h *house) refresh(origin, user string, tokens ...string) (int, map[string]string) {
	r := httptest.NewRequest("POST", "http://shop.example/refresh", bytes.NewReader(must(json.Marshal(map[string]any{"tokens": tokens}))))
	r.Header.Set("Content-Type", "application/json; charset=utf-8")
	r.Header.Set("X-User", user)
	if origin != "" {
		r.Header.Set("Origin", origin)
	}
	answer := httptest.NewRecorder()
	signedIn(h.hub.RefreshHandler()).ServeHTTP(answer, r)
	body := map[string]string{}
	json.Unmarshal(answer.Body.Bytes(), &body)
	if cc := answer.Header().Get("Cache-Control"); cc != "private, no-store" {
		h.t.Errorf("refresh answers with Cache-Control %q", cc)
	}
	return answer.Code, body
}

func TestC8_Refresh(t *testing.T) {
	onBothLinks(t, func(t *testing.T, w *world) {
		w.allow = only("alice")
		h := open(t, w)
		stamp := w.snapshot(cart("a")).Stamp
		seal := func(tok wire.Token) string { tok.Actor.Type = "cart"; return must(h.sealer.Seal(tok)) }
		a := seal(wire.Token{Actor: cart("a"), Targets: []wire.Target{tN, tM}, Stamp: stamp, Build: "build-1"})
		old := seal(wire.Token{Actor: cart("a"), Targets: []wire.Target{tN, tGreeting}, Stamp: stamp, Build: "build-1", Issued: time.Now().Add(-48 * time.Hour)})
		for name, c := range map[string]struct {
			origin, user string
			tokens       []string
			code         int
			reason       wire.Reason
		}{
			"expired":       {"http://shop.example", "alice", []string{a, old}, 200, ""},
			"another user":  {"http://shop.example", "bob", []string{a}, 403, wire.Denied},
			"no origin":     {"", "alice", []string{a}, 403, ""},
			"other origin":  {"https://evil.example", "alice", []string{a}, 403, ""},
			"no tokens":     {"http://shop.example", "alice", nil, 403, wire.BadRequest},
			"forged":        {"http://shop.example", "alice", []string{a + "x"}, 403, wire.BadToken},
			"another actor": {"http://shop.example", "alice", []string{a, seal(wire.Token{Actor: cart("b")})}, 403, wire.BadToken},
			"beyond grace":  {"http://shop.example", "alice", []string{seal(wire.Token{Actor: cart("a"), Issued: time.Now().Add(-31 * 24 * time.Hour)})}, 403, wire.BadToken},
		} {
			code, body := h.refresh(c.origin, c.user, c.tokens...)
			if code != c.code || wire.Reason(body["reason"]) != c.reason {
				t.Errorf("%s: %d %v, want %d %q", name, code, body, c.code, c.reason)
			}
			if name == "expired" {
				tok := must(h.sealer.Open(body["token"]))
				if len(tok.Targets) != 3 || tok.Stamp != stamp || tok.Build != "build-1" || time.Since(tok.Issued) > time.Minute {
					t.Errorf("the new token is %+v, want the three targets with their stamp, issued now", tok)
				}
			}
		}
		_, body := h.refresh("http://shop.example", "alice", a, seal(wire.Token{Actor: cart("a"), Stamp: actors.Stamp{Revision: 9}}))
		if tok := must(h.sealer.Open(body["token"])); tok.Stamp == stamp || tok.Build != "" {
			t.Errorf("tokens of different stamps became %+v, which could pass for current", tok)
		}
	})
}

// R44: nothing of tokens, ids or HTML is logged.
func TestR44_NothingLeaksIntoTheLog(t *testing.T) {
	onBothLinks(t, func(t *testing.T, w *world) {
		w.commit(cart("secret-id"), change{set: state{"n": 424242}, names: []string{"n"}})
		broken := part{observes: []string{"n"}, render: func(_ context.Context, r realtime.RenderRequest, s state) (string, []wire.Target, error) {
			return "", nil, errors.New("state is " + string(r.Snapshot.State) + " of " + r.Actor.ID)
		}}
		panics := broken
		panics.render = func(context.Context, realtime.RenderRequest, state) (string, []wire.Target, error) {
			panic("424242 secret-id")
		}
		h := open(t, w)
		p := h.browse("alice")
		token := p.get("s", cart("secret-id"), tN).token
		w.with(func() { w.parts["broken"], w.parts["panics"] = broken, panics })
		p.scopes["s"].more = []string{must(h.sealer.Seal(wire.Token{Actor: cart("secret-id"), Targets: []wire.Target{{Component: "broken"}, {Component: "panics"}}}))}
		p.subscribe("s")
		p.sendText(`{"t":"sub","s":"s","token":"` + token + `x"}`)
		settle()
		w.with(func() {
			w.readErr = errors.New("cannot read secret-id")
			w.allow = func(context.Context, actors.Request) error { return errors.New("secret-id") }
		})
		w.set(cart("secret-id"), "n", 424243)
		p.subscribe("s")
		time.Sleep(40 * time.Second)
		h.refresh("https://evil.example", "alice", token)
		log := h.log.String()
		for _, secret := range []string{"secret-id", "424242", "424243", token[:20], token[len(token)-20:], "data-ls"} {
			if strings.Contains(log, secret) {
				t.Errorf("the log holds %q:\n%s", secret, log)
			}
		}
		for _, part := range []string{"component=broken", "component=panics", "TestR44_NothingLeaksIntoTheLog", "errorString", "https://evil.example"} {
			if !strings.Contains(log, part) {
				t.Errorf("the log lacks %q:\n%s", part, log)
			}
		}
	})
}
