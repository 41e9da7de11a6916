-- G31: what a stopped process owned was given back before.
UPDATE lockstep_processes SET state = 'stopped', stopped_at = ? WHERE id = ? AND state <> 'stopped'
