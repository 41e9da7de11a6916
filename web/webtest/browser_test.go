package webtest_test

import (
	"net/http/httptest"
	"os"
	"testing"
	"time"

	"github.com/lockstep-go/lockstep/actors"
	"github.com/lockstep-go/lockstep/static/chromiumtest"
	"github.com/lockstep-go/lockstep/web/webtest"
)

func TestMain(m *testing.M) { os.Exit(chromiumtest.Main(m)) }

// C3: the kept schedules in a real browser, whose client, network and clock are its own.
func TestC3_KeptSchedulesInChromium(t *testing.T) {
	browser := chromiumtest.Open(t)
	for name, s := range keptSchedules(t) {
		t.Run(name, func(t *testing.T) {
			app := newBoardApp(t, actors.InsecureAllowAll())
			w := &windows{}
			for i, streams := range s.streams() {
				x := &proxy{site: app.site, user: viewer(i), role: team(i), streams: streams}
				srv := httptest.NewServer(x)
				t.Cleanup(func() { x.cut(); srv.Close() })
				page := browser.Visitor(t)
				page.BeforeEveryPage(hearData)
				page.Goto(srv.URL)
				page.WaitFor(allConnected)
				w.pages, w.proxies = append(w.pages, page), append(w.proxies, x)
			}
			if err := s.play(app, w); err != nil {
				t.Fatal(err)
			}
			w.rest(t)
		})
	}
}

const (
	allConnected = `document.documentElement.dataset.lsStatus === "connected" && !document.querySelector("lockstep-scope:not([status=connected])")`
	// hearData keeps what scripts are told of each data target: at load, and by events.
	hearData = `
		window.heard = {};
		document.addEventListener("DOMContentLoaded", () => {
			for (const { dataset, content } of document.querySelectorAll("[data-ls-data]")) heard[dataset.ls] ??= JSON.stringify(JSON.parse(content.textContent));
		});
		document.addEventListener("lockstep:data", ({ target, detail }) => heard[target.dataset.ls] = JSON.stringify(detail.value));`
	// differs is "" where every target equals that of a fresh GET, and what scripts were told last is in it.
	differs = `(async () => {
		const fresh = new DOMParser().parseFromString(await (await fetch(location.href, { cache: "no-store" })).text(), "text/html");
		const shown = (page) => [...page.querySelectorAll("lockstep-scope [data-ls]")].map((target) => {
			const copy = target.cloneNode(true);
			for (const part of [copy, ...copy.querySelectorAll("*")])
				for (const name of ["data-ls-token", "token", "instance", "revision", "status"]) part.removeAttribute(name);
			return copy.outerHTML;
		});
		const [got, want] = [shown(document), shown(fresh)];
		const i = want.findIndex((html, i) => html !== got[i]);
		for (const { dataset, content } of fresh.querySelectorAll("lockstep-scope [data-ls-data]"))
			if (heard[dataset.ls] !== JSON.stringify(JSON.parse(content.textContent))) return "was told " + heard[dataset.ls] + " where a fresh GET has " + content.textContent;
		return got.length === want.length && i < 0 ? "" : "shows " + got[i] + " where a fresh GET shows " + want[i] + ", and " + got.length + " targets for " + want.length;
	})()`
)

// windows are pages in Chromium, each behind a network of its own.
type windows struct {
	pages   []*chromiumtest.Page
	proxies []*proxy
}

func (w *windows) cut(i int)    { w.proxies[i].cut() }
func (w *windows) freeze(i int) { w.proxies[i].freeze() }
func (w *windows) thaw(i int)   { w.proxies[i].thaw() }
func (w *windows) drop(i, n int) {
	w.proxies[i].fault(true, func(l *webtest.Line) [][]byte { l.Drop(n); return nil })
}
func (w *windows) repeat(i, n int) {
	w.proxies[i].fault(false, func(l *webtest.Line) [][]byte { l.Repeat(n); return nil })
}
func (w *windows) reorder(i, n int) {
	w.proxies[i].fault(false, func(l *webtest.Line) [][]byte { return l.Reorder(n) })
}

func (w *windows) reload(i int) {
	w.pages[i].Eval(`location.reload()`, nil)
	w.pages[i].WaitFor(allConnected)
}

// rest ends all faults and waits for every page to be right.
func (w *windows) rest(t *testing.T) {
	for i, x := range w.proxies {
		x.thaw()
		w.reorder(i, 0)
		if x.lossy() {
			x.cut()
		}
	}
	for i, p := range w.pages {
		var wrong string
		for end := time.Now().Add(time.Minute); ; time.Sleep(100 * time.Millisecond) {
			if p.Eval(differs, &wrong); wrong == "" && p.Bool(allConnected) {
				break
			}
			if time.Now().After(end) {
				t.Errorf("page %d %s", i, wrong)
				break
			}
		}
		p.Quiet()
	}
}
