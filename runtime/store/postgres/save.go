package postgres

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	"github.com/jackc/pgx/v5"

	"github.com/lockstep-go/lockstep/runtime/store"
)

var (
	instanceInsert = declare("instance_insert")
	instanceUpdate = declare("instance_update")
	messageInsert  = declare("message_insert")
	messageUpdate  = declare("message_update")
	claimedSet     = declare("claimed_set")
	claimedDelete  = declare("claimed_delete")
	readySet       = declare("ready_set")
	readyDelete    = declare("ready_delete")
	deadInsert     = declare("dead_insert")
	effectInsert   = declare("effect_insert")
	sendInsert     = declare("send_insert")
	reminderSet    = declare("reminder_set")
	reminderCancel = declare("reminder_cancel")
	broadcastSet   = declare("broadcast_set")
)

// changes are what a transaction is to write beside its instances.
type changes struct {
	messages  map[string]*messageChange // by id
	order     []*messageChange
	fresh     []*message
	dead      [4][]string // id, error kind, error text, stack
	effects   []effectRow
	sends     []sendRow
	reminders map[reminderName]*reminderRow
	news      []*newsRow
}

// messageChange is what becomes of a message that is in the database; nil is no change.
type messageChange struct {
	id                      string
	status                  *string
	result, rejection       *string
	finishedAt, availableAt *int64
	errorKind, errorText    *string
	attempts                int64
}

type effectRow struct {
	instance, message string
	*store.Effect
}

type sendRow struct {
	instance, message string
	available         int64
	*store.Send
}

type reminderName struct{ instance, operation, key string }

type reminderRow struct {
	id, policy string
	at         int64
	*store.Reminder
}

type newsRow struct {
	*store.Broadcast
	owner, names, shared string
}

// message is the change of one message, to be filled in.
func (c *changes) message(id string) *messageChange {
	if m := c.messages[id]; m != nil {
		return m
	}
	if c.messages == nil {
		c.messages = map[string]*messageChange{}
	}
	m := &messageChange{id: id}
	c.messages[id] = m
	c.order = append(c.order, m)
	return m
}

// dead makes a dead letter of a live message.
func (w *work) dead(id, kind, text, stack string) {
	d := &w.changes.dead
	for i, s := range []string{id, kind, text, stack} {
		d[i] = append(d[i], s)
	}
	m := w.changes.message(id)
	m.status, m.finishedAt, m.errorKind, m.errorText = new(string(store.Dead)), new(w.now), &kind, &text
}

// save gathers the writing of everything that the transaction changed: one statement a table, however many rows.
func (w *work) save() error {
	c := w.changes
	w.changes = changes{}
	boxes := slices.SortedFunc(maps.Values(w.boxes), byID)
	w.saveInstances(boxes)
	w.saveMessages(&c)
	w.saveDead(&c) // after the messages, whose attempts it copies
	if err := w.saveMembership(boxes); err != nil {
		return err
	}
	w.saveOutboxes(&c)
	for _, b := range boxes {
		b.created, b.changed, b.stated = b.created && b.next == 1, false, false
		b.wasClaim, b.wasReady, b.wasDue = b.claimed, b.ready, b.due
	}
	for _, m := range c.fresh {
		m.fresh = false
	}
	return nil
}

func (w *work) saveDead(c *changes) {
	if d := c.dead; len(d[0]) > 0 {
		w.exec(deadInsert, d[0], d[1], d[2], d[3], w.now)
	}
}

func (w *work) saveInstances(boxes []*box) {
	var made []*box
	var u struct {
		id, message, announced    []string
		owner, token, state       []*string
		head, next, generation    []int64
		lease, revision, previous []int64
		broadcast, version        []int64
		paused                    []*int64
		stated, wanted            []bool
	}
	wanting := map[string]*store.Activation{}
	for _, b := range boxes {
		if b.created {
			if b.next > 1 {
				made = append(made, b)
			}
			continue
		}
		if !b.changed {
			continue
		}
		u.id, u.message, u.announced = append(u.id, b.id), append(u.message, b.message), append(u.announced, b.announced)
		u.owner, u.token = append(u.owner, optional(b.owner)), append(u.token, optional(b.token))
		u.head, u.next, u.generation = append(u.head, b.head), append(u.next, b.next), append(u.generation, b.generation)
		u.lease, u.revision, u.previous = append(u.lease, b.lease), append(u.revision, b.revision), append(u.previous, b.previous)
		u.broadcast, u.version = append(u.broadcast, b.broadcast), append(u.version, b.version)
		var paused *int64
		if b.paused != 0 {
			paused = &b.paused
		}
		u.paused = append(u.paused, paused)
		var state *string
		if b.stated {
			state = doc(b.state)
		}
		u.stated, u.state = append(u.stated, b.stated), append(u.state, state)
		u.wanted = append(u.wanted, b.wanted != nil)
		if b.wanted != nil {
			wanting[b.id], b.wanted = b.wanted, nil
		}
	}
	if len(made) > 0 {
		w.makeInstances(made)
	}
	if len(u.id) > 0 {
		w.wrote = true
		w.query(instanceUpdate, func(rows pgx.Rows) error {
			var id string
			var state []byte
			if err := rows.Scan(&id, &state); err != nil {
				return err
			}
			if a := wanting[id]; a != nil {
				a.Snapshot.State = state
			}
			return nil
		}, u.id, u.head, u.next, u.owner, u.token, u.generation, u.lease, u.paused, u.revision, u.message, u.previous, u.broadcast,
			u.announced, u.version, u.stated, u.state, u.wanted, w.now)
	}
}

func (w *work) makeInstances(boxes []*box) {
	var id, typ, actor []string
	var owner, token []*string
	var next, generation, lease []int64
	for _, b := range boxes {
		id, typ, actor = append(id, b.id), append(typ, b.key.Type), append(actor, b.key.ID)
		owner, token = append(owner, optional(b.owner)), append(token, optional(b.token))
		next, generation, lease = append(next, b.next), append(generation, b.generation), append(lease, b.lease)
	}
	w.exec(instanceInsert, id, typ, actor, next, owner, token, generation, lease, w.now)
}

func (w *work) saveMessages(c *changes) {
	if len(c.fresh) > 0 {
		var id, instance, operation, origin []string
		var arguments, key, fingerprint, meta []*string
		var sequence, attempts, most, enqueued, available []int64
		for _, m := range c.fresh {
			id, instance, sequence = append(id, m.ID), append(instance, m.Instance), append(sequence, m.Sequence)
			operation, origin = append(operation, m.Operation), append(origin, string(m.Origin))
			arguments, meta = append(arguments, doc(m.Arguments)), append(meta, doc(m.Meta))
			key, fingerprint = append(key, optional(m.IdempotencyKey)), append(fingerprint, optional(m.Fingerprint))
			made := int64(m.Attempts)
			if b := w.boxes[m.Instance]; b != nil && b.claimed == m.ID {
				made-- // the row of claimed counts it
			}
			attempts, most = append(attempts, made), append(most, int64(m.MaxAttempts))
			enqueued, available = append(enqueued, micros(m.EnqueuedAt)), append(available, micros(m.AvailableAt))
		}
		w.exec(messageInsert, id, instance, sequence, operation, arguments, origin, key, fingerprint, attempts, most, enqueued, available, meta)
	}
	if len(c.order) > 0 {
		var id []string
		var status, result, rejection, kind, text []*string
		var finished, available []*int64
		var attempts []int64
		for _, m := range c.order {
			id, status, result = append(id, m.id), append(status, m.status), append(result, m.result)
			rejection, kind, text = append(rejection, m.rejection), append(kind, m.errorKind), append(text, m.errorText)
			finished, available, attempts = append(finished, m.finishedAt), append(available, m.availableAt), append(attempts, m.attempts)
		}
		w.exec(messageUpdate, id, status, result, rejection, finished, available, kind, text, attempts)
	}
}

// saveMembership writes what changed of ready and claimed.
func (w *work) saveMembership(boxes []*box) error {
	var unclaimed, unready []string
	var claim, ready struct {
		instance, message, typ []string
		sequence, due          []int64
	}
	for _, b := range boxes {
		switch {
		case b.claimed == b.wasClaim:
		case b.claimed == "":
			unclaimed = append(unclaimed, b.id)
		default:
			claim.instance, claim.message = append(claim.instance, b.id), append(claim.message, b.claimed)
			claim.sequence = append(claim.sequence, b.head)
		}
		switch {
		case !b.ready && b.wasReady:
			unready = append(unready, b.id)
		case b.ready && (!b.wasReady || b.due != b.wasDue):
			m := b.messages[b.head]
			if m == nil {
				return fmt.Errorf("instance %s is ready without its head", b.id)
			}
			ready.instance, ready.message = append(ready.instance, b.id), append(ready.message, m.ID)
			ready.sequence, ready.due, ready.typ = append(ready.sequence, b.head), append(ready.due, b.due), append(ready.typ, b.key.Type)
		}
	}
	if len(unclaimed) > 0 {
		w.exec(claimedDelete, unclaimed)
	}
	if len(unready) > 0 {
		w.exec(readyDelete, unready)
	}
	if len(claim.instance) > 0 {
		w.exec(claimedSet, claim.instance, claim.sequence, claim.message, w.now)
	}
	if len(ready.instance) > 0 {
		w.exec(readySet, ready.instance, ready.sequence, ready.message, ready.typ, ready.due)
	}
	return nil
}

func (w *work) saveOutboxes(c *changes) {
	if len(c.effects) > 0 {
		var id, instance, message, name []string
		var arguments, done, failed, meta []*string
		var most []int64
		for _, e := range c.effects {
			id, instance, message, name = append(id, e.ID), append(instance, e.instance), append(message, e.message), append(name, e.Name)
			arguments, meta = append(arguments, doc(e.Arguments)), append(meta, doc(e.Meta))
			done, failed, most = append(done, optional(e.Done)), append(failed, optional(e.Failed)), append(most, int64(e.MaxAttempts))
		}
		w.exec(effectInsert, id, instance, message, name, arguments, done, failed, most, meta, w.now)
	}
	if len(c.sends) > 0 {
		var id, instance, message, typ, actor, operation []string
		var arguments, key, fingerprint, meta []*string
		var most, available []int64
		for _, x := range c.sends {
			m := &x.Message
			id, instance, message = append(id, x.ID), append(instance, x.instance), append(message, x.message)
			typ, actor, operation = append(typ, x.To.Type), append(actor, x.To.ID), append(operation, m.Operation)
			arguments, meta = append(arguments, doc(m.Arguments)), append(meta, doc(m.Meta))
			key, fingerprint = append(key, optional(m.IdempotencyKey)), append(fingerprint, optional(m.Fingerprint))
			most, available = append(most, int64(m.MaxAttempts)), append(available, x.available)
		}
		w.exec(sendInsert, id, instance, message, typ, actor, operation, arguments, key, fingerprint, most, available, meta, w.now)
	}
	w.saveReminders(c)
	if len(c.news) > 0 {
		var instance, id, typ, actor, message, names, shared, owner []string
		var revision, previous []int64
		for _, b := range c.news {
			instance, id, typ, actor = append(instance, b.Instance), append(id, b.ID), append(typ, b.Actor.Type), append(actor, b.Actor.ID)
			revision, previous, message = append(revision, b.Revision), append(previous, b.Previous), append(message, b.Message)
			names, shared, owner = append(names, b.names), append(shared, b.shared), append(owner, b.owner)
		}
		w.exec(broadcastSet, instance, id, typ, actor, revision, previous, message, names, shared, owner, w.now)
	}
}

func (w *work) saveReminders(c *changes) {
	var gone, set struct {
		instance, operation, key, id, policy []string
		arguments                            []*string
		every, at                            []int64
	}
	for n, r := range c.reminders {
		if r.Cancel {
			gone.instance, gone.operation, gone.key = append(gone.instance, n.instance), append(gone.operation, n.operation), append(gone.key, n.key)
			continue
		}
		set.id, set.instance = append(set.id, r.id), append(set.instance, n.instance)
		set.operation, set.key = append(set.operation, n.operation), append(set.key, n.key)
		set.arguments, set.policy = append(set.arguments, doc(r.Arguments)), append(set.policy, r.policy)
		set.every, set.at = append(set.every, r.Interval.Microseconds()), append(set.at, r.at)
	}
	if len(gone.instance) > 0 {
		w.exec(reminderCancel, gone.instance, gone.operation, gone.key)
	}
	if len(set.id) > 0 {
		w.exec(reminderSet, set.id, set.instance, set.operation, set.key, set.arguments, set.every, set.policy, set.at)
	}
}

// doc is a document as a parameter; one that is not there is null.
func doc(d json.RawMessage) *string {
	if d == nil {
		return nil
	}
	return new(string(d))
}

// optional is a text as a parameter; an empty one is null.
func optional(s string) *string {
	if s == "" {
		return nil
	}
	return &s
}
