// Package chromiumtest lets Go tests look at a page the way a visitor does: in a real Chromium.
//
// A test opens the browser and as many visitors as it needs; each visitor has a window and a cookie jar of its own.
// Every method of a Page fails the test by itself when something goes wrong, so that a test reads as a story:
//
//	b := chromiumtest.Open(t)
//	alice, bob := b.Visitor(t), b.Visitor(t)
//	alice.Goto(url)
//	bob.Goto(url)
//	alice.Click("#add")
//	bob.WaitText("#count", "1")
//	bob.Quiet()
//
// # Lifecycle
//
// A package with several browser tests calls Main from its TestMain, and all of them share one process; without it,
// each test that calls Open has its own. Either way no process outlives the tests.
//
// # Concurrency
//
// Visitors may be used at the same time, one Page by one goroutine only.
package chromiumtest

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"sync"
	"testing"

	"github.com/chromedp/chromedp"
)

const (
	// pathVar names the executable where it is not in PATH under a usual name.
	pathVar = "LOCKSTEP_TEST_CHROMIUM"
	// requireVar set to 1 turns a missing browser from a skip into a failure.
	requireVar = "LOCKSTEP_TEST_REQUIRE_CHROMIUM"
)

// Insecure is a host that the browser finds on this machine and, other than localhost or 127.0.0.1, trusts no more over plain
// HTTP than any other: what it keeps for secure contexts is missing there.
const Insecure = "insecure.test"

// Browser is one running Chromium.
type Browser struct {
	ctx   context.Context
	close func()
}

// shared is the browser of a package whose TestMain calls Main.
var shared struct {
	sync.Mutex
	on      bool
	browser *Browser
}

// Main runs a package's tests with one browser for all of them and returns the exit code for os.Exit. The browser is
// started by the first Open, so a run without browser tests starts none.
func Main(m *testing.M) int {
	shared.Lock()
	shared.on = true
	shared.Unlock()
	defer func() {
		shared.Lock()
		defer shared.Unlock()
		if shared.browser != nil {
			shared.browser.close()
			shared.browser = nil
		}
		shared.on = false
	}()
	return m.Run()
}

// Open returns a running Chromium. Where there is none, the test is skipped, or fails if
// LOCKSTEP_TEST_REQUIRE_CHROMIUM=1.
func Open(t testing.TB) *Browser {
	t.Helper()
	path, err := find()
	if err != nil {
		if os.Getenv(requireVar) == "1" {
			t.Fatal(err)
		}
		t.Skip(err)
	}
	shared.Lock()
	defer shared.Unlock()
	if shared.browser != nil {
		return shared.browser
	}
	b, err := start(path)
	if err != nil {
		t.Fatalf("start %s: %v", path, err)
	}
	if shared.on {
		shared.browser = b
	} else {
		t.Cleanup(b.close)
	}
	return b
}

// find returns the executable's path, or an error that says how to have one.
func find() (string, error) {
	if path := os.Getenv(pathVar); path != "" {
		found, err := exec.LookPath(path)
		if err != nil {
			return "", fmt.Errorf("%s: %w", pathVar, err)
		}
		return found, nil
	}
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome"} {
		if path, err := exec.LookPath(name); err == nil {
			return path, nil
		}
	}
	return "", fmt.Errorf("no Chromium: put chromium, chromium-browser or google-chrome in PATH, or set %s to its path", pathVar)
}

// start launches the executable with a fresh profile, which is removed again by close.
func start(path string) (*Browser, error) {
	options := append(chromedp.DefaultExecAllocatorOptions[:],
		chromedp.ExecPath(path),
		chromedp.NoSandbox,
		chromedp.DisableGPU,
		chromedp.Flag("disable-quic", true),
		chromedp.Flag("disable-component-update", true),
		chromedp.Flag("host-resolver-rules", "MAP "+Insecure+" 127.0.0.1"),
		chromedp.WindowSize(1280, 900),
	)
	allocator, free := chromedp.NewExecAllocator(context.Background(), options...)
	ctx, cancel := chromedp.NewContext(allocator)
	stop := func() {
		cancel()
		free()
	}
	if err := chromedp.Do(ctx); err != nil { // the first call starts the process and binds it to ctx
		stop()
		return nil, err
	}
	return &Browser{ctx: ctx, close: stop}, nil
}
