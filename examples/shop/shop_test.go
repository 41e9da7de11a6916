package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/net/html"

	"github.com/lockstep-go/lockstep/static/chromiumtest"
	"github.com/lockstep-go/lockstep/static/firefoxtest"
)

func TestMain(m *testing.M) {
	code := firefoxtest.Main(func() int { return chromiumtest.Main(m) })
	if dir := remove.Load(); dir != nil {
		if err := os.RemoveAll(*dir); err != nil {
			fmt.Fprintln(os.Stderr, err)
		}
	}
	os.Exit(code)
}

// remove is a folder that outlives a test, if one was made.
var remove atomic.Pointer[string]

const (
	password = "the back door"
	patience = 20 * time.Second // for what has no event to wait for: generous, because a busy machine is no bug
)

// opened is a whole shop, run as main runs it.
type opened struct {
	URL   string
	DB    string
	log   *output
	close func()
}

// openShop opens a shop on a database file of its own, or on the one that cfg names.
func openShop(t *testing.T, cfg config) *opened {
	t.Helper()
	if cfg.db == "" {
		cfg.db = "sqlite:" + filepath.Join(t.TempDir(), "shop.db")
	}
	if cfg.addr == "" {
		cfg.addr = "127.0.0.1:0"
	}
	cfg.password = password
	ctx, stop := context.WithCancel(context.Background())
	out, log := &output{}, &output{}
	ended := make(chan error, 1)
	go func() { ended <- run(ctx, cfg, out, slog.New(slog.NewTextHandler(log, nil))) }()
	var once sync.Once
	s := &opened{DB: strings.TrimPrefix(cfg.db, "sqlite:"), log: log, close: func() {
		once.Do(func() {
			stop()
			if err := <-ended; err != nil {
				t.Errorf("the shop ended with %v", err)
			}
		})
	}}
	t.Cleanup(s.close)
	s.URL = out.address(t, ended)
	return s
}

// output collects what a program prints.
type output struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (o *output) Write(b []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.buf.Write(b)
}

func (o *output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.buf.String()
}

// address waits for the line that says where the shop listens.
func (o *output) address(t *testing.T, ended <-chan error) string {
	t.Helper()
	const line = "listening on "
	for end := time.Now().Add(patience); time.Now().Before(end); time.Sleep(5 * time.Millisecond) {
		if _, rest, ok := strings.Cut(o.String(), line); ok && strings.Contains(rest, "\n") {
			url, _, _ := strings.Cut(rest, "\n")
			return url
		}
		select {
		case err := <-ended:
			t.Fatalf("the shop did not open: %v\n%s", err, o)
		default:
		}
	}
	t.Fatalf("the shop says nothing:\n%s", o)
	return ""
}

// charges are the payment service's entries for money that moved, read from its book.
func (s *opened) charges(t *testing.T) []Entry {
	t.Helper()
	book, err := os.ReadFile(s.DB + ".payments")
	if err != nil {
		t.Fatal(err)
	}
	last := map[string]Entry{}
	for line := range strings.Lines(string(book)) {
		var e Entry
		if err := json.Unmarshal([]byte(line), &e); err != nil {
			t.Fatalf("the book has a line %q: %v", line, err)
		}
		last[e.Key] = e
	}
	var all []Entry
	for _, e := range last {
		if e.Outcome == charged {
			all = append(all, e)
		}
	}
	return all
}

// guest is a visitor whose browser runs no scripts: links, forms and a cookie jar.
type guest struct {
	t      *testing.T
	shop   string
	client *http.Client

	path   string // of the page shown
	status int
	body   string
	doc    *html.Node
}

func (s *opened) guest(t *testing.T) *guest {
	t.Helper()
	jar, err := cookiejar.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	return &guest{t: t, shop: s.URL, client: &http.Client{Jar: jar, Timeout: patience}}
}

// get opens a page.
func (g *guest) get(path string) *guest {
	g.t.Helper()
	req, err := http.NewRequest(http.MethodGet, g.shop+path, nil)
	if err != nil {
		g.t.Fatal(err)
	}
	return g.do(req)
}

// post sends a form that was made by hand.
func (g *guest) post(path string, form url.Values) *guest {
	g.t.Helper()
	req, err := http.NewRequest(http.MethodPost, g.shop+path, strings.NewReader(form.Encode()))
	if err != nil {
		g.t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	req.Header.Set("Origin", g.shop)
	req.Header.Set("Referer", g.shop+g.path)
	return g.do(req)
}

func (g *guest) do(req *http.Request) *guest {
	g.t.Helper()
	req.Header.Set("Accept", "text/html")
	resp, err := g.client.Do(req)
	if err != nil {
		g.t.Fatal(err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		g.t.Fatal(err)
	}
	g.path, g.status, g.body = resp.Request.URL.RequestURI(), resp.StatusCode, string(body)
	if g.doc, err = html.Parse(bytes.NewReader(body)); err != nil {
		g.t.Fatal(err)
	}
	return g
}

// form is the fields of the form with that action, as the page shows them. Of several, it is the one in which a field
// has the value: form("/cart/add", "sku", "morning-mug").
func (g *guest) form(action string, field ...string) url.Values {
	g.t.Helper()
	for n := range g.doc.Descendants() {
		if n.Data != "form" || attr(n, "action") != action {
			continue
		}
		values := url.Values{}
		for c := range n.Descendants() {
			name := attr(c, "name")
			switch {
			case c.Data == "input" && attr(c, "type") == "radio" && !has(c, "checked"):
			case c.Data == "input" && name != "":
				values.Set(name, attr(c, "value"))
			case c.Data == "select":
				values.Set(name, chosen(c))
			}
		}
		if len(field) == 0 || values.Get(field[0]) == field[1] {
			return values
		}
	}
	g.t.Fatalf("%s has no form %s %v", g.path, action, field)
	return nil
}

// submit fills in fields of a form (name, value, name, value …) and presses its button.
func (g *guest) submit(action string, form url.Values, fields ...string) *guest {
	g.t.Helper()
	for i := 0; i < len(fields); i += 2 {
		form.Set(fields[i], fields[i+1])
	}
	return g.post(action, form)
}

// add puts a product into the cart from its page.
func (g *guest) add(sku string, qty string) *guest {
	g.t.Helper()
	g.get("/product/" + sku)
	return g.submit("/cart/add", g.form("/cart/add", "sku", sku), "qty", qty)
}

// text is what a reader sees of the page's main part, in one line.
func (g *guest) text() string {
	g.t.Helper()
	for n := range g.doc.Descendants() {
		if n.Data == "main" {
			var words strings.Builder
			for c := range n.Descendants() {
				if c.Type == html.TextNode {
					words.WriteString(c.Data + " ")
				}
			}
			return strings.Join(strings.Fields(words.String()), " ")
		}
	}
	return ""
}

// wants fails the test unless the page has the status and shows every text.
func (g *guest) wants(status int, texts ...string) *guest {
	g.t.Helper()
	if g.status != status {
		g.t.Fatalf("%s answered %d, want %d: %.600s", g.path, g.status, status, g.text())
	}
	for _, want := range texts {
		if !strings.Contains(g.text(), want) {
			g.t.Fatalf("%s does not show %q: %.600s", g.path, want, g.text())
		}
	}
	return g
}

// until opens the page again and again until it shows the text: a browser without scripts hears of nothing.
func (g *guest) until(path, text string) *guest {
	g.t.Helper()
	for end := time.Now().Add(patience); ; time.Sleep(20 * time.Millisecond) {
		if g.get(path); strings.Contains(g.text(), text) {
			return g
		}
		if time.Now().After(end) {
			g.t.Fatalf("%s never shows %q: %.600s", g.path, text, g.text())
		}
	}
}

// checkout fills in the address and presses the button.
func (g *guest) checkout(fields ...string) *guest {
	g.t.Helper()
	g.get("/checkout")
	all := append([]string{"name", "Ada Lovelace", "email", "ada@example.org", "street", "Rue du Pont 12", "postcode", "1000",
		"city", "Brussels", "country", "Belgium"}, fields...)
	return g.submit("/checkout", g.form("/checkout"), all...)
}

// signIn makes the guest the administrator.
func (g *guest) signIn() *guest {
	g.t.Helper()
	return g.post("/sign-in", url.Values{"password": {password}})
}

func attr(n *html.Node, name string) string {
	for _, a := range n.Attr {
		if a.Key == name {
			return a.Val
		}
	}
	return ""
}

func has(n *html.Node, name string) bool {
	for _, a := range n.Attr {
		if a.Key == name {
			return true
		}
	}
	return false
}

func chosen(sel *html.Node) string {
	value := ""
	for n := range sel.Descendants() {
		if n.Data != "option" || value != "" && !has(n, "selected") {
			continue
		}
		if value = attr(n, "value"); !has(n, "value") && n.FirstChild != nil {
			value = n.FirstChild.Data
		}
	}
	return value
}
