package wire

import (
	"bytes"
	"encoding/json"

	"github.com/lockstep-go/lockstep/actors"
)

// scan reads JSON as our own code writes it: known names, plain strings, whole numbers, no spaces. Where it is not ok the
// text is left to encoding/json, and where it is, encoding/json would have read the same: several times as slowly, which
// thousands of pages that come back at once notice.
type scan struct {
	text []byte // that is left
	ok   bool
}

// next takes one byte, if it is c.
func (s *scan) next(c byte) bool {
	if len(s.text) == 0 || s.text[0] != c {
		return false
	}
	s.text = s.text[1:]
	return true
}

func (s *scan) want(c byte) { s.ok = s.next(c) && s.ok }

// str reads a string that stands in JSON as it is.
func (s *scan) str() []byte {
	s.want('"')
	n := bytes.IndexByte(s.text, '"')
	if n < 0 || !plain(s.text[:n]) {
		s.ok = false
		return nil
	}
	text := s.text[:n]
	s.text = s.text[n+1:]
	return text
}

func (s *scan) number() (n int64) {
	minus := s.next('-')
	i := 0
	for ; i < len(s.text) && i < 18 && s.text[i] >= '0' && s.text[i] <= '9'; i++ {
		n = n*10 + int64(s.text[i]-'0')
	}
	s.ok = s.ok && i > 0 && (i == 1 || s.text[0] != '0') && !(minus && n == 0)
	s.text = s.text[i:] // a longer one or a fraction is followed by what nobody wants
	if minus {
		return -n
	}
	return n
}

func (s *scan) boolean() bool {
	rest, is := bytes.CutPrefix(s.text, []byte("true"))
	if !is {
		rest, s.ok = bytes.CutPrefix(s.text, []byte("false"))
	}
	s.text = rest
	return is
}

// value reads any value, which is copied.
func (s *scan) value() json.RawMessage {
	depth, quoted := 0, false
	for i := 0; i < len(s.text); i++ {
		switch c := s.text[i]; {
		case quoted && c == '\\':
			i++
		case c == '"':
			quoted = !quoted
		case quoted:
		case c == '{' || c == '[':
			depth++
		case depth > 0 && (c == '}' || c == ']'):
			depth--
		case depth == 0 && (c == ',' || c == '}' || c == ']'):
			text := bytes.Clone(s.text[:i])
			s.text = s.text[i:]
			s.ok = s.ok && json.Valid(text)
			return text
		}
	}
	s.ok = false
	return nil
}

// object reads an object; read reads the field of a name.
func (s *scan) object(read func(name string)) {
	s.want('{')
	for s.ok && !s.next('}') {
		name := s.str()
		s.want(':')
		if s.ok {
			read(string(name))
		}
		if s.ok && (len(s.text) == 0 || s.text[0] != '}') {
			s.want(',')
			s.ok = s.ok && len(s.text) > 0 && s.text[0] == '"'
		}
	}
}

func (s *scan) array(read func()) {
	s.want('[')
	for s.ok && !s.next(']') {
		read()
		if s.ok && (len(s.text) == 0 || s.text[0] != ']') {
			s.want(',')
			s.ok = s.ok && len(s.text) > 0 && s.text[0] != ']'
		}
	}
}

// scanCommand reads a command; false where encoding/json must.
func scanCommand(text []byte) (c Command, ok bool) {
	s := scan{text, true}
	s.object(func(name string) {
		switch name {
		case "t":
			c.Type = string(s.str())
		case "n":
			c.Number = s.number()
		case "s":
			c.Scope = string(s.str())
		case "token":
			c.Token = string(s.str())
		case "more":
			if rest, none := bytes.CutPrefix(s.text, []byte("null")); none {
				s.text, c.More = rest, nil
				return
			}
			c.More = []string{}
			s.array(func() { c.More = append(c.More, string(s.str())) })
		case "i":
			c.Instance = string(s.str())
		case "r":
			c.Revision = Revision(s.str())
		case "first":
			c.First = s.boolean()
		case "lists":
			c.Lists = s.boolean()
		default:
			s.ok = false
		}
	})
	return c, s.ok && len(s.text) == 0
}

// scanPayload reads what a token holds; false where encoding/json must.
func scanPayload(text []byte) (p payload, ok bool) {
	s := scan{bytes.TrimSuffix(text, []byte("\n")), true}
	s.object(func(name string) {
		switch name {
		case "t":
			p.Targets = []Target{}
			s.array(func() { p.Targets = append(p.Targets, s.target()) })
		case "s":
			p.Stamp = s.stamp()
		case "b":
			p.Build = string(s.str())
		case "v":
			p.Viewer = string(s.str())
		case "y":
			p.Type = string(s.str())
		case "d":
			p.ID = string(s.str())
		case "a":
			p.At = s.number()
		default:
			s.ok = false
		}
	})
	return p, s.ok && len(s.text) == 0
}

func (s *scan) target() (t Target) {
	s.object(func(name string) {
		switch name {
		case "c":
			t.Component = string(s.str())
		case "k":
			t.Key = string(s.str())
		case "p":
			t.Params = s.value()
		default:
			s.ok = false
		}
	})
	return t
}

func (s *scan) stamp() (st actors.Stamp) {
	s.object(func(name string) {
		switch name {
		case "i":
			st.Instance = string(s.str())
		case "r":
			st.Revision = s.number()
		case "m":
			st.Message = string(s.str())
		default:
			s.ok = false
		}
	})
	return st
}
