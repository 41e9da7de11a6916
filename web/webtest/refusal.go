package webtest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"time"

	"golang.org/x/net/html"

	"github.com/lockstep-go/lockstep/realtime/wire"
)

// refused takes a refusal of its newest subscribe, or the end of its subscription.
func (s *scope) refused(f *wire.Frame) {
	s.answered = false
	after := time.Duration(f.After) * time.Millisecond
	switch {
	case f.Reason == wire.Expired && !s.renewed:
		s.renewed = true
		s.renew()
	case f.Reason == wire.UnknownKey && !s.renewed:
		s.renewed = true
		s.rejoin()
	case f.Retry:
		s.show("reconnecting")
		if after > 0 {
			after += time.Duration(s.page.rnd.Float64() * float64(after) / 2)
		} else {
			after = s.page.backoff(s.tries)
			s.tries++
		}
		s.askAfter(after)
	case f.Reason == wire.Limit:
		s.end("denied")
		s.askAfter(time.Minute)
	case f.Reason == wire.Denied:
		s.end("denied")
	default:
		s.end("gone")
	}
}

func (s *scope) end(status string) {
	s.ended, s.answered, s.followed = true, false, false
	s.show(status)
}

// later runs f under the page's lock, unless the scope was left or asked again meanwhile.
func (s *scope) later(n int64, l *life, f func()) {
	s.page.mu.Lock()
	defer s.page.mu.Unlock()
	if s.page.life != l || l == nil || s.n != n || !contains(s.page.doc, s.node) {
		return
	}
	f()
	s.page.join()
	s.page.note()
}

func (s *scope) askAfter(wait time.Duration) {
	n, l := s.n, s.page.life
	time.AfterFunc(wait, func() {
		s.later(n, l, func() {
			if !s.answered {
				s.ended = false
				s.page.subscribe(s)
			}
		})
	})
}

// renew exchanges its tokens for one fresh token, and subscribes with that.
func (s *scope) renew() {
	p, n, l := s.page, s.n, s.page.life
	tokens := append([]string{attr(s.node, "token")}, s.more()...)
	s.renewing = true
	l.work.Go(func() {
		token, reason, err := p.refresh(l, tokens)
		s.later(n, l, func() {
			s.renewing = false
			switch {
			case err != nil:
				s.renewed = false // nobody has said no
				s.refused(&wire.Frame{Retry: true})
			case token == "":
				s.renewed = true
				s.refused(&wire.Frame{Reason: reason})
			default:
				setAttr(s.node, "token", token)
				for _, part := range s.own(func(n *html.Node) bool { return has(n, tokenAttr) }) {
					removeAttr(part, tokenAttr)
				}
				p.subscribe(s)
			}
		})
	})
}

func (p *Page) refresh(l *life, tokens []string) (token string, reason wire.Reason, err error) {
	body, err := json.Marshal(map[string][]string{"tokens": tokens})
	if err != nil {
		return "", "", err
	}
	p.mu.Lock()
	at, err := p.client.Parse("refresh")
	origin := p.address.Scheme + "://" + p.address.Host
	p.mu.Unlock()
	if err != nil {
		return "", "", err
	}
	r, err := http.NewRequestWithContext(l.ctx, http.MethodPost, at.String(), bytes.NewReader(body))
	if err != nil {
		return "", "", err
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Origin", origin)
	resp, err := p.visitor.client.Do(r)
	if err != nil {
		return "", "", err
	}
	defer resp.Body.Close()
	if resp.StatusCode >= 500 {
		return "", "", fmt.Errorf("refresh: %s", resp.Status)
	}
	var answer struct {
		Token  string      `json:"token"`
		Reason wire.Reason `json:"reason"`
	}
	err = json.NewDecoder(resp.Body).Decode(&answer)
	return answer.Token, answer.Reason, err
}

// rejoin takes its place in a fresh copy of the page: the only way on when the server has forgotten the key.
func (s *scope) rejoin() {
	p, n, l := s.page, s.n, s.page.life
	at := p.address.String()
	s.renewing = true
	l.work.Go(func() {
		doc, got, err := p.visitor.fetch(l.ctx, at)
		s.later(n, l, func() {
			s.renewing = false
			if err != nil || got.String() != at { // a redirect means that this is not the page any more
				s.end("gone")
				return
			}
			names := map[string]bool{}
			for _, part := range s.own(isTarget) {
				names[attr(part, targetAttr)] = true
			}
			for _, fresh := range elements(doc, isScope) {
				for _, part := range elements(fresh, isTarget) {
					if names[attr(part, targetAttr)] && ownerOf(part, fresh) == nil {
						s.become(clone(fresh))
						return
					}
				}
			}
			s.end("gone")
		})
	})
}

// become takes the place of a scope in a fresh copy of the page, and subscribes.
func (s *scope) become(fresh *html.Node) {
	s.page.adopt(s.node, fresh)
	s.page.hear(dataIn(s.node), dataIn(fresh))
	replace(s.node, fresh)
	s.node = fresh
	s.stamp()
	s.touched = true
	s.show("connecting")
	s.page.subscribe(s)
}
