package runtime

import (
	"context"

	"github.com/lockstep-go/lockstep/runtime/store"
)

// LogStatus is about the write-ahead log of SQLite. One that grows has a reader that does not end: one of this process
// where OldestReadSeconds is not zero, otherwise one of somebody else's connections.
type LogStatus struct {
	Bytes             int64   `json:"bytes"`
	OldestReadSeconds float64 `json:"oldest_read_seconds"`
}

// log is nil where the database has no log that readers hold.
func (a Admin) log(ctx context.Context) (*LogStatus, error) {
	logged, ok := a.rt.store.(store.Logged)
	if !ok {
		return nil, nil
	}
	l, err := logged.WriteAheadLog(ctx)
	return &LogStatus{Bytes: l.Bytes, OldestReadSeconds: l.OldestReader.Seconds()}, err
}
