package main

import (
	"context"
	"crypto/hkdf"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/gorilla/securecookie"

	"github.com/lockstep-go/lockstep/web"
)

// Visitor is who sends a request: a shopper, who may have signed in as the administrator.
type Visitor struct {
	ID         string    `json:"id"`              // the shopper's, and so the cart's
	StaffUntil time.Time `json:"staff,omitzero"`  // signed in to the back office until then
	Issued     time.Time `json:"issued,omitzero"` // when the cookie was written
}

// Staff says whether the visitor is the administrator now.
func (v Visitor) Staff() bool { return time.Now().Before(v.StaffUntil) }

const (
	cookieName = "shop"
	cookieAge  = 90 * 24 * time.Hour
	staffAge   = 12 * time.Hour
)

type visitorKey struct{}

// visitorOf is who is asking; outside a request it is nobody.
func visitorOf(ctx context.Context) Visitor {
	v, _ := ctx.Value(visitorKey{}).(Visitor)
	return v
}

// identify tells package web who is asking.
func identify(r *http.Request) web.Identity {
	v := visitorOf(r.Context())
	who := web.Identity{Session: v.ID}
	if v.Staff() {
		who.Principal = staff
	}
	return who
}

// staff is the administrator's role.
const staff = "staff"

// role is what a viewer of the back office's components is.
func role(ctx context.Context) string {
	if visitorOf(ctx).Staff() {
		return staff
	}
	return ""
}

// Sessions keeps visitors in a signed cookie. There is nothing else to remember: carts and orders are actors.
type Sessions struct{ codec *securecookie.SecureCookie }

func newSessions(secret []byte) (*Sessions, error) {
	key, err := deriveKey(secret, "session cookie")
	if err != nil {
		return nil, err
	}
	codec := securecookie.New(key, nil)
	codec.SetSerializer(securecookie.JSONEncoder{})
	codec.MaxAge(int(cookieAge.Seconds()))
	return &Sessions{codec}, nil
}

// Middleware puts the visitor into the request's ctx, and gives a new one a cookie.
func (s *Sessions) Middleware(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		v, known := s.read(r)
		socket := r.Header.Get("Upgrade") != ""
		if old := time.Since(v.Issued) > cookieAge/3; !socket && (!known || old) {
			if err := s.Write(w, r, v); err != nil {
				http.Error(w, "no session could be made", http.StatusInternalServerError)
				return
			}
		}
		next.ServeHTTP(w, r.WithContext(context.WithValue(r.Context(), visitorKey{}, v)))
	})
}

func (s *Sessions) read(r *http.Request) (v Visitor, known bool) {
	if cookie, err := r.Cookie(cookieName); err == nil {
		if err := s.codec.Decode(cookieName, cookie.Value, &v); err == nil && v.ID != "" {
			return v, true
		}
	}
	return Visitor{ID: rand.Text()}, false
}

// Write sends the visitor's cookie.
func (s *Sessions) Write(w http.ResponseWriter, r *http.Request, v Visitor) error {
	v.Issued = time.Now().UTC().Truncate(time.Second)
	value, err := s.codec.Encode(cookieName, v)
	if err != nil {
		return err
	}
	http.SetCookie(w, &http.Cookie{
		Name: cookieName, Value: value, Path: "/", MaxAge: int(cookieAge.Seconds()),
		HttpOnly: true, SameSite: http.SameSiteLaxMode, Secure: r.TLS != nil,
	})
	return nil
}

// deriveKey makes a key for one purpose out of the shop's one secret.
func deriveKey(secret []byte, purpose string) ([]byte, error) {
	return hkdf.Key(sha256.New, secret, nil, "lockstep shop: "+purpose, 32)
}

// openSecret returns the shop's secret: given (in hexadecimal), or that of the file at path, which is made at the first
// start so that a restart keeps everybody's session; without both, one that is forgotten.
func openSecret(given, path string) ([]byte, error) {
	switch {
	case given != "":
		return parseSecret("SHOP_KEY", given)
	case path == "":
		return freshSecret(), nil
	}
	text, err := os.ReadFile(path)
	if errors.Is(err, os.ErrNotExist) {
		if err = createSecret(path); err != nil {
			return nil, err
		}
		text, err = os.ReadFile(path)
	}
	if err != nil {
		return nil, fmt.Errorf("read key: %w", err)
	}
	return parseSecret(path, string(text))
}

func parseSecret(from, text string) ([]byte, error) {
	secret, err := hex.DecodeString(strings.TrimSpace(text))
	if err != nil || len(secret) < 32 {
		return nil, fmt.Errorf("%s: a key is at least 32 bytes in hexadecimal", from)
	}
	return secret, nil
}

func freshSecret() []byte {
	secret := make([]byte, 32)
	_, _ = rand.Read(secret) // it never fails
	return secret
}

// createSecret makes the file whole or not at all; where another process was faster, its secret counts.
func createSecret(path string) error {
	temp, err := os.CreateTemp(filepath.Dir(path), filepath.Base(path)+".*") // mode 0600
	if err != nil {
		return fmt.Errorf("create key: %w", err)
	}
	defer os.Remove(temp.Name())
	_, err = fmt.Fprintf(temp, "%x\n", freshSecret())
	if err == nil {
		err = temp.Sync()
	}
	if err = errors.Join(err, temp.Close()); err == nil {
		err = os.Link(temp.Name(), path)
	}
	if err != nil && !errors.Is(err, os.ErrExist) {
		return fmt.Errorf("create key: %w", err)
	}
	return nil
}
