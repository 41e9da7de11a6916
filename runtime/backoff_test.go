package runtime

import (
	"math"
	"testing"
	"time"
)

// D20: whatever the attempt, 1 to 200 or 2^31, the wait is what was configured and up to a quarter more, never less, and
// a time that a column of microseconds holds; what an application's own function answers is clamped.
func TestD20EveryAttemptsBackoff(t *testing.T) {
	century := 100 * 365 * 24 * time.Hour
	for name, c := range map[string]struct {
		backoff func(int) time.Duration
		want    func(attempt int) time.Duration
	}{
		"default": {nil, func(n int) time.Duration {
			if n > 6 {
				return time.Minute
			}
			return time.Second << (n - 1)
		}},
		"negative":     {func(int) time.Duration { return -time.Second }, func(int) time.Duration { return 0 }},
		"least":        {func(int) time.Duration { return math.MinInt64 }, func(int) time.Duration { return 0 }},
		"zero":         {func(int) time.Duration { return 0 }, func(int) time.Duration { return 0 }},
		"a century":    {func(int) time.Duration { return century }, func(int) time.Duration { return time.Hour }},
		"most":         {func(int) time.Duration { return math.MaxInt64 }, func(int) time.Duration { return time.Hour }},
		"panics":       {func(int) time.Duration { panic("no idea") }, func(int) time.Duration { return time.Minute }},
		"shifts ahead": {func(n int) time.Duration { return time.Second << n }, func(n int) time.Duration { return min(max(time.Second<<n, 0), time.Hour) }},
	} {
		t.Run(name, func(t *testing.T) {
			cfg := Config{Backoff: c.backoff}.withDefaults()
			attempts := []int{math.MaxInt32, 1 << 31}
			for n := 1; n <= 200; n++ {
				attempts = append(attempts, n)
			}
			for _, n := range attempts {
				least := c.want(n)
				if got := cfg.backoff(n); got < least || got > least+least/4 {
					t.Fatalf("attempt %d waits %v, want %v to %v", n, got, least, least+least/4)
				}
			}
		})
	}
}

// D16: what is left of a lease is the less hopeful of the monotonic and the wall clock: an hour's step of the wall, or a
// sleep that the monotonic clock did not see, ends it; a step back does not lengthen it.
func TestD16LeaseIsJudgedByBothClocks(t *testing.T) {
	taken := time.Now()
	l := leaseClock{taken, 30 * time.Second}
	for name, c := range map[string]struct {
		now  time.Time
		over bool
	}{
		"at once":                         {taken, false},
		"within it":                       {taken.Add(29 * time.Second), false},
		"at its end":                      {taken.Add(30 * time.Second), true},
		"slept, by the wall clock only":   {taken.Round(0).Add(32 * time.Second), true},
		"the wall clock an hour ahead":    {taken.Round(0).Add(time.Hour), true},
		"the wall clock an hour behind":   {taken.Round(0).Add(-time.Hour), false},
		"both, an hour later":             {taken.Add(time.Hour), true},
		"within it, by the wall clock":    {taken.Round(0).Add(29 * time.Second), false},
		"a moment before, by both clocks": {taken.Add(30*time.Second - 1), false},
	} {
		if got := l.over(c.now); got != c.over {
			t.Errorf("%s: over is %v, want %v", name, got, c.over)
		}
	}
}
