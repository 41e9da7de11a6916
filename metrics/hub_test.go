package metrics_test

import (
	"strings"
	"testing"
	"time"

	"github.com/lockstep-go/lockstep/metrics"
	"github.com/lockstep-go/lockstep/realtime"
)

var _ realtime.Metrics = (*metrics.Hub)(nil)

// Each figure that a hub tells has its metric, and those that this package does not know do no harm.
func TestMetricsOfAHub(t *testing.T) {
	m := metrics.New()
	if text := scrape(t, m); strings.Contains(text, "lockstep_connections ") {
		t.Error("figures of a hub where there is none")
	}
	h := m.Hub()
	for i, name := range []string{realtime.GaugeConnections, realtime.GaugeSubscriptions, realtime.GaugeTopics, realtime.GaugeWaiting, "new"} {
		h.Gauge(name, i+3)
		h.Gauge(name, -1)
	}
	for i, name := range []string{
		realtime.CountFrames, realtime.CountBytes, realtime.CountConflated, realtime.CountClosed, realtime.CountRefused,
		realtime.CountGaps, realtime.CountDenied, realtime.CountRevocations, "new",
	} {
		h.Count(name, "why", i+1)
	}
	h.Render("cart", "summary", time.Second, false)
	h.Render("cart", "summary", time.Second, true)
	expect(t, scrape(t, m),
		`lockstep_connections 2`, `lockstep_subscriptions 3`, `lockstep_topics 4`, `lockstep_subscribes_waiting 5`,
		`lockstep_frames_total 1`, `lockstep_frame_bytes_total 2`, `lockstep_fragments_conflated_total 3`,
		`lockstep_connections_closed_total{reason="why"} 4`, `lockstep_subscribes_refused_total{reason="why"} 5`,
		`lockstep_gaps_total{found="why"} 6`, `lockstep_rights_withdrawn_total{found="why"} 7`, `lockstep_revocations_total{of="why"} 8`,
		`lockstep_render_seconds_count{component="summary",type="cart"} 2`, `lockstep_render_seconds_sum{component="summary",type="cart"} 2`,
		`lockstep_render_failures_total{component="summary",type="cart"} 1`,
	)
}
