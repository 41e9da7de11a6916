package mysql_test

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"testing"
	"time"

	natsgo "github.com/nats-io/nats.go"
	goredis "github.com/redis/go-redis/v9"

	"github.com/lockstep-go/lockstep/actors"
	"github.com/lockstep-go/lockstep/runtime"
	"github.com/lockstep-go/lockstep/runtime/bus"
	"github.com/lockstep-go/lockstep/runtime/bus/bustest"
	"github.com/lockstep-go/lockstep/runtime/bus/nats"
	"github.com/lockstep-go/lockstep/runtime/bus/redis"
	"github.com/lockstep-go/lockstep/runtime/store"
)

// broker is a server that carries a bus.
type broker struct {
	name, require string
	url           *url.URL
	ping          func(url string) error
	open          func(t *testing.T, url, channel string) bus.Bus
}

func brokers(t *testing.T) []broker {
	t.Helper()
	at := func(env, otherwise string) *url.URL {
		u, err := url.Parse(cmp.Or(os.Getenv(env), otherwise))
		if err != nil {
			t.Fatal(err)
		}
		return u
	}
	return []broker{
		{
			"nats", "LOCKSTEP_TEST_REQUIRE_NATS", at("LOCKSTEP_TEST_NATS", "nats://127.0.0.1:4222"),
			func(url string) error {
				conn, err := natsgo.Connect(url)
				if err == nil {
					conn.Close()
				}
				return err
			},
			func(t *testing.T, url, channel string) bus.Bus {
				b, err := nats.Open(url, nats.Config{Subject: channel})
				if err != nil {
					t.Fatal(err)
				}
				t.Cleanup(func() { b.Close() })
				return b
			},
		},
		{
			"redis", "LOCKSTEP_TEST_REQUIRE_REDIS", at("LOCKSTEP_TEST_REDIS", "redis://127.0.0.1:6379"),
			func(url string) error {
				options, err := goredis.ParseURL(url)
				if err != nil {
					return err
				}
				client := goredis.NewClient(options)
				defer client.Close()
				return client.Ping(context.Background()).Err()
			},
			func(t *testing.T, url, channel string) bus.Bus {
				b, err := redis.Open(url, redis.Config{Channel: channel})
				if err != nil {
					t.Fatal(err)
				}
				t.Cleanup(func() { b.Close() })
				return b
			},
		},
	}
}

// each runs a test on each bus for MySQL fleets; open opens one process's, through the address if it is not "".
func each(t *testing.T, test func(t *testing.T, server string, open func(through string) bus.Bus)) {
	for _, k := range brokers(t) {
		t.Run(k.name, func(t *testing.T) {
			if err := k.ping(k.url.String()); err != nil {
				if os.Getenv(k.require) == "1" {
					t.Fatalf("%s=1: %v", k.require, err)
				}
				t.Skip(err)
			}
			channel := fmt.Sprintf("lockstep_test_%d", time.Now().UnixNano())
			test(t, k.url.Host, func(through string) bus.Bus {
				u := *k.url
				u.Host = cmp.Or(through, u.Host)
				return k.open(t, u.String(), channel)
			})
		})
	}
}

// serving is a runtime at work until the test ends.
func serving(t *testing.T, s store.Store, cfg runtime.Config) *runtime.Runtime {
	t.Helper()
	cfg.Types, cfg.Policy = []actors.AnyType{tallies}, actors.InsecureAllowAll()
	rt, err := runtime.Open(t.Context(), s, cfg)
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- rt.Run(ctx) }()
	t.Cleanup(func() {
		stop()
		if err := errors.Join(<-ended, rt.Close()); err != nil {
			t.Error(err)
		}
	})
	bustest.Eventually(t, "it runs", rt.Ready)
	return rt
}

// fleet are two processes on one database that poll once an hour.
func fleet(t *testing.T, one, two bus.Bus) (owner, asker *runtime.Runtime) {
	t.Helper()
	s := fresh(t, here.utf8)
	cfg := runtime.Config{Poll: time.Hour, AskTimeout: 20 * time.Second}
	cfg.Bus = one
	owner = serving(t, s.Store, cfg)
	cfg.Bus = two
	return owner, serving(t, s.Again(t), cfg)
}

// D18, §4: with polling set to an hour, calls from one process to an actor that another has active are served by that
// one's workers, and end, as if there were no poll.
func TestD18AskAcrossProcessesNeedsNoPoll(t *testing.T) {
	each(t, func(t *testing.T, _ string, open func(string) bus.Bus) {
		owner, asker := fleet(t, open(""), open(""))
		if _, err := bump.Ask(t.Context(), owner, tallies.Ref("a"), 1); err != nil {
			t.Fatal(err)
		}
		time.Sleep(100 * time.Millisecond) // both listen
		begun := time.Now()
		const asks = 20
		for i := range asks {
			n, err := bump.Ask(t.Context(), asker, tallies.Ref("a"), 1)
			if err != nil || n != i+2 {
				t.Fatalf("ask %d: %d, %v", i, n, err)
			}
		}
		took := time.Since(begun)
		t.Logf("%v each", took/asks)
		if took > 10*time.Second {
			t.Errorf("%d asks took %v", asks, took)
		}
	})
}

// D38 (a): with the asker's bus deaf, or cut off, no call fails that polling would have served; once it is back, calls
// need no poll again.
func TestD38ABusThatDiesCostsLatencyOnly(t *testing.T) {
	if testing.Short() {
		t.Skip("it takes as long as a listener needs to find out")
	}
	each(t, func(t *testing.T, server string, open func(string) bus.Bus) {
		p := bustest.NewProxy(t, server)
		owner, asker := fleet(t, open(""), open(p.Addr()))
		ask := func(by actors.Client) {
			t.Helper()
			ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
			defer cancel()
			if _, err := bump.Ask(ctx, by, tallies.Ref("a"), 1); err != nil {
				t.Fatal(err)
			}
		}
		ask(owner)
		ask(asker)
		p.Kill()
		ask(asker) // its own hint waits until the bus is back, and the sweep finds the end
		p.Darken()
		time.AfterFunc(time.Second, p.Lighten)
		ask(asker)
		ask(asker)
	})
}
