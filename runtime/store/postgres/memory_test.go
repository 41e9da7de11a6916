package postgres_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/lockstep-go/lockstep/runtime/store"
)

// world is two processes on one database, of which the test's script makes the same calls in every world.
type world struct {
	t       *testing.T
	stores  []opened // by process
	forgets bool     // every flush reads what it is about
	turns   []map[string]store.Turn
	news    []map[string]bool // broadcasts of each process that were not handed on
	offset  time.Duration
	said    []string
}

func newWorld(t *testing.T, forgets bool) *world {
	o := openNew(t, lax)
	w := &world{t: t, forgets: forgets, stores: []opened{o, open(t, o.dsn, o.cfg)}}
	for range w.stores {
		w.turns, w.news = append(w.turns, map[string]store.Turn{}), append(w.news, map[string]bool{})
	}
	return w
}

const aWhile = 10 * time.Second // of a lease

// step makes some calls of one process, and notes what was answered.
func (w *world) step(r *rand.Rand, n int) {
	p := n / 20 % len(w.stores) // mostly one at a time
	if r.IntN(10) == 0 {
		p = 1 - p
	}
	s, owner := w.stores[p], fmt.Sprintf("process-%d", p)
	actor := func() string { return fmt.Sprintf("shopper-%d", r.IntN(6)) }
	say := func(format string, args ...any) {
		w.said = append(w.said, fmt.Sprintf("%d %s: ", n, owner)+fmt.Sprintf(format, args...))
	}
	if w.meddle(r, s, actor, say) {
		return
	}
	f := &store.Flush{}
	for range 1 + r.IntN(6)/4 {
		a := actor()
		turn, running := w.turns[p][a]
		if !running || r.IntN(10) == 0 {
			e := tell(a)
			e.Message.ID, e.Cap = fmt.Sprintf("message-%d-%d", n, len(f.Enqueues)), 1+r.IntN(8)/7
			if r.IntN(8) == 0 {
				e.Message.IdempotencyKey = fmt.Sprint(r.IntN(60))
			}
			if r.IntN(8) > 0 {
				e.Claim = &store.Claim{Owner: owner, Token: e.Message.ID, Lease: aWhile}
			}
			if turn, ok := w.turns[p]["held by "+a]; ok {
				e.Held = &turn.Fence
			}
			f.Enqueues = append(f.Enqueues, e)
			continue
		}
		delete(w.turns[p], a)
		switch r.IntN(16) {
		case 0:
			f.Failures = append(f.Failures, &store.Failure{Fence: turn.Fence, Message: turn.ID, Sequence: turn.Sequence, Final: r.IntN(2) == 0, ErrorKind: "k", ErrorText: "t"})
		case 1:
			f.Renewals = append(f.Renewals, &store.Renewal{Fence: turn.Fence, Lease: aWhile})
			w.turns[p][a] = turn
		case 2:
			f.Releases = append(f.Releases, &store.Release{Fence: turn.Fence})
		default:
			c := &store.Commit{Fence: turn.Fence, Message: turn.ID, Sequence: turn.Sequence, Status: store.Completed, Version: 1, Next: r.IntN(5) > 0}
			if r.IntN(3) > 0 {
				c.State = json.RawMessage(fmt.Sprintf(`{"n":%d}`, n))
			}
			if r.IntN(2) == 0 {
				name := fmt.Sprintf("name-%d", r.IntN(5))
				c.Broadcast = &store.Broadcast{ID: turn.ID + "-news", Actor: store.Key{Type: "cart", ID: a}, Names: []string{name}, Values: map[string]json.RawMessage{name: json.RawMessage(fmt.Sprint(n))}}
			}
			f.Commits = append(f.Commits, c)
		}
	}
	for _, id := range slices.Sorted(maps.Keys(w.news[p])) {
		if r.IntN(3) == 0 {
			delete(w.news[p], id)
			f.Delivered = append(f.Delivered, id)
		}
	}
	if r.IntN(5) == 0 {
		f.Claims = []*store.Scan{{Claim: store.Claim{Owner: owner, Token: fmt.Sprintf("scan-%d", n), Lease: aWhile}, Types: []string{"cart"}, Limit: 6}}
	}
	if w.forgets {
		s.Unlearn()
	}
	if err := s.Flush(w.t.Context(), f); err != nil {
		w.t.Fatal(err)
	}
	w.hear(p, f, say)
}

// meddle changes, now and then, what no flush does.
func (w *world) meddle(r *rand.Rand, s opened, actor func() string, say func(string, ...any)) bool {
	switch r.IntN(80) {
	case 0, 3:
		o, err := s.Pause(w.t.Context(), store.Key{Type: "cart", ID: actor()}, r.IntN(2) == 0)
		say("pause %s %v", o, err)
	case 1:
		d, err := s.Destroy(w.t.Context(), store.Key{Type: "cart", ID: actor()})
		say("destroy %t %v", d.Existed, err)
	case 2:
		w.offset += aWhile / 2
		for _, s := range w.stores {
			s.Offset(w.offset)
		}
	default:
		return false
	}
	return true
}

// hear notes what a flush answered.
func (w *world) hear(p int, f *store.Flush, say func(string, ...any)) {
	next := func(t *store.Turn) string {
		if t == nil {
			return "none"
		}
		w.turns[p][t.ActorID], w.turns[p]["held by "+t.ActorID] = *t, *t
		return fmt.Sprintf("%s %d attempt %d token %s generation %d", t.ID, t.Sequence, t.Attempts, t.Token, t.Generation)
	}
	for _, c := range f.Commits {
		say("commit %s: %s, next %s, due %t, %v", c.Message, c.Outcome, next(c.Turn), !c.Due.IsZero(), c.Err)
		if n := c.Broadcast; n != nil && c.Outcome == store.Done {
			w.news[p][n.ID] = true
			say("news %v %v, %d after %d", n.Names, n.Values, n.Revision, n.Previous)
		}
	}
	for _, x := range f.Failures {
		say("failure %s: %s, next %s, due %t, %v", x.Message, x.Outcome, next(x.Turn), !x.Due.IsZero(), x.Err)
	}
	for _, x := range f.Renewals {
		say("renewal: %s", x.Outcome)
	}
	for _, x := range f.Releases {
		say("release: %s", x.Outcome)
	}
	for _, e := range f.Enqueues {
		var turn *store.Turn
		again := false
		if e.Activation != nil {
			turn, again = &e.Activation.Turn, e.Activation.Again
		}
		say("enqueue %s %d: %s, %s, head %t, depth %d, claimed %s, again %t, %v", e.Message.ID, e.Message.Sequence, e.Outcome, e.Differs, e.Head, e.Depth, next(turn), again, e.Err)
	}
	for _, scan := range f.Claims {
		for _, a := range scan.Activations {
			say("scan: %s, revision %d, state %s", next(&a.Turn), a.Snapshot.Revision, a.Snapshot.State)
		}
		say("%d died", len(scan.Dead))
	}
}

// tables is what the database holds, but for what differs between worlds: ids of instances and times.
func (w *world) tables() string {
	var out strings.Builder
	c := session(w.t)
	for _, of := range []string{
		`SELECT concat_ws(' ', i.actor_id, head_sequence, next_sequence, owner, token, generation, lease_until > 0, paused_at IS NULL, revision, message_id,
			broadcast_previous, broadcast_revision, broadcast_message_id, state_version, state) FROM %[1]s.lockstep_instances i ORDER BY actor_id`,
		`SELECT concat_ws(' ', i.actor_id, m.id, sequence, status, attempts, idempotency_key, error_kind, finished_at IS NULL) FROM %[1]s.lockstep_messages m
			JOIN %[1]s.lockstep_instances i ON i.id = m.instance_id ORDER BY m.id`,
		`SELECT concat_ws(' ', i.actor_id, r.sequence, r.message_id) FROM %[1]s.lockstep_ready r JOIN %[1]s.lockstep_instances i ON i.id = r.instance_id ORDER BY actor_id`,
		`SELECT concat_ws(' ', i.actor_id, r.sequence, r.message_id) FROM %[1]s.lockstep_claimed r JOIN %[1]s.lockstep_instances i ON i.id = r.instance_id ORDER BY actor_id`,
		`SELECT concat_ws(' ', actor_id, id, revision, previous, names, shared, owner) FROM %[1]s.lockstep_broadcasts ORDER BY actor_id`,
	} {
		rows, err := c.Query(w.t.Context(), fmt.Sprintf(of, w.stores[0].cfg.Schema))
		if err != nil {
			w.t.Fatal(err)
		}
		for rows.Next() {
			var line string
			if err := rows.Scan(&line); err != nil {
				w.t.Fatal(err)
			}
			fmt.Fprintln(&out, line)
		}
		if err := rows.Err(); err != nil {
			w.t.Fatal(err)
		}
		fmt.Fprintln(&out)
	}
	return out.String()
}

// What a store remembers of the instances that it left behind changes nothing but the number of round trips: two
// processes get the same answers and leave the same rows as two that read everything.
func TestMemoryChangesNoAnswer(t *testing.T) {
	saved := 0
	for seed := range uint64(10) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			knows, reads := newWorld(t, false), newWorld(t, true)
			for n := range 500 {
				for _, w := range []*world{knows, reads} {
					w.step(rand.New(rand.NewPCG(seed, uint64(n))), n)
				}
				for i := range reads.said {
					if i >= len(knows.said) || knows.said[i] != reads.said[i] {
						t.Fatalf("who remembers heard\n%s\nwho reads\n%s", strings.Join(knows.said[i:], "\n"), strings.Join(reads.said[i:], "\n"))
					}
				}

				knows.said, reads.said = nil, nil
				if n%50 == 49 {
					if got, want := knows.tables(), reads.tables(); got != want {
						t.Fatalf("after %d steps who remembers has\n%s\nwho reads has\n%s", n+1, got, want)
					}
				}
			}
			for p := range knows.stores {
				saved += int(reads.stores[p].Stats().Statements - knows.stores[p].Stats().Statements)
			}
		})
	}
	if saved < 300 {
		t.Errorf("%d statements were saved: too few for a test", saved)
	}
}

// G27: what another owner announced meanwhile, and nobody handed on, is part of the next news.
func TestG27NewsOfAnotherOwnerAreAbsorbed(t *testing.T) {
	s := openNew(t, lax)
	other := open(t, s.dsn, s.cfg)
	var offset time.Duration
	turn := func(by opened, owner, news string) {
		t.Helper()
		e := tell("ada")
		e.Claim = &store.Claim{Owner: owner, Token: owner + e.Message.ID, Lease: aWhile}
		flush(t, by, &store.Flush{Enqueues: []*store.Enqueue{e, tell(e.Message.ID)}}) // who is new makes it read
		if e.Activation == nil {
			t.Fatalf("%s has no turn for %q: %s", owner, news, e.Outcome)
		}
		c := &store.Commit{Fence: e.Activation.Fence, Message: e.Message.ID, Sequence: e.Message.Sequence, Status: store.Completed}
		if news != "" {
			c.Broadcast = &store.Broadcast{ID: e.Message.ID, Actor: store.Key{Type: "cart", ID: "ada"}, Names: []string{news}}
		}
		flush(t, by, &store.Flush{Commits: []*store.Commit{c}})
		if c.Outcome != store.Done {
			t.Fatal(c.Outcome)
		}
		offset += 2 * aWhile
		s.Offset(offset)
		other.Offset(offset)
		if news == "mine" {
			flush(t, by, &store.Flush{Delivered: []string{c.Broadcast.ID}})
		}
	}
	turn(s, "s", "mine")
	turn(other, "other", "theirs")
	turn(s, "s", "")
	turn(s, "s", "more")
	list, err := s.TakeBroadcasts(t.Context(), "heir", 0, 10)
	if err != nil || len(list) != 1 {
		t.Fatalf("%d broadcasts, %v", len(list), err)
	}
	if names := slices.Sorted(slices.Values(list[0].Names)); !slices.Equal(names, []string{"more", "theirs"}) {
		t.Errorf("the news are %v", names)
	}
}

// A clock that is not where this process expects it, as after a failover, is read again.
func TestAnUnexpectedClock(t *testing.T) {
	s := openNew(t, lax)
	for _, by := range []time.Duration{0, time.Hour, -time.Hour, time.Second / 2, -time.Second / 2} {
		list := []*warmActor{{key: store.Key{Type: "cart", ID: by.String()}}}
		enqueues(t, list, &store.Flush{}, flusher(t, s))
		flusher(t, s)(commits(list))
		s.MistakeClock(by)
		e := list[0].enqueue()
		flush(t, s, &store.Flush{Enqueues: []*store.Enqueue{e}})
		now, err := s.Now(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if age := now.Sub(e.Message.EnqueuedAt); e.Outcome != store.Done || age < 0 || age > 10*time.Second {
			t.Errorf("mistaken by %v: %s, enqueued %v before now", by, e.Outcome, age)
		}
		list[0].turn = e.Activation.Turn
		flusher(t, s)(commits(list))
	}
}

func TestMemoryIsBounded(t *testing.T) {
	s := openNew(t, lax)
	const most, each = 16_384, 1000
	for round := range most/each + 2 {
		list := make([]*warmActor, each)
		for i := range list {
			list[i] = &warmActor{key: store.Key{Type: "cart", ID: fmt.Sprint(round, i)}}
		}
		enqueues(t, list, &store.Flush{}, flusher(t, s)) // new ones are not known
		flusher(t, s)(commits(list))
	}
	if n := s.Remembered(); n != most {
		t.Errorf("%d instances are remembered", n)
	}
}
