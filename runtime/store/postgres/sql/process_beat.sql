-- G31: a process that was found dead does not come back by beating.
UPDATE lockstep.lockstep_processes SET beat_at = (SELECT (extract(epoch FROM clock_timestamp()) * 1000000)::bigint + $3::bigint), state = $2::text
WHERE id = $1::text AND state <> 'stopped'
