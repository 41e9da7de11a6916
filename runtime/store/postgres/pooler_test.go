package postgres_test

import (
	"bytes"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/lockstep-go/lockstep/runtime/bus"
	"github.com/lockstep-go/lockstep/runtime/bus/bustest"
	"github.com/lockstep-go/lockstep/runtime/store"
	"github.com/lockstep-go/lockstep/runtime/store/postgres"
	"github.com/lockstep-go/lockstep/runtime/store/storetest"
)

// pooled is the DSN of a PgBouncer of the test's own, which changes the server connection between transactions. The
// test is skipped where there is none, unless LOCKSTEP_TEST_REQUIRE_PGBOUNCER is 1.
func pooled(t *testing.T) string {
	t.Helper()
	direct, err := pgx.ParseConfig(dsn(t))
	if err != nil {
		t.Fatal(err)
	}
	binary, err := exec.LookPath("pgbouncer")
	if err != nil {
		if binary = "/usr/sbin/pgbouncer"; !exists(binary) {
			if os.Getenv("LOCKSTEP_TEST_REQUIRE_PGBOUNCER") == "1" {
				t.Fatal(err)
			}
			t.Skip("no pgbouncer here")
		}
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	port := listener.Addr().(*net.TCPAddr).Port
	listener.Close()
	config := filepath.Join(t.TempDir(), "pgbouncer.ini")
	text := fmt.Sprintf(`[databases]
%[1]s = host=%[2]s port=%[3]d dbname=%[1]s user=%[4]s %[6]s connect_query='SET synchronous_commit = off'
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = %[5]d
unix_socket_dir =
auth_type = any
pool_mode = transaction
default_pool_size = 6
max_client_conn = 1000
server_round_robin = 1
ignore_startup_parameters = extra_float_digits,options
`, direct.Database, direct.Host, direct.Port, direct.User, port, password(direct.Password))
	if err := os.WriteFile(config, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	args := []string{config}
	if os.Getuid() == 0 { // which it refuses to be
		args = []string{"-u", "nobody", config}
	}
	var log bytes.Buffer
	cmd := exec.Command(binary, args...)
	cmd.Stdout, cmd.Stderr = &log, &log
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		cmd.Process.Kill()
		cmd.Wait()
	})
	for end := time.Now().Add(10 * time.Second); ; time.Sleep(20 * time.Millisecond) {
		c, err := net.Dial("tcp", fmt.Sprintf("127.0.0.1:%d", port))
		if err == nil {
			c.Close()
			break
		}
		if time.Now().After(end) {
			cmd.Process.Kill()
			cmd.Wait()
			t.Fatalf("pgbouncer does not answer: %v\n%s", err, log.String())
		}
	}
	return fmt.Sprintf("host=127.0.0.1 port=%d user=%s dbname=%s sslmode=disable", port, direct.User, direct.Database)
}

func password(p string) string {
	if p == "" {
		return ""
	}
	return "password='" + p + "'"
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// D35: behind a proxy that changes the server connection between transactions the suite passes where nothing is kept on
// a connection; a mode that keeps something is refused with the setting to change.
func TestBehindATransactionPooler(t *testing.T) {
	proxy := pooled(t)
	t.Run("cache_statement", func(t *testing.T) {
		_, err := postgres.Open(t.Context(), proxy, postgres.Config{Schema: newSchema()})
		refused, ok := errors.AsType[*postgres.Pooler](err)
		if !ok {
			t.Fatalf("got %v, want a *Pooler", err)
		}
		if !strings.Contains(refused.Error(), "default_query_exec_mode=exec") {
			t.Errorf("%q does not say what to set", refused)
		}
	})
	t.Run("listen", func(t *testing.T) { // notifications would go to whichever client has the server connection
		o := open(t, proxy+" default_query_exec_mode=exec", postgres.Config{Schema: newSchema()})
		ear := bustest.Start(t, o.Store)
		other := open(t, dsn(t, lax), o.cfg)
		other.Publish("other", bus.Hint{Kind: bus.Sends})
		time.Sleep(200 * time.Millisecond)
		if n := ear.Missed() + ear.Packets(); n != 0 {
			t.Errorf("woken %d times through the proxy: is there one?", n)
		}
	})
	for i, mode := range []string{"exec", "simple_protocol"} {
		t.Run(mode, func(t *testing.T) {
			storetest.Run(t, func(t *testing.T) store.Store {
				sample(t, i)
				return open(t, proxy+" default_query_exec_mode="+mode, postgres.Config{Schema: emptied(t)})
			})
		})
	}
}
