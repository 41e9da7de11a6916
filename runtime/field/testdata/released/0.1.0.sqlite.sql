-- Lockstep 0.1.0 on sqlite: its schema, and what a process left that died in the middle of everything.

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
CREATE TABLE lockstep_claimed (
	instance_id TEXT    NOT NULL PRIMARY KEY,
	sequence    INTEGER NOT NULL,
	message_id  TEXT    NOT NULL,
	claimed_at  INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
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
CREATE TABLE lockstep_queued (
	instance_id TEXT    NOT NULL,
	sequence    INTEGER NOT NULL,
	message_id  TEXT    NOT NULL,
	PRIMARY KEY (instance_id, sequence)
) STRICT, WITHOUT ROWID;
CREATE TABLE lockstep_ready (
	instance_id TEXT    NOT NULL PRIMARY KEY,
	sequence    INTEGER NOT NULL,
	message_id  TEXT    NOT NULL,
	actor_type  TEXT    NOT NULL,
	queue       TEXT    NOT NULL DEFAULT '',
	priority    INTEGER NOT NULL DEFAULT 0,
	due_at      INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
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
CREATE TABLE lockstep_schema_migrations (
	version      INTEGER NOT NULL PRIMARY KEY,
	identity     TEXT    NOT NULL,
	database     TEXT    NOT NULL, -- made at random when the first was installed
	installed_at INTEGER NOT NULL
) STRICT;
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
CREATE TABLE lockstep_tombstones (
	instance_id TEXT NOT NULL,
	message_id  TEXT NOT NULL,
	PRIMARY KEY (instance_id, message_id)
) STRICT, WITHOUT ROWID;
CREATE INDEX lockstep_broadcasts_claimed ON lockstep_broadcasts (claimed_at);
CREATE INDEX lockstep_dead_letters_failed ON lockstep_dead_letters (failed_at);
CREATE INDEX lockstep_dead_letters_instance ON lockstep_dead_letters (instance_id);
CREATE INDEX lockstep_effects_due ON lockstep_effects (due_at, name) WHERE state = 'pending';
CREATE INDEX lockstep_effects_failed ON lockstep_effects (finished_at) WHERE state = 'failed';
CREATE INDEX lockstep_effects_instance ON lockstep_effects (instance_id);
CREATE INDEX lockstep_effects_owner ON lockstep_effects (owner) WHERE owner IS NOT NULL;
CREATE UNIQUE INDEX lockstep_instances_actor ON lockstep_instances (actor_type, actor_id);
CREATE INDEX lockstep_instances_owner ON lockstep_instances (owner) WHERE owner IS NOT NULL;
CREATE INDEX lockstep_messages_finished ON lockstep_messages (finished_at)
	WHERE status IN ('completed', 'rejected');
CREATE UNIQUE INDEX lockstep_messages_key ON lockstep_messages (instance_id, idempotency_key)
	WHERE idempotency_key IS NOT NULL;
CREATE INDEX lockstep_ready_pick ON lockstep_ready (queue, priority, due_at, actor_type);
CREATE INDEX lockstep_reminders_due ON lockstep_reminders (due_at);
CREATE UNIQUE INDEX lockstep_reminders_name ON lockstep_reminders (instance_id, operation, key);
CREATE INDEX lockstep_sends_due ON lockstep_sends (due_at, position);
CREATE INDEX lockstep_sends_pair ON lockstep_sends (instance_id, target_type, target_id, position);

INSERT INTO lockstep_broadcasts (instance_id, id, actor_type, actor_id, revision, previous, message_id, names, shared, owner, claimed_at) VALUES ('01a2298d-30e1-7b99-aa34-ba6b84f77424', '0190aaaa-0000-7000-8000-000000000033', 'order', 'seen', 1, 0, '0190aaaa-0000-7000-8000-000000000031', '["all"]', '{}', '0190aaaa-0000-7000-8000-00000000dead', 1795993448673894);
INSERT INTO lockstep_claimed (instance_id, sequence, message_id, claimed_at) VALUES ('01a2298d-30de-77ba-bda0-7b1ffda47b5d', 1, '0190aaaa-0000-7000-8000-000000000013', 1795993448670499);
INSERT INTO lockstep_dead_letters (id, instance_id, actor_type, actor_id, sequence, operation, arguments, origin, idempotency_key, fingerprint, attempts, max_attempts, enqueued_at, available_at, failed_at, error_kind, error_text, stack, meta, replacement) VALUES ('0190aaaa-0000-7000-8000-000000000005', '01a2298d-30dd-706e-af74-156edae56841', 'order', 'dead', 1, 'add', '"given up"', 'client', NULL, NULL, 1, 5, 1795993448669019, 1795993448669019, 1795993448669216, '*errors.errorString', 'no', 'main.go:1', '{"trace":"00-1-2-03"}', '');
INSERT INTO lockstep_dead_letters (id, instance_id, actor_type, actor_id, sequence, operation, arguments, origin, idempotency_key, fingerprint, attempts, max_attempts, enqueued_at, available_at, failed_at, error_kind, error_text, stack, meta, replacement) VALUES ('0190aaaa-0000-7000-8000-000000000007', '01a2298d-30dd-706e-af74-156edae56841', 'order', 'dead', 2, 'add', '"retried"', 'client', NULL, NULL, 1, 5, 1795993448669599, 1795993448669599, 1795993448669728, '*errors.errorString', 'no', 'main.go:1', '{"trace":"00-1-2-03"}', '0190aaaa-0000-7000-8000-000000000009');
INSERT INTO lockstep_effects (id, instance_id, message_id, name, arguments, done, failed, attempts, max_attempts, owner, due_at, finished_at, error_kind, error_text, meta, state) VALUES ('0190aaaa-0000-7000-8000-000000000023', '01a2298d-30df-7452-8100-76a6be0c098c', '0190aaaa-0000-7000-8000-000000000021', 'ship', '"mug"', 'shipped', 'refused', 1, 5, '0190aaaa-0000-7000-8000-00000000dead', 1795993449672972, NULL, NULL, NULL, NULL, 'pending');
INSERT INTO lockstep_effects (id, instance_id, message_id, name, arguments, done, failed, attempts, max_attempts, owner, due_at, finished_at, error_kind, error_text, meta, state) VALUES ('0190aaaa-0000-7000-8000-000000000024', '01a2298d-30df-7452-8100-76a6be0c098c', '0190aaaa-0000-7000-8000-000000000021', 'ship', '"lost"', 'shipped', 'refused', 0, 5, NULL, 1795993448671998, NULL, NULL, NULL, NULL, 'pending');
INSERT INTO lockstep_instances (id, actor_type, actor_id, head_sequence, next_sequence, tail, owner, token, generation, lease_until, paused_at, revision, message_id, broadcast_previous, broadcast_revision, broadcast_message_id, created_at, last_used_at, codec, state_version, state) VALUES ('01a2298d-30db-7cb2-8ef7-fc5f599cb03f', 'order', 'history', 3, 3, '0190aaaa-0000-7000-8000-000000000003', NULL, NULL, 2, 0, NULL, 1, '0190aaaa-0000-7000-8000-000000000001', 0, 0, '', 1795993448667745, 1795993448668763, 'json', 1, '{"lines":["first"]}');
INSERT INTO lockstep_instances (id, actor_type, actor_id, head_sequence, next_sequence, tail, owner, token, generation, lease_until, paused_at, revision, message_id, broadcast_previous, broadcast_revision, broadcast_message_id, created_at, last_used_at, codec, state_version, state) VALUES ('01a2298d-30dd-706e-af74-156edae56841', 'order', 'dead', 3, 4, '0190aaaa-0000-7000-8000-000000000009', NULL, NULL, 2, 0, NULL, 0, '', 0, 0, '', 1795993448669019, 1795993448669877, 'json', 0, NULL);
INSERT INTO lockstep_instances (id, actor_type, actor_id, head_sequence, next_sequence, tail, owner, token, generation, lease_until, paused_at, revision, message_id, broadcast_previous, broadcast_revision, broadcast_message_id, created_at, last_used_at, codec, state_version, state) VALUES ('01a2298d-30de-7240-93a7-c708b0309e09', 'order', 'queued', 1, 4, '0190aaaa-0000-7000-8000-000000000012', NULL, NULL, 0, 0, NULL, 0, '', 0, 0, '', 1795993448670138, 1795993448670382, 'json', 0, NULL);
INSERT INTO lockstep_instances (id, actor_type, actor_id, head_sequence, next_sequence, tail, owner, token, generation, lease_until, paused_at, revision, message_id, broadcast_previous, broadcast_revision, broadcast_message_id, created_at, last_used_at, codec, state_version, state) VALUES ('01a2298d-30de-77ba-bda0-7b1ffda47b5d', 'order', 'claimed', 1, 3, '0190aaaa-0000-7000-8000-000000000015', '0190aaaa-0000-7000-8000-00000000dead', '0190aaaa-0000-7000-8000-000000000014', 1, 1795993449670499, NULL, 0, '', 0, 0, '', 1795993448670499, 1795993448670642, 'json', 0, NULL);
INSERT INTO lockstep_instances (id, actor_type, actor_id, head_sequence, next_sequence, tail, owner, token, generation, lease_until, paused_at, revision, message_id, broadcast_previous, broadcast_revision, broadcast_message_id, created_at, last_used_at, codec, state_version, state) VALUES ('01a2298d-30de-7b8b-88e2-8f515e30e41e', 'order', 'delayed', 1, 2, '0190aaaa-0000-7000-8000-000000000016', NULL, NULL, 0, 0, NULL, 0, '', 0, 0, '', 1795993448670734, 1795993448670734, 'json', 0, NULL);
INSERT INTO lockstep_instances (id, actor_type, actor_id, head_sequence, next_sequence, tail, owner, token, generation, lease_until, paused_at, revision, message_id, broadcast_previous, broadcast_revision, broadcast_message_id, created_at, last_used_at, codec, state_version, state) VALUES ('01a2298d-30de-7dbd-a052-a9fd95642287', 'order', 'reminded', 2, 2, '0190aaaa-0000-7000-8000-000000000017', NULL, NULL, 1, 0, NULL, 1, '0190aaaa-0000-7000-8000-000000000017', 0, 0, '', 1795993448670893, 1795993448671040, 'json', 1, '{"lines":["set"]}');
INSERT INTO lockstep_instances (id, actor_type, actor_id, head_sequence, next_sequence, tail, owner, token, generation, lease_until, paused_at, revision, message_id, broadcast_previous, broadcast_revision, broadcast_message_id, created_at, last_used_at, codec, state_version, state) VALUES ('01a2298d-30df-7452-8100-76a6be0c098c', 'order', 'effects', 2, 2, '0190aaaa-0000-7000-8000-000000000021', NULL, NULL, 1, 0, NULL, 1, '0190aaaa-0000-7000-8000-000000000021', 0, 0, '', 1795993448671275, 1795993448671998, 'json', 1, '{"lines":["asked"]}');
INSERT INTO lockstep_instances (id, actor_type, actor_id, head_sequence, next_sequence, tail, owner, token, generation, lease_until, paused_at, revision, message_id, broadcast_previous, broadcast_revision, broadcast_message_id, created_at, last_used_at, codec, state_version, state) VALUES ('01a2298d-30e1-751b-af8f-c5c2878d2d78', 'order', 'sender', 2, 2, '0190aaaa-0000-7000-8000-000000000025', NULL, NULL, 1, 0, NULL, 1, '0190aaaa-0000-7000-8000-000000000025', 0, 0, '', 1795993448673325, 1795993448673537, 'json', 1, '{"lines":["sent"]}');
INSERT INTO lockstep_instances (id, actor_type, actor_id, head_sequence, next_sequence, tail, owner, token, generation, lease_until, paused_at, revision, message_id, broadcast_previous, broadcast_revision, broadcast_message_id, created_at, last_used_at, codec, state_version, state) VALUES ('01a2298d-30e1-7b99-aa34-ba6b84f77424', 'order', 'seen', 2, 2, '0190aaaa-0000-7000-8000-000000000031', NULL, NULL, 1, 0, NULL, 1, '0190aaaa-0000-7000-8000-000000000031', 0, 1, '0190aaaa-0000-7000-8000-000000000031', 1795993448673752, 1795993448673894, 'json', 1, '{"lines":["news"]}');
INSERT INTO lockstep_instances (id, actor_type, actor_id, head_sequence, next_sequence, tail, owner, token, generation, lease_until, paused_at, revision, message_id, broadcast_previous, broadcast_revision, broadcast_message_id, created_at, last_used_at, codec, state_version, state) VALUES ('01a2298d-30e2-735a-aef4-7c097da1e875', 'order', 'paused', 1, 2, '0190aaaa-0000-7000-8000-000000000034', NULL, NULL, 0, 0, 1795993448674289, 0, '', 0, 0, '', 1795993448674212, 1795993448674212, 'json', 0, NULL);
INSERT INTO lockstep_messages (id, instance_id, sequence, previous, operation, arguments, origin, idempotency_key, fingerprint, attempts, max_attempts, enqueued_at, available_at, finished_at, status, result, rejection, error_kind, error_text, meta) VALUES ('0190aaaa-0000-7000-8000-000000000001', '01a2298d-30db-7cb2-8ef7-fc5f599cb03f', 1, '', 'add', '"first"', 'client', 'key', 'print', 1, 5, 1795993448667745, 1795993448667745, 1795993448668194, 'completed', '1', NULL, NULL, NULL, '{"trace":"00-1-2-03"}');
INSERT INTO lockstep_messages (id, instance_id, sequence, previous, operation, arguments, origin, idempotency_key, fingerprint, attempts, max_attempts, enqueued_at, available_at, finished_at, status, result, rejection, error_kind, error_text, meta) VALUES ('0190aaaa-0000-7000-8000-000000000003', '01a2298d-30db-7cb2-8ef7-fc5f599cb03f', 2, '0190aaaa-0000-7000-8000-000000000001', 'add', '"refused"', 'client', NULL, NULL, 1, 5, 1795993448668547, 1795993448668547, 1795993448668763, 'rejected', NULL, '{"code":"closed","message":"it is closed"}', NULL, NULL, '{"trace":"00-1-2-03"}');
INSERT INTO lockstep_messages (id, instance_id, sequence, previous, operation, arguments, origin, idempotency_key, fingerprint, attempts, max_attempts, enqueued_at, available_at, finished_at, status, result, rejection, error_kind, error_text, meta) VALUES ('0190aaaa-0000-7000-8000-000000000005', '01a2298d-30dd-706e-af74-156edae56841', 1, '', 'add', '"given up"', 'client', NULL, NULL, 1, 5, 1795993448669019, 1795993448669019, 1795993448669216, 'dead', NULL, NULL, '*errors.errorString', 'no', '{"trace":"00-1-2-03"}');
INSERT INTO lockstep_messages (id, instance_id, sequence, previous, operation, arguments, origin, idempotency_key, fingerprint, attempts, max_attempts, enqueued_at, available_at, finished_at, status, result, rejection, error_kind, error_text, meta) VALUES ('0190aaaa-0000-7000-8000-000000000007', '01a2298d-30dd-706e-af74-156edae56841', 2, '0190aaaa-0000-7000-8000-000000000005', 'add', '"retried"', 'client', NULL, NULL, 1, 5, 1795993448669599, 1795993448669599, 1795993448669728, 'dead', NULL, NULL, '*errors.errorString', 'no', '{"trace":"00-1-2-03"}');
INSERT INTO lockstep_messages (id, instance_id, sequence, previous, operation, arguments, origin, idempotency_key, fingerprint, attempts, max_attempts, enqueued_at, available_at, finished_at, status, result, rejection, error_kind, error_text, meta) VALUES ('0190aaaa-0000-7000-8000-000000000009', '01a2298d-30dd-706e-af74-156edae56841', 3, '0190aaaa-0000-7000-8000-000000000007', 'add', '"retried"', 'operator', NULL, NULL, 0, 5, 1795993448669877, 1795993448669877, NULL, 'live', NULL, NULL, NULL, NULL, '{"trace":"00-1-2-03"}');
INSERT INTO lockstep_messages (id, instance_id, sequence, previous, operation, arguments, origin, idempotency_key, fingerprint, attempts, max_attempts, enqueued_at, available_at, finished_at, status, result, rejection, error_kind, error_text, meta) VALUES ('0190aaaa-0000-7000-8000-000000000010', '01a2298d-30de-7240-93a7-c708b0309e09', 1, '', 'add', '"one"', 'client', NULL, NULL, 0, 5, 1795993448670138, 1795993448670138, NULL, 'live', NULL, NULL, NULL, NULL, '{"trace":"00-1-2-03"}');
INSERT INTO lockstep_messages (id, instance_id, sequence, previous, operation, arguments, origin, idempotency_key, fingerprint, attempts, max_attempts, enqueued_at, available_at, finished_at, status, result, rejection, error_kind, error_text, meta) VALUES ('0190aaaa-0000-7000-8000-000000000011', '01a2298d-30de-7240-93a7-c708b0309e09', 2, '0190aaaa-0000-7000-8000-000000000010', 'add', '"two"', 'client', NULL, NULL, 0, 5, 1795993448670256, 1795993448670256, NULL, 'live', NULL, NULL, NULL, NULL, '{"trace":"00-1-2-03"}');
INSERT INTO lockstep_messages (id, instance_id, sequence, previous, operation, arguments, origin, idempotency_key, fingerprint, attempts, max_attempts, enqueued_at, available_at, finished_at, status, result, rejection, error_kind, error_text, meta) VALUES ('0190aaaa-0000-7000-8000-000000000012', '01a2298d-30de-7240-93a7-c708b0309e09', 3, '0190aaaa-0000-7000-8000-000000000011', 'add', '"three"', 'client', NULL, NULL, 0, 5, 1795993448670382, 1795993448670382, NULL, 'live', NULL, NULL, NULL, NULL, '{"trace":"00-1-2-03"}');
INSERT INTO lockstep_messages (id, instance_id, sequence, previous, operation, arguments, origin, idempotency_key, fingerprint, attempts, max_attempts, enqueued_at, available_at, finished_at, status, result, rejection, error_kind, error_text, meta) VALUES ('0190aaaa-0000-7000-8000-000000000013', '01a2298d-30de-77ba-bda0-7b1ffda47b5d', 1, '', 'add', '"in flight"', 'client', NULL, NULL, 1, 5, 1795993448670499, 1795993448670499, NULL, 'live', NULL, NULL, NULL, NULL, '{"trace":"00-1-2-03"}');
INSERT INTO lockstep_messages (id, instance_id, sequence, previous, operation, arguments, origin, idempotency_key, fingerprint, attempts, max_attempts, enqueued_at, available_at, finished_at, status, result, rejection, error_kind, error_text, meta) VALUES ('0190aaaa-0000-7000-8000-000000000015', '01a2298d-30de-77ba-bda0-7b1ffda47b5d', 2, '0190aaaa-0000-7000-8000-000000000013', 'add', '"behind it"', 'client', NULL, NULL, 0, 5, 1795993448670642, 1795993448670642, NULL, 'live', NULL, NULL, NULL, NULL, '{"trace":"00-1-2-03"}');
INSERT INTO lockstep_messages (id, instance_id, sequence, previous, operation, arguments, origin, idempotency_key, fingerprint, attempts, max_attempts, enqueued_at, available_at, finished_at, status, result, rejection, error_kind, error_text, meta) VALUES ('0190aaaa-0000-7000-8000-000000000016', '01a2298d-30de-7b8b-88e2-8f515e30e41e', 1, '', 'add', '"far away"', 'client', NULL, NULL, 0, 5, 1795993448670734, 7258118400000000, NULL, 'live', NULL, NULL, NULL, NULL, '{"trace":"00-1-2-03"}');
INSERT INTO lockstep_messages (id, instance_id, sequence, previous, operation, arguments, origin, idempotency_key, fingerprint, attempts, max_attempts, enqueued_at, available_at, finished_at, status, result, rejection, error_kind, error_text, meta) VALUES ('0190aaaa-0000-7000-8000-000000000017', '01a2298d-30de-7dbd-a052-a9fd95642287', 1, '', 'add', '"set"', 'client', NULL, NULL, 1, 5, 1795993448670893, 1795993448670893, 1795993448671040, 'completed', '1', NULL, NULL, NULL, '{"trace":"00-1-2-03"}');
INSERT INTO lockstep_messages (id, instance_id, sequence, previous, operation, arguments, origin, idempotency_key, fingerprint, attempts, max_attempts, enqueued_at, available_at, finished_at, status, result, rejection, error_kind, error_text, meta) VALUES ('0190aaaa-0000-7000-8000-000000000021', '01a2298d-30df-7452-8100-76a6be0c098c', 1, '', 'add', '"asked"', 'client', NULL, NULL, 1, 5, 1795993448671275, 1795993448671275, 1795993448671998, 'completed', '1', NULL, NULL, NULL, '{"trace":"00-1-2-03"}');
INSERT INTO lockstep_messages (id, instance_id, sequence, previous, operation, arguments, origin, idempotency_key, fingerprint, attempts, max_attempts, enqueued_at, available_at, finished_at, status, result, rejection, error_kind, error_text, meta) VALUES ('0190aaaa-0000-7000-8000-000000000025', '01a2298d-30e1-751b-af8f-c5c2878d2d78', 1, '', 'add', '"sent"', 'client', NULL, NULL, 1, 5, 1795993448673325, 1795993448673325, 1795993448673537, 'completed', '1', NULL, NULL, NULL, '{"trace":"00-1-2-03"}');
INSERT INTO lockstep_messages (id, instance_id, sequence, previous, operation, arguments, origin, idempotency_key, fingerprint, attempts, max_attempts, enqueued_at, available_at, finished_at, status, result, rejection, error_kind, error_text, meta) VALUES ('0190aaaa-0000-7000-8000-000000000031', '01a2298d-30e1-7b99-aa34-ba6b84f77424', 1, '', 'add', '"news"', 'client', NULL, NULL, 1, 5, 1795993448673752, 1795993448673752, 1795993448673894, 'completed', '1', NULL, NULL, NULL, '{"trace":"00-1-2-03"}');
INSERT INTO lockstep_messages (id, instance_id, sequence, previous, operation, arguments, origin, idempotency_key, fingerprint, attempts, max_attempts, enqueued_at, available_at, finished_at, status, result, rejection, error_kind, error_text, meta) VALUES ('0190aaaa-0000-7000-8000-000000000034', '01a2298d-30e2-735a-aef4-7c097da1e875', 1, '', 'add', '"held"', 'client', NULL, NULL, 0, 5, 1795993448674212, 1795993448674212, NULL, 'live', NULL, NULL, NULL, NULL, '{"trace":"00-1-2-03"}');
INSERT INTO lockstep_messages (id, instance_id, sequence, previous, operation, arguments, origin, idempotency_key, fingerprint, attempts, max_attempts, enqueued_at, available_at, finished_at, status, result, rejection, error_kind, error_text, meta) VALUES ('0190aaaa-0000-7000-8000-000000000035', '01a2298d-30e2-770c-a8c5-d3543f31613a', 1, '', 'add', '"gone"', 'client', NULL, NULL, 1, 5, 1795993448674455, 1795993448674455, 1795993448674582, 'completed', '1', NULL, NULL, NULL, '{"trace":"00-1-2-03"}');
INSERT INTO lockstep_processes (id, kind, host, pid, metadata, locked, started_at, beat_at, stopped_at, state) VALUES ('0190aaaa-0000-7000-8000-00000000dead', 'runtime', 'old', 1, '{}', 1, 1795993448667458, 1795993448667458, NULL, 'running');
INSERT INTO lockstep_queued (instance_id, sequence, message_id) VALUES ('01a2298d-30de-7240-93a7-c708b0309e09', 2, '0190aaaa-0000-7000-8000-000000000011');
INSERT INTO lockstep_queued (instance_id, sequence, message_id) VALUES ('01a2298d-30de-7240-93a7-c708b0309e09', 3, '0190aaaa-0000-7000-8000-000000000012');
INSERT INTO lockstep_queued (instance_id, sequence, message_id) VALUES ('01a2298d-30de-77ba-bda0-7b1ffda47b5d', 2, '0190aaaa-0000-7000-8000-000000000015');
INSERT INTO lockstep_ready (instance_id, sequence, message_id, actor_type, queue, priority, due_at) VALUES ('01a2298d-30dd-706e-af74-156edae56841', 3, '0190aaaa-0000-7000-8000-000000000009', 'order', '', 0, 1795993448669877);
INSERT INTO lockstep_ready (instance_id, sequence, message_id, actor_type, queue, priority, due_at) VALUES ('01a2298d-30de-7240-93a7-c708b0309e09', 1, '0190aaaa-0000-7000-8000-000000000010', 'order', '', 0, 1795993448670138);
INSERT INTO lockstep_ready (instance_id, sequence, message_id, actor_type, queue, priority, due_at) VALUES ('01a2298d-30de-7b8b-88e2-8f515e30e41e', 1, '0190aaaa-0000-7000-8000-000000000016', 'order', '', 0, 7258118400000000);
INSERT INTO lockstep_ready (instance_id, sequence, message_id, actor_type, queue, priority, due_at) VALUES ('01a2298d-30e2-735a-aef4-7c097da1e875', 1, '0190aaaa-0000-7000-8000-000000000034', 'order', '', 0, 9223372036854775807);
INSERT INTO lockstep_reminders (id, instance_id, operation, key, arguments, interval, catch_up, next_at, due_at) VALUES ('0190aaaa-0000-7000-8000-000000000019', '01a2298d-30de-7dbd-a052-a9fd95642287', 'add', 'once', '"rang once"', 0, 'latest', 1795993448671040, 1795993448671040);
INSERT INTO lockstep_reminders (id, instance_id, operation, key, arguments, interval, catch_up, next_at, due_at) VALUES ('0190aaaa-0000-7000-8000-000000000020', '01a2298d-30de-7dbd-a052-a9fd95642287', 'add', 'daily', '"rang daily"', 86400000000, 'latest', 1795993448671040, 1795993448671040);
INSERT INTO lockstep_schema_migrations (version, identity, database, installed_at) VALUES (1, 'lockstep-go/sqlite', '01a2298d-30d1-7c2a-87ef-f5705699ef7e', 1795993448660423);
INSERT INTO lockstep_sends (position, id, instance_id, message_id, target_type, target_id, operation, arguments, idempotency_key, fingerprint, max_attempts, available_at, due_at, meta) VALUES (1, '0190aaaa-0000-7000-8000-000000000028', '01a2298d-30e1-751b-af8f-c5c2878d2d78', '0190aaaa-0000-7000-8000-000000000025', 'order', 'target', 'add', '"from sender 1"', NULL, NULL, 5, 1795993448673537, 1795993448673537, '{"trace":"00-1-2-03"}');
INSERT INTO lockstep_sends (position, id, instance_id, message_id, target_type, target_id, operation, arguments, idempotency_key, fingerprint, max_attempts, available_at, due_at, meta) VALUES (2, '0190aaaa-0000-7000-8000-000000000030', '01a2298d-30e1-751b-af8f-c5c2878d2d78', '0190aaaa-0000-7000-8000-000000000025', 'order', 'target', 'add', '"from sender 2"', NULL, NULL, 5, 1795993448673537, 1795993448673537, '{"trace":"00-1-2-03"}');
INSERT INTO lockstep_tombstones (instance_id, message_id) VALUES ('01a2298d-30e2-770c-a8c5-d3543f31613a', '0190aaaa-0000-7000-8000-000000000035');
