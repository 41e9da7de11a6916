package views

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"

	"golang.org/x/net/html"
)

// empty is what a component shows that rendered nothing.
func empty(name string) []byte {
	return []byte(`<template data-ls="` + name + `"></template>`)
}

// element is the one root element of a component's HTML.
type element struct {
	html []byte // from its first tag to its last
	name int    // where the first tag's name ends, and attributes may be inserted

	frame string  // of a list: its HTML without the items
	items []piece // of a list
}

// rootOf finds the root element. White space and comments around it are dropped; nothing at all is nil. Two roots, or
// text beside the root, is an error. Where the HTML's shape was proven before, only its two ends are looked at.
func rootOf(text []byte, proven bool) (*element, error) {
	text, err := trimLeading(text)
	if err != nil || len(text) == 0 {
		return nil, err
	}
	end := 1
	for end < len(text) && !isSpace(text[end]) && text[end] != '/' && text[end] != '>' {
		end++
	}
	tag := string(text[1:end])
	if !proven || !endsWith(text, tag) {
		size, err := measure(text)
		if err != nil {
			return nil, err
		}
		text = text[:size]
	}
	switch {
	case bytes.HasPrefix(text[end:], []byte(attribute)):
		return nil, errors.New("its root element is that of another component or a value, give it one of its own")
	case tag == scopeElement:
		return nil, errors.New("its root element is a views.Object, give it one of its own")
	}
	return &element{html: text, name: end}, nil
}

// trimLeading drops white space and comments before the first tag, and white space at the end.
func trimLeading(text []byte) ([]byte, error) {
	for {
		text = bytes.TrimSpace(text)
		if !bytes.HasPrefix(text, []byte("<!--")) {
			break
		}
		n := bytes.Index(text[2:], []byte("-->"))
		if n < 0 {
			return nil, errors.New("it begins with a comment that does not end")
		}
		text = text[2+n+3:]
	}
	if len(text) == 0 {
		return nil, nil
	}
	if text[0] != '<' {
		return nil, errors.New("it begins with text, must be one root element")
	}
	if len(text) < 2 || !isLetter(text[1]) {
		return nil, errors.New("it does not begin with a start tag, must be one root element")
	}
	return text, nil
}

// endsWith says whether text ends with the end tag of its root.
func endsWith(text []byte, tag string) bool {
	n := len(text) - len(tag) - 3
	return n > 0 && strings.EqualFold(string(text[n:]), "</"+tag+">")
}

// measure is the length of the one element that text begins with.
func measure(text []byte) (size int, err error) {
	z := html.NewTokenizer(bytes.NewReader(text))
	var open []string
	at, end := 0, 0
	root := ""
	for {
		kind := z.Next()
		raw := z.Raw()
		at += len(raw)
		if kind == html.ErrorToken {
			break
		}
		if end > 0 { // the root has ended
			if kind == html.TextToken && len(bytes.TrimSpace(raw)) == 0 || kind == html.CommentToken {
				continue
			}
			if kind == html.TextToken {
				return 0, fmt.Errorf("there is text after its root element <%s>", root)
			}
			return 0, fmt.Errorf("it has two root elements, or something else, after <%s>", root)
		}
		switch kind {
		case html.StartTagToken:
			name, _ := z.TagName()
			if root == "" {
				root = string(name)
			}
			if !void[string(name)] {
				open = append(open, string(name))
			}
		case html.SelfClosingTagToken:
			name, _ := z.TagName()
			if root == "" {
				root = string(name)
			}
			if !void[string(name)] && !foreign(append(open, string(name))) {
				open = append(open, string(name)) // browsers ignore the slash
			}
		case html.EndTagToken:
			name, _ := z.TagName()
			for i := len(open) - 1; i >= 0; i-- { // elements whose end tag may be left out end with their parent
				if open[i] == string(name) {
					open = open[:i]
					break
				}
			}
		}
		if len(open) == 0 {
			end = at
		}
	}
	if end == 0 {
		return 0, fmt.Errorf("its root element <%s> is not closed", root)
	}
	return end, nil
}

// foreign says whether the innermost of the open elements is of SVG or MathML, where a slash closes.
func foreign(open []string) bool {
	return slices.Contains(open, "svg") || slices.Contains(open, "math")
}

var void = map[string]bool{
	"area": true, "base": true, "br": true, "col": true, "embed": true, "hr": true, "img": true, "input": true,
	"link": true, "meta": true, "source": true, "track": true, "wbr": true,
}

func isSpace(c byte) bool { return c == ' ' || c == '\n' || c == '\t' || c == '\r' || c == '\f' }

func isLetter(c byte) bool { return c|0x20 >= 'a' && c|0x20 <= 'z' }

// keepNewlines doubles a newline that directly follows the start tag of a pre or a textarea: browsers drop the first
// one, templ writes none of its own there, so it is a value's.
func keepNewlines(text []byte) []byte {
	if !bytes.Contains(text, []byte("<textarea")) && !bytes.Contains(text, []byte("<pre")) {
		return text
	}
	var out []byte
	z := html.NewTokenizer(bytes.NewReader(text))
	after := false
	for {
		kind := z.Next()
		if kind == html.ErrorToken {
			return append(append(out, z.Raw()...), z.Buffered()...)
		}
		raw := z.Raw()
		if after && kind == html.TextToken && raw[0] == '\n' {
			out = append(out, '\n')
		}
		out = append(out, raw...)
		after = false
		if kind == html.StartTagToken {
			name, _ := z.TagName()
			after = string(name) == "pre" || string(name) == "textarea"
		}
	}
}
