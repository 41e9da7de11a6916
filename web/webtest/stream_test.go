package webtest_test

import (
	"net/url"
	"testing"
	"testing/synctest"
	"time"

	"github.com/lockstep-go/lockstep/actors"
	"github.com/lockstep-go/lockstep/realtime"
	"github.com/lockstep-go/lockstep/runtime/runtimetest"
	"github.com/lockstep-go/lockstep/web/webtest"
	"github.com/lockstep-go/lockstep/web/webtest/testdata/counter"
)

// C1, C3: a page whose connections are streams follows like one on a socket, suffers what networks do, and comes back
// after it.
func TestC3_PageOverStream(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		app := newBoardApp(t, actors.InsecureAllowAll())
		one := app.processes[0]
		set := func(what string, to int) {
			t.Helper()
			if err := one.set("a", what, to); err != nil {
				t.Fatal(err)
			}
			time.Sleep(200 * time.Millisecond)
		}
		p := app.site.Visitor().Get("/shelf/a", webtest.OverStream())
		set("n", 1)
		p.WaitText("h2", "1")

		updates := p.Updates()
		p.DropNext(100)
		set("n", 2)
		if p.Updates() != updates {
			t.Error("the lost fragments have arrived")
		}
		p.Cut()
		p.WaitText("h2", "2")
		p.Equal()

		p.RepeatNext(10)
		p.ReorderNext(2)
		set("rows", 2)
		set("m", 1)
		p.ReorderNext(0)
		p.Equal()

		p.Freeze()
		set("n", 3)
		if got := p.Text("h2"); got != "2" {
			t.Errorf("a frozen page shows %s", got)
		}
		p.Thaw()
		p.WaitText("h2", "3")

		time.Sleep(10 * time.Minute) // of heartbeats
		if opened := app.asked("POST /stream"); app.asked("GET /socket") > 0 || opened == 0 {
			t.Errorf("%d requests for sockets, %d to the stream", app.asked("GET /socket"), opened)
		}
		if p.Status() != "connected" {
			t.Errorf("after ten minutes the page is %s", p.Status())
		}
		p.Reload()
		set("n", 4)
		p.WaitText("h2", "4")

		app.replace(one, false)
		set("n", 5)
		p.WaitText("h2", "5")
		p.Equal()
	})
}

// C4: a stream that the server closes for good is not opened again.
func TestC4_RevokedStreamStaysClosed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		app := newBoardApp(t, actors.InsecureAllowAll())
		v := app.site.Visitor()
		v.Header.Set("X-User", "eve")
		p := v.Get("/shelf/a", webtest.OverStream())
		time.Sleep(5 * time.Second) // a younger one would be asked to come back and be judged anew
		if err := app.processes[1].live.Revoke(t.Context(), realtime.Revocation{Principal: "eve"}); err != nil {
			t.Fatal(err)
		}
		p.Wait(`lockstep-scope[status=denied]`)
		if p.Status() != "denied" {
			t.Errorf("the page is %q", p.Status())
		}
	})
}

// C3: commands that reach another process than the stream's make the page open another stream at once.
func TestC3_StreamBehindABalancer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		app := newBoardApp(t, actors.InsecureAllowAll())
		app.each = true
		one := app.processes[0]
		p := app.site.Visitor().Get("/", webtest.OverStream())
		for i := range 10 {
			if err := one.show([][]string{{"b"}, {"b", "c"}}[i%2]); err != nil { // a scope more, which is subscribed by a command
				t.Fatal(err)
			}
			if err := one.set("c", "n", i); err != nil {
				t.Fatal(err)
			}
			time.Sleep(3 * time.Second)
			p.Equal()
		}
	})
}

// A form is sent and answered on a page over a stream as on any other.
func TestFormOverStream(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		live, routes := counterSite(t, runtimetest.Open(t, counter.Counters))
		site := webtest.Serve(t, live, routes)
		p := site.Visitor().Get("/counter/visits", webtest.OverStream())
		p.Submit("form.count", url.Values{"by": {"2"}})
		p.WaitText("output", "2")
	})
}
