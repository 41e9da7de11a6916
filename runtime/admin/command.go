package admin

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"strings"

	"github.com/lockstep-go/lockstep/actors"
	"github.com/lockstep-go/lockstep/runtime"
)

const (
	done    = 0
	failed  = 1
	misread = 2
)

// command is one subcommand: define declares its flags and returns what runs after they are parsed.
type command struct {
	name, operands, help string
	define               func(f *flag.FlagSet) func(c *call, operands []string) int
}

// call is one run of a command.
type call struct {
	ctx    context.Context
	admin  runtime.Admin
	json   bool
	stdout io.Writer
	stderr io.Writer
}

// commands are in the order of the usage text. It is a function since help names them all.
func commands() []command {
	return []command{
		{"doctor", "", "check configuration, database, clock, processes and backlog", doctor},
		{"status", "", "count what waits, and since when", status},
		{"processes", "", "list the processes on this database", processes},
		{"dead-letters", "", "list messages that were given up", deadLetters},
		{"retry", "[ID…]", "run given-up messages again, by id or --all", retry},
		{"pause", "TYPE/ID", "let an actor's messages wait", pause},
		{"resume", "TYPE/ID", "let a paused actor go on", resume},
		{"reminders", "", "list what actors have scheduled, the next first", reminders},
		{"actors", "TYPE", "walk over the actors of a type", walk},
		{"prune", "[messages|instances|processes]", "count what was kept long enough; --execute deletes it", prune},
		{"cleanup", "", "give back now what dead processes own", cleanup},
	}
}

// Command runs one subcommand and returns the exit code for the process.
func Command(ctx context.Context, rt *runtime.Runtime, args []string, stdout, stderr io.Writer) int {
	c := &call{ctx: ctx, admin: rt.Admin(), stdout: stdout, stderr: stderr}
	top := flag.NewFlagSet("admin", flag.ContinueOnError)
	top.SetOutput(stderr)
	top.Usage = func() { usage(stderr) }
	top.BoolVar(&c.json, "json", false, "")
	if err := top.Parse(args); err != nil {
		return unparsed(err)
	}
	if top.NArg() == 0 {
		usage(stderr)
		return misread
	}
	name := top.Arg(0)
	if name == "help" {
		usage(stdout)
		return done
	}
	for _, k := range commands() {
		if k.name == name {
			return k.run(c, top.Args()[1:])
		}
	}
	fmt.Fprintf(stderr, "admin: unknown command %q\n", name)
	usage(stderr)
	return misread
}

func (k command) run(c *call, args []string) int {
	f := flag.NewFlagSet(k.name, flag.ContinueOnError)
	f.SetOutput(c.stderr)
	f.BoolVar(&c.json, "json", c.json, "print one JSON document")
	run := k.define(f)
	f.Usage = func() {
		fmt.Fprintln(c.stderr, strings.TrimSpace("usage: admin "+k.name+" [flags] "+k.operands))
		fmt.Fprintln(c.stderr, k.help)
		f.PrintDefaults()
	}
	var operands []string
	for { // flags may also follow operands
		if err := f.Parse(args); err != nil {
			return unparsed(err)
		}
		if f.NArg() == 0 {
			break
		}
		operands, args = append(operands, f.Arg(0)), f.Args()[1:]
	}
	if k.operands == "" && len(operands) > 0 {
		return c.misread("%s takes no argument, and got %q", k.name, operands[0])
	}
	return run(c, operands)
}

// unparsed is the exit code of a flag error, which was printed already.
func unparsed(err error) int {
	if errors.Is(err, flag.ErrHelp) {
		return done
	}
	return misread
}

func usage(w io.Writer) {
	fmt.Fprintln(w, "usage: admin [--json] COMMAND [flags]")
	for _, k := range commands() {
		fmt.Fprintf(w, "  %-38s %s\n", strings.TrimSpace(k.name+" "+k.operands), k.help)
	}
	fmt.Fprintln(w, "COMMAND -h lists its flags.")
}

func (c *call) misread(format string, args ...any) int {
	fmt.Fprintf(c.stderr, "admin: "+format+"\n", args...)
	return misread
}

// fails reports an error of an Admin.
func (c *call) fails(err error) int {
	fmt.Fprintln(c.stderr, "admin:", err)
	if _, ok := errors.AsType[*runtime.OutOfRange](err); ok {
		return misread
	}
	if _, ok := errors.AsType[*actors.UnknownType](err); ok {
		return misread
	}
	return failed
}

func doctor(*flag.FlagSet) func(*call, []string) int {
	return func(c *call, _ []string) int {
		report, err := c.admin.Doctor(c.ctx)
		if err != nil {
			return c.fails(err)
		}
		code := done
		if report.Failed() {
			code = failed
		}
		return c.print(report, func(t *table) { t.report(report) }, code)
	}
}

func status(*flag.FlagSet) func(*call, []string) int {
	return func(c *call, _ []string) int {
		s, err := c.admin.Status(c.ctx)
		if err != nil {
			return c.fails(err)
		}
		return c.print(viewStatus(s), func(t *table) { t.status(s) }, done)
	}
}

func processes(f *flag.FlagSet) func(*call, []string) int {
	all := f.Bool("all", false, "also those that have stopped")
	return func(c *call, _ []string) int {
		list, err := c.admin.Processes(c.ctx)
		if err != nil {
			return c.fails(err)
		}
		stopped := 0
		shown := list[:0]
		for _, p := range list {
			if p.State == "stopped" && !*all {
				stopped++
				continue
			}
			shown = append(shown, p)
		}
		return c.print(viewProcesses(shown, stopped), func(t *table) { t.processes(shown, stopped) }, done)
	}
}

// selection declares the flags that say which dead letters are meant.
func selection(f *flag.FlagSet) *runtime.Selection {
	s := &runtime.Selection{}
	f.StringVar(&s.Type, "type", "", "only of this actor `type`")
	f.StringVar(&s.Operation, "operation", "", "only of this `operation`")
	f.IntVar(&s.Limit, "limit", 100, fmt.Sprintf("at most this `many`, up to %d", runtime.MaxAdminList))
	return s
}

func deadLetters(f *flag.FlagSet) func(*call, []string) int {
	s := selection(f)
	f.BoolVar(&s.Retried, "retried", false, "also those that were retried")
	f.BoolVar(&s.Details, "details", false, "with texts of errors and arguments of messages, which may hold anything")
	return func(c *call, _ []string) int {
		if s.Limit < 1 {
			return c.misread("--limit %d: must be 1 to %d", s.Limit, runtime.MaxAdminList)
		}
		list, err := c.admin.DeadLetters(c.ctx, *s)
		if err != nil {
			return c.fails(err)
		}
		return c.print(map[string]any{"dead_letters": list}, func(t *table) { t.letters(list, s.Details) }, done)
	}
}

func retry(f *flag.FlagSet) func(*call, []string) int {
	s := selection(f)
	all := f.Bool("all", false, "everything that --type and --operation leave, oldest first, up to --limit")
	return func(c *call, ids []string) int {
		var narrowed bool
		f.Visit(func(x *flag.Flag) {
			narrowed = narrowed || x.Name == "type" || x.Name == "operation" || x.Name == "limit"
		})
		switch {
		case *all == (len(ids) > 0):
			return c.misread("retry: name dead letters by id, or say --all")
		case !*all && narrowed:
			return c.misread("retry: --type, --operation and --limit go with --all")
		case len(ids) > runtime.MaxAdminList:
			return c.misread("retry: %d ids: at most %d at once", len(ids), runtime.MaxAdminList)
		case s.Limit < 1:
			return c.misread("--limit %d: must be 1 to %d", s.Limit, runtime.MaxAdminList)
		}
		answers := []runtime.Retry{}
		var err error
		if *all {
			answers, err = c.admin.RetryAll(c.ctx, *s)
		} else {
			for _, id := range ids {
				var one runtime.Retry
				if one, err = c.admin.Retry(c.ctx, id); err != nil {
					break
				}
				answers = append(answers, one)
			}
		}
		if err != nil && len(answers) == 0 {
			return c.fails(err)
		}
		code := done
		for _, a := range answers {
			if a.Outcome != runtime.Retried && a.Outcome != runtime.WasRetried {
				code = failed
			}
		}
		if err != nil { // what was done before it is printed all the same
			c.fails(err)
			code = failed
		}
		return c.print(map[string]any{"retries": answers}, func(t *table) { t.retries(answers) }, code)
	}
}

func pause(*flag.FlagSet) func(*call, []string) int {
	return switching("pause", "paused", runtime.Admin.Pause)
}

func resume(*flag.FlagSet) func(*call, []string) int {
	return switching("resume", "resumed", runtime.Admin.Resume)
}

func switching(name, past string, do func(runtime.Admin, context.Context, actors.Address) (bool, error)) func(*call, []string) int {
	return func(c *call, operands []string) int {
		if len(operands) != 1 {
			return c.misread("%s: name one actor, like cart/alice", name)
		}
		typ, id, ok := strings.Cut(operands[0], "/")
		if !ok || typ == "" || id == "" {
			return c.misread("%s %q: name an actor as TYPE/ID, like cart/alice", name, operands[0])
		}
		if err := actors.CheckID(id); err != nil {
			return c.misread("%s: %v", name, err)
		}
		found, err := do(c.admin, c.ctx, actors.Address{Type: typ, ID: id})
		if err != nil {
			return c.fails(err)
		}
		answer := map[string]any{"type": typ, "id": id, "found": found}
		if !found {
			return c.print(answer, func(t *table) { t.line("there is no %s/%s: it was never used, or was destroyed", typ, id) }, failed)
		}
		return c.print(answer, func(t *table) { t.line("%s %s/%s", past, typ, id) }, done)
	}
}
