package sqlite

import (
	"embed"
	"fmt"
	"strings"
)

//go:embed sql/*.sql
var files embed.FS

// defaultPrefix is what every table name begins with in the texts.
const defaultPrefix = "lockstep_"

// statement is one constant text, by its place in texts.
type statement int

var texts []string

// declare names a file of the folder sql.
func declare(name string) statement {
	text, err := files.ReadFile("sql/" + name + ".sql")
	if err != nil {
		panic(fmt.Sprintf("statement %s: %v", name, err)) // a mistake of this package, found by any test
	}
	texts = append(texts, string(text))
	return statement(len(texts) - 1)
}

// prefixed puts the table prefix into a text.
func prefixed(text, prefix string) string {
	if prefix == defaultPrefix {
		return text
	}
	return strings.ReplaceAll(text, defaultPrefix, prefix)
}

// withPrefix returns all texts for one store.
func withPrefix(prefix string) []string {
	out := make([]string, len(texts))
	for i, text := range texts {
		out[i] = prefixed(text, prefix)
	}
	return out
}

var (
	beginImmediate = declare("begin_immediate")
	commitWork     = declare("commit")
	rollbackWork   = declare("rollback")
	savepoint      = declare("savepoint")
	rollbackTo     = declare("rollback_to")
	releasePoint   = declare("release_savepoint")
	dataVersion    = declare("data_version")
)
