package static_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/lockstep-go/lockstep/static/chromiumtest"
)

// refresher answers the refresh route and keeps what it was asked.
func refresher(st *stub, answer func(w http.ResponseWriter, tokens []string)) {
	st.mux.HandleFunc("POST /lockstep/refresh", func(w http.ResponseWriter, r *http.Request) {
		var in struct{ Tokens []string }
		if err := json.NewDecoder(r.Body).Decode(&in); err != nil || r.Header.Get("Content-Type") != "application/json" {
			st.t.Errorf("refresh: %v, %s", err, r.Header.Get("Content-Type"))
		}
		st.set(func(st *stub) { st.log = append(st.log, heard{frame: frame{T: "refresh", More: in.Tokens}}) })
		w.Header().Set("Content-Type", "application/json")
		answer(w, in.Tokens)
	})
}

func TestR41ExpiredTokenIsRenewedOnce(t *testing.T) {
	st := newStub(t, scope("A", "1", `<div data-ls="k"></div>`))
	refresher(st, func(w http.ResponseWriter, tokens []string) { fmt.Fprint(w, `{"token":"A@fresh"}`) })
	p := st.visit()
	st.live("A", "2", "k", `<div data-ls="k" data-ls-token="T"><b data-ls="c">1</b></div>`)
	p.WaitText("[data-ls=c]", "1")
	st.answerWith(func(h heard) []frame {
		if h.Token == "A@1" {
			return []frame{{T: "no", N: h.N, S: h.S, Reason: "expired"}}
		}
		return []frame{{T: "ok", N: h.N, S: h.S, I: "A", R: "3", F: []fragment{{"c", "3", `<b data-ls="c">3</b>`}}}}
	})
	st.closeAll(1012, "20")
	p.WaitText("[data-ls=c]", "3")
	connected(p)
	if asked := st.all("refresh"); len(asked) != 1 || strings.Join(asked[0].More, " ") != "A@1 T" {
		t.Errorf("asked for %+v", asked)
	}
	subs := st.all("sub")
	if len(subs) != 3 || subs[1].More[0] != "T" || subs[2].Token != "A@fresh" || len(subs[2].More) != 0 || subs[2].First {
		t.Errorf("subscribes = %+v", subs)
	}
	p.Quiet()
}

func TestR41TokensBornExpiredEndAfterOneAttempt(t *testing.T) {
	st := newStub(t, scope("A", "1", `<b data-ls="k">1</b>`))
	refresher(st, func(w http.ResponseWriter, tokens []string) { fmt.Fprint(w, `{"token":"A@born-expired"}`) })
	st.answerWith(func(h heard) []frame { return []frame{{T: "no", N: h.N, S: h.S, Reason: "expired"}} })
	p := chromiumtest.Open(t).Visitor(t)
	p.Goto(st.url)
	p.WaitFor(`document.querySelector("lockstep-scope").getAttribute("status") === "gone"`)
	if subs, asked := st.count("sub"), st.count("refresh"); subs != 2 || asked != 1 {
		t.Errorf("%d subscribes, %d refreshes, want 2 and 1", subs, asked)
	}
	p.Quiet()
}

func TestR41RefreshThatIsDenied(t *testing.T) {
	st := newStub(t, scope("A", "1", `<b data-ls="k">1</b>`))
	refresher(st, func(w http.ResponseWriter, tokens []string) {
		w.WriteHeader(http.StatusForbidden)
		fmt.Fprint(w, `{"reason":"denied"}`)
	})
	st.answerWith(func(h heard) []frame { return []frame{{T: "no", N: h.N, S: h.S, Reason: "expired"}} })
	p := chromiumtest.Open(t).Visitor(t)
	p.Goto(st.url)
	p.WaitFor(`document.querySelector("lockstep-scope").getAttribute("status") === "denied"`)
	if n := st.count("sub"); n != 1 {
		t.Errorf("%d subscribes, want 1", n)
	}
}

func TestRefreshWithoutAnAnswerIsTriedAgain(t *testing.T) {
	st := newStub(t, scope("A", "1", `<b data-ls="k">1</b>`))
	tries := 0
	refresher(st, func(w http.ResponseWriter, tokens []string) {
		if tries++; tries == 1 {
			w.WriteHeader(http.StatusBadGateway)
			return
		}
		fmt.Fprint(w, `{"token":"A@2"}`)
	})
	st.answerWith(func(h heard) []frame {
		if h.Token == "A@1" {
			return []frame{{T: "no", N: h.N, S: h.S, Reason: "expired"}}
		}
		return []frame{ok(h)}
	})
	st.visit()
	if tries != 2 {
		t.Errorf("%d refreshes, want 2", tries)
	}
}

func TestTooManyTokensForAFrameAreMadeOne(t *testing.T) {
	st := newStub(t, scope("A", "1", `<div data-ls="p1"></div><div data-ls="p2"></div><div data-ls="p3"></div>`))
	refresher(st, func(w http.ResponseWriter, tokens []string) { fmt.Fprint(w, `{"token":"A@2"}`) })
	p := st.visit()
	for _, k := range []string{"p1", "p2", "p3"} {
		st.live("A", "2", k, `<div data-ls="`+k+`" data-ls-token="`+k+strings.Repeat("x", 50<<10)+`"><b>1</b></div>`)
	}
	p.WaitFor(`document.querySelectorAll("b").length === 3`)
	st.closeAll(1012, "20")
	subs := st.awaitSubs(2)
	if asked := st.all("refresh"); len(asked) != 1 || len(asked[0].More) != 4 || subs[1].Token != "A@2" {
		t.Errorf("asked %d times; second subscribe with %.20s", len(asked), subs[1].Token)
	}
	p.Quiet()
}

func TestR42UnknownKeyTakesTheScopesOfAFreshPage(t *testing.T) {
	page := func(key string) string {
		named := func(i, text string) string {
			return fmt.Sprintf(`<lockstep-scope token="%s-%s" instance="%s" revision="9">%s</lockstep-scope>`, key, i, i, text)
		}
		return map[bool]string{true: named("D", `<i data-ls="d">only in the second page</i>`), false: ""}[key == "new"] + named("A", `<b data-ls="a">`+key+`</b><p>static `+key+`</p><input id="i">`) + named("B", `<b data-ls="b">`+key+`</b>`) +
			map[bool]string{true: named("C", `<b data-ls="c">only in the first page</b>`), false: ""}[key == "old"]
	}
	st := newStub(t, page("old"))
	gets := 0
	st.mux.HandleFunc("GET /page", func(w http.ResponseWriter, r *http.Request) {
		gets++
		st.writePage(w, http.StatusOK)
	})
	st.answerWith(func(h heard) []frame { return []frame{{T: "ok", N: h.N, S: h.S, I: h.Token[4:], R: "9"}} })
	p := chromiumtest.Open(t).Visitor(t)
	p.Goto(st.url + "/page")
	connected(p)
	p.Type("#i", "draft")
	st.answerWith(func(h heard) []frame {
		if strings.HasPrefix(h.Token, "old") {
			return []frame{{T: "no", N: h.N, S: h.S, Reason: "unknown_key"}}
		}
		return []frame{{T: "ok", N: h.N, S: h.S, I: h.Token[4:], R: "9"}}
	})
	st.set(func(st *stub) { st.body = page("new") })
	st.closeAll(1012, "20")
	p.WaitFor(`[...document.querySelectorAll("lockstep-scope")].map(s => s.getAttribute("status")).join() === "connected,connected,gone"`)
	if got := p.String(`[...document.querySelectorAll("b, p")].map(e => e.textContent)`); got != "new,static new,new,only in the first page" {
		t.Errorf("shows %s", got)
	}
	if got := p.String(`i.value + (document.activeElement === i)`); got != "drafttrue" {
		t.Errorf("the field: %s", got)
	}
	if gets != 2 {
		t.Errorf("%d gets of the page, want 2: the visitor's and one more", gets)
	}
	if n := st.count("sub"); n != 8 {
		t.Errorf("%d subscribes, want 3, 3 and 2", n)
	}
	p.Quiet()
}

func TestR42UnknownKeyDoesNotFollowARedirect(t *testing.T) {
	st := newStub(t, scope("A", "1", `<b data-ls="a">1</b>`))
	gets := 0
	st.mux.HandleFunc("GET /page", func(w http.ResponseWriter, r *http.Request) {
		if gets++; gets == 1 {
			st.writePage(w, http.StatusOK)
			return
		}
		http.Redirect(w, r, "/", http.StatusSeeOther)
	})
	st.answerWith(func(h heard) []frame { return []frame{{T: "no", N: h.N, S: h.S, Reason: "unknown_key"}} })
	p := chromiumtest.Open(t).Visitor(t)
	p.Goto(st.url + "/page")
	p.WaitFor(`document.querySelector("lockstep-scope").getAttribute("status") === "gone"`)
	if gets != 2 || st.count("sub") != 1 {
		t.Errorf("%d gets, %d subscribes, want 2 and 1", gets, st.count("sub"))
	}
}
