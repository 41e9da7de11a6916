package main

import (
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
)

func median(of []float64) float64 {
	if len(of) == 0 {
		return 0
	}
	of = slices.Sorted(slices.Values(of))
	return (of[(len(of)-1)/2] + of[len(of)/2]) / 2
}

// measures are the columns: a name in figures and how it is headed.
func measures(p plan) (names, heads []string) {
	for _, kind := range []string{"single", "burst"} {
		for _, size := range p.sizes {
			if p.takes(kind) {
				name := fmt.Sprintf("%s %d", kind, size)
				names = append(names, name+" rate", name+" cpu", name+" clients")
				heads = append(heads, name+" B k/s", "CPU s/M", "clients'")
			}
		}
	}
	if p.takes("memory") {
		names, heads = append(names, "heap", "rss"), append(heads, "KiB heap", "KiB RSS")
	}
	if p.takes("storm") {
		names, heads = append(names, "storm", "storm cpu"), append(heads, "storm ms", "CPU µs each")
	}
	return names, heads
}

// results are the figures of all rounds, by connections and peer.
type results map[int]map[string][]figures

func (r results) add(conns int, peer string, f figures) {
	if r[conns] == nil {
		r[conns] = map[string][]figures{}
	}
	r[conns][peer] = append(r[conns][peer], f)
}

// medians are those of all rounds.
func (r results) medians(conns int, peer, measure string) float64 {
	var all []float64
	for _, f := range r[conns][peer] {
		all = append(all, f[measure])
	}
	return median(all)
}

// print prints medians, and then ours as multiples of centrifuge's and of the floor: the median of each round's.
func (r results) print(out io.Writer, p plan) {
	names, heads := measures(p)
	row := func(cells ...string) { fmt.Fprintln(out, "| "+strings.Join(cells, " | ")+" |") }
	row(append([]string{"connections", "peer"}, heads...)...)
	rule := []string{"---:", "---"}
	for range heads {
		rule = append(rule, "---:")
	}
	row(rule...)
	for _, conns := range p.conns {
		for _, peer := range peers {
			cells := []string{fmt.Sprint(conns), peer.name}
			for _, name := range names {
				cells = append(cells, short(r.medians(conns, peer.name, name)))
			}
			row(cells...)
		}
		for _, other := range []string{"centrifuge", "raw"} {
			if r[conns]["lockstep"] == nil || r[conns][other] == nil {
				continue
			}
			cells := []string{fmt.Sprint(conns), "lockstep / " + other}
			for _, name := range names {
				cells = append(cells, fmt.Sprintf("%.2f", r.ratio(conns, name, other)))
			}
			row(cells...)
		}
	}
}

// ratio is the median over the rounds of ours to another's.
func (r results) ratio(conns int, measure, other string) float64 {
	var all []float64
	for i, ours := range r[conns]["lockstep"] {
		if theirs := r[conns][other]; i < len(theirs) && theirs[i][measure] > 0 {
			all = append(all, ours[measure]/theirs[i][measure])
		}
	}
	return median(all)
}

func short(x float64) string {
	if x < 100 {
		return fmt.Sprintf("%.1f", x)
	}
	return fmt.Sprintf("%.0f", x)
}

// load is how busy the machine is: what it ran on average in the last minute.
func load() string {
	text, err := os.ReadFile("/proc/loadavg")
	if err != nil {
		return "unknown"
	}
	first, _, _ := strings.Cut(string(text), " ")
	return first
}

func quantile(of []float64, q float64) float64 {
	of = slices.Sorted(slices.Values(of))
	return of[int(q*float64(len(of)-1))]
}
