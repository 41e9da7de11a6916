package realtime

import "time"

// Metrics hears how a hub does, in figures; package metrics shows them to Prometheus. Its methods are called
// concurrently, some while the hub holds locks: they return at once and call nothing of the hub. Names and labels are
// those listed here and names of the program's code, never ids.
type Metrics interface {
	// Gauge moves what there is now of a Gauge… by delta.
	Gauge(name string, delta int)
	// Count adds n to a Count…; label says which, where the list below has some.
	Count(name, label string, n int)
	// Render tells of one rendered component of an actor type.
	Render(typ, component string, took time.Duration, failed bool)
}

// What Metrics.Gauge is told.
const (
	GaugeConnections   = "connections"
	GaugeSubscriptions = "subscriptions" // scopes of open pages
	GaugeTopics        = "topics"        // actors that somebody follows
	GaugeWaiting       = "waiting"       // subscribes that wait for one of Config.Resyncs
)

// What Metrics.Count is told.
const (
	CountFrames      = "frames"      // sent
	CountBytes       = "bytes"       // sent
	CountConflated   = "conflated"   // fragments that a newer one replaced before they were sent
	CountClosed      = "closed"      // connections that the hub ended, by a Closed…
	CountRefused     = "refused"     // subscribes and subscriptions, by the wire.Reason: "later" is a storm
	CountGaps        = "gaps"        // that news showed ("news") or the comparison found ("comparison"; "silent" by another build)
	CountDenied      = "denied"      // rights found withdrawn: at the "recheck", a "render", or a new "answer"
	CountRevocations = "revocations" // acted upon, by what they name: "viewer" or "actor"
)

// Why the hub ended a connection or took none.
const (
	ClosedSlow    = "slow"    // took nothing for Config.WriteStall
	ClosedPending = "pending" // let more than Config.MaxPending gather
	ClosedSilent  = "silent"  // answered no heartbeat
	ClosedFlood   = "flood"   // went on with what is no command or was refused
	ClosedRevoked = "revoked"
	ClosedDrained = "drained" // Run ended
	ClosedFull    = "full"    // there were Config.MaxConns already
	ClosedEach    = "each"    // there were Config.MaxConnsEach of one principal or session
	ClosedVersion = "version" // it spoke no version of ours
	ClosedEarly   = "early"   // before Run or after it
)

// unmeasured is no Metrics.
type unmeasured struct{}

func (unmeasured) Gauge(string, int)                          {}
func (unmeasured) Count(string, string, int)                  {}
func (unmeasured) Render(string, string, time.Duration, bool) {}
