package mysql_test

import (
	"errors"
	"testing"
	"time"

	"github.com/lockstep-go/lockstep/actors"
	"github.com/lockstep-go/lockstep/runtime"
	"github.com/lockstep-go/lockstep/runtime/bus/bustest"
	"github.com/lockstep-go/lockstep/runtime/store/mysql"
)

// Inventory 1.44, hole 14: an idle process asks what is due once a second, and beside its heartbeat writes nothing.
func TestIdleProcessAsksLittle(t *testing.T) {
	if testing.Short() {
		t.Skip("it watches an idle process for a while")
	}
	s := fresh(t, here.utf8)
	rt := serving(t, s.Store, runtime.Config{})
	if _, err := bump.Ask(t.Context(), rt, tallies.Ref("a"), 1); err != nil {
		t.Fatal(err)
	}
	time.Sleep(2 * time.Second)
	before, begun := s.Stats(), time.Now()
	time.Sleep(15 * time.Second)
	after, minutes := s.Stats(), time.Since(begun).Minutes()
	statements, commits := float64(after.Statements-before.Statements)/minutes, float64(after.Commits-before.Commits)/minutes
	t.Logf("%.0f statements and %.0f commits in a minute", statements, commits)
	if statements > 600 || commits > 20 {
		t.Errorf("%.0f statements and %.0f commits in a minute, want at most 600 and 20", statements, commits)
	}
}

// Inventory 267: a process that has the database to itself sends the server nothing while it has nothing to do.
func TestSingleOwnerIsSilentWhenIdle(t *testing.T) {
	need(t)
	p := bustest.NewProxy(t, here.utf8.Addr)
	through := here.utf8.Clone()
	through.Addr = p.Addr()
	cfg := mysql.Config{Prefix: prefix()}
	clean(t, here.utf8, cfg.Prefix)
	o := open(t, through.FormatDSN(), cfg)
	rt := serving(t, o.Store, runtime.Config{
		SingleOwner: true, Idle: 100 * time.Millisecond, Lease: time.Second, Renew: 300 * time.Millisecond,
		Heartbeat: 200 * time.Millisecond, Stale: time.Minute,
	})
	if _, err := bump.Ask(t.Context(), rt, tallies.Ref("a"), 1); err != nil {
		t.Fatal(err)
	}
	if _, err := bump.Tell(t.Context(), rt, tallies.Ref("a"), 1, actors.Available(actors.In(12*time.Second))); err != nil {
		t.Fatal(err)
	}
	bustest.Eventually(t, "it falls silent", func() bool {
		before := p.Bytes()
		time.Sleep(1500 * time.Millisecond)
		return p.Bytes() == before
	})
	before, bytes := o.Stats(), p.Bytes()
	if bytes == 0 {
		t.Fatal("nothing went through the proxy")
	}
	time.Sleep(3 * time.Second) // three leases, fifteen heartbeats
	if after := o.Stats(); after != before || p.Bytes() != bytes {
		t.Errorf("an idle process sent %d bytes, %d statements", p.Bytes()-bytes, after.Statements-before.Statements)
	}
	_, err := runtime.Open(t.Context(), open(t, here.utf8.FormatDSN(), cfg).Store, runtime.Config{Types: []actors.AnyType{tallies}})
	if e, ok := errors.AsType[*runtime.NotAlone](err); !ok || !e.Owner {
		t.Errorf("a second process was refused with %v", err)
	}
	bustest.Eventually(t, "the delayed message is run at its time", func() bool {
		snap, err := tallies.Ref("a").Snapshot(t.Context(), rt)
		return err == nil && snap.N == 2
	})
}
