package sqlite

import (
	"encoding/json"
	"fmt"

	"github.com/lockstep-go/lockstep/runtime/store"
)

var (
	scanReady  = declare("scan")
	scanOnly   = declare("scan_only")
	claimLease = declare("claim")
)

// scan claims heads. Those that have no attempt left are buried on the way, and the next of their actor is looked at.
func (w *work) scan(s *store.Scan) error {
	s.Activations, s.Dead = nil, nil
	if s.Only != "" {
		if err := w.recoverExpired(s); err != nil {
			return err
		}
	}
	candidates, err := candidates(w, s, w.now)
	if err != nil {
		return err
	}
	for _, c := range candidates {
		a, err := w.claim(s, c)
		if err != nil {
			return fmt.Errorf("claim instance %s: %w", c.instance, err)
		}
		if a != nil {
			s.Activations = append(s.Activations, a)
		}
	}
	return nil
}

// candidate is a mailbox whose head waits.
type candidate struct{ instance, message string }

// candidates are mailboxes whose head is due and that nobody else holds, longest wait first.
func candidates(q session, s *store.Scan, now int64) (found []candidate, err error) {
	each := func(r row) error {
		found = append(found, candidate{r.text(0), r.text(1)})
		return nil
	}
	if s.Only != "" {
		return found, q.all(scanOnly, each, s.Only, now, now, s.Claim.Owner)
	}
	if len(s.Types) == 0 || s.Limit <= 0 {
		return nil, nil
	}
	err = q.all(scanReady, each, now, list(s.Types), list(s.Skip), now, s.Claim.Owner, s.Limit)
	return found, err
}

// list is a JSON array of texts, which is how a constant statement takes any number of them.
func list(texts []string) string {
	if len(texts) == 0 {
		return "[]"
	}
	doc, err := json.Marshal(texts)
	if err != nil {
		return "[]" // a slice of strings can always be encoded
	}
	return string(doc)
}

// claim claims the head of one ready mailbox, or nothing where burying left no due one.
func (w *work) claim(s *store.Scan, c candidate) (*store.Activation, error) {
	h, err := w.head(c.message)
	if err != nil {
		return nil, err
	}
	h, ok, dead, err := w.bury(h)
	if err != nil {
		return nil, err
	}
	s.Dead = append(s.Dead, dead...)
	if _, err := w.exec(readyDelete, c.instance); err != nil || !ok {
		return nil, err
	}
	if !h.due(w.now) {
		return nil, w.wait(&h)
	}
	if _, err := w.exec(attemptCount, h.ID); err != nil {
		return nil, err
	}
	token := fmt.Sprintf("%s-%d", s.Claim.Token, len(s.Activations))
	r, ok, err := w.first(claimLease, s.Claim.Owner, token, w.now, w.now+s.Claim.Lease.Microseconds(), c.instance)
	if err != nil {
		return nil, err
	}
	if !ok {
		return nil, fmt.Errorf("its lease was taken within the transaction")
	}
	a := activation(r, s.Claim.Owner, w.now)
	if _, err := w.exec(claimedInsert, c.instance, h.Sequence, h.ID, w.now); err != nil {
		return nil, err
	}
	h.Attempts++
	a.Message = h.Message
	return a, nil
}

// activation reads what a claim returns: token, generation, lease, instance and snapshot.
func activation(r row, owner string, now int64) *store.Activation {
	a := &store.Activation{Snapshot: snapshot(r, r.text(3), 4)}
	a.Fence = store.Fence{Instance: r.text(3), Owner: owner, Token: r.text(0), Generation: r.int(1)}
	a.Claimed, a.Lease = fromMicros(now), fromMicros(r.int(2))
	return a
}
