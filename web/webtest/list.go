package webtest

import (
	"golang.org/x/net/html"

	"github.com/lockstep-go/lockstep/realtime/wire"
)

const itemAttr = "data-ls-item"

// patchList makes a list what it is after a patch, and returns the items with new HTML; false if the list is not what the
// patch was made for. spare puts into new HTML what must not be taken back.
func patchList(list *html.Node, patch *wire.Frame, spare func(fresh *html.Node)) (changed []*html.Node, fits bool) {
	items := map[string]*html.Node{}
	for n := list.FirstChild; n != nil; n = n.NextSibling {
		if n.Type == html.ElementNode && has(n, itemAttr) {
			items[attr(n, itemAttr)] = n
		}
	}
	for _, key := range patch.Gone {
		if items[key] == nil {
			return nil, false
		}
		list.RemoveChild(items[key])
		delete(items, key)
	}
	for _, change := range patch.Changes {
		item := items[change.Item]
		if change.HTML != nil {
			fresh := parseFragment(*change.HTML)
			if fresh == nil {
				return nil, false
			}
			spare(fresh)
			if item != nil {
				carry(item, fresh)
				replace(item, fresh)
			}
			item = fresh
			changed = append(changed, item)
		}
		if item == nil || item.Parent == nil && change.After == nil {
			return nil, false
		}
		items[change.Item] = item
		if change.After != nil && !place(list, item, items, *change.After) {
			return nil, false
		}
	}
	if patch.Token != "" {
		setAttr(list, tokenAttr, patch.Token)
	} else {
		removeAttr(list, tokenAttr)
	}
	return changed, true
}

// place puts an item behind another, or in front; false if there is no other.
func place(list, item *html.Node, items map[string]*html.Node, after string) bool {
	before := list.FirstChild
	if after != "" {
		if items[after] == nil {
			return false
		}
		before = items[after].NextSibling
	}
	if item == before {
		return true
	}
	if item.Parent != nil {
		list.RemoveChild(item)
	}
	list.InsertBefore(item, before)
	return true
}
