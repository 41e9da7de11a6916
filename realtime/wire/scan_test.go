package wire

import (
	"encoding/json"
	"reflect"
	"testing"

	"github.com/lockstep-go/lockstep/actors"
)

// What the scanner takes, encoding/json reads the same; and it takes what our own clients and servers write.
func FuzzScan(f *testing.F) {
	sub := `{"t":"sub","n":7,"s":"s1","token":"0a1b2c3d.abc-_=","more":["a.b","c.d"],"first":true,"lists":false,"i":"x","r":"12"}`
	token, err := json.Marshal(payload{
		Token{Targets: []Target{{Component: "=n"}, {"line", "k", json.RawMessage(`{"a":[1,"x}\\\""],"b":null}`)}}, Stamp: actors.Stamp{Instance: "i", Revision: 12, Message: "m"}, Build: "b", Viewer: "v"},
		"cart", "alice", 1700000000,
	})
	if err != nil {
		f.Fatal(err)
	}
	if _, ok := scanCommand([]byte(sub)); !ok {
		f.Errorf("a subscribe is left to encoding/json: %s", sub)
	}
	if p, ok := scanPayload(append(token, '\n')); !ok || len(p.Targets) != 2 {
		f.Errorf("a token is left to encoding/json: %s", token)
	}
	for _, text := range []string{
		`{"more":null}`, `{"more":[]}`, `{"more":["a",]}`, `{"more":nullnull}`, sub, string(token), `{"t":"pong"}`, `{}`, `{"t":"sub",}`, `{"n":01}`, `{"n":-0}`, `{"n":1.5}`, `{"n":1e3}`, `{"n":123456789012345678901}`, `{"t":"a\n"}`, `{"T":"x"}`,
		`{"t":"sub"}x`, `{"first":truefalse}`, `{"t":[{"c":"x","p":1,}]}`, `{"t":[{"c":"x","p":}]}`, `{"t":[]}`, `{"t":[,]}`, `{"t":[{}{}]}`, `{"t":"é"}`, `{"s":{"i":"","r":0,"m":""},"a":-5}`, `{,}`, `{"t"}`,
	} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		if c, ok := scanCommand(text); ok {
			var want Command
			if err := json.Unmarshal(text, &want); err != nil || !reflect.DeepEqual(c, want) {
				t.Errorf("%q: scanned %+v, encoding/json says %+v, %v", text, c, want, err)
			}
		}
		if p, ok := scanPayload(text); ok {
			var want payload
			if err := json.Unmarshal(text, &want); err != nil || !reflect.DeepEqual(p, want) && !twice(text) {
				t.Errorf("%q: scanned %+v, encoding/json says %+v, %v", text, p, want, err)
			}
		}
	})
}

// twice says whether a name stands twice in an object, where encoding/json merges what no token of ours holds.
func twice(text []byte) bool {
	var any any
	if json.Unmarshal(text, &any) != nil {
		return false
	}
	again, _ := json.Marshal(any)
	return len(again) < len(text)-1
}
