package static_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/lockstep-go/lockstep/static"
	"github.com/lockstep-go/lockstep/static/chromiumtest"
)

// statuses notes every status of the page from now on.
func statuses(p *chromiumtest.Page) {
	p.Eval(`window.statuses = []; document.addEventListener("lockstep:status", e => statuses.push(e.detail.status))`, nil)
}

// impatient makes every random wait a short one, for tests of what comes after it.
const impatient = `Math.random = () => 0.95`

func TestR13DelaysSpread(t *testing.T) {
	st := newStub(t, "<p>no scope</p>")
	p := chromiumtest.Open(t).Visitor(t)
	p.Goto(st.url)
	var delays [][]float64
	p.Eval(`import("/lockstep/static/`+static.Digest()+`/socket.js").then(({backoff}) =>
		Array.from({length: 1000}, () => Array.from({length: 12}, (_, n) => backoff(n))))`, &delays)
	for _, n := range []int{0, 3, 11} {
		limit := min(30000, 500*float64(int(1)<<n))
		var of []float64
		for _, client := range delays {
			of = append(of, client[n])
		}
		slices.Sort(of)
		if of[0] <= 0 || of[999] > limit {
			t.Errorf("try %d: delays from %v to %v, want (0, %v]", n, of[0], of[999], limit)
		}
		for tenth := range 10 { // each tenth of the interval has its share
			from, to := limit*float64(tenth)/10, limit*float64(tenth+1)/10
			lo, _ := slices.BinarySearch(of, from)
			hi, _ := slices.BinarySearch(of, to)
			if got := hi - lo; got < 50 || got > 160 {
				t.Errorf("try %d: %d of 1000 delays between %v and %v", n, got, from, to)
			}
		}
	}
	var ends []float64
	p.Eval(`import("/lockstep/static/`+static.Digest()+`/socket.js").then(({backoff}) => [backoff(2, () => 0), backoff(2, () => 0.999999), backoff(60, () => 0)])`, &ends)
	if ends[0] != 2000 || ends[1] <= 0 || ends[2] != 30000 {
		t.Errorf("limits = %v", ends)
	}
}

func TestR13ComesBackWithinTheTimeThatTheServerNames(t *testing.T) {
	for _, code := range []int{1001, 1012, 1013} {
		st := newStub(t, scope("A", "1", `<b data-ls="k">1</b>`))
		p := st.visit()
		st.closeAll(websocketCode(code), "40")
		st.await("the second socket", func() bool { return st.sockets() == 2 })
		connected(p)
		p.Eval(`Math.random = () => 0.5`, nil)
		st.closeAll(websocketCode(code), "60000")
		p.WaitFor(`document.documentElement.dataset.lsStatus === "reconnecting"`) // 1 s, longer than the backoff's first wait
		if n := st.tries(); n != 2 {
			t.Errorf("%d: came back after less than the half of a minute", code)
		}
		p.Quiet()
	}
}

func TestR14RefusedForGood(t *testing.T) {
	var body strings.Builder
	reasons := []string{"bad_token", "unknown", "denied", "limit", "bad_request", "something_new"}
	want := []string{"gone", "gone", "denied", "denied", "gone", "gone"}
	for _, reason := range reasons {
		body.WriteString(scope(reason, "1", `<b data-ls="`+reason+`">1</b>`))
	}
	st := newStub(t, body.String()+scope("A", "1", `<b data-ls="k">1</b>`))
	st.answerWith(func(h heard) []frame {
		i, _, _ := strings.Cut(h.Token, "@")
		if slices.Contains(reasons, i) {
			return []frame{{T: "no", N: h.N, S: h.S, Reason: i}}
		}
		return []frame{ok(h)}
	})
	p := chromiumtest.Open(t).Visitor(t)
	p.Goto(st.url)
	p.WaitFor(`document.querySelectorAll("lockstep-scope")[6].getAttribute("status") === "connected"`)
	if got := p.String(`[...document.querySelectorAll("lockstep-scope")].map(s => s.getAttribute("status"))`); got != strings.Join(want, ",")+",connected" {
		t.Errorf("statuses = %s", got)
	}
	st.live("A", "2", "k", `<b data-ls="k">2</b>`)
	p.WaitText("[data-ls=k]", "2")
	st.closeAll(1012, "20")
	st.awaitSubs(8)
	connectedTo(p, 6)
	subs := st.all("sub")
	if len(subs) != 8 || subs[7].Token != "A@1" {
		t.Errorf("after a restart: %+v", subs[7:])
	}
	p.Quiet()
}

func connectedTo(p *chromiumtest.Page, i int) {
	p.WaitFor(fmt.Sprintf(`document.querySelectorAll("lockstep-scope")[%d].getAttribute("status") === "connected"`, i))
}

func TestR14EndedSessionDoesNotComeBack(t *testing.T) {
	st := newStub(t, scope("A", "1", `<b data-ls="k">1</b>`))
	p := st.visit()
	st.closeAll(4401, "")
	p.WaitFor(`document.documentElement.dataset.lsStatus === "denied" && document.querySelector("lockstep-scope").getAttribute("status") === "denied"`)
	p.Eval(`dispatchEvent(new Event("online")); document.dispatchEvent(new Event("visibilitychange"))
		dispatchEvent(new PageTransitionEvent("pageshow", {persisted: true}))
		document.body.append(document.querySelector("lockstep-scope").cloneNode(true))`, nil)
	p.WaitFor(`[...document.querySelectorAll("lockstep-scope")].map(s => s.getAttribute("status")).join() === "denied,denied"`)
	p.Eval(`new Promise(r => setTimeout(r, 700))`, nil) // longer than the first wait of the backoff
	if n := st.tries(); n != 1 {
		t.Errorf("%d connections, want 1", n)
	}
	p.Goto(st.url)
	connected(p)
}

func TestLaterMeansLater(t *testing.T) {
	st := newStub(t, scope("A", "1", `<b data-ls="k">1</b>`))
	times := make(chan time.Time, 10)
	st.answerWith(func(h heard) []frame {
		times <- time.Now()
		switch h.N {
		case 1, 2:
			return []frame{{T: "no", N: h.N, S: h.S, Reason: "later", Retry: true, After: 200}}
		case 3:
			return []frame{{T: "no", N: h.N, S: h.S, Reason: "error", Retry: true}}
		}
		return []frame{ok(h)}
	})
	p := chromiumtest.Open(t).Visitor(t)
	p.BeforeEveryPage(impatient)
	p.Goto(st.url)
	connected(p)
	first, second := <-times, <-times
	if wait := second.Sub(first); wait < 190*time.Millisecond {
		t.Errorf("came back after %s, want 200ms at least", wait)
	}
	if n := st.count("sub"); n != 4 {
		t.Errorf("%d subscribes, want 4", n)
	}
}

func TestR15SilentConnectionIsFound(t *testing.T) {
	st := newStub(t, scope("A", "1", `<b data-ls="k">1</b>`))
	st.heartbeat = 400
	relay := newRelay(t, st.url)
	p := chromiumtest.Open(t).Visitor(t)
	p.Goto("http://" + relay.Addr().String())
	connected(p)
	st.await("a pong", func() bool { return st.count("pong") > 0 })
	old := st.open()[0]
	st.answerWith(func(h heard) []frame { return []frame{ok(h, fragment{"k", "5", `<b data-ls="k">5</b>`})} })
	relay.freeze(true)
	start := time.Now()
	st.write(old, frame{T: "f", I: "A", R: "2", K: "k", H: `<b data-ls="k">2</b>`})
	p.WaitText("[data-ls=k]", "5")
	t.Logf("found after %s, heartbeat 400ms", time.Since(start))
	relay.freeze(false)
	st.await("the old socket's end", func() bool { return len(st.open()) == 1 })
	st.await("more pongs", func() bool { return st.count("pong") > 6 })
	if n := st.sockets(); n != 2 {
		t.Errorf("%d sockets, want 2: the old one's last words started another", n)
	}
	if got := p.Text("[data-ls=k]"); got != "5" {
		t.Errorf("shows %s, want 5", got)
	}
	p.Quiet()
}

func TestR18HiddenTabStaysConnected(t *testing.T) {
	st := newStub(t, scope("A", "1", `<b data-ls="k">1</b>`))
	st.heartbeat = 300
	p := chromiumtest.Open(t).Visitor(t)
	// A hidden tab's timers fire together and late, here once in 1.2 s instead of once a minute; animation frames never.
	p.BeforeEveryPage(`(() => {
		const late = [], real = setTimeout
		window.setTimeout = (f, ms = 0) => { const job = {f, due: performance.now() + ms}; late.push(job); return job }
		window.clearTimeout = job => { const i = late.indexOf(job); if (i >= 0) late.splice(i, 1) }
		setInterval(() => { for (const job of late.splice(0)) job.due <= performance.now() ? job.f() : late.push(job) }, 1200)
		window.requestAnimationFrame = () => 0
		Object.defineProperty(document, "hidden", {get: () => true})
	})()`)
	p.Goto(st.url)
	connected(p)
	for n := 2; n < 6; n++ {
		pongs := st.count("pong")
		st.await("pongs", func() bool { return st.count("pong") >= pongs+4 })
		st.live("A", fmt.Sprint(n), "k", fmt.Sprintf(`<b data-ls="k">%d</b>`, n))
		p.WaitText("[data-ls=k]", fmt.Sprint(n))
	}
	// A page that was stopped altogether finds its timer due before the frames that waited.
	p.Eval(`(() => { for (const end = performance.now() + 1500; performance.now() < end;); })()`, nil)
	pongs := st.count("pong")
	st.await("pongs", func() bool { return st.count("pong") >= pongs+4 })
	if n := st.sockets(); n != 1 {
		t.Errorf("%d sockets, want 1", n)
	}
	p.Quiet()
}

func TestR18StoppedPageLooksAgain(t *testing.T) {
	st := newStub(t, scope("A", "1", `<b data-ls="k">1</b>`))
	st.heartbeat = 300
	p := st.visit()
	for range 4 {
		p.Eval(`(() => { for (const end = performance.now() + 900; performance.now() < end;); })()`, nil)
	}
	pongs := st.count("pong")
	st.await("pongs", func() bool { return st.count("pong") >= pongs+3 })
	if n := st.sockets(); n != 1 {
		t.Errorf("%d sockets, want 1", n)
	}
}

func TestR19BackForwardCache(t *testing.T) {
	st := newStub(t, scope("A", "1", `<b data-ls="k">1</b>`))
	p := st.visit()
	p.Eval(`window.here = true; addEventListener("pageshow", e => window.persisted = e.persisted)`, nil)
	p.Goto(strings.Replace(st.url, "127.0.0.1", "localhost", 1) + "/frame")
	st.await("the socket to close", func() bool { return len(st.open()) == 0 })
	st.answerWith(func(h heard) []frame { return []frame{ok(h, fragment{"k", "5", `<b data-ls="k">5</b>`})} })
	p.Eval(`void setTimeout(() => history.back())`, nil)
	p.WaitText("[data-ls=k]", "5")
	if !p.Bool("window.here && window.persisted") {
		t.Log("this browser did not keep the page; the simulation below stands in")
	}
	connected(p)

	// The same by hand, with the longest wait ahead: it is not waited for.
	statuses(p)
	st.answerWith(func(h heard) []frame { return []frame{ok(h, fragment{"k", "6", `<b data-ls="k">6</b>`})} })
	before := st.sockets()
	p.Eval(`dispatchEvent(new PageTransitionEvent("pagehide", {persisted: true}))`, nil)
	st.await("the socket to close", func() bool { return len(st.open()) == 0 })
	p.Eval(`dispatchEvent(new PageTransitionEvent("pageshow", {persisted: true}))`, nil)
	p.WaitText("[data-ls=k]", "6")
	if n := st.sockets() - before; n != 1 {
		t.Errorf("%d new sockets, want 1", n)
	}
	if got := p.String("statuses"); got != "" {
		t.Errorf("the user saw %s", got)
	}
	p.Quiet()
}

func TestLongInterruptionIsShown(t *testing.T) {
	st := newStub(t, scope("A", "1", `<b data-ls="k">1</b>`))
	p := st.visit()
	statuses(p)
	st.set(func(st *stub) { st.shut = true })
	st.closeAll(1011, "")
	p.WaitFor(`document.documentElement.dataset.lsStatus === "reconnecting"`)
	p.WaitFor(`document.querySelector("lockstep-scope").getAttribute("status") === "reconnecting"`)
	st.set(func(st *stub) { st.shut = false })
	tried := st.tries()
	p.Eval(`dispatchEvent(new Event("online"))`, nil)
	connected(p)
	if got := p.String("statuses"); got != "reconnecting,connected" {
		t.Errorf("statuses = %s after %d tries", got, tried)
	}
	p.Offline(true)
	st.closeAll(1011, "")
	p.WaitFor(`document.documentElement.dataset.lsStatus === "offline"`)
	p.Offline(false)
	connected(p)
	p.Quiet()
}

func TestComesBackAtOnceWhenThereIsReasonToHope(t *testing.T) {
	st := newStub(t, scope("A", "1", `<b data-ls="k">1</b>`))
	p := st.visit()
	p.Eval(`Math.random = () => 0.5`, nil)
	for i, js := range []string{`dispatchEvent(new Event("online"))`, `document.dispatchEvent(new Event("visibilitychange"))`} {
		st.closeAll(1013, "300000")
		st.await("the socket to close", func() bool { return len(st.open()) == 0 })
		p.WaitFor(`document.querySelector("lockstep-scope").getAttribute("status") === "reconnecting"`)
		p.Eval(`document.body.append(document.querySelector("lockstep-scope").cloneNode(true))`, nil) // no reason to
		p.Eval(`new Promise(r => setTimeout(r, 50))`, nil)
		if n := st.tries(); n != i+1 {
			t.Errorf("%d connections before %s", n, js)
		}
		p.Eval(js, nil)
		connected(p)
	}
	p.Quiet()
}

func TestR24UnknownWordsAndAnotherBuild(t *testing.T) {
	st := newStub(t, scope("A", "1", `<b data-ls="k">1</b>`))
	p := st.visit()
	p.Eval(`document.addEventListener("lockstep:build", e => window.build = e.detail.build)`, nil)
	st.send(frame{T: "weather", Reason: "rain"})
	st.live("A", "2", "k", `<b data-ls="k">2</b>`)
	p.WaitText("[data-ls=k]", "2")
	if p.Bool("window.build") {
		t.Error("a build was announced that is no other")
	}
	st.set(func(st *stub) { st.build = "b2" })
	st.closeAll(1012, "20")
	p.WaitFor(`window.build === "b2"`)
	p.Quiet()
}

func TestR25ReconnectKeepsTheForm(t *testing.T) {
	html := `<form data-ls="k"><u>%d</u><input id="i"><div id="pad"></div></form>`
	st := newStub(t, scope("A", "1", fmt.Sprintf(html, 1)))
	p := st.visit()
	p.Eval(`window.here = true; pad.style.height = "3000px"; pad.toggleAttribute("data-ls-keep", true); scrollTo(0, 500)`, nil)
	p.Eval(`i.focus({preventScroll: true})`, nil)
	p.Keys("draft")
	p.Eval(`i.setSelectionRange(2, 4)`, nil)
	st.answerWith(func(h heard) []frame {
		return []frame{ok(h, fragment{"k", "7", strings.Replace(fmt.Sprintf(html, 7), `id="pad"`, `id="pad" data-ls-keep`, 1)})}
	})
	y := p.String("scrollY")
	st.closeAll(1012, "20")
	p.WaitText("u", "7")
	if got := p.String(`[window.here, document.activeElement.id, i.value, i.selectionStart, i.selectionEnd, scrollY]`); got != "true,i,draft,2,4,"+y {
		t.Errorf("after the reconnect: %s", got)
	}
	p.Quiet()
}

func TestR14LastScopeDenied(t *testing.T) {
	st := newStub(t, scope("A", "1", `<b data-ls="k">1</b>`))
	p := st.visit()
	sub := st.all("sub")[0]
	st.send(frame{T: "no", N: sub.N, S: sub.S, Reason: "denied"}) // a running subscription ends
	st.live("A", "2", "k", `<b data-ls="k">secret</b>`)
	p.WaitFor(`document.documentElement.dataset.lsStatus === "denied"`)
	st.await("the socket to close", func() bool { return len(st.open()) == 0 })
	if got := p.Text("[data-ls=k]"); got != "1" || st.sockets() != 1 {
		t.Errorf("shows %s after %d sockets", got, st.sockets())
	}
	p.Quiet()
}

func TestR64BelowAPathThatAProxyStrips(t *testing.T) {
	st := newStub(t, scope("A", "1", `<b data-ls="k">1</b>`))
	st.base = "/team"
	proxy := httptest.NewServer(http.StripPrefix("/team", st.mux))
	t.Cleanup(proxy.Close)
	st.mux.HandleFunc("GET /deep/er/{$}", func(w http.ResponseWriter, r *http.Request) { st.writePage(w, 200) })
	for _, path := range []string{"/team/", "/team/deep/er/"} {
		p := chromiumtest.Open(t).Visitor(t)
		p.Goto(proxy.URL + path)
		connected(p)
		p.Quiet()
	}
}

func TestR12BurstIsAppliedToTheLast(t *testing.T) {
	st := newStub(t, scope("A", "1", `<b data-ls="k">1</b>`))
	p := st.visit()
	for n := 2; n <= 400; n++ {
		st.live("A", fmt.Sprint(n), "k", fmt.Sprintf(`<b data-ls="k">%d</b>`, n))
	}
	p.WaitText("[data-ls=k]", "400")
	if st.sockets() != 1 {
		t.Error("the burst cost the connection")
	}
	p.Quiet()
}

func TestR20RestoredCopiesSubscribeOnce(t *testing.T) {
	st := newStub(t, `<main>`+scope("A", "1", `<b data-ls="k">1</b>`)+`</main>`)
	st.answerWith(func(h heard) []frame {
		if h.First {
			return []frame{ok(h)}
		}
		return []frame{ok(h, fragment{"k", "2", `<b data-ls="k">2</b>`})}
	})
	p := st.visit()
	st.live("A", "2", "k", `<b data-ls="k">2</b>`)
	p.WaitText("[data-ls=k]", "2")
	p.Eval(`(async () => { // a library that shows copies of pages it has seen
		const main = document.querySelector("main")
		for (let i = 0; i < 10; i++) {
			const copy = main.cloneNode(true)
			main.replaceChildren()
			await new Promise(r => setTimeout(r, 20))
			main.replaceChildren(...copy.childNodes)
			await new Promise(r => setTimeout(r, 20))
		}
	})()`, nil)
	st.awaitSubs(11)
	connected(p)
	subs, unsubs := st.count("sub"), st.count("unsub")
	if subs-unsubs != 1 || st.sockets() != 1 {
		t.Errorf("%d subscribes, %d unsubscribes, %d sockets", subs, unsubs, st.sockets())
	}
	st.live("A", "3", "k", `<b data-ls="k">3</b>`)
	p.WaitText("[data-ls=k]", "3")
	p.Quiet()
}
