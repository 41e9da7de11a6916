-- G31: what a stopped process owned was given back before.
UPDATE lockstep.lockstep_processes SET state = 'stopped', stopped_at = $2::bigint WHERE id = $1::text AND state <> 'stopped'
