package actors_test

import (
	"os"
	"os/exec"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// A compile error, not a surprise at run time, is what wrong types get.
func TestMistakesDoNotCompile(t *testing.T) {
	const path = "testdata/mistakes.go"
	source, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	want := map[int]string{}
	for i, line := range strings.Split(string(source), "\n") {
		if _, comment, ok := strings.Cut(line, `// want "`); ok {
			want[i+1] = strings.TrimSuffix(comment, `"`)
		}
	}
	if len(want) < 20 {
		t.Fatalf("only %d mistakes found in %s", len(want), path)
	}
	build := exec.Command("go", "build", "-gcflags=-e", "-o", os.DevNull, path)
	out, err := build.CombinedOutput()
	if err == nil {
		t.Fatal("it compiles")
	}
	found := map[int]bool{}
	for _, m := range regexp.MustCompile(`(?m)^(?:\./)?testdata/mistakes\.go:(\d+):\d+: (.*)$`).FindAllStringSubmatch(string(out), -1) {
		line, _ := strconv.Atoi(m[1])
		found[line] = true
		switch pattern, ok := want[line]; {
		case !ok:
			t.Errorf("line %d must compile, but: %s", line, m[2])
		case !regexp.MustCompile(pattern).MatchString(m[2]):
			t.Errorf("line %d is refused with %q, want %q", line, m[2], pattern)
		}
	}
	for line := range want {
		if !found[line] {
			t.Errorf("line %d compiles, but must not", line)
		}
	}
	if len(found) == 0 {
		t.Errorf("no error could be read:\n%s", out)
	}
}
