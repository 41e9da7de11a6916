package realtime

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/lockstep-go/lockstep/actors"
	"github.com/lockstep-go/lockstep/realtime/wire"
)

// claim is what the tokens of one subscribe say together.
type claim struct {
	actor   actors.Address
	targets []wire.Target
	names   []string
	parts   []Component
	brought []brought
}

// open checks tokens, which must be of one actor, and looks their targets up. The reason is "" where all is well.
// Where expired ones are accepted they count like others.
func (h *Hub) open(tokens []string, expired bool) (claim, []wire.Token, wire.Reason) {
	var c claim
	var opened []wire.Token
	seen := map[string]bool{}
	for i, text := range tokens {
		t, err := h.cfg.Sealer.Open(text)
		switch {
		case errors.Is(err, wire.ErrExpired) && expired:
		case err != nil:
			return claim{}, nil, reasonOf(err)
		}
		if i == 0 {
			c.actor = t.Actor
		} else if t.Actor != c.actor {
			return claim{}, nil, wire.BadToken
		}
		opened = append(opened, t)
		for _, target := range t.Targets {
			name := target.Name(t.Actor)
			if seen[name] {
				continue
			}
			seen[name] = true
			if len(seen) > wire.MaxTargets {
				return claim{}, nil, wire.Limit
			}
			part, ok := h.describe(t.Actor.Type, target)
			if !ok {
				return claim{}, nil, wire.Unknown
			}
			c.targets, c.names, c.parts = append(c.targets, target), append(c.names, name), append(c.parts, part)
			c.brought = append(c.brought, brought{t.Stamp, t.Build, t.Viewer})
		}
	}
	return c, opened, ""
}

func reasonOf(err error) wire.Reason {
	switch {
	case errors.Is(err, wire.ErrExpired):
		return wire.Expired
	case errors.Is(err, wire.ErrUnknownKey):
		return wire.UnknownKey
	}
	return wire.BadToken
}

// describe asks the renderer; a panic is a component it does not have.
func (h *Hub) describe(typ string, t wire.Target) (part Component, ok bool) {
	err := guard(func() error {
		part, ok = h.cfg.Renderer.Describe(typ, t)
		return nil
	})
	return part, ok && err == nil
}

// authorize asks the middleware and the policies about following an actor. Any error refuses, and so does a panic.
func (h *Hub) authorize(ctx context.Context, a actors.Address) error {
	p := withPatience(ctx)
	defer p.end()
	err := guard(func() error { return h.policy(p, actors.Request{Type: a.Type, ID: a.ID}) })
	h.reportPolicy(a.Type, err)
	return err
}

// mayQuery asks the query policy alone, before bytes that not everybody may have.
func (h *Hub) mayQuery(ctx context.Context, a actors.Address, operation string) error {
	p := withPatience(ctx)
	defer p.end()
	err := guard(func() error {
		return h.cfg.Source.MayQuery(p, actors.Request{Type: a.Type, ID: a.ID, Operation: operation})
	})
	h.reportPolicy(a.Type, err)
	return err
}

// innermost is the end of the middleware: the subscribe policy, then the query that a snapshot is.
func (h *Hub) innermost(ctx context.Context, r actors.Request) error {
	if err := h.cfg.Source.MaySubscribe(ctx, r); err != nil {
		return err
	}
	r.Operation = actors.SnapshotOp
	return h.cfg.Source.MayQuery(ctx, r)
}

// reportPolicy logs policies that failed rather than refused.
func (h *Hub) reportPolicy(typ string, err error) {
	if err != nil && !errors.Is(err, actors.ErrUnauthorized) && !errors.Is(err, context.Canceled) {
		h.log.Warn("a policy failed, which refuses", "type", typ, "error", kindOf(err))
	}
}

// report logs a component that failed, without state.
func (h *Hub) report(typ string, at *shown, err error) {
	if tooNew(err) {
		return // no failure: another build has the code
	}
	h.log.Error("a component failed", "type", typ, "component", at.target.Component, "error", kindOf(err))
}

// subscribe carries out a subscribe and sends its one answer.
func (c *conn) subscribe(cmd wire.Command) {
	if old := c.scopes[cmd.Scope]; old != nil {
		c.leave(old)
	}
	now := time.Now()
	if c.subscribes.wait(now, subscribeEvery, subscribeBurst) > 0 {
		c.offence()
		c.refuse(cmd.Number, cmd.Scope, wire.Later)
		return
	}
	c.subscribes.take(now, subscribeEvery)
	if len(c.scopes) >= c.hub.cfg.MaxScopes {
		c.offence()
		c.refuse(cmd.Number, cmd.Scope, wire.Limit)
		return
	}
	if reason := c.admitted(cmd); reason != "" && c.ctx.Err() == nil {
		c.refuse(cmd.Number, cmd.Scope, reason)
	}
}

// admitted subscribes and answers, or returns why not.
func (c *conn) admitted(cmd wire.Command) wire.Reason {
	h := c.hub
	if h.waiting.Add(1) > int64(surplus*h.cfg.Resyncs) {
		h.waiting.Add(-1)
		return wire.Later
	}
	h.meter.Gauge(GaugeWaiting, 1)
	got := h.acquire(c.ctx, h.resyncs)
	h.waiting.Add(-1)
	h.meter.Gauge(GaugeWaiting, -1)
	if !got {
		return wire.Later // the socket ended
	}
	defer h.free(h.resyncs)
	claim, _, reason := h.open(append([]string{cmd.Token}, cmd.More...), false)
	if reason != "" {
		if reason == wire.Limit || reason == wire.BadToken {
			c.offence()
		}
		return reason
	}
	if c.shows.Load()+int64(len(claim.targets)) > int64(h.cfg.MaxTargets) {
		c.offence()
		return wire.Limit
	}
	revoked := h.revoked.Load()
	if h.authorize(c.ctx, claim.actor) != nil {
		return wire.Denied
	}
	s := &sub{conn: c, scope: cmd.Scope, number: cmd.Number, lists: cmd.Lists, counts: map[*shown]int{}}
	if cmd.First {
		s.brought = map[string]brought{}
		for i, name := range claim.names {
			s.brought[name] = claim.brought[i]
		}
	}
	s.topic = h.topicOf(claim.actor)
	c.meets(s)
	s.join(claim.targets, claim.parts, claim.names)
	c.scopes[s.scope] = s
	if reason := c.answer(s, revoked); reason != "" {
		c.leave(s)
		return reason
	}
	return ""
}

// surplus is how many subscribes may wait for each that is worked on.
const surplus = 512

// answer reads the newest snapshot and sends everything current of s. The reason says why there was no answer.
// Policies were last asked when the hub's revocations stood at revoked.
func (c *conn) answer(s *sub, revoked int64) wire.Reason {
	for range 10 { // each round more means that the actor was recreated meanwhile, or a right withdrawn
		v, err := s.topic.read(c.ctx)
		switch {
		case err != nil && tooNew(err):
			return wire.Newer
		case err != nil:
			if c.ctx.Err() == nil {
				c.hub.log.Warn("could not read an actor's snapshot", "type", s.topic.actor.Type, "error", kindOf(err))
			}
			return wire.Failed
		}
		parts, reason := c.current(s, v)
		if reason != "" {
			return reason
		}
		if bytes := sizeOf(parts); bytes > c.hub.cfg.MaxPending {
			c.hub.log.Warn("refused a scope that is too large", "type", s.topic.actor.Type, "bytes", bytes, "limit", c.hub.cfg.MaxPending)
			return wire.Limit
		}
		if now := c.hub.revoked.Load(); now != revoked {
			revoked = now
			if c.hub.authorize(c.ctx, s.topic.actor) != nil {
				return wire.Denied
			}
		}
		if c.deliverAnswer(s, v, parts, revoked) {
			c.flushQueued()
			return ""
		}
	}
	return wire.Later
}

// part is one target of an answer.
type part struct {
	at    *shown
	r     *rendered // nil: nobody need know what the page shows
	known bool      // the page shows it already
}

// sizeOf is how many bytes an answer sends.
func sizeOf(parts []part) (bytes int) {
	for _, p := range parts {
		if !p.known {
			bytes += len(p.r.piece)
		}
	}
	return bytes
}

// current renders what an answer must hold: nothing of what the page, on its first subscribe, shows already. What a
// fragment holds inside is rendered by itself too: an answer may lie behind what the page shows, and then only what it
// names is put right.
func (c *conn) current(s *sub, v *view) ([]part, wire.Reason) {
	t := s.topic
	t.mu.Lock()
	order := slices.Clone(s.order)
	t.mu.Unlock()
	named := make(map[string]bool, len(order))
	for _, at := range order {
		named[at.name] = true
	}
	parts := make([]part, 0, len(order))
	for i := 0; i < len(order); i++ {
		at := order[i]
		if b, ok := s.brought[at.name]; ok && b.stamp == v.snap.Stamp && b.build == c.hub.cfg.Build &&
			(!at.personal() || b.viewer == c.viewer) {
			shows := part{at: at, known: true}
			if s.lists && at.part.List { // so that its first update need not be whole
				if r, err := c.render(s, v, at); err == nil {
					shows.r = r
				}
			}
			parts = append(parts, shows)
			continue
		}
		if !c.maySee(s, at) {
			continue
		}
		r, err := c.render(s, v, at)
		switch {
		case err == nil:
			parts = append(parts, part{at, r, false})
			for _, inner := range r.frag.Nested {
				name := inner.Name(t.actor)
				if comp, ok := c.hub.describe(t.actor.Type, inner); ok && !named[name] && len(order) < 2*wire.MaxTargets {
					named[name] = true
					order = append(order, &shown{target: inner, name: name, part: comp})
				}
			}
		case tooNew(err):
			return nil, wire.Newer
		case c.ctx.Err() != nil:
			return nil, wire.Failed
		case at.subs == nil: // not followed yet, and its parent shows it
		case at.personal():
			c.failed(s, at)
		default:
			t.broke(at, err)
		}
	}
	return parts, ""
}

// render renders a target as this viewer sees it.
func (c *conn) render(s *sub, v *view, at *shown) (*rendered, error) {
	switch at.part.Audience {
	case Shared:
		return v.shared(c.ctx, c.hub, s.topic.actor, at, "")
	case ByGroup:
		ctx := withPatience(c.ctx)
		defer ctx.end()
		var group string
		err := guard(func() error {
			if at.part.Group == nil {
				return fmt.Errorf("component %s has no group", at.target.Component)
			}
			group = at.part.Group(ctx)
			return nil
		})
		if err != nil {
			c.hub.report(s.topic.actor.Type, at, err)
			return nil, err
		}
		return v.shared(c.ctx, c.hub, s.topic.actor, at, group)
	}
	ctx := withPatience(c.ctx)
	defer ctx.end()
	r := &rendered{}
	err := r.render(ctx, c.hub, RenderRequest{Actor: s.topic.actor, Target: at.target, Snapshot: v.snap, Viewer: c.viewer}, at.name)
	if err != nil && c.ctx.Err() == nil {
		c.hub.report(s.topic.actor.Type, at, err)
	}
	return r, err
}

// answerSize is about what an answer takes beside its pieces, and a live frame beside its HTML.
const answerSize = 128

// deliverAnswer queues the answer and lets live fragments follow it; the caller flushes. False: it must be made anew.
func (c *conn) deliverAnswer(s *sub, v *view, parts []part, revoked int64) bool {
	t := s.topic
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.epoch != v.epoch {
		return false
	}
	pieces, size := make([][]byte, 0, len(parts)), answerSize
	for _, p := range parts {
		if p.known {
			continue
		}
		pieces, size = append(pieces, p.r.piece), size+len(p.r.piece)+1
		if at := t.shown[p.at.name]; at != nil && at.subs[s] { // its parent stands before it
			t.nest(s, v, at, p.r.frag.Nested)
		}
	}
	for _, p := range parts {
		if p.r != nil {
			s.brings(t.shown[p.at.name], p.r.version)
		}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.hub.revoked.Load() != revoked {
		return false
	}
	s.epoch = v.epoch
	s.brought = nil
	if c.over != nil || s.gone {
		return true
	}
	delete(c.todo.redo, s)
	c.out.addControl(framed(wire.AppendAnswer(room(size), s.number, s.scope, v.snap.Instance, wire.Rev(v.snap.Revision), pieces)))
	c.round.answers(s.number, v.snap.Stamp)
	for _, p := range parts {
		if f := s.held[p.at.name]; f != nil && f.revision <= v.snap.Revision {
			delete(s.held, p.at.name) // the page has it by the answer
		}
	}
	c.releaseHeld(s)
	return true
}

// redo answers subscriptions anew, after asking the policies.
func (c *conn) redo(subs map[*sub]bool) {
	for s := range subs {
		s.topic.mu.Lock()
		done := s.answeredIn(s.topic.epoch)
		s.topic.mu.Unlock()
		if done || s.gone {
			continue
		}
		reason := wire.Denied
		if c.hub.acquire(c.ctx, c.hub.resyncs) {
			revoked := c.hub.revoked.Load()
			if c.hub.authorize(c.ctx, s.topic.actor) == nil {
				reason = c.answer(s, revoked)
			} else if c.ctx.Err() == nil {
				c.hub.meter.Count(CountDenied, "answer", 1)
			}
			c.hub.free(c.hub.resyncs)
		}
		if reason != "" && c.ctx.Err() == nil {
			c.leave(s)
			c.refuse(s.number, s.scope, reason)
		}
	}
}

// answeredIn says whether s needs no answer in this epoch; topic.mu is held.
func (s *sub) answeredIn(epoch int) bool {
	s.conn.mu.Lock()
	defer s.conn.mu.Unlock()
	return s.answered && s.epoch == epoch
}
