-- G31: the registry, newest first.
SELECT id, kind, host, pid, metadata, started_at, beat_at, state, coalesce(stopped_at, 0)
FROM lockstep.lockstep_processes ORDER BY started_at DESC, id
