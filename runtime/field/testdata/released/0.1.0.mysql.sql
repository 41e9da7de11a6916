-- Lockstep 0.1.0 on mysql: its schema, and what a process left that died in the middle of everything.

CREATE TABLE `lockstep_broadcasts` (
  `instance_id` varbinary(191) NOT NULL,
  `id` varbinary(191) NOT NULL,
  `actor_type` varbinary(191) NOT NULL,
  `actor_id` varbinary(191) NOT NULL,
  `revision` bigint(20) NOT NULL,
  `previous` bigint(20) NOT NULL,
  `message_id` varbinary(191) NOT NULL,
  `names` longtext NOT NULL,
  `shared` longtext NOT NULL,
  `owner` varbinary(191) DEFAULT NULL,
  `claimed_at` bigint(20) NOT NULL,
  PRIMARY KEY (`instance_id`),
  UNIQUE KEY `lockstep_broadcasts_id` (`id`),
  KEY `lockstep_broadcasts_claimed` (`claimed_at`)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin ROW_FORMAT=DYNAMIC;
CREATE TABLE `lockstep_dead_letters` (
  `id` varbinary(191) NOT NULL,
  `instance_id` varbinary(191) NOT NULL,
  `actor_type` varbinary(191) NOT NULL,
  `actor_id` varbinary(191) NOT NULL,
  `sequence` bigint(20) NOT NULL,
  `operation` varbinary(191) NOT NULL,
  `arguments` longtext DEFAULT NULL,
  `origin` varbinary(16) NOT NULL,
  `idempotency_key` varbinary(191) DEFAULT NULL,
  `fingerprint` varbinary(191) DEFAULT NULL,
  `attempts` bigint(20) NOT NULL,
  `max_attempts` bigint(20) NOT NULL,
  `enqueued_at` bigint(20) NOT NULL,
  `available_at` bigint(20) NOT NULL,
  `failed_at` bigint(20) NOT NULL,
  `error_kind` text NOT NULL,
  `error_text` longtext NOT NULL,
  `stack` longtext NOT NULL,
  `meta` longtext DEFAULT NULL,
  `replacement` varbinary(191) NOT NULL DEFAULT '',
  PRIMARY KEY (`id`),
  KEY `lockstep_dead_letters_failed` (`failed_at`,`id`),
  KEY `lockstep_dead_letters_instance` (`instance_id`)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin ROW_FORMAT=DYNAMIC;
CREATE TABLE `lockstep_effects` (
  `id` varbinary(191) NOT NULL,
  `instance_id` varbinary(191) NOT NULL,
  `message_id` varbinary(191) NOT NULL,
  `name` varbinary(191) NOT NULL,
  `arguments` longtext DEFAULT NULL,
  `done` varbinary(191) DEFAULT NULL,
  `failed` varbinary(191) DEFAULT NULL,
  `attempts` bigint(20) NOT NULL DEFAULT 0,
  `max_attempts` bigint(20) NOT NULL,
  `owner` varbinary(191) DEFAULT NULL,
  `due_at` bigint(20) NOT NULL,
  `finished_at` bigint(20) DEFAULT NULL,
  `error_kind` text DEFAULT NULL,
  `error_text` longtext DEFAULT NULL,
  `meta` longtext DEFAULT NULL,
  `state` varbinary(16) NOT NULL DEFAULT 'pending',
  PRIMARY KEY (`id`),
  KEY `lockstep_effects_due` (`state`,`due_at`,`name`),
  KEY `lockstep_effects_finished` (`state`,`finished_at`),
  KEY `lockstep_effects_owner` (`owner`),
  KEY `lockstep_effects_instance` (`instance_id`,`message_id`),
  CONSTRAINT `CONSTRAINT_1` CHECK (`attempts` >= 0),
  CONSTRAINT `CONSTRAINT_2` CHECK (`state` in ('pending','failed'))
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin ROW_FORMAT=DYNAMIC;
CREATE TABLE `lockstep_instances` (
  `id` varbinary(191) NOT NULL,
  `actor_type` varbinary(191) NOT NULL,
  `actor_id` varbinary(191) NOT NULL,
  `head_sequence` bigint(20) NOT NULL DEFAULT 1,
  `next_sequence` bigint(20) NOT NULL DEFAULT 1,
  `tail` varbinary(191) NOT NULL DEFAULT '',
  `owner` varbinary(191) DEFAULT NULL,
  `token` varbinary(255) DEFAULT NULL,
  `generation` bigint(20) NOT NULL DEFAULT 0,
  `lease_until` bigint(20) NOT NULL DEFAULT 0,
  `claimed_id` varbinary(191) DEFAULT NULL,
  `paused_at` bigint(20) DEFAULT NULL,
  `revision` bigint(20) NOT NULL DEFAULT 0,
  `message_id` varbinary(191) NOT NULL DEFAULT '',
  `broadcast_previous` bigint(20) NOT NULL DEFAULT 0,
  `broadcast_revision` bigint(20) NOT NULL DEFAULT 0,
  `broadcast_message_id` varbinary(191) NOT NULL DEFAULT '',
  `created_at` bigint(20) NOT NULL,
  `last_used_at` bigint(20) NOT NULL,
  `codec` varbinary(16) NOT NULL DEFAULT 'json',
  `state_version` bigint(20) NOT NULL DEFAULT 0,
  `state` longtext DEFAULT NULL,
  PRIMARY KEY (`id`),
  UNIQUE KEY `lockstep_instances_actor` (`actor_type`,`actor_id`),
  KEY `lockstep_instances_owner` (`owner`),
  CONSTRAINT `CONSTRAINT_1` CHECK (`head_sequence` <= `next_sequence`),
  CONSTRAINT `CONSTRAINT_2` CHECK (`owner` is null = (`token` is null)),
  CONSTRAINT `CONSTRAINT_3` CHECK (`claimed_id` is null or `owner` is not null)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin ROW_FORMAT=DYNAMIC;
CREATE TABLE `lockstep_messages` (
  `id` varbinary(191) NOT NULL,
  `instance_id` varbinary(191) NOT NULL,
  `sequence` bigint(20) NOT NULL,
  `previous` varbinary(191) NOT NULL DEFAULT '',
  `operation` varbinary(191) NOT NULL,
  `arguments` longtext DEFAULT NULL,
  `origin` varbinary(16) NOT NULL,
  `idempotency_key` varbinary(191) DEFAULT NULL,
  `fingerprint` varbinary(191) DEFAULT NULL,
  `attempts` bigint(20) NOT NULL DEFAULT 0,
  `max_attempts` bigint(20) NOT NULL,
  `enqueued_at` bigint(20) NOT NULL,
  `available_at` bigint(20) NOT NULL,
  `finished_at` bigint(20) DEFAULT NULL,
  `status` varbinary(16) NOT NULL,
  `result` longtext DEFAULT NULL,
  `rejection` longtext DEFAULT NULL,
  `error_kind` text DEFAULT NULL,
  `error_text` longtext DEFAULT NULL,
  `meta` longtext DEFAULT NULL,
  `instance_key` varbinary(383) GENERATED ALWAYS AS (concat(`instance_id`,'/',`idempotency_key`)) STORED,
  `prunable_at` bigint(20) GENERATED ALWAYS AS (case when `status` in ('completed','rejected') then `finished_at` end) STORED,
  PRIMARY KEY (`id`),
  UNIQUE KEY `lockstep_messages_key` (`instance_key`),
  KEY `lockstep_messages_prunable` (`prunable_at`)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin ROW_FORMAT=DYNAMIC;
CREATE TABLE `lockstep_processes` (
  `id` varbinary(191) NOT NULL,
  `kind` varbinary(191) NOT NULL,
  `host` varbinary(255) NOT NULL,
  `pid` bigint(20) NOT NULL,
  `metadata` longtext DEFAULT NULL,
  `started_at` bigint(20) NOT NULL,
  `beat_at` bigint(20) NOT NULL,
  `stopped_at` bigint(20) DEFAULT NULL,
  `state` varbinary(16) NOT NULL,
  PRIMARY KEY (`id`),
  CONSTRAINT `CONSTRAINT_1` CHECK (`state` in ('running','draining','stopped'))
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin ROW_FORMAT=DYNAMIC;
CREATE TABLE `lockstep_queued` (
  `instance_id` varbinary(191) NOT NULL,
  `sequence` bigint(20) NOT NULL,
  `message_id` varbinary(191) NOT NULL,
  PRIMARY KEY (`instance_id`,`sequence`)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin ROW_FORMAT=DYNAMIC;
CREATE TABLE `lockstep_ready` (
  `instance_id` varbinary(191) NOT NULL,
  `sequence` bigint(20) NOT NULL,
  `message_id` varbinary(191) NOT NULL,
  `actor_type` varbinary(191) NOT NULL,
  `queue` varbinary(191) NOT NULL DEFAULT '',
  `priority` bigint(20) NOT NULL DEFAULT 0,
  `due_at` bigint(20) NOT NULL,
  PRIMARY KEY (`instance_id`),
  KEY `lockstep_ready_pick` (`queue`,`priority`,`due_at`,`actor_type`)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin ROW_FORMAT=DYNAMIC;
CREATE TABLE `lockstep_reminders` (
  `instance_id` varbinary(191) NOT NULL,
  `operation` varbinary(191) NOT NULL,
  `reminder_key` varbinary(191) NOT NULL,
  `arguments` longtext DEFAULT NULL,
  `period` bigint(20) NOT NULL,
  `catch_up` varbinary(16) NOT NULL,
  `next_at` bigint(20) NOT NULL,
  `due_at` bigint(20) NOT NULL,
  PRIMARY KEY (`instance_id`,`operation`,`reminder_key`),
  KEY `lockstep_reminders_due` (`due_at`),
  CONSTRAINT `CONSTRAINT_1` CHECK (`period` >= 0),
  CONSTRAINT `CONSTRAINT_2` CHECK (`catch_up` in ('latest','all'))
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin ROW_FORMAT=DYNAMIC;
CREATE TABLE `lockstep_schema_migrations` (
  `version` bigint(20) NOT NULL,
  `identity` varbinary(191) NOT NULL,
  `installation` varbinary(191) NOT NULL,
  `installed_at` bigint(20) NOT NULL,
  `holder` varbinary(191) NOT NULL DEFAULT '',
  `held_until` bigint(20) NOT NULL DEFAULT 0,
  PRIMARY KEY (`version`)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin ROW_FORMAT=DYNAMIC;
CREATE TABLE `lockstep_sends` (
  `position` bigint(20) NOT NULL AUTO_INCREMENT,
  `id` varbinary(191) NOT NULL,
  `instance_id` varbinary(191) NOT NULL,
  `message_id` varbinary(191) NOT NULL,
  `target_type` varbinary(191) NOT NULL,
  `target_id` varbinary(191) NOT NULL,
  `operation` varbinary(191) NOT NULL,
  `arguments` longtext DEFAULT NULL,
  `idempotency_key` varbinary(191) DEFAULT NULL,
  `fingerprint` varbinary(191) DEFAULT NULL,
  `max_attempts` bigint(20) NOT NULL,
  `available_at` bigint(20) NOT NULL,
  `due_at` bigint(20) NOT NULL,
  `meta` longtext DEFAULT NULL,
  PRIMARY KEY (`position`),
  UNIQUE KEY `lockstep_sends_id` (`id`),
  KEY `lockstep_sends_due` (`due_at`,`position`),
  KEY `lockstep_sends_pair` (`instance_id`,`target_type`,`target_id`,`position`),
  KEY `lockstep_sends_message` (`message_id`)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin ROW_FORMAT=DYNAMIC;
CREATE TABLE `lockstep_tombstones` (
  `instance_id` varbinary(191) NOT NULL,
  `message_id` varbinary(191) NOT NULL,
  PRIMARY KEY (`instance_id`,`message_id`)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin ROW_FORMAT=DYNAMIC;

INSERT INTO lockstep_broadcasts (instance_id, id, actor_type, actor_id, revision, previous, message_id, names, shared, owner, claimed_at) VALUES ('01a2298d-3b67-789e-9375-8bed9c3713bd', '0190aaaa-0000-7000-8000-000000000033', 'order', 'seen', 1, 0, '0190aaaa-0000-7000-8000-000000000031', '["all"]', '{}', '0190aaaa-0000-7000-8000-00000000dead', 1795993451371295);
INSERT INTO lockstep_dead_letters (id, instance_id, actor_type, actor_id, sequence, operation, arguments, origin, idempotency_key, fingerprint, attempts, max_attempts, enqueued_at, available_at, failed_at, error_kind, error_text, stack, meta, replacement) VALUES ('0190aaaa-0000-7000-8000-000000000005', '01a2298d-3af9-7d42-8448-9e38bdf96f3a', 'order', 'dead', 1, 'add', '"given up"', 'client', NULL, NULL, 1, 5, 1795993451258298, 1795993451258298, 1795993451262354, '*errors.errorString', 'no', 'main.go:1', '{"trace":"00-1-2-03"}', '');
INSERT INTO lockstep_dead_letters (id, instance_id, actor_type, actor_id, sequence, operation, arguments, origin, idempotency_key, fingerprint, attempts, max_attempts, enqueued_at, available_at, failed_at, error_kind, error_text, stack, meta, replacement) VALUES ('0190aaaa-0000-7000-8000-000000000007', '01a2298d-3af9-7d42-8448-9e38bdf96f3a', 'order', 'dead', 2, 'add', '"retried"', 'client', NULL, NULL, 1, 5, 1795993451269988, 1795993451269988, 1795993451277253, '*errors.errorString', 'no', 'main.go:1', '{"trace":"00-1-2-03"}', '0190aaaa-0000-7000-8000-000000000009');
INSERT INTO lockstep_effects (id, instance_id, message_id, name, arguments, done, failed, attempts, max_attempts, owner, due_at, finished_at, error_kind, error_text, meta, state) VALUES ('0190aaaa-0000-7000-8000-000000000023', '01a2298d-3b4a-78c6-9bc0-0910317c6a38', '0190aaaa-0000-7000-8000-000000000021', 'ship', '"mug"', 'shipped', 'refused', 1, 5, '0190aaaa-0000-7000-8000-00000000dead', 1795993452350519, NULL, NULL, NULL, NULL, 'pending');
INSERT INTO lockstep_effects (id, instance_id, message_id, name, arguments, done, failed, attempts, max_attempts, owner, due_at, finished_at, error_kind, error_text, meta, state) VALUES ('0190aaaa-0000-7000-8000-000000000024', '01a2298d-3b4a-78c6-9bc0-0910317c6a38', '0190aaaa-0000-7000-8000-000000000021', 'ship', '"lost"', 'shipped', 'refused', 0, 5, NULL, 1795993451345606, NULL, NULL, NULL, NULL, 'pending');
INSERT INTO lockstep_instances (id, actor_type, actor_id, head_sequence, next_sequence, tail, owner, token, generation, lease_until, claimed_id, paused_at, revision, message_id, broadcast_previous, broadcast_revision, broadcast_message_id, created_at, last_used_at, codec, state_version, state) VALUES ('01a2298d-3adf-7728-853e-ef53c94c9971', 'order', 'history', 3, 3, '0190aaaa-0000-7000-8000-000000000003', NULL, NULL, 2, 0, NULL, NULL, 1, '0190aaaa-0000-7000-8000-000000000001', 0, 0, '', 1795993451231527, 1795993451253986, 'json', 1, '{"lines":["first"]}');
INSERT INTO lockstep_instances (id, actor_type, actor_id, head_sequence, next_sequence, tail, owner, token, generation, lease_until, claimed_id, paused_at, revision, message_id, broadcast_previous, broadcast_revision, broadcast_message_id, created_at, last_used_at, codec, state_version, state) VALUES ('01a2298d-3af9-7d42-8448-9e38bdf96f3a', 'order', 'dead', 3, 4, '0190aaaa-0000-7000-8000-000000000009', NULL, NULL, 2, 0, NULL, NULL, 0, '', 0, 0, '', 1795993451257939, 1795993451282189, 'json', 0, NULL);
INSERT INTO lockstep_instances (id, actor_type, actor_id, head_sequence, next_sequence, tail, owner, token, generation, lease_until, claimed_id, paused_at, revision, message_id, broadcast_previous, broadcast_revision, broadcast_message_id, created_at, last_used_at, codec, state_version, state) VALUES ('01a2298d-3b16-736e-bbf1-f75de0c09051', 'order', 'queued', 1, 4, '0190aaaa-0000-7000-8000-000000000012', NULL, NULL, 0, 0, NULL, NULL, 0, '', 0, 0, '', 1795993451286277, 1795993451292753, 'json', 0, NULL);
INSERT INTO lockstep_instances (id, actor_type, actor_id, head_sequence, next_sequence, tail, owner, token, generation, lease_until, claimed_id, paused_at, revision, message_id, broadcast_previous, broadcast_revision, broadcast_message_id, created_at, last_used_at, codec, state_version, state) VALUES ('01a2298d-3b28-7662-9115-f399b2e669ec', 'order', 'claimed', 1, 3, '0190aaaa-0000-7000-8000-000000000015', '0190aaaa-0000-7000-8000-00000000dead', '0190aaaa-0000-7000-8000-000000000014', 1, 1795993452304932, '0190aaaa-0000-7000-8000-000000000013', NULL, 0, '', 0, 0, '', 1795993451304475, 1795993451312492, 'json', 0, NULL);
INSERT INTO lockstep_instances (id, actor_type, actor_id, head_sequence, next_sequence, tail, owner, token, generation, lease_until, claimed_id, paused_at, revision, message_id, broadcast_previous, broadcast_revision, broadcast_message_id, created_at, last_used_at, codec, state_version, state) VALUES ('01a2298d-3b36-7567-9ebf-33967c84aa61', 'order', 'delayed', 1, 2, '0190aaaa-0000-7000-8000-000000000016', NULL, NULL, 0, 0, NULL, NULL, 0, '', 0, 0, '', 1795993451318413, 1795993451318863, 'json', 0, NULL);
INSERT INTO lockstep_instances (id, actor_type, actor_id, head_sequence, next_sequence, tail, owner, token, generation, lease_until, claimed_id, paused_at, revision, message_id, broadcast_previous, broadcast_revision, broadcast_message_id, created_at, last_used_at, codec, state_version, state) VALUES ('01a2298d-3b3d-7f1c-9c12-89d33a77134a', 'order', 'reminded', 2, 2, '0190aaaa-0000-7000-8000-000000000017', NULL, NULL, 1, 0, NULL, NULL, 1, '0190aaaa-0000-7000-8000-000000000017', 0, 0, '', 1795993451326048, 1795993451330970, 'json', 1, '{"lines":["set"]}');
INSERT INTO lockstep_instances (id, actor_type, actor_id, head_sequence, next_sequence, tail, owner, token, generation, lease_until, claimed_id, paused_at, revision, message_id, broadcast_previous, broadcast_revision, broadcast_message_id, created_at, last_used_at, codec, state_version, state) VALUES ('01a2298d-3b4a-78c6-9bc0-0910317c6a38', 'order', 'effects', 2, 2, '0190aaaa-0000-7000-8000-000000000021', NULL, NULL, 1, 0, NULL, NULL, 1, '0190aaaa-0000-7000-8000-000000000021', 0, 0, '', 1795993451338642, 1795993451345606, 'json', 1, '{"lines":["asked"]}');
INSERT INTO lockstep_instances (id, actor_type, actor_id, head_sequence, next_sequence, tail, owner, token, generation, lease_until, claimed_id, paused_at, revision, message_id, broadcast_previous, broadcast_revision, broadcast_message_id, created_at, last_used_at, codec, state_version, state) VALUES ('01a2298d-3b5d-716c-8b5f-d3f8fa35fbe3', 'order', 'sender', 2, 2, '0190aaaa-0000-7000-8000-000000000025', NULL, NULL, 1, 0, NULL, NULL, 1, '0190aaaa-0000-7000-8000-000000000025', 0, 0, '', 1795993451357151, 1795993451363661, 'json', 1, '{"lines":["sent"]}');
INSERT INTO lockstep_instances (id, actor_type, actor_id, head_sequence, next_sequence, tail, owner, token, generation, lease_until, claimed_id, paused_at, revision, message_id, broadcast_previous, broadcast_revision, broadcast_message_id, created_at, last_used_at, codec, state_version, state) VALUES ('01a2298d-3b67-789e-9375-8bed9c3713bd', 'order', 'seen', 2, 2, '0190aaaa-0000-7000-8000-000000000031', NULL, NULL, 1, 0, NULL, NULL, 1, '0190aaaa-0000-7000-8000-000000000031', 0, 1, '0190aaaa-0000-7000-8000-000000000031', 1795993451367649, 1795993451371295, 'json', 1, '{"lines":["news"]}');
INSERT INTO lockstep_instances (id, actor_type, actor_id, head_sequence, next_sequence, tail, owner, token, generation, lease_until, claimed_id, paused_at, revision, message_id, broadcast_previous, broadcast_revision, broadcast_message_id, created_at, last_used_at, codec, state_version, state) VALUES ('01a2298d-3b6d-79e0-8053-17321923b586', 'order', 'paused', 1, 2, '0190aaaa-0000-7000-8000-000000000034', NULL, NULL, 0, 0, NULL, 1795993451386248, 0, '', 0, 0, '', 1795993451373684, 1795993451377231, 'json', 0, NULL);
INSERT INTO lockstep_messages (id, instance_id, sequence, previous, operation, arguments, origin, idempotency_key, fingerprint, attempts, max_attempts, enqueued_at, available_at, finished_at, status, result, rejection, error_kind, error_text, meta) VALUES ('0190aaaa-0000-7000-8000-000000000001', '01a2298d-3adf-7728-853e-ef53c94c9971', 1, '', 'add', '"first"', 'client', 'key', 'print', 1, 5, 1795993451233192, 1795993451233192, 1795993451242137, 'completed', '1', NULL, NULL, NULL, '{"trace":"00-1-2-03"}');
INSERT INTO lockstep_messages (id, instance_id, sequence, previous, operation, arguments, origin, idempotency_key, fingerprint, attempts, max_attempts, enqueued_at, available_at, finished_at, status, result, rejection, error_kind, error_text, meta) VALUES ('0190aaaa-0000-7000-8000-000000000003', '01a2298d-3adf-7728-853e-ef53c94c9971', 2, '0190aaaa-0000-7000-8000-000000000001', 'add', '"refused"', 'client', NULL, NULL, 1, 5, 1795993451246035, 1795993451246035, 1795993451253986, 'rejected', NULL, '{"code":"closed","message":"it is closed"}', NULL, NULL, '{"trace":"00-1-2-03"}');
INSERT INTO lockstep_messages (id, instance_id, sequence, previous, operation, arguments, origin, idempotency_key, fingerprint, attempts, max_attempts, enqueued_at, available_at, finished_at, status, result, rejection, error_kind, error_text, meta) VALUES ('0190aaaa-0000-7000-8000-000000000005', '01a2298d-3af9-7d42-8448-9e38bdf96f3a', 1, '', 'add', '"given up"', 'client', NULL, NULL, 1, 5, 1795993451258298, 1795993451258298, 1795993451262354, 'dead', NULL, NULL, '*errors.errorString', 'no', '{"trace":"00-1-2-03"}');
INSERT INTO lockstep_messages (id, instance_id, sequence, previous, operation, arguments, origin, idempotency_key, fingerprint, attempts, max_attempts, enqueued_at, available_at, finished_at, status, result, rejection, error_kind, error_text, meta) VALUES ('0190aaaa-0000-7000-8000-000000000007', '01a2298d-3af9-7d42-8448-9e38bdf96f3a', 2, '0190aaaa-0000-7000-8000-000000000005', 'add', '"retried"', 'client', NULL, NULL, 1, 5, 1795993451269988, 1795993451269988, 1795993451277253, 'dead', NULL, NULL, '*errors.errorString', 'no', '{"trace":"00-1-2-03"}');
INSERT INTO lockstep_messages (id, instance_id, sequence, previous, operation, arguments, origin, idempotency_key, fingerprint, attempts, max_attempts, enqueued_at, available_at, finished_at, status, result, rejection, error_kind, error_text, meta) VALUES ('0190aaaa-0000-7000-8000-000000000009', '01a2298d-3af9-7d42-8448-9e38bdf96f3a', 3, '0190aaaa-0000-7000-8000-000000000007', 'add', '"retried"', 'operator', NULL, NULL, 0, 5, 1795993451282189, 1795993451282189, NULL, 'live', NULL, NULL, NULL, NULL, '{"trace":"00-1-2-03"}');
INSERT INTO lockstep_messages (id, instance_id, sequence, previous, operation, arguments, origin, idempotency_key, fingerprint, attempts, max_attempts, enqueued_at, available_at, finished_at, status, result, rejection, error_kind, error_text, meta) VALUES ('0190aaaa-0000-7000-8000-000000000010', '01a2298d-3b16-736e-bbf1-f75de0c09051', 1, '', 'add', '"one"', 'client', NULL, NULL, 0, 5, 1795993451286673, 1795993451286673, NULL, 'live', NULL, NULL, NULL, NULL, '{"trace":"00-1-2-03"}');
INSERT INTO lockstep_messages (id, instance_id, sequence, previous, operation, arguments, origin, idempotency_key, fingerprint, attempts, max_attempts, enqueued_at, available_at, finished_at, status, result, rejection, error_kind, error_text, meta) VALUES ('0190aaaa-0000-7000-8000-000000000011', '01a2298d-3b16-736e-bbf1-f75de0c09051', 2, '0190aaaa-0000-7000-8000-000000000010', 'add', '"two"', 'client', NULL, NULL, 0, 5, 1795993451290638, 1795993451290638, NULL, 'live', NULL, NULL, NULL, NULL, '{"trace":"00-1-2-03"}');
INSERT INTO lockstep_messages (id, instance_id, sequence, previous, operation, arguments, origin, idempotency_key, fingerprint, attempts, max_attempts, enqueued_at, available_at, finished_at, status, result, rejection, error_kind, error_text, meta) VALUES ('0190aaaa-0000-7000-8000-000000000012', '01a2298d-3b16-736e-bbf1-f75de0c09051', 3, '0190aaaa-0000-7000-8000-000000000011', 'add', '"three"', 'client', NULL, NULL, 0, 5, 1795993451292753, 1795993451292753, NULL, 'live', NULL, NULL, NULL, NULL, '{"trace":"00-1-2-03"}');
INSERT INTO lockstep_messages (id, instance_id, sequence, previous, operation, arguments, origin, idempotency_key, fingerprint, attempts, max_attempts, enqueued_at, available_at, finished_at, status, result, rejection, error_kind, error_text, meta) VALUES ('0190aaaa-0000-7000-8000-000000000013', '01a2298d-3b28-7662-9115-f399b2e669ec', 1, '', 'add', '"in flight"', 'client', NULL, NULL, 1, 5, 1795993451304932, 1795993451304932, NULL, 'live', NULL, NULL, NULL, NULL, '{"trace":"00-1-2-03"}');
INSERT INTO lockstep_messages (id, instance_id, sequence, previous, operation, arguments, origin, idempotency_key, fingerprint, attempts, max_attempts, enqueued_at, available_at, finished_at, status, result, rejection, error_kind, error_text, meta) VALUES ('0190aaaa-0000-7000-8000-000000000015', '01a2298d-3b28-7662-9115-f399b2e669ec', 2, '0190aaaa-0000-7000-8000-000000000013', 'add', '"behind it"', 'client', NULL, NULL, 0, 5, 1795993451312492, 1795993451312492, NULL, 'live', NULL, NULL, NULL, NULL, '{"trace":"00-1-2-03"}');
INSERT INTO lockstep_messages (id, instance_id, sequence, previous, operation, arguments, origin, idempotency_key, fingerprint, attempts, max_attempts, enqueued_at, available_at, finished_at, status, result, rejection, error_kind, error_text, meta) VALUES ('0190aaaa-0000-7000-8000-000000000016', '01a2298d-3b36-7567-9ebf-33967c84aa61', 1, '', 'add', '"far away"', 'client', NULL, NULL, 0, 5, 1795993451318863, 7258118400000000, NULL, 'live', NULL, NULL, NULL, NULL, '{"trace":"00-1-2-03"}');
INSERT INTO lockstep_messages (id, instance_id, sequence, previous, operation, arguments, origin, idempotency_key, fingerprint, attempts, max_attempts, enqueued_at, available_at, finished_at, status, result, rejection, error_kind, error_text, meta) VALUES ('0190aaaa-0000-7000-8000-000000000017', '01a2298d-3b3d-7f1c-9c12-89d33a77134a', 1, '', 'add', '"set"', 'client', NULL, NULL, 1, 5, 1795993451326526, 1795993451326526, 1795993451330970, 'completed', '1', NULL, NULL, NULL, '{"trace":"00-1-2-03"}');
INSERT INTO lockstep_messages (id, instance_id, sequence, previous, operation, arguments, origin, idempotency_key, fingerprint, attempts, max_attempts, enqueued_at, available_at, finished_at, status, result, rejection, error_kind, error_text, meta) VALUES ('0190aaaa-0000-7000-8000-000000000021', '01a2298d-3b4a-78c6-9bc0-0910317c6a38', 1, '', 'add', '"asked"', 'client', NULL, NULL, 1, 5, 1795993451339121, 1795993451339121, 1795993451345606, 'completed', '1', NULL, NULL, NULL, '{"trace":"00-1-2-03"}');
INSERT INTO lockstep_messages (id, instance_id, sequence, previous, operation, arguments, origin, idempotency_key, fingerprint, attempts, max_attempts, enqueued_at, available_at, finished_at, status, result, rejection, error_kind, error_text, meta) VALUES ('0190aaaa-0000-7000-8000-000000000025', '01a2298d-3b5d-716c-8b5f-d3f8fa35fbe3', 1, '', 'add', '"sent"', 'client', NULL, NULL, 1, 5, 1795993451357643, 1795993451357643, 1795993451363661, 'completed', '1', NULL, NULL, NULL, '{"trace":"00-1-2-03"}');
INSERT INTO lockstep_messages (id, instance_id, sequence, previous, operation, arguments, origin, idempotency_key, fingerprint, attempts, max_attempts, enqueued_at, available_at, finished_at, status, result, rejection, error_kind, error_text, meta) VALUES ('0190aaaa-0000-7000-8000-000000000031', '01a2298d-3b67-789e-9375-8bed9c3713bd', 1, '', 'add', '"news"', 'client', NULL, NULL, 1, 5, 1795993451368114, 1795993451368114, 1795993451371295, 'completed', '1', NULL, NULL, NULL, '{"trace":"00-1-2-03"}');
INSERT INTO lockstep_messages (id, instance_id, sequence, previous, operation, arguments, origin, idempotency_key, fingerprint, attempts, max_attempts, enqueued_at, available_at, finished_at, status, result, rejection, error_kind, error_text, meta) VALUES ('0190aaaa-0000-7000-8000-000000000034', '01a2298d-3b6d-79e0-8053-17321923b586', 1, '', 'add', '"held"', 'client', NULL, NULL, 0, 5, 1795993451377231, 1795993451377231, NULL, 'live', NULL, NULL, NULL, NULL, '{"trace":"00-1-2-03"}');
INSERT INTO lockstep_messages (id, instance_id, sequence, previous, operation, arguments, origin, idempotency_key, fingerprint, attempts, max_attempts, enqueued_at, available_at, finished_at, status, result, rejection, error_kind, error_text, meta) VALUES ('0190aaaa-0000-7000-8000-000000000035', '01a2298d-3b82-760a-9f2b-4b22372cab4c', 1, '', 'add', '"gone"', 'client', NULL, NULL, 1, 5, 1795993451396128, 1795993451396128, 1795993451403777, 'completed', '1', NULL, NULL, NULL, '{"trace":"00-1-2-03"}');
INSERT INTO lockstep_processes (id, kind, host, pid, metadata, started_at, beat_at, stopped_at, state) VALUES ('0190aaaa-0000-7000-8000-00000000dead', 'runtime', 'old', 1, '{}', 1795993451229451, 1795993451229451, NULL, 'running');
INSERT INTO lockstep_queued (instance_id, sequence, message_id) VALUES ('01a2298d-3b16-736e-bbf1-f75de0c09051', 2, '0190aaaa-0000-7000-8000-000000000011');
INSERT INTO lockstep_queued (instance_id, sequence, message_id) VALUES ('01a2298d-3b16-736e-bbf1-f75de0c09051', 3, '0190aaaa-0000-7000-8000-000000000012');
INSERT INTO lockstep_queued (instance_id, sequence, message_id) VALUES ('01a2298d-3b28-7662-9115-f399b2e669ec', 2, '0190aaaa-0000-7000-8000-000000000015');
INSERT INTO lockstep_ready (instance_id, sequence, message_id, actor_type, queue, priority, due_at) VALUES ('01a2298d-3af9-7d42-8448-9e38bdf96f3a', 3, '0190aaaa-0000-7000-8000-000000000009', 'order', '', 0, 1795993451282189);
INSERT INTO lockstep_ready (instance_id, sequence, message_id, actor_type, queue, priority, due_at) VALUES ('01a2298d-3b16-736e-bbf1-f75de0c09051', 1, '0190aaaa-0000-7000-8000-000000000010', 'order', '', 0, 1795993451286673);
INSERT INTO lockstep_ready (instance_id, sequence, message_id, actor_type, queue, priority, due_at) VALUES ('01a2298d-3b36-7567-9ebf-33967c84aa61', 1, '0190aaaa-0000-7000-8000-000000000016', 'order', '', 0, 7258118400000000);
INSERT INTO lockstep_ready (instance_id, sequence, message_id, actor_type, queue, priority, due_at) VALUES ('01a2298d-3b6d-79e0-8053-17321923b586', 1, '0190aaaa-0000-7000-8000-000000000034', 'order', '', 0, 9223372036854775807);
INSERT INTO lockstep_reminders (instance_id, operation, reminder_key, arguments, period, catch_up, next_at, due_at) VALUES ('01a2298d-3b3d-7f1c-9c12-89d33a77134a', 'add', 'daily', '"rang daily"', 86400000000, 'latest', 1795993451330970, 1795993451330970);
INSERT INTO lockstep_reminders (instance_id, operation, reminder_key, arguments, period, catch_up, next_at, due_at) VALUES ('01a2298d-3b3d-7f1c-9c12-89d33a77134a', 'add', 'once', '"rang once"', 0, 'latest', 1795993451330970, 1795993451330970);
INSERT INTO lockstep_schema_migrations (version, identity, installation, installed_at, holder, held_until) VALUES (0, 'lockstep-go/mysql', '', 0, '', 0);
INSERT INTO lockstep_schema_migrations (version, identity, installation, installed_at, holder, held_until) VALUES (1, 'lockstep-go/mysql', '01a2298d-3ad4-7a96-9db1-496163b81a0e', 1795993451220869, '', 0);
INSERT INTO lockstep_sends (position, id, instance_id, message_id, target_type, target_id, operation, arguments, idempotency_key, fingerprint, max_attempts, available_at, due_at, meta) VALUES (1, '0190aaaa-0000-7000-8000-000000000028', '01a2298d-3b5d-716c-8b5f-d3f8fa35fbe3', '0190aaaa-0000-7000-8000-000000000025', 'order', 'target', 'add', '"from sender 1"', NULL, NULL, 5, 1795993451363661, 1795993451363661, '{"trace":"00-1-2-03"}');
INSERT INTO lockstep_sends (position, id, instance_id, message_id, target_type, target_id, operation, arguments, idempotency_key, fingerprint, max_attempts, available_at, due_at, meta) VALUES (2, '0190aaaa-0000-7000-8000-000000000030', '01a2298d-3b5d-716c-8b5f-d3f8fa35fbe3', '0190aaaa-0000-7000-8000-000000000025', 'order', 'target', 'add', '"from sender 2"', NULL, NULL, 5, 1795993451363661, 1795993451363661, '{"trace":"00-1-2-03"}');
INSERT INTO lockstep_tombstones (instance_id, message_id) VALUES ('01a2298d-3b82-760a-9f2b-4b22372cab4c', '0190aaaa-0000-7000-8000-000000000035');
