package mysql

import (
	"github.com/lockstep-go/lockstep/runtime/store"
)

func (w *work) failure(f *store.Failure) error {
	i, o := w.turn(&f.Fence, f.Message, f.Sequence)
	if i == nil {
		f.Outcome = o
		return nil
	}
	m, err := w.need(f.Message)
	if err != nil {
		return err
	}
	i.used = w.now
	w.keep(i)
	f.Outcome = store.Done
	if f.Final {
		w.letter(i, m, f.ErrorKind, f.ErrorText, f.Stack)
		i.head++
		f.Turn, f.Due, err = w.follow(i, f.Next, f.Yield)
		return err
	}
	m.AvailableAt = fromMicros(w.now + max(f.Backoff, 0).Microseconds())
	w.fail(m, f.ErrorKind, f.ErrorText)
	i.claimed = ""
	i.disown()
	w.wait(i, m)
	if i.paused == 0 {
		f.Due = m.AvailableAt
	}
	return nil
}

func (w *work) release(x *store.Release) error {
	i, o := w.fenced(&x.Fence)
	x.Outcome = o
	if i == nil {
		return nil
	}
	w.keep(i)
	i.used = w.now
	i.disown()
	m, err := w.unclaim(i, x.Uncount)
	if err == nil && m != nil {
		w.wait(i, m)
	}
	return err
}

func (w *work) renewal(x *store.Renewal) {
	i, o := w.fenced(&x.Fence)
	x.Outcome = o
	if i == nil {
		return
	}
	i.lease = w.now + x.Lease.Microseconds()
	x.Until = fromMicros(i.lease)
	w.keep(i)
}
