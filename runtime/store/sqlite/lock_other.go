//go:build !windows && (!unix || illumos || solaris || aix)

package sqlite

import (
	"errors"
	"os"
)

// Without flock the heartbeat judges.
func tryLock(*os.File) error { return errors.ErrUnsupported }
