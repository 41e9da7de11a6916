package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/lockstep-go/lockstep/actors"
	"github.com/lockstep-go/lockstep/runtime"
)

// admin runs an operator's command with the built program, beside whatever else is open on the file.
func (k *killable) admin(args ...string) (code int, stdout, stderr string) {
	k.t.Helper()
	var out, problems bytes.Buffer
	cmd := exec.Command(k.binary, append([]string{"-db", "sqlite:" + k.DB, "admin"}, args...)...)
	cmd.Stdout, cmd.Stderr = &out, &problems
	if err := cmd.Run(); err != nil {
		if _, exited := errors.AsType[*exec.ExitError](err); !exited {
			k.t.Fatal(err)
		}
	}
	return cmd.ProcessState.ExitCode(), out.String(), problems.String()
}

// says fails the test unless the command exits with the code and prints every text.
func (k *killable) says(code int, args []string, texts ...string) {
	k.t.Helper()
	got, out, problems := k.admin(args...)
	if got != code {
		k.t.Errorf("admin %q: exit code %d, want %d\n%s%s", args, got, code, out, problems)
	}
	for _, want := range texts {
		if !strings.Contains(out+problems, want) {
			k.t.Errorf("admin %q does not say %q:\n%s%s", args, want, out, problems)
		}
	}
}

func (k *killable) counts() runtime.Status {
	k.t.Helper()
	code, out, problems := k.admin("status", "--json")
	var s runtime.Status
	if err := json.Unmarshal([]byte(out), &s); code != 0 || err != nil {
		k.t.Fatalf("status: exit code %d, %v\n%s%s", code, err, out, problems)
	}
	return s
}

// An operator works on the file of a shop that is open, and of one that is not.
func TestAdminBesideARunningShop(t *testing.T) {
	k := startKillable(t)
	ada := k.guest(t)
	ada.get("/product/morning-mug").wants(200, "36 left")
	k.says(0, []string{"doctor"}, "pass  durability", "pass  workers        1 alive", "pass  builds", "pass  backlog")
	k.says(0, []string{"processes"}, "running, this one")
	if s := k.counts(); s.Processes.Running != 2 || s.Processes.Stopped != 2 || s.Counts.DeadLettersOpen != 0 {
		t.Errorf("the shop and this command are running, two commands have stopped: %+v", s)
	}
	k.says(0, []string{"dead-letters"}, "no dead letters")
	k.says(1, []string{"retry", "00000000-0000-7000-8000-00000000000f"}, "gone")
	k.says(0, []string{"prune"}, "0 messages", "would be deleted")
	k.says(2, []string{"pause", "mug/morning-mug"}, `unknown actor type "mug"`)
	k.says(1, []string{"pause", "stock/chipped-mug"}, "there is no stock/chipped-mug")

	// A shelf that is paused holds what carts ask for, and gives it once it is resumed.
	k.says(0, []string{"pause", "stock/morning-mug"}, "paused stock/morning-mug")
	ada.add("morning-mug", "2")
	for end := time.Now().Add(patience); k.counts().Counts.Paused != 1; time.Sleep(20 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("nothing waits at the paused shelf: %+v", k.counts().Counts)
		}
	}
	ada.get("/product/morning-mug").wants(200, "36 left")
	k.says(0, []string{"resume", "stock/morning-mug"}, "resumed stock/morning-mug")
	ada.until("/product/morning-mug", "34 left")
	if c := k.counts().Counts; c.Paused != 0 {
		t.Errorf("after the resume %+v", c)
	}

	k.kill()
	k.says(0, []string{"doctor"}, "pass  database")
	k.says(0, []string{"status"}, "sqlite, its clock says")
}

func TestAdminTakesOnlyADatabaseThatIsThere(t *testing.T) {
	nowhere := filepath.Join(t.TempDir(), "nowhere.db")
	for db, says := range map[string]string{
		"sqlite:" + nowhere: "there is none", "sqlite::memory:": "in memory", "mysql:shop": "write it like", "sqlite:": "write it like",
	} {
		_, err := operate(t.Context(), config{db: db, admin: []string{"status"}}, io.Discard, io.Discard, slog.New(slog.DiscardHandler))
		if err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%s: %v, want %q", db, err, says)
		}
	}
	if _, err := os.Stat(nowhere); err == nil {
		t.Error("it made a database")
	}
}

// Nobody but the subcommand is an operator: not a shopper, not the back office, not another part of the program.
func TestOnlyTheSubcommandAdministers(t *testing.T) {
	catalogue, err := openCatalogue("")
	if err != nil {
		t.Fatal(err)
	}
	ask := func(ctx context.Context) error {
		return policy(catalogue).Administer(ctx, actors.AdminRequest{Action: "show", Resource: "runtime"})
	}
	boss := context.WithValue(t.Context(), visitorKey{}, Visitor{ID: "boss", StaffUntil: time.Now().Add(time.Hour)})
	for who, ctx := range map[string]context.Context{
		"nobody": t.Context(), "the back office": boss, "the seeder": seeder.in(t.Context()), "the cashier": cashier.in(t.Context()),
	} {
		if ask(ctx) == nil {
			t.Errorf("%s may administer", who)
		}
	}
	if err := ask(operator.in(t.Context())); err != nil {
		t.Errorf("an operator: %v", err)
	}
}

func TestConfigureAdmin(t *testing.T) {
	cfg, err := configure([]string{"-db", "sqlite:x.db", "admin", "status", "--json"}, func(string) string { return "" }, io.Discard)
	if err != nil || strings.Join(cfg.admin, " ") != "status --json" || cfg.db != "sqlite:x.db" {
		t.Errorf("%+v, %v", cfg, err)
	}
	if cfg, err := configure([]string{"admin"}, func(string) string { return "" }, io.Discard); err != nil || cfg.admin == nil {
		t.Errorf("without a command the shop would open: %+v, %v", cfg, err)
	}
}
