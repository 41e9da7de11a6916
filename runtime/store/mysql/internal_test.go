package mysql

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"testing"

	"github.com/go-sql-driver/mysql"
)

func TestSupportedServers(t *testing.T) {
	for version, want := range map[string]bool{
		"8.0.36": true, "8.4.2-commercial": true, "9.1.0": true, "10.11.19-MariaDB-0+deb12u1": true, "11.4.2-MariaDB": true,
		"10.6.1-MariaDB-log": true, "5.5.5-10.6.12-MariaDB": true,
		"5.7.44": false, "10.5.9-MariaDB": false, "5.5.5-10.3.1-MariaDB": false, "": false, "TiDB": false,
	} {
		if supported(version) != want {
			t.Errorf("%q: %v", version, !want)
		}
	}
}

func TestErrorsAreClassified(t *testing.T) {
	server := func(n uint16) error { return fmt.Errorf("doing: %w", &mysql.MySQLError{Number: n}) }
	for _, c := range []struct {
		err  error
		want kind
	}{
		{server(1213), again}, {server(1205), again}, {server(1020), again}, // D30: one class
		{server(1290), notWritable}, {server(1836), notWritable},
		{server(1040), broken}, {server(1053), broken}, {mysql.ErrInvalidConn, broken}, {driver.ErrBadConn, broken},
		{late(ended(), context.DeadlineExceeded), broken},
		{server(1062), culprit}, {server(1406), culprit}, {server(3819), culprit}, {server(4025), culprit}, {&tooLarge{2, 1}, culprit},
		{server(1146), plain}, {server(1142), plain}, {context.Canceled, plain}, {errClosed, plain}, {nil, plain},
	} {
		if got := classify(c.err); got != c.want {
			t.Errorf("%v: %v, want %v", c.err, got, c.want)
		}
	}
}

// ended is the ctx of a statement that took too long.
func ended() context.Context {
	ctx, cancel := context.WithCancelCause(context.Background())
	cancel(errLimit)
	return ctx
}

// Every file is a statement, used once, with a promise in its first line; repeated parts come as often as asked.
func TestStatementFiles(t *testing.T) {
	names, err := fs.Glob(files, "sql/*.sql")
	if err != nil {
		t.Fatal(err)
	}
	if len(names) != len(sources) {
		t.Errorf("%d files, %d declared statements", len(names), len(sources))
	}
	for _, name := range names {
		text, err := files.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		first, body, _ := strings.Cut(string(text), "\n")
		if !strings.HasPrefix(first, "-- ") || !slices.Contains(sources, strings.TrimSpace(body)) {
			t.Errorf("%s: no promise in its first line, or not declared", name)
		}
		for line := range strings.Lines(string(text)) {
			if len(strings.TrimRight(line, "\n")) > 140 {
				t.Errorf("%s: a line of %d", name, len(line))
			}
		}
	}
	if got := expand("a IN (/*each*/?/*end*/) AND (/*any*/b = ?/*end*/)", 3, 2); got != "a IN (?, ?, ?) AND (b = ? OR b = ?)" {
		t.Errorf("expanded to %s", got)
	}
}

func TestSteps(t *testing.T) {
	got := steps("-- one; two\nCREATE a; -- three\n\n-- four\nCREATE b (\n\tc -- five; six\n);\n")
	if !slices.Equal(got, []string{"CREATE a", "CREATE b (\n\tc\n)"}) {
		t.Errorf("%q", got)
	}
}

// A server that acknowledges what a crash may lose is reported.
func TestWeaknessesAreSaid(t *testing.T) {
	for _, c := range []struct {
		flush, binlog, sync int64
		want                string
	}{
		{1, 0, 0, ""}, {1, 1, 1, ""}, {2, 0, 0, "innodb_flush_log_at_trx_commit"}, {1, 1, 0, "sync_binlog"},
		{0, 1, 100, "innodb_flush_log_at_trx_commit sync_binlog"},
	} {
		var got []string
		for _, err := range weaknesses(row{nil, nil, c.flush, c.binlog, c.sync}) {
			if w, ok := errors.AsType[*WeakDurability](err); ok {
				got = append(got, w.Setting)
			}
		}
		if strings.Join(got, " ") != c.want {
			t.Errorf("%+v: %q", c, got)
		}
	}
}

// D08: rows go into one statement as their number and their bytes allow, and a row that fits into none is refused.
func TestFitting(t *testing.T) {
	q := &session{store: &Store{packet: 400 << 10}}
	rows := func(n, size int) (args []any) {
		for range n {
			args = append(args, "id", strings.Repeat("x", size))
		}
		return args
	}
	for _, c := range []struct{ n, size, want int }{
		{500, 10, 2 * maxRows}, {7, 10, 14}, {10, 30 << 10, 6}, {2, 200 << 10, 2}, {1, 330 << 10, 2},
	} {
		if got, err := q.fitting(2, rows(c.n, c.size)); err != nil || got != c.want {
			t.Errorf("%d rows of %d bytes: %d arguments, want %d, %v", c.n, c.size, got, c.want, err)
		}
	}
	_, err := q.fitting(2, rows(1, 340<<10))
	if _, ok := errors.AsType[*tooLarge](err); !ok || classify(err) != culprit {
		t.Errorf("too large: %v", err)
	}
}
