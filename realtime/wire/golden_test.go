package wire_test

import (
	"bytes"
	"encoding/json"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/lockstep-go/lockstep/realtime/wire"
)

// The frames in testdata/frames are read by the client's tests too: what one side writes there, the other reads.
func TestGoldenFrames(t *testing.T) {
	instance, none := "0198c1d2", ""
	server := map[string]wire.Frame{
		"hello":    {Type: "hello", Heartbeat: 25000, Build: "5d41402abc4b2a76"},
		"ping":     {Type: "ping"},
		"ok-equal": {Type: "ok", Number: 1, Scope: "s1", Instance: &instance, Revision: wire.Rev(41)},
		"ok-absent": {Type: "ok", Number: 1, Scope: "s1", Instance: &none, Revision: wire.Rev(0),
			Fragments: []wire.Fragment{{Target: "count", Revision: wire.Rev(0), HTML: `<b data-ls="count">0</b>`}}},
		"ok": {Type: "ok", Number: 1, Scope: "s1", Instance: &instance, Revision: wire.Rev(1<<53 + 1), Fragments: []wire.Fragment{
			{Target: "count", Revision: wire.Rev(1<<53 + 1), HTML: "<b data-ls=\"count\">2 &amp; \u2028</b>"},
			{Target: "items", Revision: wire.Rev(42), HTML: `<template data-ls="items"></template>`},
		}},
		"f": {Type: "f", Instance: &instance, Revision: wire.Rev(1<<53 + 2), Target: "count", HTML: `<b data-ls="count">3</b>`},
		"l": {Type: "l", Instance: &instance, Revision: wire.Rev(1<<53 + 3), Base: wire.Rev(1<<53 + 1), Target: "items", Token: "0a1b2c3d.PART3",
			Gone: []string{"i1"}, Changes: []wire.Change{
				{Item: "i4", After: new(""), HTML: new(`<li data-ls-item="i4">new &amp; first</li>`)},
				{Item: "i2", HTML: new(`<li data-ls-item="i2">changed</li>`)},
				{Item: "i3", After: new("i2")},
			}},
	}
	for _, r := range protocol(t).Reasons {
		f := wire.Frame{Type: "no", Number: 1, Scope: "s1", Reason: r.Reason, Retry: r.Retry}
		f.After = map[wire.Reason]int64{wire.Later: 1500, wire.Newer: 7000}[r.Reason]
		server["no-"+string(r.Reason)] = f
	}
	client := map[string]wire.Command{
		"sub":      {Type: "sub", Number: 1, Scope: "s1", Token: "0a1b2c3d.TOKEN", More: []string{}, First: true, Lists: true},
		"sub-more": {Type: "sub", Number: 2, Scope: "s1", Token: "0a1b2c3d.TOKEN", More: []string{"0a1b2c3d.PART1", "0a1b2c3d.PART2"}, Lists: true},
		"unsub":    {Type: "unsub", Scope: "s1"},
		"pong":     {Type: "pong"},
	}
	files, err := filepath.Glob("testdata/frames/*.json")
	if err != nil || len(files) != len(server)+len(client) {
		t.Errorf("%d golden frames, %v; want %d", len(files), err, len(server)+len(client))
	}
	for name, want := range server {
		if text := golden(t, "frames/server-"+name); !bytes.Equal(text, wire.Encode(want)) {
			t.Errorf("%s:\n%s\nencoded as\n%s", name, text, wire.Encode(want))
		}
	}
	for name, want := range client {
		text := golden(t, "frames/client-"+name)
		if got, err := wire.ParseCommand(text); err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%s: parsed as %+v, %v; want %+v", name, got, err, want)
		}
		later := append(bytes.TrimSuffix(text, []byte("}")), `,"later":{"x":[1]}}`...)
		if got, err := wire.ParseCommand(later); err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%s with a field of a later version: parsed as %+v, %v", name, got, err)
		}
	}
}

// lists are the closed lists of the protocol.
type lists struct {
	Version, AnyVersion string
	Client, Server      []string
	Reasons             []struct {
		Reason wire.Reason
		Retry  bool
		Client string
	}
	Closes []struct {
		Code  int
		Retry bool
		Page  string
	}
}

func golden(t *testing.T, name string) []byte {
	t.Helper()
	text, err := os.ReadFile("testdata/" + name + ".json")
	if err != nil {
		t.Fatal(err)
	}
	return bytes.TrimSuffix(text, []byte("\n"))
}

func protocol(t *testing.T) lists {
	t.Helper()
	var l lists
	d := json.NewDecoder(bytes.NewReader(golden(t, "protocol")))
	d.DisallowUnknownFields()
	if err := d.Decode(&l); err != nil {
		t.Fatal(err)
	}
	return l
}

// The client's tests hold testdata/protocol.json against what the client does; this one against the constants of this
// package and the tables of docs/protocol.md.
func TestProtocolListsAgree(t *testing.T) {
	l := protocol(t)
	page, err := os.ReadFile("../../docs/protocol.md")
	if err != nil {
		t.Fatal(err)
	}
	if l.Version != wire.Subprotocol || l.AnyVersion != wire.AnyVersion {
		t.Errorf("versions %q and %q, want %q and %q", l.Version, l.AnyVersion, wire.Subprotocol, wire.AnyVersion)
	}

	var inList, inDocs []string
	for _, r := range l.Reasons {
		inList = append(inList, string(r.Reason)+" "+word(r.Retry))
		if r.Reason.Retry() != r.Retry {
			t.Errorf("%s: retry = %v in the list", r.Reason, r.Retry)
		}
	}
	for _, m := range regexp.MustCompile("(?m)^\\| `(\\w+)` \\| (terminal|retryable) \\|").FindAllStringSubmatch(string(page), -1) {
		inDocs = append(inDocs, m[1]+" "+m[2])
	}
	agree(t, "reasons in docs/protocol.md", inDocs, inList)
	var names []string
	for _, r := range l.Reasons {
		names = append(names, string(r.Reason))
	}
	agree(t, "reasons in Go", constants(t, func(name, typ string) bool { return typ == "Reason" }), names)

	inList, inDocs, names = nil, nil, nil
	for _, c := range l.Closes {
		inList = append(inList, strconv.Itoa(c.Code)+" "+word(c.Retry))
		if c.Code >= 4000 {
			names = append(names, strconv.Itoa(c.Code))
		}
	}
	for _, m := range regexp.MustCompile(`(?m)^\| (\d{4}) \| (terminal|retryable) \|`).FindAllStringSubmatch(string(page), -1) {
		inDocs = append(inDocs, m[1]+" "+m[2])
	}
	agree(t, "close codes in docs/protocol.md", inDocs, inList)
	agree(t, "close codes in Go", constants(t, func(name, _ string) bool { return strings.HasPrefix(name, "Close") }), names)

	inDocs = nil
	for _, m := range regexp.MustCompile("(?m)^\\| `\\{\"t\":\"(\\w+)\"\\}` \\|").FindAllStringSubmatch(string(page), -1) {
		inDocs = append(inDocs, m[1])
	}
	agree(t, "frames in docs/protocol.md", inDocs, append(slices.Clone(l.Client), l.Server...))
}

func word(retry bool) string {
	if retry {
		return "retryable"
	}
	return "terminal"
}

func agree(t *testing.T, what string, got, want []string) {
	t.Helper()
	got, want = slices.Sorted(slices.Values(got)), slices.Sorted(slices.Values(want))
	if !slices.Equal(got, want) {
		t.Errorf("%s: %q\nin testdata/protocol.json: %q", what, got, want)
	}
}

// constants are the values of this package's constants that match, as its source has them.
func constants(t *testing.T, match func(name, typ string) bool) []string {
	t.Helper()
	file, err := parser.ParseFile(token.NewFileSet(), "wire.go", nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	var values []string
	ast.Inspect(file, func(n ast.Node) bool {
		spec, ok := n.(*ast.ValueSpec)
		if !ok {
			return true
		}
		typ, _ := spec.Type.(*ast.Ident)
		for i, name := range spec.Names {
			if i >= len(spec.Values) {
				break
			}
			if value, ok := spec.Values[i].(*ast.BasicLit); ok && match(name.Name, identName(typ)) {
				values = append(values, strings.Trim(value.Value, `"`))
			}
		}
		return true
	})
	return values
}

func identName(i *ast.Ident) string {
	if i == nil {
		return ""
	}
	return i.Name
}
