package views

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"iter"
	"strings"
	"unicode/utf8"

	"github.com/a-h/templ"
	"golang.org/x/net/html"

	"github.com/lockstep-go/lockstep/actors"
	"github.com/lockstep-go/lockstep/realtime/wire"
)

// itemAttribute is what an item's name is written with.
const itemAttribute = ` data-ls-item="`

// list is what makes a component a list.
type list struct {
	frame func() templ.Component
	items func(value any) iter.Seq2[string, templ.Component] // by key
}

// List makes a component that shows each element of an observable as an item, told apart by its key. Pushes hold just
// the items that were added, changed, moved or removed. The function frame is the element around the items, without a
// wrapper between them, and item is one of them:
//
//	var Lines = views.List("lines", Items, Line.Key, lines, line)
//
//	templ lines() { <ul class="lines">{ children... }</ul> }
//	templ line(l Line) { <li>{ l.Title }</li> }
//
// The frame has nothing in it but its children; it may be a tbody. An item is one root element; values, components,
// lists and forms may stand in it. A key is any string, of any length; two items of one key are a *DuplicateItem. A list
// has as many items as an actor's state can hold: it is one target, and only what stands in its items counts towards the
// limit of an Object.
//
// Lists that not everybody shares (By, PerViewer) are sent in the same way, as long as those of one connection have no more
// than 8,192 items together: what the hub must remember of them is its own. Beyond that a list's change sends the list.
func List[S, T any](name string, of actors.Observed[S, []T], key func(T) string, frame func() templ.Component, item func(T) templ.Component) *Component {
	c := newComponent[S](name, false, []observed[S]{of}, nil)
	if key == nil || frame == nil || item == nil {
		registered.problem("list %q needs three functions: key, frame and item", name)
	}
	c.list = &list{frame, func(value any) iter.Seq2[string, templ.Component] {
		return func(yield func(string, templ.Component) bool) {
			for _, v := range as[[]T](value) {
				if !yield(key(v), item(v)) {
					return
				}
			}
		}
	}}
	return c
}

// DuplicateItem is the error of a List two of whose items have one key. It does not say the key, which may be state.
type DuplicateItem struct {
	First, Second int // which items, counted from 1
}

func (e *DuplicateItem) Error() string {
	return fmt.Sprintf("its items %d and %d have one key", e.First, e.Second)
}

// piece is an item in its list's HTML.
type piece struct {
	name       string
	start, end int
}

// children stands for the items while the frame is rendered.
const children = "<!--lockstep:items-->"

// html renders a list of a value under ctx; name is its target's.
func (l *list) html(ctx context.Context, name string, value any, proven bool, out *bytes.Buffer) (*element, error) {
	if err := l.frame().Render(templ.WithChildren(ctx, templ.Raw(children)), out); err != nil {
		return nil, err
	}
	open, end, tag, err := frameOfList(out.String())
	if err != nil {
		return nil, err
	}
	out.Reset()
	out.WriteString(open)
	el := &element{name: 1 + len(tag), frame: open + end}
	scratch := templ.GetBuffer()
	defer templ.ReleaseBuffer(scratch)
	places := map[string]int{}
	for key, item := range l.items(value) {
		n := len(el.items)
		id := itemName(name, key)
		if first, twice := places[id]; twice {
			return nil, &DuplicateItem{first + 1, n + 1}
		}
		places[id] = n
		scratch.Reset()
		if err := item.Render(ctx, scratch); err != nil {
			return nil, fmt.Errorf("item %d: %w", n+1, err)
		}
		text := scratch.Bytes()
		if !utf8.Valid(text) {
			text = bytes.ToValidUTF8(text, []byte("\uFFFD"))
		}
		root, err := rootOf(text, proven)
		if err == nil && root == nil {
			err = errors.New("it shows nothing, must be one root element")
		}
		if err != nil {
			return nil, fmt.Errorf("item %d: %w", n+1, err)
		}
		at := piece{name: id, start: out.Len()}
		out.Write(root.html[:root.name])
		out.WriteString(itemAttribute + id + `"`)
		out.Write(root.html[root.name:])
		at.end = out.Len()
		el.items = append(el.items, at)
	}
	out.WriteString(end)
	el.html = out.Bytes()
	return el, nil
}

// frameOfList cuts a frame's HTML where the items go.
func frameOfList(text string) (open, end, tag string, err error) {
	open, end, found := strings.Cut(text, children)
	open, end = strings.TrimSpace(open), strings.TrimSpace(end)
	z := html.NewTokenizer(strings.NewReader(open))
	if found && z.Next() == html.StartTagToken && len(z.Raw()) == len(open) {
		name, _ := z.TagName()
		tag = string(name)
	}
	switch {
	case tag == "" || !strings.EqualFold(end, "</"+tag+">"):
		return "", "", "", errors.New("its frame must be one element with { children... } and nothing else in it")
	case tag == "table":
		return "", "", "", errors.New("its frame is a table, in which browsers put a tbody around the items: make the tbody the frame")
	case tag == scopeElement || strings.HasPrefix(open[1+len(tag):], attribute):
		return "", "", "", errors.New("its frame is a views.Object or another component, give it an element of its own")
	}
	return open, end, tag, nil
}

// itemName is an item's name in its page: a digest of its list and its key.
func itemName(list, key string) string {
	sum := sha256.Sum256([]byte(list + "\x00" + key))
	return base64.RawURLEncoding.EncodeToString(sum[:12])
}

// pieces is the list's HTML for a push, cut up.
func (e *element) pieces(token string) *wire.List {
	l := &wire.List{Frame: e.frame, Token: token, Items: make([]wire.Item, len(e.items))}
	for i, at := range e.items {
		l.Items[i] = wire.Item{Name: at.name, HTML: string(keepNewlines(e.html[at.start:at.end]))}
	}
	return l
}
