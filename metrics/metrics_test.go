package metrics_test

import (
	"context"
	"errors"
	"net/http/httptest"
	"regexp"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/lockstep-go/lockstep/actors"
	"github.com/lockstep-go/lockstep/metrics"
	"github.com/lockstep-go/lockstep/runtime"
	"github.com/lockstep-go/lockstep/runtime/runtimetest"
)

type job struct {
	Runs int `json:"runs"`
}

var (
	jobs  = actors.Define("job", func() job { return job{} })
	work  = actors.Message[string, int](jobs, "work")
	again = actors.Bare(jobs, "again")
	stamp = actors.Effect[string, string](jobs, "stamp")
)

func init() {
	work.Handle(func(j *job, t *actors.Turn[job], in string) (int, error) {
		switch in {
		case "refuse":
			return 0, actors.Reject("no", "no")
		case "fail":
			return 0, errors.New("canary")
		case "later":
			again.Schedule(t, actors.In(time.Minute))
		case "stamp":
			stamp.Emit(t, "canary")
		}
		j.Runs++
		return j.Runs, nil
	})
	again.Handle(func(j *job, t *actors.Turn[job]) error { work.Send(t, jobs.Ref("canary-2"), "x"); return nil })
}

// scrape is what Prometheus would read.
func scrape(t *testing.T, m *metrics.Metrics) string {
	t.Helper()
	w := httptest.NewRecorder()
	m.Handler().ServeHTTP(w, httptest.NewRequest("GET", "/metrics", nil))
	if w.Code != 200 {
		t.Fatalf("scrape: %d %s", w.Code, w.Body)
	}
	return w.Body.String()
}

func expect(t *testing.T, text string, lines ...string) {
	t.Helper()
	for _, line := range lines {
		if !regexp.MustCompile(`(?m)^` + line + `$`).MatchString(text) {
			t.Errorf("not scraped: %s", line)
		}
	}
	if t.Failed() {
		t.Log(text)
	}
}

// A small working day, as it is scraped.
func TestMetricsOfARuntime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := metrics.New()
		rt := runtimetest.OpenConfig(t, runtime.Config{
			Types: []actors.AnyType{jobs}, Policy: actors.InsecureAllowAll(), Attempts: 2, Events: m.Event,
			Effects: []actors.Executor{stamp.By(func(context.Context, actors.EffectCall[string]) (string, error) { return "", nil })},
		})
		m.ReadStatus(0, rt.Admin().Status)
		for _, in := range []string{"later", "stamp", "refuse", "fail"} {
			_, _ = work.Ask(t.Context(), rt, jobs.Ref("canary-1"), in)
		}
		for range 2 { // the same message
			if _, err := work.Ask(t.Context(), rt, jobs.Ref("canary-1"), "x", actors.IdempotencyKey("canary")); err != nil {
				t.Fatal(err)
			}
		}
		time.Sleep(2 * time.Minute)
		synctest.Wait()
		text := scrape(t, m)
		expect(t, text,
			`lockstep_messages_total{operation="work",outcome="enqueued",type="job"} 5`,
			`lockstep_messages_total{operation="work",outcome="duplicate",type="job"} 1`,
			`lockstep_turns_total{operation="work",outcome="completed",type="job"} 4`,
			`lockstep_turns_total{operation="work",outcome="rejected",type="job"} 1`,
			`lockstep_turns_total{operation="work",outcome="retried",type="job"} 1`,
			`lockstep_turns_total{operation="work",outcome="failed",type="job"} 1`,
			`lockstep_turns_total{operation="again",outcome="completed",type="job"} 1`,
			`lockstep_turn_seconds_count{operation="work",type="job"} 7`,
			`lockstep_turn_wait_seconds_count{origin="reminder",type="job"} 1`,
			`lockstep_dead_letters_total{operation="work",type="job"} 1`,
			`lockstep_effects_total{effect="stamp",outcome="completed"} 1`,
			`lockstep_reminders_total{operation="again",type="job"} 1`,
			`lockstep_sends_total{operation="work",type="job"} 1`,
			`lockstep_flush_seconds_count [1-9]\d*`,
			`lockstep_flush_busy_total 0`,
			`lockstep_status_up 1`,
			`lockstep_processes{state="running"} 1`,
			`lockstep_work{work="dead_letters_open"} 1`,
			`lockstep_work{work="ready"} 0`,
			`lockstep_waiting_seconds{work="ready"} 0`,
		)
		if strings.Contains(text, "canary") {
			t.Error("an id, a key, an argument or an error's text was scraped")
		}
	})
}

// The database is asked at most once every so often, however many scrape, and its silence is a figure too.
func TestStatusIsReadSeldom(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := metrics.New()
		if text := scrape(t, m); strings.Contains(text, "status_up") {
			t.Error("a status without anything to read it from")
		}
		var reads atomic.Int64
		var down atomic.Bool
		m.ReadStatus(30*time.Second, func(ctx context.Context) (runtime.Status, error) {
			reads.Add(1)
			if down.Load() {
				<-ctx.Done()
				return runtime.Status{}, ctx.Err()
			}
			now := time.Now()
			return runtime.Status{Now: now, Waiting: runtime.WaitingSince{Ready: now.Add(-90 * time.Second)}}, nil
		})
		for range 5 {
			expect(t, scrape(t, m), `lockstep_status_up 1`, `lockstep_waiting_seconds{work="ready"} 90`)
			time.Sleep(time.Second)
		}
		if n := reads.Load(); n != 1 {
			t.Errorf("read %d times in 5 s, want once", n)
		}
		down.Store(true)
		time.Sleep(30 * time.Second)
		text := scrape(t, m) // gives up after 5 s
		expect(t, text, `lockstep_status_up 0`)
		if strings.Contains(text, "lockstep_work") || reads.Load() != 2 {
			t.Errorf("figures of a silent database, or %d reads:\n%s", reads.Load(), text)
		}
	})
}

// Every failure that metrics count is counted where it belongs, and names that they do not know do no harm.
func TestMetricsOfTrouble(t *testing.T) {
	m := metrics.New()
	for _, name := range runtime.EventNames() {
		m.Event(t.Context(), runtime.Event{Name: name, Type: "job", Operation: "work", Effect: "stamp", Part: "work", Outcome: "full", Count: 3, Busy: 2, ActorID: "canary"})
	}
	text := scrape(t, m)
	expect(t, text,
		`lockstep_messages_total{operation="work",outcome="full",type="job"} 1`,
		`lockstep_activations_total{outcome="lost",type="job"} 1`,
		`lockstep_activations_total{outcome="failed",type="job"} 1`,
		`lockstep_activations_total{outcome="unreleased",type="job"} 1`,
		`lockstep_turns_total{operation="work",outcome="lost",type="job"} 1`,
		`lockstep_effects_total{effect="stamp",outcome="unrecorded"} 1`,
		`lockstep_effects_total{effect="stamp",outcome="failed"} 1`,
		`lockstep_broadcasts_total{outcome="taken_over",type="job"} 1`,
		`lockstep_flush_trouble_total{outcome="retried"} 1`,
		`lockstep_flush_trouble_total{outcome="failed"} 1`,
		`lockstep_flush_busy_total 2`,
		`lockstep_flush_items_sum 3`,
		`lockstep_heartbeat_failures_total 1`,
		`lockstep_processes_recovered_total 3`,
		`lockstep_part_restarts_total{part="work"} 1`,
		`lockstep_pass_failures_total{part="work"} 1`,
	)
	if strings.Contains(text, "canary") {
		t.Error("an actor's id was scraped")
	}
}
