package metrics

import (
	"context"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/lockstep-go/lockstep/runtime"
)

// status are the gauges whose figures the database has.
type status struct {
	mu    sync.Mutex
	read  func(context.Context) (runtime.Status, error)
	every time.Duration
	asked time.Time
	last  runtime.Status
	known bool // the last read succeeded
}

// patience is how long a scrape waits for the database.
const patience = 5 * time.Second

// ReadStatus adds gauges of what waits in the database. A scrape has them read, at most once every (zero is 10 s), and
// waits 5 s at most; while the database does not answer, lockstep_status_up is 0 and they are left out. The function is
// usually rt.Admin().Status under a ctx that the Administer policy knows as an operator's.
func (m *Metrics) ReadStatus(every time.Duration, read func(context.Context) (runtime.Status, error)) {
	if every <= 0 {
		every = 10 * time.Second
	}
	s := &m.status
	s.mu.Lock()
	defer s.mu.Unlock()
	s.read, s.every, s.asked = read, every, time.Time{}
}

var (
	statusUp  = prometheus.NewDesc("lockstep_status_up", "1 if the database's figures could be read.", nil, nil)
	waiting   = prometheus.NewDesc("lockstep_waiting_seconds", "How long the first of what is due has waited.", []string{"work"}, nil)
	amount    = prometheus.NewDesc("lockstep_work", "What there is in the whole database, counted up to 10,000.", []string{"work"}, nil)
	logBytes  = prometheus.NewDesc("lockstep_wal_bytes", "Size of SQLite's write-ahead log.", nil, nil)
	oldRead   = prometheus.NewDesc("lockstep_oldest_read_seconds", "Age of the oldest read of this process that holds SQLite's write-ahead log.", nil, nil)
	processes = prometheus.NewDesc("lockstep_processes", "Processes in the registry; a stale one has no heartbeat.", []string{"state"}, nil)
)

func (s *status) describe(to chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{statusUp, waiting, amount, processes, logBytes, oldRead} {
		to <- d
	}
}

// current reads the figures, or has them from not long ago.
func (s *status) current() (now runtime.Status, known, asked bool) {
	s.mu.Lock() // scrapes that meet share one read
	defer s.mu.Unlock()
	if s.read == nil {
		return runtime.Status{}, false, false
	}
	if s.asked.IsZero() || time.Since(s.asked) >= s.every {
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		defer cancel()
		got, err := s.read(ctx)
		s.last, s.known, s.asked = got, err == nil, time.Now()
	}
	return s.last, s.known, true
}

func (s *status) collect(to chan<- prometheus.Metric) {
	now, known, asked := s.current()
	if !asked {
		return
	}
	gauge := func(d *prometheus.Desc, v float64, labels ...string) {
		to <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, v, labels...)
	}
	if !known {
		gauge(statusUp, 0)
		return
	}
	gauge(statusUp, 1)
	for work, since := range map[string]time.Time{
		"ready": now.Waiting.Ready, "effects": now.Waiting.Effects, "reminders": now.Waiting.Reminders, "sends": now.Waiting.Sends,
	} {
		late := 0.0
		if !since.IsZero() {
			late = max(0, now.Now.Sub(since).Seconds())
		}
		gauge(waiting, late, work)
	}
	if now.Log != nil {
		gauge(logBytes, float64(now.Log.Bytes))
		gauge(oldRead, now.Log.OldestReadSeconds)
	}
	c := now.Counts
	for work, n := range map[string]int{
		"ready": c.Ready, "delayed": c.Delayed, "paused": c.Paused, "claimed": c.Claimed, "queued": c.Queued,
		"effects_due": c.EffectsDue, "effects_pending": c.EffectsPending, "effects_failed": c.EffectsFailed,
		"reminders_due": c.RemindersDue, "sends_due": c.SendsDue, "dead_letters_open": c.DeadLettersOpen,
	} {
		gauge(amount, float64(n), work)
	}
	for state, n := range map[string]int{
		"running": now.Processes.Running, "draining": now.Processes.Draining, "stale": now.Processes.Stale, "stopped": now.Processes.Stopped,
	} {
		gauge(processes, float64(n), state)
	}
}
