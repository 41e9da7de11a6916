-- G31: what a stopped process owned was given back in the same transaction.
UPDATE lockstep_processes SET state = 'stopped', stopped_at = ? WHERE id = ? AND state <> 'stopped'
