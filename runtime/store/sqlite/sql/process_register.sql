-- G31: a process is known once its lock is taken.
INSERT INTO lockstep_processes (id, kind, host, pid, metadata, locked, started_at, beat_at, state)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)
ON CONFLICT (id) DO UPDATE SET kind = excluded.kind, host = excluded.host, pid = excluded.pid, metadata = excluded.metadata,
	locked = excluded.locked, started_at = excluded.started_at, beat_at = excluded.beat_at, stopped_at = NULL, state = excluded.state
