package web

import (
	"encoding"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/lockstep-go/lockstep/actors"
)

// Bounds of a form.
const (
	maxFields    = 1000 // values in it
	maxFormDepth = 8    // of dotted names
)

// field is a place in a message's input that a form can fill.
type field struct {
	path   []string // of JSON keys
	typ    reflect.Type
	repeat bool // a slice: the form's field may stand several times
}

// schema maps the names of a form's fields to places in an input. A nested struct's have dotted names. An input that is
// no struct is the field "value".
type schema map[string]field

func schemaOf(input reflect.Type) schema {
	s := schema{}
	if isLeaf(input) || input.Kind() != reflect.Struct {
		s.add([]string{"value"}, input)
		return s
	}
	s.walk(nil, input)
	return s
}

func (s schema) add(path []string, typ reflect.Type) {
	name := strings.Join(path, ".")
	if _, taken := s[name]; taken {
		return // of an embedded struct: the outer field wins, as in encoding/json
	}
	f := field{path: path, typ: typ}
	if !isLeaf(typ) && (typ.Kind() == reflect.Slice && typ.Elem().Kind() != reflect.Uint8) {
		f.typ, f.repeat = typ.Elem(), true
	}
	s[name] = f
}

func (s schema) walk(path []string, typ reflect.Type) {
	if len(path) > maxFormDepth {
		return
	}
	var embedded []reflect.Type
	for f := range typ.Fields() {
		tag, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		inner := f.Type
		if inner.Kind() == reflect.Pointer && !isLeaf(inner) {
			inner = inner.Elem()
		}
		switch nested := inner.Kind() == reflect.Struct && !isLeaf(inner) && !isLeaf(f.Type); {
		case tag == "-":
		case f.Anonymous && tag == "" && nested:
			embedded = append(embedded, inner)
		case !f.IsExported():
		case nested:
			s.walk(append(path[:len(path):len(path)], name(tag, f)), inner)
		default:
			s.add(append(path[:len(path):len(path)], name(tag, f)), f.Type)
		}
	}
	for _, e := range embedded {
		s.walk(path, e)
	}
}

func name(tag string, f reflect.StructField) string {
	if tag != "" {
		return tag
	}
	return f.Name
}

var (
	timeType      = reflect.TypeFor[time.Time]()
	numberType    = reflect.TypeFor[json.Number]()
	unmarshaler   = reflect.TypeFor[json.Unmarshaler]()
	textUnmarshal = reflect.TypeFor[encoding.TextUnmarshaler]()
)

// isLeaf says whether typ reads its own JSON, so that what a form says is its text.
func isLeaf(typ reflect.Type) bool {
	if typ.Kind() == reflect.Pointer {
		return isLeaf(typ.Elem())
	}
	p := reflect.PointerTo(typ)
	return p.Implements(unmarshaler) || p.Implements(textUnmarshal)
}

// invalid is a field that does not fit.
func invalid(name, reason string) *Error {
	text := texts[CodeInvalid]
	if name != "" {
		text = "Please check “" + clip(name) + "”: it " + reason + "."
	}
	return &Error{Status: http.StatusUnprocessableEntity, Code: CodeInvalid, Text: text, Field: clip(name), Cause: errors.New("a form field " + reason)}
}

// clip bounds what a stranger can have repeated.
func clip(s string) string {
	if s = actors.CleanText(s, 200); len(s) > 100 {
		return strings.ToValidUTF8(s[:100], "") + "…"
	}
	return s
}

// isOwn says whether a field of a form is no part of its message: those of the library, and a button named "submit"
// where the message has no field of that name.
func isOwn(name string) bool { return strings.HasPrefix(name, "_ls_") || name == "submit" }

// decode turns a form into the JSON document of an input, and that into into. The document goes through the decoder
// that reads what strangers write.
func (s schema) decode(form url.Values, into any, limit int) error {
	root := map[string]any{}
	for _, name := range slices.Sorted(maps.Keys(form)) { // the same form is refused for the same reason
		values := form[name]
		f, known := s[name]
		switch {
		case !known && isOwn(name):
			continue
		case !known:
			return invalid(name, "is no field of this form")
		case len(values) > 1 && !f.repeat:
			return invalid(name, "stands in the form twice")
		}
		v, err := f.value(name, values)
		if err != nil {
			return err
		}
		if v == nil {
			continue // a field that may be left out was left empty
		}
		at := root
		for _, key := range f.path[:len(f.path)-1] {
			inner, ok := at[key].(map[string]any)
			if !ok {
				inner = map[string]any{}
				at[key] = inner
			}
			at = inner
		}
		at[f.path[len(f.path)-1]] = v
	}
	var doc any = root
	if t := reflect.TypeOf(into).Elem(); isLeaf(t) || t.Kind() != reflect.Struct {
		v, ok := root["value"]
		if !ok {
			return invalid("value", "is missing")
		}
		doc = v
	}
	text, err := actors.EncodeDocument("form", doc, limit)
	if err != nil {
		return err
	}
	return actors.DecodeStrict("form", text, into, limit)
}

// value is what a field says, as a value that JSON writes.
func (f field) value(name string, values []string) (any, error) {
	if !f.repeat {
		return scalar(name, f.typ, values[0])
	}
	all := make([]any, 0, len(values))
	for _, text := range values {
		v, err := scalar(name, f.typ, text)
		switch {
		case err != nil:
			return nil, err
		case v == nil:
			return nil, invalid(name, "must not be empty")
		}
		all = append(all, v)
	}
	return all, nil
}

// scalar reads one field's text. Nil is an optional field (a pointer) that was left empty.
func scalar(name string, typ reflect.Type, text string) (any, error) {
	if !utf8.ValidString(text) || strings.ContainsRune(text, 0) {
		return nil, invalid(name, "holds characters that are no text")
	}
	if typ.Kind() == reflect.Pointer {
		if text == "" {
			return nil, nil
		}
		return scalar(name, typ.Elem(), text)
	}
	text = lineEnds(text)
	trimmed := strings.Trim(text, " \t\n")
	switch {
	case typ == timeType:
		return instant(name, trimmed)
	case typ == numberType:
		return number(name, trimmed)
	case isLeaf(typ):
		return text, nil
	}
	switch typ.Kind() {
	case reflect.String:
		return text, nil
	case reflect.Bool:
		switch trimmed {
		case "true", "on", "1": // a checkbox says "on"
			return true, nil
		case "false", "off", "0":
			return false, nil
		}
		return nil, invalid(name, "must be yes or no")
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		n, err := strconv.ParseInt(trimmed, 10, typ.Bits())
		if err != nil {
			return nil, invalid(name, "must be a whole number")
		}
		return n, nil
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64, reflect.Uintptr:
		n, err := strconv.ParseUint(trimmed, 10, typ.Bits())
		if err != nil {
			return nil, invalid(name, "must be a whole number, not below zero")
		}
		return n, nil
	case reflect.Float32, reflect.Float64:
		return number(name, trimmed)
	}
	return nil, invalid(name, "cannot be filled by a form")
}

// lineEnds undoes what forms do to the ends of lines.
func lineEnds(text string) string { return strings.ReplaceAll(text, "\r\n", "\n") }

func number(name, text string) (any, error) {
	if text == "" || text[0] != '-' && (text[0] < '0' || text[0] > '9') || !json.Valid([]byte(text)) {
		return nil, invalid(name, "must be a number")
	}
	return json.RawMessage(text), nil
}

// instant reads a time as RFC 3339, or as the date and datetime-local inputs of browsers write it, in UTC.
func instant(name, text string) (any, error) {
	for _, layout := range []string{time.RFC3339Nano, "2006-01-02T15:04", "2006-01-02T15:04:05", time.DateOnly} {
		if t, err := time.Parse(layout, text); err == nil {
			return t, nil
		}
	}
	return nil, invalid(name, "must be a date or a time")
}

// readForm reads the fields of a POST, from its body only.
func readForm(r *http.Request, limit int64) (url.Values, error) {
	switch typ := mediaType(r); typ {
	case "application/x-www-form-urlencoded":
		if err := r.ParseForm(); err != nil {
			return nil, unreadable(err)
		}
	case "multipart/form-data":
		if err := r.ParseMultipartForm(limit); err != nil {
			return nil, unreadable(err)
		}
		defer r.MultipartForm.RemoveAll()
		for name := range r.MultipartForm.File {
			return nil, invalid(name, "is a file, which a message cannot carry")
		}
	default:
		return nil, made(http.StatusUnsupportedMediaType, CodeUnsupportedMT, fmt.Errorf("content type %q", clip(typ)))
	}
	count := 0
	for _, values := range r.PostForm {
		count += len(values)
	}
	if count > maxFields {
		return nil, made(http.StatusRequestEntityTooLarge, CodeTooLarge, fmt.Errorf("a form has %d values, the limit is %d", count, maxFields))
	}
	return r.PostForm, nil
}

// readDocument reads a JSON body into an input.
func readDocument(r *http.Request, into any, limit int64) error {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return unreadable(err)
	}
	if _, none := into.(*actors.None); none && len(body) == 0 {
		return nil
	}
	return actors.DecodeStrict("arguments", body, into, int(limit))
}

func unreadable(err error) error {
	if is[*http.MaxBytesError](err) {
		return err
	}
	return made(http.StatusBadRequest, CodeMalformed, err)
}
