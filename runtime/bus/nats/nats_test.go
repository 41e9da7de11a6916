package nats_test

import (
	"cmp"
	"fmt"
	"net/url"
	"os"
	"testing"

	natsgo "github.com/nats-io/nats.go"

	"github.com/lockstep-go/lockstep/runtime/bus"
	"github.com/lockstep-go/lockstep/runtime/bus/bustest"
	"github.com/lockstep-go/lockstep/runtime/bus/nats"
)

// server is the URL of the tests' server.
var server = cmp.Or(os.Getenv("LOCKSTEP_TEST_NATS"), "nats://127.0.0.1:4222")

func TestMain(m *testing.M) {
	conn, err := natsgo.Connect(server, natsgo.Timeout(bus.Patience))
	switch {
	case err == nil:
		conn.Close()
	case os.Getenv("LOCKSTEP_TEST_REQUIRE_NATS") == "1":
		fmt.Fprintln(os.Stderr, "no NATS server, and LOCKSTEP_TEST_REQUIRE_NATS=1:", err)
		os.Exit(1)
	default:
		fmt.Fprintln(os.Stderr, "SKIP: tests that need NATS, none at LOCKSTEP_TEST_NATS (default nats://127.0.0.1:4222):", err)
		os.Exit(0)
	}
	os.Exit(m.Run())
}

func TestNATS(t *testing.T) {
	u, err := url.Parse(server)
	if err != nil {
		t.Fatal(err)
	}
	bustest.Run(t, bustest.Subject{Server: u.Host, Open: func(t *testing.T, channel, at string) bus.Bus {
		t.Helper()
		where := *u
		where.Host = cmp.Or(at, u.Host)
		b, err := nats.Open(where.String(), nats.Config{Subject: channel})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { b.Close() })
		return b
	}})
}

func TestOpenWantsAURL(t *testing.T) {
	if _, err := nats.Open("", nats.Config{}); err == nil {
		t.Error("no error")
	}
}
