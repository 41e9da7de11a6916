package fleet

import (
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/lockstep-go/lockstep/static/chromiumtest"
	"github.com/lockstep-go/lockstep/web/webtest"
)

// within is C1's bound without a bus, which is also that with one: a comparison and a second.
const within = 2 * time.Second

// slack is what a loaded machine may add to a bound without being a bug.
const slack = 3 * time.Second

// await waits until something is so.
func await(t testing.TB, what string, so func() bool) {
	t.Helper()
	for end := time.Now().Add(30 * time.Second); !so(); time.Sleep(50 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("never happened: %s", what)
		}
	}
}

// equal waits until a page equals a fresh GET, and says how long that took.
func equal(t testing.TB, p *webtest.Page) time.Duration {
	t.Helper()
	begun := time.Now()
	p.Equal()
	took := time.Since(begun)
	if took > within+slack {
		t.Errorf("the page was current after %v, want %v", took, within)
	}
	return took
}

// visit opens a page of a process as somebody.
func visit(t testing.TB, p *process, user, path string) *webtest.Page {
	t.Helper()
	v := webtest.At(t, p.url()).Visitor()
	v.Header.Set("X-User", user)
	v.Header.Set("X-Session", "of-"+user)
	return v.Get(path)
}

// C1, C3: what any process commits is shown by the pages of all, with every hint, with none, and with hints that come
// late, twice and in another order.
func TestC1_C3_PagesOfEveryProcessFollowAll(t *testing.T) {
	onEach(t, func(t *testing.T, w wiring) {
		processes := []*process{start(t, w, ""), start(t, w, "")}
		var pages []*webtest.Page
		for i, p := range processes {
			pages = append(pages, visit(t, p, fmt.Sprint("user", i), "/shelf/one"))
		}
		var load sync.WaitGroup
		for i, p := range processes {
			load.Go(func() {
				for n := range 10 {
					set(t, p.url(), "one", []string{"n", "m", "rows"}[n%3], 1+(10*i+n)%7)
				}
			})
		}
		load.Wait()
		for _, p := range pages {
			t.Logf("equal after %v", equal(t, p).Round(time.Millisecond))
		}
		set(t, processes[1].url(), "one", "n", 4711)
		for _, p := range pages {
			took := equal(t, p)
			if !strings.Contains(p.Text("h2"), "4711") {
				t.Errorf("the page shows %q after %v", p.Text("h2"), took)
			}
		}
	})
}

// C4, R39: a revocation that one process makes ends the sockets of the others within two seconds, with every hint and with
// none, and nothing more is sent; others stay.
func TestC4_R39_RevocationsReachEveryProcess(t *testing.T) {
	onEach(t, func(t *testing.T, w wiring) {
		one, two := start(t, w, ""), start(t, w, "")
		alice, bob := visit(t, two, "alice", "/shelf/one"), visit(t, two, "bob", "/shelf/one")
		carol := visit(t, two, "carol", "/shelf/one")
		set(t, one.url(), "one", "n", 1)
		for _, p := range []*webtest.Page{alice, bob, carol} {
			equal(t, p)
		}
		time.Sleep(2500 * time.Millisecond) // so that what was looked for began after them
		begun := time.Now()
		post(t, one.url(), "/revoke", url.Values{"principal": {"alice"}})
		post(t, one.url(), "/revoke", url.Values{"session": {"of-bob"}})
		for _, p := range []*webtest.Page{alice, bob} {
			for p.Status() != "denied" {
				if time.Since(begun) > within+slack {
					t.Fatalf("%v after it was revoked the page is %q", time.Since(begun), p.Status())
				}
				time.Sleep(10 * time.Millisecond)
			}
		}
		t.Logf("revoked after %v", time.Since(begun).Round(time.Millisecond))
		set(t, one.url(), "one", "n", 4711)
		carol.WaitText("h2", "4711")
		for _, p := range []*webtest.Page{alice, bob} {
			if text := p.Text("h2"); text != "1" {
				t.Errorf("a revoked page shows %q", text)
			}
		}
		if carol.Status() != "connected" {
			t.Errorf("the other page is %q", carol.Status())
		}
	})
}

// C1: in the middle of a deployment the pages of the newer build follow what the older one commits, also where that knows
// of no observable that changed and writes no broadcast.
func TestC1_NewerPagesFollowAnOlderBuild(t *testing.T) {
	onEach(t, func(t *testing.T, w wiring) {
		newer := start(t, w, "")
		w.Older = true
		older := start(t, w, "")
		set(t, older.url(), "one", "n", 1)
		page := visit(t, newer, "alice", "/shelf/one")
		for m := range 3 { // which the older build shows nowhere
			set(t, older.url(), "one", "m", 10+3*m)
			t.Logf("equal after %v", equal(t, page).Round(time.Millisecond))
			if want := strconv.Itoa(10 + 3*m); page.Text(".sum") != want {
				t.Errorf("the page shows %q, want %q", page.Text(".sum"), want)
			}
		}
		set(t, older.url(), "one", "m", 20)
		set(t, older.url(), "one", "n", 2)
		equal(t, page)
		if page.Text(".sum") != "20" {
			t.Errorf("the page shows %q, want 20", page.Text(".sum"))
		}
	})
}

// C1, C3: three processes behind one address, browsers on it, commits from all sides; one is killed, another's packets to
// and from the bus vanish: every page ends right and is never loaded again, and once packets pass, hints do.
func TestC1_C3_OneKilledOnePartitioned(t *testing.T) {
	b := chromiumtest.Open(t)
	for _, f := range fleets {
		if f.Hints != "" || f.name == "mysql alone" {
			continue
		}
		t.Run(f.name, func(t *testing.T) {
			t.Parallel()
			w := f.fresh(t)
			front := balance(t)
			cut := w
			way := cut.across(t)
			processes := []*process{start(t, w, front.url()), start(t, cut, front.url())}
			if way != nil {
				processes = slices.Insert(processes, 0, start(t, w, front.url()))
			}
			for _, p := range processes {
				front.add(p)
			}
			var browsers []*chromiumtest.Page
			var pages []*webtest.Page
			for i := range 6 {
				p := b.Visitor(t)
				p.Goto(front.url() + "/shelf/one")
				p.WaitFor(`document.documentElement.dataset.lsStatus === "connected" || !!document.querySelector("[status=connected]")`)
				p.Eval("window.never = 'reloaded'", nil)
				browsers = append(browsers, p)
				v := webtest.At(t, front.url()).Visitor()
				v.Header.Set("X-User", fmt.Sprint("user", i))
				pages = append(pages, v.Get("/shelf/one"))
			}
			last := processes[len(processes)-1]
			if way != nil {
				await(t, "the last process hears of others", func() bool {
					set(t, processes[0].url(), "one", "n", int(last.heard()+time.Now().Unix()%7))
					return last.heard() > 0
				})
				way.Darken()
			}
			stop := make(chan struct{})
			var load sync.WaitGroup
			for i := range 3 {
				load.Go(func() {
					for n := 0; ; n++ {
						select {
						case <-stop:
							return
						case <-time.After(50 * time.Millisecond):
						}
						set(t, front.url(), "one", []string{"n", "m", "rows"}[(i+n)%3], 1+n%7)
					}
				})
			}
			time.Sleep(time.Second)
			processes[0].kill()
			time.Sleep(3 * time.Second)
			close(stop)
			load.Wait()
			set(t, last.url(), "one", "n", 4711)
			for _, p := range pages {
				t.Logf("equal after %v", equal(t, p).Round(time.Millisecond))
			}
			for _, p := range browsers {
				p.WaitText("h2", strconv.Itoa(4711))
				if !p.Bool("window.never === 'reloaded'") {
					t.Error("a page was loaded again")
				}
			}
			if way == nil {
				return
			}
			deaf := last.heard()
			set(t, processes[1].url(), "one", "n", 4712)
			for _, p := range pages {
				equal(t, p)
			}
			if n := last.heard(); n != deaf {
				t.Errorf("the process that is cut off has heard %d hints", n-deaf)
			}
			way.Lighten()
			await(t, "it hears of others again", func() bool {
				set(t, processes[1].url(), "one", "n", int(time.Now().Unix()%7))
				return last.heard() > deaf
			})
			for _, p := range pages {
				equal(t, p)
			}
		})
	}
}
