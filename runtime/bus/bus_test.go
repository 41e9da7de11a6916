package bus_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/lockstep-go/lockstep/actors"
	"github.com/lockstep-go/lockstep/runtime/bus"
	"github.com/lockstep-go/lockstep/runtime/bus/bustest"
)

func TestInProcess(t *testing.T) {
	bustest.Run(t, bustest.Subject{Open: func(*testing.T, string, string) bus.Bus { return &bus.InProcess{} }})
}

// sink keeps the packets of a gatherer.
type sink struct {
	mu      sync.Mutex
	fails   bool
	packets [][]byte
}

func (s *sink) send(_ context.Context, packet []byte) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.fails {
		return errors.New("no server")
	}
	s.packets = append(s.packets, packet)
	return nil
}

func (s *sink) hints(t *testing.T) (all []bus.Hint) {
	t.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, p := range s.packets {
		if len(p) > bus.MaxPacket {
			t.Errorf("a packet of %d bytes", len(p))
		}
		_, hints, err := bus.Unpack(p)
		if err != nil {
			t.Error(err)
		}
		all = append(all, hints...)
	}
	return all
}

func news(id string, revision int64) bus.Hint {
	return bus.Hint{Kind: bus.News, Actor: actors.Address{Type: "cart", ID: id}, Instance: "i", Revision: revision}
}

// D38: of an actor only the newest revision is told, and nothing is told twice.
func TestD38HintsOfAWindowAreOne(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &sink{}
		g := bus.NewGatherer(nil, s.send)
		defer g.Close()
		for i := range int64(1000) {
			g.Publish("me", news("a", 1+(i*7)%1000), bus.Hint{Kind: bus.Messages, Name: "cart"})
		}
		time.Sleep(time.Second)
		all := s.hints(t)
		if len(all) > 4 || !slices.Contains(all, news("a", 1000)) {
			t.Errorf("heard %v", all)
		}
	})
}

// What is urgent does not wait behind news, and what is too much becomes one Missed, but for what was withdrawn.
func TestTooManyHintsBecomeOne(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &sink{fails: true}
		g := bus.NewGatherer(nil, s.send)
		defer g.Close()
		revoked := bus.Hint{Kind: bus.Revoke, Name: "session", ID: "d"}
		g.Publish("me", revoked)
		for i := range 10_000 {
			g.Publish("me", news(fmt.Sprint(i), 1))
		}
		time.Sleep(time.Minute) // however long the server is away
		s.mu.Lock()
		s.fails = false
		s.mu.Unlock()
		time.Sleep(time.Minute)
		all := s.hints(t)
		if len(all) != 2 {
			t.Fatalf("heard %d hints: %.200v", len(all), all)
		}
		for _, h := range all {
			if h != revoked && h.Kind != bus.Missed {
				t.Errorf("heard %v", h)
			}
		}
	})
}

func TestManyEndsBecomeOne(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &sink{}
		g := bus.NewGatherer(nil, s.send)
		g.Publish("me", bus.Hint{Kind: bus.Sends}) // goes out at once
		time.Sleep(time.Millisecond)
		for i := range 1000 {
			g.Publish("me", bus.Hint{Kind: bus.Ended, ID: fmt.Sprint(i)})
		}
		g.Close()
		if all := s.hints(t); len(all) != 2 || all[1] != (bus.Hint{Kind: bus.Ended}) {
			t.Errorf("heard %d: %.200v", len(all), all)
		}
	})
}

// A hint that no packet could hold goes as a Missed.
func TestAnOversizedHintIsAMissed(t *testing.T) {
	s := &sink{}
	g := bus.NewGatherer(nil, s.send)
	g.Publish("me", bus.Hint{Kind: bus.Messages, Name: strings.Repeat("n", 9000)})
	g.Close()
	if all := s.hints(t); len(all) != 1 || all[0].Kind != bus.Missed {
		t.Errorf("heard %.200v", all)
	}
	g.Publish("me", bus.Hint{Kind: bus.Sends})
	g.Close()
	if n := len(s.packets); n != 1 {
		t.Errorf("%d packets, want none after Close", n)
	}
}

func FuzzUnpack(f *testing.F) {
	s := &sink{}
	g := bus.NewGatherer(nil, s.send)
	g.Publish("me", news("a", 1), bus.Hint{Kind: bus.Sends})
	g.Close()
	f.Add(s.packets[0])
	f.Add([]byte(`{"f":"x","h":[{"k":"news","a":{"Type":"t","ID":""}},{"k":"unknown"},7,null]}`))
	f.Fuzz(func(t *testing.T, packet []byte) {
		_, hints, err := bus.Unpack(packet)
		for _, h := range hints {
			if err != nil || h.Kind == "" || len(h.Name)+len(h.ID)+len(h.Actor.ID) > 1000 {
				t.Errorf("%v, %v", h, err)
			}
		}
	})
}
