-- G27, G31: a dead process's broadcasts may be taken at once.
UPDATE lockstep.lockstep_broadcasts SET owner = NULL, claimed_at = 0 WHERE owner = $1::text
