//go:build unix

package realtime

import "syscall"

// writeNow writes what fits into the socket's buffer and never waits.
func writeNow(raw syscall.RawConn, p []byte) (n int, err error) {
	if failed := raw.Write(func(fd uintptr) bool {
		n, err = syscall.Write(int(fd), p)
		return true
	}); failed != nil {
		return 0, failed
	}
	return max(n, 0), err
}
