//go:build unix

package crash

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync"

	"golang.org/x/sys/unix"
)

// record is a line of a process's history.
type record struct {
	Kind string `json:"k"`
	At   int64  `json:"at,omitempty"` // nanoseconds of the host's monotonic clock, the same for all its processes

	// Of calls: "call" before it, "end" after it.
	Call    string `json:"call,omitempty"`
	Type    string `json:"type,omitempty"`
	Actor   string `json:"actor,omitempty"`
	Op      string `json:"op,omitempty"`
	By      int    `json:"by,omitempty"`
	Ending  ending `json:"ending,omitempty"`
	Value   int    `json:"value,omitempty"`
	Message string `json:"message,omitempty"`

	// Of flushes: "claim", "commit" and "failure", as the store answered.
	Instance   string `json:"instance,omitempty"`
	Sequence   int64  `json:"sequence,omitempty"`
	Generation int64  `json:"generation,omitempty"`
}

// ending is what a caller was told.
type ending string

const (
	answered ending = "answered" // the committed result
	rejected ending = "rejected"
	stored   ending = "stored" // it is durable
	unknown  ending = "unknown"
)

const (
	callLine    = "call"
	endLine     = "end"
	claimLine   = "claim"
	commitLine  = "commit"
	failureLine = "failure"
)

// history is a file to which one process appends. What a write returned for outlives the process.
type history struct {
	mu sync.Mutex
	f  *os.File
}

func openHistory(path string) (*history, error) {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	return &history{f: f}, err
}

func (h *history) write(records ...record) error {
	var lines bytes.Buffer
	encode := json.NewEncoder(&lines)
	for _, r := range records {
		if err := encode.Encode(r); err != nil {
			return err
		}
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	_, err := h.f.Write(lines.Bytes())
	return err
}

// moment is the host's monotonic clock.
func moment() int64 {
	var now unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_MONOTONIC, &now); err != nil {
		panic(err)
	}
	return now.Nano()
}

// lines reads a file's complete lines into values.
func lines[T any](path string) (all []T, err error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	for in := bufio.NewReader(f); ; {
		line, err := in.ReadBytes('\n')
		if err != nil {
			return all, nil // what follows the last newline was being written when the process died
		}
		var v T
		if err := json.Unmarshal(line, &v); err != nil {
			return nil, fmt.Errorf("%s: %q: %w", path, line, err)
		}
		all = append(all, v)
	}
}

// histories reads those of all processes.
func histories(folder string) (all []record, err error) {
	err = filepath.WalkDir(folder, func(path string, d fs.DirEntry, err error) error {
		if err != nil || filepath.Ext(path) != ".history" {
			return err
		}
		more, err := lines[record](path)
		all = append(all, more...)
		return err
	})
	return all, err
}
