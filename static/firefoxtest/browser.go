// Package firefoxtest is package chromiumtest for the other family of browsers: Go tests look at a page in a real Firefox.
//
// It knows less than its sibling, what is there has the same names and does the same, and so a story can be told to both:
//
//	for _, p := range []page{chromiumtest.Open(t).Visitor(t), firefoxtest.Open(t).Visitor(t)} {
//		p.Goto(url)
//		p.Click("#add")
//		p.WaitText("#count", "1")
//	}
//
// Firefox is driven over WebDriver BiDi, which it serves itself: no other program is needed.
//
// # Lifecycle
//
// A package with several browser tests calls Main from its TestMain, and all of them share one process; without it,
// each test that calls Open has its own. Either way no process outlives the tests.
//
// # Concurrency
//
// Visitors may be used at the same time, one Page by one goroutine only.
package firefoxtest

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
)

const (
	// pathVar names the executable where it is not in PATH under a usual name.
	pathVar = "LOCKSTEP_TEST_FIREFOX"
	// requireVar set to 1 turns a missing browser from a skip into a failure.
	requireVar = "LOCKSTEP_TEST_REQUIRE_FIREFOX"
	// patience is how long the program may take to start, and to end.
	patience = 90 * time.Second
)

// Browser is one running Firefox.
type Browser struct {
	*session
	cmd     *exec.Cmd
	profile string
}

// shared is the browser of a package whose TestMain calls Main.
var shared struct {
	sync.Mutex
	on      bool
	browser *Browser
}

// Main runs a package's tests, most often testing.M's or chromiumtest.Main's Run, with one browser for all of them and
// returns their exit code. The browser is started by the first Open, so a run without browser tests starts none.
func Main(run func() int) int {
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
	return run()
}

// Open returns a running Firefox. Where there is none, the test is skipped, or fails if LOCKSTEP_TEST_REQUIRE_FIREFOX=1.
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
	for _, name := range []string{"firefox-esr", "firefox"} {
		if path, err := exec.LookPath(name); err == nil {
			return path, nil
		}
	}
	return "", fmt.Errorf("no Firefox: put firefox-esr or firefox in PATH, or set %s to its path", pathVar)
}

// preferences keep the browser from talking to anybody but the tests' own servers, and from asking its user anything.
const preferences = `
user_pref("app.normandy.enabled", false);
user_pref("app.update.auto", false);
user_pref("app.update.disabledForTesting", true);
user_pref("browser.newtabpage.enabled", false);
user_pref("browser.region.network.url", "");
user_pref("browser.safebrowsing.downloads.remote.enabled", false);
user_pref("browser.safebrowsing.malware.enabled", false);
user_pref("browser.safebrowsing.phishing.enabled", false);
user_pref("browser.search.update", false);
user_pref("browser.shell.checkDefaultBrowser", false);
user_pref("browser.startup.page", 0);
user_pref("captivedetect.canonicalURL", "");
user_pref("datareporting.healthreport.uploadEnabled", false);
user_pref("datareporting.policy.dataSubmissionEnabled", false);
user_pref("dom.ipc.processPrelaunch.enabled", false);
user_pref("dom.push.connection.enabled", false);
user_pref("extensions.getAddons.cache.enabled", false);
user_pref("extensions.systemAddon.update.enabled", false);
user_pref("extensions.update.enabled", false);
user_pref("media.gmp-manager.updateEnabled", false);
user_pref("messaging-system.rsexperimentloader.enabled", false);
user_pref("network.captive-portal-service.enabled", false);
user_pref("network.connectivity-service.enabled", false);
user_pref("network.dns.disablePrefetch", true);
user_pref("network.prefetch-next", false);
user_pref("nimbus.rollouts.enabled", false);
user_pref("services.settings.server", "data:,#");
user_pref("toolkit.telemetry.enabled", false);
user_pref("toolkit.telemetry.server", "");
`

// start launches the executable with a fresh profile, which is removed again by close, and opens the session.
func start(path string) (_ *Browser, err error) {
	b := &Browser{}
	if b.profile, err = os.MkdirTemp("", "firefox"); err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			b.end()
		}
	}()
	if err := os.WriteFile(filepath.Join(b.profile, "user.js"), []byte(preferences), 0o600); err != nil {
		return nil, err
	}
	b.cmd = exec.Command(path, "--headless", "--no-remote", "--remote-debugging-port=0", "--profile", b.profile)
	b.cmd.Env = append(os.Environ(), "HOME="+b.profile, "MOZ_HEADLESS_WIDTH=1280", "MOZ_HEADLESS_HEIGHT=900", "MOZ_CRASHREPORTER_DISABLE=1")
	dieWithTests(b.cmd)
	said, err := b.cmd.StderrPipe()
	if err != nil {
		return nil, err
	}
	if err := b.cmd.Start(); err != nil {
		return nil, err
	}
	address, err := listening(said)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	b.session, err = openSession(ctx, address+"/session")
	return b, err
}

// listening waits for the line that says where the browser is to be driven, and reads on so that it never blocks.
func listening(said io.Reader) (string, error) {
	found := make(chan string, 1)
	go func() {
		lines := bufio.NewScanner(said)
		for lines.Scan() {
			if _, address, ok := strings.Cut(lines.Text(), "WebDriver BiDi listening on "); ok {
				found <- strings.TrimSpace(address)
			}
		}
		close(found)
		_, _ = io.Copy(io.Discard, said) // a line too long for the scanner
	}()
	select {
	case address, ok := <-found:
		if !ok {
			return "", errors.New("it ended before it could be driven")
		}
		return address, nil
	case <-time.After(patience):
		return "", fmt.Errorf("it cannot be driven after %s", patience)
	}
}

// close asks the browser to end, and ends it where it does not.
func (b *Browser) close() {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	_ = b.call(ctx, "browser.close", struct{}{}, nil) // it may have ended by itself
	b.conn.CloseNow()
	b.end()
}

// end waits a moment for the process, kills it if it is still there, and removes its profile.
func (b *Browser) end() {
	if b.cmd != nil && b.cmd.Process != nil {
		late := time.AfterFunc(2*time.Second, func() { _ = b.cmd.Process.Kill() })
		_ = b.cmd.Wait() // how it ended is nobody's concern any more
		late.Stop()
	}
	_ = os.RemoveAll(b.profile)
}
