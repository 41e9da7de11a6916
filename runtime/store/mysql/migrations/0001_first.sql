-- The tables of Lockstep. Times are microseconds since the epoch by the server's clock, ids and names are bytes and
-- compared as such, documents the JSON text that Go encoded. Nothing cascades: what is deleted together is deleted by
-- name, in one transaction. Every step can be run again, since each commits by itself.

CREATE TABLE IF NOT EXISTS lockstep_processes (
	id         VARBINARY(191) NOT NULL,
	kind       VARBINARY(191) NOT NULL,
	host       VARBINARY(255) NOT NULL,
	pid        BIGINT         NOT NULL,
	metadata   LONGTEXT,
	started_at BIGINT         NOT NULL,
	beat_at    BIGINT         NOT NULL,
	stopped_at BIGINT,
	state      VARBINARY(16)  NOT NULL,
	PRIMARY KEY (id),
	CHECK (state IN ('running', 'draining', 'stopped'))
) ENGINE = InnoDB ROW_FORMAT = DYNAMIC DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;

-- One incarnation of an actor. The live mailbox is the range [head_sequence, next_sequence); claimed_id is the message
-- that is being processed, which is the head then. Everything about an actor is written under the lock of this row.
CREATE TABLE IF NOT EXISTS lockstep_instances (
	id                   VARBINARY(191) NOT NULL,
	actor_type           VARBINARY(191) NOT NULL,
	actor_id             VARBINARY(191) NOT NULL,
	head_sequence        BIGINT         NOT NULL DEFAULT 1,
	next_sequence        BIGINT         NOT NULL DEFAULT 1,
	tail                 VARBINARY(191) NOT NULL DEFAULT '', -- id of the newest message
	owner                VARBINARY(191),
	token                VARBINARY(255),
	generation           BIGINT         NOT NULL DEFAULT 0,
	lease_until          BIGINT         NOT NULL DEFAULT 0,
	claimed_id           VARBINARY(191),
	paused_at            BIGINT,
	revision             BIGINT         NOT NULL DEFAULT 0, -- sequence of the last message that committed state
	message_id           VARBINARY(191) NOT NULL DEFAULT '', -- of that message
	broadcast_previous   BIGINT         NOT NULL DEFAULT 0,
	broadcast_revision   BIGINT         NOT NULL DEFAULT 0,
	broadcast_message_id VARBINARY(191) NOT NULL DEFAULT '',
	created_at           BIGINT         NOT NULL,
	last_used_at         BIGINT         NOT NULL,
	codec                VARBINARY(16)  NOT NULL DEFAULT 'json',
	state_version        BIGINT         NOT NULL DEFAULT 0,
	state                LONGTEXT,
	PRIMARY KEY (id),
	UNIQUE KEY lockstep_instances_actor (actor_type, actor_id),
	KEY lockstep_instances_owner (owner), -- for recovery: what a process holds
	CHECK (head_sequence <= next_sequence),
	CHECK ((owner IS NULL) = (token IS NULL)),
	CHECK (claimed_id IS NULL OR owner IS NOT NULL)
) ENGINE = InnoDB ROW_FORMAT = DYNAMIC DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;

-- History from the moment of the enqueue. Ids grow with time, so rows are appended. There is no index by instance and
-- sequence, which would be written at another place for each actor: what is live is found through the instance, ready
-- and queued, the history of one actor through previous, backwards from its instance's tail. The generated columns are
-- NULL for most rows, so that their index entries are appended too.
CREATE TABLE IF NOT EXISTS lockstep_messages (
	id              VARBINARY(191) NOT NULL,
	instance_id     VARBINARY(191) NOT NULL,
	sequence        BIGINT         NOT NULL,
	previous        VARBINARY(191) NOT NULL DEFAULT '', -- id of the instance's message before, or ''
	operation       VARBINARY(191) NOT NULL,
	arguments       LONGTEXT,
	origin          VARBINARY(16)  NOT NULL,
	idempotency_key VARBINARY(191),
	fingerprint     VARBINARY(191),
	attempts        BIGINT         NOT NULL DEFAULT 0,
	max_attempts    BIGINT         NOT NULL,
	enqueued_at     BIGINT         NOT NULL,
	available_at    BIGINT         NOT NULL,
	finished_at     BIGINT,
	status          VARBINARY(16)  NOT NULL, -- live, completed, rejected, dead
	result          LONGTEXT,
	rejection       LONGTEXT,
	error_kind      TEXT,
	error_text      LONGTEXT,
	meta            LONGTEXT,
	instance_key    VARBINARY(383) GENERATED ALWAYS AS (CONCAT(instance_id, '/', idempotency_key)) STORED,
	prunable_at     BIGINT GENERATED ALWAYS AS (CASE WHEN status IN ('completed', 'rejected') THEN finished_at END) STORED,
	PRIMARY KEY (id),
	UNIQUE KEY lockstep_messages_key (instance_key),
	KEY lockstep_messages_prunable (prunable_at) -- for retention: the oldest that may go
) ENGINE = InnoDB ROW_FORMAT = DYNAMIC DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;

-- One row for each mailbox whose head waits. due_at is since when, or from when, it may be claimed: the head's
-- availability, or a later moment where the actor yielded, or never (the largest integer) while it is paused.
CREATE TABLE IF NOT EXISTS lockstep_ready (
	instance_id VARBINARY(191) NOT NULL,
	sequence    BIGINT         NOT NULL,
	message_id  VARBINARY(191) NOT NULL,
	actor_type  VARBINARY(191) NOT NULL,
	queue       VARBINARY(191) NOT NULL DEFAULT '',
	priority    BIGINT         NOT NULL DEFAULT 0,
	due_at      BIGINT         NOT NULL,
	PRIMARY KEY (instance_id),
	KEY lockstep_ready_pick (queue, priority, due_at, actor_type)
) ENGINE = InnoDB ROW_FORMAT = DYNAMIC DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;

-- Live messages behind the head of their mailbox.
CREATE TABLE IF NOT EXISTS lockstep_queued (
	instance_id VARBINARY(191) NOT NULL,
	sequence    BIGINT         NOT NULL,
	message_id  VARBINARY(191) NOT NULL,
	PRIMARY KEY (instance_id, sequence)
) ENGINE = InnoDB ROW_FORMAT = DYNAMIC DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;

-- next_at is the next occurrence on the reminder's grid, due_at when to try it.
CREATE TABLE IF NOT EXISTS lockstep_reminders (
	instance_id  VARBINARY(191) NOT NULL,
	operation    VARBINARY(191) NOT NULL,
	reminder_key VARBINARY(191) NOT NULL,
	arguments    LONGTEXT,
	period       BIGINT         NOT NULL, -- between occurrences, or 0
	catch_up     VARBINARY(16)  NOT NULL,
	next_at      BIGINT         NOT NULL,
	due_at       BIGINT         NOT NULL,
	PRIMARY KEY (instance_id, operation, reminder_key),
	KEY lockstep_reminders_due (due_at),
	CHECK (period >= 0),
	CHECK (catch_up IN ('latest', 'all'))
) ENGINE = InnoDB ROW_FORMAT = DYNAMIC DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;

-- A pending effect may be taken from due_at on; while it is owned, that is the end of the owner's lease.
CREATE TABLE IF NOT EXISTS lockstep_effects (
	id           VARBINARY(191) NOT NULL,
	instance_id  VARBINARY(191) NOT NULL,
	message_id   VARBINARY(191) NOT NULL,
	name         VARBINARY(191) NOT NULL,
	arguments    LONGTEXT,
	done         VARBINARY(191),
	failed       VARBINARY(191),
	attempts     BIGINT         NOT NULL DEFAULT 0,
	max_attempts BIGINT         NOT NULL,
	owner        VARBINARY(191),
	due_at       BIGINT         NOT NULL,
	finished_at  BIGINT,
	error_kind   TEXT,
	error_text   LONGTEXT,
	meta         LONGTEXT,
	state        VARBINARY(16)  NOT NULL DEFAULT 'pending',
	PRIMARY KEY (id),
	KEY lockstep_effects_due (state, due_at, name),
	KEY lockstep_effects_finished (state, finished_at),
	KEY lockstep_effects_owner (owner),
	KEY lockstep_effects_instance (instance_id, message_id),
	CHECK (attempts >= 0),
	CHECK (state IN ('pending', 'failed'))
) ENGINE = InnoDB ROW_FORMAT = DYNAMIC DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;

-- Messages from actor to actor, not yet in their mailbox; position is the order of staging.
CREATE TABLE IF NOT EXISTS lockstep_sends (
	position        BIGINT         NOT NULL AUTO_INCREMENT,
	id              VARBINARY(191) NOT NULL,
	instance_id     VARBINARY(191) NOT NULL, -- of the sender
	message_id      VARBINARY(191) NOT NULL, -- that sent it
	target_type     VARBINARY(191) NOT NULL,
	target_id       VARBINARY(191) NOT NULL,
	operation       VARBINARY(191) NOT NULL,
	arguments       LONGTEXT,
	idempotency_key VARBINARY(191),
	fingerprint     VARBINARY(191),
	max_attempts    BIGINT         NOT NULL,
	available_at    BIGINT         NOT NULL,
	due_at          BIGINT         NOT NULL,
	meta            LONGTEXT,
	PRIMARY KEY (position),
	UNIQUE KEY lockstep_sends_id (id),
	KEY lockstep_sends_due (due_at, position),
	KEY lockstep_sends_pair (instance_id, target_type, target_id, position),
	KEY lockstep_sends_message (message_id)
) ENGINE = InnoDB ROW_FORMAT = DYNAMIC DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;

-- What subscribers have not been told; at most one row an actor, since a newer one absorbs it.
CREATE TABLE IF NOT EXISTS lockstep_broadcasts (
	instance_id  VARBINARY(191) NOT NULL,
	id           VARBINARY(191) NOT NULL,
	actor_type   VARBINARY(191) NOT NULL,
	actor_id     VARBINARY(191) NOT NULL,
	revision     BIGINT         NOT NULL,
	previous     BIGINT         NOT NULL,
	message_id   VARBINARY(191) NOT NULL,
	names        LONGTEXT       NOT NULL,
	shared       LONGTEXT       NOT NULL,
	owner        VARBINARY(191),
	claimed_at   BIGINT         NOT NULL,
	PRIMARY KEY (instance_id),
	UNIQUE KEY lockstep_broadcasts_id (id),
	KEY lockstep_broadcasts_claimed (claimed_at)
) ENGINE = InnoDB ROW_FORMAT = DYNAMIC DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;

-- Messages that were given up, complete: retention of messages does not touch them.
CREATE TABLE IF NOT EXISTS lockstep_dead_letters (
	id              VARBINARY(191) NOT NULL, -- the message's id
	instance_id     VARBINARY(191) NOT NULL,
	actor_type      VARBINARY(191) NOT NULL,
	actor_id        VARBINARY(191) NOT NULL,
	sequence        BIGINT         NOT NULL,
	operation       VARBINARY(191) NOT NULL,
	arguments       LONGTEXT,
	origin          VARBINARY(16)  NOT NULL,
	idempotency_key VARBINARY(191),
	fingerprint     VARBINARY(191),
	attempts        BIGINT         NOT NULL,
	max_attempts    BIGINT         NOT NULL,
	enqueued_at     BIGINT         NOT NULL,
	available_at    BIGINT         NOT NULL,
	failed_at       BIGINT         NOT NULL,
	error_kind      TEXT           NOT NULL,
	error_text      LONGTEXT       NOT NULL,
	stack           LONGTEXT       NOT NULL,
	meta            LONGTEXT,
	replacement     VARBINARY(191) NOT NULL DEFAULT '', -- id of the message that a retry made
	PRIMARY KEY (id),
	KEY lockstep_dead_letters_failed (failed_at, id),
	KEY lockstep_dead_letters_instance (instance_id)
) ENGINE = InnoDB ROW_FORMAT = DYNAMIC DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;

-- Where the history of destroyed instances begins, backwards: at the tail, and at each dead letter, since retention may
-- have deleted what lay between.
CREATE TABLE IF NOT EXISTS lockstep_tombstones (
	instance_id VARBINARY(191) NOT NULL,
	message_id  VARBINARY(191) NOT NULL,
	PRIMARY KEY (instance_id, message_id)
) ENGINE = InnoDB ROW_FORMAT = DYNAMIC DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;
