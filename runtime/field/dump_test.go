package field

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// releaseVar names the version of which TestWriteReleasedDump writes the dumps.
const releaseVar = "LOCKSTEP_RELEASE"

// TestWriteReleasedDump freezes the current schema as that of a release, once, with one of everything in it:
//
//	LOCKSTEP_RELEASE=0.2.0 go test ./runtime/field -run TestWriteReleasedDump
func TestWriteReleasedDump(t *testing.T) {
	version := os.Getenv(releaseVar)
	if version == "" {
		t.Skipf("%s names no release", releaseVar)
	}
	onEach(t, func(t *testing.T, b *base) {
		path := filepath.Join(released, version+"."+b.name+".sql")
		if _, err := os.Stat(path); err == nil {
			t.Fatalf("%s is there: a released schema never changes", path)
		}
		w := &writer{t: t, Store: b.store(t)}
		w.everything()
		w.Close()
		var text bytes.Buffer
		fmt.Fprintf(&text, "-- Lockstep %s on %s: its schema, and what a process left that died in the middle of everything.\n\n", version, b.name)
		text.WriteString(schema(t, b))
		text.WriteString("\n")
		for _, table := range b.tables(t) {
			text.WriteString(inserts(t, b, table))
		}
		if b.name == "postgres" {
			text.WriteString("SELECT setval(pg_get_serial_sequence('lockstep_sends', 'position'), (SELECT max(position) FROM lockstep_sends));\n")
		}
		if err := os.MkdirAll(released, 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, text.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
	})
}

// tables are ours, in order.
func (b *base) tables(t *testing.T) []string {
	query := map[string]string{
		"sqlite":   `SELECT name FROM sqlite_schema WHERE type = 'table' AND name LIKE 'lockstep%' ORDER BY name`,
		"postgres": `SELECT tablename FROM pg_catalog.pg_tables WHERE schemaname = 'public' ORDER BY tablename`,
		"mysql":    `SELECT table_name FROM information_schema.tables WHERE table_schema = database() ORDER BY table_name`,
	}[b.name]
	return strings.Fields(b.text(t, query))
}

// schema is the text that makes the tables anew.
func schema(t *testing.T, b *base) string {
	t.Helper()
	switch b.name {
	case "sqlite":
		return b.text(t, `SELECT sql || ';' FROM sqlite_schema WHERE sql IS NOT NULL AND name LIKE 'lockstep%' ORDER BY type DESC, name`) + "\n"
	case "mysql":
		var text strings.Builder
		for _, table := range b.tables(t) {
			var name, create string
			if err := b.sql.QueryRowContext(t.Context(), "SHOW CREATE TABLE "+table).Scan(&name, &create); err != nil {
				t.Fatal(err)
			}
			text.WriteString(regexp.MustCompile(` AUTO_INCREMENT=\d+`).ReplaceAllString(create, "") + ";\n")
		}
		return text.String()
	}
	out, err := exec.CommandContext(t.Context(), "pg_dump", "--schema-only", "--no-owner", "--no-privileges", b.address).Output()
	if err != nil {
		t.Fatalf("pg_dump: %v", err)
	}
	var kept []string
	for line := range strings.Lines(string(out)) {
		if !strings.HasPrefix(line, "--") && !strings.HasPrefix(line, "SET ") && !strings.HasPrefix(line, "SELECT pg_catalog.set_config") &&
			!strings.HasPrefix(line, `\`) && strings.TrimSpace(line) != "" {
			kept = append(kept, line)
		}
	}
	return strings.Join(kept, "")
}

// inserts are a table's rows.
func inserts(t *testing.T, b *base, table string) string {
	t.Helper()
	rows, err := b.sql.QueryContext(t.Context(), "SELECT "+b.stored(t, table)+" FROM "+table+" ORDER BY 1")
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	columns, err := rows.Columns()
	if err != nil {
		t.Fatal(err)
	}
	var text strings.Builder
	for rows.Next() {
		cells := make([]any, len(columns))
		for i := range cells {
			cells[i] = new(any)
		}
		if err := rows.Scan(cells...); err != nil {
			t.Fatal(err)
		}
		values := make([]string, len(cells))
		for i, cell := range cells {
			values[i] = literal(*cell.(*any))
		}
		fmt.Fprintf(&text, "INSERT INTO %s (%s) VALUES (%s);\n", table, strings.Join(columns, ", "), strings.Join(values, ", "))
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	return text.String()
}

// stored are a table's columns but for those that the database computes.
func (b *base) stored(t *testing.T, table string) string {
	if b.name != "mysql" {
		return "*"
	}
	names := b.text(t, "SELECT column_name FROM information_schema.columns WHERE table_schema = database() AND table_name = '"+table+
		"' AND extra NOT LIKE '%GENERATED%' ORDER BY ordinal_position")
	return strings.Join(strings.Fields(names), ", ")
}

// literal writes a value; those of the dumps hold no backslash.
func literal(v any) string {
	switch v := v.(type) {
	case nil:
		return "NULL"
	case []byte:
		return literal(string(v))
	case string:
		return "'" + strings.ReplaceAll(v, "'", "''") + "'"
	}
	return fmt.Sprint(v)
}

// catalogue is what the database says of our tables, columns and indexes.
func catalogue(t *testing.T, b *base) string {
	t.Helper()
	switch b.name {
	case "sqlite":
		return b.text(t, `SELECT m.name || ' ' || c.name || ' ' || c.type || ' ' || c."notnull" || ' ' || coalesce(c.dflt_value, '') || ' ' || c.pk
				FROM sqlite_schema m, pragma_table_info(m.name) c WHERE m.name LIKE 'lockstep%' AND m.type = 'table' ORDER BY 1`) + "\n" +
			b.text(t, `SELECT m.tbl_name || ' ' || m.name || ' ' || coalesce(m.sql, '') FROM sqlite_schema m WHERE m.type = 'index' ORDER BY 1`)
	case "mysql":
		return b.text(t, `SELECT concat_ws(' ', table_name, column_name, column_type, is_nullable, coalesce(column_default, ''), coalesce(collation_name, ''))
				FROM information_schema.columns WHERE table_schema = database() ORDER BY 1`) + "\n" +
			b.text(t, `SELECT concat_ws(' ', table_name, index_name, seq_in_index, column_name, non_unique)
				FROM information_schema.statistics WHERE table_schema = database() ORDER BY 1`)
	}
	return b.text(t, `SELECT concat_ws(' ', table_name, column_name, data_type, is_nullable, coalesce(column_default, ''), coalesce(collation_name, ''), is_identity)
			FROM information_schema.columns WHERE table_schema = 'public' ORDER BY 1`) + "\n" +
		b.text(t, `SELECT indexdef FROM pg_catalog.pg_indexes WHERE schemaname = 'public' ORDER BY 1`)
}

// difference is the lines that only one of two texts has.
func difference(a, b string) string {
	left, right := strings.Split(a, "\n"), strings.Split(b, "\n")
	var all []string
	for _, line := range left {
		if !slices.Contains(right, line) {
			all = append(all, "upgraded only: "+line)
		}
	}
	for _, line := range right {
		if !slices.Contains(left, line) {
			all = append(all, "fresh only:    "+line)
		}
	}
	return strings.Join(all, "\n")
}
