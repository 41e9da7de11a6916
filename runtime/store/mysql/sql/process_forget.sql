-- G31: they are forgotten.
DELETE FROM lockstep_processes WHERE id = ? AND state = 'stopped'
