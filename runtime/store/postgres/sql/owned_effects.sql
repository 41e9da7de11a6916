-- G24, G31: a dead executor's effects may be taken at once; those handed back gracefully cost no attempt.
UPDATE lockstep.lockstep_effects SET owner = NULL, due_at = $2::bigint, attempts = greatest(attempts - $3::bigint, 0)
WHERE owner = $1::text AND state = 'pending'
