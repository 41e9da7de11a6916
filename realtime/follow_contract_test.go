package realtime_test

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/lockstep-go/lockstep/actors"
	"github.com/lockstep-go/lockstep/realtime"
	"github.com/lockstep-go/lockstep/realtime/wire"
)

// bubble runs a test in a synctest bubble with a world whose cart a has n=1, m=1.
func bubble(t *testing.T, f func(t *testing.T, w *world), more ...string) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld()
		w.commit(cart("a"), change{set: state{"n": 1, "m": 1}, names: []string{"n", "m"}})
		f(t, w)
	})
}

func settle() {
	time.Sleep(settled)
	synctest.Wait()
}

// noCompare leaves the hub with news alone.
func noCompare(c *realtime.Config) { c.Compare = -1 }

func TestC1_R01_ChangeBetweenRenderAndSubscribe(t *testing.T) {
	onBothLinks(t, func(t *testing.T, w *world) {
		h := open(t, w)
		p := h.browse("alice")
		p.get("s", cart("a"), tN, tM)
		w.set(cart("a"), "n", 2)
		p.subscribe("s")
		synctest.Wait()
		p.wantFresh("s", tN, tM)
		if n := len(p.got("f")); n != 0 {
			t.Errorf("%d live frames, want none: the answer holds it all", n)
		}
		q := h.browse("bob")
		q.get("s", cart("a"), tN, tM)
		q.subscribe("s")
		synctest.Wait()
		if oks := q.got("ok"); len(oks) != 1 || len(oks[0].Fragments) != 0 {
			t.Errorf("an equal stamp was answered with %+v, want one empty answer", oks)
		}
		w.set(cart("a"), "n", 3)
		settle()
		p.wantFresh("s", tN, tM)
		q.wantFresh("s", tN, tM)
	})
}

// A commit while the subscribe is between its join and its snapshot must not be lost, whichever comes first.
func TestC1_R01_CommitWhileTheSnapshotIsRead(t *testing.T) {
	onBothLinks(t, func(t *testing.T, w *world) {
		h := open(t, w, noCompare)
		p := h.browse("alice")
		p.get("s", cart("a"), tN, tM)
		p.subscribe("s")
		synctest.Wait()
		q := h.browse("bob")
		q.get("s", cart("a"), tN, tM)
		once := 0
		w.with(func() {
			w.beforeGet = func() {
				if once++; once == 1 {
					time.Sleep(10 * time.Millisecond)
					w.set(cart("a"), "n", 7)
				}
			}
		})
		q.subscribe("s")
		settle()
		p.wantFresh("s", tN)
		q.wantFresh("s", tN)
	})
}

func TestC1_EachDifferenceOfTheStampSendsEverything(t *testing.T) {
	for name, set := range map[string]func(p *page, s *scope, tok *wire.Token){
		"revision":  func(_ *page, _ *scope, tok *wire.Token) { tok.Stamp.Revision-- },
		"message":   func(_ *page, _ *scope, tok *wire.Token) { tok.Stamp.Message = "another" },
		"instance":  func(_ *page, _ *scope, tok *wire.Token) { tok.Stamp.Instance = "another" },
		"build":     func(_ *page, _ *scope, tok *wire.Token) { tok.Build = "build-0" },
		"reconnect": func(_ *page, s *scope, _ *wire.Token) { s.first = false },
		"viewer":    func(p *page, _ *scope, tok *wire.Token) { tok.Viewer = p.h.sealer.Viewer("bob", "") },
		"nothing":   func(*page, *scope, *wire.Token) {},
	} {
		bubble(t, func(t *testing.T, w *world) {
			h := open(t, w)
			p := h.browse("alice")
			s := p.get("s", cart("a"), tN, tGreeting, tStaff)
			tok := must(h.sealer.Open(s.token))
			set(p, s, &tok)
			s.token = must(h.sealer.Seal(tok))
			p.subscribe("s")
			synctest.Wait()
			want := map[string]int{"nothing": 0, "viewer": 2}
			n, ok := want[name]
			if !ok {
				n = 3
			}
			if oks := p.got("ok"); len(oks) != 1 || len(oks[0].Fragments) != n {
				t.Errorf("%s: answers %+v, want one of %d fragments", name, oks, n)
			}
		})
	}
}

func TestC1_NewsThatDependsOnNames(t *testing.T) {
	onBothLinks(t, func(t *testing.T, w *world) {
		h := open(t, w, noCompare)
		p := h.browse("alice")
		p.get("s", cart("a"), tN, tM)
		p.subscribe("s")
		synctest.Wait()
		renders := w.rendered("m")
		w.set(cart("a"), "n", 5)
		settle()
		if got := w.rendered("m") - renders; got != 0 {
			t.Errorf("a commit of n rendered m %d times", got)
		}
		if fs := p.got("f"); len(fs) != 1 || fs[0].Target != tN.Name(cart("a")) {
			t.Errorf("frames %+v, want one of n", fs)
		}
		p.wantFresh("s", tN)
	})
}

// A row's mark is the row's: news of a commit that an earlier render already saw must still render what it names.
func TestC1_MarkMovesToTheRowsRevision(t *testing.T) {
	onBothLinks(t, func(t *testing.T, w *world) {
		h := open(t, w, noCompare)
		var late []actors.Broadcast
		hold := false
		w.deliver = func(tell func(actors.Broadcast), b actors.Broadcast) {
			if hold {
				late = append(late, b)
				return
			}
			tell(b)
		}
		p := h.browse("alice")
		p.get("s", cart("a"), tN, tM)
		p.subscribe("s")
		synctest.Wait()
		hold = true
		w.set(cart("a"), "n", 2) // told first, but the snapshot already has m
		w.set(cart("a"), "m", 2)
		w.tellFirst(&late)
		settle()
		p.wantFresh("s", tN)
		w.tellFirst(&late)
		settle()
		p.wantFresh("s", tN, tM)
	})
}

// What a pass pushes while an answer of the same revision is made is not sent after it once more.
func TestC1_TheAnswerStandsForWhatWasPushedMeanwhile(t *testing.T) {
	onBothLinks(t, func(t *testing.T, w *world) {
		h := open(t, w, noCompare)
		first, second := h.browse("alice"), h.browse("bob")
		for _, p := range []*page{first, second} {
			p.get("s", cart("a"), tN, tM)
		}
		first.subscribe("s")
		synctest.Wait()
		var late []actors.Broadcast
		w.deliver = func(_ func(actors.Broadcast), b actors.Broadcast) { late = append(late, b) }
		w.set(cart("a"), "n", 2)
		answering, told := make(chan struct{}), make(chan struct{})
		var once sync.Once
		w.with(func() {
			render := w.parts["m"].render
			w.parts["m"] = part{observes: []string{"m"}, render: func(ctx context.Context, r realtime.RenderRequest, s state) (string, []wire.Target, error) {
				once.Do(func() { close(answering) })
				<-told
				return render(ctx, r, s)
			}}
		})
		second.subscribe("s")
		<-answering
		w.tellFirst(&late)
		synctest.Wait()
		first.wantFresh("s", tN)
		close(told)
		settle()
		second.wantFresh("s", tN, tM)
		if n := len(second.got("f")); n != 0 {
			t.Errorf("%d fragments followed an answer that holds them", n)
		}
	})
}

func (w *world) tellFirst(late *[]actors.Broadcast) {
	b := (*late)[0]
	*late = (*late)[1:]
	for _, f := range w.follow {
		f(b)
	}
}

func TestC1_GapRendersEverything(t *testing.T) {
	onBothLinks(t, func(t *testing.T, w *world) {
		h := open(t, w, noCompare)
		p := h.browse("alice")
		p.get("s", cart("a"), tN, tM, tGreeting)
		p.subscribe("s")
		synctest.Wait()
		w.commit(cart("a"), change{set: state{"m": 9}, names: []string{"m"}, lost: true})
		w.set(cart("a"), "n", 9)
		settle()
		p.wantFresh("s", tN, tM, tGreeting)
	})
}

func TestC1_ComparisonFindsLostNews(t *testing.T) {
	onBothLinks(t, func(t *testing.T, w *world) {
		h := open(t, w)
		before := w.count(&w.compares)
		time.Sleep(10 * time.Second)
		if n := w.count(&w.compares) - before; n != 0 {
			t.Errorf("%d comparisons with nobody subscribed, want none", n)
		}
		p := h.browse("alice")
		p.get("s", cart("a"), tN, tM, tGreeting)
		for i := range 20 {
			p.get(fmt.Sprint(i), cart(fmt.Sprint("other", i)), tN)
			p.subscribe(fmt.Sprint(i))
		}
		p.subscribe("s")
		synctest.Wait()
		w.commit(cart("a"), change{set: state{"m": 9}, names: []string{"m"}, lost: true})
		before, reads := w.count(&w.compares), w.count(&w.reads)
		time.Sleep(2 * time.Second)
		synctest.Wait()
		p.wantFresh("s", tN, tM, tGreeting)
		if n := w.count(&w.compares) - before; n < 1 || n > 3 {
			t.Errorf("%d batched reads in two seconds for 21 actors, want one each", n)
		}
		if n := w.count(&w.reads) - reads; n != 1 {
			t.Errorf("%d snapshots read, want 1: only one actor changed", n)
		}
		time.Sleep(5 * time.Second)
		if n := w.count(&w.reads) - reads; n != 1 {
			t.Errorf("%d snapshots read later, want none more", n-1)
		}
	})
}

// R04, R05: copies and late rows change nothing.
func TestC2_R04_R05_OldAndRepeatedNews(t *testing.T) {
	onBothLinks(t, func(t *testing.T, w *world) {
		h := open(t, w, noCompare)
		p := h.browse("alice")
		p.get("s", cart("a"), tN, tM)
		p.subscribe("s")
		synctest.Wait()
		var rows []actors.Broadcast
		w.deliver = func(tell func(actors.Broadcast), b actors.Broadcast) { rows = append(rows, b) }
		w.set(cart("a"), "n", 2)
		w.set(cart("a"), "n", 3)
		h.tell(rows[1], rows[0], rows[1], rows[0])
		settle()
		p.wantFresh("s", tN, tM)
		frames, reads := len(p.got("f")), w.count(&w.reads)
		h.tell(rows[0], rows[1])
		settle()
		if got := len(p.got("f")) - frames; got != 0 {
			t.Errorf("old rows made %d frames", got)
		}
		if got := w.count(&w.reads) - reads; got != 0 {
			t.Errorf("old rows made %d reads", got)
		}
		last := int64(0)
		for _, f := range p.got("f") {
			if f.Target != tN.Name(cart("a")) {
				continue
			}
			if r := revision(f.Revision); r < last {
				t.Errorf("revision %d after %d", r, last)
			} else {
				last = r
			}
		}
	})
}

func (h *house) tell(rows ...actors.Broadcast) {
	h.w.mu.Lock()
	follow := h.w.follow
	h.w.mu.Unlock()
	for _, b := range rows {
		for _, f := range follow {
			f(b)
		}
	}
}

// R04: revisions beyond 2^53 stay exact.
func TestC2_R04_LargeRevisions(t *testing.T) {
	onBothLinks(t, func(t *testing.T, w *world) {
		w.with(func() { w.rows[cart("a")].Revision = 1<<53 - 1; w.rows[cart("a")].Broadcast = 1<<53 - 1 })
		h := open(t, w)
		p := h.browse("alice")
		p.get("s", cart("a"), tN)
		p.subscribe("s")
		synctest.Wait()
		for i := range 3 {
			w.set(cart("a"), "n", 10+i)
			settle()
			p.wantFresh("s", tN)
		}
		if fs := p.got("f"); len(fs) == 0 || fs[len(fs)-1].Revision != "9007199254740994" {
			t.Errorf("frames %+v, want the last at 9007199254740994", fs)
		}
	})
}

// A recreated actor, and revisions that the database lost, are answered anew, unasked, with the same number.
func TestC2_NewIncarnationAndLostRevisions(t *testing.T) {
	onBothLinks(t, func(t *testing.T, w *world) {
		h := open(t, w)
		p := h.browse("alice")
		p.get("s", cart("a"), tN, tM, tGreeting)
		p.subscribe("s")
		synctest.Wait()
		w.destroy(cart("a"))
		time.Sleep(1500 * time.Millisecond)
		synctest.Wait()
		p.wantFresh("s", tN, tGreeting)
		if oks := p.got("ok"); len(oks) != 2 || *oks[1].Instance != "" || oks[1].Revision != "0" || oks[1].Number != 1 {
			t.Fatalf("after destroy: answers %+v, want a second of no instance", oks)
		}
		w.commit(cart("a"), change{set: state{"n": 4}, names: []string{"n"}})
		settle()
		p.wantFresh("s", tN, tM, tGreeting)
		restore := w.backup(cart("a"))
		w.set(cart("a"), "n", 5)
		w.set(cart("a"), "n", 6)
		settle()
		p.wantFresh("s", tN, tM, tGreeting)
		restore()
		time.Sleep(1500 * time.Millisecond)
		synctest.Wait()
		p.wantFresh("s", tN, tM, tGreeting)
		// The same revision again, by another message, must not pass for the old one.
		w.set(cart("a"), "n", 7)
		settle()
		p.wantFresh("s", tN, tM, tGreeting)
		restore = w.backup(cart("a"))
		w.set(cart("a"), "n", 8)
		settle()
		restore()
		w.commit(cart("a"), change{set: state{"n": 9}, names: []string{"n"}, lost: true})
		time.Sleep(1500 * time.Millisecond)
		synctest.Wait()
		p.wantFresh("s", tN, tM, tGreeting)
	})
}

// Revisions that wrote no row may be lost too: what is shown then lies ahead of the next commit.
func TestC2_LostRevisionsWithoutRows(t *testing.T) {
	onBothLinks(t, func(t *testing.T, w *world) {
		h := open(t, w, noCompare)
		restore := w.backup(cart("a"))
		for range 5 {
			w.commit(cart("a"), change{quiet: true})
		}
		p := h.browse("alice")
		p.get("s", cart("a"), tN)
		p.scopes["s"].first = false
		p.subscribe("s")
		synctest.Wait()
		restore()
		w.set(cart("a"), "n", 5)
		settle()
		p.wantFresh("s", tN)
	})
}

// C2: a page that came after the lost news of a commit shows it; when the database loses that commit again, the mark,
// which never moved, is no proof that nothing happened.
func TestC2_LostRevisionOfWhichNoNewsCame(t *testing.T) {
	onBothLinks(t, func(t *testing.T, w *world) {
		h := open(t, w)
		w.set(cart("a"), "n", 1)
		first := h.browse("alice")
		first.get("s", cart("a"), tN)
		first.subscribe("s")
		synctest.Wait()
		restore := w.backup(cart("a"))
		w.deliver = func(func(actors.Broadcast), actors.Broadcast) {}
		w.set(cart("a"), "n", 2)
		second := h.browse("bob")
		second.get("s", cart("a"), tN)
		second.subscribe("s")
		synctest.Wait()
		restore()
		time.Sleep(2 * time.Second) // one comparison and one second
		synctest.Wait()
		first.wantFresh("s", tN)
		second.wantFresh("s", tN)
	})
}

// R06: what was missed does not count, only what is shown.
func TestC3_R06_ReturnAfterALongAbsence(t *testing.T) {
	onBothLinks(t, func(t *testing.T, w *world) {
		h := open(t, w)
		p := h.browse("alice")
		p.get("s", cart("a"), tN, tM, tGreeting)
		p.subscribe("s")
		synctest.Wait()
		p.drop()
		if err := h.stop(); err != nil {
			t.Fatal(err)
		}
		for i := range 500 {
			w.set(cart("a"), "n", i)
		}
		time.Sleep(time.Hour)
		h2 := open(t, w)
		h2.attach(p, "session-alice")
		p.subscribe("s")
		settle()
		p.wantFresh("s", tN, tM, tGreeting)
		if n := len(p.got("ok", "f", "no")); n != 1 {
			t.Errorf("%d frames for 500 missed commits, want 1", n)
		}
	})
}

// A fragment brings targets that the page did not have; they are followed from then on, and no longer once the parent
// lost them.
func TestC1_NestedTargets(t *testing.T) {
	onBothLinks(t, func(t *testing.T, w *world) {
		h := open(t, w, noCompare)
		p := h.browse("alice")
		p.get("s", cart("a"), tParent)
		p.subscribe("s")
		synctest.Wait()
		line := func(i int) wire.Target { return wire.Target{Component: "line", Key: fmt.Sprint(i)} }
		w.set(cart("a"), "m", 3)
		settle()
		w.set(cart("a"), "n", 8)
		settle()
		for i := range 3 {
			if got, want := p.shows("s", line(i)), fmt.Sprintf(`%s 8`, fmt.Sprint(i)); !contains(got, want) {
				t.Errorf("line %d shows %q, want %q", i, got, want)
			}
		}
		w.set(cart("a"), "m", 1)
		settle()
		before := w.rendered("line")
		w.set(cart("a"), "n", 9)
		settle()
		if n := w.rendered("line") - before; n != 1 {
			t.Errorf("%d lines rendered, want only the one still shown", n)
		}
		// Reconnecting with the fragment's token is the same set of targets.
		p.scopes["s"].more = []string{must(h.sealer.Seal(wire.Token{Actor: cart("a"), Targets: []wire.Target{line(0)}}))}
		h.attach(p, "session-alice")
		p.subscribe("s")
		settle()
		if oks := p.got("ok"); len(oks) != 1 || len(oks[0].Fragments) != 2 {
			t.Errorf("answers %+v, want one of parent and line", oks)
		}
	})
}
