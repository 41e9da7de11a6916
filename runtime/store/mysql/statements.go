package mysql

import (
	"embed"
	"fmt"
	"strings"
	"sync"
)

//go:embed sql/*.sql
var files embed.FS

// defaultPrefix is what every table name begins with in the texts.
const defaultPrefix = "lockstep_"

// statement is one file of the folder sql, by its place in sources.
type statement int

var sources []string

// declare names a file of the folder sql. What stands in it between a marker and /*end*/ is repeated for as many rows or
// values as there are.
func declare(name string) statement {
	text, err := files.ReadFile("sql/" + name + ".sql")
	if err != nil {
		panic(fmt.Sprintf("statement %s: %v", name, err)) // a mistake of this package, found by any test
	}
	_, body, _ := strings.Cut(string(text), "\n") // the promise is for readers
	sources = append(sources, strings.TrimSpace(body))
	return statement(len(sources) - 1)
}

// maxRows bounds the rows or values of one statement, and with that the number of texts.
const maxRows = 200

// texts are the statements of one store, with its prefix.
type texts struct {
	prefix string
	made   sync.Map // of form to string
}

// form is a statement with the counts of its repeated parts.
type form struct {
	st     statement
	counts [2]int
}

func (t *texts) text(st statement, counts ...int) string {
	f := form{st: st}
	copy(f.counts[:], counts)
	if text, ok := t.made.Load(f); ok {
		return text.(string)
	}
	text := prefixed(expand(sources[st], counts...), t.prefix)
	t.made.Store(f, text)
	return text
}

// prefixed puts the table prefix into a text.
func prefixed(text, prefix string) string {
	if prefix == defaultPrefix {
		return text
	}
	return strings.ReplaceAll(text, defaultPrefix, prefix)
}

// separators are the markers, and what stands between the repetitions.
var separators = map[string]string{"/*each*/": ", ", "/*any*/": " OR ", "/*rows*/": " UNION ALL "}

// expand repeats the marked parts, the first counts[0] times and so on.
func expand(text string, counts ...int) string {
	var b strings.Builder
	for _, n := range counts {
		at, marker := len(text), ""
		for m := range separators {
			if i := strings.Index(text, m); i >= 0 && i < at {
				at, marker = i, m
			}
		}
		part, rest, _ := strings.Cut(text[at+len(marker):], "/*end*/")
		b.WriteString(text[:at])
		for i := range n {
			if i > 0 {
				b.WriteString(separators[marker])
			}
			b.WriteString(part)
		}
		text = rest
	}
	b.WriteString(text)
	return b.String()
}
