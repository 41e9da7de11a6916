//go:build unix

package runtime_test

import (
	"syscall"
	"time"
)

// realTime is the host's clock, in a bubble too.
func realTime() time.Time {
	var now syscall.Timeval
	if err := syscall.Gettimeofday(&now); err != nil {
		panic(err)
	}
	return time.Unix(now.Unix())
}
