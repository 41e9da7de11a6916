package realtime

// all is every connection now.
func (h *Hub) all() []*conn {
	h.mu.RLock()
	defer h.mu.RUnlock()
	list := make([]*conn, 0, len(h.conns))
	for c := range h.conns {
		list = append(list, c)
	}
	return list
}

// recheckAll is the periodic check of everything that the connection follows.
func (c *conn) recheckAll() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.over != nil {
		return
	}
	c.todo.checkAll = true
	c.kick()
	c.check.Reset(c.hub.cfg.Recheck)
}

// recheck asks the policies about every actor that the connection follows, once each, and ends the subscriptions of
// those that are refused. It is the worker's.
func (c *conn) recheck() {
	if !c.hub.acquire(c.ctx, c.hub.pushes) {
		return
	}
	defer c.hub.free(c.hub.pushes)
	byTopic := map[*topic][]*sub{}
	for _, s := range c.scopes {
		byTopic[s.topic] = append(byTopic[s.topic], s)
	}
	for t, subs := range byTopic {
		if c.hub.authorize(c.ctx, t.actor) == nil {
			continue
		}
		if c.ctx.Err() != nil {
			return
		}
		for _, s := range subs {
			c.deny(s, "recheck")
		}
	}
}
