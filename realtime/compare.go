package realtime

import (
	"context"
	"fmt"
	"time"

	"github.com/lockstep-go/lockstep/actors"
)

// compareBatch is how many actors one read compares.
const compareBatch = 500

// compareLoop finds what no news told: hints can be lost, and so can a database's newest revisions.
func (h *Hub) compareLoop(ctx context.Context) {
	tick := time.NewTicker(h.cfg.Compare)
	defer tick.Stop()
	failing := false
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		err := h.compare(ctx)
		if (err != nil) != failing && ctx.Err() == nil {
			if failing = err != nil; failing {
				h.log.Warn("could not compare with the database", "error", kindOf(err))
			} else {
				h.log.Info("comparing with the database again")
			}
		}
	}
}

// compare reads the stamp of each followed actor's last broadcast; with nobody following it reads nothing.
func (h *Hub) compare(ctx context.Context) error {
	h.mu.RLock()
	topics := make([]*topic, 0, len(h.topics))
	for _, t := range h.topics {
		topics = append(topics, t)
	}
	h.mu.RUnlock()
	var found lags
	var err error
	for len(topics) > 0 && err == nil {
		batch := topics[:min(len(topics), compareBatch)]
		topics = topics[len(batch):]
		err = h.compareBatch(ctx, batch, &found)
	}
	if len(found.behind) > 0 {
		select {
		case <-time.After(onItsWay):
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	for _, l := range found.behind {
		l.topic.missed(l)
	}
	if err != nil {
		return err
	}
	return h.compareSilent(ctx, found.silent)
}

// onItsWay is how long the news of a commit may take before a comparison that saw the commit calls it lost.
const onItsWay = 50 * time.Millisecond

// lags are what one comparison found.
type lags struct {
	behind []lag // the topic has not followed what was broadcast
	silent []lag // the state went on without a broadcast
}

// lag is a topic that does not stand where the database does.
type lag struct {
	topic *topic
	seen  actors.Stamp // the topic's mark, before the read
	at    actors.Progress
}

func (h *Hub) compareBatch(ctx context.Context, batch []*topic, found *lags) error {
	of := make([]actors.Address, len(batch))
	marks := make([]actors.Stamp, len(batch))
	read := make([]int64, len(batch))
	for i, t := range batch {
		of[i] = t.actor
		t.mu.Lock()
		marks[i] = t.mark // before the read, so that what is followed meanwhile is no difference
		if t.latest != nil {
			read[i] = t.latest.snap.Broadcast
		}
		t.mu.Unlock()
	}
	var stamps []actors.Progress
	err := guard(func() (err error) {
		ctx, cancel := context.WithTimeout(ctx, patience)
		defer cancel()
		stamps, err = h.cfg.Source.Stamps(ctx, of)
		return err
	})
	if err != nil {
		return err
	}
	if len(stamps) != len(of) {
		return fmt.Errorf("asked for %d stamps, got %d", len(of), len(stamps))
	}
	for i, t := range batch {
		l := lag{t, marks[i], stamps[i]}
		switch behind, silent := t.compare(l, read[i]); {
		case behind:
			found.behind = append(found.behind, l)
		case silent:
			found.silent = append(found.silent, l)
		}
	}
	return nil
}

// compareSilent judges commits without a broadcast. They changed nothing that their build lets pages follow; where another
// build is at work, that may be something that this one does.
func (h *Hub) compareSilent(ctx context.Context, list []lag) error {
	if len(list) == 0 {
		return nil
	}
	mixed, err := h.mixed(ctx)
	if err != nil {
		return err
	}
	for _, s := range list {
		s.topic.mu.Lock()
		switch {
		case !s.topic.marked || s.topic.mark.Instance != s.at.Instance:
		case mixed:
			h.meter.Count(CountGaps, "silent", 1)
			s.topic.suspect()
		default:
			s.topic.covered = max(s.topic.covered, s.at.Committed)
		}
		s.topic.mu.Unlock()
	}
	return nil
}

// mixed asks whether another build is at work on the database.
func (h *Hub) mixed(ctx context.Context) (mixed bool, err error) {
	err = guard(func() (err error) {
		ctx, cancel := context.WithTimeout(ctx, patience)
		defer cancel()
		mixed, err = h.cfg.Source.Mixed(ctx)
		return err
	})
	return mixed, err
}

// compare judges a stamp that was read while the mark was seen, and a snapshot had been read that showed the broadcasts
// up to read: somebody may show it, though no news of it came, and then the database must still have it.
func (t *topic) compare(l lag, read int64) (behind, silent bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if !t.marked || t.mark != l.seen {
		return false, false // it moved meanwhile: the next comparison tells
	}
	if !same(t.mark, l.at.Stamp) || l.at.Revision < read {
		return true, false
	}
	if t.mark.Message == "" {
		t.mark.Message = l.at.Message
	}
	return false, l.at.Committed > t.covered
}

// missed has everything rendered, unless the news came after all; it may wait for its turn in the inbox.
func (t *topic) missed(l lag) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if !t.marked || t.mark != l.seen || t.inbox.reaches(l.at.Stamp) {
		return
	}
	t.hub.meter.Count(CountGaps, "comparison", 1)
	t.suspect()
}
