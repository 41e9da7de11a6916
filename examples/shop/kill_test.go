package main

import (
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/lockstep-go/lockstep/static/chromiumtest"
)

// killable is the shop as a process of its own, on one address and one file, that can be killed and started again.
type killable struct {
	*opened
	t      *testing.T
	binary string
	cmd    *exec.Cmd
	out    *output
	exited chan error
}

// built is the shop's program, built once for all tests, and the folder that it is alone in.
var built = sync.OnceValues(func() (dir string, err error) {
	if dir, err = os.MkdirTemp("", "shop"); err != nil {
		return "", err
	}
	if out, err := exec.Command("go", "build", "-o", filepath.Join(dir, "shop"), ".").CombinedOutput(); err != nil {
		return dir, fmt.Errorf("build: %w\n%s", err, out)
	}
	return dir, nil
})

func startKillable(t *testing.T, args ...string) *killable {
	t.Helper()
	dir, err := built()
	remove.Store(&dir)
	if err != nil {
		t.Fatal(err)
	}
	k := &killable{t: t, binary: filepath.Join(dir, "shop"), opened: &opened{DB: filepath.Join(t.TempDir(), "shop.db")}}
	port, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	k.URL = "http://" + port.Addr().String()
	if err := port.Close(); err != nil {
		t.Fatal(err)
	}
	k.start(args...)
	t.Cleanup(k.kill)
	return k
}

// start runs the process and returns when it listens.
func (k *killable) start(args ...string) {
	k.t.Helper()
	args = append([]string{"-addr", strings.TrimPrefix(k.URL, "http://"), "-db", "sqlite:" + k.DB}, args...)
	k.out, k.exited = &output{}, make(chan error, 1)
	k.cmd = exec.Command(k.binary, args...)
	k.cmd.Env = append(os.Environ(), "SHOP_ADMIN_PASSWORD="+password)
	k.cmd.Stdout, k.cmd.Stderr = k.out, k.out
	if err := k.cmd.Start(); err != nil {
		k.t.Fatal(err)
	}
	cmd, exited := k.cmd, k.exited
	go func() { exited <- cmd.Wait() }()
	k.out.address(k.t, exited)
}

// kill ends the process as a power cut would.
func (k *killable) kill() {
	if k.cmd == nil {
		return
	}
	_ = k.cmd.Process.Kill() // it may have ended already
	<-k.exited
	k.cmd = nil
}

// reconnects waits until the page has noticed that its server is gone, starts another and waits until the page, which
// is never loaded again, equals a fresh one.
func (k *killable) reconnects(p *chromiumtest.Page, args ...string) {
	k.t.Helper()
	shows(p, ".when-reconnecting", "Reconnecting…")
	k.start(args...)
	p.WaitFor(connected)
	same(p)
	k.stillThere(p)
}

func (k *killable) stillThere(p *chromiumtest.Page) {
	k.t.Helper()
	if !p.Bool("window.never === 'reloaded'") {
		k.t.Error("the page was loaded again")
	}
}

// open visits a page and marks it, so that a reload would be noticed.
func (k *killable) open(p *chromiumtest.Page, path string) {
	k.t.Helper()
	k.visit(p, path)
	p.Eval("window.never = 'reloaded'", nil)
}

// Two processes on one file have no news of each other: the comparison of every second carries.
func TestTwoProcessesOnOneFile(t *testing.T) {
	b := chromiumtest.Open(t)
	one := startKillable(t)
	two := startKillable(t, "-db", "sqlite:"+one.DB)
	ada := one.guest(t)
	list, stranger := ada.window(b), b.Visitor(t)
	one.open(list, "/product/morning-mug")
	two.open(stranger, "/product/morning-mug")
	for bought := 1; bought <= 3; bought++ {
		before := stranger.Text(".left")
		list.Click(".buy button")
		list.WaitText(".count span", fmt.Sprint(bought))
		stranger.WaitFor(fmt.Sprintf("document.querySelector('.left').textContent !== %q", before))
		same(stranger)
	}
	// The actors are leased to the first process; when it is killed the second answers for them at once.
	one.kill()
	began := time.Now()
	before := stranger.Text(".left")
	stranger.Click(".buy button")
	stranger.WaitText(".count span", "1")
	stranger.WaitFor(fmt.Sprintf("document.querySelector('.left').textContent !== %q", before))
	if took := time.Since(began); took > 15*time.Second {
		t.Errorf("after the kill it took %v: it waited for the lease", took)
	}
	same(stranger)
	two.stillThere(stranger)
	one.reconnects(list)
}

func TestKilledRightAfterACommit(t *testing.T) {
	b := chromiumtest.Open(t)
	k := startKillable(t)
	ada := k.guest(t)
	list := ada.window(b)
	k.open(list, "/?category=Table")
	list.Click(`button[aria-label="Add to cart: Morning mug"]`)
	shows(list, ".in-cart.held", "1 in your cart")
	k.kill()
	k.reconnects(list)
	list.WaitText(".count span", "1")

	// The cart was leased to the dead process. Its first message is answered all the same, and soon.
	ada.get("/product/morning-mug")
	form := ada.form("/cart/add", "sku", "morning-mug")
	k.kill()
	k.start()
	began := time.Now()
	ada.submit("/cart/add", form).wants(200, "Your cart")
	if took := time.Since(began); took > time.Second {
		t.Errorf("the first message after the kill took %v, want it within a second", took)
	}
	list.WaitText(".count span", "2")
	k.stillThere(list)
}

func TestKilledBetweenClickAndCommit(t *testing.T) {
	b := chromiumtest.Open(t)
	k := startKillable(t)
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 0))
	list := k.guest(t).window(b)
	k.open(list, "/?category=Windowsill")
	const button = `button[aria-label="Add to cart: Jute twine, 90 metres"]`
	const rounds = 6
	for round := range rounds {
		pause := time.Duration(random.IntN(12)) * time.Millisecond // where between click and commit the kill strikes
		list.Click(button)
		time.Sleep(pause)
		k.kill()
		k.start()
		list.Eval(`dispatchEvent(new Event("online"))`, nil) // so that it need not wait out what many kills in a row make it wait
		want := fmt.Sprint(round + 1)
		// The page sends the message again, under the same key, until it has an answer; when it has given up, the
		// visitor presses once more.
		list.WaitFor(`document.querySelector(".count span").textContent === "` + want + `" || document.querySelector("[data-ls-outcome]")`)
		if list.Bool(`document.querySelector("[data-ls-outcome]")`) {
			list.Click(button)
		}
		list.WaitText(".count span", want)
		list.WaitFor(`!document.querySelector("form[aria-busy]")`)
	}
	list.WaitFor(connected)
	same(list)
	list.WaitText(".count span", fmt.Sprint(rounds))
	k.stillThere(list)
}

func TestKilledWhileACardIsCharged(t *testing.T) {
	b := chromiumtest.Open(t)
	k := startKillable(t, "-payments", "slow")
	ada := k.guest(t)
	ada.add("hanging-planter", "1").until("/cart", "Reserved until")
	ada.checkout()
	order := ada.path
	page := ada.window(b)
	k.open(page, order)
	shows(page, ".progress.paying", "Waiting for the payment service")
	for end := time.Now().Add(patience); len(k.charges(t)) == 0; time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("nothing was charged")
		}
	}
	k.kill() // the money has moved, and nobody here knows yet
	shows(page, ".when-reconnecting", "Reconnecting…")
	k.start("-payments", "normal")
	began := time.Now()
	ada.until(order, "Paid. Thank you!")
	if took := time.Since(began); took > 2*time.Second {
		t.Errorf("the charge was tried again after %v, want it within 2 s", took)
	}
	shows(page, ".progress.paid", "Paid. Thank you!")
	page.WaitFor(connected)
	same(page)
	k.stillThere(page)
	if got := k.charges(t); len(got) != 1 || "/orders/"+got[0].Order != order {
		t.Errorf("charges = %+v, want this order's, once", got)
	}
	k.guest(t).get("/product/hanging-planter").wants(200, "Sold out")
	ada.until("/orders", "Paid")
	if n := strings.Count(ada.body, `href="/orders/`); n != 1 {
		t.Errorf("%d orders are listed, want 1", n)
	}
}

func TestEndsCleanlyWhenTold(t *testing.T) {
	k := startKillable(t)
	k.guest(t).get("/healthz").wants(200)
	if err := k.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	select {
	case err := <-k.exited:
		k.cmd = nil
		if err != nil {
			t.Errorf("exit: %v\n%s", err, k.out)
		}
	case <-time.After(15 * time.Second):
		t.Error("it is still running after 15 s")
	}
}

func TestSecondStartDoublesNothing(t *testing.T) {
	k := startKillable(t)
	k.guest(t).get("/product/morning-mug").wants(200, "36 left")
	k.kill()
	k.start()
	k.guest(t).get("/product/morning-mug").wants(200, "36 left")
}
