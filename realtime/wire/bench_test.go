package wire

import (
	"bytes"
	"encoding/json"
	"fmt"
	"testing"

	"github.com/lockstep-go/lockstep/actors"
)

// BenchmarkSubscribe is what the hub does with each page that comes back before it asks anybody: it reads the subscribe
// and opens its token.
func BenchmarkSubscribe(b *testing.B) {
	for _, targets := range []int{1, 50} {
		b.Run(fmt.Sprint("targets=", targets), func(b *testing.B) {
			s, err := NewSealer([][]byte{bytes.Repeat([]byte("k"), MinKeyBytes)}, 0, 0)
			if err != nil {
				b.Fatal(err)
			}
			t := Token{Actor: actors.Address{Type: "cart", ID: "a"}, Stamp: actors.Stamp{Instance: "i", Revision: 7, Message: "m"}}
			for i := range targets {
				t.Targets = append(t.Targets, Target{"line", fmt.Sprint(i), json.RawMessage(fmt.Sprintf(`{"K":%d}`, i))})
			}
			text, err := s.Seal(t)
			if err != nil {
				b.Fatal(err)
			}
			frame, err := json.Marshal(Command{Type: "sub", Number: 1, Scope: "s1", Token: text})
			if err != nil {
				b.Fatal(err)
			}
			b.ReportAllocs()
			for b.Loop() {
				c, err := ParseCommand(frame)
				if err != nil {
					b.Fatal(err)
				}
				if _, err := s.Open(c.Token); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
