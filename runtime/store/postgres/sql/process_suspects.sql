-- G31: whose heartbeat is too old.
SELECT id FROM lockstep.lockstep_processes
WHERE state <> 'stopped' AND id <> $1::text AND beat_at <= (SELECT (extract(epoch FROM clock_timestamp()) * 1000000)::bigint + $2::bigint) - $3::bigint
ORDER BY id
