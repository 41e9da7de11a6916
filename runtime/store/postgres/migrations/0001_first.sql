-- The tables of Lockstep. Times are microseconds since the epoch, documents the JSON text that Go encoded, ids UUIDs
-- made by clients; every key is compared byte by byte. Nothing cascades: what is deleted together is deleted by name,
-- in one transaction.

CREATE TABLE lockstep.lockstep_processes (
	id         text   COLLATE "C" NOT NULL PRIMARY KEY,
	kind       text   NOT NULL,
	host       text   NOT NULL,
	pid        bigint NOT NULL,
	metadata   text,
	started_at bigint NOT NULL,
	beat_at    bigint NOT NULL,
	stopped_at bigint,
	state      text   NOT NULL CHECK (state IN ('running', 'draining', 'stopped'))
);

-- One incarnation of an actor. The live mailbox is the range [head_sequence, next_sequence). No full unique index is on
-- a column that changes: a claim's lock never has to grow into a stronger one.
CREATE TABLE lockstep.lockstep_instances (
	id                   text   COLLATE "C" NOT NULL PRIMARY KEY,
	actor_type           text   COLLATE "C" NOT NULL,
	actor_id             text   COLLATE "C" NOT NULL,
	head_sequence        bigint NOT NULL DEFAULT 1,
	next_sequence        bigint NOT NULL DEFAULT 1,
	owner                text   COLLATE "C",
	token                text   COLLATE "C",
	generation           bigint NOT NULL DEFAULT 0,
	lease_until          bigint NOT NULL DEFAULT 0,
	paused_at            bigint,
	revision             bigint NOT NULL DEFAULT 0, -- sequence of the last message that committed state
	message_id           text   COLLATE "C" NOT NULL DEFAULT '', -- of that message
	broadcast_previous   bigint NOT NULL DEFAULT 0,
	broadcast_revision   bigint NOT NULL DEFAULT 0,
	broadcast_message_id text   COLLATE "C" NOT NULL DEFAULT '',
	created_at           bigint NOT NULL,
	last_used_at         bigint NOT NULL,
	codec                text   NOT NULL DEFAULT 'json',
	state_version        bigint NOT NULL DEFAULT 0,
	state                text
) WITH (fillfactor = 70);

CREATE UNIQUE INDEX lockstep_instances_actor ON lockstep.lockstep_instances (actor_type, actor_id);

-- For recovery: what a dead process owns.
CREATE INDEX lockstep_instances_owner ON lockstep.lockstep_instances (owner) WHERE owner IS NOT NULL;

-- History from the moment of the enqueue.
CREATE TABLE lockstep.lockstep_messages (
	id              text   COLLATE "C" NOT NULL PRIMARY KEY,
	instance_id     text   COLLATE "C" NOT NULL,
	sequence        bigint NOT NULL,
	operation       text   COLLATE "C" NOT NULL,
	arguments       text,
	origin          text   NOT NULL,
	idempotency_key text   COLLATE "C",
	fingerprint     text   COLLATE "C",
	attempts        bigint NOT NULL CHECK (attempts >= 0),
	max_attempts    bigint NOT NULL,
	enqueued_at     bigint NOT NULL,
	available_at    bigint NOT NULL,
	finished_at     bigint,
	status          text   NOT NULL CHECK (status IN ('live', 'completed', 'rejected', 'dead')),
	result          text,
	rejection       text,
	error_kind      text,
	error_text      text,
	meta            text
);

CREATE UNIQUE INDEX lockstep_messages_sequence ON lockstep.lockstep_messages (instance_id, sequence);

CREATE UNIQUE INDEX lockstep_messages_key ON lockstep.lockstep_messages (instance_id, idempotency_key)
	WHERE idempotency_key IS NOT NULL;

-- For retention: the oldest that may go.
CREATE INDEX lockstep_messages_finished ON lockstep.lockstep_messages (finished_at)
	WHERE status IN ('completed', 'rejected');

-- One row for each mailbox whose head waits. due_at is since when, or from when, it may be claimed: the head's
-- availability, or a later moment where the actor yielded, or never (the largest integer) while it is paused.
CREATE TABLE lockstep.lockstep_ready (
	instance_id text   COLLATE "C" NOT NULL PRIMARY KEY,
	sequence    bigint NOT NULL,
	message_id  text   COLLATE "C" NOT NULL,
	actor_type  text   COLLATE "C" NOT NULL,
	queue       text   COLLATE "C" NOT NULL DEFAULT '',
	priority    bigint NOT NULL DEFAULT 0,
	due_at      bigint NOT NULL
);

CREATE INDEX lockstep_ready_pick ON lockstep.lockstep_ready (queue, priority, due_at, actor_type);

-- One row for each mailbox whose head is being processed; the fence is on the instance.
CREATE TABLE lockstep.lockstep_claimed (
	instance_id text   COLLATE "C" NOT NULL PRIMARY KEY,
	sequence    bigint NOT NULL,
	message_id  text   COLLATE "C" NOT NULL,
	claimed_at  bigint NOT NULL
) WITH (fillfactor = 70);

-- next_at is the next occurrence on the reminder's grid, due_at when to try it.
CREATE TABLE lockstep.lockstep_reminders (
	id          text   COLLATE "C" NOT NULL PRIMARY KEY,
	instance_id text   COLLATE "C" NOT NULL,
	operation   text   COLLATE "C" NOT NULL,
	key         text   COLLATE "C" NOT NULL,
	arguments   text,
	interval    bigint NOT NULL CHECK (interval >= 0),
	catch_up    text   NOT NULL CHECK (catch_up IN ('latest', 'all')),
	next_at     bigint NOT NULL,
	due_at      bigint NOT NULL
);

CREATE UNIQUE INDEX lockstep_reminders_name ON lockstep.lockstep_reminders (instance_id, operation, key);

CREATE INDEX lockstep_reminders_due ON lockstep.lockstep_reminders (due_at);

-- A pending effect may be taken from due_at on; while it is owned, that is the end of the owner's lease.
CREATE TABLE lockstep.lockstep_effects (
	id           text   COLLATE "C" NOT NULL PRIMARY KEY,
	instance_id  text   COLLATE "C" NOT NULL,
	message_id   text   COLLATE "C" NOT NULL,
	name         text   COLLATE "C" NOT NULL,
	arguments    text,
	done         text   COLLATE "C",
	failed       text   COLLATE "C",
	attempts     bigint NOT NULL DEFAULT 0 CHECK (attempts >= 0),
	max_attempts bigint NOT NULL,
	owner        text   COLLATE "C",
	due_at       bigint NOT NULL,
	finished_at  bigint,
	error_kind   text,
	error_text   text,
	meta         text,
	state        text   NOT NULL DEFAULT 'pending' CHECK (state IN ('pending', 'failed'))
);

CREATE INDEX lockstep_effects_due ON lockstep.lockstep_effects (due_at, name) WHERE state = 'pending';

CREATE INDEX lockstep_effects_failed ON lockstep.lockstep_effects (finished_at) WHERE state = 'failed';

CREATE INDEX lockstep_effects_owner ON lockstep.lockstep_effects (owner) WHERE owner IS NOT NULL;

CREATE INDEX lockstep_effects_instance ON lockstep.lockstep_effects (instance_id);

-- Messages from actor to actor, not yet in their mailbox; position is the order of staging.
CREATE TABLE lockstep.lockstep_sends (
	position        bigint GENERATED BY DEFAULT AS IDENTITY PRIMARY KEY,
	id              text   COLLATE "C" NOT NULL,
	instance_id     text   COLLATE "C" NOT NULL, -- of the sender
	message_id      text   COLLATE "C" NOT NULL, -- that sent it
	target_type     text   COLLATE "C" NOT NULL,
	target_id       text   COLLATE "C" NOT NULL,
	operation       text   COLLATE "C" NOT NULL,
	arguments       text,
	idempotency_key text   COLLATE "C",
	fingerprint     text   COLLATE "C",
	max_attempts    bigint NOT NULL,
	available_at    bigint NOT NULL,
	due_at          bigint NOT NULL,
	meta            text
);

CREATE UNIQUE INDEX lockstep_sends_id ON lockstep.lockstep_sends (id);

CREATE INDEX lockstep_sends_due ON lockstep.lockstep_sends (due_at, position);

CREATE INDEX lockstep_sends_pair ON lockstep.lockstep_sends (instance_id, target_type, target_id, position);

-- What subscribers have not been told; at most one row an actor, since a newer one absorbs it.
CREATE TABLE lockstep.lockstep_broadcasts (
	instance_id text   COLLATE "C" NOT NULL PRIMARY KEY,
	id          text   COLLATE "C" NOT NULL,
	actor_type  text   COLLATE "C" NOT NULL,
	actor_id    text   COLLATE "C" NOT NULL,
	revision    bigint NOT NULL,
	previous    bigint NOT NULL,
	message_id  text   COLLATE "C" NOT NULL,
	names       text   NOT NULL,
	shared      text   NOT NULL,
	owner       text   COLLATE "C",
	claimed_at  bigint NOT NULL
);

CREATE INDEX lockstep_broadcasts_id ON lockstep.lockstep_broadcasts (id);

CREATE INDEX lockstep_broadcasts_claimed ON lockstep.lockstep_broadcasts (claimed_at);

CREATE INDEX lockstep_broadcasts_owner ON lockstep.lockstep_broadcasts (owner) WHERE owner IS NOT NULL;

-- Messages that were given up, complete: retention of messages does not touch them.
CREATE TABLE lockstep.lockstep_dead_letters (
	id              text   COLLATE "C" NOT NULL PRIMARY KEY, -- the message's id
	instance_id     text   COLLATE "C" NOT NULL,
	actor_type      text   COLLATE "C" NOT NULL,
	actor_id        text   COLLATE "C" NOT NULL,
	sequence        bigint NOT NULL,
	operation       text   COLLATE "C" NOT NULL,
	arguments       text,
	origin          text   NOT NULL,
	idempotency_key text   COLLATE "C",
	fingerprint     text   COLLATE "C",
	attempts        bigint NOT NULL,
	max_attempts    bigint NOT NULL,
	enqueued_at     bigint NOT NULL,
	available_at    bigint NOT NULL,
	failed_at       bigint NOT NULL,
	error_kind      text   NOT NULL,
	error_text      text   NOT NULL,
	stack           text   NOT NULL,
	meta            text,
	replacement     text   COLLATE "C" NOT NULL DEFAULT '' -- id of the message that a retry made
);

CREATE INDEX lockstep_dead_letters_failed ON lockstep.lockstep_dead_letters (failed_at, id);

CREATE INDEX lockstep_dead_letters_instance ON lockstep.lockstep_dead_letters (instance_id);

-- Destroyed instances whose history is still to be deleted.
CREATE TABLE lockstep.lockstep_tombstones (
	instance_id text COLLATE "C" NOT NULL PRIMARY KEY
);
