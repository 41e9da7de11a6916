package firefoxtest

import (
	"os/exec"
	"syscall"
)

// dieWithTests has the kernel end the browser where the tests are killed before they can.
func dieWithTests(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL} }
