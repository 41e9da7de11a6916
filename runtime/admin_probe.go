package runtime

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/lockstep-go/lockstep/runtime/store"
)

// probeType is the actor type of a Doctor's round trip. No program can define it: a definition's name has no such sign.
const probeType = "lockstep:doctor"

// probeLeft is how old what a Doctor that was killed has left behind must be, to be removed by the next.
const probeLeft = time.Minute

// checkRoundTrip takes one message through everything that an Ask writes, on an actor that nobody else knows, and removes
// that actor.
func (a Admin) checkRoundTrip(ctx context.Context, r *Report) {
	begun := time.Now()
	if err := a.roundTrip(ctx); err != nil {
		r.add("round trip", Fail, "%v", err)
		return
	}
	r.add("round trip", Pass, "a message was stored, claimed and committed within %s", atMost(time.Since(begun)))
}

func (a Admin) roundTrip(ctx context.Context) (err error) {
	a.removeOldProbes(ctx)
	probe := store.Key{Type: probeType, ID: newID()}
	defer func() { err = errors.Join(err, a.removeProbe(ctx, probe)) }()
	e := &store.Enqueue{
		Message: store.Message{
			ID: newID(), Type: probe.Type, ActorID: probe.ID, Operation: "probe", Arguments: json.RawMessage(`{}`),
			Origin: store.FromOperator, MaxAttempts: 1,
		},
		Claim: &store.Claim{Owner: a.rt.id, Token: newID(), Lease: a.rt.cfg.Lease},
	}
	if err := a.rt.store.Flush(ctx, &store.Flush{Enqueues: []*store.Enqueue{e}}); err != nil {
		return fmt.Errorf("store a message: %w", err)
	}
	if e.Outcome != store.Done || e.Activation == nil {
		return fmt.Errorf("store a message: %s, and it was not claimed", e.Outcome)
	}
	turn := &e.Activation.Turn
	c := &store.Commit{
		Fence: turn.Fence, Message: turn.ID, Sequence: turn.Sequence, Status: store.Completed, Result: json.RawMessage(`true`),
		State: json.RawMessage(`{"probed":true}`), Version: 1, Yield: true,
	}
	if err := a.rt.store.Flush(ctx, &store.Flush{Commits: []*store.Commit{c}}); err != nil {
		return fmt.Errorf("commit a turn: %w", err)
	}
	if c.Outcome != store.Done {
		return fmt.Errorf("commit a turn: %s", c.Outcome)
	}
	snap, err := a.rt.store.Snapshot(ctx, probe)
	if err != nil {
		return fmt.Errorf("read what was committed: %w", err)
	}
	if string(snap.State) != string(c.State) || snap.Revision != turn.Sequence {
		return fmt.Errorf("read what was committed: revision %d, want %d, or another state", snap.Revision, turn.Sequence)
	}
	return nil
}

// removeProbe ends the probe and its history, also where ctx has ended.
func (a Admin) removeProbe(ctx context.Context, probe store.Key) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
	defer cancel()
	if _, err := a.rt.store.Destroy(ctx, probe); err != nil {
		return fmt.Errorf("remove the probe: %w", err)
	}
	if _, err := a.rt.store.Sweep(ctx, 10); err != nil {
		return fmt.Errorf("remove the probe's history: %w", err)
	}
	return nil
}

// removeOldProbes ends what Doctors that were killed have left. Whatever fails here fails in the round trip too.
func (a Admin) removeOldProbes(ctx context.Context) {
	now, err := a.rt.store.Now(ctx)
	if err != nil {
		return
	}
	left, err := a.rt.store.Instances(ctx, probeType, "", 100)
	if err != nil {
		return
	}
	for i := range left {
		if now.Sub(left[i].UsedAt) >= probeLeft {
			_ = a.removeProbe(ctx, left[i].Key)
		}
	}
}
