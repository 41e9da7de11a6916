-- G31: a process is known before it claims anything.
INSERT INTO lockstep.lockstep_processes (id, kind, host, pid, metadata, started_at, beat_at, state)
VALUES ($1::text, $2::text, $3::text, $4::bigint, $5::text,
	coalesce($6::bigint, (SELECT (extract(epoch FROM clock_timestamp()) * 1000000)::bigint + $8::bigint)), (SELECT (extract(epoch FROM clock_timestamp()) * 1000000)::bigint + $8::bigint), $7::text)
ON CONFLICT (id) DO UPDATE SET kind = excluded.kind, host = excluded.host, pid = excluded.pid, metadata = excluded.metadata,
	started_at = excluded.started_at, beat_at = excluded.beat_at, stopped_at = NULL, state = excluded.state
