package wire_test

import (
	"encoding/json"
	"errors"
	"reflect"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/lockstep-go/lockstep/realtime/wire"
)

func TestFramesHoldExactlyTheirFields(t *testing.T) {
	instance, none := "i-1", ""
	for want, f := range map[string]wire.Frame{
		`{"t":"hello","heartbeat":25000,"build":"b"}`: {Type: "hello", Heartbeat: 25000, Build: "b"},
		`{"t":"ping"}`: {Type: "ping"},
		`{"t":"ok","n":0,"s":"s","i":"","r":"0","f":[]}`: {Type: "ok", Scope: "s", Instance: &none, Revision: wire.Rev(0)},
		`{"t":"ok","n":7,"s":"s","i":"i-1","r":"9007199254740993","f":[{"k":"t","r":"9007199254740993","h":"<b>&\"</b>"},{"k":"u","r":"2","h":""}]}`: {
			Type: "ok", Number: 7, Scope: "s", Instance: &instance, Revision: wire.Rev(1<<53 + 1),
			Fragments: []wire.Fragment{{"t", wire.Rev(1<<53 + 1), `<b>&"</b>`}, {"u", wire.Rev(2), ""}}},
		`{"t":"f","i":"i-1","r":"3","k":"t","h":"<i>x</i>"}`:                     {Type: "f", Instance: &instance, Revision: wire.Rev(3), Target: "t", HTML: "<i>x</i>"},
		`{"t":"no","n":0,"s":"","reason":"bad_request","retry":false,"after":0}`: {Type: "no", Reason: wire.BadRequest},
		`{"t":"no","n":4,"s":"<\"","reason":"later","retry":true,"after":1500}`:  {Type: "no", Number: 4, Scope: `<"`, Reason: wire.Later, Retry: true, After: 1500},
	} {
		if got := string(wire.Encode(f)); got != want {
			t.Errorf("encoded %s\nwant    %s", got, want)
		}
	}
}

func TestReasonsThatMayBeRetried(t *testing.T) {
	for reason, want := range map[wire.Reason]bool{
		wire.Denied: false, wire.Unknown: false, wire.BadToken: false, wire.UnknownKey: false, wire.Expired: false,
		wire.Limit: false, wire.BadRequest: false, wire.Later: true, wire.Newer: true, wire.Failed: true,
	} {
		if reason.Retry() != want {
			t.Errorf("%s: retry %v", reason, !want)
		}
	}
}

func FuzzParseCommand(f *testing.F) {
	for _, text := range []string{"", "null", "{}", "[]", `{"t":"sub","n":1,"s":"s","token":"x","more":["y"],"first":true}`,
		`{"t":"unsub","s":"s"}`, `{"t":"pong"}`, `{"t":"later","s":[1]}`, `{"t":"sub","s":"` + strings.Repeat("x", 40) + `"}`, "\xff", `{"t":"sub","t":"pong"}`} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		c, err := wire.ParseCommand(text)
		switch {
		case err != nil && !errors.Is(err, wire.ErrNoCommand):
			t.Errorf("%q: %v", text, err)
		case len(c.Scope) > wire.MaxScopeName:
			t.Errorf("%q: a scope of %d bytes", text, len(c.Scope))
		case err == nil && c.Type == "":
			t.Errorf("%q: a command without a type", text)
		case err == nil && (c.Type == "sub" || c.Type == "unsub") && c.Scope == "":
			t.Errorf("%q: %+v has no scope", text, c)
		}
	})
}

// What Encode writes, encoding/json reads back.
func FuzzEncode(f *testing.F) {
	f.Add("s", "i", "target", "<p>&</p>", int64(1))
	f.Add("\x00", "\u2028", "\"", "</script>\\", int64(-1))
	f.Fuzz(func(t *testing.T, scope, instance, target, html string, n int64) {
		for _, s := range []string{scope, instance, target, html} {
			if !utf8.ValidString(s) {
				return
			}
		}
		for _, want := range []wire.Frame{
			{Type: "ok", Number: n, Scope: scope, Instance: &instance, Revision: wire.Rev(n), Fragments: []wire.Fragment{{target, wire.Rev(n), html}}},
			{Type: "f", Instance: &instance, Revision: wire.Rev(n), Target: target, HTML: html},
			{Type: "no", Number: n, Scope: scope, Reason: wire.Reason(target), After: n},
			{Type: "hello", Heartbeat: n, Build: html},
		} {
			var got wire.Frame
			if err := json.Unmarshal(wire.Encode(want), &got); err != nil {
				t.Fatalf("%s: %v", wire.Encode(want), err)
			}
			if !reflect.DeepEqual(got, want) {
				t.Errorf("read back %+v, want %+v", got, want)
			}
		}
	})
}
