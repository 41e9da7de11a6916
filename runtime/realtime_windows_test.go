package runtime_test

import (
	"syscall"
	"time"
)

// realTime is the host's clock, in a bubble too.
func realTime() time.Time {
	var now syscall.Filetime
	syscall.GetSystemTimeAsFileTime(&now)
	return time.Unix(0, now.Nanoseconds())
}
