package runtimetest_test

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/lockstep-go/lockstep/actors"
	"github.com/lockstep-go/lockstep/runtime/runtimetest"
)

// An application: seats that are kept for a quarter of an hour and then paid or free again. Its tests are below.

type Seat struct {
	For    string `json:"for"` // "" is free
	Ticket string `json:"ticket"`
}

type Price struct {
	Guest string `json:"guest"`
	Cents int    `json:"cents"`
}

var (
	Seats    = actors.Define("seat", func() Seat { return Seat{} })
	Reserve  = actors.Message[string, actors.None](Seats, "reserve")
	Expire   = actors.Bare(Seats, "expire")
	Pay      = actors.Bare(Seats, "pay")
	Paid     = actors.Message[actors.Done[Price, string], actors.None](Seats, "paid")
	Declined = actors.Message[actors.Failed[Price], actors.None](Seats, "declined")
	Charge   = actors.Effect[Price, string](Seats, "charge_card")
)

func init() {
	Reserve.Handle((*Seat).Reserve)
	Expire.Handle((*Seat).Expire)
	Pay.Handle((*Seat).Pay)
	Paid.Handle((*Seat).Paid)
	Declined.Handle((*Seat).Declined)
	Charge.Done(Paid)
	Charge.Failed(Declined)
}

func (s *Seat) Reserve(t *actors.Turn[Seat], guest string) (actors.None, error) {
	if s.For != "" {
		return actors.None{}, actors.Reject("taken", "somebody was faster")
	}
	s.For = guest
	Expire.Schedule(t, actors.In(15*time.Minute))
	return actors.None{}, nil
}

func (s *Seat) Expire(*actors.Turn[Seat]) error {
	s.For = ""
	return nil
}

func (s *Seat) Pay(t *actors.Turn[Seat]) error {
	Expire.Cancel(t)
	Charge.Emit(t, Price{Guest: s.For, Cents: 1200})
	return nil
}

func (s *Seat) Paid(_ *actors.Turn[Seat], in actors.Done[Price, string]) (actors.None, error) {
	s.Ticket = in.Result
	return actors.None{}, nil
}

func (s *Seat) Declined(*actors.Turn[Seat], actors.Failed[Price]) (actors.None, error) {
	s.For = ""
	return actors.None{}, nil
}

// reserved is a runtime in which ada has seat 7.
func reserved(t *testing.T) (*runtimetest.Runtime, actors.Ref[Seat]) {
	t.Helper()
	rt, seat := runtimetest.Open(t, Seats), Seats.Ref("7")
	if _, err := Reserve.Ask(t.Context(), rt, seat, "ada"); err != nil {
		t.Fatal(err)
	}
	return rt, seat
}

func TestSeatIsFreeAgainAfterAQuarterOfAnHour(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		rt, seat := reserved(t)
		rt.Advance(t, 14*time.Minute)
		if s := runtimetest.Snapshot(t, rt, seat); s.For != "ada" {
			t.Errorf("after 14 minutes it is for %q, want ada", s.For)
		}
		rt.Advance(t, time.Minute)
		if s := runtimetest.Snapshot(t, rt, seat); s.For != "" {
			t.Errorf("after 15 minutes it is for %q, want it free", s.For)
		}
	})
}

func TestSeatIsPaidAtTheSecondAttempt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		rt, seat := reserved(t)
		if err := Pay.Ask(t.Context(), rt, seat); err != nil {
			t.Fatal(err)
		}
		charges := runtimetest.Staged(rt, Charge)
		charges.One(t).FailOnce(errors.New("no route to the bank"))
		rt.AdvanceToNext(t)
		call := charges.One(t)
		if call.Attempt != 2 || call.In != (Price{"ada", 1200}) {
			t.Errorf("attempt %d for %+v, want the second for ada", call.Attempt, call.In)
		}
		call.Succeed("ticket 1")
		if s := runtimetest.Snapshot(t, rt, seat); s.Ticket != "ticket 1" {
			t.Errorf("the ticket is %q", s.Ticket)
		}
		rt.NoDeadLetters(t)
	})
}

func TestSeatIsFreeAgainWhenTheCardIsDeclined(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		rt, seat := reserved(t)
		if err := Pay.Ask(t.Context(), rt, seat); err != nil {
			t.Fatal(err)
		}
		runtimetest.Staged(rt, Charge).One(t).Fail(actors.Reject("declined", "ask your bank"))
		if s := runtimetest.Snapshot(t, rt, seat); s.For != "" {
			t.Errorf("it is for %q, want it free", s.For)
		}
	})
}
