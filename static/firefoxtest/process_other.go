//go:build !linux

package firefoxtest

import "os/exec"

// dieWithTests can do nothing here: tests that are killed leave the browser behind.
func dieWithTests(*exec.Cmd) {}
