package main

import (
	"context"
	"embed"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	"github.com/chromedp/chromedp"
	"github.com/go-chi/chi/v5"

	"github.com/lockstep-go/lockstep/static"
)

//go:embed apply
var pages embed.FS

// measureMorphs runs the pages in Chromium and prints what they found.
func measureMorphs(ctx context.Context, out io.Writer, small bool) error {
	chromium := ""
	for _, name := range []string{os.Getenv("LOCKSTEP_TEST_CHROMIUM"), "chromium", "chromium-browser", "google-chrome"} {
		if path, err := exec.LookPath(name); err == nil {
			chromium = path
			break
		}
	}
	if chromium == "" {
		fmt.Fprintln(out, "\nno Chromium: its part is left out")
		return nil
	}
	modules := os.DirFS("node_modules")
	if _, err := fs.Stat(modules, "idiomorph"); err != nil {
		return errors.New("the other morphs are missing: npm ci in this folder, and run it from here (or -browser=false)")
	}
	page, err := openLivePage(ctx)
	if err != nil {
		return err
	}
	defer page.close()
	addr, stop, err := serveBrowser(ctx, page, modules)
	if err != nil {
		return err
	}
	defer stop()

	options := append(chromedp.DefaultExecAllocatorOptions[:], chromedp.ExecPath(chromium), chromedp.NoSandbox, chromedp.DisableGPU)
	allocator, free := chromedp.NewExecAllocator(ctx, options...)
	defer free()
	tab, end := chromedp.NewContext(allocator)
	defer end()
	tab, cancel := context.WithTimeout(tab, 3*time.Minute)
	defer cancel()
	runs, publishes := 300, 100
	if small {
		runs, publishes = 50, 20
	}
	if err := applies(tab, out, addr, runs); err != nil {
		return err
	}
	return arrivals(tab, out, addr, page, publishes)
}

// serveBrowser serves the pages, the client's modules one by one, and those of npm.
func serveBrowser(ctx context.Context, page *livePage, modules fs.FS) (addr string, stop func(), err error) {
	files, err := fs.Sub(pages, "apply")
	if err != nil {
		return "", nil, err
	}
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", nil, err
	}
	r := chi.NewRouter()
	r.Use(precise, page.live.Middleware)
	page.routes(r)
	r.Handle("/client/*", http.StripPrefix("/client", within(static.Digest(), static.Handler())))
	r.Handle("/modules/*", http.StripPrefix("/modules", http.FileServerFS(modules)))
	r.Handle("/*", http.FileServerFS(files))
	ctx, cancel := context.WithCancel(ctx)
	done := make(chan error, 1)
	go func() { done <- page.live.ServeListener(ctx, ln, r) }()
	return ln.Addr().String(), func() { cancel(); <-done }, nil
}

// precise isolates pages, whose clock has 5 µs then instead of 100.
func precise(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Cross-Origin-Opener-Policy", "same-origin")
		w.Header().Set("Cross-Origin-Embedder-Policy", "require-corp")
		next.ServeHTTP(w, r)
	})
}

// within serves below a folder what is asked for without it.
func within(folder string, h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		r = r.Clone(r.Context())
		r.URL.Path = "/" + filepath.Join(folder, r.URL.Path)
		h.ServeHTTP(w, r)
	})
}

// applies prints what it takes to apply one changed part.
func applies(tab context.Context, out io.Writer, addr string, runs int) error {
	if err := open(tab, "http://"+addr+"/page.html", "globalThis.measure !== undefined"); err != nil {
		return err
	}
	found, err := evaluate[[]struct {
		Fragment, Way string
		Bytes         int
		Apply, Layout float64
	}](tab, fmt.Sprintf("measure(%d)", runs))
	if err != nil {
		return err
	}
	fmt.Fprintf(out, "\nOne changed part applied, median of %d:\n\n| fragment | way | apply ms | layout ms | apply / Turbo's |\n| --- | --- | ---: | ---: | ---: |\n", runs)
	turbo := map[string]float64{}
	for _, f := range found {
		if f.Way == "turbo" {
			turbo[f.Fragment] = f.Apply
		}
	}
	for _, f := range found {
		fmt.Fprintf(out, "| %s, %d B | %s | %.3f | %.3f | %.2f |\n", f.Fragment, f.Bytes, f.Way, f.Apply, f.Layout, f.Apply/turbo[f.Fragment])
	}
	return nil
}

// arrivals prints how long publishing takes until the document shows it.
func arrivals(tab context.Context, out io.Writer, addr string, page *livePage, publishes int) error {
	if err := open(tab, "http://"+addr+"/live", `document.documentElement.dataset.lsStatus === "connected" && globalThis.took !== undefined`); err != nil {
		return err
	}
	for n := range publishes + 5 {
		if err := page.publish(tab, 1000+n); err != nil {
			return err
		}
	}
	took, err := evaluate[map[string][]float64](tab, "took")
	if err != nil {
		return err
	}
	fmt.Fprintf(out, "\nFrom publish to DOM, a 3 KB list:\n\n| way | times | p50 ms | p95 ms |\n| --- | ---: | ---: | ---: |\n")
	for _, way := range []string{"lockstep", "turbo"} {
		times := took[way]
		if len(times) < publishes {
			return fmt.Errorf("%s: %d of %d lists arrived", way, len(times), publishes)
		}
		times = times[len(times)-publishes:]
		fmt.Fprintf(out, "| %s | %d | %.2f | %.2f |\n", way, len(times), median(times), quantile(times, 0.95))
	}
	return nil
}

// open opens a page and waits until something is true of it.
func open(tab context.Context, url, ready string) error {
	if err := chromedp.Do(tab, chromedp.Navigate(url)); err != nil {
		return err
	}
	for end := time.Now().Add(patience / 2); time.Now().Before(end); time.Sleep(20 * time.Millisecond) {
		if is, err := evaluate[bool](tab, ready); is && err == nil {
			return nil
		}
	}
	return fmt.Errorf("%s did not come to: %s", url, ready)
}

func evaluate[T any](tab context.Context, js string) (T, error) {
	return chromedp.Run(tab, chromedp.Evaluate[T](js, chromedp.EvalAwaitPromise))
}
