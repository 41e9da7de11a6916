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
	var silent []silence
	for len(topics) > 0 {
		batch := topics[:min(len(topics), compareBatch)]
		topics = topics[len(batch):]
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
			if t.compare(marks[i], read[i], stamps[i]) {
				silent = append(silent, silence{t, stamps[i]})
			}
		}
	}
	return h.compareSilent(ctx, silent)
}

// silence is a topic whose state went on without a broadcast.
type silence struct {
	topic *topic
	at    actors.Progress
}

// compareSilent judges commits without a broadcast. They changed nothing that their build lets pages follow; where another
// build is at work, that may be something that this one does.
func (h *Hub) compareSilent(ctx context.Context, list []silence) error {
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
// up to read: somebody may show it, though no news of it came, and then the database must still have it. It says whether
// the state alone went on.
func (t *topic) compare(seen actors.Stamp, read int64, now actors.Progress) (silent bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if !t.marked || t.mark != seen {
		return false // it moved meanwhile: the next comparison tells
	}
	if same(t.mark, now.Stamp) && now.Revision >= read {
		if t.mark.Message == "" {
			t.mark.Message = now.Message
		}
		return now.Committed > t.covered
	}
	t.hub.meter.Count(CountGaps, "comparison", 1)
	t.suspect()
	return false
}
