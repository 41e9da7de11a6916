-- G26, G28: nothing that a destroyed actor left behind can act or be addressed.
DELETE FROM lockstep_dead_letters WHERE instance_id = ?
