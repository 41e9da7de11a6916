package main

import (
	"bytes"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// visit sends one request with cookies through the sessions and returns who it was and what was set.
func visit(t *testing.T, s *Sessions, cookies ...*http.Cookie) (Visitor, []*http.Cookie) {
	t.Helper()
	var seen Visitor
	r := httptest.NewRequest(http.MethodGet, "/", nil)
	for _, c := range cookies {
		r.AddCookie(c)
	}
	w := httptest.NewRecorder()
	s.Middleware(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { seen = visitorOf(r.Context()) })).ServeHTTP(w, r)
	return seen, w.Result().Cookies()
}

func TestCookieKeepsAVisitor(t *testing.T) {
	s, err := newSessions(freshSecret())
	if err != nil {
		t.Fatal(err)
	}
	first, cookies := visit(t, s)
	if len(cookies) != 1 || first.ID == "" || first.Staff() {
		t.Fatalf("the first visit is %+v with %d cookies", first, len(cookies))
	}
	if again, set := visit(t, s, cookies...); again.ID != first.ID || len(set) != 0 {
		t.Errorf("the second visit is %q with %d cookies, want %q with none", again.ID, len(set), first.ID)
	}
	forged := *cookies[0]
	forged.Value = "x" + forged.Value[1:]
	if other, _ := visit(t, s, &forged); other.ID == first.ID {
		t.Error("a forged cookie is believed")
	}
	elsewhere, err := newSessions(freshSecret())
	if err != nil {
		t.Fatal(err)
	}
	if other, _ := visit(t, elsewhere, cookies...); other.ID == first.ID {
		t.Error("another shop's cookie is believed")
	}
}

func TestStaffEnds(t *testing.T) {
	if (Visitor{StaffUntil: time.Now().Add(-time.Second)}).Staff() {
		t.Error("a right that has ended still counts")
	}
	if !(Visitor{StaffUntil: time.Now().Add(time.Minute)}).Staff() {
		t.Error("a right that lasts does not count")
	}
}

func TestSecretFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "shop.db.key")
	first, err := openSecret("", path)
	if err != nil {
		t.Fatal(err)
	}
	again, err := openSecret("", path)
	if err != nil || !bytes.Equal(first, again) {
		t.Errorf("the second start has another key (%v)", err)
	}
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	if mode := info.Mode().Perm(); mode != 0o600 {
		t.Errorf("the key's file has mode %o, want 600", mode)
	}
	if _, err := openSecret("cafe", path); err == nil || !strings.Contains(err.Error(), "32 bytes") {
		t.Errorf("a short key is taken: %v", err)
	}
	if given, err := openSecret(strings.Repeat("ab", 32), path); err != nil || bytes.Equal(given, first) {
		t.Errorf("the environment's key does not win (%v)", err)
	}
}

func TestConfigure(t *testing.T) {
	env := map[string]string{"SHOP_ADDR": "127.0.0.1:1", "SHOP_PAYMENTS": "twice"}
	cfg, err := configure([]string{"-addr", "127.0.0.1:2"}, func(name string) string { return env[name] }, io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	if cfg.addr != "127.0.0.1:2" || cfg.payments != PaymentsTwice || cfg.db != "sqlite:shop.db" {
		t.Errorf("config = %+v", cfg)
	}
	for _, args := range [][]string{{"-payments", "nice"}, {"extra"}, {"-nonsense"}} {
		if _, err := configure(args, func(string) string { return "" }, io.Discard); err == nil {
			t.Errorf("%v is taken", args)
		}
	}
}
