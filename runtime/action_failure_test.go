package runtime_test

import (
	"context"
	"errors"
	"fmt"
	goruntime "runtime"
	"strings"
	"testing"
	"time"

	"github.com/lockstep-go/lockstep/actors"
)

// G12, G16: a commit action's failure is the turn's failed attempt: nothing is written, it is retried, and in the end it
// is a dead letter; the actor's next message and other actors go on.
func TestG12FailedCommitActionsAreFailedAttempts(t *testing.T) {
	inTime(t, func(t *testing.T) {
		s, db := defineSales(), openSales(t)
		rt := start(t, db, s.config(t))
		failing := 2
		s.do = func(_ context.Context, _ hosted, c actors.Committing[string]) error {
			if c.In == "bad" && c.Attempt <= failing {
				return errors.New("the books do not balance")
			}
			return nil
		}
		begun := time.Now()
		if n := s.ask(t, rt.Runtime, "a", "bad"); n != 1 {
			t.Errorf("answer %d, want 1: a failed attempt leaves no line behind", n)
		}
		if took := time.Since(begun); took < 3*time.Second {
			t.Errorf("two retries after %v: they do not back off", took)
		}
		sold(t, db, "bad")
		failing = 100
		s.tell(t, rt.Runtime, "a", "bad")
		s.tell(t, rt.Runtime, "a", "behind")
		settle()
		s.ask(t, rt.Runtime, "b", "beside")
		sold(t, db, "bad", "beside")
		pass(time.Minute)
		sold(t, db, "bad", "behind", "beside")
		s.expect(t, rt.Runtime, "a", "bad", "behind")
		letters, err := db.DeadLetters(t.Context(), 10)
		if err != nil || len(letters) != 1 || letters[0].Message.Attempts != 5 || letters[0].ErrorText != "the books do not balance" {
			t.Errorf("dead letters: %+v, %v", letters, err)
		}
	})
}

// texture is an error whose own methods go wrong.
type texture struct{ how string }

func (e texture) Error() string { spring("text "+e.how, "text"); return "fine" }
func (e texture) Is(error) bool { return false }
func (e texture) As(any) bool   { spring("as "+e.how, "as"); return false }

// D23, G18: whatever goes wrong in a commit action is one failed attempt: the process and the writer live, no goroutine
// is left, and the actor's next message runs.
func TestD23CommitActionsThatPanic(t *testing.T) {
	ways := map[string]func(context.Context, hosted) error{
		"panic":    func(context.Context, hosted) error { panic("x") },
		"nil":      func(context.Context, hosted) error { panic(nil) },
		"Goexit":   func(context.Context, hosted) error { goruntime.Goexit(); return nil },
		"text":     func(context.Context, hosted) error { return texture{"panic"} },
		"identity": func(context.Context, hosted) error { return fmt.Errorf("wrapped: %w", texture{"Goexit"}) },
		"commit":   func(ctx context.Context, tx hosted) error { return tx.Commit(ctx) },
		"rollback": func(ctx context.Context, tx hosted) error { return tx.Rollback(ctx) },
		"open rows": func(ctx context.Context, tx hosted) error {
			return errors.Join(tx.Leave(ctx, "SELECT line FROM sales"), errors.New("with rows left open"))
		},
		"limit": func(ctx context.Context, tx hosted) error { <-ctx.Done(); return nil },
	}
	for way, do := range ways {
		t.Run(way, func(t *testing.T) {
			inTime(t, func(t *testing.T) {
				s, db := defineSales(), openSales(t)
				cfg := s.config(t)
				cfg.Workers, cfg.Attempts, cfg.AskTimeout = 1, 1, time.Minute
				rt := start(t, db, cfg)
				s.do = func(ctx context.Context, tx hosted, c actors.Committing[string]) error {
					if c.In == "trap" {
						return do(ctx, tx)
					}
					return nil
				}
				var want []string
				for i := range 3 {
					_, err := s.write.Ask(t.Context(), rt, s.Ref("a"), "trap")
					as[*actors.MessageFailed](t, err)
					line := fmt.Sprint("fine ", i)
					want = append(want, line)
					s.ask(t, rt.Runtime, "a", line)
				}
				sold(t, db, want...)
				s.expect(t, rt.Runtime, "a", want...)
			})
		})
	}
}

// G11: an action that exceeds its limit, whether it heeds its ctx or not, delays others no longer than that.
func TestG11CommitActionsHaveALimit(t *testing.T) {
	inTime(t, func(t *testing.T) {
		s, db := defineSales(), openSales(t)
		cfg := s.config(t)
		cfg.Attempts, cfg.AskTimeout = 1, time.Minute
		rt := start(t, db, cfg)
		let := make(chan struct{})
		s.do = func(ctx context.Context, tx hosted, c actors.Committing[string]) error {
			switch c.In {
			case "patient":
				<-ctx.Done()
				return ctx.Err()
			case "deaf":
				<-let
				if err := tx.Exec(context.Background(), "DELETE FROM sales"); err == nil {
					t.Error("a deserted action still writes")
				}
			}
			return nil
		}
		for _, line := range []string{"patient", "deaf"} {
			m := s.tell(t, rt.Runtime, "a", line)
			begun := time.Now()
			s.ask(t, rt.Runtime, "b", "beside "+line)
			if took := time.Since(begun); took > here(t).writeLimit+200*time.Millisecond {
				t.Errorf("%s: others wait for %v", line, took)
			}
			_, err := s.write.Wait(t.Context(), rt, m)
			if failed := as[*actors.MessageFailed](t, err); !strings.Contains(failed.Kind, "WriteLimit") {
				t.Errorf("%s: %+v", line, failed)
			}
		}
		close(let)
		settle()
		sold(t, db, "beside patient", "beside deaf")
	})
}

// G15: a commit action may refuse the message: that is final, and nothing of the turn is kept.
func TestG15CommitActionsReject(t *testing.T) {
	inTime(t, func(t *testing.T) {
		s, db := defineSales(), openSales(t)
		rt := start(t, db, s.config(t))
		s.do = func(_ context.Context, _ hosted, c actors.Committing[string]) error {
			if c.In == "too much" {
				return fmt.Errorf("wrapped: %w", actors.Reject("credit", "the account has no credit left"))
			}
			return nil
		}
		_, err := s.write.Ask(t.Context(), rt, s.Ref("a"), "too much")
		if r := as[*actors.Rejected](t, err); r.Code != "credit" {
			t.Errorf("%+v", r)
		}
		s.ask(t, rt.Runtime, "a", "fine")
		s.expect(t, rt.Runtime, "a", "fine")
		sold(t, db, "fine")
		if letters, err := db.DeadLetters(t.Context(), 10); err != nil || len(letters) != 0 {
			t.Errorf("dead letters %+v, %v", letters, err)
		}
	})
}
