-- G28: the incarnation ends.
DELETE FROM lockstep_instances WHERE id = ?
