package postgres

import (
	"embed"
	"fmt"
	"strings"

	"github.com/jackc/pgx/v5"
)

//go:embed sql/*.sql
var files embed.FS

// What every table's name begins with in the texts, and what indexes and constraints begin with.
const (
	tablePrefix = "lockstep.lockstep_"
	namePrefix  = "lockstep_"
)

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

// placed puts schema and table prefix into a text.
func placed(text, schema, prefix string) string {
	return strings.NewReplacer(tablePrefix, pgx.Identifier{schema}.Sanitize()+"."+prefix, namePrefix, prefix).Replace(text)
}

// place returns all texts for one store.
func place(schema, prefix string) []string {
	out := make([]string, len(texts))
	for i, text := range texts {
		out[i] = placed(text, schema, prefix)
	}
	return out
}
