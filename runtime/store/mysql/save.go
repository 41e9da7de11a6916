package mysql

import (
	"fmt"
	"slices"
	"strings"

	"github.com/lockstep-go/lockstep/runtime/store"
)

var (
	broadcastDelivered = declare("broadcast_delivered")
	messageInsert      = declare("message_insert")
	finishMessages     = declare("finish")
	countAttempts      = declare("attempts")
	failMessages       = declare("fail")
	keepInstances      = declare("keep")
	keepStates         = declare("keep_state")
	unmakeInstances    = declare("unmake")
	readyPut           = declare("ready_put")
	readyDelete        = declare("ready_delete")
	queuedInsert       = declare("queued_insert")
	queuedDelete       = declare("queued_delete")
	effectInsert       = declare("effect_insert")
	sendInsert         = declare("send_insert")
	reminderSet        = declare("reminder_set")
	reminderCancel     = declare("reminder_cancel")
	broadcastPut       = declare("broadcast_put")
	deadInsert         = declare("dead_insert")
)

// save writes what was decided. The memory stays, for what comes after it in the same transaction.
func (w *work) save() error {
	o := w.outbox
	w.outbox = outbox{ready: map[string]*head{}, pushed: map[place]string{}, reminders: map[reminderName][]any{}}
	slices.Sort(o.delivered)
	for _, step := range []struct {
		st    statement
		width int
		args  []any
	}{
		{broadcastDelivered, 1, listAny(o.delivered)},
		{messageInsert, 14, w.insertions(o.inserted)},
	} {
		if _, err := w.many(step.st, step.width, step.args); err != nil {
			return err
		}
	}
	if err := w.saveMessages(&o); err != nil {
		return err
	}
	if err := w.saveInstances(o.changed); err != nil {
		return err
	}
	if err := w.saveMembership(&o); err != nil {
		return err
	}
	return w.saveStaged(&o)
}

// listAny is list without a substitute for nothing.
func listAny(texts []string) []any {
	args := make([]any, len(texts))
	for i, t := range texts {
		args[i] = t
	}
	return args
}

func (w *work) insertions(list []*message) (args []any) {
	for _, m := range list {
		m.fresh = false
		args = append(args, m.ID, m.Instance, m.Sequence, m.previous, m.Operation, m.Arguments, m.Origin,
			optional(m.IdempotencyKey), optional(m.Fingerprint), m.Attempts, m.MaxAttempts, m.EnqueuedAt, m.AvailableAt, m.Meta)
	}
	return args
}

// finished is a message's end as a column.
func finished(m *message) moment {
	if m.FinishedAt.IsZero() {
		return 0
	}
	return moment(micros(m.FinishedAt))
}

// saveMessages changes rows of history by way of inserts that must find them.
func (w *work) saveMessages(o *outbox) error {
	var ended, attempted, failed []any
	for _, m := range o.ended {
		m.ends = false
		ended = append(ended, m.ID, m.Status, m.Result, m.Rejection, finished(m))
	}
	for _, m := range o.attempted {
		m.attempted = false
		attempted = append(attempted, m.ID, m.Attempts)
	}
	for _, m := range o.failed {
		m.failed = false
		failed = append(failed, m.ID, m.AvailableAt, m.Status, finished(m), m.ErrorKind, m.text)
	}
	n, err := w.many(finishMessages, 5, ended)
	if err == nil && n != 2*int64(len(o.ended)) { // the server counts 2 for each row that was there
		err = fmt.Errorf("%d messages are claimed, and some of them are not there", len(o.ended))
	}
	if err != nil {
		return err
	}
	if _, err := w.many(countAttempts, 2, attempted); err != nil {
		return err
	}
	_, err = w.many(failMessages, 6, failed)
	return err
}

func (w *work) saveInstances(list []*instance) error {
	slices.SortFunc(list, func(a, b *instance) int { return strings.Compare(a.id, b.id) })
	var plain, stated []any
	var unmade []string
	for _, i := range list {
		i.changed = false
		if i.made && i.next == 1 {
			unmade = append(unmade, i.id)
			continue
		}
		row := []any{i.id, i.Type, i.ID, i.head, i.next, i.tail, optional(i.owner), optional(i.token), i.generation, i.lease,
			optional(i.claimed), moment(i.paused), i.revision, i.message, i.previous, i.broadcast, i.broadcastMessage, i.used, i.version}
		if i.stated {
			i.stated, i.made = false, false
			stated = append(append(stated, row...), i.state)
		} else {
			plain = append(plain, row...)
		}
	}
	if _, err := w.many(keepInstances, 19, plain); err != nil {
		return err
	}
	if _, err := w.many(keepStates, 20, stated); err != nil {
		return err
	}
	_, err := w.many(unmakeInstances, 1, listAny(unmade))
	return err
}

func (w *work) saveMembership(o *outbox) error {
	var put, deleted, pushed, popped []any
	for _, id := range sortedKeys(o.ready) {
		if h := o.ready[id]; h != nil {
			put = append(put, id, h.Sequence, h.ID, w.instances[id].Type, h.due)
		} else {
			deleted = append(deleted, id)
		}
	}
	places := make([]place, 0, len(o.pushed))
	for p := range o.pushed {
		places = append(places, p)
	}
	slices.SortFunc(places, comparePlaces)
	for _, p := range places {
		pushed = append(pushed, p.instance, p.sequence, o.pushed[p])
	}
	slices.SortFunc(o.popped, comparePlaces)
	for _, p := range o.popped {
		popped = append(popped, p.instance, p.sequence)
	}
	for _, step := range []struct {
		st    statement
		width int
		args  []any
	}{
		{readyDelete, 1, deleted}, {readyPut, 5, put}, {queuedInsert, 3, pushed}, {queuedDelete, 2, popped},
	} {
		if _, err := w.many(step.st, step.width, step.args); err != nil {
			return err
		}
	}
	return nil
}

func comparePlaces(a, b place) int {
	if n := strings.Compare(a.instance, b.instance); n != 0 {
		return n
	}
	return int(a.sequence - b.sequence)
}

func (w *work) saveStaged(o *outbox) error {
	var set, cancelled, broadcasts []any
	names := make([]reminderName, 0, len(o.reminders))
	for name := range o.reminders {
		names = append(names, name)
	}
	slices.SortFunc(names, compareNames)
	for _, name := range names {
		if args := o.reminders[name]; args != nil {
			set = append(append(set, name.instance, name.operation, name.key), args...)
		} else {
			cancelled = append(cancelled, name.instance, name.operation, name.key)
		}
	}
	slices.SortFunc(o.broadcasts, func(a, b *broadcast) int { return strings.Compare(a.Instance, b.Instance) })
	for _, b := range o.broadcasts {
		b.changed = false
		names, shared, err := store.EncodeBroadcast(&b.Broadcast)
		if err != nil {
			return err
		}
		broadcasts = append(broadcasts, b.Instance, b.ID, b.Actor.Type, b.Actor.ID, b.Revision, b.Previous, b.Message, names, shared,
			b.owner, w.now)
	}
	for _, step := range []struct {
		st    statement
		width int
		args  []any
	}{
		{effectInsert, 10, o.effects}, {sendInsert, 13, o.sends}, {reminderSet, 8, set}, {reminderCancel, 3, cancelled},
		{broadcastPut, 11, broadcasts}, {deadInsert, 19, o.dead},
	} {
		if _, err := w.many(step.st, step.width, step.args); err != nil {
			return err
		}
	}
	return nil
}

func compareNames(a, b reminderName) int {
	return slices.Compare([]string{a.instance, a.operation, a.key}, []string{b.instance, b.operation, b.key})
}

func sortedKeys[V any](m map[string]V) []string {
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}

// settle writes everything and completes the activations.
func (w *work) settle(scans []*store.Scan) error {
	if err := w.save(); err != nil {
		return err
	}
	for _, s := range scans {
		if err := w.scan(s); err != nil {
			return fmt.Errorf("scan: %w", err)
		}
		if err := w.save(); err != nil {
			return err
		}
	}
	return w.states()
}
