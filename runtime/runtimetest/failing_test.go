package runtimetest_test

import (
	"fmt"
	goruntime "runtime"
	"slices"
	"strings"
	"testing"
)

// failing is a test that is expected to fail, and keeps what it says.
type failing struct {
	testing.TB
	said    []string
	cleanup []func()
}

func (f *failing) Cleanup(do func()) { f.cleanup = append(f.cleanup, do) }
func (f *failing) Helper()           {}
func (f *failing) Error(args ...any) { f.said = append(f.said, fmt.Sprint(args...)) }
func (f *failing) Errorf(format string, args ...any) {
	f.said = append(f.said, fmt.Sprintf(format, args...))
}

func (f *failing) Fatal(args ...any) {
	f.Error(args...)
	goruntime.Goexit()
}

func (f *failing) Fatalf(format string, args ...any) {
	f.Errorf(format, args...)
	goruntime.Goexit()
}

// end does what is to be done when the test ends.
func (f *failing) end() {
	for _, do := range slices.Backward(f.cleanup) {
		do()
	}
}

// fails expects that what do does with its test, or what follows at its end, fails that with these words.
func fails(t *testing.T, words string, do func(t testing.TB)) {
	t.Helper()
	f := &failing{TB: t}
	done := make(chan struct{})
	go func() {
		defer close(done)
		defer f.end()
		do(f)
	}()
	<-done
	if text := strings.Join(f.said, "\n"); !strings.Contains(text, words) {
		t.Errorf("it says %q, want %q", text, words)
	}
}
