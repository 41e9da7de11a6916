-- D12: what was read before the write lock is read again under it.
SELECT locked, beat_at FROM lockstep_processes WHERE id = ? AND state <> 'stopped'
