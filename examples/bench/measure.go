package main

import (
	"fmt"
	"time"
)

// figures are what was measured of a peer with so many connections, by name of the measure.
type figures map[string]float64

// plan is how much is measured.
type plan struct {
	conns []int
	sizes []int // of fragments
	// deliveries is how many a measure is to count; one that has a change for each does at least atLeast.
	single, burst int
	atLeast       int
	storms        int
	rounds        int
	only          string // the one kind of measure to take, "" for all
}

// takes says whether a kind of measure is taken.
func (p plan) takes(kind string) bool { return p.only == "" || p.only == kind }

// kinds are those of measures.
var kinds = []string{"memory", "single", "storm", "burst"}

// rest is between two changes of one page: the hub pushes the changes of one actor at most ten times a second, so that is
// what all peers are asked for. What is waited is in no figure.
const rest = 105 * time.Millisecond

// run measures one peer in a process of its own.
func run(name string, clients *child, conns int, p plan) (figures, error) {
	srv, err := start("server", name)
	if err != nil {
		return nil, err
	}
	defer srv.stop()
	f := figures{}
	open := func(do, page string, n int) (float64, error) {
		r, err := clients.ask(order{Do: do, Peer: name, Addr: srv.addr, Page: page, Count: n})
		return r.Ms, err
	}
	leave := func() error {
		_, err := clients.ask(order{Do: "leave"})
		return err
	}
	for _, page := range []string{pageOne, pageMany} {
		if _, err := srv.ask(order{Do: "change", Page: page, Size: 300}); err != nil {
			return nil, err
		}
	}
	if _, err := open("open", pageOne, 10); err != nil { // what is made once is made
		return nil, err
	}
	if p.takes("memory") {
		if err := idle(f, srv, func() error { _, err := open("open", pageOne, conns); return err }, conns); err != nil {
			return nil, err
		}
	} else if _, err := open("open", pageOne, conns); err != nil {
		return nil, err
	}
	if p.takes("single") {
		for _, size := range p.sizes {
			times := max(p.atLeast, p.single/conns)
			if err := push(f, fmt.Sprintf("single %d", size), srv, clients, pageOne, size, conns, times); err != nil {
				return nil, err
			}
		}
	}
	if p.takes("storm") {
		if err := storm(f, srv, func() (float64, error) { return open("storm", pageOne, conns) }, conns, p.storms); err != nil {
			return nil, err
		}
	}
	if p.takes("burst") {
		if _, err := open("open", pageMany, conns); err != nil {
			return nil, err
		}
		for _, size := range p.sizes {
			times := max(p.atLeast/2, p.burst/conns/targets)
			if err := push(f, fmt.Sprintf("burst %d", size), srv, clients, pageMany, size, conns, times); err != nil {
				return nil, err
			}
		}
	}
	return f, leave()
}

// idle measures the memory of a server before and after so many connections were opened.
func idle(f figures, srv *child, open func() error, conns int) error {
	heap, rss, err := memory(srv)
	if err != nil {
		return err
	}
	if err := open(); err != nil {
		return err
	}
	time.Sleep(300 * time.Millisecond)
	heapAfter, rssAfter, err := memory(srv)
	f["heap"] = (heapAfter - heap) / float64(conns) / 1024
	f["rss"] = (rssAfter - rss) / float64(conns) / 1024
	return err
}

// storm drops all clients so many times, and measures until all are back.
func storm(f figures, srv *child, drop func() (float64, error), conns, times int) error {
	before, err := srv.cpu()
	if err != nil {
		return err
	}
	var took []float64
	for range times {
		ms, err := drop()
		if err != nil {
			return err
		}
		took = append(took, ms)
		time.Sleep(200 * time.Millisecond)
	}
	after, err := srv.cpu()
	f["storm"] = median(took)
	f["storm cpu"] = (after - before) / float64(conns*times) * 1e6
	return err
}

func memory(srv *child) (heap, rss float64, err error) {
	r, err := srv.ask(order{Do: "memory"})
	if err != nil {
		return 0, 0, err
	}
	rss, err = srv.resident()
	return r.Heap, rss, err
}

// push changes a page so many times, each after everybody has everything of the one before; the first is not counted.
func push(f figures, name string, srv, clients *child, page string, size, conns, times int) error {
	var took time.Duration
	var before, clientsBefore float64
	each := conns * pushed(page)
	for i := range times + 1 {
		if i == 1 {
			var err error
			if before, err = srv.cpu(); err != nil {
				return err
			}
			if clientsBefore, err = clients.cpu(); err != nil {
				return err
			}
			took = 0
		}
		if _, err := clients.ask(order{Do: "expect", Count: each}); err != nil {
			return err
		}
		begun := time.Now()
		if _, err := srv.ask(order{Do: "change", Page: page, Size: size}); err != nil {
			return err
		}
		r, err := clients.ask(order{Do: "await"})
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		took += time.Unix(0, r.At).Sub(begun)
		time.Sleep(time.Until(begun.Add(rest)))
	}
	after, err := srv.cpu()
	if err != nil {
		return err
	}
	clientsAfter, err := clients.cpu()
	if err != nil {
		return err
	}
	deliveries := float64(each * times)
	f[name+" rate"] = deliveries / took.Seconds() / 1000
	f[name+" cpu"] = (after - before) / deliveries * 1e6
	f[name+" clients"] = (clientsAfter - clientsBefore) / deliveries * 1e6
	return nil
}
