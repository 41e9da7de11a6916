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

// writeNow writes what fits into the socket's buffer and never waits. An error is met again by the next Write. l.lock is
// held.
func writeNow(l *link, p []byte) (n int) {
	w := &l.now
	w.p = p
	if w.write == nil {
		w.write = func(fd uintptr) bool {
			w.n, _ = syscall.Write(int(fd), w.p)
			return true
		}
	}
	if l.raw.Write(w.write) != nil {
		w.n = 0
	}
	w.p = nil
	return max(w.n, 0)
}
