package admin_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/lockstep-go/lockstep/actors"
	"github.com/lockstep-go/lockstep/runtime"
	"github.com/lockstep-go/lockstep/runtime/admin"
	"github.com/lockstep-go/lockstep/runtime/store"
	"github.com/lockstep-go/lockstep/runtime/store/sqlite"
)

var update = flag.Bool("update", false, "write the golden files")

// till is the actor of these tests; what it is told may be secret.
type till struct {
	Cents int `json:"cents"`
}

type sale struct {
	Cents int    `json:"cents"`
	Card  string `json:"card"`
}

const (
	card   = "4242424242424242"
	reason = "the reader says no"
)

// shop is a database with a worker on it, and an operator's runtime beside it. It is for one bubble.
type shop struct {
	t      *testing.T
	db     store.Store
	sell   *actors.MessageType[till, sale, int]
	types  *actors.Type[till]
	worker *runtime.Runtime
	rt     *runtime.Runtime // the operator's
	broken atomic.Bool      // sales fail for good
}

type operator struct{}

func open(t *testing.T) *shop {
	t.Helper()
	s := &shop{t: t, types: actors.Define("till", func() till { return till{} })}
	s.sell = actors.Message[sale, int](s.types, "sell")
	s.sell.Handle(func(st *till, turn *actors.Turn[till], in sale) (int, error) {
		if s.broken.Load() {
			return 0, actors.Permanent(errors.New(reason))
		}
		if in.Cents < 0 { // tomorrow
			s.sell.Schedule(turn, actors.In(24*time.Hour), sale{-in.Cents, card}, actors.Key("k"), actors.Every(7*24*time.Hour))
			return st.Cents, nil
		}
		st.Cents += in.Cents
		return st.Cents, nil
	})
	db, err := sqlite.Open(t.Context(), ":memory:")
	if err != nil {
		t.Fatal(err)
	}
	s.db = db
	t.Cleanup(func() { db.Close() })
	s.worker, s.rt = s.open(), s.open()
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- s.worker.Run(ctx) }()
	t.Cleanup(func() {
		stop()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	synctest.Wait()
	return s
}

func (s *shop) open() *runtime.Runtime {
	s.t.Helper()
	policy := actors.InsecureAllowAll()
	policy.Administer = func(ctx context.Context, _ actors.AdminRequest) error {
		if ctx.Value(operator{}) == nil {
			return errors.New("only operators")
		}
		return nil
	}
	rt, err := runtime.Open(s.t.Context(), s.db, runtime.Config{Types: []actors.AnyType{s.types}, Policy: policy, Poll: time.Minute})
	if err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(func() { rt.Close() })
	return rt
}

func (s *shop) tell(id string, cents int, o ...actors.CallOption) string {
	s.t.Helper()
	m, err := s.sell.Tell(s.t.Context(), s.worker, s.types.Ref(id), sale{cents, card}, o...)
	if err != nil {
		s.t.Fatal(err)
	}
	synctest.Wait()
	return m.ID
}

func (s *shop) cents(id string) int {
	s.t.Helper()
	st, err := s.types.Ref(id).Snapshot(s.t.Context(), s.worker)
	if err != nil {
		s.t.Fatal(err)
	}
	return st.Cents
}

// run is the command as an operator.
func (s *shop) run(args ...string) (code int, stdout, stderr string) {
	var out, problems bytes.Buffer
	ctx := context.WithValue(s.t.Context(), operator{}, true)
	code = admin.Command(ctx, s.rt, args, &out, &problems)
	return code, out.String(), problems.String()
}

var (
	ids    = regexp.MustCompile(`[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12}`)
	places = regexp.MustCompile(`\S+ on \S+, pid \d+`)
	hosts  = regexp.MustCompile(`("host": ").*(",)`)
	builds = regexp.MustCompile(` *"build": ".*",\n`)
	pids   = regexp.MustCompile(`("pid": )\d+`)
)

// golden runs the command for people and for programs, and compares both with testdata. What differs from run to run is
// replaced by what is as long.
func (s *shop) golden(name string, code int, args ...string) {
	s.t.Helper()
	for _, form := range []string{"txt", "json"} {
		if form == "json" {
			args = append(args, "--json")
		}
		got, out, problems := s.run(args...)
		if got != code || problems != "" {
			s.t.Errorf("%q: exit code %d, want %d: %s", args, got, code, problems)
		}
		if form == "json" && !json.Valid([]byte(out)) {
			s.t.Errorf("%q is not one JSON document:\n%s", args, out)
		}
		if strings.Contains(out, card) || strings.Contains(out, reason) {
			s.t.Errorf("%q shows an argument or an error's text:\n%s", args, out)
		}
		s.compare(name+"."+form, out)
	}
}

func (s *shop) compare(name, out string) {
	s.t.Helper()
	seen := map[string]string{}
	out = ids.ReplaceAllStringFunc(out, func(id string) string {
		if seen[id] == "" {
			seen[id] = fmt.Sprintf("00000000-0000-7000-8000-%012d", len(seen)+1)
		}
		return seen[id]
	})
	out = places.ReplaceAllString(out, "BUILD on HOST, pid N")
	out = builds.ReplaceAllString(hosts.ReplaceAllString(out, "${1}X$2"), "")
	out = pids.ReplaceAllString(out, "${1}0")
	path := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(path, []byte(out), 0o644); err != nil {
			s.t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		s.t.Fatal(err)
	}
	if out != string(want) {
		s.t.Errorf("%s: got\n%s\nwant\n%s", name, out, want)
	}
}

func inTime(t *testing.T, test func(t *testing.T)) {
	t.Helper()
	synctest.Test(t, test)
}

func pass(d time.Duration) {
	time.Sleep(d)
	synctest.Wait()
}

func TestDoctor(t *testing.T) {
	inTime(t, func(t *testing.T) {
		s := open(t)
		s.golden("doctor", 0, "doctor")
		if _, err := s.db.Leave(t.Context(), s.rt.ProcessID()); err != nil {
			t.Fatal(err)
		}
		s.golden("doctor_failed", 1, "doctor")
	})
}

func TestStatus(t *testing.T) {
	inTime(t, func(t *testing.T) {
		s := open(t)
		s.golden("status_empty", 0, "status")
		s.broken.Store(true)
		s.tell("a", 1)
		s.broken.Store(false)
		s.tell("p", 1)
		if code, _, problems := s.run("pause", "till/p"); code != 0 {
			t.Fatal(problems)
		}
		s.tell("p", 2)
		s.tell("p", 3)
		s.tell("later", 1, actors.Available(actors.In(50*time.Hour)))
		pass(time.Hour)
		s.golden("status", 0, "status")
	})
}

func TestProcesses(t *testing.T) {
	inTime(t, func(t *testing.T) {
		s := open(t)
		if err := s.open().Close(); err != nil {
			t.Fatal(err)
		}
		pass(3 * time.Hour)
		s.golden("processes", 0, "processes")
		s.golden("processes_all", 0, "processes", "--all")
	})
}

func TestDeadLetters(t *testing.T) {
	inTime(t, func(t *testing.T) {
		s := open(t)
		s.golden("dead_letters_none", 0, "dead-letters")
		s.broken.Store(true)
		first := s.tell("a", 1)
		pass(time.Minute)
		second := s.tell("b", 2)
		s.golden("dead_letters", 0, "dead-letters")
		s.golden("dead_letters_limit", 0, "dead-letters", "--limit", "1")
		s.golden("dead_letters_none", 0, "dead-letters", "--type", "other")
		for _, form := range [][]string{{"dead-letters", "--details"}, {"--json", "dead-letters", "--details"}} {
			code, out, problems := s.run(form...)
			if code != 0 || !strings.Contains(out, card) || !strings.Contains(out, reason) {
				t.Errorf("%q: %d, %s%s", form, code, problems, out)
			}
		}

		// Pressed twice, once for people and once for programs, it is retried once.
		s.broken.Store(false)
		s.golden("retry", 0, "retry", first)
		pass(2 * time.Minute)
		if got := s.cents("a"); got != 1 {
			t.Errorf("after retries of one letter the till holds %d, want 1", got)
		}
		s.golden("dead_letters_retried", 0, "dead-letters", "--retried")
		s.golden("retry_all", 0, "retry", "--all", "--type", "till", "--operation", "sell")
		pass(2 * time.Minute)
		if got := s.cents("b"); got != 2 {
			t.Errorf("after the bulk retry the till holds %d, want 2", got)
		}
		s.golden("retry_gone", 1, "retry", second, "00000000-0000-7000-8000-00000000000f")
	})
}

func TestPauseAndResume(t *testing.T) {
	inTime(t, func(t *testing.T) {
		s := open(t)
		s.golden("pause_missing", 1, "pause", "till/a")
		s.tell("a", 1)
		s.golden("pause", 0, "pause", "till/a")
		s.tell("a", 2)
		s.tell("a", 4)
		pass(10 * time.Minute)
		if got := s.cents("a"); got != 1 {
			t.Errorf("while paused the till holds %d, want 1", got)
		}
		s.golden("resume", 0, "resume", "till/a")
		pass(2 * time.Minute)
		if got := s.cents("a"); got != 7 {
			t.Errorf("resumed, the till holds %d, want 7", got)
		}
		// An id may hold slashes.
		s.tell("north/1", 1)
		if code, out, problems := s.run("pause", "till/north/1"); code != 0 || out != "paused till/north/1\n" {
			t.Errorf("%d, %s%s", code, out, problems)
		}
	})
}

func TestPrune(t *testing.T) {
	inTime(t, func(t *testing.T) {
		s := open(t)
		var last string
		for i := range 5 {
			last = s.tell("a", i)
		}
		there := func() bool {
			_, _, o, err := s.db.Message(t.Context(), last)
			if err != nil {
				t.Fatal(err)
			}
			return o == store.Done
		}
		s.golden("prune_nothing", 0, "prune")
		pass(50 * time.Hour)
		s.golden("prune_preview", 0, "prune", "--older-than", "2d")
		s.golden("prune_preview_limit", 0, "prune", "--older-than", "49h", "--limit", "3")
		if !there() {
			t.Fatal("a preview deleted something")
		}
		s.golden("prune_messages", 0, "prune", "messages", "--older-than", "2d", "--type", "till")
		s.golden("prune_execute", 0, "prune", "--older-than=2d", "--execute")
		if there() {
			t.Error("an execution deleted nothing")
		}
		s.golden("prune_instances", 0, "prune", "instances", "--type", "till", "--older-than", "2d")
		s.golden("prune_processes", 0, "prune", "processes")
		s.golden("cleanup", 0, "cleanup")
	})
}

func TestActorsAndReminders(t *testing.T) {
	inTime(t, func(t *testing.T) {
		s := open(t)
		for _, id := range []string{"a", "b", "c"} {
			s.tell(id, 1)
		}
		pass(3 * time.Hour)
		s.tell("b", 1)
		s.golden("actors", 0, "actors", "till")
		s.golden("actors_step", 0, "actors", "till", "--limit", "2")
		s.golden("actors_quiet", 0, "actors", "till", "--quiet-for", "2h", "--after", "a")
		s.golden("actors_active", 0, "actors", "till", "--active", "--limit", "1")
		s.golden("reminders_none", 0, "reminders", "--late")
		s.tell("a", -1)
		s.golden("reminders", 0, "reminders", "--type", "till")
	})
}

// Who is not an operator gets a refusal and nothing else, whatever the command.
func TestOthersAreRefused(t *testing.T) {
	inTime(t, func(t *testing.T) {
		s := open(t)
		s.broken.Store(true)
		letter := s.tell("a", 1)
		for _, args := range [][]string{
			{"doctor"}, {"status"}, {"processes"}, {"dead-letters"}, {"dead-letters", "--details"}, {"retry", letter}, {"retry", "--all"},
			{"pause", "till/a"}, {"pause", "till/nobody"}, {"pause", "unknown/a"}, {"resume", "till/a"}, {"prune"}, {"prune", "--execute"},
			{"prune", "instances"}, {"prune", "processes"}, {"cleanup"}, {"reminders"}, {"actors", "till"}, {"actors", "unknown"},
		} {
			for _, form := range [][]string{args, append([]string{"--json"}, args...)} {
				var out, problems bytes.Buffer
				code := admin.Command(t.Context(), s.rt, form, &out, &problems)
				if code != 1 || out.Len() > 0 || problems.String() != "admin: not allowed: only operators\n" {
					t.Errorf("%q: exit code %d, %s%s", form, code, out.String(), problems.String())
				}
			}
		}
		pass(time.Minute)
		if letters, err := s.db.DeadLetters(t.Context(), 10); err != nil || len(letters) != 1 || letters[0].Replacement != "" {
			t.Errorf("the letter was retried: %+v, %v", letters, err)
		}
	})
}

// What is not understood, or too much, is said with its bound, and nothing is done.
func TestBadInput(t *testing.T) {
	inTime(t, func(t *testing.T) {
		s := open(t)
		for _, c := range []struct{ args, says string }{
			{"", "usage: admin"},
			{"stats", `unknown command "stats"`},
			{"--jsn status", "flag provided but not defined"},
			{"status now", `takes no argument, and got "now"`},
			{"status --limit 3", "flag provided but not defined"},
			{"dead-letters --limit 0", "--limit 0: must be 1 to 1000"},
			{"dead-letters --limit 1001", "limit 1001: must be 1 to 1000"},
			{"dead-letters --limit many", "invalid value"},
			{"retry", "name dead letters by id, or say --all"},
			{"retry --all 00000000-0000-7000-8000-00000000000f", "name dead letters by id, or say --all"},
			{"retry --limit 3 00000000-0000-7000-8000-00000000000f", "go with --all"},
			{"retry --all --limit 1001", "limit 1001: must be 1 to 1000"},
			{"retry 17", `dead letter "17": must be an id`},
			{"pause", "name one actor"},
			{"pause till/a till/b", "name one actor"},
			{"pause till", "TYPE/ID"},
			{"pause /a", "TYPE/ID"},
			{"pause till/" + strings.Repeat("x", 192), "191"},
			{"pause tills/a", `unknown actor type "tills"`},
			{"prune --older-than 1s", "age 1s: must be longer than AskTimeout (5s)"},
			{"prune --older-than 0s", "must be positive"},
			{"prune --older-than -3d", "must be positive"},
			{"prune --older-than 99999d", "must be at most 36500d"},
			{"prune --older-than week", "write it like 12h or 30d"},
			{"prune --limit 1000001", "limit 1000001: must be 1 to 1000000"},
			{"prune --limit 0", "--limit 0: must be 1 to 1000000"},
			{"prune everything", `kind "everything": must be messages, instances or processes`},
			{"prune messages instances", "one of messages, instances and processes, and got 2"},
			{"prune --type unknown", "unknown"},
			{"prune instances --older-than 2d", "a type with an age"},
			{"actors", "name one actor type"},
			{"actors unknown", "unknown"},
			{"actors till --active --quiet-for 1d", "different actors"},
			{"actors till --limit 1001", "must be 1 to 1000"},
			{"reminders --limit 0", "must be 1 to 1000"},
		} {
			code, out, problems := s.run(strings.Fields(c.args)...)
			if code != 2 || out != "" || !strings.Contains(problems, c.says) {
				t.Errorf("%q: exit code %d, want 2 with %q: %s%s", c.args, code, c.says, out, problems)
			}
		}
	})
}

func TestHelp(t *testing.T) {
	inTime(t, func(t *testing.T) {
		s := open(t)
		code, out, _ := s.run("help")
		if code != 0 {
			t.Errorf("help: exit code %d", code)
		}
		for _, name := range []string{"doctor", "status", "processes", "dead-letters", "retry", "pause", "resume", "prune", "cleanup", "reminders", "actors"} {
			if !strings.Contains(out, "\n  "+name+" ") {
				t.Errorf("the usage does not name %s:\n%s", name, out)
			}
			code, _, problems := s.run(name, "-h")
			if code != 0 || !strings.Contains(problems, "usage: admin "+name) || !strings.Contains(problems, "-json") {
				t.Errorf("%s -h: exit code %d, %s", name, code, problems)
			}
		}
	})
}

// What others wrote does not reach the terminal as control characters, nor move columns.
func TestOutputIsClean(t *testing.T) {
	inTime(t, func(t *testing.T) {
		s := open(t)
		s.broken.Store(true)
		if _, err := s.sell.Tell(t.Context(), s.worker, s.types.Ref("a\u202eb"), sale{1, "\x1b[2J\u202e\t" + strings.Repeat("long", 1000)}); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		code, out, problems := s.run("dead-letters", "--details")
		if code != 0 || strings.ContainsAny(out, "\x1b\u202e\t") || len(out) > 1000 {
			t.Errorf("%d, %s%q", code, problems, out)
		}
	})
}

type closed struct{}

func (closed) Write([]byte) (int, error) { return 0, errors.New("broken pipe") }

func TestOutputThatNobodyReads(t *testing.T) {
	inTime(t, func(t *testing.T) {
		s := open(t)
		var problems bytes.Buffer
		ctx := context.WithValue(t.Context(), operator{}, true)
		if code := admin.Command(ctx, s.rt, []string{"status"}, closed{}, &problems); code != 1 || !strings.Contains(problems.String(), "broken pipe") {
			t.Errorf("exit code %d, %s", code, problems.String())
		}
	})
}
