package lockstep_test

import (
	"encoding/json"
	"errors"
	"io"
	"os/exec"
	"strings"
	"testing"
)

const module = "github.com/lockstep-go/lockstep"

// arrows says, for each folder, which of our packages its non-test code may import. The longest matching folder
// counts; "…/" at the end of an entry allows all below it.
var arrows = map[string][]string{
	"":                        {},
	"actors":                  {},
	"runtime":                 {"actors", "runtime/store", "runtime/bus"},
	"runtime/admin":           {"actors", "runtime"},
	"runtime/bus":             {"actors"},
	"runtime/bus/nats":        {"runtime/bus"},
	"runtime/bus/redis":       {"runtime/bus"},
	"runtime/bus/bustest":     {"actors", "runtime/bus"},
	"runtime/store":           {"actors"},
	"runtime/store/lend":      {},
	"runtime/store/sqlite":    {"actors", "runtime/store", "runtime/store/lend"},
	"runtime/store/postgres":  {"actors", "runtime/store", "runtime/bus"},
	"runtime/store/mysql":     {"actors", "runtime/store", "runtime/store/lend"},
	"runtime/store/storetest": {"actors", "runtime/store"},
	"runtime/benchtest":       {"actors", "runtime", "runtime/store"},
	"runtime/runtimetest":     {"actors", "runtime", "runtime/store", "runtime/store/sqlite"},
	"realtime":                {"actors", "realtime/origin", "realtime/wire"},
	"realtime/origin":         {},
	"realtime/wire":           {"actors"},
	"views":                   {"actors", "realtime/wire", "views/"},
	"web":                     {"actors", "runtime", "runtime/store", "realtime", "realtime/origin", "realtime/wire", "views", "static", "web/"},
	"web/webtest":             {"realtime/wire", "web"}, // a page without a browser: it speaks the protocol and links no database
	"metrics":                 {"runtime"},
	"static":                  {},
	"static/chromiumtest":     {},
	"static/firefoxtest":      {},
	"examples":                {"actors", "runtime", "runtime/", "realtime", "realtime/", "views", "web", "static", "metrics", "examples/"},
}

// forbidden are packages of others that a folder may not import: actors and views carry no SQL, sockets or servers,
// and what only one adapter needs only that adapter imports.
var forbidden = map[string][]string{
	"actors":        {"database/sql", "net", "net/http", "html/template", "os"},
	"views":         {"database/sql", "net", "net/http"},
	"realtime/wire": {"database/sql", "net", "net/http"},
	"runtime/store": {"database/sql"},
	"runtime":       {"database/sql", "net/http"},
	"realtime":      {"database/sql"},
}

// drivers may be imported only below the folder named.
var drivers = map[string]string{
	"modernc.org/sqlite":              "runtime/store/sqlite",
	"github.com/jackc/pgx":            "runtime/store/postgres",
	"github.com/go-sql-driver/mysql":  "runtime/store/mysql",
	"github.com/prometheus":           "metrics",
	"go.opentelemetry.io":             "runtime web",
	"github.com/nats-io":              "runtime/bus/nats",
	"github.com/redis":                "runtime/bus/redis",
	"github.com/coder/websocket":      "realtime web static/firefoxtest", // its protocol runs over a socket
	"github.com/gorilla/securecookie": "realtime/wire examples",
	"github.com/go-chi/chi":           "web examples",
	"github.com/chromedp":             "static/chromiumtest",
	"github.com/andybalholm/cascadia": "web/webtest",
}

type listed struct {
	ImportPath string
	Imports    []string
	Deps       []string
}

func listPackages(t *testing.T) (all []listed) {
	t.Helper()
	out, err := exec.Command("go", "list", "-e", "-json=ImportPath,Imports,Deps", "./...").Output()
	if err != nil {
		t.Fatalf("go list: %v", err)
	}
	dec := json.NewDecoder(strings.NewReader(string(out)))
	for {
		var p listed
		if err := dec.Decode(&p); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatal(err)
		}
		all = append(all, p)
	}
	if len(all) < 5 {
		t.Fatalf("go list knows only %d packages", len(all))
	}
	return all
}

// Imports point one way: web and the examples at the top, actors at the bottom, nothing back up.
func TestImportsPointOneWay(t *testing.T) {
	for _, p := range listPackages(t) {
		folder, _ := ours(p.ImportPath)
		allowed, known := rule(arrows, folder)
		if !known {
			t.Errorf("%s: no arrows are drawn for it: DESIGN says where it belongs", folder)
			continue
		}
		for _, path := range p.Imports {
			if to, mine := ours(path); mine && !allows(allowed, to) {
				t.Errorf("%s imports %s, which no arrow allows", folder, to)
			}
		}
	}
}

func TestAdaptersAloneImportTheirDrivers(t *testing.T) {
	for _, p := range listPackages(t) {
		folder, _ := ours(p.ImportPath)
		for _, path := range p.Imports {
			for _, banned := range forbidden[folder] {
				if path == banned {
					t.Errorf("%s imports %s", folder, path)
				}
			}
			for driver, homes := range drivers {
				if !within(path, driver) {
					continue
				}
				home := false
				for h := range strings.FieldsSeq(homes) {
					home = home || within(folder, h)
				}
				if !home {
					t.Errorf("%s imports %s, which belongs below %s", folder, path, homes)
				}
			}
		}
	}
}

// A program links only the database that it names, and a page that uses views links no socket.
func TestNothingIsLinkedUnasked(t *testing.T) {
	for _, p := range listPackages(t) {
		folder, _ := ours(p.ImportPath)
		if folder != "actors" && folder != "runtime" && folder != "views" && folder != "realtime" && folder != "web" {
			continue
		}
		for _, dep := range p.Deps {
			if to, mine := ours(dep); mine && strings.HasPrefix(to, "runtime/store/") || within(dep, "modernc.org/sqlite") {
				t.Errorf("%s links %s", folder, dep)
			}
			if folder == "views" && within(dep, "github.com/coder/websocket") {
				t.Errorf("views links %s", dep)
			}
		}
	}
}

func ours(path string) (folder string, mine bool) {
	if path == module {
		return "", true
	}
	return strings.CutPrefix(path, module+"/")
}

// rule is what a table says about the folder, or about the nearest one above it; the root speaks for itself only.
func rule(table map[string][]string, folder string) ([]string, bool) {
	for at := folder; ; {
		if allowed, ok := table[at]; ok && (at != "" || folder == "") {
			return allowed, true
		}
		i := strings.LastIndexByte(at, '/')
		if i < 0 {
			return nil, false
		}
		at = at[:i]
	}
}

func allows(allowed []string, to string) bool {
	for _, a := range allowed {
		if to == a || strings.HasSuffix(a, "/") && strings.HasPrefix(to, a) {
			return true
		}
	}
	return false
}

// within says whether path is folder or below it.
func within(path, folder string) bool { return path == folder || strings.HasPrefix(path, folder+"/") }
