package metrics

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// Hub shows what a hub of open pages tells: a realtime.Metrics for web.Config.Metrics. Labels are names of components and
// actor types, and closed lists.
type Hub struct {
	gauges   map[string]*prometheus.GaugeVec
	counts   map[string]*prometheus.CounterVec
	plain    map[string]prometheus.Counter // those of no label, which are counted with every write
	renders  *prometheus.HistogramVec
	failures *prometheus.CounterVec
}

// Hub is for web.Config.Metrics; several hubs of a program may share it.
func (m *Metrics) Hub() *Hub { return m.hub }

func (m *Metrics) newHub() *Hub {
	h := &Hub{plain: map[string]prometheus.Counter{}}
	h.gauges = map[string]*prometheus.GaugeVec{
		"connections":   m.gauge("connections", "Open connections of pages."),
		"subscriptions": m.gauge("subscriptions", "Scopes of open pages that follow their actor."),
		"topics":        m.gauge("topics", "Actors that open pages follow."),
		"waiting":       m.gauge("subscribes_waiting", "Subscribes that wait to be worked on."),
	}
	h.counts = map[string]*prometheus.CounterVec{
		"closed":      m.counter("connections_closed_total", "Connections that were ended or not taken.", "reason"),
		"refused":     m.counter("subscribes_refused_total", "Subscribes that were refused, and subscriptions that were ended.", "reason"),
		"gaps":        m.counter("gaps_total", "Lost broadcasts, by what found that they were.", "found"),
		"denied":      m.counter("rights_withdrawn_total", "Subscriptions that ended because their right was withdrawn, by what found it.", "found"),
		"revocations": m.counter("revocations_total", "Revocations, by what they named.", "of"),
	}
	for name, v := range map[string]*prometheus.CounterVec{
		"frames":    m.counter("frames_total", "Frames sent to pages."),
		"bytes":     m.counter("frame_bytes_total", "Bytes of frames sent to pages."),
		"conflated": m.counter("fragments_conflated_total", "Fragments that a newer one replaced before they were sent."),
	} {
		h.plain[name] = v.WithLabelValues()
	}
	h.renders = m.histogram("render_seconds", "Renders of components for open pages.", "type", "component")
	h.failures = m.counter("render_failures_total", "Renders that failed and are tried again.", "type", "component")
	return h
}

func (m *Metrics) gauge(name, help string) *prometheus.GaugeVec {
	v := prometheus.NewGaugeVec(prometheus.GaugeOpts{Namespace: namespace, Name: name, Help: help}, nil)
	m.all = append(m.all, v)
	return v
}

// Gauge implements realtime.Metrics.
func (h *Hub) Gauge(name string, delta int) {
	if g := h.gauges[name]; g != nil {
		g.WithLabelValues().Add(float64(delta))
	}
}

// Count implements realtime.Metrics.
func (h *Hub) Count(name, label string, n int) {
	if c := h.plain[name]; c != nil {
		c.Add(float64(n))
	} else if c := h.counts[name]; c != nil {
		c.WithLabelValues(label).Add(float64(n))
	}
}

// Render implements realtime.Metrics.
func (h *Hub) Render(typ, component string, took time.Duration, failed bool) {
	h.renders.WithLabelValues(typ, component).Observe(took.Seconds())
	if failed {
		h.failures.WithLabelValues(typ, component).Inc()
	}
}
