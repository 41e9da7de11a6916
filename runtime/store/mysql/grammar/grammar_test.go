package grammar

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/pingcap/tidb/pkg/parser"
	"github.com/pingcap/tidb/pkg/parser/ast"
	_ "github.com/pingcap/tidb/pkg/parser/test_driver"
)

var repeated = regexp.MustCompile(`(?s)/\*(each|any|rows)\*/(.*?)/\*end\*/`)

// times repeats the marked parts of a statement, as the driver does.
func times(text string, n int) string {
	return repeated.ReplaceAllStringFunc(text, func(part string) string {
		m := repeated.FindStringSubmatch(part)
		separator := map[string]string{"each": ", ", "any": " OR ", "rows": " UNION ALL "}[m[1]]
		return strings.Join(slices.Repeat([]string{m[2]}, n), separator)
	})
}

func parse(text string) ([]ast.StmtNode, error) {
	list, _, err := parser.New().Parse(text, "utf8mb4", "utf8mb4_bin")
	return list, err
}

func read(t *testing.T, pattern string) map[string]string {
	t.Helper()
	names, err := filepath.Glob(pattern)
	if err != nil || len(names) == 0 {
		t.Fatalf("%s: %d files, %v", pattern, len(names), err)
	}
	texts := map[string]string{}
	for _, name := range names {
		b, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		texts[filepath.Base(name)] = string(b)
	}
	return texts
}

// Every statement is MySQL's, with one row and with many, and says in its first line what it is for.
func TestStatementsAreMySQLs(t *testing.T) {
	for name, text := range read(t, "../sql/*.sql") {
		if first, _, _ := strings.Cut(text, "\n"); !strings.HasPrefix(first, "-- ") {
			t.Errorf("%s: no promise in its first line", name)
		}
		for _, n := range []int{1, 3, 200} {
			list, err := parse(times(text, n))
			if err != nil {
				t.Errorf("%s with %d rows: %v", name, n, err)
			} else if len(list) != 1 {
				t.Errorf("%s: %d statements", name, len(list))
			}
		}
	}
}

// Every step of a migration is MySQL's, makes an InnoDB table with our character set, and can be run again.
func TestMigrationsAreMySQLs(t *testing.T) {
	for name, text := range read(t, "../migrations/*.sql") {
		list, err := parse(text)
		if err != nil {
			t.Errorf("%s: %v", name, err)
		}
		for _, statement := range list {
			table, ok := statement.(*ast.CreateTableStmt)
			if !ok {
				t.Errorf("%s: %T", name, statement)
				continue
			}
			if !table.IfNotExists {
				t.Errorf("%s: table %s cannot be made twice", name, table.Table.Name)
			}
			options := map[ast.TableOptionType]string{}
			for _, o := range table.Options {
				options[o.Tp] = o.StrValue
			}
			if options[ast.TableOptionEngine] != "InnoDB" || options[ast.TableOptionCharset] != "utf8mb4" || options[ast.TableOptionCollate] != "utf8mb4_bin" {
				t.Errorf("%s: table %s has %v", name, table.Table.Name, options)
			}
		}
	}
}

// The check refuses what only MariaDB takes.
func TestMariaDBsOwnIsRefused(t *testing.T) {
	for _, text := range []string{
		"INSERT INTO t (a) VALUES (?) RETURNING a",
		"DELETE FROM t WHERE a = ? RETURNING a",
		"SET STATEMENT max_statement_time = 1 FOR SELECT 1",
		"CREATE OR REPLACE TABLE t (a BIGINT)",
	} {
		if _, err := parse(text); err == nil {
			t.Errorf("accepted: %s", text)
		}
	}
}
