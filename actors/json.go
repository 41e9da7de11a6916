package actors

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"sync"
	"unicode/utf8"
)

// MaxDepth bounds the nesting of every document: state, arguments, results.
const MaxDepth = 100

// InvalidDocument reports a value or a text that is not a document we keep: JSON without NaN, infinities, duplicate
// keys, U+0000, lone surrogates, invalid UTF-8 or more than MaxDepth levels.
type InvalidDocument struct {
	What   string // "arguments", "state", "result", …
	Reason string
}

func (e *InvalidDocument) Error() string { return e.What + ": " + e.Reason }

// TooLarge reports something beyond a configured size, naming both numbers.
type TooLarge struct {
	What  string
	Bytes int // its size
	Limit int
}

func (e *TooLarge) Error() string {
	return fmt.Sprintf("%s has %d bytes, the limit is %d", e.What, e.Bytes, e.Limit)
}

var encodeBuffers = sync.Pool{New: func() any { return new(bytes.Buffer) }}

// EncodeDocument turns v into the JSON text that is stored, byte for byte. The error is an *InvalidDocument (which
// names the path of a NaN or infinity) or a *TooLarge; a panic of a MarshalJSON is an *InvalidDocument too.
func EncodeDocument(what string, v any, limit int) (doc json.RawMessage, err error) {
	defer func() {
		if p := recover(); p != nil {
			doc, err = nil, &InvalidDocument{what, fmt.Sprintf("encoding it panicked: %v", p)}
		}
	}()
	buf := encodeBuffers.Get().(*bytes.Buffer)
	defer func() {
		if buf.Cap() <= 1<<16 {
			encodeBuffers.Put(buf)
		}
	}()
	buf.Reset()
	enc := json.NewEncoder(buf)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		reason := err.Error()
		if unsupported, ok := errors.AsType[*json.UnsupportedValueError](err); ok {
			reason = unsupported.Str
			if unsupported.Value.CanFloat() {
				reason = "cannot hold " + reason
				search := nonFinite{left: 100_000}
				if search.find(reflect.ValueOf(v), "", 0) && search.path != "" {
					reason += " (at " + search.path + ")"
				}
			}
		}
		return nil, &InvalidDocument{what, reason}
	}
	out := bytes.TrimSuffix(buf.Bytes(), []byte("\n"))
	if len(out) > limit {
		return nil, &TooLarge{what, len(out), limit}
	}
	if holdsReplacement(out) {
		return nil, &InvalidDocument{what, "a string is not valid UTF-8"} // encoding/json writes the escape only for bad bytes
	}
	if err := CheckDocument(what, out, limit); err != nil {
		return nil, err
	}
	return bytes.Clone(out), nil
}

// holdsReplacement says whether b holds the escape of U+FFFD.
func holdsReplacement(b []byte) bool {
	for from := 0; ; {
		i := bytes.Index(b[from:], []byte(`\ufffd`))
		if i < 0 {
			return false
		}
		if escapedAt(b, from+i) {
			return true
		}
		from += i + 1
	}
}

// escapedAt says whether the backslash at i begins an escape rather than ending an escaped backslash.
func escapedAt(b []byte, i int) bool {
	n := 0
	for j := i - 1; j >= 0 && b[j] == '\\'; j-- {
		n++
	}
	return n%2 == 0
}

// DecodeDocument reads a stored document into a zero value; numbers in fields of type any become json.Number, so
// that integers beyond 2^53 stay exact. Unknown fields are ignored: another build may have written them.
func DecodeDocument(what string, doc []byte, into any) error { return decode(what, doc, into, false) }

// DecodeStrict is DecodeDocument for what a stranger wrote: the text is checked with CheckDocument first, and
// unknown fields are refused.
func DecodeStrict(what string, doc []byte, into any, limit int) error {
	if err := CheckDocument(what, doc, limit); err != nil {
		return err
	}
	return decode(what, doc, into, true)
}

func decode(what string, doc []byte, into any, strict bool) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = &InvalidDocument{what, fmt.Sprintf("decoding it panicked: %v", p)}
		}
	}()
	dec := json.NewDecoder(bytes.NewReader(doc))
	dec.UseNumber()
	if strict {
		dec.DisallowUnknownFields()
	}
	if err := dec.Decode(into); err != nil {
		return &InvalidDocument{what, strings.TrimPrefix(err.Error(), "json: ")}
	}
	return nil
}

// Canonical is the form in which two documents are compared: keys sorted, no white space, numbers as written.
func Canonical(doc []byte) ([]byte, error) {
	if !json.Valid(doc) { // a decoder would take the first of several values
		return nil, &InvalidDocument{"document", "not valid JSON"}
	}
	var v any
	if err := decode("document", doc, &v, false); err != nil {
		return nil, err
	}
	var buf bytes.Buffer
	enc := json.NewEncoder(&buf)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return nil, err
	}
	return bytes.TrimSpace(buf.Bytes()), nil
}

// nonFinite looks for the NaN or infinity that made an encoding fail. A value may be cyclic and branch at every
// level, so what is looked at is bounded.
type nonFinite struct {
	left int    // values still to be looked at
	path string // where it was found
}

func (s *nonFinite) find(v reflect.Value, path string, depth int) bool {
	s.left--
	if !v.IsValid() || depth > MaxDepth || s.left < 0 {
		return false
	}
	switch v.Kind() {
	case reflect.Float32, reflect.Float64:
		f := v.Float()
		s.path = strings.TrimPrefix(path, ".")
		return math.IsNaN(f) || math.IsInf(f, 0)
	case reflect.Pointer, reflect.Interface:
		return s.find(v.Elem(), path, depth+1)
	case reflect.Struct:
		for i := range v.NumField() {
			if within, ok := fieldPath(v.Type().Field(i), path); ok && s.find(v.Field(i), within, depth+1) {
				return true
			}
		}
	case reflect.Slice, reflect.Array:
		for i := range v.Len() {
			if s.find(v.Index(i), path+"["+strconv.Itoa(i)+"]", depth+1) {
				return true
			}
		}
	case reflect.Map:
		for _, k := range v.MapKeys() {
			if s.find(v.MapIndex(k), fmt.Sprintf("%s.%v", path, k), depth+1) {
				return true
			}
		}
	}
	return false
}

// fieldPath is where JSON puts a field of the struct at path; false where it leaves the field out.
func fieldPath(field reflect.StructField, path string) (string, bool) {
	tag := field.Tag.Get("json")
	name, _, _ := strings.Cut(tag, ",")
	switch {
	case tag == "-", !field.IsExported() && !field.Anonymous:
		return "", false
	case field.Anonymous && name == "":
		return path, true
	case name == "":
		name = field.Name
	}
	return path + "." + name, true
}

// CheckDocument says whether doc is one JSON value that we keep: well-formed, at most limit bytes and MaxDepth
// levels, without duplicate keys, U+0000, lone surrogates and invalid UTF-8. The error is an *InvalidDocument or a
// *TooLarge.
func CheckDocument(what string, doc []byte, limit int) error {
	if len(doc) > limit {
		return &TooLarge{what, len(doc), limit}
	}
	if !json.Valid(doc) {
		return &InvalidDocument{what, "not valid JSON"}
	}
	if reason := scan(doc); reason != "" {
		return &InvalidDocument{what, reason}
	}
	return nil
}

// scan looks through well-formed JSON for what encoding/json lets pass. It returns the reason, or "".
func scan(doc []byte) string {
	type level struct {
		object bool
		first  int                 // index into keys of this object's first key
		many   map[string]struct{} // the same keys, once there are too many to compare one by one
	}
	var stack []level
	var keys []string
	expectKey := false
	for i := 0; i < len(doc); {
		switch c := doc[i]; c {
		case '{', '[':
			if len(stack) == MaxDepth {
				return fmt.Sprintf("nested deeper than %d levels", MaxDepth)
			}
			stack = append(stack, level{object: c == '{', first: len(keys)})
			expectKey = c == '{'
			i++
		case '}', ']':
			keys = keys[:stack[len(stack)-1].first]
			stack = stack[:len(stack)-1]
			expectKey = false
			i++
		case ',':
			expectKey = stack[len(stack)-1].object
			i++
		case '"':
			end, plain, reason := scanString(doc, i)
			if reason != "" {
				return reason
			}
			if expectKey {
				key := string(doc[i+1 : end])
				if !plain {
					if err := json.Unmarshal(doc[i:end+1], &key); err != nil {
						return err.Error()
					}
				}
				at := &stack[len(stack)-1]
				if at.many == nil && len(keys)-at.first == 32 {
					at.many = make(map[string]struct{}, 64)
					for _, seen := range keys[at.first:] {
						at.many[seen] = struct{}{}
					}
				}
				_, twice := at.many[key]
				if at.many == nil {
					twice = slices.Contains(keys[at.first:], key)
				}
				if twice {
					return "a key stands twice in one object"
				}
				if at.many != nil {
					at.many[key] = struct{}{}
				} else {
					keys = append(keys, key)
				}
				expectKey = false
			}
			i = end + 1
		default:
			i++
		}
	}
	return ""
}

// scanString checks the string that begins at start and returns the index of its closing quote, and whether it is
// free of escapes.
func scanString(doc []byte, start int) (end int, plain bool, reason string) {
	plain = true
	for i := start + 1; ; {
		switch c := doc[i]; {
		case c == '"':
			return i, plain, ""
		case c == '\\':
			plain = false
			if doc[i+1] != 'u' {
				i += 2
				continue
			}
			r, size := escapedRune(doc[i:])
			switch {
			case size == 0:
				return 0, false, "a string holds a lone surrogate"
			case r == 0:
				return 0, false, "a string holds U+0000"
			}
			i += size
		case c < utf8.RuneSelf:
			i++
		default:
			r, size := utf8.DecodeRune(doc[i:])
			if r == utf8.RuneError && size == 1 {
				return 0, false, "a string is not valid UTF-8"
			}
			i += size
		}
	}
}

// escapedRune reads \uXXXX or a pair of them; size 0 is a lone surrogate.
func escapedRune(b []byte) (r rune, size int) {
	unit := func(b []byte) rune {
		n, err := strconv.ParseUint(string(b[2:6]), 16, 32)
		if err != nil {
			return utf8.RuneError
		}
		return rune(n)
	}
	r = unit(b)
	switch {
	case r < 0xd800 || r > 0xdfff:
		return r, 6
	case r >= 0xdc00 || len(b) < 12 || b[6] != '\\' || b[7] != 'u':
		return 0, 0
	}
	if low := unit(b[6:]); low >= 0xdc00 && low <= 0xdfff {
		return 0x10000 + (r-0xd800)<<10 + (low - 0xdc00), 12
	}
	return 0, 0
}
