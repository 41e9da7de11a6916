package realtime_test

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/coder/websocket"

	"github.com/lockstep-go/lockstep/actors"
	"github.com/lockstep-go/lockstep/realtime"
	"github.com/lockstep-go/lockstep/realtime/wire"
)

// members opens sockets of n viewers in three roles, each subscribed to what is rendered once a role.
func members(h *house, n int, got func(viewer int, text []byte)) {
	token := must(h.sealer.Seal(wire.Token{Actor: cart("a"), Targets: []wire.Target{tStaff}}))
	var answered sync.WaitGroup
	for i := range n {
		ws := h.connect(fmt.Sprint([]string{"red", "green", "blue"}[i%3], i), fmt.Sprint("session-", i))
		h.t.Cleanup(func() { ws.CloseNow() })
		answered.Add(1)
		go func() {
			first := true
			for {
				_, text, err := ws.Read(context.Background())
				switch {
				case err != nil:
					return
				case first && contains(string(text), `"t":"ok"`):
					first = false
					answered.Done()
				case !contains(string(text), `"t":"hello"`):
					got(i, text)
				}
			}
		}()
		if err := ws.Write(context.Background(), websocket.MessageText, fmt.Appendf(nil, `{"t":"sub","n":1,"s":"s","token":%q}`, token)); err != nil {
			h.t.Fatal(err)
		}
		if i%500 == 0 {
			answered.Wait()
		}
	}
	answered.Wait()
}

// C5: 10,000 viewers in 3 roles cost 3 renders and 10,000 answers of the policy, each before its viewer's bytes; a
// refused one gets none of the bytes that others of the role share, and the render sees nobody.
func TestC5_ViewersInRolesCostARenderARole(t *testing.T) {
	onBothLinks(t, func(t *testing.T, w *world) {
		n := 2000
		if full {
			n = 10000
		}
		var refused atomic.Bool
		asked := make([]atomic.Bool, n)
		w.allow = func(ctx context.Context, _ actors.Request) error {
			i, _ := strconv.Atoi(strings.TrimLeft(viewerOf(ctx), "redgrnblu"))
			asked[i].Store(true)
			if refused.Load() && i%1000 == 7 {
				return errRefused
			}
			return nil
		}
		var frames, no, early, wrong atomic.Int64
		h := open(t, w, func(c *realtime.Config) { c.Heartbeat, c.Recheck, c.Logger = -1, -1, nil })
		members(h, n, func(i int, text []byte) {
			if contains(string(text), `"t":"no"`) {
				no.Add(1)
				return
			}
			frames.Add(1)
			if !asked[i].Load() {
				early.Add(1)
			}
			if !contains(string(text), fmt.Sprintf(">%s group, %d</p>", []string{"red", "green", "blue"}[i%3], decode(w.snapshot(cart("a")).State)["n"])) {
				wrong.Add(1)
			}
		})
		push := func(value int) (renders, policies int) {
			for i := range asked {
				asked[i].Store(false)
			}
			renders, policies = w.rendered("staff"), w.count(&w.policies)
			w.set(cart("a"), "n", value)
			time.Sleep(settled)
			synctest.Wait()
			return w.rendered("staff") - renders, w.count(&w.policies) - policies
		}
		for value := 2; value < 4; value++ {
			if renders, policies := push(value); renders != 3 || policies != n {
				t.Errorf("a push to %d viewers in 3 roles cost %d renders and %d answers of the policy", n, renders, policies)
			}
		}
		if int(frames.Load()) != 2*n || early.Load() != 0 || wrong.Load() != 0 || no.Load() != 0 {
			t.Errorf("%d frames (%d before the policy was asked, %d with other bytes) and %d refusals, want %d frames", frames.Load(), early.Load(), wrong.Load(), no.Load(), 2*n)
		}
		refused.Store(true)
		if renders, policies := push(4); renders != 3 || policies != n {
			t.Errorf("with refusals a push cost %d renders and %d answers", renders, policies)
		}
		if f, r := int(frames.Load())-2*n, int(no.Load()); r != n/1000 || f != n-r {
			t.Errorf("%d frames and %d refusals in the last push, want %d and %d", f, r, n-n/1000, n/1000)
		}
	})
}

// BenchmarkRoles is a push to 10,000 viewers in 3 roles: with a policy that answers from memory, and with one that takes
// a millisecond, as one that asks a database does.
func BenchmarkRoles(b *testing.B) {
	for _, takes := range []time.Duration{0, time.Millisecond} {
		b.Run(fmt.Sprintf("policy=%v", takes), func(b *testing.B) {
			const n = 10000
			w := newWorld()
			w.commit(cart("a"), change{set: state{"n": 1}, names: []string{"n"}})
			var slow atomic.Bool
			w.allow = func(context.Context, actors.Request) error {
				if slow.Load() {
					time.Sleep(takes)
				}
				return nil
			}
			h := open(b, w, func(c *realtime.Config) { c.Heartbeat, c.Recheck, c.Logger = -1, -1, nil })
			var count atomic.Int64
			all := make(chan struct{}, 1)
			members(h, n, func(int, []byte) {
				if count.Add(1)%n == 0 {
					all <- struct{}{}
				}
			})
			slow.Store(true)
			renders := w.rendered("staff")
			pushes := 0
			var took time.Duration
			for b.Loop() {
				time.Sleep(105 * time.Millisecond)
				start := time.Now()
				pushes++
				w.set(cart("a"), "n", pushes)
				<-all
				took += time.Since(start)
			}
			b.ReportMetric(float64(took.Milliseconds())/float64(pushes), "ms/push")
			b.ReportMetric(float64(w.rendered("staff")-renders)/float64(pushes), "renders/push")
		})
	}
}
