-- G31: the registry, newest first.
SELECT id, kind, host, pid, metadata, started_at, beat_at, state, stopped_at
FROM lockstep_processes ORDER BY started_at DESC, id
