package views

import (
	"bytes"
	"context"
	"encoding"
	"encoding/json"
	"fmt"
	"io"
	"reflect"
	"strings"

	"github.com/a-h/templ"

	"github.com/lockstep-go/lockstep/actors"
	"github.com/lockstep-go/lockstep/realtime/wire"
)

// valuePrefix tells the target of a shared observable's value from a component's.
const valuePrefix = "="

// Value shows a shared observable as text in a span that stays current. The text is the value's String method's or
// MarshalText method's, or how JSON writes a string, number or bool; nil is no text. Anything else is an error: show it
// with a component.
func Value[S, V any](o *actors.SharedType[S, V]) templ.Component {
	def, p := o.Actor().Definition(), o.Projection()
	return templ.ComponentFunc(func(ctx context.Context, w io.Writer) error {
		f := frameOf(ctx)
		if err := f.misplaced("value "+def.Name+"."+p.Name, def); err != nil {
			return err
		}
		text, err := valueHTML(f.scope, p)
		if err != nil {
			return err
		}
		_, err = io.WriteString(w, text)
		return err
	})
}

// valueHTML records the value as a target and renders it.
func valueHTML(s *scope, p *actors.Projection) (string, error) {
	v, err := s.state.value(p)
	if err != nil {
		return "", err
	}
	text, err := textOf(v)
	if err != nil {
		return "", fmt.Errorf("value %s.%s: %w", s.def.Name, p.Name, err)
	}
	text = strings.ToValidUTF8(text, "\uFFFD")
	name := s.show(wire.Target{Component: valuePrefix + p.Name})
	return `<span` + attribute + name + `">` + templ.EscapeString(text) + `</span>`, nil
}

// textOf is a value as text.
func textOf(v any) (text string, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = panicked(p)
		}
	}()
	rv := reflect.ValueOf(v)
	if !rv.IsValid() || rv.Kind() == reflect.Pointer && rv.IsNil() {
		return "", nil
	}
	switch v := v.(type) {
	case fmt.Stringer:
		return v.String(), nil
	case encoding.TextMarshaler:
		b, err := v.MarshalText()
		return string(b), err
	}
	switch rv.Kind() {
	case reflect.String:
		return rv.String(), nil
	case reflect.Bool, reflect.Float32, reflect.Float64,
		reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64,
		reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		doc, err := json.Marshal(v)
		return string(bytes.Trim(doc, `"`)), err
	case reflect.Pointer, reflect.Interface:
		return textOf(rv.Elem().Interface())
	}
	return "", fmt.Errorf("a %T is no text: show it with a component, or give it a String method", v)
}
