package wire

import (
	"bytes"
	"compress/flate"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"hash"
	"io"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/gorilla/securecookie"

	"github.com/lockstep-go/lockstep/actors"
)

var (
	// ErrBadToken is a token that is not authentic, was cut short, or holds what no server wrote.
	ErrBadToken = errors.New("not a token of ours")
	// ErrUnknownKey is a token that names a key which is not (or no longer) in use.
	ErrUnknownKey = errors.New("the token's key is not in use")
	// ErrExpired is an authentic token past its age; the token is returned with it.
	ErrExpired = errors.New("the token has expired")
)

// Token is what a page may show of one actor. It proves that a server rendered it, and grants nothing.
type Token struct {
	Actor   actors.Address `json:"-"`
	Targets []Target       `json:"t"`
	Stamp   actors.Stamp   `json:"s"`
	Build   string         `json:"b,omitempty"`
	Viewer  string         `json:"v,omitempty"` // Sealer.Viewer of who it was rendered for; "" in shared fragments
	Issued  time.Time      `json:"-"`
}

type payload struct {
	Token
	Type string `json:"y"`
	ID   string `json:"d"`
	At   int64  `json:"a"` // Unix seconds
}

// Sealer makes and opens tokens.
type Sealer struct {
	ids    []string // of the keys, newest first
	codecs []*securecookie.SecureCookie
	viewer sync.Pool     // of keyed digests
	nobody string        // Viewer of who is not signed in and has no session
	age    time.Duration // after which a token is expired
	grace  time.Duration // after which even an authentic one is refused
}

// MinKeyBytes is the shortest key that NewSealer takes.
const MinKeyBytes = 32

// NewSealer takes the signing keys, the current one first; old ones still open tokens. Age zero is 24 hours, grace
// zero 30 days.
func NewSealer(keys [][]byte, age, grace time.Duration) (*Sealer, error) {
	if len(keys) == 0 {
		return nil, errors.New("no signing key: give at least one of 32 random bytes")
	}
	s := &Sealer{age: age, grace: grace}
	if s.age == 0 {
		s.age = 24 * time.Hour
	}
	if s.grace == 0 {
		s.grace = 30 * 24 * time.Hour
	}
	for i, key := range keys {
		if len(key) < MinKeyBytes {
			return nil, fmt.Errorf("signing key %d has %d bytes, must have at least %d", i+1, len(key), MinKeyBytes)
		}
		sum := sha256.Sum256(append([]byte("lockstep key id\x00"), key...))
		s.ids = append(s.ids, hex.EncodeToString(sum[:4]))
		codec := securecookie.New(derive(key, "token"), nil)
		codec.SetSerializer(deflated{})
		codec.MaxLength(MaxTokenBytes)
		codec.MaxAge(0) // the age is ours: securecookie does not tell expired from forged
		s.codecs = append(s.codecs, codec)
	}
	viewer := derive(keys[0], "viewer")
	s.viewer.New = func() any { return hmac.New(sha256.New, viewer) }
	s.nobody = s.digest("", "")
	return s, nil
}

// derive makes a key for one purpose, so that no signature serves two.
func derive(key []byte, purpose string) []byte {
	mac := hmac.New(sha256.New, key)
	mac.Write([]byte("lockstep " + purpose))
	return mac.Sum(nil)
}

// Viewer is a keyed digest of who is asking: equal for equal ones, and it reveals neither.
func (s *Sealer) Viewer(principal, session string) string {
	if principal == "" && session == "" {
		return s.nobody
	}
	return s.digest(principal, session)
}

func (s *Sealer) digest(principal, session string) string {
	mac := s.viewer.Get().(hash.Hash)
	defer s.viewer.Put(mac)
	mac.Reset()
	var buf [128]byte
	who := append(strconv.AppendInt(buf[:0], int64(len(principal)), 10), ':')
	mac.Write(append(append(who, principal...), session...))
	return base64.RawURLEncoding.EncodeToString(mac.Sum(buf[:0])[:12])
}

// PageTooLarge is a scope that shows more than a token can carry.
type PageTooLarge struct {
	Targets, MaxTargets int
	Bytes, MaxBytes     int
}

func (e *PageTooLarge) Error() string {
	return fmt.Sprintf("a scope shows %d targets (limit %d) in a token of %d bytes (limit %d): split it into several objects",
		e.Targets, e.MaxTargets, e.Bytes, e.MaxBytes)
}

// Seal signs a token with the current key; Issued is set where it is zero. The error of a page that shows too
// much is a *PageTooLarge; parameters that are no JSON are another.
func (s *Sealer) Seal(t Token) (string, error) {
	if t.Issued.IsZero() {
		t.Issued = time.Now()
	}
	if len(t.Targets) > MaxTargets {
		return "", &PageTooLarge{len(t.Targets), MaxTargets, 0, MaxTokenBytes}
	}
	var buf bytes.Buffer
	e := json.NewEncoder(&buf)
	e.SetEscapeHTML(false) // a target's parameters must come back byte for byte, since its name is a digest of them
	if err := e.Encode(payload{t, t.Actor.Type, t.Actor.ID, t.Issued.Unix()}); err != nil {
		return "", fmt.Errorf("encode a token: %w", err)
	}
	if buf.Len() > MaxInflated {
		return "", &PageTooLarge{len(t.Targets), MaxTargets, buf.Len(), MaxInflated}
	}
	text, err := s.codecs[0].Encode(s.ids[0], buf.Bytes())
	if err != nil {
		small, _ := deflated{}.Serialize(buf.Bytes())
		size := base64.URLEncoding.EncodedLen(base64.URLEncoding.EncodedLen(len(small)) + sha256.Size + len("|1234567890|"))
		return "", &PageTooLarge{len(t.Targets), MaxTargets, size, MaxTokenBytes}
	}
	return s.ids[0] + "." + text, nil
}

var strict = base64.URLEncoding.Strict()

// Open checks a token. The error is ErrBadToken, ErrUnknownKey or, with the token, ErrExpired.
func (s *Sealer) Open(text string) (Token, error) {
	id, sealed, ok := strings.Cut(text, ".")
	if !ok || len(text) > MaxTokenBytes+16 || len(id) != 8 || strings.ContainsAny(sealed, "\r\n") {
		return Token{}, ErrBadToken
	}
	if _, err := strict.DecodeString(sealed[max(0, len(sealed)-4):]); err != nil {
		return Token{}, ErrBadToken // one token has one spelling: only the end could have bits that say nothing
	}
	for i, known := range s.ids {
		if known != id {
			continue
		}
		var p payload
		if err := s.codecs[i].Decode(id, sealed, &p); err != nil {
			return Token{}, ErrBadToken
		}
		t := p.Token
		t.Actor, t.Issued = actors.Address{Type: p.Type, ID: p.ID}, time.Unix(p.At, 0)
		switch age := time.Since(t.Issued); {
		case len(t.Targets) > MaxTargets:
			return Token{}, ErrBadToken
		case age > s.grace:
			return Token{}, ErrBadToken
		case age > s.age:
			return t, ErrExpired
		}
		return t, nil
	}
	return Token{}, ErrUnknownKey
}

// deflated takes JSON and deflates it where it is long; it is inflated only after the signature was verified, and up to
// MaxInflated bytes.
type deflated struct{}

// deflateFrom is how long the JSON is that is deflated. That of a scope which shows a few things would become some hundred
// bytes shorter, and inflating it would be half of what opening it takes.
const deflateFrom = 512

// deflatedMark begins what is deflated, as JSON never does.
const deflatedMark = 'z'

func (deflated) Serialize(src any) ([]byte, error) {
	text := src.([]byte)
	if len(text) < deflateFrom {
		return text, nil
	}
	buf := bytes.NewBuffer([]byte{deflatedMark})
	w, err := flate.NewWriter(buf, flate.BestSpeed)
	if err != nil {
		return nil, err
	}
	if _, err := w.Write(text); err != nil {
		return nil, err
	}
	if err := w.Close(); err != nil {
		return nil, err
	}
	return buf.Bytes(), nil
}

func (deflated) Deserialize(src []byte, dst any) error {
	packed, is := bytes.CutPrefix(src, []byte{deflatedMark})
	if !is {
		return readPayload(src, dst.(*payload))
	}
	i := inflaters.Get().(*inflater)
	defer inflaters.Put(i)
	i.src.Reset(packed)
	if err := i.flate.(flate.Resetter).Reset(&i.src, nil); err != nil {
		return err
	}
	i.raw.Reset()
	if _, err := i.raw.ReadFrom(io.LimitReader(i.flate, MaxInflated+1)); err != nil {
		return err
	}
	if i.raw.Len() > MaxInflated {
		return fmt.Errorf("a token inflates beyond %d bytes", MaxInflated)
	}
	return readPayload(i.raw.Bytes(), dst.(*payload))
}

// readPayload keeps nothing of text.
func readPayload(text []byte, into *payload) (err error) {
	p, ok := scanPayload(text)
	if *into = p; !ok {
		*into = payload{}
		err = json.Unmarshal(text, into)
	}
	return err
}

// inflater is what inflating needs, 40 KiB and more: thousands of pages that come back at once share a few.
type inflater struct {
	src   bytes.Reader
	flate io.ReadCloser
	raw   bytes.Buffer
}

var inflaters = sync.Pool{New: func() any { return &inflater{flate: flate.NewReader(nil)} }}
