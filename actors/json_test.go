package actors_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/lockstep-go/lockstep/actors"
)

func TestCheckDocument(t *testing.T) {
	long := func(n int, twice bool) string {
		var b strings.Builder
		b.WriteByte('{')
		for i := range n {
			fmt.Fprintf(&b, `"k%d":0,`, i)
		}
		if twice {
			b.WriteString(`"k40":1}`)
		} else {
			b.WriteString(`"last":1}`)
		}
		return b.String()
	}
	for _, c := range []struct {
		name, doc string
		reason    string // part of the refusal; "" is accepted
	}{
		{"number", `9007199254740993`, ""},
		{"surrounded by white space", " \n{ \"a\" : [ 1 , 2 ] }\t", ""},
		{"same key in sibling objects", `[{"a":1},{"a":2}]`, ""},
		{"same key at two levels", `{"a":{"a":{"a":1}},"b":{"a":1}}`, ""},
		{"a value equal to a key", `{"a":"a","b":"a"}`, ""},
		{"keys differ by case", `{"a":1,"A":2}`, ""},
		{"surrogate pair", `"\ud83d\ude00"`, ""},
		{"escaped backslash before u0000", `"\\u0000"`, ""},
		{"escaped backslash before ud800", `"\\ud800"`, ""},
		{"replacement character", "\"\uFFFD\"", ""},
		{"escaped replacement character", `"\ufffd"`, ""},
		{"many keys", long(100, false), ""},
		{"32 keys", long(31, false), ""},
		{"deepest", strings.Repeat("[", actors.MaxDepth) + strings.Repeat("]", actors.MaxDepth), ""},
		{"empty", ``, "not valid JSON"},
		{"two values", `1 2`, "not valid JSON"},
		{"NaN", `NaN`, "not valid JSON"},
		{"truncated", `{"a":`, "not valid JSON"},
		{"raw control character", "\"a\x01\"", "not valid JSON"},
		{"duplicate key", `{"a":1,"b":2,"a":3}`, "twice"},
		{"duplicate key, spelled otherwise", `{"a":1,"\u0061":3}`, "twice"},
		{"duplicate key after a nested object", `{"a":{"x":1},"a":3}`, "twice"},
		{"duplicate key after a nested array", `{"a":[{"x":1}],"a":3}`, "twice"},
		{"duplicate key inside an array", `[[{"a":1,"a":1}]]`, "twice"},
		{"duplicate empty key", `{"":1,"":2}`, "twice"},
		{"duplicate among many", long(100, true), "twice"},
		{"too deep", strings.Repeat("[", actors.MaxDepth+1) + strings.Repeat("]", actors.MaxDepth+1), "deeper than 100"},
		{"too deep, mixed", strings.Repeat(`{"a":[`, 51) + strings.Repeat("]}", 51), "deeper than 100"},
		{"U+0000", `"a\u0000b"`, "U+0000"},
		{"U+0000 in a key", `{"a\u0000":1}`, "U+0000"},
		{"lone high surrogate", `"\ud800"`, "surrogate"},
		{"lone low surrogate", `"\udc00x"`, "surrogate"},
		{"two high surrogates", `"\ud800\ud800"`, "surrogate"},
		{"high surrogate, then another escape", `"\ud800\n12345"`, "surrogate"},
		{"high surrogate in a key", `{"\uD83D":1}`, "surrogate"},
		{"invalid UTF-8", "\"\xff\"", "UTF-8"},
		{"invalid UTF-8 in a key", "{\"\xc3\x28\":1}", "UTF-8"},
		{"overlong UTF-8", "\"\xc0\x80\"", "UTF-8"},
		{"surrogate as UTF-8", "\"\xed\xa0\x80\"", "UTF-8"},
	} {
		t.Run(c.name, func(t *testing.T) {
			err := actors.CheckDocument("arguments", []byte(c.doc), 1<<20)
			if c.reason == "" {
				if err != nil {
					t.Errorf("refused: %v", err)
				}
				return
			}
			invalid, ok := errors.AsType[*actors.InvalidDocument](err)
			if !ok || invalid.What != "arguments" || !strings.Contains(invalid.Reason, c.reason) {
				t.Errorf("got %v, want an *InvalidDocument about %q", err, c.reason)
			}
		})
	}
}

func TestCheckDocumentNamesBothSizes(t *testing.T) {
	if err := actors.CheckDocument("state", []byte(`"12345678"`), 10); err != nil {
		t.Errorf("a document of exactly the limit: %v", err)
	}
	err := actors.CheckDocument("state", []byte(`"123456789"`), 10)
	large, ok := errors.AsType[*actors.TooLarge](err)
	if !ok || *large != (actors.TooLarge{What: "state", Bytes: 11, Limit: 10}) {
		t.Errorf("got %v, want a *TooLarge of 11 bytes over 10", err)
	}
	if text := err.Error(); !strings.Contains(text, "11") || !strings.Contains(text, "10") || !strings.Contains(text, "state") {
		t.Errorf("%q does not say what and how much", text)
	}
}

type panickyJSON struct{}

func (panickyJSON) MarshalJSON() ([]byte, error) { panic("no JSON today") }

type brokenJSON struct{}

func (brokenJSON) MarshalJSON() ([]byte, error) { return []byte(`{"a":`), nil }

type branch struct {
	Left, Right *branch
	Weight      float64
}

type embedded struct {
	Rate float64 `json:"rate"`
}

type outer struct {
	Skipped float64 `json:"-"`
	embedded
	Lines map[string][]embedded `json:"lines"`
	Any   any                   `json:"any"`
}

func TestEncodeDocumentRefuses(t *testing.T) {
	cycle := &branch{}
	cycle.Left, cycle.Right = cycle, cycle
	for _, c := range []struct {
		name   string
		value  any
		reason string
	}{
		{"NaN", math.NaN(), "NaN"},
		{"NaN in a map in a struct", outer{Lines: map[string][]embedded{"mug": {{}, {math.NaN()}}}}, "NaN (at lines.mug[1].rate)"},
		{"infinity behind an interface", outer{Any: []any{1, math.Inf(-1)}}, "-Inf (at any[1])"},
		{"the path skips what JSON skips", outer{Skipped: math.NaN(), embedded: embedded{math.Inf(1)}}, "+Inf (at rate)"},
		{"channel", make(chan int), "chan int"},
		{"cyclic value", cycle, "cycle"},
		{"panicking MarshalJSON", panickyJSON{}, "no JSON today"},
		{"broken MarshalJSON", brokenJSON{}, "JSON"},
		{"invalid UTF-8", "a\xff", "UTF-8"},
		{"invalid UTF-8 as key", map[string]int{"a\xff": 1}, "UTF-8"},
		{"invalid UTF-8 after the text of an escape", `\ufffd` + "\xff", "UTF-8"},
		{"NUL", "a\x00b", "U+0000"},
		{"raw lone surrogate", json.RawMessage(`"\ud800"`), "surrogate"},
		{"raw duplicate keys", json.RawMessage(`{"a":1,"a":2}`), "twice"},
	} {
		t.Run(c.name, func(t *testing.T) {
			answer := make(chan error, 1)
			go func() {
				_, err := actors.EncodeDocument("result", c.value, 1<<20)
				answer <- err
			}()
			select {
			case err := <-answer:
				invalid, ok := errors.AsType[*actors.InvalidDocument](err)
				if !ok || !strings.Contains(invalid.Reason, c.reason) {
					t.Errorf("got %v, want an *InvalidDocument about %q", err, c.reason)
				}
				if !actors.IsPermanent(err) {
					t.Error("a retry cannot mend it, but it is not permanent")
				}
			case <-time.After(10 * time.Second):
				t.Fatal("still encoding after 10 s")
			}
		})
	}
}

func TestEncodeDocumentKeepsText(t *testing.T) {
	for _, c := range []struct {
		value any
		want  string
	}{
		{"a<b>&c\u2028", `"a<b>&c` + `\u2028"`},
		{"\uFFFD", "\"\uFFFD\""},
		{`\ufffd`, `"\\ufffd"`},
		{json.RawMessage(` { "b" : 1.0 , "a" : -0 } `), `{"b":1.0,"a":-0}`},
		{struct{}{}, `{}`},
		{uint64(math.MaxUint64), `18446744073709551615`},
	} {
		doc, err := actors.EncodeDocument("result", c.value, 1<<20)
		if err != nil || string(doc) != c.want {
			t.Errorf("%#v encodes as %s, %v; want %s", c.value, doc, err, c.want)
		}
	}
}

func TestEncodeDocumentBoundsTheResult(t *testing.T) {
	doc, err := actors.EncodeDocument("result", "12345678", 10)
	if err != nil || len(doc) != 10 {
		t.Errorf("exactly the limit: %s, %v", doc, err)
	}
	if _, err := actors.EncodeDocument("result", "123456789", 10); !actors.IsPermanent(err) {
		t.Errorf("one more: %v, want a permanent *TooLarge", err)
	}
}

// Encoded documents come from a pool of buffers: none may change when the next is made.
func TestEncodeDocumentResultsAreTheirOwn(t *testing.T) {
	first, err := actors.EncodeDocument("result", "first", 100)
	if err != nil {
		t.Fatal(err)
	}
	for range 100 {
		if _, err := actors.EncodeDocument("result", "other", 100); err != nil {
			t.Fatal(err)
		}
	}
	if string(first) != `"first"` {
		t.Errorf("the first document has become %s", first)
	}
}

// D05: integers beyond 2^53 keep their digits, in typed fields and in those of type any.
func TestD05LargeIntegersStayExact(t *testing.T) {
	type numbers struct {
		Signed   int64  `json:"signed"`
		Unsigned uint64 `json:"unsigned"`
		Any      any    `json:"any"`
	}
	in := numbers{math.MaxInt64, math.MaxUint64, uint64(9007199254740993)}
	doc, err := actors.EncodeDocument("state", in, 1000)
	if err != nil {
		t.Fatal(err)
	}
	var out numbers
	if err := actors.DecodeDocument("state", doc, &out); err != nil {
		t.Fatal(err)
	}
	if want := (numbers{math.MaxInt64, math.MaxUint64, json.Number("9007199254740993")}); out != want {
		t.Errorf("came back as %+v, want %+v", out, want)
	}
	again, err := actors.EncodeDocument("state", out, 1000)
	if err != nil || string(again) != string(doc) {
		t.Errorf("encodes again as %s, %v; want %s", again, err, doc)
	}
}

func TestDecodeStrictRefusesUnknownFields(t *testing.T) {
	type input struct {
		Qty int `json:"qty"`
	}
	var in input
	if err := actors.DecodeDocument("arguments", []byte(`{"qty":1,"price":0}`), &in); err != nil || in.Qty != 1 {
		t.Errorf("a stored document of another build: %+v, %v", in, err)
	}
	for _, doc := range []string{`{"qty":1,"price":0}`, `{"qty":1}{"qty":2}`, `{"qty":"1"}`, `{"qty":1,"qty":2}`} {
		err := actors.DecodeStrict("arguments", []byte(doc), &in, 100)
		if _, ok := errors.AsType[*actors.InvalidDocument](err); !ok {
			t.Errorf("%s: %v, want an *InvalidDocument", doc, err)
		}
	}
}

type panickyDecode struct{}

func (*panickyDecode) UnmarshalJSON([]byte) error { panic("cannot read") }

func TestDecodePanicIsAnError(t *testing.T) {
	err := actors.DecodeDocument("state", []byte(`{}`), &panickyDecode{})
	if _, ok := errors.AsType[*actors.InvalidDocument](err); !ok {
		t.Errorf("got %v, want an *InvalidDocument", err)
	}
}

func TestCanonical(t *testing.T) {
	same := [][2]string{
		{`{"b":1,"a":{"d":[1, 2],"c":null}}`, "{ \"a\" : {\"c\":null,\n\"d\":[1,2]}, \"b\":1 }"},
		{`"\u0061<"`, `"a\u003c"`},
		{`9007199254740993`, ` 9007199254740993 `},
	}
	for _, pair := range same {
		if a, b := canonical(t, pair[0]), canonical(t, pair[1]); a != b {
			t.Errorf("%s and %s are told apart: %s, %s", pair[0], pair[1], a, b)
		}
	}
	different := [][2]string{
		{`9007199254740993`, `9007199254740992`},
		{`1`, `"1"`},
		{`[1,2]`, `[2,1]`},
		{`{"a":null}`, `{}`},
		{`0`, `-0`},
	}
	for _, pair := range different {
		if a, b := canonical(t, pair[0]), canonical(t, pair[1]); a == b {
			t.Errorf("%s and %s are taken for the same: %s", pair[0], pair[1], a)
		}
	}
	for _, doc := range []string{``, `{`, `1 2`, `{}]`} {
		if out, err := actors.Canonical([]byte(doc)); err == nil {
			t.Errorf("%q has the canonical form %s, want an error", doc, out)
		}
	}
}

func canonical(t *testing.T, doc string) string {
	t.Helper()
	out, err := actors.Canonical([]byte(doc))
	if err != nil {
		t.Fatalf("%s: %v", doc, err)
	}
	return string(out)
}
