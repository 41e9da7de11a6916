package runtime_test

import (
	"context"
	"sync/atomic"
	"testing"
	"time"

	"github.com/lockstep-go/lockstep/actors"
	"github.com/lockstep-go/lockstep/runtime"
)

// G25, G10: an occurrence of a message that no running build knows is not lost: it waits in the mailbox, where operators
// see it, and a build that knows it runs it.
func TestG25OccurrencesOfAnUnknownMessageWait(t *testing.T) {
	inTime(t, func(t *testing.T) {
		db := openStore(t)
		p := definePads(nil)
		var chime *actors.MessageType[pad, string, int]
		newer := definePads(func(u *actors.Turn[pad], _ *pad, line string) error {
			if line == "schedule" {
				chime.Schedule(u, actors.In(time.Hour), "dong")
			}
			return nil
		})
		chime = actors.Message[string, int](newer.Type, "chime")
		chime.Handle(func(s *pad, _ *actors.Turn[pad], line string) (int, error) {
			s.Lines = append(s.Lines, line)
			return len(s.Lines), nil
		})
		first := start(t, db, calm(config(newer)))
		newer.ask(t, first.Runtime, "a", "schedule")
		admin := first.Admin()
		list, err := admin.Reminders(t.Context(), runtime.ReminderSelection{Type: "pad"})
		if err != nil || len(list) != 1 || list[0].Operation != "chime" || list[0].ActorID != "a" || list[0].Late != 0 {
			t.Errorf("scheduled: %+v, %v", list, err)
		}
		if late, err := admin.Reminders(t.Context(), runtime.ReminderSelection{Late: true}); err != nil || len(late) != 0 {
			t.Errorf("late: %+v, %v", late, err)
		}
		if err := first.end(); err != nil {
			t.Fatal(err)
		}
		var failed atomic.Int64
		cfg := calm(config(p))
		cfg.Events = func(_ context.Context, e runtime.Event) {
			if e.Name == runtime.ActivationFailed && e.Operation == "chime" {
				failed.Add(1)
			}
		}
		older := start(t, db, cfg)
		pass(5 * time.Hour)
		s, err := older.Admin().Status(t.Context())
		if err != nil || s.Counts.Ready+s.Counts.Claimed+s.Counts.Delayed != 1 || s.Counts.DeadLettersOpen != 0 || s.Counts.RemindersDue != 0 {
			t.Errorf("it waits: %+v, %v", s.Counts, err)
		}
		if failed.Load() == 0 {
			t.Error("nothing says that it could not be run here")
		}
		p.expect(t, older.Runtime, "a", "schedule")
		again := start(t, db, calm(config(newer)))
		pass(time.Hour)
		newer.expect(t, again.Runtime, "a", "schedule", "dong")
	})
}
