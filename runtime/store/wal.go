package store

import (
	"context"
	"time"
)

// Logged is a Store whose database keeps a write-ahead log that only grows while somebody reads (SQLite).
type Logged interface {
	WriteAheadLog(ctx context.Context) (WriteAheadLog, error)
}

// WriteAheadLog says how large the log is, and for how long the oldest read of this store has been under way; zero where
// none is. A log that stays large while that is zero is held by a reader of somebody else's.
type WriteAheadLog struct {
	Bytes        int64
	OldestReader time.Duration
}
