-- D48: those that are still there, under the lock of their targets.
SELECT s.position, s.id, s.instance_id, s.target_type, s.target_id, s.operation, s.arguments, s.idempotency_key,
	s.fingerprint,
	s.max_attempts, s.available_at, s.meta
FROM lockstep_sends s FORCE INDEX (PRIMARY) WHERE s.position IN (/*each*/?/*end*/)
ORDER BY s.position
FOR UPDATE SKIP LOCKED
