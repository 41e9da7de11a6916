package main

import (
	"context"
	"encoding/json"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/coder/websocket"
)

// wireTap is a page's connection without the page: what a stranger with a network tool can do.
type wireTap struct {
	t    *testing.T
	ws   *websocket.Conn
	n    int
	seen strings.Builder // every byte that came
}

// answer is what the test reads of a frame.
type answer struct {
	T      string `json:"t"`
	N      int    `json:"n"`
	Reason string `json:"reason"`
	F      []struct {
		H string `json:"h"`
	} `json:"f"`
}

// tap opens a socket in the guest's session.
func (g *guest) tap() *wireTap {
	g.t.Helper()
	home, err := url.Parse(g.shop)
	if err != nil {
		g.t.Fatal(err)
	}
	header := http.Header{"Origin": {g.shop}}
	for _, c := range g.client.Jar.Cookies(home) {
		header.Add("Cookie", c.String())
	}
	ctx, cancel := context.WithTimeout(g.t.Context(), patience)
	defer cancel()
	ws, _, err := websocket.Dial(ctx, "ws://"+home.Host+"/lockstep/socket", &websocket.DialOptions{
		HTTPHeader: header, Subprotocols: []string{"lockstep.v1"},
	})
	if err != nil {
		g.t.Fatal(err)
	}
	g.t.Cleanup(func() { _ = ws.CloseNow() })
	ws.SetReadLimit(1 << 20)
	return &wireTap{t: g.t, ws: ws}
}

// subscribe asks for a scope and returns the number that the answer will have.
func (w *wireTap) subscribe(token string) int {
	w.t.Helper()
	w.n++
	doc, err := json.Marshal(map[string]any{"t": "sub", "n": w.n, "s": "s" + string(rune('a'+w.n)), "token": token})
	if err != nil {
		w.t.Fatal(err)
	}
	if err := w.ws.Write(w.t.Context(), websocket.MessageText, doc); err != nil {
		w.t.Fatal(err)
	}
	return w.n
}

// until reads frames up to the first that is wanted and returns it.
func (w *wireTap) until(want func(answer) bool) answer {
	w.t.Helper()
	ctx, cancel := context.WithTimeout(w.t.Context(), patience)
	defer cancel()
	for {
		_, doc, err := w.ws.Read(ctx)
		if err != nil {
			w.t.Fatalf("%v after %s", err, w.seen.String())
		}
		w.seen.Write(doc)
		var a answer
		if err := json.Unmarshal(doc, &a); err != nil {
			w.t.Fatalf("frame %s: %v", doc, err)
		}
		if want(a) {
			return a
		}
	}
}

// ask subscribes and returns the answer.
func (w *wireTap) ask(token string) answer {
	w.t.Helper()
	n := w.subscribe(token)
	return w.until(func(a answer) bool { return a.N == n })
}

// tokens are those of the page's scopes, in their order.
func (g *guest) tokens() (all []string) {
	for n := range g.doc.Descendants() {
		if n.Data == "lockstep-scope" {
			all = append(all, attr(n, "token"))
		}
	}
	return all
}

func TestNobodyFollowsWhatIsNotTheirs(t *testing.T) {
	shop := openShop(t, config{})
	ada, boss, eve := shop.guest(t), shop.guest(t), shop.guest(t)
	ada.add("morning-mug", "1").until("/cart", "Reserved until")
	ada.checkout().until("/orders/latest", "Paid. Thank you!")
	boss.signIn().until("/admin", "Ada Lovelace")
	eve.get("/")
	orders := ada.get("/orders/latest").tokens()
	desk := boss.get("/admin").tokens()
	own := ada.tap()
	if a := own.ask(orders[0]); a.T != "ok" {
		t.Fatalf("ada's own cart is answered %+v", a)
	}

	thief := eve.tap()
	for what, token := range map[string]string{"ada's cart": orders[0], "ada's order": orders[1], "the administrator's cart": desk[0], "the back office": desk[1]} {
		if a := thief.ask(token); a.T != "no" || a.Reason != "denied" {
			t.Errorf("%s is answered %+v, want no, denied", what, a)
		}
	}
	if a := thief.ask(orders[0][:len(orders[0])-2]); a.T != "no" {
		t.Errorf("a token that was cut short is answered %+v, want no", a)
	}
	ada.add("espresso-cup", "3")
	own.until(func(a answer) bool { return a.T == "f" }) // the change has gone out to those who may see it

	// A shelf is public; what the administrator sees of it is not, even with the administrator's own token.
	shelf := thief.ask(desk[2])
	if shelf.T != "ok" || len(shelf.F) == 0 {
		t.Fatalf("a shelf is answered %+v, want ok with what may be seen", shelf)
	}
	for _, secret := range []string{"In carts", "Ada", "Morning mug", "Espresso", "Reserved", "rcpt_", "38.00", "19.00"} {
		if strings.Contains(thief.seen.String(), secret) {
			t.Errorf("eve has read %q: %s", secret, thief.seen.String())
		}
	}
}

func TestForeignOriginsGetNoSocket(t *testing.T) {
	shop := openShop(t, config{})
	for _, origin := range []string{"", "https://evil.example"} {
		header := http.Header{}
		if origin != "" {
			header.Set("Origin", origin)
		}
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		ws, resp, err := websocket.Dial(ctx, strings.Replace(shop.URL, "http", "ws", 1)+"/lockstep/socket", &websocket.DialOptions{
			HTTPHeader: header, Subprotocols: []string{"lockstep.v1"},
		})
		cancel()
		if err == nil {
			_ = ws.CloseNow()
			t.Errorf("origin %q gets a socket", origin)
		} else if resp == nil || resp.StatusCode != http.StatusForbidden {
			t.Errorf("origin %q: %v, want 403", origin, err)
		}
	}
}
