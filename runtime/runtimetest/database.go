package runtimetest

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/lockstep-go/lockstep/actors"
	"github.com/lockstep-go/lockstep/runtime"
)

// Actor is an actors.Ref of any type.
type Actor interface{ Address() (typ, id string) }

func addressOf(a Actor) actors.Address {
	typ, id := a.Address()
	return actors.Address{Type: typ, ID: id}
}

// Snapshot is an actor's committed state as the database has it: the fresh state where it has none. No policy is asked;
// actors.Ref has a Snapshot that does.
func Snapshot[S any](t testing.TB, rt *Runtime, ref actors.Ref[S]) S {
	t.Helper()
	address := addressOf(ref)
	snap, err := rt.DB.Snapshot(context.Background(), address)
	if err != nil {
		t.Fatalf("snapshot of %s/%s: %v", address.Type, address.ID, err)
	}
	state, err := ref.Type().Definition().Load(snap.Version, snap.State)
	if err != nil {
		t.Fatalf("snapshot of %s/%s: %v", address.Type, address.ID, err)
	}
	return *state.(*S)
}

// Pending is how many unfinished messages an actor has, those included that wait for their time or for another attempt.
func (rt *Runtime) Pending(t testing.TB, actor Actor) int {
	t.Helper()
	a := addressOf(actor)
	list, err := rt.DB.States(context.Background(), a.Type, []string{a.ID})
	if err != nil {
		t.Fatalf("read the mailbox of %s/%s: %v", a.Type, a.ID, err)
	}
	if len(list) == 0 {
		return 0
	}
	return list[0].Pending
}

// MailboxEmpty drains and fails the test where the actor has an unfinished message.
func (rt *Runtime) MailboxEmpty(t testing.TB, actor Actor) {
	t.Helper()
	rt.Drain(t)
	if n := rt.Pending(t, actor); n > 0 {
		a := addressOf(actor)
		t.Errorf("%s/%s has %d unfinished messages, want none", a.Type, a.ID, n)
	}
}

// Alarms is an actor's schedule: the reminders that are still to come, with their next time.
func (rt *Runtime) Alarms(t testing.TB, actor Actor) []actors.Alarm {
	t.Helper()
	a := addressOf(actor)
	snap, err := rt.DB.Snapshot(context.Background(), a)
	if err != nil {
		t.Fatalf("read %s/%s: %v", a.Type, a.ID, err)
	}
	if snap.Instance == "" {
		return nil
	}
	alarms, err := rt.DB.Alarms(context.Background(), snap.Instance)
	if err != nil {
		t.Fatalf("read the schedule of %s/%s: %v", a.Type, a.ID, err)
	}
	return alarms
}

// DeadLetters are the messages that were given up, the newest first, with error texts and arguments. No policy is asked.
func (rt *Runtime) DeadLetters(t testing.TB) (letters []runtime.DeadLetter) {
	t.Helper()
	stored, err := rt.DB.DeadLetters(context.Background(), runtime.MaxAdminList)
	if err != nil {
		t.Fatalf("read the dead letters: %v", err)
	}
	for i := range stored {
		d, m := &stored[i], &stored[i].Message
		letters = append(letters, runtime.DeadLetter{
			ID: d.ID, Type: m.Type, ActorID: m.ActorID, Operation: m.Operation, Sequence: m.Sequence, Attempts: m.Attempts,
			EnqueuedAt: m.EnqueuedAt, FailedAt: d.FailedAt, ErrorKind: d.ErrorKind, ErrorText: d.ErrorText,
			Arguments: m.Arguments, Replacement: d.Replacement,
		})
	}
	return letters
}

// NoDeadLetters drains and fails the test where a message was given up, with each one's error.
func (rt *Runtime) NoDeadLetters(t testing.TB) {
	t.Helper()
	rt.Drain(t)
	if letters := rt.DeadLetters(t); len(letters) > 0 {
		var text strings.Builder
		for _, d := range letters {
			text.WriteString(fmt.Sprintf("\n\t%s/%s %s, after %d attempts: %s", d.Type, d.ActorID, d.Operation, d.Attempts, d.ErrorText))
		}
		t.Errorf("%d dead letters, want none%s", len(letters), text.String())
	}
}
