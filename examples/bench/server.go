package main

import (
	"context"
	"fmt"
	"net"
	"os"
	"runtime"
	"runtime/debug"
	"runtime/pprof"
	"strings"
)

// peer is one of the servers that are compared.
type peer struct {
	name string
	// serve serves on a listener until the process ends. What it returns changes a page, and pushes to those who show it.
	serve func(context.Context, net.Listener) (change func(page string, size int) error, err error)
	// opening is how a client asks for a connection to a page, and what it says when that was granted.
	opening func(addr, page string) (opening, error)
}

var peers = []peer{
	{"lockstep", serveLockstep, openLockstep},
	{"centrifuge", serveCentrifuge, openCentrifuge},
	{"datastar", serveDatastar, openDatastar},
	{"raw", serveRaw, openRaw},
}

func peerNamed(name string) (peer, error) {
	for _, p := range peers {
		if p.name == name {
			return p, nil
		}
	}
	return peer{}, fmt.Errorf("there is no peer %q", name)
}

// choose leaves only the peers of these names, where there are any.
func choose(names string) error {
	if names == "" {
		return nil
	}
	var chosen []peer
	for name := range strings.SplitSeq(names, ",") {
		p, err := peerNamed(name)
		if err != nil {
			return err
		}
		chosen = append(chosen, p)
	}
	peers = chosen
	return nil
}

// server is the process of one peer.
func server(ctx context.Context, name string) error {
	p, err := peerNamed(name)
	if err != nil {
		return err
	}
	if path := os.Getenv("BENCH_PROFILE"); path != "" {
		f, err := os.Create(path + "." + name)
		if err != nil {
			return err
		}
		defer f.Close()
		if err := pprof.StartCPUProfile(f); err != nil {
			return err
		}
		defer pprof.StopCPUProfile()
	}
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	change, err := p.serve(ctx, ln)
	if err != nil {
		return err
	}
	return obey(reply{Addr: ln.Addr().String()}, func(o order) (r reply) {
		switch o.Do {
		case "change":
			if err := change(o.Page, o.Size); err != nil {
				r.Error = err.Error()
			}
		case "memory":
			debug.FreeOSMemory()
			debug.FreeOSMemory() // what finalizers have let go
			var m runtime.MemStats
			runtime.ReadMemStats(&m)
			r.Heap = float64(m.HeapAlloc + m.StackInuse)
		default:
			r.Error = "unknown order " + o.Do
		}
		return r
	})
}
