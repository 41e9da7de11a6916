-- D12: what was read before the lock is read again under it.
SELECT beat_at, state FROM lockstep_processes WHERE id = ? FOR UPDATE
