package web_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/a-h/templ"
	"github.com/go-chi/chi/v5"

	"github.com/lockstep-go/lockstep/actors"
	"github.com/lockstep-go/lockstep/runtime"
	"github.com/lockstep-go/lockstep/runtime/runtimetest"
	"github.com/lockstep-go/lockstep/views"
	"github.com/lockstep-go/lockstep/views/testdata/fixture"
	"github.com/lockstep-go/lockstep/web"
)

var ada = header{"X-User": "ada", "X-Session": "s1"}

func with(h header, more ...string) header {
	out := header{}
	maps.Copy(out, h)
	for i := 0; i < len(more); i += 2 {
		out[more[i]] = more[i+1]
	}
	return out
}

// real is the fixture's application on the real runtime.
func real(t testing.TB) (*runtime.Runtime, chi.Router) {
	rt := runtimetest.Open(t, fixture.Carts, fixture.Stocks).Runtime
	return rt, shop(newLive(t, rt))
}

func cartOf(t testing.TB, rt actors.Client, user string) fixture.Cart {
	t.Helper()
	c, err := fixture.Carts.Ref("cart-of-"+user).Snapshot(t.Context(), rt)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// formID is the id of a page's form with that action.
func formID(t testing.TB, page, action string) string {
	t.Helper()
	m := regexp.MustCompile(`action="` + action + `" data-ls-form="([^"]+)"`).FindStringSubmatch(page)
	if m == nil {
		t.Fatalf("no form for %s in %s", action, page)
	}
	return m[1]
}

var keyField = regexp.MustCompile(`name="_ls_key" value="([^"]+)"`)

func TestActionAnswers(t *testing.T) {
	rt, h := real(t)
	w := post(t, h, "/cart/add", "sku=mug&qty=2", ada)
	if w.Code != 303 || w.Header().Get("Location") != "/cart" {
		t.Errorf("a browser's form: %d to %s, want 303 to /cart", w.Code, w.Header().Get("Location"))
	}
	w = post(t, h, "/cart/add", "sku=mug&qty=1", with(ada, "Lockstep-Action", "1", "Accept", "application/json, text/html"))
	if w.Code != 200 || body(w) != `{"next":"/cart"}`+"\n" {
		t.Errorf("the client's form: %d %s", w.Code, body(w))
	}
	w = post(t, h, "/cart/add", `{"sku":"pen","qty":4}`, with(ada, "Content-Type", "application/json"))
	if w.Code != 200 || body(w) != `{"result":7}`+"\n" {
		t.Errorf("a program's document: %d %s", w.Code, body(w))
	}
	w = post(t, h, "/cart/note", "value=a+note", with(ada, "Accept", "application/json"))
	if w.Code != 200 || body(w) != `{"result":{}}`+"\n" {
		t.Errorf("a form of a program: %d %s", w.Code, body(w))
	}
	if c := cartOf(t, rt, "ada"); c.Lines["mug"] != 3 || c.Lines["pen"] != 4 || c.Note != "a note" {
		t.Errorf("the cart is %+v", c)
	}
	if w := post(t, h, "/cart/close", "", ada); w.Code != 303 || cartOf(t, rt, "ada").Status != "closed" {
		t.Errorf("a message without input: %d", w.Code)
	}
}

func TestRefusalIsBesideTheForm(t *testing.T) {
	rt, h := real(t)
	id := formID(t, body(get(t, h, "/cart", ada)), "/cart/add")
	for _, extra := range []header{ada, with(ada, "Lockstep-Action", "1")} {
		for _, tc := range []struct{ entries, text string }{
			{"sku=mug&qty=0", "how many?"},
			{"sku=mug&qty=", "Please check “qty”: it must be a whole number."},
			{"sku=mug&qty=2&color=red", "Please check “color”: it is no field of this form."},
			{"sku=a%00b&qty=2", "Please check “sku”"},
		} {
			w := post(t, h, "/cart/add", tc.entries+"&tags=x&tags=y%3Cb%3E&_ls_form="+id+"&_ls_key=k-"+url.QueryEscape(tc.entries), extra)
			text := body(w)
			if w.Code != 422 || !strings.Contains(w.Header().Get("Content-Type"), "text/html") || w.Header().Get("Cache-Control") != "private, no-store" {
				t.Errorf("%s: %d %v, want 422, HTML, private, no-store", tc.entries, w.Code, w.Header())
			}
			_, form, _ := strings.Cut(text, `data-ls-form="`+id+`"`)
			form, _, _ = strings.Cut(form, "</form>")
			for _, want := range []string{`<p role="alert" data-ls-outcome>` + tc.text, `name="tags" value="x"`, `name="tags" value="y&lt;b&gt;"`} {
				if !strings.Contains(form, want) {
					t.Errorf("%s: the form lacks %q: %s", tc.entries, want, form)
				}
			}
			if strings.Count(text, "data-ls-outcome") != 1 {
				t.Errorf("%s: the outcome stands in another form too", tc.entries)
			}
			if key := keyField.FindStringSubmatch(form); key == nil || strings.HasPrefix(key[1], "k-") {
				t.Errorf("%s: the refused form has no fresh key: %s", tc.entries, form)
			}
		}
	}
	if c := cartOf(t, rt, "ada"); len(c.Lines) != 0 {
		t.Errorf("a refused form changed the cart: %+v", c)
	}
	w := post(t, h, "/cart/add", `{"sku":"mug","qty":0}`, with(ada, "Content-Type", "application/json"))
	if w.Code != 422 || body(w) != `{"error":{"code":"no_quantity","message":"how many?","details":{"field":"qty"}}}`+"\n" {
		t.Errorf("a program's refusal: %d %s", w.Code, body(w))
	}
	w = post(t, h, "/cart/note", "value=a&value=b", ada)
	if w.Code != 422 || !strings.Contains(body(w), "stands in the form twice") {
		t.Errorf("a refusal without Again: %d %s", w.Code, body(w))
	}
}

// A second click, and a retry after a lost answer, is the same message.
func TestDoubleSubmitIsOneMessage(t *testing.T) {
	rt, h := real(t)
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			if w := post(t, h, "/cart/add", "sku=mug&qty=2&_ls_key=K", ada); w.Code != 303 {
				t.Errorf("%d %s", w.Code, body(w))
			}
		})
	}
	wg.Wait()
	if c := cartOf(t, rt, "ada"); c.Lines["mug"] != 2 {
		t.Errorf("8 submits of one form added %d, want 2", c.Lines["mug"])
	}
	if w := post(t, h, "/cart/add", `{"sku":"pen","qty":1}`, with(ada, "Content-Type", "application/json", "Idempotency-Key", "P")); w.Code != 200 {
		t.Errorf("%d %s", w.Code, body(w))
	}
	post(t, h, "/cart/add", `{"sku":"pen","qty":1}`, with(ada, "Content-Type", "application/json", "Idempotency-Key", "P"))
	if c := cartOf(t, rt, "ada"); c.Lines["pen"] != 1 {
		t.Errorf("a program's repeated call added %d, want 1", c.Lines["pen"])
	}
}

func TestUsedKeyWithOtherEntriesAsksAgain(t *testing.T) {
	rt, h := real(t)
	id := formID(t, body(get(t, h, "/cart", ada)), "/cart/add")
	post(t, h, "/cart/add", "sku=mug&qty=2&_ls_key=K&_ls_form="+id, ada)
	w := post(t, h, "/cart/add", "sku=mug&qty=3&_ls_key=K&_ls_form="+id, ada)
	text := body(w)
	if w.Code != 422 || !strings.Contains(text, "data-ls-outcome>This form was sent before, with other entries.") || !strings.Contains(text, `name="qty" value="3"`) {
		t.Fatalf("%d %s", w.Code, text)
	}
	_, form, _ := strings.Cut(text, `data-ls-form="`+id+`"`)
	key := keyField.FindStringSubmatch(form)
	if w := post(t, h, "/cart/add", "sku=mug&qty=3&_ls_form="+id+"&_ls_key="+key[1], ada); w.Code != 303 {
		t.Errorf("sending it again with the fresh key: %d", w.Code)
	}
	if c := cartOf(t, rt, "ada"); c.Lines["mug"] != 5 {
		t.Errorf("the cart has %d, want 5", c.Lines["mug"])
	}
}

// Two viewers of one shared fragment, or two sessions, never share an idempotency key, nor do two operations.
func TestViewersNeverShareAKey(t *testing.T) {
	rt := newFake(fixture.Carts)
	live := newLive(t, rt)
	r := shop(live)
	ours := func(*http.Request) (actors.Ref[fixture.Cart], error) { return fixture.Carts.Ref("ours"), nil }
	r.Post("/ours/add", web.Action(live, fixture.Add, ours, web.Answer{Next: "/"}))
	r.Post("/ours/close", web.Action(live, fixture.Close, ours, web.Answer{Next: "/"}))
	page := body(get(t, r, "/cart/ours", ada))
	if !strings.Contains(page, "_ls_key") {
		t.Fatal("the page's forms have no keys")
	}
	for _, h := range []header{ada, {"X-User": "bob", "X-Session": "s1"}, {"X-User": "ada", "X-Session": "s2"}, {"X-User": "adas", "X-Session": "1"}} {
		if w := post(t, r, "/ours/add", "sku=mug&qty=1&_ls_key=SAME", h); w.Code != 303 {
			t.Fatalf("%d %s", w.Code, body(w))
		}
	}
	post(t, r, "/ours/close", "_ls_key=SAME", ada)
	keys := map[string]bool{}
	for _, m := range rt.messages {
		keys[m.IdempotencyKey] = true
		if strings.Contains(m.IdempotencyKey, "SAME") || actors.CheckKey("key", m.IdempotencyKey) != nil {
			t.Errorf("the stored key %q is no digest", m.IdempotencyKey)
		}
	}
	if len(rt.messages) != 5 || len(keys) != 5 {
		t.Errorf("%d messages have %d keys, want 5 and 5", len(rt.messages), len(keys))
	}
}

// The errors of an Ask, as each reader sees them.
func TestActionErrors(t *testing.T) {
	ref := actors.MessageRef{ID: "m1"}
	for _, tc := range []struct {
		err    error
		status int
		code   string
		retry  bool
	}{
		{actors.ErrUnauthorized, 403, web.CodeForbidden, false},
		{actors.ErrActorDestroyed, 410, web.CodeGone, false},
		{&actors.MailboxFull{Type: "cart", Depth: 9, Limit: 9}, 503, web.CodeBusy, true},
		{&actors.TooLarge{What: "arguments", Bytes: 9, Limit: 1}, 413, web.CodeTooLarge, false},
		{&actors.InvalidID{What: "actor id"}, 404, web.CodeNotFound, false},
		{&actors.SetupFailed{Message: ref, Reason: &actors.StateTooNew{Type: "cart", Stored: 2, Known: 1}}, 503, web.CodeNewer, true},
		{&actors.SetupFailed{Message: ref, Reason: errors.New("secret")}, 503, web.CodeUnavailable, true},
		{&actors.MessageFailed{Message: ref, Attempts: 5, Kind: "secret"}, 500, web.CodeFailed, false},
		{fmt.Errorf("commit: %w", actors.ErrOutcomeUnknown), 503, web.CodeUnavailable, true},
		{actors.ErrClosed, 503, web.CodeUnavailable, true},
		{errors.New("secret"), 500, web.CodeInternal, false},
		{web.Fail(402, "pay_first", "Please pay first."), 402, "pay_first", false},
	} {
		rt := newFake(fixture.Carts)
		rt.fail = tc.err
		h := shop(newLive(t, rt))
		for kind, headers := range map[string]header{"browser": ada, "client": with(ada, "Lockstep-Action", "1"), "program": with(ada, "Accept", "application/json")} {
			w := post(t, h, "/cart/add", "sku=a&qty=1", headers)
			text := body(w)
			if w.Code != tc.status || (w.Header().Get("Retry-After") != "") != tc.retry || w.Header().Get("Cache-Control") != "no-store" {
				t.Errorf("%v to a %s: %d %v, want %d", tc.err, kind, w.Code, w.Header(), tc.status)
			}
			if strings.Contains(text, "secret") {
				t.Errorf("%v to a %s: the cause is shown: %s", tc.err, kind, text)
			}
			typ := w.Header().Get("Content-Type")
			switch kind {
			case "program":
				var e struct {
					Error struct{ Code, Message string }
				}
				if json.Unmarshal([]byte(text), &e) != nil || e.Error.Code != tc.code || e.Error.Message == "" {
					t.Errorf("%v to a program: %s, want code %s", tc.err, text, tc.code)
				}
			case "client":
				if !strings.HasPrefix(typ, "text/plain") || strings.TrimSpace(text) == "" {
					t.Errorf("%v to the client: %s %s, want a sentence", tc.err, typ, text)
				}
			case "browser":
				if !strings.HasPrefix(typ, "text/html") || !strings.Contains(text, "<h1>") {
					t.Errorf("%v to a browser: %s %s, want a page", tc.err, typ, text)
				}
			}
		}
	}
}

// A message that is not done in time is stored, and the page follows.
func TestActionThatTakesTooLong(t *testing.T) {
	rt := newFake(fixture.Carts)
	rt.fail = &actors.AskTimeout{Message: actors.MessageRef{ID: "m1"}, Waited: 5 * time.Second, For: "running", Cause: context.DeadlineExceeded}
	h := shop(newLive(t, rt))
	if w := post(t, h, "/cart/add", "sku=a&qty=1", ada); w.Code != 303 || w.Header().Get("Location") != "/cart" {
		t.Errorf("a browser: %d", w.Code)
	}
	if w := post(t, h, "/cart/add", "sku=a&qty=1", with(ada, "Lockstep-Action", "1")); w.Code != 202 || body(w) != `{"next":"/cart"}`+"\n" {
		t.Errorf("the client: %d %s", w.Code, body(w))
	}
	if w := post(t, h, "/cart/add", "sku=a&qty=1", with(ada, "Accept", "application/json")); w.Code != 202 || body(w) != `{"pending":{"id":"m1"}}`+"\n" {
		t.Errorf("a program: %d %s", w.Code, body(w))
	}
}

func TestActionRefusesBeforeItReads(t *testing.T) {
	rt := newFake(fixture.Carts)
	h := shop(newLive(t, rt, func(c *web.Config) { c.MaxBody = 64 << 10 }))
	long := "sku=" + strings.Repeat("x", 64<<10)
	many := strings.Repeat("tags=x&", 1001) + "qty=1"
	for _, tc := range []struct {
		name, body string
		headers    header
		status     int
	}{
		{"no Origin", "sku=a&qty=1", with(ada, "Origin", ""), 403},
		{"another site", "sku=a&qty=1", with(ada, "Origin", "https://evil.example"), 403},
		{"another site, as the client", "sku=a&qty=1", with(ada, "Origin", "https://evil.example", "Lockstep-Action", "1"), 403},
		{"a program with an Origin", `{"sku":"a"}`, with(ada, "Origin", "https://evil.example", "Content-Type", "application/json"), 403},
		{"too long", long, ada, 413},
		{"too long a document", `{"sku":"` + long + `"}`, with(ada, "Content-Type", "application/json"), 413},
		{"too many fields", many, ada, 413},
		{"no type", "sku=a", with(ada, "Content-Type", ""), 415},
		{"another type", "sku=a", with(ada, "Content-Type", "text/plain"), 415},
		{"no form", "%zz", ada, 400},
		{"no JSON", "{", with(ada, "Content-Type", "application/json"), 422},
		{"JSON and more", `{"sku":"a"}{}`, with(ada, "Content-Type", "application/json"), 422},
		{"unknown JSON field", `{"sku":"a","color":"red"}`, with(ada, "Content-Type", "application/json"), 422},
		{"duplicate JSON field", `{"sku":"a","sku":"b"}`, with(ada, "Content-Type", "application/json"), 422},
		{"JSON with NUL", `{"sku":"\u0000"}`, with(ada, "Content-Type", "application/json"), 422},
		{"JSON of another type", `{"sku":"a","qty":"1"}`, with(ada, "Content-Type", "application/json"), 422},
		{"JSON beyond int", `{"sku":"a","qty":1e3}`, with(ada, "Content-Type", "application/json"), 422},
		{"broken multipart", "x", with(ada, "Content-Type", "multipart/form-data; boundary=b"), 400},
	} {
		if w := post(t, h, "/cart/add", tc.body, tc.headers); w.Code != tc.status {
			t.Errorf("%s: %d %.200s, want %d", tc.name, w.Code, body(w), tc.status)
		}
	}
	if n := rt.sent(); n != 0 {
		t.Errorf("%d messages were sent", n)
	}
	live := newLive(t, rt)
	any := web.Action(live, fixture.Add, func(*http.Request) (actors.Ref[fixture.Cart], error) { return fixture.Carts.Ref("a"), nil }, web.Answer{Next: "/"})
	w := httptest.NewRecorder()
	any(w, httptest.NewRequest(http.MethodGet, "/", nil))
	if w.Code != 405 || w.Header().Get("Allow") != "POST" {
		t.Errorf("GET of an action: %d %v", w.Code, w.Header())
	}
}

func TestMultipartForm(t *testing.T) {
	rt, h := real(t)
	part := func(name, value, file string) string {
		if file != "-" {
			file = `; filename="` + file + "\"\r\nContent-Type: image/jpeg"
		} else {
			file = ""
		}
		return "--b\r\nContent-Disposition: form-data; name=\"" + name + "\"" + file + "\r\n\r\n" + value + "\r\n"
	}
	multipart := with(ada, "Content-Type", "multipart/form-data; boundary=b")
	if w := post(t, h, "/cart/add", part("sku", "mug", "-")+part("qty", "2", "-")+"--b--\r\n", multipart); w.Code != 303 {
		t.Errorf("%d %s", w.Code, body(w))
	}
	if w := post(t, h, "/cart/add", part("sku", "mug", "-")+part("qty", "2", "-")+part("photo", "jpeg", "a.jpg")+"--b--\r\n", multipart); w.Code != 422 {
		t.Errorf("a file: %d %s", w.Code, body(w))
	}
	if c := cartOf(t, rt, "ada"); c.Lines["mug"] != 2 {
		t.Errorf("the cart is %+v", c)
	}
}

func TestTextsAreTranslated(t *testing.T) {
	rt := newFake(fixture.Carts)
	var drawn *web.Error
	h := shop(newLive(t, rt, func(c *web.Config) {
		c.Text = func(r *http.Request, e *web.Error) string {
			return map[string]string{"cart_closed": "Schon bezahlt.", web.CodeForeign: "Fremd."}[e.Code]
		}
		c.RenderError = func(w http.ResponseWriter, r *http.Request, e *web.Error) {
			drawn = e
			w.WriteHeader(e.Status)
			fmt.Fprint(w, "own page: ", e.Text)
		}
	}))
	rt.put(t, "cart", "cart-of-ada", fixture.Cart{Status: "closed", Lines: map[string]int{}})
	id := formID(t, body(get(t, h, "/cart", ada)), "/cart/add")
	if w := post(t, h, "/cart/add", "sku=a&qty=1&_ls_form="+id, ada); w.Code != 422 || !strings.Contains(body(w), "data-ls-outcome>Schon bezahlt.</p>") {
		t.Errorf("%d %s", w.Code, body(w))
	}
	if w := post(t, h, "/cart/add", "sku=a&qty=1", with(ada, "Origin", "")); w.Code != 403 || body(w) != "own page: Fremd." || drawn.Code != web.CodeForeign {
		t.Errorf("%d %s", w.Code, body(w))
	}
	if w := post(t, h, "/cart/add", "sku=a&qty=1", with(ada, "Origin", "", "Accept", "application/json")); !strings.Contains(body(w), `"Fremd."`) {
		t.Errorf("%d %s", w.Code, body(w))
	}
}

// What a template cannot learn from the alert: which field, and the rejection's details.
func TestOutcomeOfTheFormAround(t *testing.T) {
	rt := newFake(fixture.Carts)
	live := newLive(t, rt)
	var inside, outside []views.Outcome
	look := func(into *[]views.Outcome) templ.Component {
		return templ.ComponentFunc(func(ctx context.Context, _ io.Writer) error {
			if o, ok := views.OutcomeOf(ctx); ok {
				*into = append(*into, o)
			}
			return nil
		})
	}
	again := func(*http.Request) (templ.Component, error) {
		return templ.ComponentFunc(func(ctx context.Context, w io.Writer) error {
			form := templ.ComponentFunc(func(ctx context.Context, w io.Writer) error {
				return views.Form(fixture.Add, "/add").Render(templ.WithChildren(ctx, look(&inside)), w)
			})
			return views.Object(fixture.Carts.Ref("a")).Render(templ.WithChildren(ctx, templ.Join(look(&outside), form)), w)
		}), nil
	}
	target := func(*http.Request) (actors.Ref[fixture.Cart], error) { return fixture.Carts.Ref("a"), nil }
	h := web.Action(live, fixture.Add, target, web.Answer{Next: "/", Again: again})
	id := formID(t, body(get(t, live.Page(again), "/", nil)), "/add")
	post(t, h, "/add", "qty=x&_ls_form="+id, nil)
	post(t, h, "/add", "qty=0&_ls_form="+id, nil)
	if len(outside) != 0 || len(inside) != 2 || inside[0].Field != "qty" || inside[0].Code != web.CodeInvalid || string(inside[1].Details) != `{"field":"qty"}` {
		t.Errorf("in the form %+v, outside %+v", inside, outside)
	}
}

// The caller went away: nobody is told that the message is pending.
func TestActionWhoseCallerIsGone(t *testing.T) {
	rt := newFake(fixture.Carts)
	rt.fail = &actors.AskTimeout{Message: actors.MessageRef{ID: "m1"}, Cause: context.Canceled}
	if w := post(t, shop(newLive(t, rt)), "/cart/add", "sku=a&qty=1", ada); w.Code != 503 {
		t.Errorf("%d, want 503", w.Code)
	}
}

// endless is a body that never ends.
type endless struct{ read int }

func (e *endless) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = 'x'
	}
	e.read += len(p)
	return len(p), nil
}

func TestBodyIsReadUpToItsLimit(t *testing.T) {
	h := shop(newLive(t, newFake(fixture.Carts), func(c *web.Config) { c.MaxBody = 64 << 10 }))
	for _, typ := range []string{"application/x-www-form-urlencoded", "application/json", "multipart/form-data; boundary=b"} {
		r := newRequest(http.MethodPost, "/cart/add")
		e := &endless{}
		begin := ""
		if strings.HasPrefix(typ, "multipart") {
			begin = "--b\r\nContent-Disposition: form-data; name=\"sku\"\r\n\r\n"
		}
		r.Body = io.NopCloser(io.MultiReader(strings.NewReader(begin), e))
		if w := do(t, h, r, with(ada, "Content-Type", typ, "Origin", "http://example.com")); w.Code != 413 || e.read > 256<<10 {
			t.Errorf("%s: %d after %d bytes, want 413 soon after %d", typ, w.Code, e.read, 64<<10)
		}
	}
}

func TestNextForARequest(t *testing.T) {
	rt := newFake(fixture.Carts)
	live := newLive(t, rt)
	r := chi.NewRouter()
	target := func(r *http.Request) (actors.Ref[fixture.Cart], error) {
		return fixture.Carts.Ref(chi.URLParam(r, "id")), nil
	}
	r.Post("/cart/{id}/add", web.Action(live, fixture.Add, target, web.Answer{NextFor: func(r *http.Request, _ any) string { return "/cart/" + chi.URLParam(r, "id") }}))
	if w := post(t, r, "/cart/7/add", "sku=a&qty=1", nil); w.Header().Get("Location") != "/cart/7" {
		t.Errorf("goes to %q", w.Header().Get("Location"))
	}
	r.Post("/cart/{id}/count", web.Action(live, fixture.Add, target, web.Answer{NextFor: func(_ *http.Request, result any) string { return fmt.Sprint("/count/", result) }}))
	if w := post(t, r, "/cart/8/count", "sku=a&qty=3", nil); w.Header().Get("Location") != "/count/3" {
		t.Errorf("goes to %q, want the result in the address", w.Header().Get("Location"))
	}
	for name, wrong := range map[string]func(){
		"no next":   func() { web.Action(live, fixture.Add, target, web.Answer{}) },
		"no target": func() { web.Action(live, fixture.Add, nil, web.Answer{Next: "/"}) },
		"no live":   func() { web.Action(nil, fixture.Add, target, web.Answer{Next: "/"}) },
		"no page":   func() { live.Page(nil) },
	} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("%s: no panic at start", name)
				}
			}()
			wrong()
		}()
	}
}
