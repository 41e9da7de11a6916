package realtime

import (
	"strconv"

	"github.com/coder/websocket"

	"github.com/lockstep-go/lockstep/realtime/wire"
)

// capacity counts the connections of each principal and of each session; Hub.mu guards it.
type capacity struct {
	principals map[string]int
	sessions   map[string]int
}

// fits says whether one more of who would be within limit. Strangers are not told apart, and only counted together.
func (c *capacity) fits(who Identity, limit int) bool {
	return (who.Principal == "" || c.principals[who.Principal] < limit) && (who.Session == "" || c.sessions[who.Session] < limit)
}

func (c *capacity) count(who Identity, n int) {
	tally(&c.principals, who.Principal, n)
	tally(&c.sessions, who.Session, n)
}

func tally(of *map[string]int, name string, n int) {
	if name == "" {
		return
	}
	note(of, name, (*of)[name]+n)
	if (*of)[name] == 0 {
		delete(*of, name)
	}
}

// maxTurningAway bounds the sockets that are opened only to be closed with the reason, which takes each up to three
// seconds of its reader's time. Beyond them a browser is not told why it is refused.
const maxTurningAway = 256

// crowded says, before a socket is opened, that it would be turned away and that too many are.
func (h *Hub) crowded(who Identity) bool {
	if h.turning.Load() < maxTurningAway {
		return false
	}
	h.mu.RLock()
	defer h.mu.RUnlock()
	return h.refusal(who) != nil
}

// refusal says why one more of who may not be, or nil; Hub.mu is held.
func (h *Hub) refusal(who Identity) *ending {
	switch {
	case len(h.conns) >= h.cfg.MaxConns:
		return &ending{code: int(websocket.StatusTryAgainLater), reason: strconv.Itoa(returnWithin(len(h.conns))), why: ClosedFull}
	case !h.capacity.fits(who, h.cfg.MaxConnsEach):
		return &ending{code: wire.CloseTooMany, reason: "too many connections of one user or session", why: ClosedEach}
	}
	return nil
}
