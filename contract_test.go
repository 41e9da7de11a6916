package lockstep_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// docs/contract.md says which test holds which rule; a test that was renamed or removed must not stay in it, and a rule
// must not be without one.
func TestContractNamesTestsThatExist(t *testing.T) {
	page, err := os.ReadFile("docs/contract.md")
	if err != nil {
		t.Fatal(err)
	}
	known := map[string]bool{}
	define := regexp.MustCompile(`(?m)^func (Test\w+)\(|"([GDR]\d+/\w+)"`)
	err = filepath.WalkDir(".", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(path, ".go") {
			return err
		}
		text, err := os.ReadFile(path)
		for _, m := range define.FindAllSubmatch(text, -1) {
			known[string(m[1])+string(m[2])] = true
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	named := regexp.MustCompile("`(Test\\w+|[GDR]\\d+/\\w+)`")
	for _, m := range named.FindAllStringSubmatch(string(page), -1) {
		if !known[m[1]] {
			t.Errorf("docs/contract.md names %s, which does not exist", m[1])
		}
	}
	for line := range strings.SplitSeq(string(page), "\n") {
		if strings.HasPrefix(line, "| G") || strings.HasPrefix(line, "| C") {
			if !named.MatchString(line) {
				t.Errorf("a rule without a test: %s", line)
			}
		}
	}
}
