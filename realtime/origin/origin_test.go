package origin_test

import (
	"strings"
	"testing"

	"github.com/lockstep-go/lockstep/realtime/origin"
)

func TestParseTakesAnyUsualSpelling(t *testing.T) {
	for text, want := range map[string]origin.Origin{
		"https://shop.example": {Scheme: "https", Host: "shop.example"}, " HTTPS://Shop.Example/ ": {Scheme: "https", Host: "shop.example"},
		"https://shop.example:443": {Scheme: "https", Host: "shop.example"}, "http://shop.example:80": {Scheme: "http", Host: "shop.example"},
		"http://shop.example:443": {Scheme: "http", Host: "shop.example:443"}, "shop.example": {Host: "shop.example"},
		"shop.example:8080": {Host: "shop.example:8080"}, "http://[::1]:8080": {Scheme: "http", Host: "[::1]:8080"},
	} {
		if got, err := origin.Parse(text); err != nil || got != want {
			t.Errorf("%q is %+v, %v; want %+v", text, got, err, want)
		}
	}
	for _, bad := range []string{"", "https://", "null://", "*", "https://*.example", "https://shop.example/path", "https://shop.example?q", "ftp://shop.example", "https://u@shop.example"} {
		if got, err := origin.Parse(bad); err == nil {
			t.Errorf("%q is %+v", bad, got)
		}
	}
}

func TestSetNamesTheSettingAndEveryMistake(t *testing.T) {
	set, err := origin.ParseSet("Config.Origins", []string{"https://fine.example", "ftp://a.example", "b.example/x"})
	if err == nil || strings.Count(err.Error(), "Config.Origins: ") != 2 || !strings.Contains(err.Error(), "b.example/x") {
		t.Errorf("said %v", err)
	}
	if fine := (origin.Origin{Scheme: "https", Host: "fine.example"}); !set.Has(fine) || set.Has(origin.Origin{Scheme: "http", Host: "fine.example"}) {
		t.Errorf("the set is %v", set)
	}
}
