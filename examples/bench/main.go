// Bench measures Lockstep side by side with centrifuge, with Datastar over Server-Sent Events and with plain TCP: each server
// in a process of its own, one process of clients for all, and in Chromium its morph with Turbo's and idiomorph. README.md says
// what is measured and why that is fair.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	goruntime "runtime"
	"slices"
	"strings"
	"syscall"
	"time"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := role(ctx, os.Args[1:]); err != nil && !errors.Is(err, flag.ErrHelp) {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

// role runs what this process is: the one that measures, or one of its children.
func role(ctx context.Context, args []string) error {
	switch {
	case len(args) == 2 && args[0] == "server":
		return server(ctx, args[1])
	case len(args) == 1 && args[0] == "client":
		return client()
	}
	return bench(ctx, args, os.Stdout)
}

var (
	full  = plan{conns: []int{1000, 5000}, sizes: []int{300, 3000}, single: 40_000, burst: 300_000, atLeast: 8, storms: 2, rounds: 3}
	quick = plan{conns: []int{500}, sizes: []int{300, 3000}, single: 5_000, burst: 50_000, atLeast: 4, storms: 1, rounds: 1}
)

// bench measures and prints.
func bench(ctx context.Context, args []string, out io.Writer) error {
	flags := flag.NewFlagSet("bench", flag.ContinueOnError)
	small := flags.Bool("quick", false, "few connections, one round: whether it runs, more than how fast it is")
	rounds := flags.Int("rounds", 0, "how often each peer has its turn, 3 by default and 1 with -quick")
	conns := flags.Int("connections", 0, "measure with so many alone")
	only := flags.String("only", "", "of the servers, measure this alone: "+strings.Join(kinds, ", "))
	against := flags.String("peers", "", "measure these alone, names separated by commas")
	servers := flags.Bool("servers", true, "measure the servers")
	browser := flags.Bool("browser", true, "measure the morphs, in Chromium")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if flags.NArg() > 0 {
		return fmt.Errorf("unknown argument %q", flags.Arg(0))
	}
	if *only != "" && !slices.Contains(kinds, *only) {
		return fmt.Errorf("there is no measure %q", *only)
	}
	if err := choose(*against); err != nil {
		return err
	}
	p := full
	if *small {
		p = quick
	}
	if *rounds > 0 {
		p.rounds = *rounds
	}
	if *conns > 0 {
		p.conns = []int{*conns}
	}
	p.only = *only
	begun := time.Now()
	fmt.Fprintf(out, "%s, %d CPUs, load %s at the start\n\n", goruntime.Version(), goruntime.NumCPU(), load())
	if *servers {
		if err := measureServers(ctx, out, p); err != nil {
			return err
		}
	}
	if *browser {
		if err := measureMorphs(ctx, out, *small); err != nil {
			return err
		}
	}
	fmt.Fprintf(out, "\nload %s at the end, after %v\n", load(), time.Since(begun).Round(time.Second))
	return nil
}

// measureServers gives each peer its turn in every round, each round another one first.
func measureServers(ctx context.Context, out io.Writer, p plan) error {
	if err := roomFor(p.conns[len(p.conns)-1]); err != nil {
		return err
	}
	clients, err := start("client")
	if err != nil {
		return err
	}
	defer clients.stop()
	all := results{}
	defer func() { all.print(out, p) }() // also what there is when something goes wrong
	for round := range p.rounds {
		for _, conns := range p.conns {
			for i := range peers {
				if err := ctx.Err(); err != nil {
					return err
				}
				name := peers[(i+round)%len(peers)].name
				fmt.Fprintf(os.Stderr, "round %d of %d: %s, %d connections, load %s\n", round+1, p.rounds, name, conns, load())
				f, err := run(name, clients, conns, p)
				if err != nil {
					return err
				}
				all.add(conns, name, f)
			}
		}
	}
	return nil
}

// roomFor sees to it that a process may open so many connections; Go has raised the limit to what it may be.
func roomFor(conns int) error {
	var limit syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit); err != nil {
		return err
	}
	if need := uint64(conns + 100); limit.Max < need {
		return fmt.Errorf("a process may open %d files and needs %d: raise it with ulimit -n", limit.Max, need)
	}
	return nil
}
