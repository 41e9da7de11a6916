package web_test

import (
	"bufio"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/lockstep-go/lockstep/static/chromiumtest"
)

// rebuild builds the small server anew, with another name for its component and another fingerprint for the client.
func rebuild(t *testing.T) (first, second string) {
	t.Helper()
	dir := t.TempDir()
	style := filepath.Join("..", "static", "lockstep.css")
	text, err := os.ReadFile(style)
	if err != nil {
		t.Fatal(err)
	}
	path, err := filepath.Abs(style)
	if err != nil {
		t.Fatal(err)
	}
	changed, overlay := filepath.Join(dir, "lockstep.css"), filepath.Join(dir, "overlay.json")
	doc, _ := json.Marshal(map[string]any{"Replace": map[string]string{path: changed}})
	for file, text := range map[string]string{changed: string(text) + "/* the second version */\n", overlay: string(doc)} {
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	first, second = filepath.Join(dir, "first"), filepath.Join(dir, "second")
	for _, args := range [][]string{{"-o", first}, {"-o", second, "-ldflags=-X main.name=tally", "-overlay", overlay}} {
		if out, err := exec.Command("go", append(append([]string{"build"}, args...), "./testdata/rebuilt")...).CombinedOutput(); err != nil {
			t.Fatalf("build %v: %v\n%s", args, err, out)
		}
	}
	return first, second
}

// startBuilt runs a built server and returns its address, and what ends it as a deployment does.
func startBuilt(t *testing.T, binary, addr, file string) (url string, end func()) {
	t.Helper()
	cmd := exec.Command(binary, addr, file)
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	ended := false
	t.Cleanup(func() {
		if !ended {
			_ = cmd.Process.Kill()
			_ = cmd.Wait()
		}
	})
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatalf("%s says nothing: %v", binary, err)
	}
	return strings.TrimSpace(line), func() {
		t.Helper()
		ended = true
		if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
			t.Fatal(err)
		}
		if err := cmd.Wait(); err != nil {
			t.Errorf("%s ended with %v", binary, err)
		}
	}
}

// R24(b) and (c): a page of the first version, when the second one, which calls a component something else and brings other
// files, is started in its place.
func TestR24RebuiltServer(t *testing.T) {
	b := chromiumtest.Open(t)
	first, second := rebuild(t)
	file := filepath.Join(t.TempDir(), "games.db")
	url, end := startBuilt(t, first, "127.0.0.1:0", file)
	p := b.Visitor(t)
	p.BeforeEveryPage(`window.statuses = []; window.builds = []
		sessionStorage.loads = Number(sessionStorage.loads ?? 0) + 1
		document.addEventListener("lockstep:build", e => builds.push(e.detail.build))
		document.addEventListener("lockstep:status", e => statuses.push(e.detail.status))`)
	p.Goto(url)
	const scopes = `[...document.querySelectorAll("lockstep-scope")].map(s => s.getAttribute("status")).join()`
	p.WaitFor(scopes + ` === "connected,connected"`)
	add := func(game string) {
		p.Eval(`fetch("/add/`+game+`", {method: "POST", body: new URLSearchParams()}).then(r => { if (!r.ok) throw new Error(r.status) })`, nil)
	}
	add("one")
	p.WaitText(".score", "1")
	files := p.String(`document.querySelector("script[type=module]").src`)

	end()
	_, end = startBuilt(t, second, strings.TrimPrefix(url, "http://"), file)
	defer func() { end() }()
	p.WaitFor(scopes + ` === "gone,connected"`)
	add("one")
	add("two")
	p.WaitText(".banner", "1")
	add("two")
	p.WaitText(".banner", "2")
	if got := p.Text(".score"); got != "1" {
		t.Errorf("the part that is gone shows %s, want the 1 it had", got)
	}
	if got := p.String(`document.documentElement.dataset.lsStatus`); got != "connected" {
		t.Errorf("the page is %s, want connected: only a part is gone", got)
	}
	if got := p.String(`[sessionStorage.loads, builds.length, builds[0]?.length > 0]`); got != "1,1,true" {
		t.Errorf("loads, builds announced, named: %s, want 1,1,true", got)
	}
	// It comes back as often as it likes: what is gone is not asked for again, and nothing is loaded.
	for range 3 {
		p.Eval(`statuses.length = 0; dispatchEvent(new PageTransitionEvent("pagehide", {persisted: true}))
			dispatchEvent(new PageTransitionEvent("pageshow", {persisted: true}))`, nil)
		p.WaitFor(scopes + ` === "gone,connected" && document.documentElement.dataset.lsStatus === "connected"`)
	}
	add("two")
	p.WaitText(".banner", "3")
	if got := p.String(`[sessionStorage.loads, builds.length]`); got != "1,1" {
		t.Errorf("loads and builds announced: %s, want 1,1", got)
	}

	// The application decides, here to load the page anew: it is the second version's, files and all.
	p.Eval(`void setTimeout(() => location.reload())`, nil)
	p.WaitFor(`sessionStorage.loads === "2" && ` + scopes + ` === "connected,connected"`)
	p.WaitText(".score", "2")
	add("one")
	p.WaitText(".score", "3")
	if got := p.String(`document.querySelector("script[type=module]").src`); got == files {
		t.Errorf("the client still comes from %s", got)
	}
	if got := p.String("builds.length"); got != "0" {
		t.Error("the new page heard of another build than its own")
	}
	p.Quiet()
}
