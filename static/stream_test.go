package static_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"sync"
	"testing"
	"time"

	"github.com/lockstep-go/lockstep/static/chromiumtest"
)

// streamed is a stub that also serves streams, and whose sockets are shut.
type streamed struct {
	*stub
	mu     sync.Mutex
	here   bool // commands find their stream
	serves bool // HEAD says that the hub serves
	open   map[string]chan string
	opened int
	first  [][]frame // the commands that came with each opening
	later  []frame   // those that followed
}

func newStreamed(t *testing.T, body string) *streamed {
	st := &streamed{stub: newStub(t, body), here: true, serves: true, open: map[string]chan string{}}
	st.shut = true
	st.mux.HandleFunc("HEAD /lockstep/stream", func(w http.ResponseWriter, r *http.Request) {
		st.mu.Lock()
		defer st.mu.Unlock()
		if st.serves {
			w.WriteHeader(http.StatusNoContent)
		} else {
			w.WriteHeader(http.StatusServiceUnavailable)
		}
	})
	st.mux.HandleFunc("POST /lockstep/stream", st.serve)
	return st
}

func (st *streamed) serve(w http.ResponseWriter, r *http.Request) {
	var body struct {
		Protocol []string
		Stream   string
		Commands []frame
	}
	if err := json.NewDecoder(r.Body).Decode(&body); err != nil || r.Header.Get("Content-Type") != "application/json" {
		st.t.Errorf("a request of type %s: %v", r.Header.Get("Content-Type"), err)
	}
	events := make(chan string, 1000)
	st.mu.Lock()
	if body.Stream != "" {
		line := st.open[body.Stream]
		if line == nil || !st.here {
			w.WriteHeader(http.StatusNotFound)
		} else {
			st.later = append(st.later, body.Commands...)
			st.answer(line, body.Commands)
			w.WriteHeader(http.StatusNoContent)
		}
		st.mu.Unlock()
		return
	}
	st.opened++
	id := fmt.Sprint("stream", st.opened)
	st.open[id] = events
	st.first = append(st.first, body.Commands)
	events <- fmt.Sprintf("event: open\ndata: {\"stream\":%q}\n\n", id)
	events <- event(frame{T: "hello", Heartbeat: st.heartbeat, Build: "b1"})
	st.answer(events, body.Commands)
	st.mu.Unlock()
	w.Header().Set("Content-Type", "text/event-stream")
	for {
		select {
		case text, more := <-events:
			if !more {
				return
			}
			fmt.Fprint(w, text)
			w.(http.Flusher).Flush()
		case <-r.Context().Done():
			st.mu.Lock()
			delete(st.open, id)
			st.mu.Unlock()
			return
		}
	}
}

// answer answers commands on a stream; st.mu is held.
func (st *streamed) answer(line chan string, commands []frame) {
	for _, c := range commands {
		if c.T == "sub" {
			for _, f := range st.onSub(heard{frame: c}) {
				line <- event(f)
			}
		}
	}
}

func event(f frame) string {
	text, _ := json.Marshal(f)
	return "data: " + string(text) + "\n\n"
}

// say writes to all open streams.
func (st *streamed) say(text string) {
	st.mu.Lock()
	defer st.mu.Unlock()
	for _, line := range st.open {
		line <- text
	}
}

// end ends all open streams, after a last event.
func (st *streamed) end(last string) {
	st.mu.Lock()
	defer st.mu.Unlock()
	for id, line := range st.open {
		if last != "" {
			line <- last
		}
		close(line)
		delete(st.open, id)
	}
}

func (st *streamed) count() (opened, open, later int) {
	st.mu.Lock()
	defer st.mu.Unlock()
	return st.opened, len(st.open), len(st.later)
}

func (st *streamed) with(f func()) { st.mu.Lock(); defer st.mu.Unlock(); f() }

func TestStreamTakesTheSocketsPlace(t *testing.T) {
	st := newStreamed(t, scope("A", "1", `<b data-ls="k">1</b>`))
	p := st.visit()
	if opened, open, later := st.count(); opened != 1 || open != 1 || later != 0 || len(st.first[0]) != 1 || st.tries() < 2 {
		t.Fatalf("%d sockets were tried; %d streams opened, %d open, first with %+v, then %d commands", st.tries(), opened, open, st.first, later)
	}
	st.say(event(frame{T: "f", I: "A", R: "2", K: "k", H: "<b data-ls=\"k\">a\n\n2\u2028</b>"}))
	p.WaitFor(`document.querySelector("b").textContent === "a\n\n2\u2028"`)
	st.say(event(frame{T: "f", I: "A", R: "1", K: "k", H: `<b data-ls="k">old</b>`}))
	st.say(event(frame{T: "ping"}))
	st.await("a pong", func() bool { _, _, later := st.count(); return later == 1 })
	p.Eval(`document.body.append(document.querySelector("lockstep-scope").cloneNode(true))`, nil)
	connected(p)
	p.Eval(`document.querySelectorAll("lockstep-scope")[1].remove()`, nil)
	st.await("an unsubscribe", func() bool { _, _, later := st.count(); return later == 3 })
	if kinds := []string{st.later[0].T, st.later[1].T, st.later[2].T}; fmt.Sprint(kinds) != "[pong sub unsub]" {
		t.Errorf("commands %v", kinds)
	}
	p.Quiet()
}

// A command that reaches another process than the stream's makes the page begin anew there, and nobody sees it.
func TestStreamBehindABalancer(t *testing.T) {
	st := newStreamed(t, scope("A", "1", `<b data-ls="k">1</b>`)+scope("B", "1", `<i data-ls="l">1</i>`))
	p := st.visit()
	tried := st.tries()
	statuses(p)
	st.with(func() { st.here = false })
	st.answerWith(func(h heard) []frame {
		if h.Token == "A@1" {
			return []frame{ok(h, fragment{"k", "2", `<b data-ls="k">2</b>`})}
		}
		return []frame{ok(h)}
	})
	st.say(event(frame{T: "ping"}))
	p.WaitText("b", "2")
	connected(p)
	p.Eval(`document.querySelector("lockstep-scope").remove()`, nil) // the unsubscribe is not for there either
	st.await("a third stream", func() bool { opened, open, _ := st.count(); return opened == 3 && open == 1 })
	connected(p)
	if first := st.first; len(first[1]) != 2 || len(first[2]) != 1 || first[2][0].Token != "B@1" {
		t.Errorf("asked for %+v", first)
	}
	if got := p.String("statuses"); got != "" || st.tries() != tried {
		t.Errorf("the user saw %s; %d sockets were tried", got, st.tries()-tried)
	}
	p.Quiet()
}

func TestR15SilentStreamIsFound(t *testing.T) {
	st := newStreamed(t, scope("A", "1", `<b data-ls="k">1</b>`))
	st.heartbeat = 400
	p := st.visit()
	tried := st.tries()
	st.answerWith(func(h heard) []frame { return []frame{ok(h, fragment{"k", "5", `<b data-ls="k">5</b>`})} })
	p.WaitText("b", "5") // nothing was said, and the page asked again
	if st.tries() != tried {
		t.Errorf("%d sockets were tried, want none: a stream that was greeted is no reason to", st.tries()-tried)
	}
	p.Quiet()
}

func TestR14StreamOfAnEndedSessionDoesNotComeBack(t *testing.T) {
	st := newStreamed(t, scope("A", "1", `<b data-ls="k">1</b>`))
	p := st.visit()
	tried := st.tries()
	st.end("event: close\ndata: {\"code\":4401,\"reason\":\"revoked\"}\n\n")
	p.WaitFor(`document.documentElement.dataset.lsStatus === "denied"`)
	p.Eval(`dispatchEvent(new Event("online")); document.dispatchEvent(new Event("visibilitychange"))`, nil)
	p.Eval(`new Promise(r => setTimeout(r, 700))`, nil)
	if opened, _, _ := st.count(); opened != 1 || st.tries() != tried {
		t.Errorf("%d streams were opened, %d sockets tried", opened, st.tries()-tried)
	}
	p.Quiet()
}

// A server that is down refuses sockets too, and that says nothing about them.
func TestOutageIsNoReasonForAStream(t *testing.T) {
	st := newStreamed(t, scope("A", "1", `<b data-ls="k">1</b>`))
	st.serves = false
	p := chromiumtest.Open(t).Visitor(t)
	p.BeforeEveryPage(impatient)
	p.Goto(st.url)
	st.await("tries", func() bool { return st.tries() >= 4 })
	st.set(func(st *stub) { st.shut = false })
	st.with(func() { st.serves = true })
	connected(p)
	if opened, _, _ := st.count(); opened != 0 || st.sockets() != 1 {
		t.Errorf("%d streams, %d sockets", opened, st.sockets())
	}
	p.Quiet()
}

func TestSocketIsTriedAgainLater(t *testing.T) {
	st := newStreamed(t, scope("A", "1", `<b data-ls="k">1</b>`))
	p := st.visit()
	tried := st.tries()
	st.end("") // cut off
	st.await("the second stream", func() bool { _, open, _ := st.count(); return open == 1 })
	connected(p)
	p.Goto(st.url + "/?next") // the tab's next page begins with a stream
	connected(p)
	if opened, _, _ := st.count(); opened != 3 || st.tries() != tried {
		t.Fatalf("%d streams were opened, %d sockets tried", opened, st.tries()-tried)
	}
	st.set(func(st *stub) { st.shut = false })
	p.Eval(`(now => Date.now = () => now() + 601000)(Date.now)`, nil)
	st.end("")
	st.await("a socket", func() bool { return st.sockets() == 1 })
	connected(p)
	p.Quiet()
}

// Where both fail while HTTP passes, each has its turns, with backoff.
func TestStreamThatFailsGivesTheTurnBack(t *testing.T) {
	st := newStreamed(t, scope("A", "1", `<b data-ls="k">1</b>`))
	p := chromiumtest.Open(t).Visitor(t)
	p.BeforeEveryPage(impatient + `; (real => window.fetch = (url, o) => o?.method === "POST" && window.broken !== false ? (window.streams = (window.streams ?? 0) + 1, Promise.resolve(new Response("", {status: 502}))) : real(url, o))(fetch)`)
	p.Goto(st.url)
	start := time.Now()
	p.WaitFor(`window.streams >= 2`)
	if n := st.tries(); n < 3 || time.Since(start) < 100*time.Millisecond {
		t.Errorf("%d sockets were tried beside two streams", n)
	}
	p.Eval(`window.broken = false`, nil)
	connected(p)
	p.Quiet()
}
