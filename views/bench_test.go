package views_test

import (
	"fmt"
	"io"
	"testing"

	"github.com/lockstep-go/lockstep/actors"
	"github.com/lockstep-go/lockstep/realtime/wire"
	"github.com/lockstep-go/lockstep/views"
	. "github.com/lockstep-go/lockstep/views/testdata/fixture"
)

func large() (*store, []string) {
	c := Cart{Lines: map[string]int{}, Status: "open"}
	var catalogue []string
	for i := range 200 {
		sku := fmt.Sprintf("sku-%d", i)
		c.Lines[sku] = i
		catalogue = append(catalogue, sku)
	}
	return carts("a", c), catalogue
}

func BenchmarkPage(b *testing.B) {
	s, catalogue := large()
	p := page(b, s)
	for b.Loop() {
		if err := CartPage(Carts.Ref("a"), catalogue...).Render(views.WithPage(b.Context(), p), io.Discard); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkPushOneLine(b *testing.B) {
	s, _ := large()
	r := pusher(b, s)
	q := views.Request{
		Actor: actors.Address{Type: "cart", ID: "a"}, Snapshot: s.snapshot("cart", "a"),
		Target: wire.Target{Component: "line", Key: "sku-7", Params: []byte(`{"sku":"sku-7"}`)},
	}
	for b.Loop() {
		if _, err := r.Render(b.Context(), q); err != nil {
			b.Fatal(err)
		}
	}
}
