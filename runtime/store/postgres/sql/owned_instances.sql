-- G31: what a process owns, a bounded number at a time; what others are at work with is left to the next time.
SELECT id FROM lockstep.lockstep_instances WHERE owner = $1::text LIMIT $2::bigint FOR NO KEY UPDATE SKIP LOCKED
