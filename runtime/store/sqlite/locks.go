package sqlite

import (
	"errors"
	"fmt"
	"os"
	"regexp"
	"sync"
)

// processLock is the proof that a process lives: the operating system lets go of it when the process ends, however
// it ends, and of nothing else. It is flock (LockFileEx on Windows) on a file of its own beside the database: closing
// any other handle of the database file, as SQLite and others do all the time, would drop a lock of fcntl's kind.
type processLock interface {
	// release lets go; remove also takes the file away.
	release(remove bool) error
}

// life is what a lock says about a process.
type life int

const (
	unknown life = iota // the lock cannot tell: judge by the heartbeat
	alive
	dead
)

var processPattern = regexp.MustCompile(`^[A-Za-z0-9_-]{1,64}$`)

// checkProcess refuses an id that is no file name.
func checkProcess(id string) error {
	if !processPattern.MatchString(id) {
		return fmt.Errorf("process id of %d bytes: must be 1 to 64 letters, digits, _ and -", len(id))
	}
	return nil
}

func (s *Store) lockPath(id string) string { return s.path + "." + s.cfg.Prefix + id + ".lock" }

// lock takes a process's lock.
func (s *Store) lock(id string) (processLock, error) {
	if s.path == "" {
		l := s.memoryLock(id)
		if _, taken := memoryLocks.LoadOrStore(l, true); taken {
			return nil, fmt.Errorf("process %s is registered already", id)
		}
		return l, nil
	}
	l, err := lockFile(s.lockPath(id), true)
	if errors.Is(err, errLocked) {
		return nil, fmt.Errorf("process %s is registered already", id)
	}
	return l, err
}

// probe asks for the lock of a process that said it had one. A dead one's lock is held by the caller then, who
// recovers it.
func (s *Store) probe(id string) (life, processLock) {
	if s.path == "" {
		l := s.memoryLock(id)
		if _, taken := memoryLocks.LoadOrStore(l, true); taken {
			return alive, nil
		}
		return dead, l
	}
	l, err := lockFile(s.lockPath(id), false)
	switch {
	case err == nil:
		return dead, l
	case errors.Is(err, errLocked):
		return alive, nil
	case errors.Is(err, os.ErrNotExist):
		return dead, noLock{} // taken away by somebody who had begun to recover it
	}
	return unknown, nil
}

// errLocked is a lock that another process has.
var errLocked = errors.New("the lock is taken")

// memoryLocks are the processes of databases in memory: they live in this Go process, which can die with all of them
// only, or close their store.
var memoryLocks sync.Map

type memoryLock struct {
	database any // the pool that is shared, or the store
	id       string
}

func (s *Store) memoryLock(id string) memoryLock {
	if s.shared != nil {
		return memoryLock{s.shared, id}
	}
	return memoryLock{s, id}
}

func (l memoryLock) release(bool) error {
	memoryLocks.Delete(l)
	return nil
}

type noLock struct{}

func (noLock) release(bool) error { return nil }

// fileLock is a lock on an open file.
type fileLock struct{ f *os.File }

func (l fileLock) release(remove bool) error {
	gone := remove && os.Remove(l.f.Name()) == nil // while it is locked: nobody takes a file that goes away for a live one
	err := l.f.Close()
	if remove && !gone {
		os.Remove(l.f.Name()) // Windows keeps a name as long as it is open
	}
	return err
}

// lockFile opens the file and locks it, or returns errLocked; create also makes it.
func lockFile(path string, create bool) (processLock, error) {
	flags := os.O_RDWR
	if create {
		flags |= os.O_CREATE
	}
	f, err := os.OpenFile(path, flags, 0o600)
	if err != nil {
		return nil, err
	}
	if err := tryLock(f); err != nil {
		f.Close()
		return nil, err
	}
	return fileLock{f}, nil
}
