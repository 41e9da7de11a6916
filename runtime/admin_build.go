package runtime

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"runtime/debug"
	"slices"
	"time"

	"github.com/lockstep-go/lockstep/runtime/store"
)

// build is what a process registers of its program, for those who ask whether all are of one build.
type build struct {
	Version string `json:"build,omitempty"` // of the program's module, or of its version control; "" where neither is known
	Types   string `json:"types,omitempty"` // fingerprint of actor types, state versions, observables and effects
}

// process is this process's row in the registry.
func (rt *Runtime) process() store.Process {
	host, _ := os.Hostname()
	metadata, _ := json.Marshal(build{programVersion(), rt.typesPrint()})
	kind := "runtime"
	if rt.cfg.SingleOwner {
		kind = ownerKind
	}
	return store.Process{ID: rt.id, Kind: kind, Host: host, PID: os.Getpid(), Metadata: metadata, State: "running"}
}

// otherBuilds is for how long after its end a process of another build is reckoned with: hubs that could not read the
// database meanwhile still have to find what it committed.
const otherBuilds = 10 * time.Minute

// Mixed says whether a process of another build works on the database, or did until a while ago: one whose program has
// another version, or other actor types, observables or effects. What it commits names the observables that it knows.
func (rt *Runtime) Mixed(ctx context.Context) (bool, error) {
	if rt.cfg.SingleOwner {
		return false, nil
	}
	list, err := rt.store.Processes(ctx)
	if err != nil {
		return false, fmt.Errorf("read the registry: %w", err)
	}
	mine := build{programVersion(), rt.typesPrint()}
	var others []store.Process
	for _, p := range list {
		var b build
		if p.ID != rt.id && (json.Unmarshal(p.Metadata, &b) != nil || b != mine) {
			others = append(others, p)
		}
	}
	if len(others) == 0 {
		return false, nil
	}
	now, err := rt.store.Now(ctx)
	if err != nil {
		return false, fmt.Errorf("read the registry: %w", err)
	}
	return slices.ContainsFunc(others, func(p store.Process) bool {
		return p.State != "stopped" || now.Sub(p.StoppedAt) < otherBuilds
	}), nil
}

func programVersion() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return ""
	}
	if v := info.Main.Version; v != "" && v != "(devel)" {
		return v
	}
	var revision, dirty string
	for _, s := range info.Settings {
		switch {
		case s.Key == "vcs.revision":
			revision = s.Value[:min(len(s.Value), 12)]
		case s.Key == "vcs.modified" && s.Value == "true":
			dirty = "+dirty"
		}
	}
	if revision == "" {
		return ""
	}
	return revision + dirty
}

// typesPrint is equal for programs that define the same types, with the same state versions, observables and effects.
func (rt *Runtime) typesPrint() string {
	h := sha256.New()
	for _, name := range rt.typeNames {
		def := rt.types[name]
		fmt.Fprintf(h, "type %q %d\n", name, def.StateVersion())
		for _, o := range def.Observables() {
			fmt.Fprintf(h, "observable %q %t\n", o.Name, o.Shared)
		}
		for _, effect := range slices.Sorted(maps.Keys(def.Effects())) {
			fmt.Fprintf(h, "effect %q\n", effect)
		}
	}
	return hex.EncodeToString(h.Sum(nil))[:12]
}
