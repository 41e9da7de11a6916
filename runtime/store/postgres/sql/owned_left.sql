-- G31: whether a process still owns an actor.
SELECT 1 FROM lockstep.lockstep_instances WHERE owner = $1::text LIMIT 1
