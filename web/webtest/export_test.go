package webtest

import (
	"context"
	"encoding/json"
	"net"
	"net/http"
	"testing"

	"github.com/lockstep-go/lockstep/realtime/wire"
)

// Line is a connection's faults, for a proxy in front of a real browser.
type Line struct{ faults }

// Pass says what arrives now that a frame was sent.
func (l *Line) Pass(text []byte) [][]byte {
	var f wire.Frame
	if json.Unmarshal(text, &f) != nil {
		return [][]byte{text}
	}
	return texts(l.pass(arrival{f, text}))
}

// Drop, Repeat and Reorder are as those of a Page.
func (l *Line) Drop(n int)   { l.drop = n }
func (l *Line) Repeat(n int) { l.repeat = n }
func (l *Line) Reorder(n int) [][]byte {
	if l.reorder = n; n == 0 {
		return texts(l.release())
	}
	return nil
}

func texts(all []arrival) (list [][]byte) {
	for _, a := range all {
		list = append(list, a.text)
	}
	return list
}

// Dial and Handler are what a proxy needs of a site.
func (s *Site) Dial(ctx context.Context) (net.Conn, error) { return s.dial(ctx, "", "") }
func (s *Site) Handler() http.Handler                      { return *s.handler.Load() }

// Said are the texts that a page shows by itself.
var Said = []string{unreachable, notUnderstood}

// Report has a page report to another test.
func Report(p *Page, to testing.TB) *Page {
	p.t = to
	return p
}
