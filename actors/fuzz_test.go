package actors_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/lockstep-go/lockstep/actors"
)

var seeds = []string{
	`{}`, `[]`, `null`, `"a"`, `-0`, `1e400`, `9007199254740993`, `{"a":1,"a":2}`, `{"a":1,"\u0061":2}`, `{"a":{"a":1},"b":[{"a":2}]}`,
	`"\ud800"`, `"\ud83d\ude00"`, `"\udc00\ud800"`, `"\\ud800"`, `"\u0000"`, `"\\u0000"`, "\"\xff\"", "\"\xed\xa0\x80\"", `"\ufffd"`,
	`[[[[[[]]]]]]`, strings.Repeat("[", 101) + strings.Repeat("]", 101), ` { "a" : [ 1 , { } ] } `, `1 2`, `{"a":}`, "", "\x00",
}

// FuzzCheckDocument compares the one pass over the text with what a decoder of encoding/json sees token by token.
func FuzzCheckDocument(f *testing.F) {
	for _, s := range seeds {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, doc []byte) {
		err := actors.CheckDocument("document", doc, 1<<20)
		if want := decodable(doc); (err == nil) != want {
			t.Fatalf("%q: CheckDocument says %v, encoding/json's tokens say kept: %v", doc, err, want)
		}
		if err != nil {
			return
		}
		var v any
		if err := actors.DecodeDocument("document", doc, &v); err != nil {
			t.Fatalf("%q was accepted but does not decode: %v", doc, err)
		}
		if _, err := actors.EncodeDocument("document", v, 8<<20); err != nil {
			t.Fatalf("%q was accepted but its value is refused: %v", doc, err)
		}
	})
}

// decodable says, by another way than CheckDocument's, whether a document is kept.
func decodable(doc []byte) bool {
	if !json.Valid(doc) || !utf8.Valid(doc) || holdsLoneSurrogate(doc) {
		return false
	}
	dec := json.NewDecoder(bytes.NewReader(doc))
	dec.UseNumber()
	var open []map[string]bool // keys of each open object, nil for an array
	key := false               // the next token is a key
	for {
		token, err := dec.Token()
		if errors.Is(err, io.EOF) {
			return true
		}
		if err != nil {
			return false
		}
		switch v := token.(type) {
		case json.Delim:
			switch v {
			case '{':
				open = append(open, map[string]bool{})
			case '[':
				open = append(open, nil)
			default:
				open = open[:len(open)-1]
			}
			if len(open) > actors.MaxDepth {
				return false
			}
		case string:
			if strings.ContainsRune(v, 0) {
				return false
			}
			if key {
				if at := open[len(open)-1]; at[v] {
					return false
				} else {
					at[v] = true
				}
				key = false
				continue
			}
		}
		key = len(open) > 0 && open[len(open)-1] != nil
	}
}

// holdsLoneSurrogate compares a decoder's replacement characters with those that the text spells.
func holdsLoneSurrogate(doc []byte) bool {
	decoded, spelled := 0, bytes.Count(doc, []byte("\uFFFD"))
	for i := 0; i < len(doc); i++ {
		if doc[i] == '\\' {
			if i+6 <= len(doc) && doc[i+1] == 'u' && strings.EqualFold(string(doc[i+2:i+6]), "fffd") {
				spelled++
			}
			i++
		}
	}
	dec := json.NewDecoder(bytes.NewReader(doc))
	for {
		token, err := dec.Token()
		if err != nil {
			break
		}
		if s, ok := token.(string); ok {
			decoded += strings.Count(s, "\uFFFD")
		}
	}
	return decoded != spelled
}

func FuzzCheckID(f *testing.F) {
	for _, s := range append(seeds, "a", " ", "é", "a\u00a0", "😀", "a\u0085", "a\x7f", strings.Repeat("x", 191), strings.Repeat("x", 192)) {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, id string) {
		legal := len(id) >= 1 && len(id) <= 191 && utf8.ValidString(id) && strings.IndexFunc(id, unicode.IsControl) < 0
		err := actors.CheckID(id)
		if (err == nil) != legal {
			t.Fatalf("%q: %v, legal: %v", id, err, legal)
		}
		if err == nil { // what is legal survives a document unchanged
			doc, err := actors.EncodeDocument("id", id, 1<<12)
			if err != nil {
				t.Fatalf("%q is a legal id but no document: %v", id, err)
			}
			var back string
			if err := actors.DecodeDocument("id", doc, &back); err != nil || back != id {
				t.Fatalf("%q came back as %q, %v", id, back, err)
			}
		} else if invalid, ok := errors.AsType[*actors.InvalidID](err); !ok || invalid.Bytes != len(id) {
			t.Fatalf("%q: %v, want an *InvalidID with %d bytes", id, err, len(id))
		}
	})
}

// FuzzCanonical: documents of one value have one canonical form, which is that value and its own canonical form.
func FuzzCanonical(f *testing.F) {
	for _, s := range seeds {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, doc []byte) {
		out, err := actors.Canonical(doc)
		if (err == nil) != json.Valid(doc) {
			t.Fatalf("%q: %v, but valid JSON: %v", doc, err, json.Valid(doc))
		}
		if err != nil {
			return
		}
		if again, err := actors.Canonical(out); err != nil || !bytes.Equal(again, out) {
			t.Fatalf("%q becomes %q and then %q, %v", doc, out, again, err)
		}
		var spaced bytes.Buffer
		if err := json.Indent(&spaced, doc, " ", "\t"); err != nil {
			t.Fatal(err)
		}
		if other, err := actors.Canonical(spaced.Bytes()); err != nil || !bytes.Equal(other, out) {
			t.Fatalf("%q with other white space becomes %q, %v; want %q", doc, other, err, out)
		}
		if actors.CheckDocument("document", doc, 1<<20) == nil && actors.CheckDocument("document", out, 8<<20) != nil {
			t.Fatalf("%q is kept, its canonical form %q is not", doc, out)
		}
	})
}
