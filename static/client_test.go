package static_test

import (
	"os"
	"os/exec"
	"testing"
)

// The client's own checks, on the modules as they are: types, size, and what it says and does at every frame, reason and
// close code of the protocol. `make client` installs what they need.
func TestClient(t *testing.T) {
	tools := npm(t)
	for _, c := range []struct{ name, script string }{
		{"types", tools + "/typescript/bin/tsc"},
		{"size", "size.mjs"},
		{"protocol", "test/protocol.test.mjs"},
	} {
		t.Run(c.name, func(t *testing.T) {
			out, err := exec.CommandContext(t.Context(), "node", c.script).CombinedOutput()
			if err != nil {
				t.Errorf("node %s: %v\n%s", c.script, err, out)
			}
			t.Logf("%s", out)
		})
	}
}

// npm is the folder with what package.json names. Where it or node is missing the test is skipped, or fails if
// LOCKSTEP_TEST_REQUIRE_NODE=1.
func npm(t *testing.T) string {
	t.Helper()
	const folder = "node_modules"
	_, err := exec.LookPath("node")
	if err == nil {
		_, err = os.Stat(folder)
	}
	if err != nil {
		if os.Getenv("LOCKSTEP_TEST_REQUIRE_NODE") == "1" {
			t.Fatalf("%v: put node in PATH and run make client", err)
		}
		t.Skipf("%v: put node in PATH and run make client", err)
	}
	return folder
}
