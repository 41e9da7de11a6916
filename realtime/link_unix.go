//go:build unix

package realtime

import "syscall"

// readWhenReady waits until there is something to read, and only then takes a buffer to read into. Where the
// connection has ended there is nothing.
func readWhenReady(l *link) bool {
	l.raw.Read(func(fd uintptr) bool {
		buf := reads.Get().(*[readSize]byte)
		n, err := syscall.Read(int(fd), buf[:])
		for err == syscall.EINTR {
			n, err = syscall.Read(int(fd), buf[:])
		}
		if n > 0 {
			l.lent, l.ahead = buf, buf[:n]
			return true
		}
		reads.Put(buf)
		return err != syscall.EAGAIN
	})
	return true
}

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
