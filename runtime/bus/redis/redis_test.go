package redis_test

import (
	"cmp"
	"context"
	"fmt"
	"net/url"
	"os"
	"strings"
	"testing"

	goredis "github.com/redis/go-redis/v9"

	"github.com/lockstep-go/lockstep/runtime/bus"
	"github.com/lockstep-go/lockstep/runtime/bus/bustest"
	"github.com/lockstep-go/lockstep/runtime/bus/redis"
)

// server is the URL of the tests' server.
var server = cmp.Or(os.Getenv("LOCKSTEP_TEST_REDIS"), "redis://127.0.0.1:6379")

func TestMain(m *testing.M) {
	err := ping()
	switch {
	case err == nil:
	case os.Getenv("LOCKSTEP_TEST_REQUIRE_REDIS") == "1":
		fmt.Fprintln(os.Stderr, "no Redis server, and LOCKSTEP_TEST_REQUIRE_REDIS=1:", err)
		os.Exit(1)
	default:
		fmt.Fprintln(os.Stderr, "SKIP: tests that need Redis, none at LOCKSTEP_TEST_REDIS (default redis://127.0.0.1:6379):", err)
		os.Exit(0)
	}
	os.Exit(m.Run())
}

func ping() error {
	options, err := goredis.ParseURL(server)
	if err != nil {
		return err
	}
	client := goredis.NewClient(options)
	defer client.Close()
	return client.Ping(context.Background()).Err()
}

// Both on a client of the bus's own and on the application's.
func TestRedis(t *testing.T) {
	for _, own := range []bool{true, false} {
		t.Run(map[bool]string{true: "own_client", false: "the_application's_client"}[own], func(t *testing.T) { suite(t, own) })
	}
}

func suite(t *testing.T, own bool) {
	u, err := url.Parse(server)
	if err != nil {
		t.Fatal(err)
	}
	bustest.Run(t, bustest.Subject{Server: u.Host, Open: func(t *testing.T, channel, at string) bus.Bus {
		t.Helper()
		where := *u
		where.Host = cmp.Or(at, u.Host)
		if own {
			b, err := redis.Open(where.String(), redis.Config{Channel: channel})
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { b.Close() })
			return b
		}
		options, err := goredis.ParseURL(where.String())
		if err != nil {
			t.Fatal(err)
		}
		client := goredis.NewClient(options)
		b := redis.New(client, redis.Config{Channel: channel})
		t.Cleanup(func() {
			b.Close()
			if err := client.Close(); err != nil {
				t.Errorf("the application's client was closed: %v", err)
			}
		})
		return b
	}})
}

func TestOpenKeepsThePasswordToItself(t *testing.T) {
	_, err := redis.Open("redis://:hunter2@host:notaport", redis.Config{})
	if err == nil || strings.Contains(err.Error(), "hunter2") {
		t.Errorf("the error is %v", err)
	}
}
