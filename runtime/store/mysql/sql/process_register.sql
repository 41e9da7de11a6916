-- G31: a process is known by its row.
INSERT INTO lockstep_processes (id, kind, host, pid, metadata, started_at, beat_at, state)
VALUES (?, ?, ?, ?, ?, ?, ?, ?)
ON DUPLICATE KEY UPDATE kind = VALUES(kind), host = VALUES(host), pid = VALUES(pid), metadata = VALUES(metadata),
	started_at = VALUES(started_at), beat_at = VALUES(beat_at), stopped_at = NULL, state = VALUES(state)
