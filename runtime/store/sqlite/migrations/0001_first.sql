-- The tables of Lockstep. Times are microseconds since the epoch, documents the JSON text that Go encoded, ids UUIDs
-- made by clients. Nothing cascades: what is deleted together is deleted by name, in one transaction.

CREATE TABLE lockstep_processes (
	id         TEXT    NOT NULL PRIMARY KEY,
	kind       TEXT    NOT NULL,
	host       TEXT    NOT NULL,
	pid        INTEGER NOT NULL,
	metadata   TEXT,
	locked     INTEGER NOT NULL, -- 1 where its lock can be asked whether it lives
	started_at INTEGER NOT NULL,
	beat_at    INTEGER NOT NULL,
	stopped_at INTEGER,
	state      TEXT    NOT NULL CHECK (state IN ('running', 'draining', 'stopped'))
) STRICT, WITHOUT ROWID;

-- One incarnation of an actor. The live mailbox is the range [head_sequence, next_sequence). The state is the last
-- column so that the rest of the row is read without it.
CREATE TABLE lockstep_instances (
	id                   TEXT    NOT NULL PRIMARY KEY,
	actor_type           TEXT    NOT NULL,
	actor_id             TEXT    NOT NULL,
	head_sequence        INTEGER NOT NULL DEFAULT 1,
	next_sequence        INTEGER NOT NULL DEFAULT 1,
	tail                 TEXT    NOT NULL DEFAULT '', -- id of the newest message
	owner                TEXT,
	token                TEXT,
	generation           INTEGER NOT NULL DEFAULT 0,
	lease_until          INTEGER NOT NULL DEFAULT 0,
	paused_at            INTEGER,
	revision             INTEGER NOT NULL DEFAULT 0, -- sequence of the last message that committed state
	message_id           TEXT    NOT NULL DEFAULT '', -- of that message
	broadcast_previous   INTEGER NOT NULL DEFAULT 0,
	broadcast_revision   INTEGER NOT NULL DEFAULT 0,
	broadcast_message_id TEXT    NOT NULL DEFAULT '',
	created_at           INTEGER NOT NULL,
	last_used_at         INTEGER NOT NULL,
	codec                TEXT    NOT NULL DEFAULT 'json',
	state_version        INTEGER NOT NULL DEFAULT 0,
	state                TEXT
) STRICT, WITHOUT ROWID;

CREATE UNIQUE INDEX lockstep_instances_actor ON lockstep_instances (actor_type, actor_id);

-- For recovery: what a dead process owns.
CREATE INDEX lockstep_instances_owner ON lockstep_instances (owner) WHERE owner IS NOT NULL;

-- History from the moment of the enqueue. Ids grow with time, so rows are appended. There is no index by instance and
-- sequence: it would be written at another place for each actor, and cost more than all the rest of a turn. What is
-- live is found through ready, claimed and queued; the history of one actor through previous, backwards from its
-- instance's tail. Checks are left to the statements for the same reason.
CREATE TABLE lockstep_messages (
	id              TEXT    NOT NULL PRIMARY KEY,
	instance_id     TEXT    NOT NULL,
	sequence        INTEGER NOT NULL,
	previous        TEXT    NOT NULL, -- id of the instance's message before, or ''
	operation       TEXT    NOT NULL,
	arguments       TEXT,
	origin          TEXT    NOT NULL,
	idempotency_key TEXT,
	fingerprint     TEXT,
	attempts        INTEGER NOT NULL,
	max_attempts    INTEGER NOT NULL,
	enqueued_at     INTEGER NOT NULL,
	available_at    INTEGER NOT NULL,
	finished_at     INTEGER,
	status          TEXT    NOT NULL, -- live, completed, rejected, dead
	result          TEXT,
	rejection       TEXT,
	error_kind      TEXT,
	error_text      TEXT,
	meta            TEXT
) STRICT, WITHOUT ROWID;

CREATE UNIQUE INDEX lockstep_messages_key ON lockstep_messages (instance_id, idempotency_key)
	WHERE idempotency_key IS NOT NULL;

-- For retention: the oldest that may go.
CREATE INDEX lockstep_messages_finished ON lockstep_messages (finished_at)
	WHERE status IN ('completed', 'rejected');

-- One row for each mailbox whose head waits. due_at is since when, or from when, it may be claimed: the head's
-- availability, or a later moment where the actor yielded, or never (the largest integer) while it is paused.
CREATE TABLE lockstep_ready (
	instance_id TEXT    NOT NULL PRIMARY KEY,
	sequence    INTEGER NOT NULL,
	message_id  TEXT    NOT NULL,
	actor_type  TEXT    NOT NULL,
	queue       TEXT    NOT NULL DEFAULT '',
	priority    INTEGER NOT NULL DEFAULT 0,
	due_at      INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE INDEX lockstep_ready_pick ON lockstep_ready (queue, priority, due_at, actor_type);

-- Live messages behind the head of their mailbox.
CREATE TABLE lockstep_queued (
	instance_id TEXT    NOT NULL,
	sequence    INTEGER NOT NULL,
	message_id  TEXT    NOT NULL,
	PRIMARY KEY (instance_id, sequence)
) STRICT, WITHOUT ROWID;

-- One row for each mailbox whose head is being processed; the fence is on the instance.
CREATE TABLE lockstep_claimed (
	instance_id TEXT    NOT NULL PRIMARY KEY,
	sequence    INTEGER NOT NULL,
	message_id  TEXT    NOT NULL,
	claimed_at  INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

-- next_at is the next occurrence on the reminder's grid, due_at when to try it.
CREATE TABLE lockstep_reminders (
	id          TEXT    NOT NULL PRIMARY KEY,
	instance_id TEXT    NOT NULL,
	operation   TEXT    NOT NULL,
	key         TEXT    NOT NULL,
	arguments   TEXT,
	interval    INTEGER NOT NULL CHECK (interval >= 0),
	catch_up    TEXT    NOT NULL CHECK (catch_up IN ('latest', 'all')),
	next_at     INTEGER NOT NULL,
	due_at      INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE UNIQUE INDEX lockstep_reminders_name ON lockstep_reminders (instance_id, operation, key);

CREATE INDEX lockstep_reminders_due ON lockstep_reminders (due_at);

-- A pending effect may be taken from due_at on; while it is owned, that is the end of the owner's lease.
CREATE TABLE lockstep_effects (
	id           TEXT    NOT NULL PRIMARY KEY,
	instance_id  TEXT    NOT NULL,
	message_id   TEXT    NOT NULL,
	name         TEXT    NOT NULL,
	arguments    TEXT,
	done         TEXT,
	failed       TEXT,
	attempts     INTEGER NOT NULL DEFAULT 0 CHECK (attempts >= 0),
	max_attempts INTEGER NOT NULL,
	owner        TEXT,
	due_at       INTEGER NOT NULL,
	finished_at  INTEGER,
	error_kind   TEXT,
	error_text   TEXT,
	meta         TEXT,
	state        TEXT    NOT NULL DEFAULT 'pending' CHECK (state IN ('pending', 'failed'))
) STRICT, WITHOUT ROWID;

CREATE INDEX lockstep_effects_due ON lockstep_effects (due_at, name) WHERE state = 'pending';

CREATE INDEX lockstep_effects_failed ON lockstep_effects (finished_at) WHERE state = 'failed';

CREATE INDEX lockstep_effects_owner ON lockstep_effects (owner) WHERE owner IS NOT NULL;

CREATE INDEX lockstep_effects_instance ON lockstep_effects (instance_id);

-- Messages from actor to actor, not yet in their mailbox; position is the order of staging.
CREATE TABLE lockstep_sends (
	position        INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT,
	id              TEXT    NOT NULL UNIQUE,
	instance_id     TEXT    NOT NULL, -- of the sender
	message_id      TEXT    NOT NULL, -- that sent it
	target_type     TEXT    NOT NULL,
	target_id       TEXT    NOT NULL,
	operation       TEXT    NOT NULL,
	arguments       TEXT,
	idempotency_key TEXT,
	fingerprint     TEXT,
	max_attempts    INTEGER NOT NULL,
	available_at    INTEGER NOT NULL,
	due_at          INTEGER NOT NULL,
	meta            TEXT
) STRICT;

CREATE INDEX lockstep_sends_due ON lockstep_sends (due_at, position);

CREATE INDEX lockstep_sends_pair ON lockstep_sends (instance_id, target_type, target_id, position);

-- What subscribers have not been told; at most one row an actor, since a newer one absorbs it.
CREATE TABLE lockstep_broadcasts (
	instance_id TEXT    NOT NULL PRIMARY KEY,
	id          TEXT    NOT NULL UNIQUE,
	actor_type  TEXT    NOT NULL,
	actor_id    TEXT    NOT NULL,
	revision    INTEGER NOT NULL,
	previous    INTEGER NOT NULL,
	message_id  TEXT    NOT NULL,
	names       TEXT    NOT NULL,
	shared      TEXT    NOT NULL,
	owner       TEXT,
	claimed_at  INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE INDEX lockstep_broadcasts_claimed ON lockstep_broadcasts (claimed_at);

-- Messages that were given up, complete: retention of messages does not touch them.
CREATE TABLE lockstep_dead_letters (
	id              TEXT    NOT NULL PRIMARY KEY, -- the message's id
	instance_id     TEXT    NOT NULL,
	actor_type      TEXT    NOT NULL,
	actor_id        TEXT    NOT NULL,
	sequence        INTEGER NOT NULL,
	operation       TEXT    NOT NULL,
	arguments       TEXT,
	origin          TEXT    NOT NULL,
	idempotency_key TEXT,
	fingerprint     TEXT,
	attempts        INTEGER NOT NULL,
	max_attempts    INTEGER NOT NULL,
	enqueued_at     INTEGER NOT NULL,
	available_at    INTEGER NOT NULL,
	failed_at       INTEGER NOT NULL,
	error_kind      TEXT    NOT NULL,
	error_text      TEXT    NOT NULL,
	stack           TEXT    NOT NULL,
	meta            TEXT,
	replacement     TEXT    NOT NULL DEFAULT '' -- id of the message that a retry made
) STRICT, WITHOUT ROWID;

CREATE INDEX lockstep_dead_letters_failed ON lockstep_dead_letters (failed_at);

CREATE INDEX lockstep_dead_letters_instance ON lockstep_dead_letters (instance_id);

-- Where the history of destroyed instances begins, backwards: at the tail, and at each dead letter, since retention may
-- have deleted what lay between.
CREATE TABLE lockstep_tombstones (
	instance_id TEXT NOT NULL,
	message_id  TEXT NOT NULL,
	PRIMARY KEY (instance_id, message_id)
) STRICT, WITHOUT ROWID;
