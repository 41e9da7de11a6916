-- Lockstep 0.1.0 on postgres: its schema, and what a process left that died in the middle of everything.

CREATE TABLE public.lockstep_broadcasts (
    instance_id text NOT NULL COLLATE pg_catalog."C",
    id text NOT NULL COLLATE pg_catalog."C",
    actor_type text NOT NULL COLLATE pg_catalog."C",
    actor_id text NOT NULL COLLATE pg_catalog."C",
    revision bigint NOT NULL,
    previous bigint NOT NULL,
    message_id text NOT NULL COLLATE pg_catalog."C",
    names text NOT NULL,
    shared text NOT NULL,
    owner text COLLATE pg_catalog."C",
    claimed_at bigint NOT NULL
);
CREATE TABLE public.lockstep_claimed (
    instance_id text NOT NULL COLLATE pg_catalog."C",
    sequence bigint NOT NULL,
    message_id text NOT NULL COLLATE pg_catalog."C",
    claimed_at bigint NOT NULL
)
WITH (fillfactor='70');
CREATE TABLE public.lockstep_dead_letters (
    id text NOT NULL COLLATE pg_catalog."C",
    instance_id text NOT NULL COLLATE pg_catalog."C",
    actor_type text NOT NULL COLLATE pg_catalog."C",
    actor_id text NOT NULL COLLATE pg_catalog."C",
    sequence bigint NOT NULL,
    operation text NOT NULL COLLATE pg_catalog."C",
    arguments text,
    origin text NOT NULL,
    idempotency_key text COLLATE pg_catalog."C",
    fingerprint text COLLATE pg_catalog."C",
    attempts bigint NOT NULL,
    max_attempts bigint NOT NULL,
    enqueued_at bigint NOT NULL,
    available_at bigint NOT NULL,
    failed_at bigint NOT NULL,
    error_kind text NOT NULL,
    error_text text NOT NULL,
    stack text NOT NULL,
    meta text,
    replacement text DEFAULT ''::text NOT NULL COLLATE pg_catalog."C"
);
CREATE TABLE public.lockstep_effects (
    id text NOT NULL COLLATE pg_catalog."C",
    instance_id text NOT NULL COLLATE pg_catalog."C",
    message_id text NOT NULL COLLATE pg_catalog."C",
    name text NOT NULL COLLATE pg_catalog."C",
    arguments text,
    done text COLLATE pg_catalog."C",
    failed text COLLATE pg_catalog."C",
    attempts bigint DEFAULT 0 NOT NULL,
    max_attempts bigint NOT NULL,
    owner text COLLATE pg_catalog."C",
    due_at bigint NOT NULL,
    finished_at bigint,
    error_kind text,
    error_text text,
    meta text,
    state text DEFAULT 'pending'::text NOT NULL,
    CONSTRAINT lockstep_effects_attempts_check CHECK ((attempts >= 0)),
    CONSTRAINT lockstep_effects_state_check CHECK ((state = ANY (ARRAY['pending'::text, 'failed'::text])))
);
CREATE TABLE public.lockstep_instances (
    id text NOT NULL COLLATE pg_catalog."C",
    actor_type text NOT NULL COLLATE pg_catalog."C",
    actor_id text NOT NULL COLLATE pg_catalog."C",
    head_sequence bigint DEFAULT 1 NOT NULL,
    next_sequence bigint DEFAULT 1 NOT NULL,
    owner text COLLATE pg_catalog."C",
    token text COLLATE pg_catalog."C",
    generation bigint DEFAULT 0 NOT NULL,
    lease_until bigint DEFAULT 0 NOT NULL,
    paused_at bigint,
    revision bigint DEFAULT 0 NOT NULL,
    message_id text DEFAULT ''::text NOT NULL COLLATE pg_catalog."C",
    broadcast_previous bigint DEFAULT 0 NOT NULL,
    broadcast_revision bigint DEFAULT 0 NOT NULL,
    broadcast_message_id text DEFAULT ''::text NOT NULL COLLATE pg_catalog."C",
    created_at bigint NOT NULL,
    last_used_at bigint NOT NULL,
    codec text DEFAULT 'json'::text NOT NULL,
    state_version bigint DEFAULT 0 NOT NULL,
    state text
)
WITH (fillfactor='70');
CREATE TABLE public.lockstep_messages (
    id text NOT NULL COLLATE pg_catalog."C",
    instance_id text NOT NULL COLLATE pg_catalog."C",
    sequence bigint NOT NULL,
    operation text NOT NULL COLLATE pg_catalog."C",
    arguments text,
    origin text NOT NULL,
    idempotency_key text COLLATE pg_catalog."C",
    fingerprint text COLLATE pg_catalog."C",
    attempts bigint NOT NULL,
    max_attempts bigint NOT NULL,
    enqueued_at bigint NOT NULL,
    available_at bigint NOT NULL,
    finished_at bigint,
    status text NOT NULL,
    result text,
    rejection text,
    error_kind text,
    error_text text,
    meta text,
    CONSTRAINT lockstep_messages_attempts_check CHECK ((attempts >= 0)),
    CONSTRAINT lockstep_messages_status_check CHECK ((status = ANY (ARRAY['live'::text, 'completed'::text, 'rejected'::text, 'dead'::text])))
);
CREATE TABLE public.lockstep_processes (
    id text NOT NULL COLLATE pg_catalog."C",
    kind text NOT NULL,
    host text NOT NULL,
    pid bigint NOT NULL,
    metadata text,
    started_at bigint NOT NULL,
    beat_at bigint NOT NULL,
    stopped_at bigint,
    state text NOT NULL,
    CONSTRAINT lockstep_processes_state_check CHECK ((state = ANY (ARRAY['running'::text, 'draining'::text, 'stopped'::text])))
);
CREATE TABLE public.lockstep_ready (
    instance_id text NOT NULL COLLATE pg_catalog."C",
    sequence bigint NOT NULL,
    message_id text NOT NULL COLLATE pg_catalog."C",
    actor_type text NOT NULL COLLATE pg_catalog."C",
    queue text DEFAULT ''::text NOT NULL COLLATE pg_catalog."C",
    priority bigint DEFAULT 0 NOT NULL,
    due_at bigint NOT NULL
);
CREATE TABLE public.lockstep_reminders (
    id text NOT NULL COLLATE pg_catalog."C",
    instance_id text NOT NULL COLLATE pg_catalog."C",
    operation text NOT NULL COLLATE pg_catalog."C",
    key text NOT NULL COLLATE pg_catalog."C",
    arguments text,
    "interval" bigint NOT NULL,
    catch_up text NOT NULL,
    next_at bigint NOT NULL,
    due_at bigint NOT NULL,
    CONSTRAINT lockstep_reminders_catch_up_check CHECK ((catch_up = ANY (ARRAY['latest'::text, 'all'::text]))),
    CONSTRAINT lockstep_reminders_interval_check CHECK (("interval" >= 0))
);
CREATE TABLE public.lockstep_schema_migrations (
    version bigint NOT NULL,
    identity text NOT NULL,
    database text NOT NULL,
    installed_at bigint NOT NULL
);
CREATE TABLE public.lockstep_sends (
    "position" bigint NOT NULL,
    id text NOT NULL COLLATE pg_catalog."C",
    instance_id text NOT NULL COLLATE pg_catalog."C",
    message_id text NOT NULL COLLATE pg_catalog."C",
    target_type text NOT NULL COLLATE pg_catalog."C",
    target_id text NOT NULL COLLATE pg_catalog."C",
    operation text NOT NULL COLLATE pg_catalog."C",
    arguments text,
    idempotency_key text COLLATE pg_catalog."C",
    fingerprint text COLLATE pg_catalog."C",
    max_attempts bigint NOT NULL,
    available_at bigint NOT NULL,
    due_at bigint NOT NULL,
    meta text
);
ALTER TABLE public.lockstep_sends ALTER COLUMN "position" ADD GENERATED BY DEFAULT AS IDENTITY (
    SEQUENCE NAME public.lockstep_sends_position_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE public.lockstep_tombstones (
    instance_id text NOT NULL COLLATE pg_catalog."C"
);
ALTER TABLE ONLY public.lockstep_broadcasts
    ADD CONSTRAINT lockstep_broadcasts_pkey PRIMARY KEY (instance_id);
ALTER TABLE ONLY public.lockstep_claimed
    ADD CONSTRAINT lockstep_claimed_pkey PRIMARY KEY (instance_id);
ALTER TABLE ONLY public.lockstep_dead_letters
    ADD CONSTRAINT lockstep_dead_letters_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.lockstep_effects
    ADD CONSTRAINT lockstep_effects_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.lockstep_instances
    ADD CONSTRAINT lockstep_instances_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.lockstep_messages
    ADD CONSTRAINT lockstep_messages_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.lockstep_processes
    ADD CONSTRAINT lockstep_processes_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.lockstep_ready
    ADD CONSTRAINT lockstep_ready_pkey PRIMARY KEY (instance_id);
ALTER TABLE ONLY public.lockstep_reminders
    ADD CONSTRAINT lockstep_reminders_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.lockstep_schema_migrations
    ADD CONSTRAINT lockstep_schema_migrations_pkey PRIMARY KEY (version);
ALTER TABLE ONLY public.lockstep_sends
    ADD CONSTRAINT lockstep_sends_pkey PRIMARY KEY ("position");
ALTER TABLE ONLY public.lockstep_tombstones
    ADD CONSTRAINT lockstep_tombstones_pkey PRIMARY KEY (instance_id);
CREATE INDEX lockstep_broadcasts_claimed ON public.lockstep_broadcasts USING btree (claimed_at);
CREATE INDEX lockstep_broadcasts_id ON public.lockstep_broadcasts USING btree (id);
CREATE INDEX lockstep_broadcasts_owner ON public.lockstep_broadcasts USING btree (owner) WHERE (owner IS NOT NULL);
CREATE INDEX lockstep_dead_letters_failed ON public.lockstep_dead_letters USING btree (failed_at, id);
CREATE INDEX lockstep_dead_letters_instance ON public.lockstep_dead_letters USING btree (instance_id);
CREATE INDEX lockstep_effects_due ON public.lockstep_effects USING btree (due_at, name) WHERE (state = 'pending'::text);
CREATE INDEX lockstep_effects_failed ON public.lockstep_effects USING btree (finished_at) WHERE (state = 'failed'::text);
CREATE INDEX lockstep_effects_instance ON public.lockstep_effects USING btree (instance_id);
CREATE INDEX lockstep_effects_owner ON public.lockstep_effects USING btree (owner) WHERE (owner IS NOT NULL);
CREATE UNIQUE INDEX lockstep_instances_actor ON public.lockstep_instances USING btree (actor_type, actor_id);
CREATE INDEX lockstep_instances_owner ON public.lockstep_instances USING btree (owner) WHERE (owner IS NOT NULL);
CREATE INDEX lockstep_messages_finished ON public.lockstep_messages USING btree (finished_at) WHERE (status = ANY (ARRAY['completed'::text, 'rejected'::text]));
CREATE UNIQUE INDEX lockstep_messages_key ON public.lockstep_messages USING btree (instance_id, idempotency_key) WHERE (idempotency_key IS NOT NULL);
CREATE UNIQUE INDEX lockstep_messages_sequence ON public.lockstep_messages USING btree (instance_id, sequence);
CREATE INDEX lockstep_ready_pick ON public.lockstep_ready USING btree (queue, priority, due_at, actor_type);
CREATE INDEX lockstep_reminders_due ON public.lockstep_reminders USING btree (due_at);
CREATE UNIQUE INDEX lockstep_reminders_name ON public.lockstep_reminders USING btree (instance_id, operation, key);
CREATE INDEX lockstep_sends_due ON public.lockstep_sends USING btree (due_at, "position");
CREATE UNIQUE INDEX lockstep_sends_id ON public.lockstep_sends USING btree (id);
CREATE INDEX lockstep_sends_pair ON public.lockstep_sends USING btree (instance_id, target_type, target_id, "position");

INSERT INTO lockstep_broadcasts (instance_id, id, actor_type, actor_id, revision, previous, message_id, names, shared, owner, claimed_at) VALUES ('01a2298d-3538-72ce-8694-90f35da901a9', '0190aaaa-0000-7000-8000-000000000033', 'order', 'seen', 1, 0, '0190aaaa-0000-7000-8000-000000000031', '["all"]', '{}', '0190aaaa-0000-7000-8000-00000000dead', 1795993449789126);
INSERT INTO lockstep_claimed (instance_id, sequence, message_id, claimed_at) VALUES ('01a2298d-3528-7c34-8152-7faa3277b39c', 1, '0190aaaa-0000-7000-8000-000000000013', 1795993449768673);
INSERT INTO lockstep_dead_letters (id, instance_id, actor_type, actor_id, sequence, operation, arguments, origin, idempotency_key, fingerprint, attempts, max_attempts, enqueued_at, available_at, failed_at, error_kind, error_text, stack, meta, replacement) VALUES ('0190aaaa-0000-7000-8000-000000000005', '01a2298d-3517-7892-9a04-db67d6aea20e', 'order', 'dead', 1, 'add', '"given up"', 'client', NULL, NULL, 1, 5, 1795993449751444, 1795993449751444, 1795993449752953, '*errors.errorString', 'no', 'main.go:1', '{"trace":"00-1-2-03"}', '');
INSERT INTO lockstep_dead_letters (id, instance_id, actor_type, actor_id, sequence, operation, arguments, origin, idempotency_key, fingerprint, attempts, max_attempts, enqueued_at, available_at, failed_at, error_kind, error_text, stack, meta, replacement) VALUES ('0190aaaa-0000-7000-8000-000000000007', '01a2298d-3517-7892-9a04-db67d6aea20e', 'order', 'dead', 2, 'add', '"retried"', 'client', NULL, NULL, 1, 5, 1795993449756627, 1795993449756627, 1795993449759234, '*errors.errorString', 'no', 'main.go:1', '{"trace":"00-1-2-03"}', '0190aaaa-0000-7000-8000-000000000009');
INSERT INTO lockstep_effects (id, instance_id, message_id, name, arguments, done, failed, attempts, max_attempts, owner, due_at, finished_at, error_kind, error_text, meta, state) VALUES ('0190aaaa-0000-7000-8000-000000000023', '01a2298d-352f-756c-a270-b6ff1ce8b041', '0190aaaa-0000-7000-8000-000000000021', 'ship', '"mug"', 'shipped', 'refused', 1, 5, '0190aaaa-0000-7000-8000-00000000dead', 1795993450780034, NULL, NULL, NULL, NULL, 'pending');
INSERT INTO lockstep_effects (id, instance_id, message_id, name, arguments, done, failed, attempts, max_attempts, owner, due_at, finished_at, error_kind, error_text, meta, state) VALUES ('0190aaaa-0000-7000-8000-000000000024', '01a2298d-352f-756c-a270-b6ff1ce8b041', '0190aaaa-0000-7000-8000-000000000021', 'ship', '"lost"', 'shipped', 'refused', 0, 5, NULL, 1795993449776648, NULL, NULL, NULL, NULL, 'pending');
INSERT INTO lockstep_instances (id, actor_type, actor_id, head_sequence, next_sequence, owner, token, generation, lease_until, paused_at, revision, message_id, broadcast_previous, broadcast_revision, broadcast_message_id, created_at, last_used_at, codec, state_version, state) VALUES ('01a2298d-350b-774d-8f74-7ec16f9465f7', 'order', 'history', 3, 3, NULL, NULL, 2, 0, NULL, 1, '0190aaaa-0000-7000-8000-000000000001', 0, 0, '', 1795993449738319, 1795993449749719, 'json', 1, '{"lines":["first"]}');
INSERT INTO lockstep_instances (id, actor_type, actor_id, head_sequence, next_sequence, owner, token, generation, lease_until, paused_at, revision, message_id, broadcast_previous, broadcast_revision, broadcast_message_id, created_at, last_used_at, codec, state_version, state) VALUES ('01a2298d-3517-7892-9a04-db67d6aea20e', 'order', 'dead', 3, 4, NULL, NULL, 2, 0, NULL, 0, '', 0, 0, '', 1795993449751444, 1795993449763153, 'json', 0, NULL);
INSERT INTO lockstep_instances (id, actor_type, actor_id, head_sequence, next_sequence, owner, token, generation, lease_until, paused_at, revision, message_id, broadcast_previous, broadcast_revision, broadcast_message_id, created_at, last_used_at, codec, state_version, state) VALUES ('01a2298d-3525-7972-8da1-01ae538696be', 'order', 'queued', 1, 4, NULL, NULL, 0, 0, NULL, 0, '', 0, 0, '', 1795993449765492, 1795993449767015, 'json', 0, NULL);
INSERT INTO lockstep_instances (id, actor_type, actor_id, head_sequence, next_sequence, owner, token, generation, lease_until, paused_at, revision, message_id, broadcast_previous, broadcast_revision, broadcast_message_id, created_at, last_used_at, codec, state_version, state) VALUES ('01a2298d-3528-7c34-8152-7faa3277b39c', 'order', 'claimed', 1, 3, '0190aaaa-0000-7000-8000-00000000dead', '0190aaaa-0000-7000-8000-000000000014', 1, 1795993450768673, NULL, 0, '', 0, 0, '', 1795993449768673, 1795993449769363, 'json', 0, NULL);
INSERT INTO lockstep_instances (id, actor_type, actor_id, head_sequence, next_sequence, owner, token, generation, lease_until, paused_at, revision, message_id, broadcast_previous, broadcast_revision, broadcast_message_id, created_at, last_used_at, codec, state_version, state) VALUES ('01a2298d-352a-7cdd-bf58-c6e9730bd1c7', 'order', 'delayed', 1, 2, NULL, NULL, 0, 0, NULL, 0, '', 0, 0, '', 1795993449770726, 1795993449770726, 'json', 0, NULL);
INSERT INTO lockstep_instances (id, actor_type, actor_id, head_sequence, next_sequence, owner, token, generation, lease_until, paused_at, revision, message_id, broadcast_previous, broadcast_revision, broadcast_message_id, created_at, last_used_at, codec, state_version, state) VALUES ('01a2298d-352c-745e-b576-e623432ea1ca', 'order', 'reminded', 2, 2, NULL, NULL, 1, 0, NULL, 1, '0190aaaa-0000-7000-8000-000000000017', 0, 0, '', 1795993449772175, 1795993449773481, 'json', 1, '{"lines":["set"]}');
INSERT INTO lockstep_instances (id, actor_type, actor_id, head_sequence, next_sequence, owner, token, generation, lease_until, paused_at, revision, message_id, broadcast_previous, broadcast_revision, broadcast_message_id, created_at, last_used_at, codec, state_version, state) VALUES ('01a2298d-352f-756c-a270-b6ff1ce8b041', 'order', 'effects', 2, 2, NULL, NULL, 1, 0, NULL, 1, '0190aaaa-0000-7000-8000-000000000021', 0, 0, '', 1795993449775207, 1795993449776648, 'json', 1, '{"lines":["asked"]}');
INSERT INTO lockstep_instances (id, actor_type, actor_id, head_sequence, next_sequence, owner, token, generation, lease_until, paused_at, revision, message_id, broadcast_previous, broadcast_revision, broadcast_message_id, created_at, last_used_at, codec, state_version, state) VALUES ('01a2298d-3534-78cc-808d-61e78fcb43b8', 'order', 'sender', 2, 2, NULL, NULL, 1, 0, NULL, 1, '0190aaaa-0000-7000-8000-000000000025', 0, 0, '', 1795993449780439, 1795993449782418, 'json', 1, '{"lines":["sent"]}');
INSERT INTO lockstep_instances (id, actor_type, actor_id, head_sequence, next_sequence, owner, token, generation, lease_until, paused_at, revision, message_id, broadcast_previous, broadcast_revision, broadcast_message_id, created_at, last_used_at, codec, state_version, state) VALUES ('01a2298d-3538-72ce-8694-90f35da901a9', 'order', 'seen', 2, 2, NULL, NULL, 1, 0, NULL, 1, '0190aaaa-0000-7000-8000-000000000031', 0, 1, '0190aaaa-0000-7000-8000-000000000031', 1795993449784063, 1795993449789126, 'json', 1, '{"lines":["news"]}');
INSERT INTO lockstep_instances (id, actor_type, actor_id, head_sequence, next_sequence, owner, token, generation, lease_until, paused_at, revision, message_id, broadcast_previous, broadcast_revision, broadcast_message_id, created_at, last_used_at, codec, state_version, state) VALUES ('01a2298d-353e-7dcb-9b50-a2dbfe9cb802', 'order', 'paused', 1, 2, NULL, NULL, 0, 0, 1795993449792386, 0, '', 0, 0, '', 1795993449790791, 1795993449792386, 'json', 0, NULL);
INSERT INTO lockstep_messages (id, instance_id, sequence, operation, arguments, origin, idempotency_key, fingerprint, attempts, max_attempts, enqueued_at, available_at, finished_at, status, result, rejection, error_kind, error_text, meta) VALUES ('0190aaaa-0000-7000-8000-000000000001', '01a2298d-350b-774d-8f74-7ec16f9465f7', 1, 'add', '"first"', 'client', 'key', 'print', 1, 5, 1795993449738319, 1795993449738319, 1795993449743845, 'completed', '1', NULL, NULL, NULL, '{"trace":"00-1-2-03"}');
INSERT INTO lockstep_messages (id, instance_id, sequence, operation, arguments, origin, idempotency_key, fingerprint, attempts, max_attempts, enqueued_at, available_at, finished_at, status, result, rejection, error_kind, error_text, meta) VALUES ('0190aaaa-0000-7000-8000-000000000003', '01a2298d-350b-774d-8f74-7ec16f9465f7', 2, 'add', '"refused"', 'client', NULL, NULL, 1, 5, 1795993449747953, 1795993449747953, 1795993449749719, 'rejected', NULL, '{"code":"closed","message":"it is closed"}', NULL, NULL, '{"trace":"00-1-2-03"}');
INSERT INTO lockstep_messages (id, instance_id, sequence, operation, arguments, origin, idempotency_key, fingerprint, attempts, max_attempts, enqueued_at, available_at, finished_at, status, result, rejection, error_kind, error_text, meta) VALUES ('0190aaaa-0000-7000-8000-000000000005', '01a2298d-3517-7892-9a04-db67d6aea20e', 1, 'add', '"given up"', 'client', NULL, NULL, 1, 5, 1795993449751444, 1795993449751444, 1795993449752953, 'dead', NULL, NULL, '*errors.errorString', 'no', '{"trace":"00-1-2-03"}');
INSERT INTO lockstep_messages (id, instance_id, sequence, operation, arguments, origin, idempotency_key, fingerprint, attempts, max_attempts, enqueued_at, available_at, finished_at, status, result, rejection, error_kind, error_text, meta) VALUES ('0190aaaa-0000-7000-8000-000000000007', '01a2298d-3517-7892-9a04-db67d6aea20e', 2, 'add', '"retried"', 'client', NULL, NULL, 1, 5, 1795993449756627, 1795993449756627, 1795993449759234, 'dead', NULL, NULL, '*errors.errorString', 'no', '{"trace":"00-1-2-03"}');
INSERT INTO lockstep_messages (id, instance_id, sequence, operation, arguments, origin, idempotency_key, fingerprint, attempts, max_attempts, enqueued_at, available_at, finished_at, status, result, rejection, error_kind, error_text, meta) VALUES ('0190aaaa-0000-7000-8000-000000000009', '01a2298d-3517-7892-9a04-db67d6aea20e', 3, 'add', '"retried"', 'operator', NULL, NULL, 0, 5, 1795993449763153, 1795993449763153, NULL, 'live', NULL, NULL, NULL, NULL, '{"trace":"00-1-2-03"}');
INSERT INTO lockstep_messages (id, instance_id, sequence, operation, arguments, origin, idempotency_key, fingerprint, attempts, max_attempts, enqueued_at, available_at, finished_at, status, result, rejection, error_kind, error_text, meta) VALUES ('0190aaaa-0000-7000-8000-000000000010', '01a2298d-3525-7972-8da1-01ae538696be', 1, 'add', '"one"', 'client', NULL, NULL, 0, 5, 1795993449765492, 1795993449765492, NULL, 'live', NULL, NULL, NULL, NULL, '{"trace":"00-1-2-03"}');
INSERT INTO lockstep_messages (id, instance_id, sequence, operation, arguments, origin, idempotency_key, fingerprint, attempts, max_attempts, enqueued_at, available_at, finished_at, status, result, rejection, error_kind, error_text, meta) VALUES ('0190aaaa-0000-7000-8000-000000000011', '01a2298d-3525-7972-8da1-01ae538696be', 2, 'add', '"two"', 'client', NULL, NULL, 0, 5, 1795993449766197, 1795993449766197, NULL, 'live', NULL, NULL, NULL, NULL, '{"trace":"00-1-2-03"}');
INSERT INTO lockstep_messages (id, instance_id, sequence, operation, arguments, origin, idempotency_key, fingerprint, attempts, max_attempts, enqueued_at, available_at, finished_at, status, result, rejection, error_kind, error_text, meta) VALUES ('0190aaaa-0000-7000-8000-000000000012', '01a2298d-3525-7972-8da1-01ae538696be', 3, 'add', '"three"', 'client', NULL, NULL, 0, 5, 1795993449767015, 1795993449767015, NULL, 'live', NULL, NULL, NULL, NULL, '{"trace":"00-1-2-03"}');
INSERT INTO lockstep_messages (id, instance_id, sequence, operation, arguments, origin, idempotency_key, fingerprint, attempts, max_attempts, enqueued_at, available_at, finished_at, status, result, rejection, error_kind, error_text, meta) VALUES ('0190aaaa-0000-7000-8000-000000000013', '01a2298d-3528-7c34-8152-7faa3277b39c', 1, 'add', '"in flight"', 'client', NULL, NULL, 1, 5, 1795993449768673, 1795993449768673, NULL, 'live', NULL, NULL, NULL, NULL, '{"trace":"00-1-2-03"}');
INSERT INTO lockstep_messages (id, instance_id, sequence, operation, arguments, origin, idempotency_key, fingerprint, attempts, max_attempts, enqueued_at, available_at, finished_at, status, result, rejection, error_kind, error_text, meta) VALUES ('0190aaaa-0000-7000-8000-000000000015', '01a2298d-3528-7c34-8152-7faa3277b39c', 2, 'add', '"behind it"', 'client', NULL, NULL, 0, 5, 1795993449769363, 1795993449769363, NULL, 'live', NULL, NULL, NULL, NULL, '{"trace":"00-1-2-03"}');
INSERT INTO lockstep_messages (id, instance_id, sequence, operation, arguments, origin, idempotency_key, fingerprint, attempts, max_attempts, enqueued_at, available_at, finished_at, status, result, rejection, error_kind, error_text, meta) VALUES ('0190aaaa-0000-7000-8000-000000000016', '01a2298d-352a-7cdd-bf58-c6e9730bd1c7', 1, 'add', '"far away"', 'client', NULL, NULL, 0, 5, 1795993449770726, 7258118400000000, NULL, 'live', NULL, NULL, NULL, NULL, '{"trace":"00-1-2-03"}');
INSERT INTO lockstep_messages (id, instance_id, sequence, operation, arguments, origin, idempotency_key, fingerprint, attempts, max_attempts, enqueued_at, available_at, finished_at, status, result, rejection, error_kind, error_text, meta) VALUES ('0190aaaa-0000-7000-8000-000000000017', '01a2298d-352c-745e-b576-e623432ea1ca', 1, 'add', '"set"', 'client', NULL, NULL, 1, 5, 1795993449772175, 1795993449772175, 1795993449773481, 'completed', '1', NULL, NULL, NULL, '{"trace":"00-1-2-03"}');
INSERT INTO lockstep_messages (id, instance_id, sequence, operation, arguments, origin, idempotency_key, fingerprint, attempts, max_attempts, enqueued_at, available_at, finished_at, status, result, rejection, error_kind, error_text, meta) VALUES ('0190aaaa-0000-7000-8000-000000000021', '01a2298d-352f-756c-a270-b6ff1ce8b041', 1, 'add', '"asked"', 'client', NULL, NULL, 1, 5, 1795993449775207, 1795993449775207, 1795993449776648, 'completed', '1', NULL, NULL, NULL, '{"trace":"00-1-2-03"}');
INSERT INTO lockstep_messages (id, instance_id, sequence, operation, arguments, origin, idempotency_key, fingerprint, attempts, max_attempts, enqueued_at, available_at, finished_at, status, result, rejection, error_kind, error_text, meta) VALUES ('0190aaaa-0000-7000-8000-000000000025', '01a2298d-3534-78cc-808d-61e78fcb43b8', 1, 'add', '"sent"', 'client', NULL, NULL, 1, 5, 1795993449780439, 1795993449780439, 1795993449782418, 'completed', '1', NULL, NULL, NULL, '{"trace":"00-1-2-03"}');
INSERT INTO lockstep_messages (id, instance_id, sequence, operation, arguments, origin, idempotency_key, fingerprint, attempts, max_attempts, enqueued_at, available_at, finished_at, status, result, rejection, error_kind, error_text, meta) VALUES ('0190aaaa-0000-7000-8000-000000000031', '01a2298d-3538-72ce-8694-90f35da901a9', 1, 'add', '"news"', 'client', NULL, NULL, 1, 5, 1795993449784063, 1795993449784063, 1795993449789126, 'completed', '1', NULL, NULL, NULL, '{"trace":"00-1-2-03"}');
INSERT INTO lockstep_messages (id, instance_id, sequence, operation, arguments, origin, idempotency_key, fingerprint, attempts, max_attempts, enqueued_at, available_at, finished_at, status, result, rejection, error_kind, error_text, meta) VALUES ('0190aaaa-0000-7000-8000-000000000034', '01a2298d-353e-7dcb-9b50-a2dbfe9cb802', 1, 'add', '"held"', 'client', NULL, NULL, 0, 5, 1795993449790791, 1795993449790791, NULL, 'live', NULL, NULL, NULL, NULL, '{"trace":"00-1-2-03"}');
INSERT INTO lockstep_messages (id, instance_id, sequence, operation, arguments, origin, idempotency_key, fingerprint, attempts, max_attempts, enqueued_at, available_at, finished_at, status, result, rejection, error_kind, error_text, meta) VALUES ('0190aaaa-0000-7000-8000-000000000035', '01a2298d-3543-71b4-bf27-31325e22beca', 1, 'add', '"gone"', 'client', NULL, NULL, 1, 5, 1795993449794987, 1795993449794987, 1795993449796560, 'completed', '1', NULL, NULL, NULL, '{"trace":"00-1-2-03"}');
INSERT INTO lockstep_processes (id, kind, host, pid, metadata, started_at, beat_at, stopped_at, state) VALUES ('0190aaaa-0000-7000-8000-00000000dead', 'runtime', 'old', 1, '{}', 1795993449732764, 1795993449732768, NULL, 'running');
INSERT INTO lockstep_ready (instance_id, sequence, message_id, actor_type, queue, priority, due_at) VALUES ('01a2298d-3517-7892-9a04-db67d6aea20e', 3, '0190aaaa-0000-7000-8000-000000000009', 'order', '', 0, 1795993449763153);
INSERT INTO lockstep_ready (instance_id, sequence, message_id, actor_type, queue, priority, due_at) VALUES ('01a2298d-3525-7972-8da1-01ae538696be', 1, '0190aaaa-0000-7000-8000-000000000010', 'order', '', 0, 1795993449765492);
INSERT INTO lockstep_ready (instance_id, sequence, message_id, actor_type, queue, priority, due_at) VALUES ('01a2298d-352a-7cdd-bf58-c6e9730bd1c7', 1, '0190aaaa-0000-7000-8000-000000000016', 'order', '', 0, 7258118400000000);
INSERT INTO lockstep_ready (instance_id, sequence, message_id, actor_type, queue, priority, due_at) VALUES ('01a2298d-353e-7dcb-9b50-a2dbfe9cb802', 1, '0190aaaa-0000-7000-8000-000000000034', 'order', '', 0, 9223372036854775807);
INSERT INTO lockstep_reminders (id, instance_id, operation, key, arguments, interval, catch_up, next_at, due_at) VALUES ('0190aaaa-0000-7000-8000-000000000019', '01a2298d-352c-745e-b576-e623432ea1ca', 'add', 'once', '"rang once"', 0, 'latest', 1795993449773481, 1795993449773481);
INSERT INTO lockstep_reminders (id, instance_id, operation, key, arguments, interval, catch_up, next_at, due_at) VALUES ('0190aaaa-0000-7000-8000-000000000020', '01a2298d-352c-745e-b576-e623432ea1ca', 'add', 'daily', '"rang daily"', 86400000000, 'latest', 1795993449773481, 1795993449773481);
INSERT INTO lockstep_schema_migrations (version, identity, database, installed_at) VALUES (1, 'lockstep-go/postgres', '01a2298d-33da-748b-b782-e83da0db810b', 1795993449728445);
INSERT INTO lockstep_sends (position, id, instance_id, message_id, target_type, target_id, operation, arguments, idempotency_key, fingerprint, max_attempts, available_at, due_at, meta) VALUES (1, '0190aaaa-0000-7000-8000-000000000028', '01a2298d-3534-78cc-808d-61e78fcb43b8', '0190aaaa-0000-7000-8000-000000000025', 'order', 'target', 'add', '"from sender 1"', NULL, NULL, 5, 1795993449782418, 1795993449782418, '{"trace":"00-1-2-03"}');
INSERT INTO lockstep_sends (position, id, instance_id, message_id, target_type, target_id, operation, arguments, idempotency_key, fingerprint, max_attempts, available_at, due_at, meta) VALUES (2, '0190aaaa-0000-7000-8000-000000000030', '01a2298d-3534-78cc-808d-61e78fcb43b8', '0190aaaa-0000-7000-8000-000000000025', 'order', 'target', 'add', '"from sender 2"', NULL, NULL, 5, 1795993449782418, 1795993449782418, '{"trace":"00-1-2-03"}');
INSERT INTO lockstep_tombstones (instance_id) VALUES ('01a2298d-3543-71b4-bf27-31325e22beca');
SELECT setval(pg_get_serial_sequence('lockstep_sends', 'position'), (SELECT max(position) FROM lockstep_sends));
