//go:build !unix

package realtime

import (
	"errors"
	"syscall"
)

// writeNow writes nothing: it takes a system call that is spelled alike on Unix alone.
func writeNow(syscall.RawConn, []byte) (int, error) { return 0, errors.ErrUnsupported }

// readWhenReady waits for nothing either.
func readWhenReady(*link) bool { return false }
