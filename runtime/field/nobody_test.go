//go:build unix

package field

import (
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
)

// asNobody runs the test in a process that may do what ordinary users may.
func asNobody(t *testing.T) {
	t.Helper()
	const nobody = 65534
	folder, err := os.MkdirTemp("", "lockstep-nobody")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(folder) })
	program := filepath.Join(folder, "test")
	if err := copyProgram(program); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{folder, program} {
		if err := os.Chown(name, nobody, nobody); err != nil {
			t.Skipf("this process may not act for others: %v", err)
		}
	}
	cmd := exec.CommandContext(t.Context(), program, "-test.run", "^"+t.Name()+"$", "-test.v", "-test.count=1")
	cmd.Dir = folder
	cmd.Env = append(os.Environ(), "TMPDIR="+folder, "HOME="+folder)
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: nobody, Gid: nobody}}
	out, err := cmd.CombinedOutput()
	t.Logf("as nobody:\n%s", out)
	if err != nil {
		t.Fatalf("as nobody: %v", err)
	}
}

func copyProgram(to string) error {
	in, err := os.Open(os.Args[0])
	if err != nil {
		return err
	}
	defer in.Close()
	out, err := os.OpenFile(to, os.O_CREATE|os.O_WRONLY, 0o700)
	if err != nil {
		return err
	}
	_, err = io.Copy(out, in)
	if closed := out.Close(); err == nil {
		err = closed
	}
	return err
}
