package wire_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/lockstep-go/lockstep/actors"
	"github.com/lockstep-go/lockstep/realtime/wire"
)

var key1, key2 = []byte(strings.Repeat("1", 32)), []byte(strings.Repeat("2", 32))

func sealer(t testing.TB, keys ...[]byte) *wire.Sealer {
	t.Helper()
	s, err := wire.NewSealer(keys, 0, 0)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func seal(t testing.TB, s *wire.Sealer, tok wire.Token) string {
	t.Helper()
	text, err := s.Seal(tok)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

var hostile = []string{"a", "A", "a ", "é", "e\u0301", "</template><script>", `"onload="x`, "<!--", "javascript:x", "\u2028", "😀", "😁", "a b", "a_b", "a/b", "&amp;", strings.Repeat("k", 300)}

func TestC8_TokensComeBackByteForByte(t *testing.T) {
	s := sealer(t, key1)
	for _, text := range hostile {
		params, err := json.Marshal(map[string]string{"p": text})
		if err != nil {
			t.Fatal(err)
		}
		raw := json.RawMessage(`{"p":"<&>` + "\u2028" + `"}`)
		tok := wire.Token{Actor: actors.Address{Type: "cart", ID: text}, Build: "b", Viewer: "v",
			Stamp:   actors.Stamp{Instance: "i", Revision: 1<<60 + 1, Message: "m"},
			Targets: []wire.Target{{Component: "c", Key: text, Params: params}, {Component: "=n", Params: raw}}}
		comesBack(t, s, tok)
		for i := range 20 { // enough to be deflated
			tok.Targets = append(tok.Targets, wire.Target{Component: "line", Key: fmt.Sprint(text, i)})
		}
		comesBack(t, s, tok)
	}
}

func comesBack(t *testing.T, s *wire.Sealer, tok wire.Token) {
	t.Helper()
	got, err := s.Open(seal(t, s, tok))
	if err != nil {
		t.Fatal(err)
	}
	if got.Actor != tok.Actor || got.Stamp != tok.Stamp || got.Build != "b" || got.Viewer != "v" {
		t.Errorf("%+v came back as %+v", tok, got)
	}
	if len(got.Targets) != len(tok.Targets) {
		t.Fatalf("%d targets came back as %d", len(tok.Targets), len(got.Targets))
	}
	for i := range tok.Targets {
		if got.Targets[i].Name(got.Actor) != tok.Targets[i].Name(tok.Actor) {
			t.Errorf("%q: target %d has another name after the round trip: %s", tok.Actor.ID, i, got.Targets[i].Params)
		}
	}
}

func TestR59_DifferentTargetsNeverShareAName(t *testing.T) {
	seen := map[string]string{}
	for _, id := range hostile {
		for _, key := range append(hostile, "") {
			for _, component := range []string{"c", "=c"} {
				for _, params := range []string{"", "{}"} {
					name := wire.Target{Component: component, Key: key, Params: json.RawMessage(params)}.Name(actors.Address{Type: "t", ID: id})
					what := fmt.Sprintf("%q %q %q %q", id, component, key, params)
					if other, ok := seen[name]; ok {
						t.Errorf("%s and %s are both %s", what, other, name)
					}
					seen[name] = what
					if len(name) != 22 || strings.Trim(name, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_") != "" {
						t.Errorf("%s has the name %q", what, name)
					}
				}
			}
		}
	}
	// Moving a byte from one part to the next is another target.
	a := wire.Target{Component: "ab", Key: "c"}.Name(actors.Address{Type: "t", ID: "x"})
	b := wire.Target{Component: "a", Key: "bc"}.Name(actors.Address{Type: "t", ID: "x"})
	if a == b {
		t.Error("parts run into each other")
	}
}

func TestC8_EveryFlippedBitIsRefused(t *testing.T) {
	s := sealer(t, key1)
	text := seal(t, s, wire.Token{Actor: actors.Address{Type: "cart", ID: "a"}, Targets: []wire.Target{{Component: "n"}}})
	for i := range len(text) {
		for _, bit := range []byte{1, 2, 4, 8, 16, 32, 64} {
			bad := []byte(text)
			bad[i] ^= bit
			if got, err := s.Open(string(bad)); err == nil && string(bad) != text {
				t.Fatalf("bit %d of byte %d flipped, and opened as %+v", bit, i, got)
			}
		}
		if _, err := s.Open(text[:i]); err == nil {
			t.Fatalf("cut to %d bytes, and opened", i)
		}
	}
	if _, err := sealer(t, key2).Open(text); !errors.Is(err, wire.ErrUnknownKey) {
		t.Errorf("another key says %v", err)
	}
}

func TestR42_KeysRotate(t *testing.T) {
	tok := wire.Token{Actor: actors.Address{Type: "cart", ID: "a"}}
	old := seal(t, sealer(t, key1), tok)
	both := sealer(t, key2, key1)
	if _, err := both.Open(old); err != nil {
		t.Errorf("an old key's token: %v", err)
	}
	if _, err := sealer(t, key1, key2).Open(seal(t, both, tok)); err != nil {
		t.Errorf("a process of the old order: %v", err)
	}
	if _, err := sealer(t, key2).Open(seal(t, both, tok)); err != nil {
		t.Errorf("a new token is not the new key's: %v", err)
	}
	if _, err := sealer(t, key2).Open(old); !errors.Is(err, wire.ErrUnknownKey) {
		t.Errorf("a retired key says %v", err)
	}
	for name, keys := range map[string][][]byte{"none": nil, "short": {key1[:31]}, "short old": {key1, {}}} {
		if _, err := wire.NewSealer(keys, 0, 0); err == nil {
			t.Errorf("%s was accepted", name)
		}
	}
}

func TestR41_Ages(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := sealer(t, key1)
		text := seal(t, s, wire.Token{Actor: actors.Address{Type: "cart", ID: "a"}})
		for _, c := range []struct {
			after time.Duration
			want  error
		}{{23 * time.Hour, nil}, {2 * time.Hour, wire.ErrExpired}, {29*24*time.Hour - 2*time.Hour, wire.ErrExpired}, {24 * time.Hour, wire.ErrBadToken}} {
			time.Sleep(c.after)
			tok, err := s.Open(text)
			if !errors.Is(err, c.want) || (c.want == wire.ErrExpired && tok.Actor.ID != "a") {
				t.Errorf("after %v more: %+v %v, want %v", c.after, tok, err, c.want)
			}
		}
	})
}

func TestTokensAreBounded(t *testing.T) {
	s := sealer(t, key1)
	rnd := rand.New(rand.NewPCG(1, 2))
	var targets []wire.Target
	for range 900 {
		targets = append(targets, wire.Target{Component: "c", Key: fmt.Sprintf("%x%x%x%x%x%x%x%x", rnd.Uint64(), rnd.Uint64(), rnd.Uint64(), rnd.Uint64(), rnd.Uint64(), rnd.Uint64(), rnd.Uint64(), rnd.Uint64())})
	}
	_, err := s.Seal(wire.Token{Actor: actors.Address{Type: "cart", ID: "a"}, Targets: targets})
	big, ok := errors.AsType[*wire.PageTooLarge](err)
	if !ok || big.Targets != 900 || big.Bytes <= 0 || big.MaxBytes != wire.MaxTokenBytes {
		t.Errorf("a token beyond the limit: %v", err)
	}
	// What deflates well must not pass the limit of what is inflated again.
	huge := wire.Token{Actor: actors.Address{Type: "cart", ID: "a"}, Targets: []wire.Target{{Component: "c", Key: strings.Repeat("a", wire.MaxInflated)}}}
	if text, err := s.Seal(huge); err == nil {
		if _, err := s.Open(text); err == nil {
			t.Error("a token inflated beyond its bound")
		} else {
			t.Errorf("a token was sealed that does not open: %v", err)
		}
	}
}

func FuzzOpen(f *testing.F) {
	s := sealer(f, key1)
	good := seal(f, s, wire.Token{Actor: actors.Address{Type: "cart", ID: "a"}, Targets: []wire.Target{{Component: "n"}}})
	for _, text := range []string{"", ".", good, good[:len(good)-1], good + "A", "00000000." + good, strings.ToUpper(good), good[:9], strings.Repeat("a", 100_000)} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		tok, err := s.Open(text)
		if err == nil && (tok.Actor != actors.Address{Type: "cart", ID: "a"} || len(tok.Targets) != 1) {
			t.Errorf("%q opened as %+v", text, tok)
		}
		if err != nil && !errors.Is(err, wire.ErrBadToken) && !errors.Is(err, wire.ErrUnknownKey) {
			t.Errorf("%q: %v", text, err)
		}
	})
}
