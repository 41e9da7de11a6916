package lockstep_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"
)

// mutation is a change of one line that breaks a rule, and the tests that must notice it.
type mutation struct {
	rule, file    string
	was, becomes  string
	pkg, mustFail string
}

// mutations reads the blocks of docs/contract.md and docs/mutations.md that list them: four lines each, and an empty one.
func mutations(t *testing.T) (list []mutation) {
	t.Helper()
	for _, name := range []string{"docs/contract.md", "docs/mutations.md"} {
		page, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		_, block, ok := strings.Cut(string(page), "```mutations\n")
		block, _, end := strings.Cut(block, "\n```")
		if !ok || !end {
			t.Fatalf("%s has no block of mutations", name)
		}
		list = append(list, parseMutations(t, block)...)
	}
	return list
}

func parseMutations(t *testing.T, block string) (list []mutation) {
	t.Helper()
	for entry := range strings.SplitSeq(block, "\n\n") {
		lines := strings.Split(strings.Trim(entry, "\n"), "\n")
		if len(lines) != 4 {
			t.Fatalf("a mutation is a heading, the line's text, what it becomes, and what must fail; this is not:\n%s", entry)
		}
		var m mutation
		if _, err := fmt.Sscanf(lines[0], "%s %s", &m.rule, &m.file); err != nil {
			t.Fatalf("%q is not a rule and a file", lines[0])
		}
		if _, err := fmt.Sscanf(lines[3], "! %s %s", &m.pkg, &m.mustFail); err != nil {
			t.Fatalf("%q is not a package and a pattern of tests", lines[3])
		}
		var ok, end bool
		m.was, ok = strings.CutPrefix(lines[1], "- ")
		m.becomes, end = strings.CutPrefix(lines[2], "+ ")
		if !ok || !end {
			t.Fatalf("this has no line that was and line that becomes:\n%s", entry)
		}
		list = append(list, m)
	}
	return list
}

// apply returns the file with the change made.
func (m *mutation) apply() (string, error) {
	text, err := os.ReadFile(m.file)
	if err != nil {
		return "", err
	}
	if n := strings.Count(string(text), m.was); n != 1 {
		return "", fmt.Errorf("%s has %q %d times, want it once", m.file, m.was, n)
	}
	return strings.Replace(string(text), m.was, m.becomes, 1), nil
}

// Every rule has a one-line change that its tests must notice, and each is one of the code as it is now.
func TestMutationsApply(t *testing.T) {
	covered := map[string]bool{}
	for _, m := range mutations(t) {
		covered[m.rule] = true
		if _, err := m.apply(); err != nil {
			t.Errorf("%s: %v", m.rule, err)
		}
	}
	page, err := os.ReadFile("docs/contract.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, rule := range regexp.MustCompile(`(?m)^\| ([GC]\d+) \|`).FindAllStringSubmatch(string(page), -1) {
		if !covered[rule[1]] {
			t.Errorf("%s has no mutation", rule[1])
		}
	}
}

// make mutate: each change is made in a copy of its file that only the compiler sees, and must make its tests fail.
func TestMutations(t *testing.T) {
	only := os.Getenv("LOCKSTEP_MUTATE")
	if only == "" {
		t.Skip("run by make mutate: it compiles and tests the module once for each change")
	}
	pattern, err := regexp.Compile("^(?:" + only + ")$")
	if err != nil {
		t.Fatal(err)
	}
	here, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range mutations(t) {
		if !pattern.MatchString(m.rule) {
			continue
		}
		t.Run(m.rule+"/"+filepath.Base(m.file), func(t *testing.T) {
			changed, err := m.apply()
			if err != nil {
				t.Fatal(err)
			}
			dir := t.TempDir()
			copied := filepath.Join(dir, filepath.Base(m.file))
			overlay, err := json.Marshal(map[string]map[string]string{"Replace": {filepath.Join(here, m.file): copied}})
			if err != nil {
				t.Fatal(err)
			}
			list := filepath.Join(dir, "overlay.json")
			if err := errors.Join(os.WriteFile(copied, []byte(changed), 0o600), os.WriteFile(list, overlay, 0o600)); err != nil {
				t.Fatal(err)
			}
			ctx, cancel := context.WithTimeout(t.Context(), 10*time.Minute)
			defer cancel()
			out, err := exec.CommandContext(ctx, "go", "test", "-overlay", list, "-count=1", "-timeout=3m", "-run", m.mustFail, m.pkg).CombinedOutput()
			switch {
			case err == nil:
				t.Errorf("%s: with %q in place of %q, %s of %s passes all the same:\n%s", m.file, m.becomes, m.was, m.mustFail, m.pkg, out)
			case !regexp.MustCompile(`(?m)^\s*--- FAIL|^panic: `).Match(out):
				t.Errorf("the changed code was not tested: %v\n%s", err, out)
			}
		})
	}
}
