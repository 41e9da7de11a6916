package storetest

import (
	"testing"
	"time"
)

func TestDatabasesGoStaleAfterAnHour(t *testing.T) {
	now := time.Now()
	name := Database("field")
	if stale(name, now.Add(59*time.Minute)) || !stale(name, now.Add(61*time.Minute)) {
		t.Errorf("%s does not tell its age", name)
	}
	for name, want := range map[string]bool{
		"lockstep_test_1600000000_ab12cd34_latin1": true,
		"lockstep_test_4711_1600000000":            true,
		"lockstep_shop":                            false,
		"lockstep_1600000000":                      false,
		"shop_1600000000_ab12cd34":                 false,
	} {
		if got := stale(name, now); got != want {
			t.Errorf("%s is stale: %v", name, got)
		}
	}
}
