package mysql_test

import (
	"bytes"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/lockstep-go/lockstep/actors"
	"github.com/lockstep-go/lockstep/runtime"
	"github.com/lockstep-go/lockstep/runtime/store"
	"github.com/lockstep-go/lockstep/runtime/store/mysql"
)

// D37, G6, G20: two processes, one of them on an application's pool of one, call the same actors. No call fails, and
// no update is lost.
func TestTwoRuntimesOnOneDatabase(t *testing.T) {
	s := fresh(t, here.utf8)
	db := pool(t, here.utf8, nil)
	db.SetMaxOpenConns(1)
	clients := []actors.Client{running(t, s), running(t, borrow(t, db, s.cfg))}
	const callers, calls, over = 8, 15, 3
	errs := make([]error, callers)
	together(callers, func(i int) {
		for n := range calls {
			if _, err := bump.Ask(t.Context(), clients[i%2], tallies.Ref(fmt.Sprint(n%over)), 1); err != nil {
				errs[i] = err
				return
			}
		}
	})
	if err := errors.Join(errs...); err != nil {
		t.Fatal(err)
	}
	total := 0
	for a := range over {
		n, err := bump.Ask(t.Context(), clients[0], tallies.Ref(fmt.Sprint(a)), 0)
		if err != nil {
			t.Fatal(err)
		}
		total += n
	}
	if total != callers*calls {
		t.Errorf("%d bumps, want %d", total, callers*calls)
	}
}

// G1, G20: TellTx joins an application's transaction, and while that is open the other actors go on.
func TestTellTxThroughARuntime(t *testing.T) {
	s := fresh(t, here.utf8)
	rt := running(t, s)
	tx := begin(t, "")
	ref, err := bump.TellTx(t.Context(), rt, mysql.Tx(tx), tallies.Ref("told"), 7)
	if err != nil {
		t.Fatal(err)
	}
	begun := time.Now()
	for i := range 10 {
		if _, err := bump.Ask(t.Context(), rt, tallies.Ref(fmt.Sprint("other", i)), 1); err != nil {
			t.Fatal(err)
		}
	}
	if took := time.Since(begun); took > 5*time.Second {
		t.Errorf("others took %v", took)
	}
	if err := tx.Commit(); err != nil {
		t.Fatal(err)
	}
	rt.Announce(ref)
	if n, err := bump.Ask(t.Context(), rt, tallies.Ref("told"), 1); err != nil || n != 8 {
		t.Errorf("told: %d, %v", n, err)
	}
}

// A verb that waits for a row does so for a bounded time, and says that it may be tried again.
func TestWaitsAreBounded(t *testing.T) {
	s := fresh(t, here.utf8)
	s.cfg.LockWait, s.cfg.Limit = time.Second, 1500*time.Millisecond
	short := s.Again(t)
	a := asked(t, s, "a")
	tx := begin(t, "")
	execute(t, tx, "SELECT * FROM "+s.cfg.Prefix+"instances WHERE id = ? FOR UPDATE", a.Fence.Instance)
	begun := time.Now()
	_, err := short.Destroy(t.Context(), store.Key{Type: "cart", ID: "a"})
	if !errors.Is(err, store.ErrTransient) {
		t.Errorf("destroy: %v", err)
	}
	if took := time.Since(begun); took > 6*time.Second {
		t.Errorf("it took %v", took)
	}
	tx.Rollback()
	if d, err := short.Destroy(t.Context(), store.Key{Type: "cart", ID: "a"}); err != nil || !d.Existed {
		t.Errorf("then %+v, %v", d, err)
	}
}

// D08: limits of a runtime that the server's packets could not take are refused when it opens, each with both numbers.
func TestD08RuntimeLimitsAreComparedWithPackets(t *testing.T) {
	s := fresh(t, here.utf8)
	largest, setting := s.Largest()
	cfg := runtime.Config{Types: []actors.AnyType{tallies}, Policy: actors.InsecureAllowAll(), PayloadBytes: largest, StateBytes: largest + 1}
	_, err := runtime.Open(t.Context(), s, cfg)
	limit, ok := errors.AsType[*runtime.DocumentLimit](err)
	if !ok || *limit != (runtime.DocumentLimit{Field: "StateBytes", Bytes: largest + 1, Largest: largest, Setting: "max_allowed_packet"}) || setting != limit.Setting {
		t.Fatalf("%v", err)
	}
	for _, number := range []int{largest, largest + 1} {
		if !strings.Contains(err.Error(), fmt.Sprint(number)) {
			t.Errorf("%v does not say %d", err, number)
		}
	}
	if list, err := s.Processes(t.Context()); err != nil || len(list) != 0 {
		t.Errorf("a runtime that was refused has registered: %+v, %v", list, err)
	}
	cfg.StateBytes = largest
	rt, err := runtime.Open(t.Context(), s, cfg)
	if err != nil {
		t.Fatal(err)
	}
	rt.Close()
}

// D15: a pool of the application's that handlers could use up is reported when a runtime opens, and by its doctor; one
// that is large enough, or the store's own, is not.
func TestD15SmallPoolIsReported(t *testing.T) {
	s := fresh(t, here.utf8)
	db := pool(t, here.utf8, nil)
	for _, c := range []struct {
		what  string
		on    store.Store
		limit int
		small bool
	}{
		{"a pool of as many as there are handlers", borrow(t, db, s.cfg), 24, true},
		{"one more", borrow(t, db, s.cfg), 25, false},
		{"no bound", borrow(t, db, s.cfg), 0, false},
		{"its own", s, 24, false},
	} {
		db.SetMaxOpenConns(c.limit)
		var log bytes.Buffer
		rt, err := runtime.Open(t.Context(), c.on, runtime.Config{
			Types: []actors.AnyType{tallies}, Policy: actors.InsecureAllowAll(), Workers: 20, EffectWorkers: 4,
			Logger: slog.New(slog.NewTextHandler(&log, nil)),
		})
		if err != nil {
			t.Fatal(err)
		}
		want := (&runtime.SmallPool{Connections: c.limit, Handlers: 24}).Error()
		if told := strings.Contains(log.String(), want); told != c.small {
			t.Errorf("%s: logged %q", c.what, log.String())
		}
		report, err := rt.Admin().Doctor(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if told := strings.Contains(fmt.Sprint(report), want); told != c.small {
			t.Errorf("%s: the doctor says %v", c.what, report)
		}
		rt.Close()
	}
}
