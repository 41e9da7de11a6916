package actors

import (
	"fmt"
	"unicode"
	"unicode/utf8"
)

// MaxIDBytes bounds actor ids, idempotency keys and reminder keys, in bytes of UTF-8.
const MaxIDBytes = 191

// MaxNameBytes bounds the names that a program gives to types, operations, observables and effects.
const MaxNameBytes = 64

// InvalidID reports an actor id or another caller's key that is not 1 to MaxIDBytes bytes of valid UTF-8 without
// control characters. The text itself is not repeated: it may be anything.
type InvalidID struct {
	What  string // "actor id", "idempotency key", "reminder key"
	Rule  string // the rule that it broke
	Bytes int    // its size
}

func (e *InvalidID) Error() string {
	return fmt.Sprintf("%s of %d bytes: %s", e.What, e.Bytes, e.Rule)
}

// CheckID says whether id may address an actor: 1 to MaxIDBytes bytes of valid UTF-8 without control characters.
// Ids are compared byte by byte: case, accents and trailing spaces make different ids. The error is an *InvalidID.
func CheckID(id string) error { return checkKey("actor id", id) }

// CheckKey is CheckID for an idempotency key or a reminder key; what names it in the error.
func CheckKey(what, key string) error { return checkKey(what, key) }

func checkKey(what, s string) error {
	rule := ""
	switch {
	case s == "":
		rule = "must not be empty"
	case len(s) > MaxIDBytes:
		rule = fmt.Sprintf("must be at most %d bytes", MaxIDBytes)
	case !utf8.ValidString(s):
		rule = "must be valid UTF-8"
	default:
		for _, r := range s {
			if unicode.IsControl(r) {
				rule = "must not contain control characters"
				break
			}
		}
	}
	if rule == "" {
		return nil
	}
	return &InvalidID{What: what, Rule: rule, Bytes: len(s)}
}

// checkName says whether a program's own name is a letter followed by letters, digits and underscores.
func checkName(what, name string) error {
	if name == "" || len(name) > MaxNameBytes {
		return fmt.Errorf("%s %q: must be 1 to %d bytes, has %d", what, name, MaxNameBytes, len(name))
	}
	for i, r := range []byte(name) {
		letter := r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z'
		if !letter && (i == 0 || r != '_' && (r < '0' || r > '9')) {
			return fmt.Errorf("%s %q: must be a letter followed by letters, digits and underscores", what, name)
		}
	}
	return nil
}
