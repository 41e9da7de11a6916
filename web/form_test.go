package web

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/lockstep-go/lockstep/actors"
)

type address struct {
	Street string `json:"street"`
	City   string `json:"city"`
}

type base struct {
	Origin string `json:"origin"`
	Name   string `json:"name"` // hidden by order's
}

type kind string

type order struct {
	base
	Name    string          `json:"name"`
	Qty     int             `json:"qty"`
	Small   int8            `json:"small"`
	Big     int64           `json:"big"`
	Count   uint            `json:"count"`
	Price   float64         `json:"price"`
	Exact   json.Number     `json:"exact"`
	Gift    bool            `json:"gift"`
	Tags    []string        `json:"tags"`
	Sizes   []int           `json:"sizes"`
	Kind    kind            `json:"kind"`
	When    time.Time       `json:"when"`
	Limit   *int            `json:"limit"`
	Until   *time.Time      `json:"until"`
	Ship    address         `json:"ship"`
	Bill    *address        `json:"bill"`
	Plain   string          // no tag
	Dashed  string          `json:"-"`
	Any     any             `json:"any"`
	Extra   map[string]int  `json:"extra"`
	Raw     json.RawMessage `json:"raw"`
	Dur     time.Duration   `json:"dur"`
	private string
}

func decodeForm[T any](form string) (T, error) {
	var into T
	values, err := url.ParseQuery(form)
	if err != nil {
		return into, err
	}
	return into, schemaOf(reflect.TypeFor[T]()).decode(values, &into, 1<<20)
}

func TestFormDecodes(t *testing.T) {
	day := time.Date(2026, 5, 1, 0, 0, 0, 0, time.UTC)
	for _, tc := range []struct {
		form string
		want order
	}{
		{"name=mug&origin=here&qty=-2&Plain=p", order{base: base{Origin: "here"}, Name: "mug", Qty: -2, Plain: "p"}},
		{"big=9007199254740993&count=18446744073709551615", order{Big: 9007199254740993, Count: 18446744073709551615}},
		{"price=1.5e3&exact=12.50", order{Price: 1500, Exact: "12.50"}},
		{"gift=on", order{Gift: true}}, {"gift=false", order{}}, {"gift=1", order{Gift: true}},
		{"tags=red&tags=&tags=blue", order{Tags: []string{"red", "", "blue"}}},
		{"sizes=3&sizes=+4+", order{Sizes: []int{3, 4}}},
		{"kind=odd&dur=5", order{Kind: "odd", Dur: 5}},
		{"when=2026-05-01", order{When: day}},
		{"when=2026-05-01T12:30", order{When: day.Add(12*time.Hour + 30*time.Minute)}},
		{"when=2026-05-01T12:30:00%2B02:00", order{When: day.Add(10*time.Hour + 30*time.Minute)}},
		{"limit=&until=", order{}}, {"limit=7", order{Limit: new(7)}}, {"until=2026-05-01", order{Until: &day}},
		{"ship.street=a&ship.city=b&bill.city=c", order{Ship: address{"a", "b"}, Bill: &address{City: "c"}}},
		{"name=two%0D%0Alines%0D", order{Name: "two\nlines\r"}},
		{"name=%F0%9F%9A%80+%3Cb%3E%26", order{Name: "🚀 <b>&"}},
		{"_ls_form=x&_ls_key=y&_ls_other=z&submit=Go&name=n", order{Name: "n"}},
		{"", order{}},
	} {
		got, err := decodeForm[order](tc.form)
		if err != nil || !sameOrder(got, tc.want) {
			t.Errorf("%s: %+v, %v; want %+v", tc.form, got, err, tc.want)
		}
	}
}

func sameOrder(a, b order) bool {
	if !a.When.Equal(b.When) || (a.Until == nil) != (b.Until == nil) || a.Until != nil && !a.Until.Equal(*b.Until) {
		return false
	}
	a.When, b.When, a.Until, b.Until = time.Time{}, time.Time{}, nil, nil
	return reflect.DeepEqual(a, b)
}

func TestFormRefuses(t *testing.T) {
	for _, tc := range []struct{ form, field, reason string }{
		{"qty=", "qty", "whole number"}, {"qty=1.5", "qty", "whole number"}, {"qty=1e3", "qty", "whole number"}, {"qty=0x10", "qty", "whole number"},
		{"small=128", "small", "whole number"}, {"big=9223372036854775808", "big", "whole number"}, {"count=-1", "count", "not below zero"},
		{"price=", "price", "a number"}, {"price=NaN", "price", "a number"}, {"price=Inf", "price", "a number"}, {"price=0x1p-2", "price", "a number"}, {"price=.5", "price", "a number"},
		{"price={}", "price", "a number"}, {"price=1,2", "price", "a number"}, {"exact=", "exact", "a number"}, {"exact=\"1\"", "exact", "a number"},
		{"gift=", "gift", "yes or no"}, {"gift=maybe", "gift", "yes or no"},
		{"sizes=", "sizes", "whole number"}, {"sizes=1&sizes=x", "sizes", "whole number"},
		{"when=", "when", "a date"}, {"when=yesterday", "when", "a date"},
		{"unknown=1", "unknown", "no field"}, {"Name=1", "Name", "no field"}, {"NAME=1", "NAME", "no field"}, {"Dashed=1", "Dashed", "no field"}, {"private=1", "private", "no field"},
		{"ship=1", "ship", "no field"}, {"ship.zip=1", "ship.zip", "no field"}, {"tags.0=x", "tags.0", "no field"}, {"base.origin=x", "base.origin", "no field"},
		{"name=a&name=b", "name", "twice"}, {"limit=1&limit=2", "limit", "twice"},
		{"name=a%00b", "name", "no text"}, {"name=%FF", "name", "no text"}, {"tags=ok&tags=%FF", "tags", "no text"},
		{"any=1", "any", "cannot be filled"}, {"extra=1", "extra", "cannot be filled"},
	} {
		_, err := decodeForm[order](tc.form)
		e, ok := errors.AsType[*Error](err)
		if !ok || e.Code != CodeInvalid || e.Status != 422 || e.Field != tc.field || !strings.Contains(e.Text, tc.reason) {
			t.Errorf("%s: %v, want field %s to be refused with %q", tc.form, err, tc.field, tc.reason)
		}
	}
	if _, err := decodeForm[order]("name=" + strings.Repeat("x", 1<<20)); !is[*actors.TooLarge](err) {
		t.Errorf("a form beyond the limit: %v", err)
	}
	_, err := decodeForm[order](strings.Repeat("%FF", 500) + "=1")
	if e, ok := errors.AsType[*Error](err); !ok || len(e.Text) > 300 || !json.Valid(fmt.Appendf(nil, "%q", e.Text)) {
		t.Errorf("a hostile field name is repeated: %v", err)
	}
}

func TestFormOfAnInputThatIsNoStruct(t *testing.T) {
	if n, err := decodeForm[int]("value=5&_ls_key=k"); n != 5 || err != nil {
		t.Errorf("int: %d, %v", n, err)
	}
	if s, err := decodeForm[string]("value="); s != "" || err != nil {
		t.Errorf("string: %q, %v", s, err)
	}
	if all, err := decodeForm[[]string]("value=a&value=b"); len(all) != 2 || err != nil {
		t.Errorf("slice: %q, %v", all, err)
	}
	if at, err := decodeForm[time.Time]("value=2026-05-01"); at.Year() != 2026 || err != nil {
		t.Errorf("time: %v, %v", at, err)
	}
	if _, err := decodeForm[int](""); !is[*Error](err) {
		t.Errorf("nothing for an int: %v", err)
	}
	if _, err := decodeForm[actors.None]("submit=Go"); err != nil {
		t.Errorf("nothing for nothing: %v", err)
	}
	if _, err := decodeForm[actors.None]("value=1"); !is[*Error](err) {
		t.Errorf("something for nothing: %v", err)
	}
}

// FuzzForm looks for a form that panics, that is taken though it cannot be stored, or that comes back as another input.
func FuzzForm(f *testing.F) {
	for _, seed := range []string{
		"name=mug&qty=2", "qty=", "tags=a&tags=b&sizes=1", "ship.street=x&bill.city=y&limit=", "name=%00", "%FF=1", "when=2026-05-01T12:30",
		"exact=1e400", "price=-0", "raw={}", "name=\u2028&Plain=\ufffd", "ship.=1&.=2&=3", "a;b=1", "_ls_form=&submit", "dur=1&small=-128",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, form string) {
		in, err := decodeForm[order](form)
		if err != nil {
			return
		}
		doc, err := actors.EncodeDocument("arguments", in, 1<<20)
		if err != nil {
			t.Fatalf("%q was taken as %+v, which cannot be stored: %v", form, in, err)
		}
		var again order
		if err := actors.DecodeStrict("arguments", doc, &again, 1<<20); err != nil {
			t.Fatalf("%q: %s: %v", form, doc, err)
		}
		twice, err := actors.EncodeDocument("arguments", again, 1<<20)
		if err != nil || string(twice) != string(doc) {
			t.Fatalf("%q: %s comes back as %s, %v", form, doc, twice, err)
		}
	})
}
