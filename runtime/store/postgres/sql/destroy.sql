-- G28: the incarnation ends.
DELETE FROM lockstep.lockstep_instances WHERE id = $1::text
