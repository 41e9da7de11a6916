package runtime_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/lockstep-go/lockstep/actors"
)

// G25: a reminder has a name and may have a key; scheduling again replaces, cancelling wins, and each fires when due.
func TestG25RemindersByNameAndKey(t *testing.T) {
	inTime(t, func(t *testing.T) {
		began := time.Now()
		var p *pads
		var heard record
		p = definePads(func(turn *actors.Turn[pad], _ *pad, line string) error {
			key := func(k string) actors.ScheduleOption { return actors.Key(k) }
			switch line {
			case "schedule":
				p.write.Schedule(turn, actors.In(10*time.Second), "plain")
				p.write.Schedule(turn, actors.In(20*time.Second), "a", key("a"))
				p.write.Schedule(turn, actors.In(30*time.Second), "b", key("b"))
				p.write.Schedule(turn, actors.In(40*time.Second), "c", key("c"))
			case "change":
				p.write.Schedule(turn, actors.In(50*time.Second), "a again", key("a"))
				p.write.Cancel(turn, key("b"))
				p.write.Cancel(turn, key("unknown"))
				if alarm, ok, err := p.write.Scheduled(turn, key("c")); err != nil || !ok || alarm.Next.Sub(began).Round(time.Second) != 40*time.Second {
					t.Errorf("the stored schedule of c: %+v, %v, %v", alarm, ok, err)
				}
				if _, ok, err := p.write.Scheduled(turn, key("b")); ok || err != nil {
					t.Errorf("the cancelled b: %v, %v", ok, err)
				}
			default:
				heard.add(fmt.Sprintf("%s@%v", line, time.Since(began).Round(time.Second)))
			}
			return nil
		})
		rt := start(t, openStore(t), config(p))
		p.ask(t, rt.Runtime, "x", "schedule")
		p.ask(t, rt.Runtime, "x", "change")
		pass(5 * time.Minute)
		heard.expect(t, "reminded", "plain@10s", "c@40s", "a again@50s")
	})
}

// D43: an interval stays on the grid of its first due time, however long its handler takes, and waits for no poll; two
// schedulers fire each occurrence once (D44).
func TestD43IntervalStaysOnItsGrid(t *testing.T) {
	for processes, late := range map[int]time.Duration{1: 50 * time.Millisecond, 2: 1100 * time.Millisecond} {
		t.Run(fmt.Sprint(processes), func(t *testing.T) {
			inTime(t, func(t *testing.T) {
				began := time.Now()
				var p *pads
				var at []time.Duration
				p = definePads(func(turn *actors.Turn[pad], s *pad, line string) error {
					if line == "schedule" {
						p.write.Schedule(turn, actors.At(began.Add(3*time.Second)), "tick", actors.Every(3*time.Second))
						return nil
					}
					at = append(at, time.Since(began))
					time.Sleep(time.Second)
					s.Lines = s.Lines[:1]
					return nil
				})
				db := openStore(t)
				cfg := config(p)
				if processes == 1 {
					cfg.Poll = time.Hour // the alarm, not the poll, is what is on time
				}
				for i := range processes {
					rt := start(t, db, cfg)
					if i == 0 {
						p.ask(t, rt.Runtime, "x", "schedule")
					}
				}
				const occurrences = 300
				pass(occurrences*3*time.Second + 2*time.Second)
				if len(at) != occurrences {
					t.Fatalf("%d occurrences, want %d", len(at), occurrences)
				}
				early := slack(t) // by which a server's clock is not the bubble's
				for i, d := range at {
					if after := d - time.Duration(i+1)*3*time.Second; after < -early || after > late+early {
						t.Fatalf("occurrence %d comes at %v", i+1, d)
					}
				}
			})
		})
	}
}

// D44: after an outage of an hour, latest sends one message and all sends each, in order; both go on with the grid.
func TestD44CatchUp(t *testing.T) {
	for _, policy := range []actors.CatchUpPolicy{actors.Latest, actors.All} {
		t.Run(string(policy), func(t *testing.T) {
			inTime(t, func(t *testing.T) {
				began := time.Now()
				var p *pads
				var count atomic.Int64
				p = definePads(func(turn *actors.Turn[pad], s *pad, line string) error {
					if line == "schedule" {
						p.write.Schedule(turn, actors.At(began.Add(10*time.Second)), "tick", actors.Every(10*time.Second), actors.CatchUp(policy))
						p.write.Schedule(turn, actors.At(began.Add(30*time.Minute)), "once", actors.Key("once"))
						return nil
					}
					if line == "tick" {
						count.Add(1)
						s.Lines = s.Lines[:1]
					}
					return nil
				})
				db := openStore(t)
				p.ask(t, idle(t, db, config(p)), "x", "schedule")
				pass(time.Hour + 5*time.Second) // nothing runs
				cfg := config(p)
				cfg.Mailbox = 20
				for range 3 {
					start(t, db, cfg)
				}
				pass(4 * time.Second)
				want := map[actors.CatchUpPolicy]int64{actors.Latest: 1, actors.All: 360}[policy]
				if policy == actors.All {
					pass(time.Minute)
					want += 6
				}
				if count.Load() != want {
					t.Errorf("%d occurrences, want %d", count.Load(), want)
				}
				before := count.Load()
				pass(20 * time.Second)
				if more := count.Load() - before; more != 2 {
					t.Errorf("in the next 20 s there are %d occurrences, want 2", more)
				}
			})
		})
	}
}

// D48: what one actor sends another arrives once and in order; two types may send to each other.
func TestD48SendsArriveOnceAndInOrder(t *testing.T) {
	inTime(t, func(t *testing.T) {
		left, right := actors.Define("left", func() pad { return pad{} }), actors.Define("right", func() pad { return pad{} })
		ping, pong := actors.Message[int, int](left, "ping"), actors.Message[int, int](right, "pong")
		ping.Handle(func(s *pad, turn *actors.Turn[pad], n int) (int, error) {
			s.Lines = append(s.Lines, fmt.Sprint(n))
			if n == 0 {
				for i := range 100 {
					pong.Send(turn, right.Ref("b"), i+1)
				}
			}
			return n, nil
		})
		pong.Handle(func(s *pad, turn *actors.Turn[pad], n int) (int, error) {
			s.Lines = append(s.Lines, fmt.Sprint(n))
			ping.Send(turn, left.Ref("a"), n)
			return n, nil
		})
		db := openStore(t)
		rt, _ := start(t, db, config(left, right)), start(t, db, config(left, right)) // two deliverers
		if _, err := ping.Ask(t.Context(), rt, left.Ref("a"), 0); err != nil {
			t.Fatal(err)
		}
		pass(10 * time.Second)
		var want []string
		for i := range 101 {
			want = append(want, fmt.Sprint(i))
		}
		if a, err := left.Ref("a").Snapshot(t.Context(), rt); err != nil || !slices.Equal(a.Lines, want) {
			t.Errorf("the way back: %q, %v", a.Lines, err)
		}
		if b, err := right.Ref("b").Snapshot(t.Context(), rt); err != nil || !slices.Equal(b.Lines, want[1:]) {
			t.Errorf("the way there: %q, %v", b.Lines, err)
		}
	})
}

// D48: a full target delays only what is for it; the sender's destruction cancels what was not delivered.
func TestD48FullTargetDelaysOnlyItself(t *testing.T) {
	inTime(t, func(t *testing.T) {
		var p *pads
		p = definePads(func(turn *actors.Turn[pad], _ *pad, line string) error {
			switch line {
			case "send":
				p.write.Send(turn, p.Ref("full"), "1")
				p.write.Send(turn, p.Ref("open"), "2")
				p.write.Send(turn, p.Ref("full"), "3")
			case "send and die":
				p.write.Send(turn, p.Ref("full"), "never")
			}
			return nil
		})
		db := openStore(t)
		cfg := config(p)
		cfg.Mailbox = 2
		rt := start(t, db, cfg)
		p.ask(t, rt.Runtime, "full", "0")
		pause(t, db, "pad", "full", true)
		p.tell(t, rt.Runtime, "full", "a")
		p.tell(t, rt.Runtime, "full", "b")
		p.ask(t, rt.Runtime, "s", "send")
		p.ask(t, rt.Runtime, "mortal", "send and die")
		pass(time.Minute)
		p.expect(t, rt.Runtime, "open", "2")
		if existed, err := p.Ref("mortal").Destroy(t.Context(), rt); !existed || err != nil {
			t.Fatal(existed, err)
		}
		pause(t, db, "pad", "full", false)
		pass(5 * time.Minute)
		p.expect(t, rt.Runtime, "full", "0", "a", "b", "1", "3")
	})
}

// G27: one broadcast a turn, with the names of what changed and the values of the shared among them, each covering the
// interval from the one before.
func TestG27OneBroadcastATurn(t *testing.T) {
	inTime(t, func(t *testing.T) {
		p := definePads(func(_ *actors.Turn[pad], s *pad, line string) error {
			switch line {
			case "replace":
				s.Lines = s.Lines[:len(s.Lines)-1]
			case "reject":
				return actors.Reject("no", "")
			}
			return nil
		})
		rt := start(t, openStore(t), config(p))
		var news []actors.Broadcast
		defer rt.Follow(func(b actors.Broadcast) { news = append(news, b) })()
		m := p.tell(t, rt.Runtime, "a", "one")
		settle()
		if _, err := p.write.Ask(t.Context(), rt, p.Ref("a"), "reject"); err == nil {
			t.Error("not rejected")
		}
		if _, err := p.count.Ask(t.Context(), rt, p.Ref("a")); err != nil {
			t.Error(err)
		}
		p.ask(t, rt.Runtime, "a", "replace")
		p.ask(t, rt.Runtime, "a", "two")
		settle()
		_, stamp, err := p.Ref("a").SnapshotStamp(t.Context(), rt)
		if err != nil || len(news) != 3 {
			t.Fatalf("%d broadcasts, %v; want 3: %+v", len(news), err, news)
		}
		for i, want := range []struct {
			previous, revision int64
			names              string
			size               string
		}{{0, 1, "[lines size]", "1"}, {1, 4, "[lines]", ""}, {4, 5, "[lines size]", "2"}} {
			b := news[i]
			if b.Previous != want.previous || b.Revision != want.revision || fmt.Sprint(b.Names) != want.names || string(b.Values["size"]) != want.size {
				t.Errorf("broadcast %d is %+v, want (%d, %d] of %s, size %s", i, b, want.previous, want.revision, want.names, want.size)
			}
			if b.Actor != (actors.Address{Type: "pad", ID: "a"}) || b.Instance != stamp.Instance || b.Message == "" || b.ID == "" || len(b.Values["lines"]) > 0 {
				t.Errorf("broadcast %d is %+v", i, b)
			}
		}
		if news[0].Message != m.ID || news[2].Message != stamp.Message {
			t.Error("a broadcast does not name the message that committed it")
		}
		stamps, err := rt.Stamps(t.Context(), []actors.Address{{Type: "pad", ID: "a"}, {Type: "pad", ID: "none"}})
		if err != nil || len(stamps) != 2 || stamps[0] != (actors.Progress{Stamp: stamp, Committed: stamp.Revision}) || stamps[1] != (actors.Progress{}) {
			t.Errorf("stamps are %+v, %v; want %+v and none", stamps, err, stamp)
		}
	})
}

// G27: the first commit after a migration or a hook that changed state names every observable; per-viewer output makes
// every change of state news.
func TestG27WhatTheFirstCommitNames(t *testing.T) {
	inTime(t, func(t *testing.T) {
		db := openStore(t)
		old := definePads(nil)
		old.ask(t, idle(t, db, config(old)), "migrated", "x")
		old.ask(t, idle(t, db, config(old)), "hooked", "x")
		same := func(_ *actors.Turn[pad], s *pad, _ string) error { s.Lines = s.Lines[:len(s.Lines)-1]; return nil }
		young := definePads(same)
		constant := actors.Shared(young.Type, "constant", func(pad) int { return 7 })
		young.Migrate(1, func(s json.RawMessage) (json.RawMessage, error) { return s, nil })
		young.OnActivate(func(s *pad, a *actors.Activation) error {
			if a.ID == "hooked" {
				s.Lines = []string{"x", "by the hook"}
			}
			return nil
		})
		rt := start(t, db, config(young))
		var news []actors.Broadcast
		defer rt.Follow(func(b actors.Broadcast) { news = append(news, b) })()
		for _, id := range []string{"migrated", "hooked"} {
			news = nil
			young.ask(t, rt.Runtime, id, "x")
			settle()
			if len(news) != 1 || fmt.Sprint(news[0].Names) != "[lines size constant]" || string(news[0].Values[constant.Name()]) != "7" {
				t.Errorf("%s: %+v, want all observables named", id, news)
			}
			news = nil
			young.ask(t, rt.Runtime, id, "y")
			settle()
			if len(news) != 1 || fmt.Sprint(news[0].Names) != "[lines]" {
				t.Errorf("%s, the second commit: %+v, want only what changed", id, news)
			}
		}
	})
}

// G27: where something shown depends on who looks, every change of state is news, though no observable changed.
func TestG27PerViewerOutput(t *testing.T) {
	inTime(t, func(t *testing.T) {
		quiet := actors.Define("quiet", func() pad { return pad{} })
		write := actors.Message[string, int](quiet, "write")
		write.Handle(func(s *pad, _ *actors.Turn[pad], line string) (int, error) { s.Lines = []string{line}; return 0, nil })
		rt := start(t, openStore(t), config(quiet))
		var news record
		defer rt.Follow(func(b actors.Broadcast) { news.add(fmt.Sprint(b.Previous, b.Revision, b.Names)) })()
		for i, line := range []string{"a", "b", "b", "c"} {
			if i == 1 {
				quiet.Definition().MarkPerViewer()
			}
			if _, err := write.Ask(t.Context(), rt, quiet.Ref("q"), line); err != nil {
				t.Fatal(err)
			}
		}
		settle()
		news.expect(t, "broadcasts", "0 2 []", "2 4 []")
	})
}

// G27: a broadcast that its process never handed on is taken up by another, once its claim has lapsed.
func TestG27LostBroadcastIsTakenUp(t *testing.T) {
	inTime(t, func(t *testing.T) {
		p := definePads(nil)
		db := openStore(t)
		mute := &faults{Store: db}
		first := start(t, mute, config(p))
		mute.set(nil, onceFor(commits, errUnclear)) // committed, but the process does not know
		if _, err := p.write.Tell(t.Context(), first, p.Ref("a"), "x"); err != nil {
			t.Fatal(err)
		}
		var news record
		second := start(t, db, config(p))
		for _, rt := range []*process{first, second} {
			defer rt.Follow(func(b actors.Broadcast) { news.add(fmt.Sprint(b.Actor.ID, b.Names, b.Revision)) })()
		}
		pass(time.Minute)
		p.expect(t, second.Runtime, "a", "x")
		news.expect(t, "handed on", "a[] 1") // without names: another build may have written it
		taken, err := db.TakeBroadcasts(t.Context(), "nobody", 0, 10)
		if err != nil || len(taken) != 0 {
			t.Errorf("not handed on after a minute: %+v, %v", taken, err)
		}
	})
}

var errWeather = errors.New("weather")

// A part of the runtime that panics or fails is started again, and what it was to do is done.
func TestFailedRoleIsRestarted(t *testing.T) {
	inTime(t, func(t *testing.T) {
		var p *pads
		p = definePads(func(turn *actors.Turn[pad], _ *pad, line string) error {
			if line == "send" {
				p.write.Send(turn, p.Ref("b"), "sent")
			}
			return nil
		})
		db := &faults{Store: openStore(t)}
		rt := start(t, db, config(p))
		pass(time.Second)
		for i := range 3 {
			explode := func() { panic(errWeather) }
			db.deliver.Store(&explode)
			p.ask(t, rt.Runtime, "a", "send")
			pass(20 * time.Second)
			if s, err := p.Ref("b").Snapshot(context.Background(), rt); err != nil || len(s.Lines) != i+1 {
				t.Errorf("after %d panics %d sends have arrived, %v", i+1, len(s.Lines), err)
			}
		}
	})
}
