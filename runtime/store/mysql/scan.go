package mysql

import (
	"fmt"

	"github.com/lockstep-go/lockstep/runtime/store"
)

var scanReady = declare("scan")

// candidate is a mailbox whose head waits.
type candidate struct {
	instance *instance
	message  string
}

// scan claims heads. Those that have no attempt left are buried on the way, and the next of their actor is looked at.
// What came before it in the flush is in the tables.
func (w *work) scan(s *store.Scan) error {
	found, err := w.candidates(s)
	if err != nil {
		return err
	}
	var ids []string
	for _, c := range found {
		ids = append(ids, c.message)
	}
	if err := w.load(ids); err != nil {
		return err
	}
	for _, c := range found {
		if err := w.claim(s, c); err != nil {
			return fmt.Errorf("claim instance %s: %w", c.instance.id, err)
		}
	}
	return nil
}

// candidates locks mailboxes whose head is due and that nobody else holds, longest wait first. One whose row another
// session has is passed over.
func (w *work) candidates(s *store.Scan) (found []candidate, err error) {
	if s.Only != "" {
		return w.only(s)
	}
	if len(s.Types) == 0 || s.Limit <= 0 {
		return nil, nil
	}
	types, skip := list(s.Types), list(s.Skip)
	args := append(append([]any{w.now}, types...), skip...)
	args = append(args, w.now, s.Claim.Owner, s.Limit)
	err = w.allText(w.store.texts.text(scanReady, len(types), len(skip)), func(r row) error {
		found = append(found, candidate{w.add(readInstance(r)), r.text(instanceColumns)})
		return nil
	}, args)
	return found, err
}

// only is the one mailbox that a scan names, whose expired claim is taken over at once: whoever waits for that actor
// need not wait for the next recovery as well.
func (w *work) only(s *store.Scan) ([]candidate, error) {
	i := w.instances[s.Only]
	if i == nil {
		return nil, nil
	}
	if i.claimed != "" && i.lease <= w.now {
		var rec store.Recovered
		if err := w.takeBack(i, false, &rec); err != nil {
			return nil, err
		}
		s.Dead = append(s.Dead, rec.Dead...)
	}
	if i.claimed != "" || i.head >= i.next || i.paused != 0 || !i.free(s.Claim.Owner, w.now) {
		return nil, nil
	}
	if err := w.save(); err != nil {
		return nil, err
	}
	h, ok, err := w.first(readyRead, i.id, w.now)
	if err != nil || !ok {
		return nil, err
	}
	return []candidate{{i, h.text(0)}}, nil
}

var readyRead = declare("ready")

// claim claims the head of one ready mailbox, or nothing where burying left no due one.
func (w *work) claim(s *store.Scan, c candidate) error {
	i := c.instance
	m, err := w.need(c.message)
	if err != nil {
		return err
	}
	m, dead, err := w.bury(i, m)
	s.Dead = append(s.Dead, dead...)
	if err != nil {
		return err
	}
	w.ready[i.id] = nil
	if len(dead) > 0 {
		w.keep(i)
	}
	if m == nil {
		return nil
	}
	if !w.due(i, m) {
		w.wait(i, m)
		return nil
	}
	w.attempt(m, 1)
	s.Activations = append(s.Activations, w.lease(i, &s.Claim, fmt.Sprintf("%s-%d", s.Claim.Token, len(s.Activations)), m))
	return nil
}
