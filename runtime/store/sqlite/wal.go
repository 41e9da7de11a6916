package sqlite

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"sync"
	"time"

	"github.com/lockstep-go/lockstep/runtime/store"
)

var _ store.Logged = (*Store)(nil)

// reads are the reads under way, by their connection: each holds the write-ahead log where it was when it began.
type reads struct {
	mu    sync.Mutex
	since map[*conn]time.Time
}

func (r *reads) begin(c *conn) {
	r.mu.Lock()
	if r.since == nil {
		r.since = map[*conn]time.Time{}
	}
	r.since[c] = time.Now()
	r.mu.Unlock()
}

func (r *reads) end(c *conn) {
	r.mu.Lock()
	delete(r.since, c)
	r.mu.Unlock()
}

func (r *reads) oldest() (age time.Duration) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, since := range r.since {
		age = max(age, time.Since(since))
	}
	return age
}

// WriteAheadLog says how large the log beside the file is; in memory there is none.
func (s *Store) WriteAheadLog(context.Context) (store.WriteAheadLog, error) {
	log := store.WriteAheadLog{OldestReader: s.reads.oldest()}
	if s.path == "" {
		return log, nil
	}
	info, err := os.Stat(s.path + "-wal")
	if errors.Is(err, fs.ErrNotExist) {
		return log, nil
	}
	if err != nil {
		return log, fmt.Errorf("look at the write-ahead log: %w", err)
	}
	log.Bytes = info.Size()
	return log, nil
}
