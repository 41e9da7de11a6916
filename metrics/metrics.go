// Package metrics shows a program's figures to Prometheus. Nothing else imports it, so that who does not use it does not
// link Prometheus' client:
//
//	m := metrics.New()
//	rt, err := runtime.Open(ctx, db, runtime.Config{Events: m.Event, …})
//	m.ReadStatus(10*time.Second, func(ctx context.Context) (runtime.Status, error) { return rt.Admin().Status(asOperator(ctx)) })
//	live, err := web.New(rt, web.Config{Metrics: m.Hub(), …})
//	http.Handle("/metrics", m.Handler()) // or prometheus.MustRegister(m)
//
// Labels are names that the program's code gives (actor types, operations, effects) and closed lists: never an id, so
// that their number is bounded and nobody is named. docs/operations.md lists all metrics with what to be woken for.
//
// Concurrency: a Metrics is safe for concurrent use. Lifecycle: it starts nothing and needs no end.
package metrics

import (
	"context"
	"net/http"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/lockstep-go/lockstep/runtime"
)

// Metrics counts a runtime's events and a hub's figures. It is a prometheus.Collector; several runtimes of a program may share it.
type Metrics struct {
	messages   *prometheus.CounterVec
	turns      *prometheus.CounterVec
	turnTime   *prometheus.HistogramVec
	turnWait   *prometheus.HistogramVec
	trouble    *prometheus.CounterVec // activations
	letters    *prometheus.CounterVec
	effects    *prometheus.CounterVec
	effectTime *prometheus.HistogramVec
	reminders  *prometheus.CounterVec
	sends      *prometheus.CounterVec
	broadcasts *prometheus.CounterVec
	flushTime  prometheus.Histogram
	flushItems prometheus.Histogram
	flushBusy  prometheus.Counter
	flushTries *prometheus.CounterVec
	beats      prometheus.Counter
	recovered  prometheus.Counter
	restarts   *prometheus.CounterVec
	passes     *prometheus.CounterVec

	hub *Hub

	all    []prometheus.Collector
	status status
}

// New makes metrics whose Event is to be given to a runtime.
func New() *Metrics {
	m := &Metrics{}
	m.messages = m.counter("messages_total", "Messages that calls sent, by what became of them.", "type", "operation", "outcome")
	m.turns = m.counter("turns_total", "Ends of turns.", "type", "operation", "outcome")
	m.turnTime = m.histogram("turn_seconds", "From a turn's start to its commit.", "type", "operation")
	m.turnWait = m.histogram("turn_wait_seconds", "From when a message was due to its claim, by the database's clock.", "type", "origin")
	m.trouble = m.counter("activations_total", "Activations that were lost, could not be made or could not be given back.", "type", "outcome")
	m.letters = m.counter("dead_letters_total", "Messages that were given up.", "type", "operation")
	m.effects = m.counter("effects_total", "Ends of attempts at effects.", "effect", "outcome")
	m.effectTime = m.histogram("effect_seconds", "An attempt at an effect, with the record of its end.", "effect")
	m.reminders = m.counter("reminders_total", "Occurrences of reminders that reached their mailbox.", "type", "operation")
	m.sends = m.counter("sends_total", "Messages between actors that reached their mailbox, by their target.", "type", "operation")
	m.broadcasts = m.counter("broadcasts_total", "Broadcasts handed to this process's pages.", "type", "outcome")
	m.flushTime = m.alone("flush_seconds", "A group commit, tries included.", seconds)
	m.flushItems = m.alone("flush_items", "Items of a group commit.", prometheus.ExponentialBuckets(1, 2, 9))
	m.flushBusy = m.counter("flush_busy_total", "Items that had to wait because another session held their row.").WithLabelValues()
	m.flushTries = m.counter("flush_trouble_total", "Group commits that the database was too busy for, or refused.", "outcome")
	m.beats = m.counter("heartbeat_failures_total", "Heartbeats that could not be written.").WithLabelValues()
	m.recovered = m.counter("processes_recovered_total", "Dead processes whose work this one gave back.").WithLabelValues()
	m.restarts = m.counter("part_restarts_total", "Parts of the runtime that failed and began again.", "part")
	m.passes = m.counter("pass_failures_total", "Passes of a part that failed and are made again.", "part")
	m.hub = m.newHub()
	return m
}

// seconds are the bounds of durations: half a millisecond to 16 s.
var seconds = prometheus.ExponentialBuckets(0.0005, 2, 16)

const namespace = "lockstep"

func (m *Metrics) counter(name, help string, labels ...string) *prometheus.CounterVec {
	v := prometheus.NewCounterVec(prometheus.CounterOpts{Namespace: namespace, Name: name, Help: help}, labels)
	m.all = append(m.all, v)
	return v
}

func (m *Metrics) histogram(name, help string, labels ...string) *prometheus.HistogramVec {
	v := prometheus.NewHistogramVec(prometheus.HistogramOpts{Namespace: namespace, Name: name, Help: help, Buckets: seconds}, labels)
	m.all = append(m.all, v)
	return v
}

func (m *Metrics) alone(name, help string, buckets []float64) prometheus.Histogram {
	h := prometheus.NewHistogram(prometheus.HistogramOpts{Namespace: namespace, Name: name, Help: help, Buckets: buckets})
	m.all = append(m.all, h)
	return h
}

// Handler serves these metrics and no others.
func (m *Metrics) Handler() http.Handler {
	registry := prometheus.NewPedanticRegistry()
	registry.MustRegister(m)
	return promhttp.HandlerFor(registry, promhttp.HandlerOpts{})
}

// Describe implements prometheus.Collector.
func (m *Metrics) Describe(to chan<- *prometheus.Desc) {
	for _, c := range m.all {
		c.Describe(to)
	}
	m.status.describe(to)
}

// Collect implements prometheus.Collector.
func (m *Metrics) Collect(to chan<- prometheus.Metric) {
	for _, c := range m.all {
		c.Collect(to)
	}
	m.status.collect(to)
}

// Event is for runtime.Config.Events.
func (m *Metrics) Event(_ context.Context, e runtime.Event) {
	switch e.Name {
	case runtime.MessageEnqueued:
		m.messages.WithLabelValues(e.Type, e.Operation, "enqueued").Inc()
	case runtime.MessageDuplicate:
		m.messages.WithLabelValues(e.Type, e.Operation, "duplicate").Inc()
	case runtime.MessageRefused:
		m.messages.WithLabelValues(e.Type, e.Operation, e.Outcome).Inc()
	case runtime.TurnCompleted:
		m.turn(&e, "completed")
	case runtime.TurnRejected:
		m.turn(&e, "rejected")
	case runtime.TurnRetried:
		m.turn(&e, "retried")
	case runtime.TurnFailed:
		m.turn(&e, "failed")
	case runtime.TurnHandedBack:
		m.turn(&e, "handed_back")
	case runtime.ActivationLost:
		m.turn(&e, "lost")
		m.trouble.WithLabelValues(e.Type, "lost").Inc()
	case runtime.ActivationFailed:
		m.trouble.WithLabelValues(e.Type, "failed").Inc()
	case runtime.ActivationUnreleased:
		m.trouble.WithLabelValues(e.Type, "unreleased").Inc()
	case runtime.DeadLetterWritten:
		m.letters.WithLabelValues(e.Type, e.Operation).Inc()
	case runtime.EffectCompleted:
		m.effect(&e, "completed")
	case runtime.EffectRejected:
		m.effect(&e, "rejected")
	case runtime.EffectRetried:
		m.effect(&e, "retried")
	case runtime.EffectFailed:
		m.effect(&e, "failed")
	case runtime.EffectHandedBack:
		m.effect(&e, "handed_back")
	case runtime.EffectUnrecorded:
		m.effect(&e, "unrecorded")
	default:
		m.infrastructure(&e)
	}
}

// infrastructure counts what belongs to no single message.
func (m *Metrics) infrastructure(e *runtime.Event) {
	switch e.Name {
	case runtime.ReminderFired:
		m.reminders.WithLabelValues(e.Type, e.Operation).Inc()
	case runtime.SendDelivered:
		m.sends.WithLabelValues(e.Type, e.Operation).Inc()
	case runtime.BroadcastMade:
		m.broadcasts.WithLabelValues(e.Type, "published").Inc()
	case runtime.BroadcastAdopted:
		m.broadcasts.WithLabelValues(e.Type, "taken_over").Inc()
	case runtime.FlushWritten:
		m.flushTime.Observe(e.Took.Seconds())
		m.flushItems.Observe(float64(e.Count))
		m.flushBusy.Add(float64(e.Busy))
	case runtime.FlushRetried:
		m.flushTries.WithLabelValues("retried").Inc()
	case runtime.FlushFailed:
		m.flushTries.WithLabelValues("failed").Inc()
	case runtime.HeartbeatFailed:
		m.beats.Inc()
	case runtime.ProcessRecovered:
		m.recovered.Add(float64(e.Count))
	case runtime.SupervisorRestart:
		m.restarts.WithLabelValues(e.Part).Inc()
	case runtime.PassFailed:
		m.passes.WithLabelValues(e.Part).Inc()
	}
}

func (m *Metrics) turn(e *runtime.Event, outcome string) {
	m.turns.WithLabelValues(e.Type, e.Operation, outcome).Inc()
	m.turnTime.WithLabelValues(e.Type, e.Operation).Observe(e.Took.Seconds())
	if e.Attempt == 1 {
		m.turnWait.WithLabelValues(e.Type, e.Origin).Observe(e.Waited.Seconds())
	}
}

func (m *Metrics) effect(e *runtime.Event, outcome string) {
	m.effects.WithLabelValues(e.Effect, outcome).Inc()
	m.effectTime.WithLabelValues(e.Effect).Observe(e.Took.Seconds())
}
