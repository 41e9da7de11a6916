package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"sync"
	"time"
)

// Ledger is the payment service's book: at most one entry for each idempotency key, written down before anybody is
// answered. It is safe for concurrent use.
type Ledger struct {
	mu      sync.Mutex
	file    *os.File // nil: in memory only
	size    int64    // of what was written whole
	entries map[string]Entry
}

// Entry is what the payment service did for one key. A later line of one key replaces an earlier one.
type Entry struct {
	Key     string    `json:"key"`
	Order   string    `json:"order"`
	Amount  Money     `json:"amount"`
	Outcome string    `json:"outcome"`
	Receipt string    `json:"receipt,omitempty"`
	At      time.Time `json:"at"`
}

// Outcomes of an Entry.
const (
	charged  = "charged"
	declined = "declined"
	voided   = "voided"
)

// openLedger reads the book at path, one JSON document a line, and goes on in it; "" keeps one in memory. A last line
// that was cut off by a crash was never answered for, and is dropped.
func openLedger(path string) (*Ledger, error) {
	l := &Ledger{entries: map[string]Entry{}}
	if path == "" {
		return l, nil
	}
	file, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, fmt.Errorf("open ledger: %w", err)
	}
	whole, err := l.read(file)
	if err == nil {
		err = file.Truncate(whole)
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("read ledger: %w", err), file.Close())
	}
	l.file, l.size = file, whole
	return l, nil
}

// read takes in all whole lines and returns where they end.
func (l *Ledger) read(from io.Reader) (whole int64, err error) {
	for in := bufio.NewReader(from); ; {
		line, err := in.ReadBytes('\n')
		if errors.Is(err, io.EOF) {
			return whole, nil
		}
		if err != nil {
			return 0, err
		}
		var e Entry
		if err := json.Unmarshal(bytes.TrimSpace(line), &e); err != nil {
			return 0, fmt.Errorf("after byte %d: %w", whole, err)
		}
		l.entries[e.Key] = e
		whole += int64(len(line))
	}
}

// Once returns the entry of a key, and makes it with what do returns where there is none yet.
func (l *Ledger) Once(key string, do func() Entry) (e Entry, again bool, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if e, again = l.entries[key]; again {
		return e, true, nil
	}
	e = do()
	e.Key = key
	return e, false, l.write(e)
}

// Void takes a charge back, or makes sure that it can never happen.
func (l *Ledger) Void(key string) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	e := l.entries[key]
	if e.Outcome == voided {
		return nil
	}
	e.Key, e.Outcome, e.At = key, voided, time.Now().UTC()
	return l.write(e)
}

func (l *Ledger) write(e Entry) error {
	if l.file != nil {
		line, err := json.Marshal(e)
		if err != nil {
			return err
		}
		line = append(line, '\n')
		if _, err = l.file.WriteAt(line, l.size); err == nil { // over what a failed write may have left
			err = l.file.Sync()
		}
		if err != nil {
			return fmt.Errorf("write ledger: %w", err)
		}
		l.size += int64(len(line))
	}
	l.entries[e.Key] = e
	return nil
}

// Entries are all entries, in no order.
func (l *Ledger) Entries() []Entry {
	l.mu.Lock()
	defer l.mu.Unlock()
	all := make([]Entry, 0, len(l.entries))
	for _, e := range l.entries {
		all = append(all, e)
	}
	return all
}

// Close closes the book.
func (l *Ledger) Close() error {
	if l.file == nil {
		return nil
	}
	return l.file.Close()
}
