package runtime

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/google/uuid"

	"github.com/lockstep-go/lockstep/actors"
	"github.com/lockstep-go/lockstep/runtime/bus"
	"github.com/lockstep-go/lockstep/runtime/store"
)

// MaxAdminList bounds what one call of an Admin lists or retries.
const MaxAdminList = 1000

// Selection says which dead letters are meant.
type Selection struct {
	Type      string // only of this actor type; "" is any
	Operation string // only of this operation; "" is any
	Limit     int    // 100 if zero, at most MaxAdminList
	Retried   bool   // lists also those that were retried; RetryAll has no use for them
	Details   bool   // lists with error texts and arguments, which the policy is asked about by another name
}

func (s *Selection) has(d *store.DeadLetter) bool {
	return (s.Type == "" || s.Type == d.Message.Type) && (s.Operation == "" || s.Operation == d.Message.Operation) &&
		(s.Retried || d.Replacement == "")
}

// DeadLetter is a message that was given up: its attempts were used up, or an error was permanent.
type DeadLetter struct {
	ID          string          `json:"id"` // of the message
	Type        string          `json:"type"`
	ActorID     string          `json:"actor_id"`
	Operation   string          `json:"operation"`
	Sequence    int64           `json:"sequence"`
	Attempts    int             `json:"attempts"`
	EnqueuedAt  time.Time       `json:"enqueued_at"`
	FailedAt    time.Time       `json:"failed_at"`
	ErrorKind   string          `json:"error_kind"`
	ErrorText   string          `json:"error_text,omitempty"`  // with Selection.Details
	Arguments   json.RawMessage `json:"arguments,omitempty"`   // with Selection.Details
	Replacement string          `json:"replacement,omitempty"` // id of the message that a retry made
}

// DeadLetters lists given-up messages, the newest first. It looks through the newest MaxAdminList.
func (a Admin) DeadLetters(ctx context.Context, s Selection) ([]DeadLetter, error) {
	action := "list"
	if s.Details {
		action = "inspect"
	}
	if err := a.may(ctx, action, "dead_letter", ""); err != nil {
		return nil, err
	}
	limit, err := bounded("limit", s.Limit, 100, MaxAdminList)
	if err != nil {
		return nil, err
	}
	stored, err := a.rt.store.DeadLetters(ctx, MaxAdminList)
	if err != nil {
		return nil, fmt.Errorf("list dead letters: %w", err)
	}
	list := []DeadLetter{}
	for i := range stored {
		d := &stored[i]
		if !s.has(d) {
			continue
		}
		if len(list) == limit {
			break
		}
		m := &d.Message
		letter := DeadLetter{
			ID: d.ID, Type: m.Type, ActorID: m.ActorID, Operation: m.Operation, Sequence: m.Sequence, Attempts: m.Attempts,
			EnqueuedAt: m.EnqueuedAt, FailedAt: d.FailedAt, ErrorKind: d.ErrorKind, Replacement: d.Replacement,
		}
		if s.Details {
			letter.ErrorText, letter.Arguments = d.ErrorText, m.Arguments
		}
		list = append(list, letter)
	}
	return list, nil
}

// RetryOutcome is what became of one dead letter.
type RetryOutcome string

const (
	Retried     RetryOutcome = "retried"      // it is a new message at its mailbox's tail
	WasRetried  RetryOutcome = "was_retried"  // an earlier retry made that message; nothing is done twice
	RetryFull   RetryOutcome = "mailbox_full" // its actor takes no more now; try again later
	RetryGone   RetryOutcome = "gone"         // there is no such dead letter, or its actor was destroyed
	RetryDenied RetryOutcome = "denied"       // the policy allows the bulk but not this one
)

// Retry is the answer about one dead letter.
type Retry struct {
	ID        string       `json:"id"` // of the dead letter
	Outcome   RetryOutcome `json:"outcome"`
	Type      string       `json:"type,omitempty"`
	ActorID   string       `json:"actor_id,omitempty"`
	Operation string       `json:"operation,omitempty"`
	Message   string       `json:"message,omitempty"` // id of the message that runs in its place
}

// Retry makes a dead letter a new message at its mailbox's tail, once: pressed again it answers WasRetried with the same
// message. The error is for what could not be asked; what became of the letter is the Outcome.
func (a Admin) Retry(ctx context.Context, id string) (Retry, error) {
	if err := a.may(ctx, "retry", "dead_letter", id); err != nil {
		return Retry{}, err
	}
	if uuid.Validate(id) != nil {
		return Retry{}, &OutOfRange{"dead letter", fmt.Sprintf("%.60q", id), "an id as DeadLetters lists it (a UUID)"}
	}
	return a.retry(ctx, id)
}

func (a Admin) retry(ctx context.Context, id string) (Retry, error) {
	m, outcome, err := a.rt.store.Retry(ctx, id, newID(), a.rt.cfg.Mailbox)
	if err != nil {
		return Retry{}, fmt.Errorf("retry dead letter %s: %w", id, err)
	}
	r := Retry{ID: id, Type: m.Type, ActorID: m.ActorID, Operation: m.Operation}
	switch outcome {
	case store.Done:
		r.Outcome, r.Message = Retried, m.ID
		a.rt.clock.wake(workRole, 0)
		a.rt.tell(bus.Hint{Kind: bus.Messages, Name: m.Type})
		a.rt.observer.emit(ctx, messageEvent(DeadLetterRetried, &m))
	case store.Duplicate:
		r.Outcome, r.Message = WasRetried, m.ID
	case store.Full:
		r.Outcome = RetryFull
	case store.Missing:
		r.Outcome = RetryGone
	default:
		return Retry{}, fmt.Errorf("retry dead letter %s: the store answered %q", id, outcome)
	}
	return r, nil
}

// RetryAll retries up to Limit dead letters, in the order in which they failed, and answers for each. Where an actor's
// mailbox is full, or the policy denies a letter, later ones of that actor are left alone too, so that what is retried
// keeps its order. On an error the answers so far are returned with it.
func (a Admin) RetryAll(ctx context.Context, s Selection) ([]Retry, error) {
	if err := a.may(ctx, "retry", "dead_letter", ""); err != nil {
		return nil, err
	}
	limit, err := bounded("limit", s.Limit, 100, MaxAdminList)
	if err != nil {
		return nil, err
	}
	s.Retried = false
	answers := []Retry{}
	held := map[actors.Address]RetryOutcome{}
	err = a.eachLetter(ctx, func(d *store.DeadLetter) (more bool, err error) {
		if !s.has(d) {
			return true, nil
		}
		actor := actors.Address{Type: d.Message.Type, ID: d.Message.ActorID}
		r := Retry{ID: d.ID, Outcome: held[actor]}
		if r.Outcome == "" && a.may(ctx, "retry", "dead_letter", d.ID) != nil {
			r.Outcome = RetryDenied
		}
		if r.Outcome == "" {
			if r, err = a.retry(ctx, d.ID); err != nil {
				return false, err
			}
		}
		if r.Outcome == RetryFull || r.Outcome == RetryDenied {
			held[actor] = r.Outcome
		}
		r.Type, r.ActorID, r.Operation = d.Message.Type, d.Message.ActorID, d.Message.Operation
		answers = append(answers, r)
		return len(answers) < limit, nil
	})
	return answers, err
}

// eachLetter hands over dead letters, oldest first, until each has had enough.
func (a Admin) eachLetter(ctx context.Context, each func(*store.DeadLetter) (more bool, err error)) error {
	const page = 100
	var at store.DeadLetter
	for {
		letters, err := a.rt.store.DeadLettersAfter(ctx, at.FailedAt, at.ID, page)
		if err != nil {
			return fmt.Errorf("list dead letters: %w", err)
		}
		for i := range letters {
			at = letters[i]
			if more, err := each(&at); err != nil || !more {
				return err
			}
		}
		if len(letters) < page {
			return nil
		}
	}
}
