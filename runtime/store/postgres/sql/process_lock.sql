-- D12: what was read before is read again under the lock; a beat waits, or comes first.
SELECT beat_at FROM lockstep.lockstep_processes WHERE id = $1::text AND state <> 'stopped' FOR UPDATE
