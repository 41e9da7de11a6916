package wire

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
)

// Frame is what the server sends, whatever its type; fields as in docs/protocol.md. Encode writes it.
type Frame struct {
	Type      string     `json:"t"` // hello, ok, no, f, l, ping
	Number    int64      `json:"n,omitempty"`
	Scope     string     `json:"s,omitempty"`
	Instance  *string    `json:"i,omitempty"`
	Revision  Revision   `json:"r,omitempty"`
	Fragments []Fragment `json:"f,omitempty"`
	Target    string     `json:"k,omitempty"`
	HTML      string     `json:"h,omitempty"`
	Base      Revision   `json:"b,omitempty"`     // of a patch: what it changes
	Token     string     `json:"token,omitempty"` // of a patch: for the targets in the list now
	Gone      []string   `json:"x,omitempty"`     // of a patch: items
	Changes   []Change   `json:"d,omitempty"`     // of a patch, in the order of the items
	Reason    Reason     `json:"reason,omitempty"`
	Retry     bool       `json:"retry,omitempty"`
	After     int64      `json:"after,omitempty"` // ms
	Heartbeat int64      `json:"heartbeat,omitempty"`
	Build     string     `json:"build,omitempty"`
}

// Fragment is one target's HTML in an answer.
type Fragment struct {
	Target   string   `json:"k"`
	Revision Revision `json:"r"`
	HTML     string   `json:"h"`
}

// Revision travels as a decimal string.
type Revision string

// Rev encodes a revision.
func Rev(r int64) Revision { return Revision(strconv.FormatInt(r, 10)) }

// Command is what a client sends.
type Command struct {
	Type   string   `json:"t"` // sub, unsub, pong
	Number int64    `json:"n"`
	Scope  string   `json:"s"`
	Token  string   `json:"token"`
	More   []string `json:"more"`
	First  bool     `json:"first"`
	Lists  bool     `json:"lists"` // it understands patches of lists

	// Of a subscribe on a stream that ends by itself: the stamp of the last answer that the page has had.
	Instance string   `json:"i"`
	Revision Revision `json:"r"`
}

// ErrNoCommand is a client's frame that is no command of the protocol.
var ErrNoCommand = errors.New("no command of the protocol")

var known = map[string]bool{"sub": true, "unsub": true, "pong": true}

// ParseCommand reads a client's frame. Unknown fields and unknown types are let through, for the caller to ignore.
// The error is ErrNoCommand; the command then holds what could be read of a subscribe's number and scope.
func ParseCommand(text []byte) (Command, error) {
	c, ok := scanCommand(text)
	if ok {
		return checked(c)
	}
	c = Command{}
	if err := json.Unmarshal(text, &c); err != nil {
		var any struct {
			Type string `json:"t"`
		}
		if json.Unmarshal(text, &any) == nil && any.Type != "" && !known[any.Type] {
			return Command{Type: any.Type}, nil // a later protocol's: its fields need not be ours
		}
		return Command{}, ErrNoCommand
	}
	return checked(c)
}

func checked(c Command) (Command, error) {
	if len(c.Scope) > MaxScopeName {
		return Command{Type: c.Type, Number: c.Number}, ErrNoCommand
	}
	if c.Type == "" || (c.Type == "sub" || c.Type == "unsub") && c.Scope == "" {
		return c, ErrNoCommand
	}
	return c, nil
}

// Encode writes a frame with exactly the fields of its type; empty ones stand too, so that a client need not guess.
func Encode(f Frame) []byte {
	instance := ""
	if f.Instance != nil {
		instance = *f.Instance
	}
	switch f.Type {
	case "ok":
		pieces := make([][]byte, len(f.Fragments))
		for i, part := range f.Fragments {
			pieces[i] = AppendPiece(nil, part.Target, part.Revision, String(part.HTML))
		}
		return AppendAnswer(nil, f.Number, f.Scope, instance, f.Revision, pieces)
	case "f":
		return AppendLive(nil, instance, f.Revision, f.Target, String(f.HTML))
	case "l":
		return AppendPatch(nil, f)
	case "no":
		return fmt.Appendf(nil, `{"t":"no","n":%d,"s":%s,"reason":%s,"retry":%t,"after":%d}`,
			f.Number, String(f.Scope), String(string(f.Reason)), f.Retry, f.After)
	case "hello":
		return fmt.Appendf(nil, `{"t":"hello","heartbeat":%d,"build":%s}`, f.Heartbeat, String(f.Build))
	}
	return fmt.Appendf(nil, `{"t":%s}`, String(f.Type))
}

// String is text as JSON, in which HTML stays as it is: encoding/json would write six bytes for each of < > &.
func String(text string) []byte { return appendString(nil, text) }

func appendString(to []byte, text string) []byte {
	if plain(text) {
		return append(append(append(to, '"'), text...), '"')
	}
	var buf bytes.Buffer
	buf.Grow(len(text) + len(text)/8 + 3)
	e := json.NewEncoder(&buf)
	e.SetEscapeHTML(false)
	if err := e.Encode(text); err != nil {
		panic("wire: a string does not encode: " + err.Error()) // it always does
	}
	return append(to, bytes.TrimSuffix(buf.Bytes(), []byte("\n"))...)
}

// plain says whether text stands in JSON as it is, as names and numbers do.
func plain[T string | []byte](text T) bool {
	for i := range len(text) {
		if c := text[i]; c < ' ' || c >= 0x7f || c == '"' || c == '\\' {
			return false
		}
	}
	return true
}

// AppendPiece appends a fragment of an answer; html is JSON, made by String.
func AppendPiece(to []byte, target string, r Revision, html []byte) []byte {
	to = append(to, `{"k":`...)
	to = appendString(to, target)
	to = append(to, `,"r":"`...)
	to = append(to, r...)
	to = append(to, `","h":`...)
	to = append(to, html...)
	return append(to, '}')
}

// AppendLive appends a live fragment's frame; html is JSON, made by String.
func AppendLive(to []byte, instance string, r Revision, target string, html []byte) []byte {
	to = append(to, `{"t":"f","i":`...)
	to = appendString(to, instance)
	to = append(to, `,"r":"`...)
	to = append(to, r...)
	to = append(to, `","k":`...)
	to = appendString(to, target)
	to = append(to, `,"h":`...)
	to = append(to, html...)
	return append(to, '}')
}

// AppendAnswer appends an answer's frame, with pieces made by AppendPiece.
func AppendAnswer(to []byte, number int64, scope, instance string, r Revision, pieces [][]byte) []byte {
	to = append(to, `{"t":"ok","n":`...)
	to = strconv.AppendInt(to, number, 10)
	to = append(to, `,"s":`...)
	to = appendString(to, scope)
	to = append(to, `,"i":`...)
	to = appendString(to, instance)
	to = append(to, `,"r":"`...)
	to = append(to, r...)
	to = append(to, `","f":[`...)
	for i, piece := range pieces {
		if i > 0 {
			to = append(to, ',')
		}
		to = append(to, piece...)
	}
	return append(to, `]}`...)
}
